/* Tests Depth Anything V2 against what transformers computes from the same files in FP32, and the range of its map over
 * time.
 *
 *   test_depth GOLDENS            on the CPU
 *   test_depth GOLDENS cuda       on the CUDA device; skipped where there is no GPU */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/cmocka_all.h"
#include "tests/rigs/rig.h"
#include "tests/rigs/scratch.h"
#include "unet/model/depth.h"
#include "unet/plan/device.h"
#include "tests/rigs/depth_bench.h"

/* Returns the result of op number i of this type. */
static struct tensor result_of(struct bench *b, enum op_type type, int i) {
  for (int op = 0; op < b->plan.op_count; op++)
    if (b->plan.ops[op].type == type && i-- == 0)
      return *op_y(&b->plan.ops[op]);
  fail_msg("there is no such op");
  return (struct tensor){0};
}

static void test_wide(void **state) {
  (void)state;
  check_picture(NULL, "wide");
}

static void test_tall(void **state) {
  (void)state;
  check_picture(NULL, "tall");
}

static void test_square(void **state) {
  (void)state;
  check_picture(NULL, "square");
}

/* Compares the network's input and the backbone's outputs. They are copied in the plan, because later ops may reuse
 * their memory. */
static void test_inner(void **state) {
  (void)state;
  struct bench bench, *b = &bench;
  struct values picture;
  bench_open(b, NULL);
  struct tensor x = picture_input(b, "wide", &picture);
  depth_predict(b->depth, &b->plan, x, 0.5f, 0.5f);
  struct tensor patches = result_of(b, OP_PATCHES, 0), kept[DEPTH_FEATURES];
  struct tensor patches_kept = plan_norm(&b->plan, "kept", (struct op_norm){.x = patches});
  for (int i = 0, found = 0; i < b->plan.op_count && found < DEPTH_FEATURES; i++) {
    const struct op_linear *projection = &b->plan.ops[i].linear;
    char name[64];
    snprintf(name, sizeof name, "depth.neck.reassemble_stage.layers.%d.projection", found);
    if (b->plan.ops[i].type == OP_LINEAR && !strcmp(b->plan.ops[i].name, name)) {
      struct op_norm norm = {.x = projection->x, .prologue = projection->prologue};
      kept[found++] = plan_norm(&b->plan, "kept", norm);
    }
  }
  prepare(b);
  run_picture(b, x, &picture);
  compare(b, "wide.patches", patches_kept, (size_t)patches.c, 1);
  for (int i = 0; i < DEPTH_FEATURES; i++) {
    char name[32];
    snprintf(name, sizeof name, "wide.feature.%d", i);
    compare(b, name, kept[i], 0, 1);
  }
  bench_close(b);
}

/* The grid of patches: the shorter side has the model's size, the longer one at most four times as much. */
static void test_grid(void **state) {
  (void)state;
  static const struct {
    int width, height, columns, rows;
  } cases[] = {{512, 512, 37, 37},  {1024, 576, 66, 37}, {576, 1024, 37, 66}, {640, 480, 49, 37},
               {64, 4096, 37, 148}, {4096, 1, 148, 37},  {513, 512, 37, 37},  {1, 1, 37, 37}};
  struct depth depth = {.files.config = {.patch = 14, .shorter_side = 518}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct depth_grid grid = depth_grid(&depth, cases[i].width, cases[i].height);
    assert_int_equal(grid.columns, cases[i].columns);
    assert_int_equal(grid.rows, cases[i].rows);
  }
}

/* --- the range of depths over time --- */

enum { SIDE = 28, SQUARE = 14 };

/* A plan that computes a map from given depths. */
struct follower {
  struct bench bench;
  struct tensor x, range, map;
  struct run_params run;
};

static void follower_open(struct follower *f, float speed) {
  struct bench *b = &f->bench;
  f->run = (struct run_params){.control[0].param[0] = speed};
  bench_open(b, NULL);
  f->x = plan_input(&b->plan, 1, SIDE, SIDE, 1, ELEMENT_DEVICE);
  f->range = plan_state(&b->plan, "range", 1, 1, 1, 3, ELEMENT_PRECISE);
  plan_range(&b->plan, "range", (struct op_range){.x = f->x, .range = f->range, .size = SQUARE, .control = 0});
  f->map = plan_spread(&b->plan, "map", (struct op_spread){.x = f->x, .range = f->range, .y = {.h = SIDE, .w = SIDE}});
  must(plan_finish(&b->plan, &b->err), &b->err);
  must(device_prepare(b->device, &b->program, &b->plan, &(struct program_options){PIXEL_RGBA}, &b->err), &b->err);
}

/* Runs the plan with four squares of these depths. shown gets the map's values in their centres. */
static void follow(struct follower *f, const float depth[4], float shown[4]) {
  struct bench *b = &f->bench;
  float x[SIDE * SIDE], map[SIDE * SIDE * 3];
  for (int i = 0; i < SIDE * SIDE; i++)
    x[i] = depth[i / SIDE / SQUARE * 2 + i % SIDE / SQUARE];
  must(device_write(b->device, b->program, f->x, 0, x, SIDE * SIDE, &b->err), &b->err);
  must(device_run(b->device, b->program, &f->run, &b->err), &b->err);
  must(device_read(b->device, b->program, f->map, 0, map, SIDE * SIDE * 3, &b->err), &b->err);
  for (int i = 0; i < 4; i++)
    shown[i] = map[((i / 2 * SQUARE + SQUARE / 2) * SIDE + i % 2 * SQUARE + SQUARE / 2) * 3];
}

static float noise(unsigned long long *state) {
  return (float)(fixture_random(state) % 2001) / 1000 - 1;
}

/* The nearest and farthest things flicker by a tenth of the scene's depth; a thing between them does not move, and its
 * grey value must not change either. */
static void test_no_flicker(void **state) {
  enum { FRAMES = 400, SETTLED = 100 };
  (void)state;
  struct follower f;
  unsigned long long random = 7;
  double ours[3] = {0}, own[3] = {0};
  follower_open(&f, 0.05f);
  for (int i = 0; i < FRAMES; i++) {
    float depth[4] = {1 + 0.5f * noise(&random), 6 + 0.5f * noise(&random), 3, 2}, shown[4];
    follow(&f, depth, shown);
    double frame = (3.0 - (double)depth[0]) / ((double)depth[1] - (double)depth[0]);
    double values[2] = {(double)shown[2], frame};
    for (int k = 0; i >= SETTLED && k < 2; k++) {
      double *sums = k ? own : ours;
      sums[0]++, sums[1] += values[k], sums[2] += values[k] * values[k];
    }
  }
  double variance = ours[2] / ours[0] - pow(ours[1] / ours[0], 2), frames = own[2] / own[0] - pow(own[1] / own[0], 2);
  print_message("  variance of a shade that should stay: %.3g; by each frame's own range: %.3g (%.0f times)\n",
                variance, frames, frames / variance);
  assert_true(variance < frames / 20);
  assert_true(fabs(ours[1] / ours[0] - 0.4) < 0.02);
  bench_close(&f.bench);
}

/* The first frame, and the first one after a cut, have their own range at once. */
static void test_cut(void **state) {
  (void)state;
  struct follower f;
  float shown[4];
  follower_open(&f, 0.05f);
  follow(&f, (const float[]){1, 5, 3, 2}, shown);
  assert_true(fabsf(shown[0]) < 2e-3f && fabsf(shown[1] - 1) < 2e-3f && fabsf(shown[2] - 0.5f) < 2e-3f);
  follow(&f, (const float[]){10, 50, 30, 20}, shown);
  assert_true(fabsf(shown[0]) < 2e-3f && fabsf(shown[1] - 1) < 2e-3f && fabsf(shown[2] - 0.5f) < 2e-3f);
  follow(&f, (const float[]){1, 2, 1.5f, 1}, shown);
  assert_true(fabsf(shown[0]) < 2e-3f && fabsf(shown[1] - 1) < 2e-3f && fabsf(shown[2] - 0.5f) < 2e-3f);
  bench_close(&f.bench);
}

/* If depths drift, the range follows: in the end the map spans 0 to 1 again. */
static void test_drift(void **state) {
  (void)state;
  struct follower f;
  float shown[4];
  follower_open(&f, 0.05f);
  follow(&f, (const float[]){0, 10, 5, 5}, shown);
  follow(&f, (const float[]){0, 8, 4, 4}, shown);
  assert_true(shown[1] > 0.75f && shown[1] < 0.85f);
  for (int i = 0; i < 150; i++)
    follow(&f, (const float[]){0, 8, 4, 4}, shown);
  assert_true(fabsf(shown[1] - 1) < 0.01f && fabsf(shown[2] - 0.5f) < 0.01f);
  bench_close(&f.bench);
}

/* A frame of NaN has no effect on later frames; a flat one gives black. */
static void test_no_numbers(void **state) {
  (void)state;
  struct follower f;
  float shown[4];
  follower_open(&f, 0.05f);
  follow(&f, (const float[]){NAN, 1, 2, 3}, shown);
  follow(&f, (const float[]){3, 3, 3, 3}, shown);
  for (int i = 0; i < 4; i++)
    assert_true(shown[i] == 0);
  follow(&f, (const float[]){1, 5, 3, 2}, shown);
  follow(&f, (const float[]){1, INFINITY, 3, 2}, shown);
  follow(&f, (const float[]){NAN, -NAN, NAN, NAN}, shown);
  for (int i = 0; i < 4; i++)
    assert_true(shown[i] == 0);
  follow(&f, (const float[]){1, 5, 3, 2}, shown);
  assert_true(fabsf(shown[0]) < 2e-3f && fabsf(shown[1] - 1) < 2e-3f && fabsf(shown[2] - 0.5f) < 2e-3f);
  bench_close(&f.bench);
}

/* --- in an engine --- */

enum { WIDTH = 48, HEIGHT = 64 };

/* Opens the model "turbo" to make pictures from text and a map of the frame that a ControlNet reads. */
static void open_engine(struct rig *rig, enum map_kind map) {
  *rig = (struct rig){.controls = CONTROLS_DEFAULTS};
  if (golden_open(&rig->golden, goldens, "turbo") < 0)
    fail_msg("%s", rig->golden.missing);
  char *network = fixture_path(goldens, "controls/first"), *depth = fixture_path(goldens, "depth");
  struct engine_params params = default_params(&rig->golden, device_name);
  const struct engine_control control = {.map = map, .model = network, .depth = depth};
  params.controls = &control;
  params.control_count = 1;
  const struct engine_shape shape = {
      .width = WIDTH, .height = HEIGHT, .steps = 1, .text_to_image = true, .controls = 1};
  if (rig_engine(rig, &params, &shape) < 0 || engine_set_prompt(rig->engine, 1, "an oil painting", &rig->err) < 0)
    fail_msg("%s", rig->err.message);
  map_standard(map, rig->controls.control[0].param);
  free(network);
  free(depth);
}

/* Makes a frame of soft shapes, which depend on the seed. */
static struct frame make_frame(uint8_t pixels[4 * WIDTH * HEIGHT], int seed) {
  for (int y = 0; y < HEIGHT; y++)
    for (int x = 0; x < WIDTH; x++)
      for (int k = 0; k < 4; k++)
        pixels[4 * (y * WIDTH + x) + k] =
            (uint8_t)(127.5 + 120 * sin(0.09 * x * (1 + seed) + 0.3 * k) * cos(0.07 * y + 0.5 * seed + k));
  return (struct frame){.format = PIXEL_RGBA,
                        .width = WIDTH,
                        .height = HEIGHT,
                        .matrix = MATRIX_BT709,
                        .range = RANGE_FULL,
                        .plane = {pixels},
                        .pitch = {4 * WIDTH}};
}

/* Returns the frame's map as a frame. */
static struct frame map_frame(const struct frame *frame, uint8_t pixels[4 * WIDTH * HEIGHT]) {
  struct bench bench, *b = &bench;
  float values[3 * WIDTH * HEIGHT];
  struct frame map = make_frame(pixels, 0);
  bench_open(b, NULL);
  struct tensor x = plan_input(&b->plan, 1, HEIGHT, WIDTH, 3, ELEMENT_DEVICE);
  struct tensor y = depth_map(b->depth, &b->plan, x, 1, 0, 0, (struct tensor){0});
  prepare(b);
  for (int i = 0; i < 3 * WIDTH * HEIGHT; i++)
    values[i] = (float)frame->plane[0][4 * (i / 3) + i % 3] / 255;
  must(device_write(b->device, b->program, x, 0, values, 3 * WIDTH * HEIGHT, &b->err), &b->err);
  must(device_run(b->device, b->program, &(struct run_params){0}, &b->err), &b->err);
  must(device_read(b->device, b->program, y, 0, values, 3 * WIDTH * HEIGHT, &b->err), &b->err);
  for (int i = 0; i < 3 * WIDTH * HEIGHT; i++)
    pixels[4 * (i / 3) + i % 3] = (uint8_t)(values[i] * 255 + 0.5f);
  bench_close(b);
  return map;
}

static double psnr(const uint8_t *a, const uint8_t *b) {
  double sum = 0;
  for (int i = 0; i < 4 * WIDTH * HEIGHT; i++)
    sum += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
  return sum > 0 ? 10 * log10(255 * 255 * 4.0 * WIDTH * HEIGHT / sum) : 99;
}

/* A picture made with the map that the engine computes equals one made with the same map given as the frame. */
static void test_control(void **state) {
  (void)state;
  static uint8_t pixels[4 * WIDTH * HEIGHT], shades[4 * WIDTH * HEIGHT];
  struct rig rig;
  struct frame frame = make_frame(pixels, 1), map = map_frame(&frame, shades);
  open_engine(&rig, MAP_DEPTH);
  uint8_t *made = generate(&rig, &frame);
  rig.controls.control[0].weight = 0;
  uint8_t *without = generate(&rig, &frame);
  rig_close(&rig);
  open_engine(&rig, MAP_PICTURE);
  uint8_t *given = generate(&rig, &map);
  rig_close(&rig);
  double same = psnr(made, given), other = psnr(made, without);
  print_message("  %.1f dB from the picture of the given map, %.1f from that without a control\n", same, other);
  assert_true(same > 40 && other < same - 6);
  free(made);
  free(without);
  free(given);
}

/* With a map in every second run, the run between uses the former map. If a run needed no map, the next one computes it
 * at once. */
static void test_every(void **state) {
  (void)state;
  enum { RUNS = 7 };
  static const int seeds[RUNS] = {1, 2, 2, 3, 3, 4, 4};
  static const float weights[RUNS] = {1, 1, 1, 1, 1, 0, 1};
  static uint8_t pixels[4 * WIDTH * HEIGHT];
  uint8_t *pictures[RUNS];
  struct rig rig;
  open_engine(&rig, MAP_DEPTH);
  rig.controls.control[0].param[0] = 1; /* each map has its own range */
  for (int i = 0; i < RUNS; i++) {
    struct frame frame = make_frame(pixels, seeds[i]);
    rig.controls.control[0].param[1] = i < 5 ? 2 : 60;
    rig.controls.control[0].weight = weights[i];
    pictures[i] = generate(&rig, &frame);
  }
  const size_t bytes = sizeof pixels;
  assert_memory_equal(pictures[1], pictures[0], bytes);
  assert_memory_not_equal(pictures[2], pictures[0], bytes);
  assert_memory_equal(pictures[3], pictures[2], bytes);
  assert_memory_not_equal(pictures[4], pictures[2], bytes);
  assert_memory_not_equal(pictures[6], pictures[4], bytes);
  assert_memory_not_equal(pictures[6], pictures[5], bytes);
  for (int i = 0; i < RUNS; i++)
    free(pictures[i]);
  rig_close(&rig);
}

static void test_no_network(void **state) {
  (void)state;
  struct golden golden;
  struct engine *engine = NULL;
  struct error err = {0};
  assert_int_equal(golden_open(&golden, goldens, "turbo"), 0);
  struct engine_params params = default_params(&golden, device_name);
  params.controls = &(struct engine_control){.map = MAP_DEPTH};
  params.control_count = 1;
  assert_int_equal(engine_open(&engine, &params, &err), -1);
  assert_error(&err, STATUS_USAGE, "control 1: ");
  params.controls = &(struct engine_control){.map = MAP_DEPTH, .depth = golden.folder};
  assert_int_equal(engine_open(&engine, &params, &err), -1);
  assert_error(&err, STATUS_MODEL, "config.json");
  golden_close(&golden);
}

int main(int argc, char **argv) {
  enum { SKIPPED = 77 };
  if (argc < 2) {
    fprintf(stderr, "usage: test_depth GOLDENS [DEVICE]\n");
    return 2;
  }
  goldens = argv[1];
  if (argc > 2)
    device_name = argv[2];
  if (!has_this_device())
    return SKIPPED;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wide),    cmocka_unit_test(test_tall),  cmocka_unit_test(test_square),
      cmocka_unit_test(test_inner),   cmocka_unit_test(test_grid),  cmocka_unit_test(test_no_flicker),
      cmocka_unit_test(test_cut),     cmocka_unit_test(test_drift), cmocka_unit_test(test_no_numbers),
      cmocka_unit_test(test_control), cmocka_unit_test(test_every), cmocka_unit_test(test_no_network),
  };
  return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
