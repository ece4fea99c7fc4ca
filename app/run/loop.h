/* The engine's thread of the live window. It submits the newest frame with the current values to the engine, and puts
 * the pictures into a mailbox for the window. Only this thread calls the engine, except that one background thread
 * prepares another handle and a second one opens another engine. Frames use the old handle and engine until the new
 * ones are ready. */
#ifndef APP_RUN_LOOP_H
#define APP_RUN_LOOP_H

#include "app/control/settings.h"
#include "app/flow/mailbox.h"
#include "app/platform/app_platform.h"
#include "app/run/opener.h"
#include "unet/engine.h"

/* Largest number of the engine's pictures that the loop and its mailbox hold: those in the mailbox, and one that is
 * about to be put there. */
enum { LOOP_HOLDS = MAILBOX_HOLDS + 1 };

struct loop_params {
  /* Opens an engine. The first call is on the loop's thread, and fills beginning->values. Later calls get the wanted
   * values there. They are on a background thread while frames continue, or on the loop's thread after the engine has
   * failed. The function may change values to suit the model, except those marked as set by a user or client. */
  open_engine *open;
  /* Changes values for one frame, for example by sound. Called on the loop's thread before each frame. settings: a copy
   * for this frame. frame: the frame that is submitted next; NULL: none. Returns true if values may change at any time
   * without loop_send. The pointer is NULL if only loop_send changes values. */
  bool (*modulate)(void *opaque, struct settings *settings, const struct frame *frame, int64_t now_ns);
  /* Adds further data of a frame, such as its mask, to the engine or the request. Called on the loop's thread before
   * the frame is submitted. request->frame is NULL without a source. Returns 0, or -1 with err. The pointer is NULL if
   * frames have no further data. */
  int (*before)(void *opaque, struct engine *engine, struct engine_request *request, struct error *err);
  /* Handles parameters that name files (NEED_READING). Called in each pass of the loop, on its thread. Gives the engine
   * the files that a background thread has read, and starts to read those whose names differ between `has` (what the
   * engine has) and `wish` (what the user wants). Updates `has`. frame: the newest frame, or NULL. Returns 0, 1 if the
   * engine got something new, or -1 with err. The pointer is NULL if no parameter names a file. */
  int (*read_files)(void *opaque, struct engine *engine, struct parameters *has, const struct parameters *wish,
                    const struct frame *frame, struct error *err);
  /* Called after read_files, with the loop's lock held. If a file that `values` names could not be read, replaces its
   * name in `values` by the name in `has`, whose file the engine uses. */
  void (*put_back)(void *opaque, const struct parameters *has, struct parameters *values);
  /* Called on the loop's thread after a failed engine was closed. The next engine may get the same address, so code
   * that compares addresses must forget the closed one. The pointer may be NULL. */
  void (*left)(void *opaque);
  void *opaque;
  /* true: after a failure of the device the engine is opened again, with the current settings, as often as necessary */
  bool recovers;
  /* True: if opening the first engine fails, it is tried again. Set after a restart of the program: the process before
   * could open the engine a moment ago, so the failure is likely to pass. */
  bool retries_start;
  /* True: if only another process can recover from the device's failure, the loop closes the engine, sets status.lost
   * and waits for loop_end. False: it opens the engine again. */
  bool leaves_lost;
  /* Longest time in ms by which the next run is delayed so that the window can draw the last picture; used only after
   * loop_set_drawn_there. */
  double drawing_ms;
  double budget_ms; /* longest time of a frame in ms; size and steps are reduced to keep it; 0: no budget */
  /* least number of pixels to which the budget reduces the size; 0: a quarter of the requested number */
  int floor_pixels;
  /* true: the loop's thread gets a real-time priority (see app_platform.h) if the engine computes on a GPU */
  bool urgent;
  size_t memory_limit; /* largest number of bytes of device memory for all engines together; 0: no limit */
  const struct log *log;
  /* log for the reasons why requests of the user are refused; called on the loop's thread; NULL: `log` is used for
   * them */
  const struct log *told;
};

struct loop_status {
  /* The fields of this block describe the engine in use and its prepared handle (size, step count and so on). */
  bool ready; /* true: the first engine was opened, and the fields of this block are filled */
  /* description of the engine, updated when the engine changes or has prepared something else */
  struct engine_info info;
  struct prepared_info prepared;
  /* the shape (size, step count and so on) that the user's values ask for; while `governed` is true, `prepared` has a
   * cheaper shape */
  struct engine_shape wish;
  bool governed; /* true: `prepared` has a cheaper shape (fewer pixels or steps) than `wish`, to keep the time budget */
  /* the last shape (size, step count and so on) that could not be prepared; steps 0: none */
  struct engine_shape refused;
  int engines; /* number of engines opened so far; readers of the status notice a new engine by it */

  /* The fields of this block tell whether the engine has failed, and how long the present call of the engine has been
   * running. */
  bool away;          /* true: the engine has failed and is being opened again */
  char why_away[200]; /* message of the engine's last failure; "" while the engine works (`away` is false) */
  /* true: the device cannot be used by this process any more; a new process may be able to open it */
  bool lost;
  /* time in ms for which the present call of the engine has been running; 0: the loop's thread is not calling the
   * engine */
  double busy_ms;
  /* how long a call of the engine (busy_ms) may run, in ms: after tell_ms users are told that the engine hangs, after
   * leave_ms the engine is given up; see patience.h */
  double tell_ms, leave_ms;

  /* This block has the priority of the loop's thread, and the change of handle or engine that is under way. */
  /* true: the engine's device is a GPU, so threads that pass frames on should have real-time priority */
  bool wants_urgency;
  enum urgency urgency; /* priority that the system has given the loop's thread (app_platform.h) */
  bool opening;         /* true: another engine is being opened */
  bool preparing;       /* true: a size or step count that the user asked for is being prepared */
  /* true: the engine has not finished a picture yet with the handle (size, step count and so on) in use */
  bool first;
  /* for users: what is being prepared or opened, or was last: "640x360", "4 steps", a model's name */
  char name[80];
  /* number of engines that could not be opened; each time the values that asked for the engine were reset */
  long engines_refused;

  /* The fields of this block are counted from the start of the loop. */
  long frames;   /* number of pictures that engines have made */
  size_t copied; /* bytes of pixels that all engines together have copied so far in host memory (engine_copied) */
  double cpu_ms; /* processor time that the loop's thread has used so far */
  /* number of frames that were replaced by newer ones, or were too late, before the engine got them */
  long dropped;
  long left_out; /* number of frames among `dropped` that the loop left out because they would have been too late */
};

/* State from which the loop's thread decides what to do next. Each pass first decides by the frames alone (`looked` is
 * false). Only if that is not enough does it copy the current values (struct moment), which takes as long as launching
 * a frame. */
struct loop_situation {
  /* true: the loop's thread has copied the current parameter values before it decides what to do; only then are `late`
   * and `stale` valid */
  bool looked;
  /* in_flight: number of frames in the engine; depth: the largest number that the engine may have */
  int in_flight, depth;
  bool fresh;   /* true: there is a new frame of the source that was not submitted yet */
  bool batched; /* true: a stream batch contains frames whose steps are not all done */
  bool asked;   /* true: somebody has sent changes since the values were last copied */
  bool quiet;   /* true: no new frame is expected soon: pause, no source, or none came for 100 ms */
  bool late;    /* true: the new frame would miss the time budget, although a newer frame could keep it */
  bool stale;   /* true: a picture made now would differ from the last one, because values have changed */
  bool ended;   /* true: the source has ended, and no more frames will come */
};

/* Actions of the loop's thread. LOOP_LOOK: copy the current values, then decide again with `looked` set.
 * LOOP_SUBMIT_FRESH: submit the newest frame. LOOP_PASS: drop the newest frame, because it is too late.
 * LOOP_SUBMIT_AGAIN: submit the last frame once more, with changed values. LOOP_DRAIN: finish the frames in a stream
 * batch. LOOP_COLLECT: wait for the picture of the oldest frame in the engine. LOOP_WAIT: wait for a frame. LOOP_END:
 * end the thread. */
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

/* Decides what the thread does next. LOOP_SUBMIT_FRESH is chosen only when the engine has room for another frame; until
 * then the mailbox replaces the waiting frame by newer ones. */
enum loop_action loop_decide(const struct loop_situation *situation);

/* Times of a frame that waits for the engine, from which loop_is_late predicts when its picture would be finished. */
struct loop_timing {
  /* budget_ms: longest allowed time of a frame; frame_ms: usual time of a frame with the prepared size and steps, 0:
   * unknown */
  double budget_ms, frame_ms;
  double waited_ms; /* time in ms since the frame was put into the mailbox */
  /* time in ms for which the engine has worked on the oldest frame in flight, counted from when it finished the frame
   * before that */
  double busy_ms;
  int in_flight;
};
/* Returns true if the frame would miss the time budget even if it were submitted now, although frame_ms alone is within
 * the budget. Always false if frame_ms is unknown. */
bool loop_is_late(const struct loop_timing *timing);

struct loop;

/* Starts the engine thread. `in`: frames of the source; NULL for text to image, where a picture is made when a value
 * changes. `out`: gets the pictures, and is closed when no more will come. `in` and `out` must outlive the loop. The
 * caller ends the loop with loop_stop. Returns 0, or -1 with err. */
int loop_start(struct loop **loop, const struct loop_params *params, struct mailbox *in, struct mailbox *out,
               struct error *err);
/* Applies the marked values of `changes` from the next frame on. Any thread may call this. Changes sent before the
 * engine is open are applied when it is open. Returns the number of calls so far, including this one: a picture shows
 * the changes if its mail.applied is at least this number. */
long loop_send(struct loop *loop, const struct parameters *changes);
/* Changes the parameters marked in `changes`: at the first frame at or after begin_ns (platform_now_ns) or, with
 * `seconds` above 0, gradually over this many seconds from then on (glide.h). The function may mark and set further
 * values in `changes` that the gradual change needs. A later call replaces an unfinished change. Any thread may call
 * this once the engine is open. */
void loop_glide(struct loop *loop, struct parameters *changes, int64_t begin_ns, double seconds);
/* Copies the parameters' values and the fade that the loop uses now, without the marks that say which values somebody
 * has set. settings must be initialised; zeros suffice. Any thread may call it. Returns false, and leaves settings
 * unchanged, until the engine is open. */
bool loop_get_settings(struct loop *loop, struct settings *settings);
/* Copies the values in use, with marks on those that someone has set. Any thread may call it. Returns false until the
 * engine is open. */
bool loop_get_marked(struct loop *loop, struct parameters *values);
/* Copies the loop's status for the caller; any thread may call this. */
void loop_get_status(struct loop *loop, struct loop_status *status);
/* Tells the loop whether finished pictures stay in device memory (at first they do not). They are then copied to host
 * memory only when someone waits for them there. Any thread may call this function. */
void loop_set_on_device(struct loop *loop, bool on_device);
/* Tells the loop if the window draws pictures on the engine's GPU and calls mailbox_done after each; at first it does
 * not. The GPU would draw only after all work submitted before, so only one run is in flight. The next one is submitted
 * when the last picture was drawn, or after drawing_ms. Any thread may call this. */
void loop_set_drawn_there(struct loop *loop, bool drawn_there);

/* Makes the loop's thread end after its current frame; does not wait for that. Does nothing if loop is NULL. */
void loop_end(struct loop *loop);

/* Waits, after loop_end, up to wait_ms until the loop's thread has ended. Returns false if the thread has not ended by
 * then; true also if loop is NULL. */
bool loop_wait_end(const struct loop *loop, int wait_ms);

/* Ends the thread, and closes the engine. Waits for an engine that is still being opened. Returns 0, or -1 with err if
 * the engine had failed. *loop becomes NULL; does nothing if it is NULL. */
int loop_stop(struct loop **loop, struct error *err);

#endif
