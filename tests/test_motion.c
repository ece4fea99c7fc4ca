/* Tests what the ops of motion measure in pictures of known motion: pans, zooms and turns, a still camera with noise,
 * an object in front of a background, cuts, and changes of light that are no cuts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/rigs/device_there.h"
#include "tests/rigs/moving_picture.h"
#include "unet/devices.h"
#include "unet/model/motion.h"
#include "unet/plan/device.h"

enum { CELL = 8, SIDE_MAX = 256, CELLS_MAX = SIDE_MAX / CELL * (SIDE_MAX / CELL) };

static const char *device_name;

/* A program that measures motion, and the results of its last run. */
struct rig {
  int side, cells; /* side: of the picture in pixels; cells: of the latent along one axis */
  struct resources resources;
  struct plan plan;
  struct device *device;
  struct program *program;
  struct run_params params;
  struct tensor x;
  struct motion motion;
  struct error err;
  double grey[SIDE_MAX * SIDE_MAX]; /* the next picture */
  float flow[2 * CELLS_MAX], visible[CELLS_MAX], global[GLOBAL_VALUES];
};

static void must(struct rig *r, int status) {
  if (status < 0)
    fail_msg("%s", r->err.message);
}

static struct rig *rig_open(int side) {
  struct rig *r = calloc(1, sizeof *r);
  assert_non_null(r);
  r->side = side, r->cells = side / CELL;
  r->params.motion = true;
  plan_init(&r->plan, &r->resources);
  r->x = plan_input(&r->plan, 1, side, side, 3, ELEMENT_DEVICE);
  r->motion = motion_of(&r->plan, r->x, 256 / 255.0f, 0, CELL);
  must(r, plan_finish(&r->plan, &r->err));
  must(r, device_open(&r->device, &r->resources, &(struct device_options){.name = device_name}, &r->err));
  must(r, device_prepare(r->device, &r->program, &r->plan, &(struct program_options){PIXEL_RGBA}, &r->err));
  return r;
}

static void rig_close(struct rig *r) {
  device_release(r->device, &r->program);
  device_close(&r->device);
  plan_free(&r->plan);
  resources_free(&r->resources);
  free(r);
}

static void read(struct rig *r, struct tensor t, float *values) {
  must(r, device_read(r->device, r->program, t, 0, values, tensor_elements(t), &r->err));
}

/* Runs the program on the picture r->grey, which becomes codes of 8 bits, and reads its results. */
static void look(struct rig *r) {
  static float x[SIDE_MAX * SIDE_MAX * 3];
  for (int i = 0; i < 3 * r->side * r->side; i++)
    x[i] = (float)floor(fmin(255, fmax(0, r->grey[i / 3] + 0.5))) / 256;
  must(r, device_write(r->device, r->program, r->x, 0, x, (size_t)(3 * r->side * r->side), &r->err));
  must(r, device_run(r->device, r->program, &r->params, &r->err));
  read(r, r->motion.flow, r->flow);
  read(r, r->motion.visible, r->visible);
  read(r, r->motion.global, r->global);
}

static void draw(struct rig *r, const struct waves *waves, const struct view *view) {
  double centre = (r->side - 1) / 2.0;
  for (int i = 0; i < r->side * r->side; i++)
    r->grey[i] = view_grey(waves, view, i % r->side - centre, i / r->side - centre);
}

static uint32_t next(uint32_t *state) {
  *state = *state * 1664525 + 1013904223;
  return *state >> 8;
}

/* Adds noise that is about normally distributed. */
static void add_noise(struct rig *r, double deviation, uint32_t *seed) {
  for (int i = 0; i < r->side * r->side; i++) {
    double sum = -3;
    for (int k = 0; k < 6; k++)
      sum += next(seed) / (double)(1 << 24);
    r->grey[i] += deviation * 1.41421356 * sum;
  }
}

static bool has_cut(const struct rig *r) {
  return r->global[GLOBAL_CUT] != 0;
}

static bool is_identity(const struct rig *r) {
  for (int i = 0; i < r->cells * r->cells; i++)
    if (r->flow[2 * i] != 0 || r->flow[2 * i + 1] != 0)
      return false;
  return r->global[GLOBAL_A] == 0x1p24f && r->global[GLOBAL_B] == 0 && r->global[GLOBAL_Y] == 0 &&
         r->global[GLOBAL_X] == 0;
}

static const struct view centre = {1, 0, 0, 0};

/* --- exact motions --- */

/* Errors of the flow: the mean distance from the true motion in pixels, over cells that were in the last picture and
 * that the program calls visible; and the share of visible cells among those that were in the picture. */
struct errors {
  double distance, seen;
};

static struct errors errors_of(const struct rig *r, const struct view *now, const struct view *last) {
  double middle = (r->side - 1) / 2.0, distance = 0;
  int there = 0, both = 0;
  for (int i = 0; i < r->cells * r->cells; i++) {
    double x = CELL * (i % r->cells) + (CELL - 1) / 2.0 - middle, y = CELL * (i / r->cells) + (CELL - 1) / 2.0 - middle;
    double u = x, v = y;
    view_move(now, last, &u, &v);
    if (fabs(u) > middle || fabs(v) > middle)
      continue;
    there++;
    both += r->visible[i] != 0;
    if (r->visible[i] != 0)
      distance += hypot((double)r->flow[2 * i + 1] / 256 + x - u, (double)r->flow[2 * i] / 256 + y - v);
  }
  return (struct errors){distance / (both ? both : 1), both / (double)there};
}

/* Checks that the motion of the whole picture moves the corners to within this many pixels of the true positions. */
static void expect_global(const struct rig *r, const struct view *now, const struct view *last, double most) {
  for (int corner = 0; corner < 4; corner++) {
    double x = (corner % 2 ? 1 : -1) * r->side / 2.0, y = (corner / 2 ? 1 : -1) * r->side / 2.0, u = x, v = y;
    double a = (double)r->global[GLOBAL_A] / 0x1p24, b = (double)r->global[GLOBAL_B] / 0x1p24;
    view_move(now, last, &u, &v);
    double dx = a * x - b * y + (double)r->global[GLOBAL_X] / 256 - u;
    double dy = b * x + a * y + (double)r->global[GLOBAL_Y] / 256 - v;
    if (!(hypot(dx, dy) <= most))
      fail_msg("corner %d is %.2f pixels from its place", corner, hypot(dx, dy));
  }
}

static void motions_are_found(void **state) {
  (void)state;
  static const struct {
    const char *name;
    struct view step;
    double sky;
  } cases[] = {
      {"pan 2, 1", {1, 0, 2, 1}, -1e9},
      {"pan 2, 1 under a sky", {1, 0, 2, 1}, -40},
      {"pan 0.5, 0.25", {1, 0, 0.5, 0.25}, -1e9},
      {"pan 7.3, -3.6", {1, 0, 7.3, -3.6}, -40},
      {"pan 40, 0", {1, 0, 40, 0}, -1e9},
      {"zoom 1 %", {1.01, 0, 0, 0}, -40},
      {"zoom out 1 %", {1 / 1.01, 0, 0, 0}, -1e9},
      {"turn 0.5 degrees", {1, 0.5 * M_PI / 180, 0, 0}, -40},
      {"all of it", {1.02, -0.02, 5, -4}, -1e9},
  };
  struct rig *r = rig_open(SIDE_MAX);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct waves waves = waves_make(100 + i, 40);
    waves.sky = cases[i].sky;
    draw(r, &waves, &centre);
    look(r);
    draw(r, &waves, &cases[i].step);
    look(r);
    struct errors e = errors_of(r, &cases[i].step, &centre);
    printf("%s: %.3f pixels, %.3f seen\n", cases[i].name, e.distance, e.seen);
    assert_false(has_cut(r));
    assert_true(e.distance <= 0.3 && e.seen >= 0.9);
    expect_global(r, &cases[i].step, &centre, 0.4);
  }
  rig_close(r);
}

static void noise_is_no_motion(void **state) {
  (void)state;
  struct rig *r = rig_open(64);
  static double still[SIDE_MAX * SIDE_MAX];
  uint32_t seed = 1;
  for (int sky = 0; sky < 2; sky++) {
    struct waves waves = waves_make(7 + (uint64_t)sky, 40);
    waves.sky = sky ? 0 : -1e9;
    draw(r, &waves, &centre);
    memcpy(still, r->grey, sizeof still);
    for (int i = 0; i < 300; i++) {
      memcpy(r->grey, still, sizeof still);
      add_noise(r, 4, &seed);
      look(r);
      assert_int_equal(has_cut(r), i == 0);
      assert_true(is_identity(r));
    }
  }
  rig_close(r);
}

/* An ellipse moves by (3, 1) pixels in front of a background that stands still. */
static void an_object_moves_by_itself(void **state) {
  (void)state;
  struct rig *r = rig_open(SIDE_MAX);
  const struct waves ground = waves_make(31, 40), object = waves_make(32, 40);
  int inside = 0, right = 0, outside = 0, still = 0;
  for (int frame = 0; frame < 2; frame++) {
    for (int i = 0; i < SIDE_MAX * SIDE_MAX; i++) {
      double x = i % SIDE_MAX - 128 - 3 * frame, y = i / SIDE_MAX - 128 - frame;
      bool covered = x * x / (51.0 * 51) + y * y / (64.0 * 64) <= 1;
      r->grey[i] = covered ? waves_at(&object, x, y) : waves_at(&ground, x + 3 * frame, y + frame);
    }
    look(r);
  }
  assert_false(has_cut(r));
  assert_true(r->global[GLOBAL_A] == 0x1p24f && r->global[GLOBAL_B] == 0 && r->global[GLOBAL_X] == 0);
  for (int i = 0; i < r->cells * r->cells; i++) {
    double x = CELL * (i % r->cells) + 3.5 - 128 - 3, y = CELL * (i / r->cells) + 3.5 - 128 - 1;
    double far = sqrt(x * x / (51.0 * 51) + y * y / (64.0 * 64));
    double error = hypot((double)r->flow[2 * i + 1] / 256 + 3, (double)r->flow[2 * i] / 256 + 1);
    bool stays = r->flow[2 * i] == 0 && r->flow[2 * i + 1] == 0;
    inside += far < 0.8, right += far < 0.8 && error < 1.25 && r->visible[i] != 0;
    outside += far > 1.25, still += far > 1.25 && stays && r->visible[i] != 0;
  }
  printf("object: %d of %d right; ground: %d of %d still\n", right, inside, still, outside);
  assert_true(right >= 0.95 * inside && still >= 0.98 * outside);
  rig_close(r);
}

/* --- cuts --- */

static void cuts_are_found(void **state) {
  (void)state;
  struct rig *r = rig_open(128);
  for (int i = 0; i < 42; i++) {
    const struct waves waves = waves_make(500 + (uint64_t)(i / 2), 20 + i);
    const struct view view = {1, 0, 3 * (i % 2), 0};
    draw(r, &waves, &view);
    look(r);
    assert_int_equal(has_cut(r), i % 2 == 0);
    for (int cell = 0; cell < r->cells * r->cells && has_cut(r); cell++)
      assert_true(r->visible[cell] == 0 && r->flow[2 * cell] == 0 && r->flow[2 * cell + 1] == 0);
  }
  rig_close(r);
}

/* How the light changes from frame to frame. */
enum light { STROBE, FLASH, FADE, BLACKOUTS, DISSOLVE, LIGHTS };

static double lit(enum light light, int frame, double grey, double other) {
  switch (light) {
  case STROBE:
    return frame % 2 ? grey * 0.35 : grey;
  case FLASH:
    return frame % 5 == 3 ? 80 + 3 * grey : grey;
  case FADE:
    return grey * fmax(0, 1 - frame / 12.0);
  case BLACKOUTS:
    return frame % 3 ? 16 : grey;
  case DISSOLVE:
    return grey + (other - grey) * frame / 19.0;
  default:
    return grey;
  }
}

static void changes_of_light_are_no_cuts(void **state) {
  (void)state;
  struct rig *r = rig_open(128);
  static double other[SIDE_MAX * SIDE_MAX];
  uint32_t seed = 3;
  for (enum light light = 0; light < LIGHTS; light++) {
    const struct waves waves = waves_make(40 + light, 45), later = waves_make(60 + light, 45);
    for (int i = 0; i < 20; i++) {
      const struct view view = {1, 0, light == FADE ? 0 : 2 * i, light == FADE ? 0 : i};
      if (light == DISSOLVE)
        draw(r, &later, &view);
      memcpy(other, r->grey, sizeof other);
      draw(r, &waves, &view);
      for (int k = 0; k < r->side * r->side; k++)
        r->grey[k] = lit(light, i, r->grey[k], other[k]);
      add_noise(r, 1, &seed);
      look(r);
      if (has_cut(r) != (i == 0))
        fail_msg("light %d, frame %d: a cut is %s", (int)light, i, i ? "seen" : "not seen");
    }
  }
  rig_close(r);
}

static void fast_pans_are_no_cuts(void **state) {
  (void)state;
  struct rig *r = rig_open(SIDE_MAX);
  const struct waves waves = waves_make(77, 40);
  for (int i = 0; i < 8; i++) {
    const struct view view = {1, 0, 40 * i, i % 2 ? -12 : 12};
    draw(r, &waves, &view);
    look(r);
    assert_int_equal(has_cut(r), i == 0);
  }
  rig_close(r);
}

/* --- runs --- */

/* A run without earlier frames, and one after skipped frames; a region that is skipped changes nothing. */
static void a_run_may_have_no_past(void **state) {
  (void)state;
  struct rig *r = rig_open(64);
  const struct waves waves = waves_make(9, 40);
  draw(r, &waves, &centre);
  look(r);
  assert_true(has_cut(r));
  draw(r, &waves, &(struct view){1, 0, 4, 0});
  r->params.motion = false;
  look(r);
  assert_true(has_cut(r));
  r->params.motion = true;
  look(r);
  assert_false(has_cut(r));
  assert_true(fabsf(r->global[GLOBAL_X] - 4 * 256) < 64);
  r->params.restart = true;
  look(r);
  assert_true(has_cut(r) && is_identity(r));
  r->params.restart = false;
  look(r);
  assert_true(!has_cut(r) && is_identity(r));
  rig_close(r);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(motions_are_found),
      cmocka_unit_test(noise_is_no_motion),
      cmocka_unit_test(an_object_moves_by_itself),
      cmocka_unit_test(cuts_are_found),
      cmocka_unit_test(changes_of_light_are_no_cuts),
      cmocka_unit_test(fast_pans_are_no_cuts),
      cmocka_unit_test(a_run_may_have_no_past),
  };
  device_name = argc > 1 ? argv[1] : "cpu";
  if (!device_is_there(&(struct device_options){.name = device_name}))
    return DEVICE_MISSING;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
