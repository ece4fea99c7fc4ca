/* Tests the rules of the shipped model, which its styles.json asks for: strength as a share of its picture, no
 * guidance, and the style "photo" for prompts that name no style.
 *
 *   test_mini GOLDENS MODEL DEVICE       skipped where there is no such device */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/rig.h"
#include "unet/text/styles.h"

enum { SIDE = 64, BYTES = 4 * SIDE * SIDE };

static char **args; /* arguments of the test program */

static struct engine_params mini_params(const struct golden *golden) {
  struct engine_params params = default_params(golden, args[3]);
  params.model = args[2];
  return params;
}

static const struct engine_shape small = {.width = SIDE, .height = SIDE};

static void open_golden(struct golden *golden) {
  if (golden_open(golden, args[1], "mini") < 0)
    fail_msg("%s", golden->missing);
}

static void open_mini(struct rig *rig, const struct log *log) {
  *rig = (struct rig){.controls = CONTROLS_DEFAULTS};
  open_golden(&rig->golden);
  struct engine_params params = mini_params(&rig->golden);
  params.device.log = log;
  must(rig_engine(rig, &params, &small), &rig->err);
}

static struct styles *open_styles(void) {
  char path[1024];
  struct styles *styles = NULL;
  struct error err = {0};
  snprintf(path, sizeof path, "%s/styles.json", args[2]);
  must(styles_open(&styles, path, &err), &err);
  assert_int_equal(styles_count(styles), 17);
  return styles;
}

/* Returns the mean difference of red, green and blue from the picture of strength 0, which is the input. */
static double distance_at(struct rig *rig, double strength) {
  rig->controls.strength = 0;
  uint8_t *input = generate_default(rig);
  rig->controls.strength = (float)strength;
  uint8_t *picture = generate_default(rig);
  double sum = 0;
  for (size_t i = 0; i < BYTES; i++)
    sum += abs(picture[i] - input[i]);
  free(picture);
  free(input);
  return sum / (BYTES / 4 * 3);
}

static void test_strength(void **state) {
  (void)state;
  static const double strengths[] = {0, 0.01, 0.25, 0.5, 0.75, 1};
  enum { COUNT = sizeof strengths / sizeof *strengths };
  struct styles *styles = open_styles();
  struct rig rig;
  open_mini(&rig, NULL);
  struct engine_info before, after;
  free(generate_default(&rig));
  engine_get_info(rig.engine, &before);
  for (int s = 0; s < styles_count(styles); s++) {
    double distance[COUNT];
    must(engine_set_prompt(rig.engine, 1, styles_name(styles, s), &rig.err), &rig.err);
    for (int i = 0; i < COUNT; i++)
      distance[i] = distance_at(&rig, strengths[i]);
    assert_true(distance[0] == 0 && distance[COUNT - 1] > 2);
    for (int i = 1; i < COUNT; i++) {
      double share = distance[i] / distance[COUNT - 1];
      if (!(distance[i] >= distance[i - 1]) || !(fabs(share - strengths[i]) < 0.1))
        fail_msg("%s: at strength %g a share of %.3f", styles_name(styles, s), strengths[i], share);
    }
  }
  engine_get_info(rig.engine, &after);
  assert_int_equal(after.device_captures, before.device_captures);
  assert_int_equal(after.device_allocations, before.device_allocations);
  rig_close(&rig);
  styles_close(&styles);
}

/* In the comparison with diffusers, strength says at which noise level to start. */
static void test_strength_of_diffusers(void **state) {
  (void)state;
  struct rig rig = {.controls = CONTROLS_DEFAULTS};
  open_golden(&rig.golden);
  struct engine_params params = mini_params(&rig.golden);
  params.strength_diffusers = true;
  must(rig_engine(&rig, &params, &small), &rig.err);
  must(engine_set_prompt(rig.engine, 1, "ink", &rig.err), &rig.err);
  assert_true(distance_at(&rig, 0.1) > 0.5 * distance_at(&rig, 1));
  rig_close(&rig);
}

static void test_guidance(void **state) {
  (void)state;
  struct rig rig;
  struct prepared *prepared;
  open_mini(&rig, NULL);
  const struct engine_shape guided = {.width = SIDE, .height = SIDE, .guidance = true};
  assert_int_equal(engine_prepare(rig.engine, &guided, &prepared, &rig.err), -1);
  assert_error(&rig.err, STATUS_USAGE, "guidance");
  rig_close(&rig);
}

static uint8_t *generate_for(struct rig *rig, const char *prompt) {
  must(engine_set_prompt(rig->engine, 1, prompt, &rig->err), &rig->err);
  return generate_default(rig);
}

/* Returns the picture of a prompt with this detail; below 0: the one that suits its style. */
static uint8_t *generate_detailed(struct rig *rig, const char *prompt, double detail) {
  rig->controls.detail = (float)detail;
  return generate_for(rig, prompt);
}

/* Each style has its own detail, for frames that ask for none. */
static void test_detail(void **state) {
  (void)state;
  static const struct {
    const char *prompt;
    double detail;
  } cases[] = {{"photo", 0.5}, {"a castle", 0.5}, {"vintage photo", 0.3f}, {"oil", 0}, {"photo in ink", 0}};
  struct rig rig;
  open_mini(&rig, NULL);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint8_t *usual = generate_detailed(&rig, cases[i].prompt, -1);
    assert_float_equal(engine_usual_detail(rig.engine), cases[i].detail, 0);
    uint8_t *asked = generate_detailed(&rig, cases[i].prompt, cases[i].detail);
    uint8_t *other = generate_detailed(&rig, cases[i].prompt, 1 - cases[i].detail / 2);
    assert_memory_equal(usual, asked, BYTES);
    assert_memory_not_equal(usual, other, BYTES);
    free(usual);
    free(asked);
    free(other);
  }
  must(engine_set_prompt(rig.engine, 2, "oil", &rig.err), &rig.err);
  rig.controls.blend[0] = 3, rig.controls.blend[1] = 1;
  free(generate_detailed(&rig, "photo", -1));
  assert_float_equal(engine_usual_detail(rig.engine), 0.375, 1e-6);
  rig_close(&rig);
}

static void test_prompts(void **state) {
  (void)state;
  static const struct {
    const char *prompt, *means;
    bool said;
  } cases[] = {
      {"a castle made of ice", "photo", true},
      {"asdf qwer", "photo", true},
      {"a castle made of ice at night", "photo, at night", true},
      {"asdf, in WINTER, at sunset", "photo, at sunset, in winter", true},
      {"At night", "at night", false},
      {"a castle, oil painting", "a castle, oil painting", false},
  };
  struct warnings said = {0};
  const struct log log = {remember_warning, &said};
  struct rig rig;
  open_mini(&rig, &log);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint8_t *meant = generate_for(&rig, cases[i].means);
    said.count = 0;
    uint8_t *picture = generate_for(&rig, cases[i].prompt);
    assert_memory_equal(meant, picture, BYTES);
    free(meant);
    free(picture);
    assert_int_equal(said.count, cases[i].said);
    if (cases[i].said)
      assert_non_null(strstr(said.last, "gives photo: photo, oil, watercolor"));
  }
  uint8_t *photo = generate_for(&rig, "photo"), *night = generate_for(&rig, "at night");
  assert_memory_not_equal(photo, night, BYTES);
  free(photo);
  free(night);
  rig_close(&rig);
}

static bool is_served(void) {
  struct golden golden;
  if (golden_open(&golden, args[1], "mini") < 0)
    return true; /* true, so that the tests run and report the error */
  struct engine_params params = mini_params(&golden);
  bool served = has_device(&params);
  golden_close(&golden);
  return served;
}

/* --- canvas --- */

enum { PANNED = 96, PAN_FRAMES = 5, PAN_BORDER = 12 };

/* Returns pseudo-random values of a grid, interpolated between its points, which lie `cell` pixels apart. */
static double smooth_noise(int x, int y, int cell, unsigned seed) {
  double at[2][2], fx = (double)(x % cell) / cell, fy = (double)(y % cell) / cell;
  for (int i = 0; i < 4; i++) {
    unsigned hash = ((unsigned)(x / cell + i % 2) * 2246822519u) ^ ((unsigned)(y / cell + i / 2) * 3266489917u) ^ seed;
    hash = (hash ^ hash >> 15) * 2221713035u;
    at[i / 2][i % 2] = (hash ^ hash >> 16) % 256;
  }
  return (at[0][0] * (1 - fx) + at[0][1] * fx) * (1 - fy) + (at[1][0] * (1 - fx) + at[1][1] * fx) * fy;
}

/* Draws frame number `at` of a camera that pans by (2, 1) pixels a frame over a scene of soft spots. */
static void draw_pan(int at, uint8_t *rgba) {
  for (int y = 0; y < PANNED; y++)
    for (int x = 0; x < PANNED; x++)
      for (int c = 0; c < 4; c++)
        rgba[4 * (y * PANNED + x) + c] =
            (uint8_t)(c == 3 ? 255
                             : (smooth_noise(100 + x + 2 * at, 100 + y + at, 24, 17u + (unsigned)c) +
                                smooth_noise(100 + x + 2 * at, 100 + y + at, 7, 99)) /
                                   2);
}

/* Returns the mean change of a pixel that is followed along the pan, in grey levels. */
static double change_along(const uint8_t *before, const uint8_t *now) {
  double sum = 0;
  int count = 0;
  for (int y = PAN_BORDER; y < PANNED - PAN_BORDER; y++)
    for (int x = PAN_BORDER; x < PANNED - PAN_BORDER; x++)
      for (int c = 0; c < 3; c++, count++)
        sum += abs(now[4 * (y * PANNED + x) + c] - before[4 * ((y + 1) * PANNED + x + 2) + c]);
  return sum / count;
}

static double change_of_pan(struct rig *rig, enum canvas_mode canvas) {
  const struct engine_shape shape = {.width = PANNED, .height = PANNED, .canvas = canvas};
  static uint8_t pixels[4 * PANNED * PANNED];
  struct frame frame = {.format = PIXEL_RGBA, .range = RANGE_FULL, .width = PANNED, .height = PANNED};
  frame.plane[0] = pixels;
  frame.pitch[0] = 4 * PANNED;
  engine_release(rig->engine, &rig->prepared);
  must(engine_prepare(rig->engine, &shape, &rig->prepared, &rig->err), &rig->err);
  assert_int_equal(shape_of(rig).shape.canvas, canvas == CANVAS_FIXED ? CANVAS_FIXED : CANVAS_FOLLOW);
  uint8_t *last = NULL;
  double sum = 0;
  for (int i = 0; i < PAN_FRAMES; i++) {
    draw_pan(i, pixels);
    uint8_t *picture = generate(rig, &frame);
    sum += last ? change_along(last, picture) : 0;
    free(last);
    last = picture;
  }
  free(last);
  return sum / (PAN_FRAMES - 1);
}

/* The model mini asks for a canvas that follows the camera: its brush strokes then move with the scene. */
static void test_canvas_follows_a_pan(void **state) {
  (void)state;
  struct rig rig;
  open_mini(&rig, NULL);
  must(engine_set_prompt(rig.engine, SLOT_PRESET_1, "mosaic", &rig.err), &rig.err);
  double fixed = change_of_pan(&rig, CANVAS_FIXED), follow = change_of_pan(&rig, CANVAS_AUTO);
  if (!(follow < 4 && follow < fixed / 4))
    fail_msg("a change of %.2f grey levels, and of %.2f on a fixed canvas", follow, fixed);
  rig_close(&rig);
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: test_mini GOLDENS MODEL DEVICE\n");
    return 2;
  }
  args = argv;
  if (!is_served())
    return 77;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_strength), cmocka_unit_test(test_strength_of_diffusers),
      cmocka_unit_test(test_guidance), cmocka_unit_test(test_detail),
      cmocka_unit_test(test_prompts),  cmocka_unit_test(test_canvas_follows_a_pan),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
