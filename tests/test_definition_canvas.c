/* Tests the definition of the ops of a canvas that follows the camera, against values worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/rigs/definition_bench.h"

enum { ONE = 1 << 24 };

/* --- places --- */

static const struct canvas_size square = {256, 256, 288, 288, 16};

static void move(int32_t place[PLACE_VALUES], int a, int b, int y, int x) {
  const struct canvas_motion motion = {.a = a, .b = b, .y = y, .x = x};
  canvas_move(place, &motion, &square);
}

static void expect_place(const int32_t place[PLACE_VALUES], int y, int x, int rest_y, int rest_x) {
  assert_int_equal(place[PLACE_Y], y);
  assert_int_equal(place[PLACE_X], x);
  assert_int_equal(place[PLACE_REST_Y], rest_y);
  assert_int_equal(place[PLACE_REST_X], rest_x);
}

static void whole_pixels_of_a_pan_add_up(void **state) {
  (void)state;
  int32_t place[PLACE_VALUES] = {0};
  for (int i = 0; i < 3; i++)
    move(place, ONE, 0, 256, 2 * 256);
  expect_place(place, 3, 6, 0, 0);
  for (int i = 0; i < 4; i++)
    move(place, ONE, 0, -256, -2 * 256);
  expect_place(place, 287, 286, 0, 0); /* the canvas repeats after 288 pixels */
  assert_int_equal(place[PLACE_WARPED], 0);
}

static void parts_of_a_pixel_wait_until_they_make_one(void **state) {
  (void)state;
  int32_t place[PLACE_VALUES] = {0};
  move(place, ONE, 0, 100, -100);
  expect_place(place, 0, 0, 100, -100);
  move(place, ONE, 0, 100, -100);
  expect_place(place, 1, 287, -56, 56);
  move(place, ONE, 0, -100, 100); /* small motion back and forth: the frame's place does not change */
  expect_place(place, 1, 287, -156, 156);
  move(place, ONE, 0, 0, 0);
  expect_place(place, 1, 287, -156, 156);
}

/* A pan that is measured slightly too short and slightly turned moves the frame by the same number of whole pixels each
 * time. */
static void nearly_whole_pixels_are_whole(void **state) {
  (void)state;
  int32_t place[PLACE_VALUES] = {0};
  for (int i = 0; i < 100; i++)
    move(place, ONE + 3000, -9000, 247, 488);
  expect_place(place, 100, 200, 0, 0);
  assert_int_equal(place[PLACE_A], 0);
  assert_int_equal(place[PLACE_B], 0);
  for (int i = 0; i < 10; i++)
    move(place, ONE, 0, -384, -20);
  expect_place(place, 85, 199, 0, 56);
}

static void a_cut_begins_at_the_origin(void **state) {
  (void)state;
  int32_t place[PLACE_VALUES] = {1000000, -2000000, 5, 6, 7, 8, 1};
  const struct canvas_motion cut = {.cut = true, .a = 5, .b = 6, .y = 7, .x = 8};
  canvas_move(place, &cut, &square);
  for (int i = 0; i < PLACE_VALUES; i++)
    assert_int_equal(place[i], 0);
}

/* Zoom factors multiply. A frame that is turned by a right angle on the canvas moves there at a right angle to its
 * motion in the picture. */
static void zoom_and_turn_multiply(void **state) {
  (void)state;
  int32_t place[PLACE_VALUES] = {0};
  move(place, (int)(1.01 * ONE), 0, 0, 0);
  assert_int_equal(place[PLACE_A], (int)(1.01 * ONE) - ONE);
  assert_int_equal(place[PLACE_B], 0);
  /* the frame's corner would be 1.8 pixels off, so the frame is drawn warped */
  assert_int_equal(place[PLACE_WARPED], 1);
  move(place, (int)(1.01 * ONE), 0, 0, 0);
  assert_in_range(place[PLACE_A], (int)(.0201 * ONE) - 20, (int)(.0201 * ONE) + 20);
  memset(place, 0, sizeof place);
  move(place, ONE, ONE / 1000, 0, 0);
  assert_int_equal(place[PLACE_WARPED], 0); /* only 0.18 pixels off, so it is drawn unwarped */
  assert_int_equal(place[PLACE_B], ONE / 1000);
  const int32_t turned[PLACE_VALUES] = {[PLACE_A] = -ONE, [PLACE_B] = ONE};
  memcpy(place, turned, sizeof place);
  move(place, ONE, 0, 0, 512);
  expect_place(place, 2, 0, 0, 0);
}

static double strain_of(const int32_t place[PLACE_VALUES]) {
  return hypot(place[PLACE_A], place[PLACE_B]) / ONE;
}

/* An endless zoom or turn is limited, so that the matrix stays near the identity; panning leads back to the identity,
 * and standing still does not. */
static void strain_stays_small(void **state) {
  (void)state;
  int32_t zoomed[PLACE_VALUES] = {0}, turned[PLACE_VALUES] = {0};
  for (int i = 0; i < 12; i++)
    move(zoomed, (int)(.99 * ONE), 0, 0, 0);
  assert_true(fabs(1 + (double)zoomed[PLACE_A] / ONE - pow(.99, 12)) < 1e-5);
  for (int i = 0; i < 300; i++) {
    move(zoomed, (int)(.99 * ONE), 0, 0, 0);
    move(turned, (int)(cos(.0087) * ONE), (int)(sin(.0087) * ONE), 0, 0);
    assert_true(strain_of(zoomed) <= 5 / 32.0 && strain_of(turned) <= 5 / 32.0);
  }
  assert_true(strain_of(zoomed) > .125 && strain_of(turned) > .125);
  int32_t kept[PLACE_VALUES];
  memcpy(kept, zoomed, sizeof kept);
  for (int i = 0; i < 100; i++)
    move(zoomed, ONE, 0, 0, 0);
  assert_memory_equal(kept, zoomed, sizeof kept);
  for (int i = 0; i < 400; i++)
    move(zoomed, ONE, 0, 0, 256);
  assert_int_equal(zoomed[PLACE_A], 0);
  assert_int_equal(zoomed[PLACE_WARPED], 0);
}

/* The op reads the motion and moves the frame's place once in each run. */
static void each_run_moves_the_place(void **state) {
  (void)state;
  struct bench b = begin();
  const float values[GLOBAL_VALUES] = {[GLOBAL_A] = ONE, [GLOBAL_Y] = 256, [GLOBAL_X] = 512};
  float got[PLACE_VALUES];
  struct error err = {0};
  b.plan.resources = &b.resources;
  struct tensor global = plan_state(&b.plan, "global", 1, 1, 1, GLOBAL_VALUES, ELEMENT_WHOLE);
  struct tensor place = plan_state(&b.plan, "place", 1, 1, 1, PLACE_VALUES, ELEMENT_WHOLE);
  plan_canvas_place(&b.plan, "place", (struct op_canvas_place){.global = global, .place = place, .size = square});
  give(&b, global, values);
  give(&b, place, (const float[PLACE_VALUES]){0});
  prepare(&b, PIXEL_RGBA);
  for (int i = 1; i <= 3; i++) {
    run(&b, NULL, NULL);
    assert_int_equal(device_read(b.device, b.program, place, 0, got, PLACE_VALUES, &err), 0);
    assert_true(got[PLACE_Y] == (float)i && got[PLACE_X] == (float)(2 * i) && got[PLACE_A] == 0);
  }
  finish(&b);
}

/* --- pictures --- */

static struct tensor place_of(struct bench *b, const float values[PLACE_VALUES]) {
  b->plan.resources = &b->resources;
  return give(b, plan_state(&b->plan, "place", 1, 1, 1, PLACE_VALUES, ELEMENT_WHOLE), values);
}

/* The frame 1 2 3 / 4 5 6 / 7 8 9 in a window of 6 x 6 with a lattice of 2 pixels and a margin of 1. Outside the frame
 * its mirror image is drawn. */
static const struct canvas_size small = {3, 3, 6, 6, 2};
static const float nine[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
static const float drawn[36] = {5, 6, 5, 4, 5, 6, /**/ 2, 3, 2, 1, 2, 3, /**/ 5, 6, 5, 4, 5, 6,
                                8, 9, 8, 7, 8, 9, /**/ 5, 6, 5, 4, 5, 6, /**/ 2, 3, 2, 1, 2, 3};

static void a_frame_is_drawn_at_its_place(void **state) {
  (void)state;
  struct bench b = begin();
  /* Place: column 5 is lattice column 4 plus 1, row 4 is on the lattice. The values in PLACE_REST have no effect. */
  struct tensor place = place_of(&b, (const float[PLACE_VALUES]){[PLACE_Y] = 4, [PLACE_X] = 5, [PLACE_REST_X] = 100});
  struct op_canvas_draw op = {.x = input(&b, 3, 3, 1, nine), .place = place, .size = small};
  /* the frame is drawn from column 2 of the window on */
  float expected[36];
  for (int i = 0; i < 36; i++)
    expected[i] = drawn[i / 6 * 6 + (i % 6 + 1) % 6];
  for (int i = 0; i < 6; i++)
    expected[i * 6 + 5] = expected[i * 6 + 3];
  expect(&b, plan_canvas_draw(&b.plan, "draw", op), expected, 0);
}

static void the_frame_is_cut_out_again(void **state) {
  (void)state;
  struct bench b = begin();
  struct tensor place = place_of(&b, (const float[PLACE_VALUES]){[PLACE_Y] = 3, [PLACE_X] = 5});
  struct op_canvas_draw op = {.x = input(&b, 3, 3, 1, nine), .place = place, .size = small};
  op.x = plan_canvas_draw(&b.plan, "draw", op);
  op.back = true;
  expect(&b, plan_canvas_draw(&b.plan, "cut out", op), nine, 0);
}

/* A frame that is turned by a right angle about its centre: its first row becomes a column. */
static void a_turned_frame_is_drawn_turned(void **state) {
  (void)state;
  const float values[PLACE_VALUES] = {[PLACE_A] = -ONE, [PLACE_B] = ONE, [PLACE_WARPED] = 1};
  for (int nearest = 0; nearest < 2; nearest++) {
    struct bench b = begin();
    struct tensor place = place_of(&b, values);
    const struct canvas_size tight = {3, 3, 3, 3, 1};
    struct op_canvas_draw op = {.x = input(&b, 3, 3, 1, nine), .place = place, .size = tight, .nearest = nearest};
    expect(&b, plan_canvas_draw(&b.plan, "draw", op), (const float[9]){7, 4, 1, 8, 5, 2, 9, 6, 3}, 1e-6);
  }
  struct bench b = begin();
  struct tensor place = place_of(&b, values);
  struct op_canvas_draw op = {.x = input(&b, 3, 3, 1, nine), .place = place, .size = {3, 3, 3, 3, 1}};
  op.x = plan_canvas_draw(&b.plan, "draw", op);
  op.back = true;
  expect(&b, plan_canvas_draw(&b.plan, "cut out", op), nine, 1e-6);
}

/* Shifted by half a pixel, a pixel is 19/32 of both neighbours minus 3/32 of the next ones; shifted by a quarter, it is
 * the nearest pixel. */
static void parts_of_a_pixel_are_interpolated(void **state) {
  (void)state;
  const float row[4] = {16, 32, 64, 160}, half[4] = {19.5f, 40.5f, 124, 124};
  const struct canvas_size flat = {1, 4, 1, 4, 1};
  struct bench b = begin();
  struct tensor place = place_of(&b, (const float[PLACE_VALUES]){[PLACE_REST_X] = -128, [PLACE_WARPED] = 1});
  struct op_canvas_draw op = {.x = input(&b, 1, 4, 1, row), .place = place, .size = flat};
  expect(&b, plan_canvas_draw(&b.plan, "draw", op), half, 1e-5);
  b = begin();
  place = place_of(&b, (const float[PLACE_VALUES]){[PLACE_REST_X] = -64, [PLACE_WARPED] = 1});
  op = (struct op_canvas_draw){.x = input(&b, 1, 4, 1, row), .place = place, .size = flat, .nearest = true};
  expect(&b, plan_canvas_draw(&b.plan, "draw", op), row, 0);
}

/* --- noise --- */

static void noise_is_read_in_whole_cells(void **state) {
  (void)state;
  struct bench b = begin();
  const float noise[12] = {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15}; /* two samples of 2 x 3 cells */
  const struct canvas_size size = {4, 8, 8, 12, 4};
  struct tensor place = place_of(&b, (const float[PLACE_VALUES]){[PLACE_Y] = 7, [PLACE_X] = 9});
  struct op_canvas_noise op = {.noise = give(&b, plan_state(&b.plan, "noise", 2, 2, 3, 1, ELEMENT_PRECISE), noise),
                               .place = place,
                               .size = size,
                               .cell = 4};
  /* the window begins one cell down and two to the right */
  expect(&b, plan_canvas_noise(&b.plan, "noise", op), (const float[12]){5, 3, 4, 2, 0, 1, 15, 13, 14, 12, 10, 11}, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole_pixels_of_a_pan_add_up),
      cmocka_unit_test(parts_of_a_pixel_wait_until_they_make_one),
      cmocka_unit_test(nearly_whole_pixels_are_whole),
      cmocka_unit_test(a_cut_begins_at_the_origin),
      cmocka_unit_test(zoom_and_turn_multiply),
      cmocka_unit_test(strain_stays_small),
      cmocka_unit_test(each_run_moves_the_place),
      cmocka_unit_test(a_frame_is_drawn_at_its_place),
      cmocka_unit_test(the_frame_is_cut_out_again),
      cmocka_unit_test(a_turned_frame_is_drawn_turned),
      cmocka_unit_test(parts_of_a_pixel_are_interpolated),
      cmocka_unit_test(noise_is_read_in_whole_cells),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
