/* The loop from the inside: what its files share.
 *
 * collect.c        pictures: from the engine to whoever shows them
 * engine_change.c  another handle, another engine
 * recover.c        the engine is opened, and again once it failed
 * loop.c           the thread: frames and texts to the engine */
#ifndef APP_RUN_LOOP_IMPL_H
#define APP_RUN_LOOP_IMPL_H

#include <stdatomic.h>

#include "app/run/governor.h"
#include "app/run/loop.h"
#include "app/run/handles.h"
#include "app/run/patience.h"

enum { MAX_DEPTH = 2, COMPANIONS = MAX_DEPTH + STREAM_BATCH_MAX };

/* What goes with a frame through the engine. */
struct companion {
  struct frame input; /* held where the window wants it beside the result */
  bool again;
  int64_t put_ns; /* when the frame was there */
  long heeded;    /* changes sent before it */
  bool has_texts; /* the engine was given all that it asks for */
  int rung;       /* of the governor's; -1: none of them */
  long ladder;
  long handle; /* loop.handles_used when it was submitted */
};

struct loop {
  /* Set before the thread begins, then only read. The mailboxes have locks of their own. */
  pthread_t thread;
  struct loop_params params;
  struct mailbox *in, *out;
  struct mailbox nothing; /* waited at where there is no in */

  /* The thread's alone until it has ended; then failed and err are read by the one that stops the loop. */
  struct engine *engine;
  bool failed;
  struct error err; /* valid after the thread's end if failed */

  /* Any thread's, without a lock. */
  atomic_bool stop, through; /* through: the thread has ended */
  atomic_bool on_device, drawn_there;
  atomic_llong busy_ns; /* since then the thread waits for the engine; 0: it does not */

  /* The thread's alone: frames, from the mailbox to the engine and back. */
  const struct mail *newest; /* the last frame taken; NULL: none yet */
  bool fresh;                /* the engine has not seen it */
  bool passed;               /* nor will it, for there was no time */
  int64_t taken_ns;
  bool ended;
  struct moment last;                      /* of the last frame submitted */
  bool kept;                               /* it is the one looked at last */
  struct companion companions[COMPANIONS]; /* that of submit number n is at n modulo COMPANIONS */
  int depth;
  long heeded;               /* changes that the moment has */
  int64_t looked_ns;         /* when all was looked at, and nothing was changing; 0: something was */
  bool moves;                /* it may be another one without a change */
  long submitted, collected; /* runs */
  long pictures;             /* that came of them */
  int64_t last_finished_ns;

  /* The thread's alone: the engine and the handle in use. */
  struct engine_shape shape;   /* of the handle in use */
  struct engine_shape refused; /* what was refused last */
  int engines;                 /* used so far */
  size_t copied_before;        /* by those before the one in use, as in the status */
  long changes, last_changes;  /* of handle, engine or files in use; at the last frame submitted */
  struct handles handles;
  struct frame_pace pace;    /* of the handle in use */
  char name[80];             /* of the handle in use, by what sets it apart from the one before */
  long handles_used;         /* so far, each time that another one came into use */
  struct engine_shape first; /* of the engine in use */

  /* The thread's alone: handles that keep the budget. */
  struct governor governor;
  struct engine_shape ladder[GOVERNOR_RUNGS]; /* from what is wished for down */
  int rungs;
  long ladders, ladder_used; /* so far; when a handle was changed last */

  /* The thread's alone: other engines, while they are opened or closed. The opener's own thread uses the opener. */
  struct opener opener;
  struct opened next;            /* comes into use as soon as the old engine has nothing to do; no engine: none */
  struct engine *former_engine;  /* to be closed; no frame of it is in flight */
  struct parameters opened_with; /* what the engine in use was opened with, and has read since */
  bool guidance_embedded;
  bool hurries; /* as in the status, and so is urgency */
  enum urgency urgency;
  int64_t recovered_ns, pause_ns; /* when an engine that had failed was there again; before the next attempt */

  /* The thread's alone: texts in the engine's slots. */
  struct parameter_text encoded[SLOTS]; /* what each slot holds, or what could not be encoded */
  uint64_t encoded_texts;               /* the number of texts all of which are there; 0: none are known to be */

  /* Any thread's: settings and status under the lock, sent without it, too. */
  pthread_mutex_t lock;
  struct settings settings; /* marked: what somebody has set; before the engine is open, the changes so far */
  struct loop_status status;
  atomic_long sent; /* changes */
};

/* --- recover.c --- */

/* After a failure of the engine: waits until there is another one. -1: the loop is to end first, and err says what
 * failed. */
int loop_recover(struct loop *loop);
/* Opens the first engine, as often as it takes where the caller insists. Likewise. */
int loop_begin(struct loop *loop);

/* --- collect.c --- */

/* The picture of the oldest frame in flight. */
int loop_collect(struct loop *loop);
void loop_count_dropped(struct loop *loop, int count);

/* --- engine_change.c --- */

/* A slot of the engine holds the text, or what could not be encoded of it; NULL: none. */
void loop_note_encoded(struct loop *loop, int slot, const char *text);
/* Everything that knows the engine knows this one. */
void loop_use_engine(struct loop *loop, const struct opened *opened);
/* Likewise, of an engine in the place of another. */
void loop_replace_engine(struct loop *loop, const struct opened *opened);
/* What others know of engine and handle is as it is now. */
void loop_publish_engine(struct loop *loop);
/* Frames go on with the handle in use while another is prepared, or a former one released. */
void loop_change_handle(struct loop *loop, const struct moment *now);
/* Which of the ladder is in use; -1: another one, until it is ready. */
int loop_rung(const struct loop *loop);
/* Whether the handle in use is the one that suits this moment. */
bool loop_is_suited(const struct loop *loop, const struct moment *now);
/* Frames go on with the engine in use while another is opened, or a former one closed. Returns 1 where values have
 * changed by that. */
int loop_change_engine(struct loop *loop, const struct parameters *values);
/* Closes all engines, with what is prepared or opened beside them. */
void loop_close_engines(struct loop *loop);

#endif
