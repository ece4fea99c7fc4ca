/* Tests the position of the picture in the output window: maps compared with points computed by hand, corners that are
 * moved by keys and the mouse, and the file that stores them for each display. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/corners.h"
#include "app/control/displays_file.h"
#include "app/control/keys.h"

static struct live_state live;

static int setup(void **state) {
  (void)state;
  memset(&live, 0, sizeof live);
  parameters_init(&live.settings.values);
  return 0;
}

static void expect_point(const double matrix[9], double x, double y, double to_x, double to_y) {
  double w = matrix[2] * x + matrix[5] * y + matrix[8];
  double at_x = (matrix[0] * x + matrix[3] * y + matrix[6]) / w;
  double at_y = (matrix[1] * x + matrix[4] * y + matrix[7]) / w;
  if (fabs(at_x - to_x) > 1e-9 || fabs(at_y - to_y) > 1e-9)
    fail_msg("%g, %g is at %g, %g, wanted %g, %g", x, y, at_x, at_y, to_x, to_y);
}

/* A trapezium whose upper side is half as long as the lower one: its diagonals meet at 2/3 of the height from the lower
 * side, and the line through that point parallel to the two sides is the image of the square's middle line. */
static void homography(void **state) {
  (void)state;
  double at[PLACEMENT_CORNERS][2] = {{1, 0}, {3, 0}, {4, 2}, {0, 2}}, matrix[9];
  placement_homography(at, matrix);
  expect_point(matrix, 0, 0, 1, 0);
  expect_point(matrix, 1, 0, 3, 0);
  expect_point(matrix, 1, 1, 4, 2);
  expect_point(matrix, 0, 1, 0, 2);
  expect_point(matrix, 0.5, 0.5, 2, 2.0 / 3);
  expect_point(matrix, 0, 0.5, 2.0 / 3, 2.0 / 3);
  expect_point(matrix, 1, 0.5, 10.0 / 3, 2.0 / 3);
  /* if all corners move in the same way, a square remains a square */
  double moved[PLACEMENT_CORNERS][2] = {{0.25, 0.5}, {1.25, 0.5}, {1.25, 1.5}, {0.25, 1.5}};
  placement_homography(moved, matrix);
  expect_point(matrix, 0.125, 0.75, 0.375, 1.25);
  /* the corner 0,0 has moved to 1/4,1/4, along the square's diagonal, which remains straight */
  double cut[PLACEMENT_CORNERS][2] = {{0.25, 0.25}, {1, 0}, {1, 1}, {0, 1}};
  placement_homography(cut, matrix);
  expect_point(matrix, 0.5, 0.5, 0.5, 0.5);
}

static void corners_that_fold(void **state) {
  (void)state;
  double own[PLACEMENT_CORNERS][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
  double bad[][PLACEMENT_CORNERS][2] = {
      {{1, 0}, {0, 0}, {1, 1}, {0, 1}},         /* crossed */
      {{1, 0}, {0, 0}, {0, 1}, {1, 1}},         /* mirrored */
      {{0.6, 0.6}, {1, 0}, {1, 1}, {0, 1}},     /* not convex */
      {{0.5, 0.5}, {1, 0}, {1, 1}, {0, 1}},     /* a triangle */
      {{0, 0}, {1, 0}, {1, 0.001}, {0, 0.001}}, /* a line */
      /* rotated by 180 degrees: a good shape, although the shapes on the way to it are folded */
      {{1, 1}, {0, 1}, {0, 0}, {1, 0}},
  };
  assert_true(placement_corners_good(own));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    bool turned = i == sizeof bad / sizeof *bad - 1;
    assert_true(placement_corners_good(bad[i]) == turned);
    placement_bound_corners(bad[i]);
    assert_true(placement_corners_good(bad[i]));
  }
  /* moved back no further than necessary: corner 0, which was at 0.6, 0.6, is then just below 0.5, 0.5 */
  assert_true(bad[2][0][0] > 0.45 && bad[2][0][0] < 0.5 && bad[2][0][0] == bad[2][0][1]);
}

/* The picture's corners on the canvas of a window twice as wide as it is high. */
static void expect_canvas(struct placement placement, double shape, double left, double top, double right,
                          double bottom) {
  double matrix[9], width;
  placement.zoom = placement.zoom != 0 ? placement.zoom : 1;
  placement_canvas(&placement, shape, 2, matrix, &width);
  expect_point(matrix, 0, 0, left, top);
  expect_point(matrix, 1, 1, right, bottom);
  expect_point(matrix, 0.5, 0.5, 0.5, 0.5);
}

static void fits_zooms_and_turns(void **state) {
  (void)state;
  expect_canvas((struct placement){0}, 1, 0.25, 0, 0.75, 1);
  expect_canvas((struct placement){.fit = OUTPUT_FILL}, 1, 0, -0.5, 1, 1.5);
  expect_canvas((struct placement){.fit = OUTPUT_STRETCH}, 1, 0, 0, 1, 1);
  expect_canvas((struct placement){.zoom = 0.5}, 1, 0.375, 0.25, 0.625, 0.75);
  expect_canvas((struct placement){.flip = FLIP_HORIZONTAL}, 1, 0.75, 0, 0.25, 1);
  expect_canvas((struct placement){.flip = FLIP_VERTICAL}, 1, 0.25, 1, 0.75, 0);
  expect_canvas((struct placement){.flip = FLIP_BOTH, .rotation = 180}, 1, 0.25, 0, 0.75, 1);
  /* a picture twice as wide as high, rotated by 90 degrees: its top left corner is at the top right, and it is as high
   * as the window */
  expect_canvas((struct placement){.rotation = 90}, 2, 0.625, 0, 0.375, 1);
  expect_canvas((struct placement){.rotation = 90, .fit = OUTPUT_STRETCH}, 2, 1, 0, 0, 1);
  expect_canvas((struct placement){.rotation = 90, .fit = OUTPUT_FILL}, 2, 1, -1.5, 0, 2.5);
  expect_canvas((struct placement){.rotation = -270}, 2, 0.625, 0, 0.375, 1);
  /* rotated by 45 degrees: the square's diagonal is the window's height, so its corner is at the middle of the upper
   * edge */
  double matrix[9], width;
  placement_canvas(&(struct placement){.rotation = 45, .zoom = 1}, 1, 2, matrix, &width);
  expect_point(matrix, 0, 0, 0.5, 0);
  expect_point(matrix, 1, 0, 0.75, 0.5);
}

static void located(void **state) {
  (void)state;
  struct placement placement = {
      .rotation = 30, .zoom = 0.7, .flip = FLIP_HORIZONTAL, .corner = {{0.1, 0.05}, {-0.2, 0.1}, {0, -0.3}, {0.15, 0}}};
  double canvas[9], pin[9], width;
  placement_canvas(&placement, 1.5, 1.6, canvas, &width);
  placement_pin(&placement, pin);
  for (double u = 0; u <= 1; u += 0.25)
    for (double v = 0; v <= 1; v += 0.25) {
      double x = canvas[0] * u + canvas[3] * v + canvas[6], y = canvas[1] * u + canvas[4] * v + canvas[7];
      double w = pin[2] * x + pin[5] * y + pin[8], found_u, found_v;
      double at_x = (pin[0] * x + pin[3] * y + pin[6]) / w, at_y = (pin[1] * x + pin[4] * y + pin[7]) / w;
      assert_true(placement_locate(canvas, pin, (at_x + 1) / 2, (1 - at_y) / 2, &found_u, &found_v));
      assert_true(fabs(found_u - u) < 1e-9 && fabs(found_v - v) < 1e-9);
    }
}

static double corner(char axis, int number) {
  return parameters_number(&live.settings.values, axis == 'x' ? PARAMETER_CORNER_X : PARAMETER_CORNER_Y, number);
}

static void keys(void **state) {
  (void)state;
  assert_false(corners_key(&live, KEY_RIGHT, 0));
  assert_true(commands_run(&live, 'X', false, 0));
  assert_int_equal(live.settings.values.corner_edit, 1);
  assert_true(corners_key(&live, KEY_RIGHT, 0) && corners_key(&live, KEY_RIGHT, 0) && corners_key(&live, KEY_DOWN, 0));
  assert_true(corner('x', 1) == 0.001 && corner('y', 1) == 0.0005);
  assert_true(corners_key(&live, KEY_LEFT, 0) && corners_key(&live, KEY_UP, 0) && corners_key(&live, KEY_UP, 0));
  assert_true(corner('x', 1) == 0.0005 && corner('y', 1) == -0.0005);
  for (int i = 2; i <= 5; i++) {
    assert_true(corners_key(&live, KEY_TAB, 0));
    assert_int_equal(live.settings.values.corner_edit, i % 4 ? i % 4 : 4);
  }
  assert_true(corners_key(&live, KEY_DELETE, 0));
  assert_true(corner('x', 1) == 0 && corner('y', 1) == 0);
  assert_false(corners_key(&live, 'r', 0));
  assert_true(corners_key(&live, KEY_ESCAPE, 0));
  assert_int_equal(live.settings.values.corner_edit, 0);
}

static void drags(void **state) {
  (void)state;
  struct corner_drag drag = {0};
  corners_drag(&drag, &live, true, 0.9, 0.8, 0); /* selects the nearest corner, bottom right, without moving it */
  assert_int_equal(live.settings.values.corner_edit, 3);
  assert_true(corner('x', 3) == 0 && corner('y', 3) == 0);
  corners_drag(&drag, &live, false, 0.8, 0.85, 0);
  assert_true(fabs(corner('x', 3) + 0.1) < 1e-9 && fabs(corner('y', 3) - 0.05) < 1e-9);
  corners_drag(&drag, &live, false, 0.1, 0.1, 0); /* the shape would be folded, so the corner stays where it was */
  assert_true(fabs(corner('x', 3) + 0.1) < 1e-9 && fabs(corner('y', 3) - 0.05) < 1e-9);
  corners_drag(&drag, &live, false, 5, 5, 0); /* beyond the range: the corner is moved to the end of the range */
  assert_true(corner('x', 3) == 1 && corner('y', 3) == 1);
}

static void kept_for_displays(void **state) {
  (void)state;
  static struct parameters values, read;
  struct error err;
  parameters_init(&values);
  values.output_flip = FLIP_BOTH;
  values.output_zoom = 1.25;
  values.corner_x[2] = -0.125;
  char *one = displays_file_write(NULL, "one", &values);
  values.corner_y[0] = 0.5;
  char *both = displays_file_write(one, "two \"quoted\"", &values);
  assert_non_null(both);
  parameters_init(&read);
  assert_int_equal(displays_file_read(both, "one", &read, &err), 1);
  assert_true(read.corner_x[2] == -0.125 && read.corner_y[0] == 0 && read.output_flip == FLIP_BOTH);
  assert_int_equal(displays_file_read(both, "two \"quoted\"", &read, &err), 1);
  assert_true(displays_file_same(&read, &values));
  read.corner_x[3] = 0.25;
  assert_false(displays_file_same(&read, &values));
  assert_int_equal(displays_file_read(both, "three", &read, &err), 0);
  assert_int_equal(displays_file_read(one, "two \"quoted\"", &read, &err), 0);
  free(one);
  free(both);
}

static void wrong_files(void **state) {
  (void)state;
  static const char *const wrong[] = {"",
                                      "[]",
                                      "{}",
                                      "{\"displays\": 3}",
                                      "{\"displays\": {\"a\": {\"corner[1].x\": 2}}}",
                                      "{\"displays\": {\"a\": {\"corner[5].x\": 0}}}",
                                      "{\"displays\": {\"a\": {\"output-flip\": \"askew\"}}}",
                                      "{\"displays\": {\"a\": {\"corner[1].x\": [0]}}}",
                                      "{\"displays\": {\"a\": {\"strength\": 1}}}",
                                      "{\"displays\": {\"a\": {\"model\": \"/etc/passwd\"}}}"};
  static struct parameters values;
  struct error err;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    parameters_init(&values);
    if (displays_file_read(wrong[i], "a", &values, &err) != -1 || !*err.message)
      fail_msg("taken: %s", wrong[i]);
  }
  assert_null(displays_file_write("[]", "a", &values));
}

int main(void) {
#define CASE(function) cmocka_unit_test_setup(function, setup)
  const struct CMUnitTest tests[] = {
      CASE(homography), CASE(corners_that_fold), CASE(fits_zooms_and_turns), CASE(located), CASE(keys),
      CASE(drags),      CASE(kept_for_displays), CASE(wrong_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
