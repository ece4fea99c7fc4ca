/* The reader thread: frames from a source into a mailbox.
 *
 * A camera or screen paces itself; when it is lost it is opened again, with growing pauses, for as long as the program
 * runs. A file is paced here, by its timestamps in real time, and its end ends the stream. */
#ifndef APP_SOURCE_READER_H
#define APP_SOURCE_READER_H

#include "app/flow/mailbox.h"
#include "app/source/source.h"

struct reader;

struct reader_status {
  bool lost;        /* the camera is gone; it is being opened again */
  char reason[512]; /* why, while lost */
  long frames;      /* read so far */
};

/* Takes over *source, which it closes at the end and which spec and options open again, and starts the thread. What
 * options point to and the mailbox outlive the reader; options->stop is not looked at: reader_stop interrupts. */
int reader_start(struct reader **reader, struct source **source, const char *spec, const struct source_options *options,
                 struct mailbox *mailbox, struct error *err);

/* While paused a file stands still; of a camera the frames are thrown away. */
void reader_pause(struct reader *reader, bool paused);
void reader_get_status(struct reader *reader, struct reader_status *status);

/* Ends the thread and closes the source. Returns -1 and err when reading had failed. Stores NULL; takes NULL. */
int reader_stop(struct reader **reader, struct error *err);

#endif
