/* Tests engine_follow, which only measures the motion of a frame: a frame after it is the same as if pictures of all
 * frames had been made.
 *
 *   test_follow GOLDENS DEVICE       skipped where there is no such device */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/fixture.h"
#include "tests/rigs/rig.h"

static char **args; /* arguments of the test program */

enum { SIDE = 128, LAST = 4 };

static struct engine_shape shape_with(const struct rig *rig, bool carried) {
  struct engine_shape shape = default_shape(&rig->golden);
  shape.width = shape.height = SIDE;
  shape.carried = carried;
  shape.canvas = carried ? CANVAS_FIXED : CANVAS_FOLLOW;
  return shape;
}

static void open_rig(struct rig *rig, bool carried) {
  *rig = (struct rig){.controls = CONTROLS_DEFAULTS};
  if (golden_open(&rig->golden, args[1], "turbo") < 0)
    fail_msg("%s", rig->golden.missing);
  struct engine_params params = default_params(&rig->golden, args[2]);
  const struct engine_shape shape = shape_with(rig, carried);
  must(rig_engine(rig, &params, &shape), &rig->err);
  must(engine_set_prompt(rig->engine, 1, "an oil painting", &rig->err), &rig->err);
  rig->controls.strength = 0.6f;
  rig->controls.carried = carried;
}

/* Returns the grey value of a scene without repetition, seen by a camera that moves to the right. */
static uint8_t scene(int y, int x, int number) {
  double u = x + 7 * number, v = y;
  return (uint8_t)(128 + 40 * sin(u / 5 + v / 9.0) + 30 * cos(u / 13 - v / 4.0) + 25 * sin(u * u / 900 + v / 3.0) +
                   20 * cos(v * v / 700.0 - u / 7));
}

static struct frame frame_of(uint8_t pixels[SIDE * SIDE * 4], int number) {
  for (int i = 0; i < SIDE * SIDE * 4; i++)
    pixels[i] = i % 4 == 3 ? 255 : scene(i / 4 / SIDE, i / 4 % SIDE, number);
  return (struct frame){
      .format = PIXEL_RGBA, .width = SIDE, .height = SIDE, .plane = {pixels}, .pitch = {SIDE * 4}, .range = RANGE_FULL};
}

/* Makes the picture of a frame, which the caller frees; without `make` only measures its motion, and returns NULL. */
static uint8_t *pass(struct rig *rig, int number, bool make, bool restart) {
  static uint8_t pixels[SIDE * SIDE * 4];
  const struct frame frame = frame_of(pixels, number);
  const struct engine_request request = {
      .prepared = rig->prepared, .controls = &rig->controls, .frame = &frame, .restart = restart};
  struct engine_result result;
  if (!make) {
    must(engine_follow(rig->engine, &request, &rig->err), &rig->err);
    return NULL;
  }
  must(engine_submit(rig->engine, &request, &rig->err), &rig->err);
  must(engine_collect(rig->engine, &result, &rig->err), &rig->err);
  uint8_t *copy = picture_copy(&result.picture);
  frame_release(&result.picture);
  return copy;
}

/* Returns the picture of the last frame after those from `first` on. Bit i of `made` says that the picture of frame i
 * was made; of the others only the motion was measured. */
static uint8_t *last_after(struct rig *rig, int first, unsigned made) {
  for (int i = first; i < LAST; i++)
    free(pass(rig, i, made >> i & 1, i == first));
  return pass(rig, LAST, true, first == LAST);
}

static void expect_followed(bool carried) {
  struct rig rig;
  open_rig(&rig, carried);
  assert_true(engine_follows(rig.prepared));
  uint8_t *all = last_after(&rig, 0, ~0u);
  static const unsigned made[] = {0, 1, 1 << 3, 1 << 0 | 1 << 2};
  for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
    uint8_t *followed = last_after(&rig, 0, made[i]);
    if (memcmp(followed, all, picture_bytes(&rig)))
      fail_msg("%s, made %u: the picture after frames that were followed is another one", carried ? "noise" : "canvas",
               made[i]);
    free(followed);
  }
  assert_differ(&rig, all, last_after(&rig, LAST, 0)); /* without earlier frames the picture differs */
  rig_close(&rig);
}

static void test_canvas(void **state) {
  (void)state;
  expect_followed(false);
}

static void test_noise(void **state) {
  (void)state;
  expect_followed(true);
}

/* With a handle that uses no motion, engine_follow does nothing. */
static void test_plain_handle(void **state) {
  (void)state;
  struct rig rig = {.controls = CONTROLS_DEFAULTS};
  uint8_t pixels[SIDE * SIDE * 4];
  const struct frame frame = frame_of(pixels, 0);
  rig_open(&rig, args, "turbo", false);
  const struct engine_request request = {.prepared = rig.prepared, .controls = &rig.controls, .frame = &frame};
  assert_false(engine_follows(rig.prepared));
  assert_int_equal(engine_follow(rig.engine, &request, &rig.err), -1);
  assert_error(&rig.err, STATUS_FAILED, "follows no motion");
  rig_close(&rig);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_canvas), cmocka_unit_test(test_noise),
                                     cmocka_unit_test(test_plain_handle)};
  args = argv;
  if (argc != 3)
    return 2;
  if (!golden_has_device(argv[1], "turbo", argv[2]))
    return 77;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
