/* The engine thread of the live window. It submits the newest frame with the current values to the engine, and puts the
 * pictures into a mailbox for the window. Only this thread calls the engine, with two exceptions: another handle is
 * prepared on one background thread, and another engine opened on another. Frames use the old handle and engine until
 * the new ones are ready. */
#ifndef APP_RUN_LOOP_H
#define APP_RUN_LOOP_H

#include "app/control/settings.h"
#include "app/flow/mailbox.h"
#include "app/platform/app_platform.h"
#include "app/run/opener.h"
#include "unet/engine.h"

/* Number of the engine's pictures that the loop and its mailbox hold at most: those in the mailbox, and one that is
 * about to be put there. */
enum { LOOP_HOLDS = MAILBOX_HOLDS + 1 };

struct loop_params {
  /* Opens an engine. The first call is on the loop's thread and fills beginning->values. Later calls get the requested
   * values in beginning->values; they are on a background thread while frames continue, or on the loop's thread after
   * the engine has failed. Marked values were set by someone; the others may be changed to suit the model. */
  open_engine *open;
  /* Called on the loop's thread before each frame to let sound and the like change values. settings is a copy for this
   * frame alone. frame: the frame that is submitted next; NULL: there is none. Returns true if its changes may differ
   * from one moment to the next without a call of loop_send. NULL: nothing changes values this way. */
  bool (*modulate)(void *opaque, struct settings *settings, const struct frame *frame, int64_t now_ns);
  /* Called on the loop's thread before a frame is submitted, to give the engine or the request other data of the frame,
   * such as its mask. request->frame is NULL without a source. Returns 0, or -1 with err. NULL: there is no such
   * data. */
  int (*before)(void *opaque, struct engine *engine, struct engine_request *request, struct error *err);
  /* Called in each turn on the loop's thread, for parameters that name files (NEED_READING). It gives the engine files
   * that a background thread has read, starts reading those that differ between `has` (what the engine has) and `wish`
   * (what the user wants), and updates `has`. frame: the newest, or NULL. Returns 0, 1 if the engine got something new,
   * or -1 with err. NULL: there are no such files. */
  int (*read_files)(void *opaque, struct engine *engine, struct parameters *has, const struct parameters *wish,
                    const struct frame *frame, struct error *err);
  /* Called after read_files, with the loop's lock held. It resets values that name files which could not be read to
   * those in `has`, what the engine has. */
  void (*put_back)(void *opaque, const struct parameters *has, struct parameters *values);
  /* Called on the loop's thread after a failed engine was closed, so that the owner forgets its address: the next
   * engine may have the same. May be NULL. */
  void (*left)(void *opaque);
  void *opaque;
  /* after a failure of the device open the engine again, with the current settings, as often as necessary */
  bool recovers;
  /* Repeat a failed opening of the first engine, too. Set if the program has been restarted, so that another process
   * could open it a moment ago. */
  bool retries_start;
  /* If the device is lost for this process, do not open it again: close the engine, set status.lost, and wait for
   * loop_end. */
  bool leaves_lost;
  /* With loop_set_drawn_there: longest time in ms by which the next run is delayed so that the window can draw the last
   * picture. */
  double drawing_ms;
  double budget_ms; /* longest time of a frame in ms; size and steps are reduced to keep it; 0: no budget */
  /* the budget does not reduce pictures below this many pixels; 0: a quarter of the requested number */
  int floor_pixels;
  bool urgent;         /* give the thread a real-time priority (app_platform.h) if the engine's device is a GPU */
  size_t memory_limit; /* most bytes of device memory for all engines together; 0: no limit */
  const struct log *log;
  /* Log for the reasons why a request of the user is refused, called on the loop's thread; NULL: log. */
  const struct log *told;
};

struct loop_status {
  /* The engine and the handle in use. */
  bool ready;              /* the first engine was opened, and the fields of this block are filled */
  struct engine_info info; /* info of the engine, updated when handle or engine changes */
  struct prepared_info prepared;
  struct engine_shape wish;    /* the shape that the user's values ask for; `prepared` may have a cheaper one */
  bool governed;               /* true: `prepared` has a cheaper shape than `wish`, to keep the time budget */
  struct engine_shape refused; /* the last shape that could not be prepared; steps 0: none */
  int engines;                 /* number of engines opened so far; it changes when another comes into use */

  /* Failures and the time for which the engine has been busy. */
  bool away;          /* the engine has failed and is being opened again */
  char why_away[200]; /* message of the engine's last failure; "" unless `away` */
  bool lost;          /* the device is lost for this process, and only another process can open it */
  double busy_ms;     /* ms for which the thread has been waiting inside a call of the engine; 0: it is not */
  /* busy_ms from which the engine counts as hanging, and from which it is given up (patience.h) */
  double tell_ms, leave_ms;

  /* Scheduling, and changes that are under way. */
  /* the engine's device is a GPU, so threads that pass frames on should have real-time priority */
  bool wants_urgency;
  enum urgency urgency; /* scheduling class of the loop's thread */
  bool opening;         /* another engine is being opened */
  bool preparing;       /* a handle that the user asked for is being prepared */
  bool first;           /* the handle in use has not made a picture yet */
  /* what is being prepared or opened, or was last, for users: "640x360", "4 steps", a model's name */
  char name[80];
  /* number of engines that could not be opened; the values that asked for them were reset each time */
  long engines_refused;

  /* Counters. */
  long frames;   /* number of pictures made */
  size_t copied; /* bytes of pixels that all engines so far have copied in host memory (engine_copied) */
  double cpu_ms; /* processor time that the loop's thread has used so far */
  /* number of frames that were replaced by newer ones, or were too late, before the engine got them */
  long dropped;
};

/* The state by which the thread decides what to do next. Two stages: a turn first decides by the frames alone (looked
 * false); only if that does not suffice does it copy the current values and what follows from them (the moment), which
 * costs as much as launching a frame. */
struct loop_situation {
  bool looked;          /* the current values were copied; late and stale are filled only then */
  int in_flight, depth; /* number of frames in the engine, and how many it may have at most */
  bool fresh;           /* there is a frame that was not submitted yet */
  bool batched;         /* a stream batch contains frames whose steps are not all done */
  bool asked;           /* changes were sent since the values were copied last */
  bool quiet;           /* no new frame is expected soon: pause, no source, or none came for 100 ms */
  bool late;            /* the new frame would miss the time budget, although a newer frame could keep it */
  bool stale;           /* a picture made now would differ from the last one, because values have changed */
  bool ended;           /* no more frames will come */
};

/* LOOP_LOOK: copy the current values, and decide again with `looked` set. */
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

/* Decides what the thread does next. A frame is taken from the mailbox only when the engine has room for it, so that it
 * is the newest; the mailbox has dropped those before. */
enum loop_action loop_decide(const struct loop_situation *situation);

/* Times of a frame that waits for the engine, in ms, for loop_is_late. */
struct loop_timing {
  /* time budget, and usual time of a frame with the handle in use; frame_ms 0: unknown */
  double budget_ms, frame_ms;
  double waited_ms; /* time since the frame was put into the mailbox */
  double busy_ms;   /* time since the engine finished the frame before the oldest one in flight */
  int in_flight;
};
/* Returns true if the frame would miss the budget even if it were submitted now, although frame_ms alone fits. Always
 * false if frame_ms is unknown. */
bool loop_is_late(const struct loop_timing *timing);

struct loop;

/* Starts the thread. in: frames of the source; NULL for text to image, where a picture is made when a control changes.
 * out: gets the pictures, and is closed when no more will come. Both must outlive the loop. The caller ends the loop
 * with loop_stop. Returns 0, or -1 with err. */
int loop_start(struct loop **loop, const struct loop_params *params, struct mailbox *in, struct mailbox *out,
               struct error *err);
/* Applies the marked values of `changes` from the next frame on. Any thread may call it. Changes sent before the engine
 * is open are applied when it is. Returns the number of calls so far, this one included: mail.applied of a picture is
 * at least that if the picture shows the changes. */
long loop_send(struct loop *loop, const struct parameters *changes);
/* Copies the values in use, without marks. settings must be initialised; zeros suffice. Any thread may call it. Returns
 * false, and leaves settings unchanged, until the engine is open. */
bool loop_get_settings(struct loop *loop, struct settings *settings);
/* Copies the values in use, with marks on those that someone has set. Any thread may call it. Returns false until the
 * engine is open. */
bool loop_get_marked(struct loop *loop, struct parameters *values);
/* Copies the status. Any thread. */
void loop_get_status(struct loop *loop, struct loop_status *status);
/* Tells the loop to leave pictures in device memory, from which they are copied only when someone waits for them in
 * host memory. Off at first. Any thread may call it. */
void loop_set_on_device(struct loop *loop, bool on_device);
/* Tells the loop that the window draws pictures on the engine's GPU and calls mailbox_done afterwards. Off at first.
 * Any thread may call it. The GPU starts drawing only after all work submitted before; therefore only one run is in
 * flight, and the next is submitted when the last picture was drawn, or after drawing_ms. */
void loop_set_drawn_there(struct loop *loop, bool drawn_there);

/* Makes the thread end after its current frame, and does not wait for it. Accepts NULL. */
void loop_end(struct loop *loop);

/* Waits up to wait_ms, after loop_end, until the thread has ended. Returns false if it has not. Accepts NULL. */
bool loop_wait_end(const struct loop *loop, int wait_ms);

/* Ends the thread, and closes the engine. Waits for an engine that is still being opened. Returns 0, or -1 with err if
 * the engine had failed. Stores NULL; accepts a pointer to NULL. */
int loop_stop(struct loop **loop, struct error *err);

#endif
