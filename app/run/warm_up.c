#include "app/run/warm_up.h"

#include <math.h>

static int check(const struct warm_up *w, struct error *err) {
  if (w->info.realtime || w->info.passes || w->info.fps <= 0)
    return error_set(err, STATUS_USAGE, "--warmup: %s has no frames before --start that could be read", w->input);
  return 0;
}

/* Makes the picture of one frame and releases it. follow: true: the engine only computes the frame's motion. Returns 0,
 * or -1 with err. */
static int run_frame(const struct warm_up *w, const struct frame *frame, double seconds, bool follow,
                     struct error *err) {
  struct controls controls;
  struct engine_result made;
  if (w->before(w->opaque, frame, seconds, &controls, err))
    return -1;
  const struct engine_request request = {.prepared = w->prepared,
                                         .controls = &controls,
                                         .frame = frame,
                                         .identity = frame_identity(frame),
                                         .restart = !*w->begun};
  *w->begun = true;
  if (follow)
    return engine_follow(w->engine, &request, err);
  if (engine_submit(w->engine, &request, err) || engine_collect(w->engine, &made, err))
    return -1;
  frame_release(&made.picture);
  return 0;
}

/* Runs the engine on all frames of the source, which precede the rendered ones. lead: seconds from the source's
 * beginning to the first rendered frame. follow: true: the engine only computes the frames' motion. Returns the number
 * of frames, or -1 with err. */
static long run_frames(const struct warm_up *w, struct source *source, double lead, bool follow, struct error *err) {
  struct source_info info;
  struct frame frame;
  long count = 0;
  int got = 0;
  source_get_info(source, &info);
  while ((got = source_read(source, &frame, err)) > 0) {
    double seconds = (double)frame.pts * source_tick(&info) - lead;
    int status = run_frame(w, &frame, seconds, follow, err);
    frame_release(&frame);
    if (status)
      return -1;
    count++;
  }
  return got < 0 ? -1 : count;
}

/* Returns how many seconds before the render the warm-up begins: the duration of w->frames frames, plus half a frame
 * against rounding. If --start lies between two frames, the warm-up may have one frame more. */
static double lead_of(const struct warm_up *w) {
  return w->frames > 0 ? ((double)w->frames + 0.5) / w->info.fps : 0;
}

int warm_up_follow(const struct warm_up *w, double start, double later, struct error *err) {
  struct source_options options = w->options;
  struct source *source;
  options.start = start;
  options.duration = later - lead_of(w);
  options.tell_transparency = false;
  if (options.duration <= 0)
    return 0;
  if (source_open(&source, w->input, &options, err))
    return -1;
  long count = run_frames(w, source, later, true, err);
  source_close(&source);
  if (count > 0)
    log_line(w->log, LOG_INFO, "the motion of %ld frame%s before this part was followed", count, count == 1 ? "" : "s");
  return count < 0 ? -1 : 0;
}

int warm_up_run(const struct warm_up *w, struct error *err) {
  struct source_options options = w->options;
  struct source *source;
  if (w->options.start <= 0) {
    log_line(w->log, LOG_WARNING, "--warmup does nothing without --start: there are no frames before the first one");
    return 0;
  }
  if (check(w, err))
    return -1;
  options.start = fmax(0, w->options.start - lead_of(w));
  options.duration = w->options.start - options.start;
  options.tell_transparency = false;
  if (source_open(&source, w->input, &options, err))
    return -1;
  long count = run_frames(w, source, options.duration, false, err);
  source_close(&source);
  if (count >= 0)
    log_line(w->log, LOG_WARNING, "%ld frame%s before --start %s run to warm up", count, count == 1 ? "" : "s",
             count == 1 ? "was" : "were");
  return count < 0 ? -1 : 0;
}
