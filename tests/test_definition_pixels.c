/* Tests the definition of the ops that read and make pictures, against values worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unet/base/picture.h"
#include "tests/rigs/definition_bench.h"

/* --- pixels in --- */

static struct frame frame_of(enum pixel_format format, int width, int height, const void *p0, const void *p1,
                             const void *p2) {
  struct frame f = {.format = format, .matrix = MATRIX_BT709, .width = width, .height = height};
  const void *planes[3] = {p0, p1, p2};
  for (int i = 0; i < frame_planes(format); i++) {
    f.plane[i] = planes[i];
    f.pitch[i] = frame_row_bytes(format, i, width);
  }
  return f;
}

static void expect_in(const struct frame *frame, struct geometry g, int w, int h, const float *expected,
                      double tolerance) {
  struct bench b = begin();
  struct error err = {0};
  struct tensor y = plan_pixels_in(&b.plan, "in", (struct op_pixels_in){.scale = 1, .y = {.h = h, .w = w}});
  float values[64];
  b.params.geometry[0] = g;
  prepare(&b, PIXEL_RGBA);
  run(&b, frame, NULL);
  assert_int_equal(device_read(b.device, b.program, y, 0, values, tensor_elements(y), &err), 0);
  for (size_t i = 0; i < tensor_elements(y); i++)
    if (!(fabs((double)values[i] - (double)expected[i]) <= tolerance))
      fail_msg("value %zu is %.9g, not %.9g", i, (double)values[i], (double)expected[i]);
  finish(&b);
}

static void known_colours_are_decoded(void **state) {
  (void)state;
  const struct {
    enum color_matrix matrix;
    uint8_t y, cb, cr;
    float r, g, b;
  } colours[] = {{MATRIX_BT601, 235, 128, 128, 1, 1, 1},
                 {MATRIX_BT601, 16, 128, 128, 0, 0, 0},
                 {MATRIX_BT601, 81, 90, 240, 1, 0, 0},
                 {MATRIX_BT601, 145, 54, 34, 0, 1, 0},
                 {MATRIX_BT601, 41, 240, 110, 0, 0, 1},
                 {MATRIX_BT709, 63, 102, 240, 1, 0, 0},
                 {MATRIX_BT709, 173, 42, 26, 0, 1, 0},
                 {MATRIX_BT709, 32, 240, 118, 0, 0, 1},
                 {MATRIX_BT2020, 74, 97, 240, 1, 0, 0},
                 {MATRIX_BT2020, 164, 47, 25, 0, 1, 0},
                 {MATRIX_BT709, 255, 128, 128, 1, 1, 1}, /* values above white are clamped */
                 {MATRIX_BT709, 126, 128, 128, 0.5023f, 0.5023f, 0.5023f}};
  for (size_t i = 0; i < sizeof colours / sizeof colours[0]; i++) {
    struct frame f = frame_of(PIXEL_YUV420P, 1, 1, &colours[i].y, &colours[i].cb, &colours[i].cr);
    f.matrix = colours[i].matrix;
    /* codes are whole numbers: an error of half a code in each */
    expect_in(&f, (struct geometry){0, 0, 1, 1, 0, 0, 1, 1}, 1, 1, &colours[i].r, 0.006);
  }
}

static void ten_bits_and_full_range_are_scaled(void **state) {
  (void)state;
  const uint8_t y10[2] = {940 << 6 & 255, 940 >> 2}, c10[4] = {0, 512 >> 2, 0, 512 >> 2};
  struct frame f = frame_of(PIXEL_P010, 1, 1, y10, c10, NULL);
  expect_in(&f, (struct geometry){0, 0, 1, 1, 0, 0, 1, 1}, 1, 1, (float[]){1, 1, 1}, 1e-6);
  const uint8_t y = 51, c = 128;
  f = frame_of(PIXEL_YUV420P, 1, 1, &y, &c, &c);
  f.range = RANGE_FULL;
  expect_in(&f, (struct geometry){0, 0, 1, 1, 0, 0, 1, 1}, 1, 1, (float[]){0.2f, 0.2f, 0.2f}, 1e-6);
}

static const uint8_t four_pixels[16] = {0, 51, 102, 9, 255, 153, 204, 9, 51, 0, 255, 9, 102, 204, 153, 9};

static void an_unscaled_frame_is_exact(void **state) {
  (void)state;
  struct frame f = frame_of(PIXEL_RGBA, 2, 2, four_pixels, NULL, NULL);
  float expected[12];
  for (int i = 0; i < 12; i++)
    expected[i] = (float)four_pixels[i / 3 * 4 + i % 3] / 255;
  expect_in(&f, (struct geometry){0, 0, 2, 2, 0, 0, 2, 2}, 2, 2, expected, 1e-7);
  f.format = PIXEL_BGRA;
  for (int i = 0; i < 12; i++)
    expected[i] = (float)four_pixels[i / 3 * 4 + 2 - i % 3] / 255;
  expect_in(&f, (struct geometry){0, 0, 2, 2, 0, 0, 2, 2}, 2, 2, expected, 1e-7);
}

static void a_reduction_is_the_mean_of_its_area(void **state) {
  (void)state;
  struct frame f = frame_of(PIXEL_RGBA, 2, 2, four_pixels, NULL, NULL);
  expect_in(&f, (struct geometry){0, 0, 2, 2, 0, 0, 1, 1}, 1, 1, (float[]){0.4f, 0.4f, 0.7f}, 1e-6);
  /* 3 samples become 2: each covers one and a half */
  const uint8_t three[3] = {0, 90, 180}, grey = 128;
  f = frame_of(PIXEL_YUV420P, 3, 1, three, (uint8_t[]){grey, grey}, (uint8_t[]){grey, grey});
  f.range = RANGE_FULL;
  const float a = 30 / 255.0f, b = 150 / 255.0f;
  expect_in(&f, (struct geometry){0, 0, 3, 1, 0, 0, 2, 1}, 2, 1, (float[]){a, a, a, b, b, b}, 1e-6);
}

static void an_enlargement_is_linear(void **state) {
  (void)state;
  const uint8_t pixels[8] = {0, 0, 0, 0, 255, 255, 255, 0};
  struct frame f = frame_of(PIXEL_RGBA, 2, 1, pixels, NULL, NULL);
  expect_in(&f, (struct geometry){0, 0, 2, 1, 0, 0, 4, 1}, 4, 1,
            (float[]){0, 0, 0, 0.25f, 0.25f, 0.25f, 0.75f, 0.75f, 0.75f, 1, 1, 1}, 1e-6);
}

static void chroma_lies_between_its_pixels(void **state) {
  (void)state;
  /* Cr 128 and 240 under four pixels: at a quarter of the way from one chroma sample to the next, and at the edges */
  const uint8_t y[4] = {100, 100, 100, 100}, cb[2] = {128, 128}, cr[2] = {128, 240};
  struct frame f = frame_of(PIXEL_YUV420P, 4, 1, y, cb, cr);
  float expected[12];
  const double share[4] = {0, 0.25, 0.75, 1};
  for (int i = 0; i < 4; i++) {
    double luma = 84.0 / 219, red = 112.0 / 224 * share[i];
    expected[3 * i] = (float)fmin(luma + 1.5748 * red, 1);
    expected[3 * i + 1] = (float)(luma - 1.5748 * 0.2126 / 0.7152 * red);
    expected[3 * i + 2] = (float)luma;
  }
  expect_in(&f, (struct geometry){0, 0, 4, 1, 0, 0, 4, 1}, 4, 1, expected, 1e-6);
}

static void a_letterbox_is_black(void **state) {
  (void)state;
  const uint8_t white[4] = {255, 255, 255, 255};
  struct frame f = frame_of(PIXEL_RGBA, 1, 1, white, NULL, NULL);
  expect_in(&f, (struct geometry){0, 0, 1, 1, 1, 1, 1, 1}, 3, 3,
            (float[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0);
}

/* With two sources, each op takes the frame and the rectangle of its own source. */
static void sources_are_apart(void **state) {
  (void)state;
  const uint8_t white[4] = {255, 255, 255, 255};
  const struct frame frames[SOURCES_MAX] = {frame_of(PIXEL_RGBA, 1, 1, white, NULL, NULL),
                                            frame_of(PIXEL_BGRA, 2, 2, four_pixels, NULL, NULL)};
  struct bench b = begin();
  struct error err = {0};
  struct tensor y[3];
  float values[2 * 3];
  b.params.geometry[0] = (struct geometry){0, 0, 1, 1, 0, 0, 1, 1};
  b.params.geometry[1] = (struct geometry){0, 1, 2, 1, 0, 0, 2, 1};
  for (int i = 0; i < 3; i++)
    y[i] = plan_pixels_in(&b.plan, "in", (struct op_pixels_in){.scale = 1, .source = i % 2, .y = {.h = 1, .w = 2}});
  prepare(&b, PIXEL_RGBA);
  run(&b, frames, NULL);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(device_read(b.device, b.program, y[i], 0, values, 6, &err), 0);
    for (int c = 0; c < 6; c++) {
      float second = (float)four_pixels[8 + c / 3 * 4 + 2 - c % 3] / 255;
      assert_true(fabsf(values[c] - (i % 2 ? second : c < 3)) < 1e-6f);
    }
  }
  finish(&b);
}

/* --- pixels out --- */

static void expect_out(enum pixel_format format, int w, int h, const float *rgb, const uint8_t *p0, const uint8_t *p1,
                       const uint8_t *p2) {
  struct bench b = begin();
  struct frame picture;
  plan_pixels_out(&b.plan, "out", (struct op_pixels_out){.scale = 1, .x = input(&b, h, w, 3, rgb)});
  prepare(&b, format);
  run(&b, NULL, &picture);
  assert_int_equal(picture.format, format);
  assert_int_equal(picture.width, w);
  assert_int_equal(picture.height, h);
  const uint8_t *planes[3] = {p0, p1, p2};
  for (int i = 0; i < frame_planes(format); i++) {
    size_t row = (size_t)frame_row_bytes(format, i, w);
    for (int y = 0; y < frame_rows(format, i, h); y++)
      assert_memory_equal(picture.plane[i] + (long)y * picture.pitch[i], planes[i] + (size_t)y * row, row);
  }
  frame_release(&picture);
  finish(&b);
}

static void pictures_are_encoded(void **state) {
  (void)state;
  const float colours[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}; /* red, green, blue */
  expect_out(PIXEL_RGBA, 3, 1, colours, (uint8_t[]){255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255}, NULL, NULL);
  expect_out(PIXEL_BGRA, 3, 1, colours, (uint8_t[]){0, 0, 255, 255, 0, 255, 0, 255, 255, 0, 0, 255}, NULL, NULL);
  /* BT.709: red 63 102 240, green 173 42 26, blue 32 240 118; chroma of the first pair is the mean */
  expect_out(PIXEL_YUV420P, 3, 1, colours, (uint8_t[]){63, 173, 32}, (uint8_t[]){72, 240}, (uint8_t[]){133, 118});
  expect_out(PIXEL_NV12, 3, 1, colours, (uint8_t[]){63, 173, 32}, (uint8_t[]){72, 133, 240, 118}, NULL);
  expect_out(PIXEL_YUYV, 3, 1, colours, (uint8_t[]){63, 72, 173, 133, 32, 240, 32, 118}, NULL, NULL);
  /* values beyond the range, and NaN */
  expect_out(PIXEL_RGBA, 2, 1, (float[]){7, -7, 0.5f, NAN, 0.25f, 1}, (uint8_t[]){255, 0, 128, 255, 0, 64, 255, 255},
             NULL, NULL);
}

static void what_lies_beyond_the_picture_is_not_seen(void **state) {
  (void)state;
  struct bench b = begin();
  struct frame picture;
  const float colours[] = {1, 0, 0, 0, 1, 0, 0.2f, 0.2f, 0.2f, 0, 0, 1, 1, 1, 1, 0.2f, 0.2f, 0.2f};
  plan_pixels_out(&b.plan, "out", (struct op_pixels_out){.w = 1, .h = 2, .scale = 1, .x = input(&b, 2, 3, 3, colours)});
  prepare(&b, PIXEL_RGBA);
  run(&b, NULL, &picture);
  assert_true(picture.width == 1 && picture.height == 2);
  assert_memory_equal(picture.plane[0], ((uint8_t[]){255, 0, 0, 255}), 4);
  assert_memory_equal(picture.plane[0] + picture.pitch[0], ((uint8_t[]){0, 0, 255, 255}), 4);
  frame_release(&picture);
  finish(&b);
}

static void the_input_is_mixed_in(void **state) {
  (void)state;
  struct bench b = begin();
  struct frame picture;
  struct op_pixels_out op = {.scale = 0.5f, .bias = 0.5f, .input_scale = 1};
  op.x = input(&b, 1, 1, 3, (float[]){1, 0, -1});
  op.input = input(&b, 1, 1, 3, (float[]){0, 1, 0.6f});
  b.params.mix = 0.25f;
  plan_pixels_out(&b.plan, "out", op);
  prepare(&b, PIXEL_RGBA);
  run(&b, NULL, &picture);
  assert_memory_equal(picture.plane[0], ((uint8_t[]){64, 223, 115, 255}), 4);
  frame_release(&picture);
  finish(&b);
}

static void expect_detail(int h, int w, const float *x, const float *y, const float *expected) {
  struct bench b = begin();
  struct op_detail op = {.x = input(&b, h, w, 3, x), .y = input(&b, h, w, 3, y)};
  plan_detail(&b.plan, "detail", op);
  b.params.detail = 0.5f;
  expect(&b, op.y, expected, 1e-6);
}

/* Detail of 16/256: a single bright pixel keeps 1 - 16/256 of its value, its neighbours lose their share. At the edge,
 * which is repeated, a pixel counts more than once. A flat area adds nothing. */
static void detail_is_added(void **state) {
  (void)state;
  float point[9 * 9 * 3] = {0}, grey[9 * 9 * 3], expected[9 * 9 * 3];
  for (int i = 0; i < 9 * 9 * 3; i++)
    grey[i] = expected[i] = 0.5f;
  point[3 * (4 * 9 + 4) + 1] = 1;
  for (int y = 1; y < 8; y++)
    for (int x = 1; x < 8; x++)
      expected[3 * (y * 9 + x) + 1] -= 0.5f * (float)((4 - abs(y - 4)) * (4 - abs(x - 4))) / 256;
  expected[3 * (4 * 9 + 4) + 1] += 0.5f;
  expect_detail(9, 9, point, grey, expected);
  expect_detail(9, 9, grey, point, point);
  /* of the second pixel's mean the first pixel has 3 + 2 + 1 sixteenths, and the second 4 + 3 + 2 + 1 */
  expect_detail(1, 2, (float[]){0, 0, 0, 1, 0, 0}, (float[6]){0},
                (float[]){-0.5f * 6 / 16, 0, 0, 0.5f * (1 - 10.0f / 16), 0, 0});
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_colours_are_decoded),  cmocka_unit_test(ten_bits_and_full_range_are_scaled),
      cmocka_unit_test(an_unscaled_frame_is_exact), cmocka_unit_test(a_reduction_is_the_mean_of_its_area),
      cmocka_unit_test(an_enlargement_is_linear),   cmocka_unit_test(chroma_lies_between_its_pixels),
      cmocka_unit_test(a_letterbox_is_black),       cmocka_unit_test(sources_are_apart),
      cmocka_unit_test(pictures_are_encoded),       cmocka_unit_test(what_lies_beyond_the_picture_is_not_seen),
      cmocka_unit_test(the_input_is_mixed_in),      cmocka_unit_test(detail_is_added),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
