#include "app/run/earlier_frames.h"

#include "app/control/settings.h"

static bool has_stream_batch(const struct options *options) {
  return options->values.stream_batch;
}

static bool has_bank(const struct options *options) {
  return values_bank_room(&options->values, 0);
}

static bool has_carried_noise(const struct options *options) {
  return options->values.noise == NOISE_CARRIED;
}

static bool has_feedback(const struct options *options) {
  return options->values.feedback > 0;
}

static bool has_moving_canvas(const struct options *options) {
  return options->values.canvas == CANVAS_FOLLOW;
}

/* Returns true if the user has asked for depth maps that depend on earlier frames: their range is smoothed over frames
 * (map_speed is not 1), or not every frame gets a map of its own (map_every above 1). */
static bool has_depth(const struct options *options) {
  const struct parameters *values = &options->values;
  bool has = false;
  for (int i = 0; i < options->control_count; i++)
    has |= values->control[i] == MAP_DEPTH + 1 && (values->map_speed[i] != 1 || values->map_every[i] > 1);
  return has;
}

static const struct earlier_option known[] = {
    {"--stream-batch", "frames of several steps share a run", EARLIER_LOST, has_stream_batch},
    {"--bank", "each frame attends to the ones before it", EARLIER_ONE | EARLIER_LOST, has_bank},
    {"--noise carried", "the noise moves with the frames before it", EARLIER_ONE, has_carried_noise},
    {"--feedback", "each frame begins from the picture before it", EARLIER_ONE | EARLIER_LOST, has_feedback},
    {"--canvas follow", "the canvas follows the frames before it", EARLIER_ONE, has_moving_canvas},
    {"--control depth", "its range follows the frames before it, unless control.speed is 1 and control.every is 1",
     EARLIER_LOST, has_depth},
};

const struct earlier_option *earlier_option_given(const struct options *options, unsigned follows) {
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if ((known[i].follows & follows) == follows && known[i].is_given(options))
      return &known[i];
  return NULL;
}
