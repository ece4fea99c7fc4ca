/* From source to sink with nothing dropped: decoding, the engine and encoding run at the same time, tied together by
 * bounded queues of pictures, none of which is copied. */
#ifndef APP_RUN_PIPELINE_H
#define APP_RUN_PIPELINE_H

#include "app/sink/sink.h"
#include "app/source/source.h"
#include "app/flow/stats.h"
#include "app/flow/trace.h"
#include "unet/engine.h"

/* Pictures between two stages. More would only take memory: every stage takes about the same time for every frame. */
enum { PIPELINE_DEPTH = 4 };

/* Pictures of the engine's that are held at most: between engine and sink, on the way there, and by the sink. */
enum { PIPELINE_HOLDS = PIPELINE_DEPTH + 2 + SINK_HOLDS };

struct pipeline_progress {
  long frames; /* that came out of the engine */
  double seconds;
};

struct pipeline {
  struct source *source;
  struct engine *engine;
  struct prepared *prepared; /* of text to image: frames give their identity alone */
  long frames;               /* stop after so many; 0: at the end of the source */
  /* Opens the sink once the first frame has been decoded, so that a bad input leaves no empty file behind. */
  int (*open_sink)(void *opaque, struct sink **sink, struct error *err);
  /* Asked before each frame for what is to be done with it; seconds is the frame's time. On the calling thread, so that
   * it may set prompts. */
  int (*controls_at)(void *opaque, double seconds, struct controls *controls, struct error *err);
  /* Called before each frame is submitted, on the same thread, to give the engine and the request what else belongs to
   * the frame; NULL: nothing does. Where a run has several frames, both are asked for all of them first. */
  int (*before)(void *opaque, struct engine_request *request, double seconds, struct error *err);
  /* After every frame, on the calling thread; NULL: none. */
  void (*progress)(void *opaque, const struct pipeline_progress *progress);
  void *opaque;
  struct trace *trace; /* records what each stage did when; NULL: nothing is recorded */
};

struct pipeline_result {
  long written;          /* frames the sink took */
  double seconds;        /* from the first frame's entry into the engine to the end of sink_finish */
  double first_frame_ms; /* of this, until the first frame was out of the engine */
  struct stats frame_ms; /* the engine's time for a frame: since it was handed in, or since the one before came out if
                            that was later */
  bool whole;            /* the source was read to its end */
};

/* Runs to the end, to the first error, or until the source is interrupted. The sink is finished in each case. result is
 * filled also on failure. */
int pipeline_run(const struct pipeline *pipeline, struct pipeline_result *result, struct error *err);

#endif
