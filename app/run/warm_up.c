#include "app/run/warm_up.h"

#include <math.h>

static int check(const struct warm_up *w, struct error *err) {
  if (w->info.realtime || w->info.passes || w->info.fps <= 0)
    return error_set(err, STATUS_USAGE, "--warmup: %s has no frames before --start that could be read", w->input);
  return 0;
}

/* Makes the picture of one frame and throws it away. */
static int run_frame(const struct warm_up *w, const struct frame *frame, double seconds, struct error *err) {
  struct controls controls;
  struct engine_result made;
  if (w->before(w->opaque, frame, seconds, &controls, err))
    return -1;
  const struct engine_request request = {
      .prepared = w->prepared, .controls = &controls, .frame = frame, .identity = frame_identity(frame)};
  if (engine_submit(w->engine, &request, err) || engine_collect(w->engine, &made, err))
    return -1;
  frame_release(&made.picture);
  return 0;
}

/* Runs the frames of the source, which begins `lead` seconds before the render. Returns their number, or -1 with
 * err. */
static long run_frames(const struct warm_up *w, struct source *source, double lead, struct error *err) {
  struct source_info info;
  struct frame frame;
  long count = 0;
  int got = 0;
  source_get_info(source, &info);
  while ((got = source_read(source, &frame, err)) > 0) {
    double seconds = (double)frame.pts * source_tick(&info) - lead;
    int status = run_frame(w, &frame, seconds, err);
    frame_release(&frame);
    if (status)
      return -1;
    count++;
  }
  return got < 0 ? -1 : count;
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
  /* Half a frame more, so that times that are rounded cost none. Where --start lies between two frames it may be one
   * frame more: the last ones count. */
  options.start = fmax(0, w->options.start - ((double)w->frames + 0.5) / w->info.fps);
  options.duration = w->options.start - options.start;
  options.tell_left_out = options.tell_transparency = false;
  if (source_open(&source, w->input, &options, err))
    return -1;
  long count = run_frames(w, source, options.duration, err);
  source_close(&source);
  if (count >= 0)
    log_line(w->log, LOG_WARNING, "%ld frame%s before --start %s run to warm up", count, count == 1 ? "" : "s",
             count == 1 ? "was" : "were");
  return count < 0 ? -1 : 0;
}
