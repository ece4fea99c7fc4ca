/* Reads a source on a thread of its own, and puts its frames into a mailbox. Frames of a realtime source (a camera,
 * screen or stream) are handed on at once; those of a file when they are due by their timestamps, and one more is read
 * in advance (ahead.h).
 *
 * At a file's end the thread ends and closes the mailbox; after a single picture it waits for another source or its
 * stop. A camera or stream that is lost, or a stream that is not there yet, is opened again and again, with growing
 * pauses.
 *
 * Any thread may call the functions for a started reader. Only reader_stop is called once, when no other thread uses
 * the reader any more. */
#ifndef APP_SOURCE_READER_H
#define APP_SOURCE_READER_H

#include "app/flow/mailbox.h"
#include "app/source/mixer.h"
#include "app/source/source.h"

struct reader;

struct reader_status {
  bool opened;  /* true: a source was open at least once since the reader started; never reset */
  bool reached; /* true: the current source was open at least once; becomes false when another source begins */
  /* true: the source is gone, or not there yet, and the reader tries to open it again; becomes false with its next
   * frame or with the next source */
  bool lost;
  char reason[512]; /* why the source is gone; valid while `lost` is true */
  /* true: the source has ended or failed and no other one waits, so that the last picture stays on the screen; becomes
   * false when another source begins */
  bool stands;
  /* true: the source ended after one frame and is a single picture, not a file of which only one frame was to be read;
   * becomes false when another source begins */
  bool picture;
  bool moves;  /* true: the current source gave more than one frame; becomes false when another source begins */
  bool next;   /* true: reader_switch has handed over another source, which has not begun yet */
  int sources; /* number of sources begun so far, including the first */
  /* position in the present file, in seconds, of the frame handed on last, from the file's beginning (or
   * source_options.start); each pass through a looping file begins at 0 */
  double place;
  long frames; /* number of frames put into the mailbox so far, by all sources */
};

/* When the reader continues with another source: at once, or at the end of the current one. Cameras and streams have no
 * end; a single picture has ended once it was read. A file's last picture is shown for one frame period; then the next
 * source's first frame follows, if it is open by then. */
enum reader_when { READER_NOW, READER_AT_END };

/* Starts the thread and takes over *source, which the thread closes at the end; *source NULL: the thread opens it. spec
 * and options are copied, so that the source can be opened again; the mailbox and what options point to must outlive
 * the reader. Once the flag options->stop (NULL: none) is set, no frame is read and no source opened any more. It is
 * checked between frames and tries; unlike reader_end it does not interrupt a blocking call.
 *
 * Returns 0, or -1 with err and *reader unchanged. Then *source is the caller's if memory was short, else closed and
 * NULL; source_close(source) is right in both cases. */
int reader_start(struct reader **reader, struct source **source, const char *spec, const struct source_options *options,
                 struct mailbox *mailbox, struct error *err);

/* Works as reader_start, but the thread does not end when the first source ends: it waits for another source
 * (reader_switch), as if reader_go_on(reader, true) had been called at once. */
int reader_start_list(struct reader **reader, struct source **source, const char *spec,
                      const struct source_options *options, struct mailbox *mailbox, struct error *err);

/* Starts the thread like reader_start, but its frames go to input number `input` of a mixer, which must outlive the
 * reader, instead of a mailbox. goes_on: true: at the end of the first source the thread waits for another one
 * (reader_switch); false: it ends. */
int reader_start_mixed(struct reader **reader, struct source **source, const char *spec,
                       const struct source_options *options, bool goes_on, struct mixer *mixer, enum mixer_input input,
                       struct error *err);

/* Makes the reader continue with another source, at once or at the end of the current one. *source (NULL: the thread
 * opens it), spec and options are used as by reader_start. Replaces a source that was handed over before and has not
 * begun. Returns 0, or -1 with err if memory is short; then *source stays the caller's. */
int reader_switch(struct reader *reader, struct source **source, const char *spec, const struct source_options *options,
                  enum reader_when when, struct error *err);
/* Makes the reader continue at once with the source that reader_switch (READER_AT_END) has handed over. Does nothing if
 * there is no such source. */
void reader_leave(struct reader *reader);
/* Sets what the reader's thread does when a source ends or fails: true: it waits for a reader_switch; false: it
 * ends. */
void reader_go_on(struct reader *reader, bool go_on);

/* Takes back the source that reader_switch (READER_AT_END) has handed over; *source becomes the caller's. Returns false
 * if there is none, because it has begun meanwhile or was never handed over. */
bool reader_withdraw(struct reader *reader, struct source **source);
/* Changes where the current source ends. until: as source_options.until. rounds: false: it also ends with the present
 * pass through the file, even if source_options.loop lets it begin again. number: value of status.sources while that
 * source is read; for another number the call does nothing, because another source has begun. */
void reader_end_at(struct reader *reader, int number, double until, bool rounds);
/* Plays files at this speed, greater than 0, from now on; 1: normal. Realtime sources keep their own speed. */
void reader_set_speed(struct reader *reader, double speed);

/* Pauses the reader, or lets it go on. During a pause, frames of a file wait, and frames of a realtime source are read
 * and dropped. Only the first frame of a source, or after a seek, is handed on. */
void reader_pause(struct reader *reader, bool paused);
/* Copies the reader's present state to *status. */
void reader_get_status(struct reader *reader, struct reader_status *status);
/* Copies the info of the current source. Returns false, and leaves *info unchanged, while the source is not open, or
 * while the size and aspect ratio of its pictures are not known; a stream's are known from its first frame on. */
bool reader_get_info(struct reader *reader, struct source_info *info);
/* Works as reader_get_status and then reader_get_info, but no other source begins between the two. */
bool reader_look(struct reader *reader, struct reader_status *status, struct source_info *info);
/* Waits until the info of the current source is known, and copies the info. Returns false if the thread ends before the
 * info is known. */
bool reader_wait_info(struct reader *reader, struct source_info *info);

/* While one source fades into the next, both are read. Once the fade is over, this function ends the earlier source.
 * The main loop calls it in each of its passes. Does not wait. */
void reader_tend(struct reader *reader);

/* Tells the reader's thread to end, and interrupts the source if a read blocks. Does not wait for the end; when the
 * thread ends, the mailbox is closed, and reader_wait_info returns. Does nothing if reader is NULL. */
void reader_end(struct reader *reader);

/* Ends the reader's thread, waits for that, closes the source and frees the reader; *reader becomes NULL. Returns 0, or
 * -1 with err (may be NULL) if the thread had ended on its own because a source failed. If *reader is NULL, does
 * nothing and returns 0. */
int reader_stop(struct reader **reader, struct error *err);

#endif
