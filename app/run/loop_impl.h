/* Declarations that the files of the loop (loop.h) share.
 *
 * collect.c        takes pictures from the engine and puts them into the mailbox
 * engine_change.c  changes to another handle or another engine
 * recover.c        opens the first engine, and opens it again after a failure
 * loop.c           runs the thread: gives frames and texts to the engine
 * loop_calls.c     has the functions that other threads call while the thread runs */
#ifndef APP_RUN_LOOP_IMPL_H
#define APP_RUN_LOOP_IMPL_H

#include <stdatomic.h>

#include "app/control/glide.h"
#include "app/run/governor.h"
#include "app/run/loop.h"
#include "app/run/handles.h"
#include "app/run/patience.h"

enum { MAX_DEPTH = 2, COMPANIONS = MAX_DEPTH + STREAM_BATCH_MAX };

/* Data that the loop keeps for a frame while the frame is in the engine. */
struct companion {
  struct frame input; /* the source's frame, kept for the window if it shows the input next to the picture */
  bool again;
  int64_t put_ns; /* time when the frame was put into the mailbox */
  long applied;   /* number of calls of loop_send whose changes the frame's values contain */
  bool has_texts; /* true: all texts that the frame uses were encoded when it was submitted */
  /* index in loop.governor of the rung (setting of size and steps) with which the frame was made; -1: none */
  int rung;
  long ladder;
  long handle; /* value of loop.handles_used when the frame was submitted, by which the handle (prepared size and step
                * count) that makes its picture is recognised */
};

struct loop {
  /* The following fields are set before the loop's thread begins, then only read. The mailboxes have locks of their
   * own. */
  pthread_t thread;
  struct loop_params params;
  struct mailbox *in, *out;
  /* empty mailbox at which the loop's thread waits for changes if `in` is NULL (text to image) */
  struct mailbox nothing;

  /* The following fields are used by the loop's thread alone while it runs. When it has ended, loop_stop reads `failed`
   * and `err`. */
  struct engine *engine;
  bool failed;
  struct error err; /* why the engine failed; valid if `failed` */

  /* The following fields may be read and written by any thread, without a lock. */
  atomic_bool stop, through; /* stop: true: the loop's thread has to end; through: true: it has ended */
  atomic_bool on_device, drawn_there;
  /* time at which the present call of the engine by the loop's thread began; 0: the thread is in no such call */
  atomic_llong busy_ns;
  /* taken_ns: time at which `newest` was taken from `in`; ever_new: true: values are copied anew for each frame,
   * because something moves them or a time budget is kept */
  atomic_llong taken_ns;
  atomic_bool ever_new;

  /* The next fields, up to `ended`, are used by the loop's thread alone: the newest frame of the source. */
  const struct mail *newest; /* the last frame that was taken from `in`; NULL: none yet */
  bool fresh;                /* true: `newest` was not submitted yet */
  bool jumped;               /* true: `newest` was taken during a pause, as the first frame of another source or after a
                              * seek */
  bool passed;               /* true: `newest` was dropped because it would have missed the time budget */
  bool ended;

  /* The next fields, up to `last_finished_ns`, are used by the loop's thread alone: its copies of the current values
   * (struct moment), and the frames in the engine. */
  struct moment last; /* copy of the values with which the last frame was submitted */
  /* frame.stretch (number of the uninterrupted sequence of frames) of the last frame that was submitted */
  uint64_t stretch;
  /* true: `last` equals the newest copy of the current values, so it need not be stored again after the next frame */
  bool kept;
  /* data of frames in the engine; run number n uses element n modulo COMPANIONS */
  struct companion companions[COMPANIONS];
  int depth;
  long applied; /* number of calls of loop_send whose changes the copied values contain */
  /* time when the loop's thread last copied the current values of parameters; 0: it must copy them again, for example
   * because sound changes them */
  int64_t looked_ns;
  bool glides;               /* true: values were still changing gradually (`glide`) when they were last copied */
  bool moves;                /* true: params.modulate (changes by sound, for example) may change values at any time */
  long submitted, collected; /* number of runs submitted to the engine, and of runs collected from it */
  /* number of pictures from the collected runs; the first runs of a stream batch only fill it, and give none */
  long pictures;
  int64_t last_finished_ns;

  /* The next fields, up to `first`, are used by the loop's thread alone: the engine in use and its handle (struct
   * prepared: size, sampler and step count). */
  struct engine_shape shape;   /* shape (size, step count and so on) of the handle in use */
  struct engine_shape refused; /* the last shape (size, step count and so on) that could not be prepared */
  int engines;                 /* number of engines used so far */
  /* bytes of pixels that former engines, closed by now, have copied in host memory; a part of status.copied, which
   * is the number for all engines */
  size_t copied_before;
  /* changes: how often so far the handle (prepared size and step count), the engine or a file in use was replaced;
   * last_changes: its value when the last frame was submitted */
  long changes, last_changes;
  struct handles handles;
  struct frame_pace pace; /* times that frames took with the handle (prepared size and step count) in use */
  /* for users: the property in which the prepared size and step count in use differ from the ones used before, such as
   * "640x360" or "4 steps" */
  char name[80];
  long handles_used; /* number of times that another handle (prepared size and step count) has become the one in use */
  /* shape (size, step count and so on) of the handle with which the engine in use was opened */
  struct engine_shape first;

  /* The next fields, up to `ladder_used`, are used by the loop's thread alone: the cheaper sizes and step counts among
   * which governor.h chooses to keep the time budget. */
  struct governor governor;
  /* ladder[i]: shape of the governor's rung i (setting of size and steps); ladder[0] is what the user asked for */
  struct engine_shape ladder[GOVERNOR_RUNGS];
  int rungs;
  /* ladders: how many times ladder[] was filled; ladder_used: value of `ladders` when the handle in use last changed.
   * They differ until a handle for the newest contents of ladder[] is in use. */
  long ladders, ladder_used;

  /* The next fields, up to `pause_ns`, are used by the loop's thread alone: engines that are being opened or closed.
   * The opener opens and closes them on a thread of its own. */
  struct opener opener;
  /* a new engine that waits until the frames of the engine in use are finished, and then replaces that engine; `engine`
   * NULL: there is none */
  struct opened next;
  /* the replaced engine, which has no frames in flight and waits to be closed; NULL: none */
  struct engine *former_engine;
  /* values with which the engine in use was opened. If it was given other files since then, the values name those
   * files. */
  struct parameters opened_with;
  bool guidance_embedded;
  /* true: the engine's device is a GPU, so that a real-time priority is useful. This field and `urgency` are copied to
   * loop_status. */
  bool wants_urgency;
  enum urgency urgency;
  /* time when a failed engine was last opened again, and pause in ns before the next attempt */
  int64_t recovered_ns, pause_ns;

  /* The next two fields, which the loop's thread alone uses, say which texts are encoded in the engine's slots (storage
   * for encoded prompts). */
  /* the text that was encoded last into each slot (storage for an encoded prompt), even if encoding failed */
  struct parameter_text encoded[SLOTS];
  /* version number of the texts (parameters.texts) for which all slots (storage for encoded prompts) were last found to
   * be encoded; 0: unknown */
  uint64_t encoded_texts;

  /* The following fields are used by several threads: `settings` and `status` with `lock` held, `sent` without it. */
  pthread_mutex_t lock;
  /* the current values; a mark shows that someone has set the value. Before the engine is open: only the changes so
   * far */
  struct settings settings;
  /* parameter values that change gradually towards their targets (loop_glide); also protected by `lock` */
  struct glide glide;
  struct loop_status status;
  atomic_long sent; /* number of calls of loop_send */
};

/* True if the source has given no frame for so long that a changed value causes another picture of its last frame. */
bool loop_waits_long(const struct loop *loop);

/* --- recover.c: opening the engine, at first and after failures --- */

/* Opens another engine after a failure, and repeats that until one is open. Returns 0, or -1 if the loop has to end
 * first or the device is lost; loop->err says what failed. */
int loop_recover(struct loop *loop);
/* Opens the first engine, and repeats that after failures if params.retries_start is set. Returns 0, or -1 with
 * loop->err. */
int loop_begin(struct loop *loop);

/* --- loop.c --- */

/* Returns the mailbox at which the loop's thread waits for frames. A thread that has changed something wakes the loop's
 * thread there. */
struct mailbox *loop_waited_at(struct loop *loop);

/* --- collect.c: pictures from the engine --- */

/* Waits for the picture of the oldest run in flight and puts it into the mailbox. Returns 0, or -1 with loop->err if
 * the engine failed. */
int loop_collect(struct loop *loop);
/* Adds `count` frames to status.dropped, the number of frames that were dropped. */
void loop_count_dropped(struct loop *loop, int count);

/* --- engine_change.c: changes of handle and engine --- */

/* Records that this text was given to a slot of the engine (storage for an encoded prompt), so that it is not encoded
 * again, even if encoding has failed. `text` NULL: the slot has no text. */
void loop_note_encoded(struct loop *loop, int slot, const char *text);
/* Uses this engine from now on, and sets all fields of the loop that depend on the engine. */
void loop_use_engine(struct loop *loop, const struct opened *opened);
/* Replaces the engine in use by `opened`: calls loop_use_engine, counts the engine, and publishes it in the loop's
 * status. */
void loop_replace_engine(struct loop *loop, const struct opened *opened);
/* Copies the descriptions of the engine and its handle (prepared size and step count) to the status that other threads
 * read. */
void loop_publish_engine(struct loop *loop);
/* Changes to the handle (prepared size and step count) that suits these values. Handles that are missing are prepared
 * in the background, and those not needed any more are released. Does not wait: frames use the old handle until the new
 * one is ready. */
void loop_change_handle(struct loop *loop, const struct moment *now);
/* Returns the governor's rung (setting of size and steps) whose handle is in use; -1: the handle in use belongs to no
 * rung, because the rungs' handles are not ready yet. */
int loop_rung(const struct loop *loop);
/* Returns true if the handle in use has the shape (size, step count and so on) that these values ask for. */
bool loop_is_suited(const struct loop *loop, const struct moment *now);
/* If the engine in use does not suit the values, opens another engine in the background, uses the new engine when it is
 * open, and closes the old one. Waits only for frames in flight. Returns 0, 1 if values or engine have changed, or -1
 * with loop->err. */
int loop_change_engine(struct loop *loop, const struct parameters *values);
/* Closes the engine in use, the one that it has replaced, and any that is still being opened. */
void loop_close_engines(struct loop *loop);

#endif
