/* The reader thread: frames from a source into a mailbox.
 *
 * What paces itself (a camera, a screen, a stream) is handed on at once. A file is paced here, by its timestamps in
 * real time, and read a frame ahead (ahead.h); its end ends the stream, but for a single picture, which stays. What may
 * be there again after it was lost is opened again, with growing pauses, for as long as the program runs; a stream that
 * was never there is waited for in the same way. */
#ifndef APP_SOURCE_READER_H
#define APP_SOURCE_READER_H

#include "app/flow/mailbox.h"
#include "app/source/source.h"

struct reader;

struct reader_status {
  bool opened;      /* a source was open already */
  bool reached;     /* the source that is read was open at least once */
  bool lost;        /* it is gone, or not there yet; it is being opened again */
  char reason[512]; /* why, while lost */
  bool stands;      /* at the end of a file: the last picture stays */
  bool picture;     /* likewise, and it was a single one */
  bool moves;       /* more than one picture came of this source */
  bool next;        /* a source waits for the end of this one */
  int sources;      /* begun so far, the first among them */
  long frames;      /* read so far */
};

/* When a source takes the place of the one that is read. A stream, a camera or a single picture has no end. At the end
 * the last picture stays as long as the others, and is followed by the first of a source that is open. */
enum reader_when { READER_NOW, READER_AT_END };

/* Takes over *source, which it closes at the end and which spec and options open again, and starts the thread. *source
 * NULL: the thread opens it. What options point to and the mailbox outlive the reader; options->stop is not looked at:
 * reader_stop interrupts. */
int reader_start(struct reader **reader, struct source **source, const char *spec, const struct source_options *options,
                 struct mailbox *mailbox, struct error *err);

/* The same, where others may follow: as with reader_go_on from the beginning on. */
int reader_start_list(struct reader **reader, struct source **source, const char *spec,
                      const struct source_options *options, struct mailbox *mailbox, struct error *err);

/* Goes on with another source, which it takes over as reader_start does, in the place of one that waits already. Any
 * thread. -1: no memory; *source stays the caller's. */
int reader_switch(struct reader *reader, struct source **source, const char *spec, const struct source_options *options,
                  enum reader_when when, struct error *err);
/* What waits for the end of the source that is read takes its place now. Any thread. */
void reader_leave(struct reader *reader);
/* Whether the end of a file, or its failure, is not the end: another source will be switched to. */
void reader_go_on(struct reader *reader, bool go_on);

/* While paused a file stands still; of a camera the frames are thrown away. */
void reader_pause(struct reader *reader, bool paused);
void reader_get_status(struct reader *reader, struct reader_status *status);
/* Of the source that is read. false: nothing is known yet. */
bool reader_get_info(struct reader *reader, struct source_info *info);
/* The same, and waits for it. false: the reader has ended before. */
bool reader_wait_info(struct reader *reader, struct source_info *info);

/* The thread is to end, and whoever waits for it is let go; takes NULL. */
void reader_end(struct reader *reader);

/* Ends the thread and closes the source. Returns -1 and err when reading had failed. Stores NULL; takes NULL. */
int reader_stop(struct reader **reader, struct error *err);

#endif
