/* Tests the engine's documented behaviour, with the random checkpoints of the goldens.
 *
 *   test_engine GOLDENS DEVICE       skipped where there is no such device */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/fixture.h"
#include "tests/rigs/rig.h"
#include "unet/engine/engine_impl.h"
#include "unet/model/plans.h"

static char **args; /* arguments of the test program */

/* --- prompts --- */

static void check_slots(const char *golden) {
  struct rig rig;
  rig_open(&rig, args, golden, false);
  uint8_t *first = generate_default(&rig);
  rig.controls.prompt = 2;
  assert_differ(&rig, first, generate_default(&rig));

  rig.controls.prompt = 7; /* slot 7 was never set */
  uint8_t *unset = generate_default(&rig);
  must(engine_set_prompt(rig.engine, 7, "", &rig.err), &rig.err);
  assert_same(&rig, unset, generate_default(&rig));

  uint8_t *empty = generate_default(&rig);
  must(engine_set_prompt(rig.engine, 7, "an oil painting", &rig.err), &rig.err);
  assert_differ(&rig, empty, generate_default(&rig));
  uint8_t *seventh = generate_default(&rig);
  rig.controls.prompt = 1;
  assert_same(&rig, seventh, generate_default(&rig));

  assert_int_equal(engine_set_prompt(rig.engine, SLOT_EMPTY, "x", &rig.err), -1);
  assert_error(&rig.err, STATUS_USAGE, "slot");
  rig.controls.prompt = SLOTS;
  assert_int_equal(rig_submit(&rig, &rig.golden.frame), -1);
  assert_error(&rig.err, STATUS_USAGE, "slot");
  rig_close(&rig);
}

static void test_slots(void **state) {
  (void)state;
  check_slots("turbo");
  check_slots("sdxl"); /* here prompts are also part of the time projections */
}

static void check_blending(const char *golden) {
  struct rig rig;
  rig_open(&rig, args, golden, false);
  uint8_t *first = generate_default(&rig);
  rig.controls.prompt = 2;
  uint8_t *second = generate_default(&rig);
  float *blend = rig.controls.blend;
  rig.controls.prompt = 7;
  blend[0] = 0.3f, blend[1] = (float)NAN, blend[2] = -1; /* only one weight is valid, so its value does not matter */
  assert_same(&rig, first, generate_default(&rig));
  blend[0] = 0, blend[1] = 1e30f, blend[2] = 0;
  assert_same(&rig, second, generate_default(&rig));

  blend[0] = blend[1] = 1;
  uint8_t *middle = generate_default(&rig);
  blend[0] = blend[1] = 0.125f; /* only the ratio of the weights matters */
  uint8_t *weak = generate_default(&rig);
  assert_memory_equal(weak, middle, picture_bytes(&rig));
  free(weak);
  blend[1] = 0.25f;
  assert_differ(&rig, middle, generate_default(&rig));
  rig_close(&rig);
}

/* Checks that the same prompts and weights in other slots give the same sum, though it is added in another order. */
static void check_order(const char *golden) {
  static const char *const texts[4] = {"an oil painting", "a cat at night", "oil", ""};
  static const float weights[4] = {1, 0.5f, 0.25f, 0.75f};
  static const int orders[2][4] = {{0, 1, 2, 3}, {8, 5, 6, 2}};
  struct rig rig;
  uint8_t *pictures[2];
  rig_open(&rig, args, golden, false);
  for (int order = 0; order < 2; order++) {
    memset(rig.controls.blend, 0, sizeof rig.controls.blend);
    for (int i = 0; i < 4; i++) {
      rig.controls.blend[orders[order][i]] = weights[i];
      must(engine_set_prompt(rig.engine, SLOT_PRESET_1 + orders[order][i], texts[i], &rig.err), &rig.err);
    }
    pictures[order] = generate_default(&rig);
  }
  struct frame a = rig.golden.frame, b = rig.golden.frame;
  a.plane[0] = pictures[0];
  b.plane[0] = pictures[1];
  assert_true(frame_psnr(&a, &b) > 55);
  free(pictures[0]);
  free(pictures[1]);
  rig_close(&rig);
}

static void test_blending(void **state) {
  (void)state;
  check_blending("turbo");
  check_blending("sdxl"); /* here prompts are also part of the time projections */
  check_order("turbo");
  check_order("sdxl");
}

/* --- controls --- */

static void test_seed(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "turbo", false);
  uint8_t *first = generate_default(&rig);
  rig.controls.seed = 2;
  uint8_t *second = generate_default(&rig);
  assert_memory_not_equal(first, second, picture_bytes(&rig));
  free(second);
  rig.controls.seed = 1;
  assert_same(&rig, first, generate_default(&rig));
  rig_close(&rig);
}

/* Returns the largest difference between two samples of two pictures. */
static int furthest(const struct rig *rig, const uint8_t *a, const uint8_t *b) {
  int most = 0;
  for (size_t i = 0; i < picture_bytes(rig); i++)
    most = abs(a[i] - b[i]) > most ? abs(a[i] - b[i]) : most;
  return most;
}

/* Checks the straight way from any seed to any other (seed_to, seed_share): its ends equal the seeds in all bits, and
 * between consecutive seeds it equals seed_position. seeds: pictures of the seeds 7 to 10. */
static void check_straight_way(struct rig *rig, const char *golden, uint8_t *const seeds[4]) {
  struct controls *controls = &rig->controls;
  controls->seed = 8, controls->seed_position = 1.25;
  uint8_t *walked = generate_default(rig);
  controls->seed_position = 1, controls->seed_to = 10, controls->seed_share = 0.25;
  assert_same(rig, walked, generate_default(rig));
  controls->seed_position = 0, controls->seed_share = 0.25; /* from 8 to 10, both of which are even */
  uint8_t *there = generate_default(rig);
  for (int i = 0; i < 4; i++)
    if (!memcmp(there, seeds[i], picture_bytes(rig)))
      fail_msg("%s: a quarter of the way is seed %d", golden, 7 + i);
  controls->seed_share = 1;
  uint8_t *end = generate_default(rig);
  assert_memory_equal(end, seeds[3], picture_bytes(rig));
  controls->seed = 10, controls->seed_to = 8, controls->seed_share = 0.75;
  uint8_t *back = generate_default(rig);
  if (furthest(rig, there, back) > 2)
    fail_msg("%s: the way back is another one, by %d", golden, furthest(rig, there, back));
  controls->seed = 8, controls->seed_share = 0;
  uint8_t *first = generate_default(rig);
  assert_memory_equal(first, seeds[1], picture_bytes(rig));
  free(there), free(end), free(back), free(first);
}

/* Checks that a whole seed_position gives the same picture as the seed itself, from whichever seed it is reached, and
 * that a position between two seeds gives the picture of neither. */
static void check_seed_walk(const char *golden, int steps) {
  struct rig rig;
  uint8_t *seeds[4];
  rig_open(&rig, args, golden, false);
  must(rig_reshape(&rig, 0, 0, steps), &rig.err);
  for (int i = 0; i < 4; i++) {
    rig.controls.seed = 7 + (uint64_t)i;
    seeds[i] = generate_default(&rig);
  }
  rig.controls.seed = 8;
  static const double positions[] = {0.25, 1, 0.5, 0, -1, -0.75, 1.5, 2, 1.5};
  for (size_t i = 0; i < sizeof positions / sizeof *positions; i++) {
    double whole = floor(positions[i]);
    rig.controls.seed_position = positions[i];
    uint8_t *picture = generate_default(&rig);
    bool is_seed = !memcmp(picture, seeds[1 + (int)whole], picture_bytes(&rig));
    if (is_seed != (positions[i] == whole))
      fail_msg("%s: at %g", golden, positions[i]);
    free(picture);
  }
  rig.controls.seed = 6, rig.controls.seed_position = 3.5; /* the same noise, counted from another seed */
  uint8_t *same = generate_default(&rig);
  rig.controls.seed = 8, rig.controls.seed_position = 1.5;
  assert_same(&rig, same, generate_default(&rig));
  check_straight_way(&rig, golden, seeds);
  for (int i = 0; i < 4; i++)
    free(seeds[i]);
  rig_close(&rig);
}

static void test_seed_walk(void **state) {
  (void)state;
  check_seed_walk("turbo", 1);
  check_seed_walk("ssd", 3); /* this sampler also adds noise in each step */
  check_seed_walk("lcm", 2);
}

/* Invalid seeds and positions do no harm. */
static void test_far_positions(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "turbo", false);
  static const double positions[] = {1e9 + 0.5, -1e9 - 0.5, 1e300, -1e300, (double)INFINITY, (double)NAN};
  rig.controls.seed = UINT64_MAX;
  for (size_t i = 0; i < sizeof positions / sizeof *positions; i++) {
    rig.controls.seed_position = positions[i];
    free(generate_default(&rig));
  }
  rig.controls.seed_position = 0.5; /* from the largest seed on to seed 0 */
  uint8_t *over = generate_default(&rig);
  rig.controls.seed = 0, rig.controls.seed_position = -0.5;
  assert_same(&rig, over, generate_default(&rig));
  rig_close(&rig);
}

/* Noise between two seeds is normally distributed, as the noise of seeds is. */
static void test_noise_between_is_normal(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "turbo", false);
  must(rig_reshape(&rig, 256, 256, 1), &rig.err);
  struct tensor noise = rig.prepared->noise.start;
  size_t count = tensor_elements(noise);
  float *values = malloc(count * sizeof *values);
  assert_non_null(values);
  for (int part = 0; part <= 8; part++) {
    rig.controls.seed_position = part / 8.0;
    struct frame picture;
    must(rig_submit(&rig, &rig.golden.frame), &rig.err);
    must(rig_collect(&rig, &picture), &rig.err);
    frame_release(&picture);
    must(device_read(rig.engine->device, rig.prepared->program, noise, 0, values, count, &rig.err), &rig.err);
    double sum[5] = {0};
    for (size_t i = 0; i < count; i++)
      for (int power = 1; power < 5; power++)
        sum[power] += pow((double)values[i], power) / (double)count;
    double chance = 4 / sqrt((double)count); /* four standard deviations */
    assert_float_equal(sum[1], 0, chance);
    assert_float_equal(sum[2], 1, chance * sqrt(2));
    assert_float_equal(sum[3], 0, chance * sqrt(15));
    assert_float_equal(sum[4], 3, chance * sqrt(96));
  }
  free(values);
  rig_close(&rig);
}

/* While the position moves towards a seed, the noise of that seed is made ahead, in two parts at this size, in either
 * direction. While it stands still, or is near the last seed, no noise is made. */
static void test_noise_is_made_ahead(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "ssd", false); /* this sampler also adds noise in each step */
  must(rig_reshape(&rig, 288, 256, 2), &rig.err);
  const struct made_noise *made = &rig.prepared->made;
  size_t all = 2 * tensor_elements(rig.prepared->noise.start);
  rig.controls.seed = 7;
  static const struct {
    double from, step, to;
    uint64_t made; /* the seed whose noise was made last */
  } walks[] = {{0.25, 0.1, 0.45, 8}, {0.5, 0.15, 0.95, 9}, {1.5, -0.15, 1.05, 7}, {0.6, 0, 0.6, 7}, {0.9, 7, 7.9, 15}};
  for (size_t i = 0; i < sizeof walks / sizeof *walks; i++) {
    int frames = walks[i].step == 0 ? 2 : (int)lrint((walks[i].to - walks[i].from) / walks[i].step);
    for (int frame = 0; frame <= frames; frame++) {
      rig.controls.seed_position = walks[i].from + frame * walks[i].step;
      free(generate_default(&rig));
    }
    assert_int_equal(made->seed, walks[i].made);
    assert_int_equal(made->elements, all);
  }
  rig_close(&rig);
}

static void test_strength(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "turbo", false);
  rig.controls.strength = 0;
  uint8_t *picture = generate_default(&rig);
  assert_memory_equal(picture, rig.golden.input, picture_bytes(&rig));
  free(picture);
  rig.controls.strength = 0.3f;
  uint8_t *weak = generate_default(&rig);
  assert_memory_not_equal(weak, rig.golden.input, picture_bytes(&rig));
  rig.controls.strength = 0.6f;
  assert_differ(&rig, weak, generate_default(&rig));
  rig.controls.detail = 1; /* detail is taken from the input, and may change between frames */
  uint8_t *detailed = generate_default(&rig);
  rig.controls.detail = 0;
  uint8_t *plain = generate_default(&rig);
  assert_memory_not_equal(detailed, plain, picture_bytes(&rig));
  free(detailed);
  free(plain);
  rig.controls.mix = 0;
  picture = generate_default(&rig);
  assert_memory_equal(picture, rig.golden.input, picture_bytes(&rig));
  free(picture);
  rig_close(&rig);
}

/* Time projections are computed only when their inputs change (on a GPU by one launch), not for each frame. */
static void test_time_projections(void **state) {
  (void)state;
  static const char *const names[] = {"turbo", "lcm"};
  for (int i = 0; i < 2; i++) {
    struct rig rig;
    rig_open(&rig, args, names[i], false);
    rig.controls.strength = 0.5f;
    uint8_t *first = generate_default(&rig);
    long steady = frame_launches(&rig);
    rig.controls.seed = 5, rig.controls.mix = 0.5f;
    assert_int_equal(frame_launches(&rig), steady);
    rig.controls.strength = 0.8f;
    long changed = frame_launches(&rig);
    assert_true(changed > steady);
    assert_int_equal(frame_launches(&rig), steady);
    rig.controls.guidance = 3;
    assert_int_equal(frame_launches(&rig), i ? changed : steady);
    assert_int_equal(frame_launches(&rig), steady);
    if (info_of(&rig).depth > 1) {
      assert_int_equal(steady, 1);
      assert_int_equal(changed, 2);
    }
    rig.controls.strength = 0.5f, rig.controls.seed = 1, rig.controls.mix = 1, rig.controls.guidance = 1;
    assert_same(&rig, first, generate_default(&rig));
    rig_close(&rig);
  }
}

/* Pooled text makes prompts part of the time projections, separately for each guidance row. */
static void test_pooled_text(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "sdxl", true);
  /* the size: texts of both encoders, pooled texts, and keys and values of 48 and 256 channels, with two or four bytes
   * each */
  size_t elements = TEXTS * 16 * (16 + 24) + TEXTS * 16 + KEY_SLOTS * 16 * (48 + 256),
         bytes = info_of(&rig).prompt_bytes;
  assert_true(bytes == 2 * elements || bytes == 4 * elements);
  rig.controls.guidance = 4;
  rig.controls.prompt = 2;
  free(generate_default(&rig));
  rig.controls.prompt = 1;
  uint8_t *first = generate_default(&rig);
  long steady = frame_launches(&rig);
  rig.controls.blend[0] = 0.75f, rig.controls.blend[1] = 0.25f;
  assert_true(frame_launches(&rig) > steady);
  assert_int_equal(frame_launches(&rig), steady);
  rig.controls.guidance = 5;
  assert_int_equal(frame_launches(&rig), steady);
  rig.controls.guidance = 4, rig.controls.blend[0] = rig.controls.blend[1] = 0;
  must(engine_set_prompt(rig.engine, SLOT_NEGATIVE, "a cat at night", &rig.err), &rig.err);
  uint8_t *other = generate_default(&rig);
  assert_differ(&rig, first, generate_default(&rig));
  /* zeros, as for a slot that was never set */
  must(engine_set_prompt(rig.engine, SLOT_NEGATIVE, "", &rig.err), &rig.err);
  first = generate_default(&rig);
  assert_differ(&rig, other, generate_default(&rig));
  rig.controls.prompt = 2;
  free(generate_default(&rig));
  rig.controls.prompt = 1;
  assert_same(&rig, first, generate_default(&rig));
  rig_close(&rig);
}

/* --- sizes --- */

/* Checks that an engine that was opened at the picture's size makes the same picture. */
static void assert_fresh_agrees(const struct rig *rig, struct frame *picture) {
  struct rig fresh = {.controls = rig->controls};
  struct engine_params params = default_params(&rig->golden, args[2]);
  const struct engine_shape shape = shape_of(rig).shape;
  must(rig_engine(&fresh, &params, &shape), &fresh.err);
  must(engine_set_prompt(fresh.engine, 1, "an oil painting", &fresh.err), &fresh.err);
  uint8_t *ours = picture_copy(picture), *other = generate(&fresh, &rig->golden.frame);
  assert_memory_equal(ours, other, 4 * (size_t)picture->width * (size_t)picture->height);
  free(ours);
  free(other);
  engine_close(&fresh.engine);
}

static void test_shapes(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "turbo", false);
  int width = rig.golden.frame.width, height = rig.golden.frame.height;
  uint8_t *first = generate_default(&rig);
  static const int shapes[][3] = {{16, 16, 1}, {96, 32, 3}, {0, 0, 2}};
  for (int i = 0; i < 3; i++) {
    must(rig_reshape(&rig, shapes[i][0], shapes[i][1], shapes[i][2]), &rig.err);
    struct engine_shape shape = shape_of(&rig).shape;
    assert_int_equal(shape.width, shapes[i][0] ? shapes[i][0] : shapes[i - 1][0]);
    assert_int_equal(shape.steps, shapes[i][2]);
    struct frame picture;
    must(rig_submit(&rig, &rig.golden.frame), &rig.err);
    must(rig_collect(&rig, &picture), &rig.err);
    assert_int_equal(picture.width, shape.width);
    assert_int_equal(picture.height, shape.height);
    assert_fresh_agrees(&rig, &picture);
  }
  must(rig_reshape(&rig, width, height, 1), &rig.err);
  assert_int_equal(rig_reshape(&rig, 51, 48, 1), -1);
  assert_error(&rig.err, STATUS_USAGE, "50 or 52");
  assert_int_equal(rig_reshape(&rig, 64, 14, 1), -1);
  assert_error(&rig.err, STATUS_USAGE, "at least 16");
  assert_int_equal(rig_reshape(&rig, 0, 0, 51), -1);
  assert_error(&rig.err, STATUS_USAGE, "51");
  assert_same(&rig, first, generate_default(&rig));
  rig_close(&rig);
}

enum { CUT_W = 50, CUT_H = 44, WHOLE_W = 64, WHOLE_H = 48 };

/* Returns a frame in which no two pixels of the first CUT_W x CUT_H are equal; beyond them the last ones are
 * repeated. */
static struct frame going_on(int width, int height, uint8_t pixels[4 * WHOLE_W * WHOLE_H]) {
  for (int i = 0; i < width * height; i++) {
    int x = i % width < CUT_W ? i % width : CUT_W - 1, y = i / width < CUT_H ? i / width : CUT_H - 1;
    memcpy(pixels + 4 * i, (uint8_t[]){(uint8_t)(5 * x), (uint8_t)(5 * y), (uint8_t)(x * y), 255}, 4);
  }
  return (struct frame){
      .format = PIXEL_RGBA, .width = width, .height = height, .plane = {pixels}, .pitch = {4 * width}};
}

/* A picture whose size networks cannot make equals the upper left part of a larger one that they can make. */
static void test_cut_off(void **state) {
  (void)state;
  struct rig rig;
  static uint8_t pixels[2][4 * WHOLE_W * WHOLE_H];
  const struct frame part = going_on(CUT_W, CUT_H, pixels[0]), all = going_on(WHOLE_W, WHOLE_H, pixels[1]);
  rig_open(&rig, args, "turbo", false);
  must(rig_reshape(&rig, CUT_W, CUT_H, 2), &rig.err);
  assert_true(shape_of(&rig).shape.width == CUT_W && shape_of(&rig).shape.height == CUT_H);
  uint8_t *cut = generate(&rig, &part);
  must(rig_reshape(&rig, WHOLE_W, WHOLE_H, 2), &rig.err);
  uint8_t *whole = generate(&rig, &all);
  for (int y = 0; y < CUT_H; y++)
    assert_memory_equal(cut + 4 * y * CUT_W, whole + 4 * y * WHOLE_W, 4 * CUT_W);
  free(cut);
  free(whole);
  rig_close(&rig);
}

static uint8_t *solid(int width, int height, uint8_t level) {
  uint8_t *pixels = malloc(4 * (size_t)width * (size_t)height);
  assert_non_null(pixels);
  memset(pixels, level, 4 * (size_t)width * (size_t)height);
  return pixels;
}

/* Checks with strength 0 how a frame five times as wide as high is fitted to a square, whatever the shape of its
 * pixels. */
static void expect_fit(const struct golden *golden, int width, int height) {
  uint8_t *pixels = solid(width, height, 200);
  for (int y = 0; y < height; y++) /* the left end is dark, and cropping removes it */
    memset(pixels + 4 * (size_t)y * (size_t)width, 20, 4 * (size_t)width * 3 / 20);
  struct frame wide = {.format = PIXEL_RGBA,
                       .width = width,
                       .height = height,
                       .plane = {pixels},
                       .pitch = {4 * width},
                       .sample_aspect = 5.0f * (float)height / (float)width};
  assert_float_equal(frame_aspect(&wide), 5, 1e-6);
  static const struct {
    enum fit fit;
    int top, left; /* values of red at the middle of the top and the left edge */
  } cases[] = {{FIT_CROP, 200, 200}, {FIT_LETTERBOX, 0, 20}, {FIT_STRETCH, 200, 20}};
  for (int i = 0; i < 3; i++) {
    struct rig rig = {.controls = CONTROLS_DEFAULTS};
    struct engine_params params = default_params(golden, args[2]);
    params.fit = cases[i].fit;
    must(rig_engine(&rig, &params, &(struct engine_shape){.width = 64, .height = 64}), &rig.err);
    rig.controls.strength = 0;
    uint8_t *picture = generate(&rig, &wide);
    assert_int_equal(picture[4 * 32], cases[i].top);
    assert_int_equal(picture[4 * 64 * 32], cases[i].left);
    assert_int_equal(picture[4 * (64 * 32 + 40)], 200);
    free(picture);
    engine_close(&rig.engine);
  }
  free(pixels);
}

static void test_fit(void **state) {
  (void)state;
  struct golden golden;
  assert_int_equal(golden_open(&golden, args[1], "turbo"), 0);
  expect_fit(&golden, 200, 40);
  expect_fit(&golden, 100, 40);
  expect_fit(&golden, 40, 40);
  expect_fit(&golden, 200, 20);
  golden_close(&golden);
}

/* Pictures stay unchanged until the caller releases them: while other frames are made, with another size, and after the
 * engine is closed. */
static void test_held_pictures(void **state) {
  (void)state;
  enum { HELD = 4 };
  struct rig rig;
  struct frame pictures[HELD], more[2];
  uint8_t *alone[HELD];
  rig_open(&rig, args, "turbo", false);
  struct engine_params params = default_params(&rig.golden, args[2]);
  const struct engine_shape shape = default_shape(&rig.golden);
  params.device.pictures = HELD;
  engine_release(rig.engine, &rig.prepared);
  engine_close(&rig.engine);
  must(rig_engine(&rig, &params, &shape), &rig.err);
  for (int i = 0; i < HELD; i++) {
    rig.controls.seed = (uint64_t)i;
    alone[i] = generate_default(&rig);
  }
  for (int i = 0; i < HELD; i++) { /* two frames are in flight except for the last one */
    rig.controls.seed = (uint64_t)i;
    must(rig_submit(&rig, &rig.golden.frame), &rig.err);
    if (i)
      must(rig_collect(&rig, &pictures[i - 1]), &rig.err);
  }
  must(rig_collect(&rig, &pictures[HELD - 1]), &rig.err);
  must(rig_submit(&rig, &rig.golden.frame), &rig.err);
  must(rig_submit(&rig, &rig.golden.frame), &rig.err);
  must(rig_collect(&rig, &more[0]), &rig.err);
  must(rig_collect(&rig, &more[1]), &rig.err);
  assert_int_equal(rig_submit(&rig, &rig.golden.frame), -1); /* the caller holds two pictures more than it announced */
  assert_int_equal(rig.err.status, STATUS_HELD);
  frame_release(&more[0]);
  frame_release(&more[1]);
  must(rig_reshape(&rig, 2 * rig.golden.frame.width, 0, 0), &rig.err);
  free(generate_default(&rig));
  rig_close(&rig);
  for (int i = 0; i < HELD; i++) {
    uint8_t *held = picture_copy(&pictures[i]);
    assert_memory_equal(held, alone[i], 4 * (size_t)shape.width * (size_t)shape.height);
    free(held);
    free(alone[i]);
  }
}

int main(int argc, char **argv) {
  args = argv;
  int status = golden_arguments(argc, argv, "turbo");
  if (status)
    return status;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_slots),
      cmocka_unit_test(test_blending),
      cmocka_unit_test(test_seed),
      cmocka_unit_test(test_seed_walk),
      cmocka_unit_test(test_far_positions),
      cmocka_unit_test(test_noise_between_is_normal),
      cmocka_unit_test(test_noise_is_made_ahead),
      cmocka_unit_test(test_strength),
      cmocka_unit_test(test_time_projections),
      cmocka_unit_test(test_pooled_text),
      cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_cut_off),
      cmocka_unit_test(test_fit),
      cmocka_unit_test(test_held_pictures),
  };
  char *tuning = fixture_make(); /* so that all engines choose the same kernels, and their pictures can be compared */
  setenv("TUNING_DIR", tuning, 1);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  fixture_remove(tuning);
  return failed;
}
