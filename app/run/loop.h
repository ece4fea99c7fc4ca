/* The engine thread of the live window: the newest frame and the controls of this moment go into the engine, pictures
 * come out into a mailbox. It alone calls the engine, but for preparing another handle and for opening another engine,
 * which go on beside the frames: they keep to the old one until the new one is there. */
#ifndef APP_RUN_LOOP_H
#define APP_RUN_LOOP_H

#include "app/control/settings.h"
#include "app/flow/mailbox.h"
#include "app/platform/app_platform.h"
#include "app/run/opener.h"
#include "unet/engine.h"

/* Pictures of the engine's that loop and mailboxes hold at most: in the mailbox, and on the way to it. */
enum { LOOP_HOLDS = MAILBOX_HOLDS + 1 };

struct loop_params {
  /* The first time it runs on the thread, and beginning->values are for it to fill; then on one of its own, beside
   * frames, with values that were wished for; or on the thread again, after a failure. Marks say what somebody has set:
   * the rest suits the model. */
  open_engine *open;
  /* Called on the same thread for the moment of a frame: what it moves in settings, which are a copy, holds for that
   * frame alone. frame: the newest, which comes next; NULL: there is none. Returns whether it may move something at any
   * moment. NULL: nothing is moved. */
  bool (*modulate)(void *opaque, struct settings *settings, const struct frame *frame, int64_t now_ns);
  /* Called before a frame is submitted, on the same thread, to give the engine and the request what else belongs to the
   * frame, which is NULL where there is no source. NULL: nothing does. */
  int (*before)(void *opaque, struct engine *engine, struct engine_request *request, struct error *err);
  /* Called in each turn, on the same thread: brings the engine from what it has been given of NEED_READING to what is
   * wished for, beside frames, and notes in has what came of it. frame: the newest, or NULL. Returns 1 where the engine
   * has got something new. NULL: nothing is read. */
  int (*read_files)(void *opaque, struct engine *engine, struct parameters *has, const struct parameters *wish,
                    const struct frame *frame, struct error *err);
  /* Called after it, with the loop's values locked: what was refused is as it was before. */
  void (*put_back)(void *opaque, const struct parameters *has, struct parameters *values);
  /* Called on the same thread when an engine that failed was closed: the next one may lie where it lay. NULL: nobody
   * is told. */
  void (*left)(void *opaque);
  void *opaque;
  bool recovers;    /* an engine that failed is opened again, with the settings as they are, as often as it takes */
  bool insists;     /* so is the first one, which could be opened a moment ago, in another process */
  bool leaves_lost; /* a device lost for this process is left: status.lost, and the thread waits for its end */
  /* How long at most after a picture the next run is put off for the drawing of that one; see loop_set_drawn_there */
  double drawing_ms;
  double budget_ms;    /* of a frame; handles are changed so that it is kept. 0: none */
  int floor_pixels;    /* of pictures, below which that never goes; 0: a quarter of those wished for */
  bool urgent;         /* so is the thread, while the engine's device works by itself (app_platform.h) */
  size_t memory_limit; /* of the device, for all engines together; 0: none */
  const struct log *log;
  /* Where the loop says why something that the user asked for cannot be had; NULL: log. Called on the loop's thread. */
  const struct log *told;
};

struct loop_status {
  bool ready;              /* the engine is open; the fields below are filled */
  struct engine_info info; /* as of the last change of handle or engine */
  struct prepared_info prepared;
  struct engine_shape wish;    /* what prepared would be without a budget */
  bool governed;               /* prepared is another one for the budget's sake */
  struct engine_shape refused; /* the handle that was refused last; steps 0: none */
  int engines;                 /* used so far: another number is another engine */
  bool away;                   /* the engine failed and is being opened again */
  char why_away[200];          /* what failed last */
  bool lost;                   /* for good: only another process can open it */
  double busy_ms;              /* that the engine has been at what it does at this moment; 0: nothing */
  double tell_ms, leave_ms;    /* of busy_ms: it is said to hang; it is given up (patience.h) */
  bool hurries;                /* the engine's device works by itself: threads that frames wait for are to be urgent */
  enum urgency urgency;        /* what the loop's thread is */
  bool opening;                /* another engine, beside this one */
  bool preparing;              /* what the user asked for, beside the handle that is in use */
  bool first;                  /* the handle in use has made no picture yet */
  char name[80];               /* of what is being prepared or was last, as "640x360", "4 steps" or a model's name */
  long engines_refused;        /* so far; what they were wished for with has become what it was before */
  long frames;                 /* pictures made */
  size_t copied;               /* bytes of pixels that engines had copied for them (engine_copied) */
  double cpu_ms;               /* that the thread has had of a processor until then */
  long dropped;                /* frames taken and replaced by newer ones before the engine got them */
};

/* What the thread knows when it decides what to do next. A turn begins without a look at the moment: most turns need
 * none, and a look at everything costs as much as launching a frame. */
struct loop_situation {
  bool looked;          /* the moment was looked at: late and stale are filled in */
  int in_flight, depth; /* frames in the engine; how many are worth having there */
  bool fresh;           /* a frame that the engine has not seen */
  bool batched;         /* frames are under way in a stream batch */
  bool asked;           /* changes were sent that the moment does not have yet */
  bool quiet;           /* no new frame comes for now */
  bool late;            /* the fresh frame cannot be done within the budget any more, and a newer one can */
  bool stale;           /* the last picture was made with other controls */
  bool ended;           /* no more frames will come */
};

/* LOOP_LOOK: look at the moment, and decide again. */
enum loop_action {
  LOOP_LOOK,
  LOOP_SUBMIT_FRESH,
  LOOP_PASS,
  LOOP_SUBMIT_AGAIN,
  LOOP_DRAIN,
  LOOP_COLLECT,
  LOOP_WAIT,
  LOOP_END
};

/* Decides what comes next, and with it which frames are dropped: a frame is taken from the mailbox only at the moment
 * the engine has room for it, so that it is the newest there is; all others were dropped there. */
enum loop_action loop_decide(const struct loop_situation *situation);

/* Of a frame that waits for the engine. */
struct loop_timing {
  double budget_ms, frame_ms; /* frame_ms: of the handle in use, 0: not known */
  double waited_ms;           /* since the frame was there */
  double busy_ms;             /* that the engine has been at the oldest frame in flight */
  int in_flight;
};
/* Whether that frame is late (struct loop_situation). */
bool loop_is_late(const struct loop_timing *timing);

struct loop;

/* Starts the thread. in: frames; NULL for text to image, where a picture is made when a control changes. out: pictures,
 * closed when no more will come. Both outlive the loop. */
int loop_start(struct loop **loop, const struct loop_params *params, struct mailbox *in, struct mailbox *out,
               struct error *err);
/* The marked changes apply from the next frame on. Any thread may call this at any time; changes sent before the engine
 * is open wait for it. Returns how often something was sent so far, this time among them: see mail.heeded. */
long loop_send(struct loop *loop, const struct parameters *changes);
/* What the engine follows now, without marks, into settings that have a value, if only zeros. False, and settings as
 * they were, until it is open. */
bool loop_get_settings(struct loop *loop, struct settings *settings);
/* The values alone, marked where somebody has set them. Likewise. */
bool loop_get_marked(struct loop *loop, struct parameters *values);
void loop_get_status(struct loop *loop, struct loop_status *status);
/* Whether pictures stay in the device's memory until somebody waits for them in the host's; at first they do not. Any
 * thread. */
void loop_set_on_device(struct loop *loop, bool on_device);
/* Whether who takes the pictures draws them on the device that makes them, and says mailbox_done then; at first not.
 * What is drawn would wait there for all that the device was given before: one run at a time is in flight, and the next
 * begins when the picture before was drawn, or should have been. Any thread. */
void loop_set_drawn_there(struct loop *loop, bool drawn_there);

/* Lets the thread end after the frame it is at, and does not wait for it. Takes NULL. */
void loop_end(struct loop *loop);

/* After loop_end: waits until the thread has ended. False: it has not in that time. Takes NULL. */
bool loop_wait_end(const struct loop *loop, int wait_ms);

/* Ends the thread and closes the engine; waits for one that is being opened. Returns -1 and err when the engine had
 * failed. Stores NULL; takes NULL. */
int loop_stop(struct loop **loop, struct error *err);

#endif
