/* Tests mirroring of frames: the pixels of every format, and a source whose mirror changes from one frame to the
 * next. */
#include "tests/rigs/cmocka_all.h"

#include <string.h>

#include "app/source/source.h"

/* Returns a pixel as three samples; chroma is the sample that it shares with its neighbours. */
static void pixel(const struct frame *frame, int x, int y, int out[3]) {
  const uint8_t *row = frame->plane[0] + (ptrdiff_t)y * frame->pitch[0];
  const uint8_t *chroma = frame->plane[1] ? frame->plane[1] + (ptrdiff_t)(y / 2) * frame->pitch[1] : NULL;
  switch (frame->format) {
  case PIXEL_NV12:
    out[0] = row[x], out[1] = chroma[x / 2 * 2], out[2] = chroma[x / 2 * 2 + 1];
    break;
  case PIXEL_P010:
    out[0] = row[2 * x + 1], out[1] = chroma[x / 2 * 4 + 1], out[2] = chroma[x / 2 * 4 + 3];
    break;
  case PIXEL_YUV420P:
    out[0] = row[x], out[1] = chroma[x / 2], out[2] = frame->plane[2][(ptrdiff_t)(y / 2) * frame->pitch[2] + x / 2];
    break;
  case PIXEL_YUYV:
    out[0] = row[2 * x], out[1] = row[x / 2 * 4 + 1], out[2] = row[x / 2 * 4 + 3];
    break;
  default:
    memcpy(out, (int[3]){row[4 * x], row[4 * x + 1], row[4 * x + 2]}, 3 * sizeof *out);
  }
}

/* In every format, at even and odd sizes, the pixel at x is moved to the same distance from the right edge. */
static void test_mirrored_pixels(void **state) {
  (void)state;
  static const int sizes[][2] = {{16, 4}, {18, 6}, {2, 2}, {1, 1}, {17, 5}, {3, 3}};
  for (int format = 0; format < PIXEL_FORMATS; format++)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      struct host_pictures made = {0}, mirrored = {0};
      struct frame frame, before;
      struct error err;
      int width = sizes[i][0], height = sizes[i][1], a[3], b[3];
      assert_int_equal(host_pictures_take(&made, (enum pixel_format)format, width, height, &frame, &err), 0);
      for (int plane = 0; plane < frame_planes(frame.format); plane++)
        for (int j = 0; j < frame.pitch[plane] * frame_rows(frame.format, plane, height); j++)
          frame_plane(&frame, plane)[j] = (uint8_t)(j * 37 + plane * 11 + 5);
      frame.pts = 77;
      before = frame_hold(&frame);
      assert_int_equal(mirror_frame(&mirrored, &frame, &err), 0);
      assert_true(frame.pts == 77 && frame.width == width && frame.picture != before.picture);
      for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
          pixel(&before, width - 1 - x, y, a);
          pixel(&frame, x, y, b);
          bool shares = width % 2 == 0 || (frame.format != PIXEL_YUV420P && frame.format != PIXEL_NV12 &&
                                           frame.format != PIXEL_P010 && frame.format != PIXEL_YUYV);
          if (a[0] != b[0] || (shares && (a[1] != b[1] || a[2] != b[2])))
            fail_msg("%s %dx%d: pixel %d,%d", frame_format_name(frame.format), width, height, x, y);
        }
      frame_release(&frame);
      frame_release(&before);
      host_pictures_free(&made);
      host_pictures_free(&mirrored);
    }
}

/* Gets the luma of the left and right edges of a source's next frame. */
static void read_edges(struct source *source, int *left, int *right) {
  struct frame frame = {0};
  struct error err;
  assert_int_equal(source_read(source, &frame, &err), 1);
  *left = frame.plane[0][0];
  *right = frame.plane[0][frame.width - 1];
  frame_release(&frame);
}

/* The mirror can change between two frames; a source that is no camera is mirrored only if the user says so. */
static void test_mirrored_source(void **state) {
  (void)state;
  struct mirror mirror = {.wish = MIRROR_AUTO};
  struct source *source;
  struct error err;
  const struct source_options options = {.mirror = &mirror};
  int left, right;
  const char *ramp = "lavfi:color=black:s=64x16,format=yuv420p,geq=lum='X*4':cb=128:cr=128";
  if (source_open(&source, ramp, &options, &err))
    fail_msg("%s", err.message);
  read_edges(source, &left, &right);
  assert_true(left < right && !mirror.now);
  mirror.wish = MIRROR_ON;
  read_edges(source, &left, &right);
  assert_true(left > right && mirror.now);
  source->is_mirror = true;
  mirror.wish = MIRROR_OFF;
  read_edges(source, &left, &right);
  assert_true(left < right && !mirror.now);
  mirror.wish = MIRROR_AUTO;
  read_edges(source, &left, &right);
  assert_true(left > right && mirror.now);
  source_close(&source);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mirrored_pixels),
      cmocka_unit_test(test_mirrored_source),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
