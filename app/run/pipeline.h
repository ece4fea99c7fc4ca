/* From source to sink without dropping frames: decoding, the engine and encoding run at the same time on three threads,
 * connected by bounded queues. Pixels are not copied. */
#ifndef APP_RUN_PIPELINE_H
#define APP_RUN_PIPELINE_H

#include "app/sink/sink.h"
#include "app/source/source.h"
#include "app/flow/stats.h"
#include "app/flow/trace.h"
#include "unet/engine.h"

/* Capacity of a queue. More would only use memory, since each stage takes about the same time for every frame. */
enum { PIPELINE_DEPTH = 4 };

/* The engine's pictures that are held at most: in the queue, on either side of it, and by the sink. */
enum { PIPELINE_HOLDS = PIPELINE_DEPTH + 2 + SINK_HOLDS };

struct pipeline_progress {
  long frames; /* frames that the engine has finished */
  double seconds;
};

struct pipeline {
  struct source *source;
  struct engine *engine;
  struct prepared *prepared; /* with text to image, frames are used for their identity alone */
  long frames;               /* number of frames to process; 0: until the source ends */
  /* Opens the sink, after the first frame was decoded, so that an invalid input leaves no empty file behind. */
  int (*open_sink)(void *opaque, struct sink **sink, struct error *err);
  /* Fills the controls of each frame; seconds is the frame's time. Called on the calling thread, and may set
   * prompts. */
  int (*controls_at)(void *opaque, double seconds, struct controls *controls, struct error *err);
  /* Called on the calling thread before each frame is submitted, to give the engine or the request other data of the
   * frame; NULL: there is none. In a run of several frames, controls_at and before are called for all of them first. */
  int (*before)(void *opaque, struct engine_request *request, double seconds, struct error *err);
  /* Called after every frame on the calling thread; NULL: none. */
  void (*progress)(void *opaque, const struct pipeline_progress *progress);
  void *opaque;
  struct trace *trace; /* records when each stage worked on each frame; NULL: nothing is recorded */
};

struct pipeline_result {
  long written;          /* number of frames that the sink got */
  double seconds;        /* time from the first submit to the end of sink_finish */
  double first_frame_ms; /* the part of it until the first picture was finished */
  /* the engine's time per frame: since it was submitted, or since the previous one was finished if that was later */
  struct stats frame_ms;
  bool whole; /* the source was read to its end */
};

/* Runs until the source ends or is interrupted, or an error occurs. The sink is finished in each case, and result is
 * filled even on failure. Returns 0 or -1. */
int pipeline_run(const struct pipeline *pipeline, struct pipeline_result *result, struct error *err);

#endif
