/* Tests the test pattern as a source. */
#include "tests/rigs/cmocka_all.h"

#include <string.h>

#include "app/source/source.h"
#include "app/source/source_pattern.h"
#include "tests/rigs/next_frame.h"
#include "tests/rigs/played_gpu.h"

static struct source *open_pattern(const char *spec, const struct source_options *options) {
  static const struct source_options plain;
  struct source *source;
  struct error err;
  if (source_open(&source, spec, options ? options : &plain, &err))
    fail_msg("%s: %s", spec, err.message);
  return source;
}

/* Compares a plane of two frames of the same shape, without padding. */
static bool planes_equal(const struct frame *a, const struct frame *b, int plane) {
  size_t bytes = (size_t)frame_row_bytes(a->format, plane, a->width);
  for (int y = 0; y < frame_rows(a->format, plane, a->height); y++)
    if (memcmp(a->plane[plane] + (ptrdiff_t)y * a->pitch[plane], b->plane[plane] + (ptrdiff_t)y * b->pitch[plane],
               bytes))
      return false;
  return true;
}

static void test_pattern(void **state) {
  (void)state;
  static const char *const specs[] = {"pattern", "pattern:64x64", "pattern:33x96", "pattern:321x17"};
  for (int s = 0; s < 4; s++) {
    struct source *one = open_pattern(specs[s], NULL), *two = open_pattern(specs[s], NULL);
    struct frame a = {0}, b = {0};
    struct error err;
    struct frame last = {0};
    for (uint32_t i = 0; i < 20; i++) {
      uint32_t number = ~0u;
      assert_true(next_frame(one, &a, &err) == 1 && next_frame(two, &b, &err) == 1);
      assert_true(pattern_read_number(&a, &number));
      assert_true(number == i && a.pts == i && a.serial == i);
      assert_true(planes_equal(&a, &b, 0) && planes_equal(&a, &b, 1));
      assert_false(i && planes_equal(&a, &last, 0));
      frame_release(&last);
      last = frame_hold(&a);
    }
    frame_release(&last);
    frame_release(&a);
    source_close(&one);
    frame_release(&b);
    source_close(&two);
  }
}

/* The pattern has the same samples in every format, also at odd sizes; formats of 10 bits have them in the upper
 * bits. */
static void test_pattern_pixels(void **state) {
  (void)state;
  static const enum pixel_format formats[] = {PIXEL_NV12, PIXEL_P010};
  for (int i = 0; i < 2; i++) {
    struct source_options options = {.pixels = i ? PATTERN_P010 : PATTERN_NV12};
    struct source *planar = open_pattern("pattern:33x97", NULL), *paired = open_pattern("pattern:33x97", &options);
    struct frame a = {0}, b = {0};
    struct error err;
    for (int j = 0; j < 2; j++)
      assert_true(next_frame(planar, &a, &err) == 1 && next_frame(paired, &b, &err) == 1);
    assert_true(b.format == formats[i] && b.width == 33 && b.height == 97 && b.pts == 1 && b.captured_ns > 0);
    int size = i ? 2 : 1;
    for (int y = 0; y < 97; y++)
      for (int x = 0; x < 33; x++) {
        const uint8_t *luma = b.plane[0] + y * b.pitch[0] + x * size,
                      *chroma = b.plane[1] + y / 2 * b.pitch[1] + x / 2 * 2 * size;
        assert_int_equal(luma[size - 1], a.plane[0][y * a.pitch[0] + x]);
        assert_int_equal(chroma[size - 1], a.plane[1][y / 2 * a.pitch[1] + x / 2]);
        assert_int_equal(chroma[2 * size - 1], a.plane[2][y / 2 * a.pitch[2] + x / 2]);
        assert_true(!i || (luma[0] == 0 && chroma[0] == 0 && chroma[2] == 0));
      }
    frame_release(&a);
    frame_release(&b);
    source_close(&planar);
    source_close(&paired);
  }
}

/* If a GPU reads the pattern, it copies frames of any format by itself. */
static void test_pattern_for_a_gpu(void **state) {
  (void)state;
  for (int pixels = PATTERN_YUV420P; pixels <= PATTERN_P010; pixels++) {
    struct source_options options = {.pixels = (enum pattern_pixels)pixels, .gpu = {.impl = &played_gpu}};
    struct source *source = open_pattern("pattern:64x64", &options);
    struct frame frame = {0};
    struct error err;
    assert_int_equal(next_frame(source, &frame, &err), 1);
    assert_true(frame_pinned(&frame));
    frame_release(&frame);
    source_close(&source);
  }
}

/* A picture without the marker's blocks, or with a wrong one, has no number. */
static void test_pattern_number_is_checked(void **state) {
  (void)state;
  struct source *source = open_pattern("pattern:320x64", NULL);
  struct frame frame = {0};
  struct error err;
  uint32_t number;
  for (int i = 0; i < 1000; i++)
    assert_int_equal(next_frame(source, &frame, &err), 1);
  assert_true(pattern_read_number(&frame, &number) && number == 999);
  for (int bit = 0; bit < PATTERN_BITS; bit++) {
    uint8_t *middle = frame_plane(&frame, 0) + 4 * frame.pitch[0] + bit * PATTERN_BLOCK + 4;
    uint8_t kept = *middle;
    *middle = kept < 128 ? 235 : 16;
    assert_false(pattern_read_number(&frame, &number));
    *middle = kept;
  }
  memset(frame_plane(&frame, 0), 128, (size_t)frame.pitch[0] * 64);
  assert_false(pattern_read_number(&frame, &number));
  frame_release(&frame);
  source_close(&source);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pattern),
      cmocka_unit_test(test_pattern_pixels),
      cmocka_unit_test(test_pattern_for_a_gpu),
      cmocka_unit_test(test_pattern_number_is_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
