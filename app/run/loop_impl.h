/* Declarations that the files of the loop (loop.h) share.
 *
 * collect.c        takes pictures from the engine and puts them into the mailbox
 * engine_change.c  changes to another handle or another engine
 * recover.c        opens the first engine, and opens it again after a failure
 * loop.c           runs the thread: gives frames and texts to the engine */
#ifndef APP_RUN_LOOP_IMPL_H
#define APP_RUN_LOOP_IMPL_H

#include <stdatomic.h>

#include "app/run/governor.h"
#include "app/run/loop.h"
#include "app/run/handles.h"
#include "app/run/patience.h"

enum { MAX_DEPTH = 2, COMPANIONS = MAX_DEPTH + STREAM_BATCH_MAX };

/* The data of a frame that the loop keeps while the frame is in the engine. */
struct companion {
  struct frame input; /* frame of the source, held for the window if it shows the input next to the picture */
  bool again;
  int64_t put_ns; /* time when the frame was put into the mailbox */
  long applied;   /* number of calls of loop_send whose changes the frame's values contain */
  bool has_texts; /* all texts that the frame uses were encoded when it was submitted */
  int rung;       /* rung of loop.governor with which it was made; -1: none */
  long ladder;
  long handle; /* value of loop.handles_used when the frame was submitted */
};

struct loop {
  /* Set before the thread begins, then only read. The mailboxes have locks of their own. */
  pthread_t thread;
  struct loop_params params;
  struct mailbox *in, *out;
  /* empty mailbox at which the thread waits for changes if `in` is NULL (text to image) */
  struct mailbox nothing;

  /* Used by the loop's thread alone until it has ended. Then loop_stop reads failed and err. */
  struct engine *engine;
  bool failed;
  struct error err; /* why the engine failed; valid if `failed` */

  /* Read and written by any thread, without a lock. */
  atomic_bool stop, through; /* stop: the thread has to end; through: it has ended */
  atomic_bool on_device, drawn_there;
  atomic_llong busy_ns; /* time when the call of the engine began in which the thread is; 0: it is in none */

  /* Used by the loop's thread alone: the newest frame, from the mailbox. */
  const struct mail *newest; /* the last frame that was taken from `in`; NULL: none yet */
  bool fresh;                /* `newest` was not submitted yet */
  bool passed;               /* `newest` was dropped because it would have missed the time budget */
  int64_t taken_ns;
  bool ended;

  /* Used by the loop's thread alone: copies of the current values (struct moment), and frames in the engine. */
  struct moment last; /* the values with which the last frame was submitted */
  uint64_t stretch;   /* frame.stretch of the last frame that was submitted */
  bool kept;          /* `last` equals the newest copy of the current values, so it need not be copied again */
  /* data of frames in the engine; run number n uses element n modulo COMPANIONS */
  struct companion companions[COMPANIONS];
  int depth;
  long applied; /* number of calls of loop_send whose changes the copied values contain */
  /* time when the values were copied last, if nothing was changing by itself then; 0: copy them again */
  int64_t looked_ns;
  bool moves;                /* params.modulate may change values at any time */
  long submitted, collected; /* number of runs submitted to the engine, and of runs collected from it */
  long pictures; /* number of pictures that the collected runs gave; a run that only fills a stream batch gives none */
  int64_t last_finished_ns;

  /* Used by the loop's thread alone: the engine in use, and its handle (struct prepared). */
  struct engine_shape shape;   /* shape of the handle in use */
  struct engine_shape refused; /* the last shape that could not be prepared */
  int engines;                 /* number of engines used so far */
  /* bytes of pixels that engines closed since have copied (status.copied includes them) */
  size_t copied_before;
  /* number of times that handle, engine or files have changed, now and when the last frame was submitted */
  long changes, last_changes;
  struct handles handles;
  struct frame_pace pace;    /* frame times of the handle in use */
  char name[80];             /* how the handle in use differs from the one before, for users: "640x360", "4 steps" */
  long handles_used;         /* number of times that another handle has come into use */
  struct engine_shape first; /* shape of the handle that the engine in use was opened with */

  /* Used by the loop's thread alone: cheaper handles, which keep the time budget (governor.h). */
  struct governor governor;
  /* ladder[i]: shape of the governor's rung i; 0 is what the user asked for */
  struct engine_shape ladder[GOVERNOR_RUNGS];
  int rungs;
  long ladders, ladder_used; /* number of times that `ladder` was filled: so far, and until a handle was changed last */

  /* Used by the loop's thread alone, except that the opener has a thread of its own inside: other engines, while they
   * are opened or closed. */
  struct opener opener;
  /* a new engine that replaces the old one as soon as its frames are finished; engine NULL: none */
  struct opened next;
  /* the replaced engine, which has no frames in flight and waits to be closed; NULL: none */
  struct engine *former_engine;
  /* values with which the engine in use was opened; files that it has got since are updated */
  struct parameters opened_with;
  bool guidance_embedded;
  bool wants_urgency; /* wants_urgency and urgency are copied to the fields of these names in loop_status */
  enum urgency urgency;
  /* time when a failed engine was opened again, and pause in ns before the next attempt */
  int64_t recovered_ns, pause_ns;

  /* Used by the loop's thread alone: texts in the engine's prompt slots. */
  /* the text that was encoded last into each slot, even if encoding failed */
  struct parameter_text encoded[SLOTS];
  /* value of parameters.texts for which all slots are known to be encoded; 0: unknown */
  uint64_t encoded_texts;

  /* Used by any thread: settings and status with `lock` held, `sent` without it, too. */
  pthread_mutex_t lock;
  /* the current values; a mark shows that someone has set the value; before the engine is open only the changes so
   * far */
  struct settings settings;
  struct loop_status status;
  atomic_long sent; /* number of calls of loop_send */
};

/* --- recover.c --- */

/* Opens another engine after a failure; repeats that until one is open. Returns 0, or -1 if the loop has to end first
 * or the device is lost; loop->err says what failed. */
int loop_recover(struct loop *loop);
/* Opens the first engine; repeats that after failures if params.retries_start is set. Returns 0, or -1 with
 * loop->err. */
int loop_begin(struct loop *loop);

/* --- collect.c --- */

/* Waits for the picture of the oldest run in flight and puts it into the mailbox. Returns 0, or -1 with loop->err if
 * the engine failed. */
int loop_collect(struct loop *loop);
/* Adds `count` to the number of dropped frames in the status. */
void loop_count_dropped(struct loop *loop, int count);

/* --- engine_change.c --- */

/* Records that this text was given to a slot of the engine, even if encoding it fails. text NULL: the slot has none. */
void loop_note_encoded(struct loop *loop, int slot, const char *text);
/* Makes this engine the one in use, and sets all fields of the loop that depend on the engine. */
void loop_use_engine(struct loop *loop, const struct opened *opened);
/* Like loop_use_engine, for an engine after the first: also counts the change and publishes it in the status. */
void loop_replace_engine(struct loop *loop, const struct opened *opened);
/* Copies engine and handle in use to the status that other threads read. */
void loop_publish_engine(struct loop *loop);
/* Changes to the handle that suits these values; prepares handles that are missing and releases those not needed. Does
 * not wait: frames use the old handle until the new one is ready. */
void loop_change_handle(struct loop *loop, const struct moment *now);
/* Returns the index of the ladder's rung whose handle is in use; -1: the handle in use is not on the ladder, because
 * none of the ladder is ready yet. */
int loop_rung(const struct loop *loop);
/* Returns true if the handle in use has the shape that these values ask for. */
bool loop_is_suited(const struct loop *loop, const struct moment *now);
/* Opens an engine that suits the values if that in use does not, puts it into use when it is open, and closes the old
 * one. Waits only for frames in flight. Returns 0, 1 if values or engine have changed, or -1 with loop->err. */
int loop_change_engine(struct loop *loop, const struct parameters *values);
/* Closes all engines: the one in use, the one that it has replaced, and those that are still being opened. */
void loop_close_engines(struct loop *loop);

#endif
