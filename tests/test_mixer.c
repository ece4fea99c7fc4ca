/* Tests fades from one source to another, in every format and shape: the first frame of a fade is that of the source
 * that fades out, the last one that of the source that fades in. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/source/dissolve.h"
#include "app/source/mixer.h"
#include "unet/base/platform.h"

enum { PATIENCE_MS = 60000 };

static struct host_pictures pictures[2];

/* Makes a frame of one grey value, from 0 to 255 in every format. */
static struct frame grey(int pool, enum pixel_format format, int width, int height, int value) {
  struct frame frame;
  struct error err;
  bool rgb = format == PIXEL_RGBA || format == PIXEL_BGRA;
  assert_int_equal(host_pictures_take(&pictures[pool], format, width, height, &frame, &err), 0);
  frame.range = RANGE_FULL;
  for (int i = 0; i < frame_planes(format); i++)
    for (int at = 0; at < frame.pitch[i] * frame_rows(format, i, height); at++) {
      bool chroma = !rgb && (i || (format == PIXEL_YUYV && at % 2));
      frame_plane(&frame, i)[at] = (uint8_t)(format == PIXEL_P010 && at % 2 == 0 ? 0 : chroma ? 128 : value);
    }
  return frame;
}

/* Returns the brightness of the frame's middle, 0 to 255. */
static int middle(const struct frame *frame) {
  bool rgb = frame->format == PIXEL_RGBA || frame->format == PIXEL_BGRA;
  int step = rgb ? 4 : frame->format == PIXEL_P010 || frame->format == PIXEL_YUYV ? 2 : 1;
  const uint8_t *pixel = frame->plane[0] + (ptrdiff_t)frame->pitch[0] * (frame->height / 2) + step * (frame->width / 2);
  return pixel[frame->format == PIXEL_P010];
}

static void test_formats_and_shapes(void **state) {
  (void)state;
  static const int sizes[][2] = {{64, 48}, {64, 48}, {128, 72}, {50, 90}, {2, 2}};
  struct dissolve dissolve = {.from = {.picture = NULL}};
  struct error err;
  for (enum pixel_format a = 0; a < PIXEL_FORMATS; a++)
    for (enum pixel_format b = 0; b < PIXEL_FORMATS; b++)
      for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++) {
        struct frame from = grey(0, a, 64, 48, 40), to = grey(1, b, sizes[size][0], sizes[size][1], 200), out;
        to.pts = 77;
        for (int part = 0; part <= 4; part++) {
          float share = (float)part / 4;
          if (dissolve_mix(&dissolve, &from, &to, 4.0 / 3, share, &out, &err))
            fail_msg("%s", err.message);
          assert_true(out.format == b && out.width == to.width && out.height == to.height && out.pts == 77);
          if (abs(middle(&out) - (40 + 40 * part)) > 4)
            fail_msg("%s to %s, %d of 4: %d", frame_format_name(a), frame_format_name(b), part, middle(&out));
          frame_release(&out);
        }
        frame_release(&from);
        frame_release(&to);
      }
  dissolve_free(&dissolve);
}

/* Pictures are cropped to a square: the part of the frame that fades out which was seen before the fade is the part
 * that is mixed in. */
static void test_shape_that_is_seen(void **state) {
  (void)state;
  struct dissolve dissolve = {.from = {.picture = NULL}};
  struct error err;
  struct frame from = grey(0, PIXEL_RGBA, 160, 80, 0), to = grey(1, PIXEL_RGBA, 80, 160, 0), out;
  for (int y = 0; y < 80; y++) /* the square in the frame's middle, which is seen, is white */
    memset(frame_plane(&from, 0) + y * from.pitch[0] + 4 * 40, 255, 4 * 80);
  assert_int_equal(dissolve_mix(&dissolve, &from, &to, 1, 0, &out, &err), 0);
  for (int y = 0; y < 160; y++)
    for (int x = 2; x < 78; x++) {
      bool inside = y >= 42 && y < 118, outside = y < 38 || y >= 122;
      int value = out.plane[0][y * out.pitch[0] + 4 * x];
      assert_true((!inside || value > 250) && (!outside || value < 5));
    }
  frame_release(&out);
  frame_release(&from);
  frame_release(&to);
  dissolve_free(&dissolve);
}

struct rig {
  struct mailbox out;
  struct mixer *mixer;
};

static void begin(struct rig *rig, double seconds) {
  struct error err;
  mailbox_init(&rig->out);
  assert_int_equal(mixer_open(&rig->mixer, &rig->out, &(struct gpu){.impl = NULL}, NULL, &err), 0);
  mixer_set_fade(rig->mixer, seconds, 1);
}

static void end(struct rig *rig) {
  mixer_close(&rig->mixer);
  mailbox_free(&rig->out);
}

static void put(struct rig *rig, enum mixer_input input, int value, bool begins) {
  struct frame frame = grey(input == MIXER_LIST, PIXEL_NV12, 32, 32, value);
  frame.stretch = begins;
  mixer_put(rig->mixer, input, &frame, begins);
}

/* Takes the newest frame out of the mailbox, and waits until there is one. */
static const struct frame *take(struct rig *rig) {
  const struct mail *mail = NULL;
  assert_int_equal(mailbox_take(&rig->out, &mail, PATIENCE_MS), 1);
  return &mail->frame;
}

/* A single picture fades in without further frames of a source, and completely; a fade begins no new stretch. The last
 * mixtures may look like the picture already, so the end of the fade is waited for, too. */
static void test_picture_fades_in(void **state) {
  (void)state;
  struct rig rig;
  begin(&rig, 0.2);
  put(&rig, MIXER_LIST, 40, true);
  uint64_t stretch = take(&rig)->stretch;
  put(&rig, MIXER_LIST, 200, true);
  for (int before = 40; before < 200 || mixer_fades(rig.mixer);) {
    const struct frame *frame = take(&rig);
    assert_true(middle(frame) >= before && frame->stretch == stretch);
    before = middle(frame);
  }
  end(&rig);
}

/* The source that fades out goes on giving frames, which are mixed in, but cause no picture by themselves. If the
 * source that fades in starts again, a new stretch begins. */
static void test_leaving_source_moves(void **state) {
  (void)state;
  struct rig rig;
  begin(&rig, 3600);
  put(&rig, MIXER_LIST, 40, true);
  uint64_t stretch = take(&rig)->stretch;
  put(&rig, MIXER_LEAVING, 10, false); /* there is no fade yet, so this frame is dropped */
  put(&rig, MIXER_LIST, 200, true);
  assert_true(abs(middle(take(&rig)) - 40) < 5);
  put(&rig, MIXER_LEAVING, 120, false);
  put(&rig, MIXER_LIST, 200, false);
  const struct frame *frame = take(&rig);
  assert_true(abs(middle(frame) - 120) < 5 && frame->stretch > stretch);
  /* a third source begins during the fade: the mixture that is seen stands still while it fades out */
  put(&rig, MIXER_LIST, 10, true);
  put(&rig, MIXER_LEAVING, 250, false);
  put(&rig, MIXER_LIST, 10, false);
  assert_true(abs(middle(take(&rig)) - 120) < 5);
  mixer_set_fade(rig.mixer, 0, 1);
  put(&rig, MIXER_LIST, 200, true);
  assert_int_equal(middle(take(&rig)), 200);
  assert_false(mixer_fades(rig.mixer));
  end(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_formats_and_shapes),
      cmocka_unit_test(test_shape_that_is_seen),
      cmocka_unit_test(test_picture_fades_in),
      cmocka_unit_test(test_leaving_source_moves),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  for (int i = 0; i < 2; i++)
    host_pictures_free(&pictures[i]);
  return failed;
}
