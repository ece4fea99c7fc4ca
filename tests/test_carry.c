/* Tests noise that moves with the picture, and feedback of the last picture, through the engine.
 *
 *   test_carry GOLDENS DEVICE       skipped where there is no such device */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/fixture.h"
#include "tests/rigs/rig.h"
#include "unet/engine/engine_impl.h"

static char **args; /* arguments of the test program */

enum { SIDE = 64, BLACK = -1 };

static struct engine_shape shape_with(const struct rig *rig, int steps, bool carried, bool feedback) {
  struct engine_shape shape = default_shape(&rig->golden);
  shape.width = shape.height = SIDE;
  shape.steps = steps;
  shape.carried = carried;
  shape.feedback = feedback;
  return shape;
}

static void open_rig(struct rig *rig, int steps, bool carried, bool feedback) {
  *rig = (struct rig){.controls = CONTROLS_DEFAULTS};
  if (golden_open(&rig->golden, args[1], "turbo") < 0)
    fail_msg("%s", rig->golden.missing);
  struct engine_params params = default_params(&rig->golden, args[2]);
  const struct engine_shape shape = shape_with(rig, steps, carried, feedback);
  must(rig_engine(rig, &params, &shape), &rig->err);
  must(engine_set_prompt(rig->engine, 1, "an oil painting", &rig->err), &rig->err);
  rig->controls.strength = 0.6f;
}

/* Returns the grey value of a scene without repetition, seen by a camera that has moved by `shift` pixels to the left;
 * BLACK: a black picture. */
static uint8_t scene(int y, int x, int shift) {
  if (shift == BLACK)
    return 0;
  double u = x + shift;
  return (uint8_t)(128 + 40 * sin(u / 5 + y / 9.0) + 30 * cos(u / 13 - y / 4.0) + 25 * sin(u * u / 900 + y / 3.0) +
                   20 * cos(y * y / 700.0 - u / 7));
}

/* Returns the picture of a frame that shows the scene; the caller frees it. */
static uint8_t *make(struct rig *rig, struct prepared *prepared, int shift, bool restart) {
  static uint8_t pixels[SIDE * SIDE * 4];
  for (int i = 0; i < SIDE * SIDE * 4; i++)
    pixels[i] = i % 4 == 3 ? 255 : scene(i / 4 / SIDE, i / 4 % SIDE, shift);
  const struct frame frame = {
      .format = PIXEL_RGBA, .width = SIDE, .height = SIDE, .plane = {pixels}, .pitch = {SIDE * 4}, .range = RANGE_FULL};
  struct engine_result result;
  const struct engine_request request = {
      .prepared = prepared, .controls = &rig->controls, .frame = &frame, .restart = restart};
  must(engine_submit(rig->engine, &request, &rig->err), &rig->err);
  must(engine_collect(rig->engine, &result, &rig->err), &rig->err);
  uint8_t *copy = picture_copy(&result.picture);
  frame_release(&result.picture);
  return copy;
}

/* Makes a picture, and fails the test unless it equals `expected` or, for the other case, differs from it. */
static void expect_picture(struct rig *rig, int shift, bool restart, const uint8_t *expected, bool equal, int line) {
  uint8_t *picture = make(rig, rig->prepared, shift, restart);
  if (!memcmp(picture, expected, picture_bytes(rig)) != equal)
    fail_msg("line %d: the picture of shift %d %s", line, shift, equal ? "is not the expected one" : "does not differ");
  free(picture);
}
#define EQUAL(shift, restart) expect_picture(&rig, shift, restart, plain[(shift) / 8], true, __LINE__)
#define OTHER(shift, restart) expect_picture(&rig, shift, restart, plain[(shift) / 8], false, __LINE__)

/* Makes the pictures of three shifts with a handle that has neither moving noise nor feedback. */
static void make_plain(struct rig *rig, int steps, uint8_t *plain[3]) {
  struct prepared *other = NULL;
  const struct engine_shape shape = shape_with(rig, steps, false, false);
  must(engine_prepare(rig->engine, &shape, &other, &rig->err), &rig->err);
  for (int i = 0; i < 3; i++)
    plain[i] = make(rig, other, 8 * i, false);
  engine_release(rig->engine, &other);
}

static void free_plain(uint8_t *plain[3]) {
  for (int i = 0; i < 3; i++)
    free(plain[i]);
}

/* A handle whose noise can move makes the same pictures as a plain one while that is off, in its first frame, after a
 * restart, and where nothing moves. */
static void noise_moves_with_the_picture(void **state) {
  (void)state;
  for (int steps = 1; steps <= 2; steps++) {
    struct rig rig;
    uint8_t *plain[3];
    open_rig(&rig, steps, true, false);
    make_plain(&rig, steps, plain);
    for (int i = 0; i < 3; i++)
      EQUAL(8 * i, false);
    rig.controls.carried = true;
    EQUAL(0, false);
    EQUAL(0, false);
    OTHER(8, false);
    OTHER(16, false);
    EQUAL(16, true);
    rig.controls.carried = false;
    EQUAL(0, false);
    EQUAL(8, false);
    rig.controls.carried = true;
    EQUAL(8, false); /* motion was off in the frames between, so this frame has no earlier field to continue */
    free_plain(plain);
    rig_close(&rig);
  }
}

/* Tests the same between two seeds, where the noise and the second table are computed on the device. */
static void noise_moves_between_seeds(void **state) {
  (void)state;
  struct rig rig;
  uint8_t *plain[3];
  open_rig(&rig, 2, true, false);
  rig.controls.seed_position = 3.25;
  make_plain(&rig, 2, plain);
  rig.controls.carried = true;
  EQUAL(0, false);
  OTHER(8, false);
  EQUAL(8, true);
  free_plain(plain);
  rig_close(&rig);
}

/* A new seed generates only the noise that frames use: that of the start and the second table, but none for steps in
 * which the sampler adds no noise. */
static void a_new_seed_makes_no_noise_in_vain(void **state) {
  (void)state;
  struct rig rig;
  struct prepared *prepared = NULL;
  open_rig(&rig, 4, true, false);
  struct engine_shape shape = shape_with(&rig, 4, true, false);
  shape.sampler = SAMPLER_DDIM;
  must(engine_prepare(rig.engine, &shape, &prepared, &rig.err), &rig.err);
  size_t sample = tensor_elements(prepared->noise.start);
  assert_true(prepared->shape.noise_samples > 0);
  for (uint64_t seed = 1; seed <= 2; seed++) {
    rig.controls.seed = seed;
    rig.controls.eta = 0;
    free(make(&rig, prepared, 0, false));
    assert_int_equal(prepared->made.elements, sample);
    assert_int_equal(prepared->second.elements, sample);
  }
  rig.controls.eta = 1;
  free(make(&rig, prepared, 0, false));
  assert_true(prepared->made.elements > sample);
  rig_close(&rig);
}

static void the_last_picture_is_fed_back(void **state) {
  (void)state;
  struct rig rig;
  uint8_t *plain[3];
  open_rig(&rig, 1, false, true);
  assert_true(engine_feeds_back(rig.engine, rig.prepared, &rig.controls));
  make_plain(&rig, 1, plain);
  EQUAL(0, false);
  rig.controls.feedback = 0.5f;
  EQUAL(8, false);
  OTHER(8, false);
  OTHER(16, false);
  EQUAL(16, true);
  rig.controls.feedback = 0;
  EQUAL(8, false);
  rig.controls.feedback = 1;
  EQUAL(0, false);
  OTHER(0, false);
  /* A black picture has no last picture that fits it, and neither has the picture after it. */
  free(make(&rig, rig.prepared, BLACK, false));
  EQUAL(0, false);
  OTHER(0, false);
  free_plain(plain);
  rig_close(&rig);
}

/* Two engines that are given the same frames make the same pictures. */
static void runs_repeat(void **state) {
  (void)state;
  uint8_t *pictures[2][4];
  size_t bytes = 0;
  for (int run = 0; run < 2; run++) {
    struct rig rig;
    open_rig(&rig, 2, true, true);
    rig.controls.carried = true;
    rig.controls.feedback = 0.3f;
    for (int i = 0; i < 4; i++)
      pictures[run][i] = make(&rig, rig.prepared, 3 * i, false);
    bytes = picture_bytes(&rig);
    rig_close(&rig);
  }
  for (int i = 0; i < 4; i++) {
    assert_memory_equal(pictures[0][i], pictures[1][i], bytes);
    free(pictures[0][i]);
    free(pictures[1][i]);
  }
}

static void frames_without_a_last_one_are_refused(void **state) {
  (void)state;
  static const char *const why[] = {"stream batch", "one picture a run, not 2", "text to image"};
  struct rig rig;
  open_rig(&rig, 1, false, false);
  for (int i = 0; i < 6; i++) {
    struct prepared *prepared = NULL;
    struct engine_shape shape = shape_with(&rig, 2, i < 3, i >= 3);
    shape.stream_batch = i % 3 == 0;
    shape.batch = i % 3 == 1 ? 2 : 0;
    shape.text_to_image = i % 3 == 2;
    assert_int_equal(engine_prepare(rig.engine, &shape, &prepared, &rig.err), -1);
    assert_error(&rig.err, STATUS_USAGE, why[i % 3]);
    assert_error(&rig.err, STATUS_USAGE, i < 3 ? "--noise carried" : "--feedback");
  }
  rig_close(&rig);
}

int main(int argc, char **argv) {
  args = argv;
  int status = golden_arguments(argc, argv, "turbo");
  if (status)
    return status;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(noise_moves_with_the_picture),      cmocka_unit_test(noise_moves_between_seeds),
      cmocka_unit_test(the_last_picture_is_fed_back),      cmocka_unit_test(runs_repeat),
      cmocka_unit_test(a_new_seed_makes_no_noise_in_vain), cmocka_unit_test(frames_without_a_last_one_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
