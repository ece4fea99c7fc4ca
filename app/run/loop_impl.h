/* The inside of the loop, shared by its files.
 *
 * collect.c        takes pictures from the engine and puts them into the mailbox
 * engine_change.c  changes to another handle or another engine
 * recover.c        opens the engine, and again after a failure
 * loop.c           the thread: gives frames and texts to the engine */
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
  struct frame input; /* held if the window shows the input next to the result */
  bool again;
  int64_t put_ns; /* time when the frame arrived */
  long applied;   /* number of changes sent before it */
  bool has_texts; /* the engine had all texts that the frame needs */
  int rung;       /* the governor's rung that made it; -1: none */
  long ladder;
  long handle; /* value of loop.handles_used when it was submitted */
};

struct loop {
  /* Set before the thread begins, then only read. The mailboxes have locks of their own. */
  pthread_t thread;
  struct loop_params params;
  struct mailbox *in, *out;
  struct mailbox nothing; /* mailbox at which the thread waits if `in` is NULL */

  /* The thread's alone until it has ended; then failed and err are read by the one that stops the loop. */
  struct engine *engine;
  bool failed;
  struct error err; /* valid if failed, after the thread has ended */

  /* Any thread's, without a lock. */
  atomic_bool stop, through; /* through: the thread has ended */
  atomic_bool on_device, drawn_there;
  atomic_llong busy_ns; /* time since which the thread waits for the engine; 0: it does not wait */

  /* The thread's alone: the newest frame, from the mailbox. */
  const struct mail *newest; /* the last frame taken; NULL: none yet */
  bool fresh;                /* the engine has not got it */
  bool passed;               /* the engine will not get it, because it was too late for the budget */
  int64_t taken_ns;
  bool ended;

  /* The thread's alone: the moment, and frames in the engine. */
  struct moment last; /* values of the last frame submitted */
  bool kept;          /* `last` still equals the moment looked at last, so it need not be copied again */
  struct companion companions[COMPANIONS]; /* submit number n uses the element n modulo COMPANIONS */
  int depth;
  long applied;              /* number of changes that the current moment contains */
  int64_t looked_ns;         /* time of the last look, if nothing was changing then; 0: look again */
  bool moves;                /* modulate may change the moment at any time */
  long submitted, collected; /* numbers of runs */
  long pictures;             /* number of pictures that these runs gave */
  int64_t last_finished_ns;

  /* The thread's alone: the engine and the handle in use. */
  struct engine_shape shape;   /* shape of the handle in use */
  struct engine_shape refused; /* shape refused last */
  int engines;                 /* number of engines used so far */
  size_t copied_before;        /* copied bytes of earlier engines, as in the status */
  long changes, last_changes;  /* number of changes of handle, engine or files; its value at the last frame submitted */
  struct handles handles;
  struct frame_pace pace;    /* frame times of the handle in use */
  char name[80];             /* name of the handle in use: its difference from the one before */
  long handles_used;         /* number of times that another handle came into use */
  struct engine_shape first; /* shape of the first handle of the engine in use */

  /* The thread's alone: handles that keep the budget. */
  struct governor governor;
  struct engine_shape ladder[GOVERNOR_RUNGS]; /* the wish and the governor's cheaper shapes */
  int rungs;
  long ladders, ladder_used; /* number of ladders so far; its value when a handle was changed last */

  /* The thread's alone: other engines, while they are opened or closed. The opener's own thread uses the opener. */
  struct opener opener;
  struct opened next;            /* a new engine, used when the old one has finished its frames; engine NULL: none */
  struct engine *former_engine;  /* to be closed; none of its frames is in flight */
  struct parameters opened_with; /* values with which the engine in use was opened, and files it has got since */
  bool guidance_embedded;
  bool wants_urgency; /* wants_urgency and urgency are as in the status */
  enum urgency urgency;
  int64_t recovered_ns, pause_ns; /* when a failed engine was opened again; pause before the next attempt */

  /* The thread's alone: texts in the engine's slots. */
  struct parameter_text encoded[SLOTS]; /* text of each slot, also if it could not be encoded */
  uint64_t encoded_texts;               /* values.texts for which all slots are encoded; 0: unknown */

  /* Any thread's: settings and status under the lock, sent without it, too. */
  pthread_mutex_t lock;
  struct settings settings; /* marks: set by someone; before the engine is open: the changes so far */
  struct loop_status status;
  atomic_long sent; /* number of changes */
};

/* --- recover.c --- */

/* Opens another engine after a failure, and waits until it is open. -1: the loop has to end first; err says what
 * failed. */
int loop_recover(struct loop *loop);
/* Opens the first engine; repeats that after failures if params.retries_start. Returns like loop_recover. */
int loop_begin(struct loop *loop);

/* --- collect.c --- */

/* Waits for the picture of the oldest frame in flight and puts it into the mailbox. -1: the engine failed. */
int loop_collect(struct loop *loop);
/* Adds to the count of dropped frames in the status. */
void loop_count_dropped(struct loop *loop, int count);

/* --- engine_change.c --- */

/* Records that a slot of the engine holds the text, or that it could not be encoded; NULL: no text. */
void loop_note_encoded(struct loop *loop, int slot, const char *text);
/* Makes this engine the one in use: sets everything that depends on the engine. */
void loop_use_engine(struct loop *loop, const struct opened *opened);
/* Replaces the engine in use in the same way, and counts and publishes the change. */
void loop_replace_engine(struct loop *loop, const struct opened *opened);
/* Updates the status that other threads read. */
void loop_publish_engine(struct loop *loop);
/* Prepares, uses and releases handles to suit the moment. Does not wait: frames use the old handle meanwhile. */
void loop_change_handle(struct loop *loop, const struct moment *now);
/* Returns the rung of the ladder that is in use; -1: another handle is, until a rung is ready. */
int loop_rung(const struct loop *loop);
/* True if the handle in use suits the moment. */
bool loop_is_suited(const struct loop *loop, const struct moment *now);
/* Opens another engine, uses it, and closes the former one, to suit the values. Does not wait, except for frames in
 * flight. Returns 1 if values or engine have changed, -1 on failure. */
int loop_change_engine(struct loop *loop, const struct parameters *values);
/* Closes all engines, including those being opened or prepared. */
void loop_close_engines(struct loop *loop);

#endif
