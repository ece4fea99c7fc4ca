/* Compares frames whose self-attention attends to earlier frames with those that tests/goldens/bank.py made with an
 * attention processor of diffusers.
 *
 *   test_bank_golden GOLDENS DEVICE       skipped where there is no such device */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/fixture.h"
#include "tests/rigs/rig.h"

static char **args; /* arguments of the test program */

static int item_number(const cJSON *array, int i) {
  return (int)cJSON_GetArrayItem(array, i)->valuedouble;
}

/* Gives self-attention the golden's weights. */
static void change_weights(struct rig *rig) {
  const cJSON *name, *names = cJSON_GetObjectItemCaseSensitive(rig->golden.json, "weights");
  assert_true(cJSON_GetArraySize(names) > 0);
  cJSON_ArrayForEach(name, names) {
    struct values v = golden_values(&rig->golden, "weight.%s", name->valuestring);
    const struct engine_weight weight = {name->valuestring, 0, (size_t)v.shape[2], v.data};
    must(engine_update(rig->engine, &weight, 1, &rig->err), &rig->err);
    free(v.data);
  }
}

static void open_run(struct rig *rig, const cJSON *run) {
  char model[1024];
  struct engine_params params = default_params(&rig->golden, args[2]);
  snprintf(model, sizeof model, "%s/%s", args[1], json_string(run, "model", ""));
  params.model = model;
  params.strength_diffusers = true;
  struct engine_shape shape = default_shape(&rig->golden);
  double guidance = json_number(run, "guidance", 1);
  shape.steps = (int)json_number(run, "steps", 1);
  shape.guidance = guidance != 1 ? GUIDANCE_FULL : GUIDANCE_NONE;
  shape.bank_room = (int)json_number(run, "bank", 0);
  must(rig_engine(rig, &params, &shape), &rig->err);
  change_weights(rig);
  must(engine_set_prompt(rig->engine, SLOT_PRESET_1, json_string(run, "prompt", ""), &rig->err), &rig->err);
  must(engine_set_prompt(rig->engine, SLOT_NEGATIVE, json_string(run, "negative", ""), &rig->err), &rig->err);
  rig->controls = (struct controls)CONTROLS_DEFAULTS;
  rig->controls.guidance = (float)guidance;
  rig->controls.seed = (uint64_t)json_number(run, "seed", 0);
  rig->controls.strength = (float)json_number(run, "strength", 1);
  rig->controls.bank = shape.bank_room;
  rig->controls.bank_every = (int)json_number(run, "bank_every", 1);
}

/* Makes frame number t: the picture shifted t times, from the cut on as a negative. The caller frees the pixels. */
static struct frame frame_at(const struct rig *rig, int t, uint8_t **pixels) {
  const cJSON *shift = cJSON_GetObjectItemCaseSensitive(rig->golden.json, "shift");
  struct frame frame = rig->golden.frame;
  int frames = (int)json_number(rig->golden.json, "frames", 0), h = frame.height, w = frame.width;
  int dy = (t + frames) * item_number(shift, 0) % h, dx = (t + frames) * item_number(shift, 1) % w;
  bool negative = t >= (int)json_number(rig->golden.json, "cut", 0);
  *pixels = malloc((size_t)frame.pitch[0] * (size_t)h);
  for (int y = 0; y < h; y++)
    for (int x = 0; x < 4 * w; x++) {
      uint8_t value = frame.plane[0][(y - dy + h) % h * frame.pitch[0] + (x - 4 * dx + 4 * w) % (4 * w)];
      (*pixels)[y * frame.pitch[0] + x] = negative && x % 4 < 3 ? 255 - value : value;
    }
  frame.plane[0] = *pixels;
  return frame;
}

/* Returns the root mean square of a picture's differences from the golden's picture number `index`. */
static double error_of(const struct frame *picture, const struct values *golden, int index) {
  int h = picture->height, w = picture->width;
  const float *expected = golden->data + (size_t)index * (size_t)(h * w * 3);
  double squares = 0;
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++)
      for (int c = 0; c < 3; c++)
        squares += pow(
            (double)picture->plane[0][y * picture->pitch[0] + 4 * x + c] - (double)expected[(y * w + x) * 3 + c], 2);
  return sqrt(squares / (h * w * 3));
}

/* Returns the root mean square of the errors of the run's pictures that the golden has. The golden's "half_rms" is one
 * over all pictures, too, and a single picture can err by twice as much: with a bank that every frame fills, PyTorch's
 * FP16 pictures err by 0.3 behind a cut and by up to 1.2 five frames later. */
static double run_error(struct rig *rig, const cJSON *run) {
  const cJSON *kept = cJSON_GetObjectItemCaseSensitive(rig->golden.json, "kept");
  struct values expected = golden_values(&rig->golden, "run.%s", json_string(run, "name", ""));
  double squares = 0;
  int pictures = cJSON_GetArraySize(kept);
  open_run(rig, run);
  for (int t = 0, index = 0; index < pictures; t++) {
    uint8_t *pixels;
    struct frame picture;
    const struct frame frame = frame_at(rig, t, &pixels);
    must(rig_submit(rig, &frame), &rig->err);
    must(rig_collect(rig, &picture), &rig->err);
    if (t == item_number(kept, index)) {
      double error = error_of(&picture, &expected, index++);
      print_message("  %s, frame %d: %.3f\n", json_string(run, "name", ""), t, error);
      squares += error * error;
    }
    frame_release(&picture);
    free(pixels);
  }
  free(expected.data);
  engine_close(&rig->engine);
  return sqrt(squares / pictures);
}

/* In FP32 few samples differ, by rounding; FP16 may err at most twice as much as the networks in FP16 do in PyTorch,
 * plus rounding. */
static void pictures_are_those_of_diffusers(void **state) {
  (void)state;
  struct rig rig = {0};
  if (golden_open(&rig.golden, args[1], "bank") < 0)
    fail_msg("%s", rig.golden.missing);
  const cJSON *run, *runs = cJSON_GetObjectItemCaseSensitive(rig.golden.json, "runs");
  assert_true(cJSON_GetArraySize(runs) > 8);
  bool cuda = !strcmp(args[2], "cuda");
  int missed = 0;
  cJSON_ArrayForEach(run, runs) {
    double error = run_error(&rig, run);
    missed += !(error <= (cuda ? 0.4 + 2 * json_number(run, "half_rms", 0) : 0.1));
  }
  assert_int_equal(missed, 0);
  golden_close(&rig.golden);
}

int main(int argc, char **argv) {
  args = argv;
  int status = golden_arguments(argc, argv, "turbo");
  if (status)
    return status;
  const struct CMUnitTest tests[] = {cmocka_unit_test(pictures_are_those_of_diffusers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
