/* Tests the definition of the ops of motion, on values worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/rigs/definition_bench.h"
#include "unet/plan/motion_math.h"

/* One white pixel in a black picture of 8x8. Levels 1 and 2 are
 *     0   0   0  0        144  48
 *     0 574 191  0         48  16
 *     0 191  64  0
 *     0   0   0  0
 * and levels 3 to 5 are 64. Details of level 1 are even numbers, because the lowest bit says what is overexposed. */
static void a_white_pixel_is_blurred(void **state) {
  (void)state;
  struct bench b = begin();
  float x[8 * 8 * 3] = {0};
  const float expected[22] = {-64, -64, -64, -64, -64, 510, 126, -64, -64, 126, 0,
                              -64, -64, -64, -64, -64, 80,  -16, -16, -48, 0,   1};
  for (int c = 0; c < 3; c++)
    x[3 * (8 * 3 + 3) + c] = 1;
  struct op_pyramid op = {.x = input(&b, 8, 8, 3, x), .scale = 1};
  struct tensor y = plan_pyramid(&b.plan, "pyramid", op);
  assert_int_equal(tensor_elements(y), 22);
  expect(&b, y, expected, 0);
}

/* A white picture has no details, and is overexposed everywhere. */
static void white_is_overexposed(void **state) {
  (void)state;
  struct bench b = begin();
  float x[8 * 8 * 3], expected[22] = {[21] = 1};
  for (int i = 0; i < 8 * 8 * 3; i++)
    x[i] = 2;
  for (int i = 0; i < 16; i++)
    expected[i] = 1;
  struct op_pyramid op = {.x = input(&b, 8, 8, 3, x), .scale = 0.5f, .bias = 0.5f};
  expect(&b, plan_pyramid(&b.plan, "pyramid", op), expected, 0);
}

/* The details of level 1 rise by 800 from column to column, and are lower by 400 in the last frame. All vectors to
 * whole pixels differ as much, so the block stays. The slopes are 100, 200, 200 and 100, the outer ones of which count
 * three times: 8 (6 x 100^2 + 2 x 200^2) = 1120000, and with the change of 100 8 (6 x 100 + 2 x 200) 100 = 800000. The
 * fraction is 800000 x 512 / 1120256, and the weight 1120256 x 256 / (1120256 + 256). */
static void a_slope_gives_the_fraction(void **state) {
  (void)state;
  struct bench b = begin();
  float now[22] = {[21] = 1}, last[22] = {[21] = 1};
  for (int i = 0; i < 16; i++)
    now[i] = (float)(800 * (i % 4)), last[i] = now[i] - 400;
  b.plan.resources = &b.resources;
  struct op_match op = {.now = give(&b, plan_input(&b.plan, 1, 1, 1, 22, ELEMENT_WHOLE), now),
                        .last = give(&b, plan_state(&b.plan, "last", 1, 1, 1, 22, ELEMENT_WHOLE), last),
                        .w = 8,
                        .h = 8};
  expect(&b, plan_match(&b.plan, "match", op), (const float[]){0, 366, 255, 0, -366, 255}, 0);
}

enum { SIDE = 64, BLOCKS = 64 };

static float matches[2 * BLOCKS * MATCH_VALUES];

static struct tensor fit_of(struct bench *b) {
  b->plan.resources = &b->resources;
  struct tensor match = plan_input(&b->plan, 2, 8, 8, MATCH_VALUES, ELEMENT_WHOLE);
  return plan_fit(&b->plan, "fit", (struct op_fit){.match = give(b, match, matches), .w = SIDE, .h = SIDE});
}

/* All matches that count say (2, -1) pixels; the ignored ones say something else. */
static void a_shift_is_fitted(void **state) {
  (void)state;
  struct bench b = begin();
  for (int i = 0; i < BLOCKS; i++) {
    bool counts = i % 3;
    matches[3 * i] = counts ? 512 : -5000;
    matches[3 * i + 1] = counts ? -256 : 3000;
    matches[3 * i + 2] = counts ? MOTION_WEIGHT : MOTION_WEIGHT - 1;
  }
  expect(&b, fit_of(&b), (const float[FIT_VALUES]){0, 0, 512, -256}, 0);
}

/* Each vector is as long in 1/256 pixel as its position is from the centre in half pixels, so the picture grows by
 * 1/128. */
static void a_zoom_is_fitted(void **state) {
  (void)state;
  struct bench b = begin();
  for (int i = 0; i < BLOCKS; i++) {
    matches[3 * i] = (float)(16 * (i / 8) - 56);
    matches[3 * i + 1] = (float)(16 * (i % 8) - 56);
    matches[3 * i + 2] = 2 * MOTION_WEIGHT;
  }
  expect(&b, fit_of(&b), (const float[FIT_VALUES]){MOTION_ONE / 128, 0, 0, 0}, 0);
}

/* Short vectors in all directions give no motion of the whole picture. */
static void jitter_is_no_motion(void **state) {
  (void)state;
  struct bench b = begin();
  for (int i = 0; i < BLOCKS; i++) {
    matches[3 * i] = (float)(i % 5 * 50 - 100);
    matches[3 * i + 1] = (float)(i % 7 * 30 - 90);
    matches[3 * i + 2] = 2 * MOTION_WEIGHT;
  }
  expect(&b, fit_of(&b), (const float[FIT_VALUES]){0}, 0);
}

/* --- the flow (motion of each cell), computed in runs that follow each other --- */

static const struct motion_size size = {{SIDE, 32, 16, 8, 4, 2}, {SIDE, 32, 16, 8, 4, 2}};
enum { VALUES = 32 * 32 + 16 * 16 + 8 * 8 + 1 };

struct flow_bench {
  struct bench b;
  struct op_flow op;
  float now[VALUES], last[VALUES], fit[FIT_VALUES];
};

/* Fills details of level 1 with columns that are 8 pixels wide, of (-1000, 1000) in turn, shifted to the left. */
static void fill_columns(float *pyramid, int shift) {
  for (int i = 0; i < 32 * 32; i++)
    pyramid[i] = (i % 32 + shift) / 8 % 2 ? 1000 : -1000;
  pyramid[VALUES - 1] = 1;
}

static void append_flow(struct flow_bench *f) {
  struct bench *b = &f->b;
  *b = begin();
  b->plan.resources = &b->resources;
  f->op = (struct op_flow){
      .now = give(b, plan_input(&b->plan, 1, 1, 1, VALUES, ELEMENT_WHOLE), f->now),
      .match = give(b, plan_input(&b->plan, 2, 8, 8, MATCH_VALUES, ELEMENT_WHOLE), matches),
      .fit = give(b, plan_input(&b->plan, 1, 1, 1, FIT_VALUES, ELEMENT_WHOLE), f->fit),
      .last = give(b, plan_state(&b->plan, "last", 1, 1, 1, VALUES, ELEMENT_WHOLE), f->last),
      .flow = plan_state(&b->plan, "flow", 1, 4, 4, 2, ELEMENT_WHOLE),
      .visible = plan_state(&b->plan, "visible", 1, 4, 4, 1, ELEMENT_WHOLE),
      .global = plan_state(&b->plan, "global", 1, 1, 1, GLOBAL_VALUES, ELEMENT_WHOLE),
      .w = SIDE,
      .h = SIDE,
      .cell = 16,
  };
  plan_flow(&b->plan, "flow", f->op);
}

static void read(struct flow_bench *f, struct tensor t, float *values) {
  struct error err = {0};
  assert_int_equal(device_read(f->b.device, f->b.program, t, 0, values, tensor_elements(t), &err), 0);
}

static void expect_global(struct flow_bench *f, const float expected[GLOBAL_VALUES]) {
  float got[GLOBAL_VALUES];
  run(&f->b, NULL, NULL);
  read(f, f->op.global, got);
  assert_memory_equal(got, expected, sizeof got);
}

static const float still[GLOBAL_VALUES] = {0, MOTION_ONE, 0, 0, 0}, cut[GLOBAL_VALUES] = {1, MOTION_ONE, 0, 0, 0},
                   blank[GLOBAL_VALUES] = {0, MOTION_ONE, 0, 0, 0, 1},
                   after_blank[GLOBAL_VALUES] = {0, MOTION_ONE, 0, 0, 0, 2},
                   blank_cut[GLOBAL_VALUES] = {1, MOTION_ONE, 0, 0, 0, 1};

static void expect_seen(struct flow_bench *f, bool seen) {
  float visible[16], flow[32];
  read(f, f->op.visible, visible);
  read(f, f->op.flow, flow);
  for (int i = 0; i < 16; i++)
    assert_true(visible[i] == (float)seen && flow[2 * i] == 0 && flow[2 * i + 1] == 0);
}

/* The first run has no earlier frame. Later runs have one, unless they are restarted. A frame without texture is
 * skipped. */
static void a_past_begins_and_ends(void **state) {
  (void)state;
  static struct flow_bench f;
  struct error err = {0};
  float nothing[VALUES] = {[VALUES - 1] = 1}, kept[VALUES];
  assert_int_equal(motion_values(&size), VALUES);
  for (int i = 0; i < 2 * BLOCKS * MATCH_VALUES; i++)
    matches[i] = 0;
  fill_columns(f.now, 0);
  append_flow(&f);
  prepare(&f.b, PIXEL_RGBA);
  expect_global(&f, cut);
  expect_seen(&f, false);
  read(&f, f.op.last, kept);
  assert_memory_equal(kept, f.now, sizeof kept);
  expect_global(&f, still);
  expect_seen(&f, true);
  assert_int_equal(device_write(f.b.device, f.b.program, f.op.now, 0, nothing, VALUES, &err), 0);
  for (int i = 0; i < 2; i++) {
    expect_global(&f, blank);
    expect_seen(&f, true);
  }
  read(&f, f.op.last, kept);
  assert_memory_equal(kept, f.now, sizeof kept);
  assert_int_equal(device_write(f.b.device, f.b.program, f.op.now, 0, f.now, VALUES, &err), 0);
  expect_global(&f, after_blank);
  expect_global(&f, still);
  assert_int_equal(device_write(f.b.device, f.b.program, f.op.now, 0, nothing, VALUES, &err), 0);
  expect_global(&f, blank);
  f.b.params.restart = true;
  expect_global(&f, blank_cut);
  expect_seen(&f, false);
  f.b.params.restart = false;
  assert_int_equal(device_write(f.b.device, f.b.program, f.op.now, 0, f.now, VALUES, &err), 0);
  expect_global(&f, cut);
  finish(&f.b);
}

/* The columns moved to the left by one pixel of level 1, which is 512/256 pixel. The motion of the whole picture says
 * the same, and all blocks were within the last picture. */
static void the_whole_picture_moves(void **state) {
  (void)state;
  static struct flow_bench f;
  float flow[32], visible[16];
  fill_columns(f.now, 4);
  fill_columns(f.last, 3);
  f.fit[3] = 512;
  append_flow(&f);
  prepare(&f.b, PIXEL_RGBA);
  expect_global(&f, (const float[GLOBAL_VALUES]){0, MOTION_ONE, 0, 0, 512});
  read(&f, f.op.flow, flow);
  read(&f, f.op.visible, visible);
  for (int i = 0; i < 16; i++)
    assert_true(flow[2 * i] == 0 && flow[2 * i + 1] == 512 && visible[i] == 1);
  finish(&f.b);
}

/* Without a motion of the whole picture each block follows its own match, if that explains the block clearly better;
 * but not a block whose neighbours say something else. */
static void blocks_follow_their_matches(void **state) {
  (void)state;
  static struct flow_bench f;
  float flow[32];
  fill_columns(f.now, 4);
  fill_columns(f.last, 3);
  for (int i = 0; i < 2 * BLOCKS; i++) {
    bool alone = i == 9 || i == BLOCKS + 9; /* the block of cell (0, 0) */
    matches[3 * i] = 0;
    matches[3 * i + 1] = (float)((i < BLOCKS ? 512 : -512) * (alone ? -1 : 1));
    matches[3 * i + 2] = MOTION_WEIGHT;
  }
  append_flow(&f);
  prepare(&f.b, PIXEL_RGBA);
  expect_global(&f, still);
  read(&f, f.op.flow, flow);
  for (int i = 0; i < 32; i++)
    assert_true(flow[i] == (i % 2 && i != 1 ? 512 : 0));
  finish(&f.b);
}

/* Columns become rows: a cut. */
static void another_picture_is_a_cut(void **state) {
  (void)state;
  static struct flow_bench f;
  for (int i = 0; i < 2 * BLOCKS * MATCH_VALUES; i++)
    matches[i] = 0;
  fill_columns(f.last, 4);
  fill_columns(f.now, 0);
  for (int i = 0; i < 32 * 32; i++)
    f.now[i] = i / 32 / 8 % 2 == i / 32 / 4 % 2 ? 1000 : -1000;
  append_flow(&f);
  prepare(&f.b, PIXEL_RGBA);
  expect_global(&f, cut);
  expect_seen(&f, false);
  expect_global(&f, still);
  finish(&f.b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_white_pixel_is_blurred),
      cmocka_unit_test(white_is_overexposed),
      cmocka_unit_test(a_slope_gives_the_fraction),
      cmocka_unit_test(a_shift_is_fitted),
      cmocka_unit_test(a_zoom_is_fitted),
      cmocka_unit_test(jitter_is_no_motion),
      cmocka_unit_test(a_past_begins_and_ends),
      cmocka_unit_test(the_whole_picture_moves),
      cmocka_unit_test(blocks_follow_their_matches),
      cmocka_unit_test(another_picture_is_a_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
