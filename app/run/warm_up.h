/* Frames before the beginning of a render, which fill what a handle keeps of earlier frames; their pictures are thrown
 * away. */
#ifndef APP_RUN_WARM_UP_H
#define APP_RUN_WARM_UP_H

#include "app/source/source.h"
#include "unet/engine.h"

struct warm_up {
  const char *input;
  struct source_options options; /* as the render reads the input */
  struct source_info info;       /* of the render's source */
  long frames;                   /* frames to run; one more where options.start lies between two frames */
  struct engine *engine;
  struct prepared *prepared;
  /* Prepares engine and controls for a frame at this time, in seconds from the beginning of the render. Returns 0, or
   * -1 with err. */
  int (*before)(void *opaque, const struct frame *frame, double seconds, struct controls *controls, struct error *err);
  void *opaque;
  const struct log *log;
};

/* Runs the frames of the input that come right before options.start, as many as there are of warm_up.frames, and says
 * how many. Returns 0, or -1 with err: the input cannot be read twice, or has failed. */
int warm_up_run(const struct warm_up *warm_up, struct error *err);

#endif
