/* Processes every frame from source to sink: decoding, the engine and encoding run at the same time on three threads,
 * connected by bounded queues. Frames are passed on by reference, without copies of their pixels. */
#ifndef APP_RUN_PIPELINE_H
#define APP_RUN_PIPELINE_H

#include "app/sink/sink.h"
#include "app/source/source.h"
#include "app/flow/stats.h"
#include "app/flow/trace.h"
#include "unet/engine.h"

/* Number of frames in each of the two queues. More would only use memory, since each stage takes about the same time
 * for every frame. */
enum { PIPELINE_DEPTH = 4 };

/* Number of the engine's pictures that are held at most: in the writer's queue, one on either side of it, and in the
 * sink. */
enum { PIPELINE_HOLDS = PIPELINE_DEPTH + 2 + SINK_HOLDS };

struct pipeline_progress {
  long frames; /* frames that the engine has finished */
  double seconds;
};

struct pipeline {
  struct source *source;
  struct engine *engine;
  /* handle to make pictures with; if it is for text to image, frames give only their time and number */
  struct prepared *prepared;
  long frames; /* number of frames to process; 0: until the source ends */
  /* Opens the sink. Called after the first frame was decoded, so that an invalid input leaves no empty file behind.
   * Returns 0, or -1 with err. */
  int (*open_sink)(void *opaque, struct sink **sink, struct error *err);
  /* Fills the controls for the frame at this time of the source. Called on the thread that called pipeline_run; it may
   * encode prompts. Returns 0, or -1 with err. */
  int (*controls_at)(void *opaque, double seconds, struct controls *controls, struct error *err);
  /* Called on the thread that called pipeline_run before each frame is submitted, to give the engine or the request
   * other data of the frame, such as its mask; NULL: there is none. If several frames are submitted in one run,
   * controls_at and before are called for all of them first. */
  int (*before)(void *opaque, struct engine_request *request, double seconds, struct error *err);
  /* Called on the thread that called pipeline_run after every picture; NULL: not called. */
  void (*progress)(void *opaque, const struct pipeline_progress *progress);
  void *opaque;
  struct trace *trace; /* records when each stage worked on each frame (trace.h); NULL: nothing is recorded */
};

struct pipeline_result {
  long written;          /* number of frames that the sink was given */
  double seconds;        /* time from submitting the first frame until the sink was finished */
  double first_frame_ms; /* ms from submitting the first frame until its picture was finished */
  /* The engine's time per frame in ms: from submitting it, or from the end of the frame before if that was later, until
   * its picture was finished. */
  struct stats frame_ms;
  bool whole; /* true: the source was read to its end */
};

/* Runs until the source ends or is interrupted, or an error occurs. Returns 0, or -1 with err. Even then the sink is
 * finished, so that its file can be played, and result is filled. */
int pipeline_run(const struct pipeline *pipeline, struct pipeline_result *result, struct error *err);

#endif
