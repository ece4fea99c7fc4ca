/* The engine thread of the live window. The newest frame and the current controls go into the engine, and pictures come
 * out into a mailbox. Only this thread calls the engine, except that another handle is prepared, and another engine
 * opened, on threads of their own; frames use the old one until the new one is ready. */
#ifndef APP_RUN_LOOP_H
#define APP_RUN_LOOP_H

#include "app/control/settings.h"
#include "app/flow/mailbox.h"
#include "app/platform/app_platform.h"
#include "app/run/opener.h"
#include "unet/engine.h"

/* The engine's pictures that loop and mailboxes hold at most: in the mailbox, and one that is about to be put there. */
enum { LOOP_HOLDS = MAILBOX_HOLDS + 1 };

struct loop_params {
  /* Opens an engine. The first call is on the loop's thread and fills beginning->values. Later ones are on a thread of
   * their own, with the requested values, while frames continue; or on the loop's thread after a failure. Marks show
   * which values were set by someone; the others are set to suit the model. */
  open_engine *open;
  /* Called on the loop's thread before each frame. It may change settings, which is a copy that applies to this frame
   * alone. frame: the newest frame, which is submitted next; NULL: there is none. Returns true if it may change
   * something at any time. NULL: nothing is modulated. */
  bool (*modulate)(void *opaque, struct settings *settings, const struct frame *frame, int64_t now_ns);
  /* Called on the loop's thread before a frame is submitted, to give the engine or the request other data of the frame,
   * such as its mask. request->frame is NULL without a source. NULL: there is none. */
  int (*before)(void *opaque, struct engine *engine, struct engine_request *request, struct error *err);
  /* Called in each turn on the loop's thread, for parameters of NEED_READING. It gives the engine files that have been
   * read in the background, starts reading those that differ between has and wish, and updates has. frame: the newest,
   * or NULL. Returns 1 if the engine got something new, -1 on failure. NULL: nothing is read. */
  int (*read_files)(void *opaque, struct engine *engine, struct parameters *has, const struct parameters *wish,
                    const struct frame *frame, struct error *err);
  /* Called after read_files, with the loop's lock held: resets refused values to those before. */
  void (*put_back)(void *opaque, const struct parameters *has, struct parameters *values);
  /* Called on the loop's thread after a failed engine was closed; the next engine may have the same address. May be
   * NULL. */
  void (*left)(void *opaque);
  void *opaque;
  bool recovers; /* open a failed engine again, with the current settings, as often as necessary */
  /* open the first engine as often as necessary, too; for an engine that another process could open a moment ago */
  bool retries_start;
  /* leave a device that is lost for this process: status.lost is set, and the thread waits for loop_end */
  bool leaves_lost;
  /* longest time after a picture for which the next run is delayed while that picture is drawn; see
   * loop_set_drawn_there */
  double drawing_ms;
  double budget_ms;    /* time budget of a frame, which is kept by changing handles; 0: none */
  int floor_pixels;    /* least number of pixels of a picture under the budget; 0: a quarter of the requested number */
  bool urgent;         /* make the thread urgent (app_platform.h) while the engine's device runs by itself */
  size_t memory_limit; /* device memory for all engines together; 0: no limit */
  const struct log *log;
  /* Log for the reasons why a request of the user is refused, called on the loop's thread; NULL: log. */
  const struct log *told;
};

struct loop_status {
  /* The engine and the handle in use. */
  bool ready;              /* the engine is open, and the fields below are filled */
  struct engine_info info; /* info as of the last change of handle or engine */
  struct prepared_info prepared;
  struct engine_shape wish;    /* shape that prepared would have without a budget */
  bool governed;               /* prepared has another shape because of the budget */
  struct engine_shape refused; /* shape of the last refused handle; steps 0: none */
  int engines;                 /* number of engines used so far, which identifies the engine */

  /* Failures and the time for which the engine has been busy. */
  bool away;                /* the engine failed and is being opened again */
  char why_away[200];       /* message of the last failure */
  bool lost;                /* the device is lost for this process, and only another process can open it */
  double busy_ms;           /* time for which the thread has been waiting for the engine; 0: it is not waiting */
  double tell_ms, leave_ms; /* values of busy_ms at which the engine counts as hanging, and is given up (patience.h) */

  /* Scheduling, and changes that are under way. */
  bool wants_urgency;   /* the engine's device runs by itself, so threads that frames depend on should be urgent */
  enum urgency urgency; /* scheduling class of the loop's thread */
  bool opening;         /* another engine is being opened */
  bool preparing;       /* a handle that the user asked for is being prepared */
  bool first;           /* the handle in use has not made a picture yet */
  char name[80];        /* name of the handle or model that is or was being prepared: "640x360", "4 steps" */
  long engines_refused; /* number of refused engines so far; the values that asked for them were reset */

  /* Counters. */
  long frames;   /* number of pictures made */
  size_t copied; /* bytes of pixels that engines had copied for these pictures (engine_copied) */
  double cpu_ms; /* processor time of the thread for these pictures */
  long dropped;  /* frames replaced by newer ones before the engine got them */
};

/* The state by which the thread decides what to do next. A turn begins without looking at the moment (the current
 * values and what follows from them): most turns do not need it, and looking costs as much as launching a frame. */
struct loop_situation {
  bool looked;          /* the moment was looked at; only then are late and stale filled */
  int in_flight, depth; /* frames in the engine; how many it should have at most */
  bool fresh;           /* there is a frame that the engine has not got */
  bool batched;         /* frames are under way in a stream batch */
  bool asked;           /* changes were sent that the last look has not seen */
  bool quiet;           /* no new frame is expected at the moment */
  bool late;            /* the fresh frame cannot be finished within the budget any more, but a newer one can */
  bool stale;           /* the last picture was made with other controls */
  bool ended;           /* no more frames will come */
};

/* LOOP_LOOK means: look at the moment and decide again. */
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

/* Times of a frame that waits for the engine. */
struct loop_timing {
  double budget_ms, frame_ms; /* frame_ms: time of a frame with the handle in use; 0: unknown */
  double waited_ms;           /* time since the frame arrived */
  double busy_ms;             /* time that the engine has spent on the oldest frame in flight */
  int in_flight;
};
/* True if this frame is late (struct loop_situation). */
bool loop_is_late(const struct loop_timing *timing);

struct loop;

/* Starts the thread. in: frames; NULL for text to image, where a picture is made when a control changes. out: pictures;
 * it is closed when no more will come. Both must outlive the loop. The caller ends the loop with loop_stop. */
int loop_start(struct loop **loop, const struct loop_params *params, struct mailbox *in, struct mailbox *out,
               struct error *err);
/* Applies the marked changes from the next frame on. Any thread may call it. Changes sent before the engine is open are
 * applied when it is. Returns the number of calls that sent changes, including this one: see mail.applied. */
long loop_send(struct loop *loop, const struct parameters *changes);
/* Copies the settings that the engine uses now, without marks. settings must be initialised, zeros suffice. Returns
 * false, and leaves settings unchanged, until the engine is open. */
bool loop_get_settings(struct loop *loop, struct settings *settings);
/* Copies the values, with marks on those that someone has set. Returns false until the engine is open. */
bool loop_get_marked(struct loop *loop, struct parameters *values);
/* Copies the status. Any thread. */
void loop_get_status(struct loop *loop, struct loop_status *status);
/* Tells the loop to leave pictures in device memory until someone waits for them in host memory. Off at first. Any
 * thread. */
void loop_set_on_device(struct loop *loop, bool on_device);
/* Tells the loop that the receiver draws pictures on the device that makes them, and calls mailbox_done afterwards. Off
 * at first. Any thread. Drawing waits for all earlier work of the device; therefore one run at a time is in flight, and
 * the next begins when the previous picture was drawn, or after drawing_ms. */
void loop_set_drawn_there(struct loop *loop, bool drawn_there);

/* Makes the thread end after its current frame, and does not wait for it. Accepts NULL. */
void loop_end(struct loop *loop);

/* Waits up to wait_ms, after loop_end, until the thread has ended. Returns false if it has not. Accepts NULL. */
bool loop_wait_end(const struct loop *loop, int wait_ms);

/* Ends the thread, waiting for an engine that is being opened, and closes the engine. Returns -1 with err if the engine
 * had failed. Stores NULL; accepts NULL. */
int loop_stop(struct loop **loop, struct error *err);

#endif
