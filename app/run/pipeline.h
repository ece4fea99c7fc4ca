/* Processes every frame from source to sink. Decoding, engines and encoding run at the same time, on threads connected
 * by bounded queues. Frames are passed by reference, without copies of their pixels. Several engines have a thread
 * each; whichever is free takes the frames of its next run. The sink gets the pictures in the order of the frames. */
#ifndef APP_RUN_PIPELINE_H
#define APP_RUN_PIPELINE_H

#include "app/run/engines.h"
#include "app/sink/sink.h"
#include "app/source/source.h"
#include "app/flow/stats.h"
#include "app/flow/trace.h"
#include "unet/engine.h"

/* Capacity in frames of the queue before the engines and, with one engine, of the queue before the sink. Longer queues
 * would only use memory, since each stage (decoder, engines, encoder) takes about the same time for every frame. */
enum { PIPELINE_DEPTH = 4 };

/* Returns the capacity, in pictures, of the queue before the sink. It is larger with several engines, because their
 * frames can be finished out of order; those that are early wait in the queue. */
static inline int pipeline_room(int engines) {
  return PIPELINE_DEPTH + (engines > 1 ? engines * BATCH_MAX : 0);
}

/* Returns how many of one engine's pictures the pipeline holds at most: those in the queue before the sink, one that is
 * put into it, one that is taken from it, the sink's, and one that cadence.h repeats. */
static inline int pipeline_holds(int engines) {
  return pipeline_room(engines) + 3 + SINK_HOLDS;
}

struct pipeline_progress {
  long frames;  /* number of frames that the engines have finished */
  long skipped; /* number of frames for which no picture is made, because it exists already */
  double seconds;
};

struct pipeline {
  struct source *source;
  /* The engines, with handles of one shape. For text to image, only time and number of the frames are used. Only one
   * engine is possible with a stream batch, or if pictures depend on earlier frames. */
  const struct engines *engines;
  long frames; /* number of frames to process; 0: until the source ends */
  /* Opens the sink. Called after the first frame was decoded, so that an invalid input leaves no empty file behind.
   * Returns 0, or -1 with err. */
  int (*open_sink)(void *opaque, struct sink **sink, struct error *err);
  /* Fills the controls for the frame that `engine` will get; may encode prompts in that engine. seconds: the frame's
   * time in the source. controls_at and `before` are called for the frames in order, one call at a time, but on several
   * threads if there are several engines. Returns 0, or -1 with err. */
  int (*controls_at)(void *opaque, struct engine *engine, double seconds, struct controls *controls, struct error *err);
  /* Called before each frame is submitted, to add other data such as its mask to the engine or the request; NULL:
   * nothing is added. For a run of several frames, controls_at and `before` are first called for all of them. The frame
   * at request->control_frame must stay valid until the next call; then the pipeline itself holds its pixels. */
  int (*before)(void *opaque, struct engine *engine, struct engine_request *request, double seconds, struct error *err);
  /* Called for each frame, in order, before controls_at. Returns 1 if the frame's picture is left out, 0 if it has to
   * be made, or -1 with err; NULL: all are made. May set the frame's number. For a left-out frame, the engine computes
   * the motion if later pictures depend on it, and `before` is called only then. */
  int (*skips)(void *opaque, struct frame *frame, struct error *err);
  /* Called after every picture, never twice at the same time; NULL: not called. */
  void (*progress)(void *opaque, const struct pipeline_progress *progress);
  void *opaque;
  struct trace *trace; /* trace that records when each stage (decoder, engines, encoder) worked on each frame (trace.h);
                        * NULL: nothing is recorded */
};

/* The stages that work at the same time; the slowest one limits the speed of the render. */
enum pipeline_stage { STAGE_DECODER, STAGE_ENGINES, STAGE_ENCODER, PIPELINE_STAGES };

struct pipeline_result {
  long written; /* number of pictures that were given to the sink */
  long skipped; /* number of frames for which no picture was made, because it existed already */
  /* number of frames in the output. It differs from `written` if the sink repeats or drops pictures, or if a resumed
   * render has pictures of an earlier attempt. If the sink does not count frames, it equals `written`. */
  long in_output;
  double seconds;        /* time from submitting the first frame until the sink was finished */
  double first_frame_ms; /* ms from submitting the first frame until its picture was finished */
  /* Statistics of the time, in ms, that the engine needed for a frame: from its submission, or from the end of the
   * frame before if that was later, until its picture was finished. */
  struct stats frame_ms;
  /* Fraction of the time, from 0 to 1, in which each stage (decoder, engines, encoder) did not wait for another one;
   * for the engines the mean over all of them. The stage with the largest fraction limits the speed. */
  double busy[PIPELINE_STAGES];
  bool whole; /* true: the source was read to its end; false: reading ended earlier, at a requested number of frames, by
               * an interrupt or after an error */
  /* name of the unfinished file (OUT.part) that contains the pictures, if some are missing; "": the output is complete
   * and has its final name */
  char part[4096];
};

/* Returns the stage (decoder, engines or encoder) that limited the speed: the one that waited least for others. */
enum pipeline_stage pipeline_limit(const struct pipeline_result *result);

/* Runs until the source ends, is interrupted, or an error occurs. Returns 0, or -1 with err. Even after an error the
 * sink is finished, so that its file can be played, and *result is filled. If one of several engines fails, all
 * pictures before its first unfinished frame are still written. */
int pipeline_run(const struct pipeline *pipeline, struct pipeline_result *result, struct error *err);

#endif
