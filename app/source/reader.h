/* The reader thread: puts frames of a source into a mailbox.
 *
 * Frames of a realtime source (a camera, a screen, a stream) are handed on at once. A file's frames are handed on by
 * their timestamps in real time, and read one ahead (ahead.h). The end of a file ends the reader, except for a single
 * picture, which stays. A source that may come back after it was lost is opened again, with growing pauses, as long as
 * the program runs, and so is a stream that was not there yet. */
#ifndef APP_SOURCE_READER_H
#define APP_SOURCE_READER_H

#include "app/flow/mailbox.h"
#include "app/source/source.h"

struct reader;

struct reader_status {
  bool opened;      /* some source was open */
  bool reached;     /* the current source was open at least once */
  bool lost;        /* the source is gone or not there yet; it is being opened again */
  char reason[512]; /* the reason, while lost */
  bool stands;      /* a file has ended, and its last picture stays */
  bool picture;     /* a single picture was read, which stays */
  bool moves;       /* this source gave more than one picture */
  bool next;        /* another source waits for the end of this one */
  int sources;      /* sources begun so far, including the first */
  long frames;      /* frames read so far */
};

/* When to continue with another source: at once, or at the current one's end. A stream, a camera or a single picture
 * has no end. At the end the last picture is shown as long as the others, followed by the first one of the next source
 * if that is open. */
enum reader_when { READER_NOW, READER_AT_END };

/* Starts the thread, takes over *source, and closes it at the end. spec and options are used to open it again. *source
 * NULL: the thread opens it. The mailbox, and what options point to, must outlive the reader. options->stop is not
 * used: reader_stop interrupts. Returns 0, or -1 with err. */
int reader_start(struct reader **reader, struct source **source, const char *spec, const struct source_options *options,
                 struct mailbox *mailbox, struct error *err);

/* Does the same if other sources may follow: begins with reader_go_on(reader, true). */
int reader_start_list(struct reader **reader, struct source **source, const char *spec,
                      const struct source_options *options, struct mailbox *mailbox, struct error *err);

/* Continues with another source, taken over as by reader_start. It replaces one that already waits. Callable from any
 * thread. Returns 0, or -1 with err if memory is short; then *source stays the caller's. */
int reader_switch(struct reader *reader, struct source **source, const char *spec, const struct source_options *options,
                  enum reader_when when, struct error *err);
/* Continues at once with the source that waits for the end of the current one. Callable from any thread. */
void reader_leave(struct reader *reader);
/* go_on: the end of a file, or a failure, does not end the reader, because another source will follow. */
void reader_go_on(struct reader *reader, bool go_on);

/* While paused, a file stands still, and a camera's frames are dropped. */
void reader_pause(struct reader *reader, bool paused);
/* Copies the status. Callable from any thread. */
void reader_get_status(struct reader *reader, struct reader_status *status);
/* Gets the info of the current source. Returns false if it is not known yet. */
bool reader_get_info(struct reader *reader, struct source_info *info);
/* Waits for the info of the current source. Returns false if the reader ends before. */
bool reader_wait_info(struct reader *reader, struct source_info *info);

/* Tells the thread to end, and releases callers that wait for it; accepts NULL. */
void reader_end(struct reader *reader);

/* Ends the thread and closes the source. Returns 0, or -1 with err if reading had failed. Stores NULL; accepts NULL. */
int reader_stop(struct reader **reader, struct error *err);

#endif
