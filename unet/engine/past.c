/* Says which features of a handle (prepared size and step count) exclude the options that need earlier frames, such as
 * --feedback. Also says whether a run may use the data that earlier runs have left in the handle's states. */
#include "unet/base/platform.h"
#include "unet/engine/engine_impl.h"
#include "unet/plan/motion_math.h"

/* --- features that exclude options which need earlier frames --- */

/* Features of a handle that exclude some of the options in the table below. FROM_TEXT: text to image. STREAM: stream
 * batch. BATCH: several pictures a run. FOLLOWING: a canvas that follows the camera. LARGE: a picture too large for
 * motion to be measured (not set with text to image, which measures no motion). */
enum exclusion { FROM_TEXT = 1, STREAM = 2, BATCH = 4, FOLLOWING = 8, LARGE = 16 };

/* The options that need earlier frames, each with the features that exclude it. */
static const struct {
  const char *name;
  unsigned excluded_by; /* features that exclude the option, as bits of enum exclusion */
} options[] = {
    {"--noise carried", FROM_TEXT | STREAM | BATCH | FOLLOWING | LARGE},
    {"--feedback", FROM_TEXT | STREAM | BATCH | FOLLOWING | LARGE},
    {"--canvas follow", FROM_TEXT | STREAM | BATCH | LARGE},
    {"--bank", STREAM | BATCH | LARGE},
};
enum { CARRIED, FEEDBACK, FOLLOW, BANK, OPTIONS };

static bool wants(const struct engine_shape *wish, int option) {
  const bool wanted[OPTIONS] = {wish->carried, wish->feedback, wish->canvas == CANVAS_FOLLOW, wish->bank_room > 0};
  return wanted[option];
}

/* Returns those features of a requested handle that exclude some options, as bits of enum exclusion. */
static unsigned features_of(const struct engine_shape *wish, const struct frame_shape *shape) {
  bool large = shape->width > MOTION_SIDE_MOST || shape->height > MOTION_SIDE_MOST;
  return (wish->text_to_image ? FROM_TEXT
          : large             ? LARGE
                              : 0) |
         (wish->stream_batch ? STREAM : 0) | (wish->batch > 1 ? BATCH : 0) |
         (wish->canvas == CANVAS_FOLLOW ? FOLLOWING : 0);
}

static int refuse(const char *option, unsigned features, const struct engine_shape *wish,
                  const struct frame_shape *shape, struct error *err) {
  if (features & FROM_TEXT)
    return error_set(err, STATUS_USAGE, "%s: text to image has no input whose motion could be followed", option);
  if (features & STREAM)
    return error_set(err, STATUS_USAGE,
                     "%s: each frame needs the one before it, and a run of a stream batch has steps of several frames: "
                     "leave out --stream-batch",
                     option);
  if (features & BATCH)
    return error_set(err, STATUS_USAGE, "%s: each frame needs the one before it: one picture a run, not %d", option,
                     wish->batch);
  if (features & FOLLOWING)
    return error_set(err, STATUS_USAGE, "%s: a canvas that follows the camera moves the noise itself: --canvas fixed",
                     option);
  return error_set(err, STATUS_USAGE, "%s at %dx%d: motion is measured in pictures of at most %d pixels a side", option,
                   shape->picture_width, shape->picture_height, MOTION_SIDE_MOST);
}

int past_check(const struct engine_shape *wish, const struct frame_shape *shape, struct error *err) {
  unsigned features = features_of(wish, shape);
  for (int i = 0; i < OPTIONS; i++)
    if (wants(wish, i) && features & options[i].excluded_by)
      return refuse(options[i].name, features & options[i].excluded_by, wish, shape, err);
  return 0;
}

bool past_may_follow(const struct engine_shape *wish, const struct frame_shape *shape) {
  return !(features_of(wish, shape) & options[FOLLOW].excluded_by) && !wish->carried && !wish->feedback;
}

/* --- deciding whether a run may use data of earlier frames --- */

/* If frames come in real time (engine.paced) and the pause between two runs is longer than this, in ns, the engine uses
 * nothing that earlier frames left. */
static const int64_t pause_ns = 500000000;

/* Returns true if frames come in real time (engine.paced) and no run has been in flight for pause_ns. */
static bool has_paused(const struct engine *engine) {
  return engine->paced && !engine_in_flight(engine) && platform_now_ns() - engine->ended_ns > pause_ns;
}

bool past_ends(const struct engine *engine, const struct engine_request *request) {
  return request->restart || engine->last_handle != request->prepared->number || has_paused(engine);
}

void past_follow(struct engine *engine, const struct engine_request *request, const struct run_params *run) {
  request->prepared->bank = run->bank;
  request->prepared->has_motion = run->motion;
  engine->last_handle = request->drain ? 0 : request->prepared->number;
}
