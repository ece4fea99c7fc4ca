/* Runs frames before the beginning of a render (--warmup), so that the engine has its data of earlier frames (motion,
 * fed back pictures) when the render begins; the pictures of these frames are not used. */
#ifndef APP_RUN_WARM_UP_H
#define APP_RUN_WARM_UP_H

#include "app/source/source.h"
#include "unet/engine.h"

struct warm_up {
  const char *input;
  /* options with which the render opens the input; the frames to run are those before options.start */
  struct source_options options;
  struct source_info info; /* description of the render's source, for its frame rate */
  long frames;             /* number of frames to run; one more may be run if options.start lies between two frames */
  struct engine *engine;
  struct prepared *prepared;
  /* Prepares engine and controls for a frame at this time, in seconds from the beginning of the render. Returns 0, or
   * -1 with err. */
  int (*before)(void *opaque, const struct frame *frame, double seconds, struct controls *controls, struct error *err);
  void *opaque;
  /* set to true when a frame was run; false: the next frame is the first one of the engine, which has no frame before
   * it */
  bool *begun;
  const struct log *log;
};

/* Lets the engine compute the motion of the frames between the beginning of the whole render and this process's part
 * (engine_follow). A canvas that follows the camera, and noise that moves with the picture, are then as in a complete
 * render. The frames directly before the part are left out, because warm_up_run runs them. start: source_options.start
 * of the whole render; later: seconds from `start` to the part's first frame. Returns 0, or -1 with err. */
int warm_up_follow(const struct warm_up *warm_up, double start, double later, struct error *err);
/* Runs the last warm_up->frames frames of the input before options.start, or as many as there are, and logs how many
 * there were. If the render begins at the input's beginning, only a warning is logged. Returns 0, or -1 with err: the
 * input cannot be read twice, or has failed. */
int warm_up_run(const struct warm_up *warm_up, struct error *err);

#endif
