/* Tests fades from one source to another, in every format and shape: the first frame of a fade is that of the source
 * that fades out, the last one that of the source that fades in. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/source/dissolve.h"
#include "app/source/mixer.h"
#include "tests/rigs/fake_hardware.h"
#include "unet/base/channels.h"
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
  static const int sizes[][2] = {{64, 48}, {64, 48}, {128, 72}, {50, 90}, {51, 33}, {2, 2}};
  struct dissolve dissolve;
  struct error err;
  dissolve_init(&dissolve, &(struct gpu){.impl = NULL});
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
  struct dissolve dissolve;
  struct error err;
  dissolve_init(&dissolve, &(struct gpu){.impl = NULL});
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

/* --- frames in a GPU's memory --- */

static struct surfaces surfaces;

/* Makes a frame in host memory whose colours change smoothly, other ones for each seed. */
static struct frame smooth(int pool, enum pixel_format format, int width, int height, int seed) {
  struct frame frame = grey(pool, format, width, height, 0);
  frame.matrix = (enum color_matrix)(seed % 3);
  frame.range = seed / 3 % 2 ? RANGE_FULL : RANGE_LIMITED;
  for (int i = 0; i < 3; i++) {
    struct channel channel = frame_channel(&frame, i);
    for (int y = 0; y < channel.height; y++)
      for (int x = 0; x < channel.width; x++) {
        double across = (x + 0.5) / channel.width, down = (y + 0.5) / channel.height;
        double value = 128 + (i ? 30 : 70) * sin(2 * across + 3 * down * (seed % 2 ? 1 : -1) + i + seed);
        channel_store(&channel, x, y, (int)lrint(channel.ten_bits ? 4 * value : value));
      }
  }
  return frame;
}

/* Makes a frame in the fake GPU's memory with the pixels of a frame in host memory. */
static struct frame bring_up(const struct frame *frame) {
  struct frame there = *frame;
  struct gpu_share *share;
  struct error err;
  uint8_t *plane[3] = {NULL};
  there.pitch[0] = there.pitch[1] = 512;
  assert_int_equal(surfaces_take(&surfaces, &fake_gpu, &there, &share, &err), 1);
  for (int i = 0; i < 2; i++)
    plane[i] = there.picture->device_plane[i];
  assert_ptr_equal(plane[0], share->memory);
  frame_copy_pixels(plane, there.pitch, frame);
  return there;
}

/* Fails the test unless two frames of the same layout have about the same samples where they are seen: in the middle,
 * of this shape, less the samples at its border, which swscale makes in ways of its own. most: largest difference
 * allowed, of 8 bits; 0: all samples are the same, those at the border as well. */
static void assert_alike(const struct frame *a, const struct frame *b, double shape, int most) {
  assert_true(a->format == b->format && a->width == b->width && a->height == b->height);
  for (int i = 0; i < 3; i++) {
    struct channel one = frame_channel(a, i), other = frame_channel(b, i);
    double seen = shape > 0 ? shape : (double)a->width / a->height;
    double wide = fmin(1, seen * a->height / a->width), high = fmin(1, a->width / (seen * a->height));
    int left = most ? 4 + (int)(one.width * (1 - wide) / 2) : 0,
        top = most ? 4 + (int)(one.height * (1 - high) / 2) : 0;
    for (int y = top; y < one.height - top; y++)
      for (int x = left; x < one.width - left; x++) {
        int difference = channel_sample(&one, x, y) - channel_sample(&other, x, y);
        if (abs(difference) > most * (one.ten_bits ? 4 : 1))
          fail_msg("%s %dx%d, channel %d at %d, %d: %d is off by %d", frame_format_name(a->format), a->width, a->height,
                   i, x, y, channel_sample(&one, x, y), difference);
      }
  }
}

/* Mixes two frames, each of which is on the fake GPU or not, and compares the result with the mixture of the same
 * frames in host memory. from_there, to_there: true: the frame is on the GPU. */
static void compare_places(struct frame from, struct frame to, bool from_there, bool to_there, double shape,
                           float share) {
  struct dissolve here, there;
  struct error err;
  bool same = from.format == to.format && from.width == to.width && from.height == to.height &&
              from.matrix == to.matrix && from.range == to.range;
  struct frame a = from_there ? bring_up(&from) : frame_hold(&from), b = to_there ? bring_up(&to) : frame_hold(&to);
  struct frame expected, got;
  dissolve_init(&here, &(struct gpu){.impl = NULL});
  dissolve_init(&there, &fake_gpu);
  gpu_state.mixed = gpu_state.downloads = 0;
  assert_int_equal(dissolve_mix(&here, &from, &to, shape, share, &expected, &err), 0);
  assert_int_equal(dissolve_mix(&there, &a, &b, shape, share, &got, &err), 0);
  assert_true(frame_on_gpu(&got, &fake_gpu.id) == to_there && gpu_state.mixed == to_there);
  assert_int_equal(gpu_state.downloads, from_there && !to_there); /* a frame that is mixed there is not brought down */
  assert_int_equal(frame_wait(&got, MEMORY_HOST, &err), 0);
  assert_true(got.pts == to.pts && got.matrix == to.matrix && got.range == to.range);
  assert_alike(&got, &expected, shape, same || !to_there || !from_there ? 0 : 3);
  if (to_there && shape == 1 && to.width > 2 * to.height) { /* what is not seen of the frame that fades out is black */
    struct channel luma = frame_channel(&got, 0), was = frame_channel(&to, 0);
    int black = (to.range == RANGE_FULL ? 0 : 16) * (luma.ten_bits ? 4 : 1);
    float mixed = (float)black + share * (float)(channel_sample(&was, 0, 0) - black);
    assert_true(fabsf((float)channel_sample(&luma, 0, 0) - mixed) < 2);
  }
  frame_release(&expected);
  frame_release(&got);
  frame_release(&a);
  frame_release(&b);
  dissolve_free(&here);
  dissolve_free(&there);
}

static const int of_surfaces[][2] = {{64, 48}, {96, 40}, {175, 99}, {31, 66}};
enum { OF_SURFACES = sizeof of_surfaces / sizeof *of_surfaces };

/* Frames that the GPU decodes are mixed in its memory, in every format, size, matrix and range, and look as if they
 * were mixed in the host's; those of one layout have the same bits. */
static void test_mixed_on_the_gpu(void **state) {
  (void)state;
  for (int seed = 0; seed < 6 * 2 * 2 * OF_SURFACES; seed++) {
    enum pixel_format a = seed / 6 % 2 ? PIXEL_P010 : PIXEL_NV12, b = seed / 12 % 2 ? PIXEL_P010 : PIXEL_NV12;
    const int *size = of_surfaces[seed / 24];
    struct frame from = smooth(0, a, 64, 48, seed), to = smooth(1, b, size[0], size[1], seed % 4 ? 5 * seed + 1 : seed);
    to.pts = seed;
    compare_places(from, to, true, true, seed % 2 ? 1 : 0, (float)(seed % 5) / 4);
    frame_release(&from);
    frame_release(&to);
  }
}

/* If only one of the frames is on the GPU, they are mixed where the one that fades in is. */
static void test_mixed_across(void **state) {
  (void)state;
  for (enum pixel_format format = 0; format < PIXEL_FORMATS; format++)
    for (int size = 0; size < OF_SURFACES; size++) {
      struct frame camera = smooth(0, format, 70, 50, 1),
                   clip = smooth(1, size % 2 ? PIXEL_P010 : PIXEL_NV12, of_surfaces[size][0], of_surfaces[size][1], 1);
      compare_places(camera, clip, false, true, 1, 0.5f);
      compare_places(clip, camera, true, false, 1, 0.5f);
      frame_release(&camera);
      frame_release(&clip);
    }
}

/* Frames of one shape are mixed up to their borders, also where a side is odd: there is no black row or column. */
static void test_odd_sides(void **state) {
  (void)state;
  static const int sizes[][2] = {{101, 69}, {103, 67}, {1, 1}, {5, 1}};
  struct error err;
  for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++)
    for (int there = 0; there < 2; there++) {
      int width = sizes[size][0], height = sizes[size][1];
      struct frame from = grey(0, PIXEL_P010, width, height, 200), to = grey(1, PIXEL_NV12, width, height, 200), out;
      struct frame a = there ? bring_up(&from) : frame_hold(&from), b = there ? bring_up(&to) : frame_hold(&to);
      struct dissolve dissolve;
      dissolve_init(&dissolve, there ? &fake_gpu : &(struct gpu){.impl = NULL});
      assert_int_equal(dissolve_mix(&dissolve, &a, &b, 1, 0.25f, &out, &err), 0);
      assert_true(frame_wait(&out, MEMORY_HOST, &err) == 0 && frame_on_gpu(&out, &fake_gpu.id) == there);
      for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
          if (abs(out.plane[0][y * out.pitch[0] + x] - 200) > 2)
            fail_msg("%dx%d: %d at %d, %d", width, height, out.plane[0][y * out.pitch[0] + x], x, y);
      frame_release(&out);
      frame_release(&a);
      frame_release(&b);
      frame_release(&from);
      frame_release(&to);
      dissolve_free(&dissolve);
    }
}

/* If the GPU cannot mix, or has no memory for it, frames are mixed in host memory. */
static void test_gpu_that_cannot_mix(void **state) {
  (void)state;
  struct dissolve dissolve;
  struct error err;
  struct frame from = smooth(0, PIXEL_NV12, 64, 48, 0), to = smooth(1, PIXEL_NV12, 64, 48, 1), out;
  struct frame a = bring_up(&from), b = bring_up(&to);
  for (int full = 0; full < 2; full++) {
    dissolve_init(&dissolve, &fake_gpu);
    *(full ? &gpu_state.full : &gpu_state.broken) = true;
    assert_int_equal(dissolve_mix(&dissolve, &a, &b, 1, 0.25f, &out, &err), 0);
    gpu_state.broken = gpu_state.full = false;
    assert_false(frame_on_gpu(&out, &fake_gpu.id));
    frame_release(&out);
    dissolve_free(&dissolve);
  }
  frame_release(&from);
  frame_release(&to);
  frame_release(&a);
  frame_release(&b);
}

static int free_surfaces(void **state) {
  (void)state;
  surfaces_free(&surfaces);
  assert_int_equal(gpu_state.memory + gpu_state.fences + gpu_state.locked + gpu_state.shares, 0);
  return 0;
}

/* --- mixers --- */

struct rig {
  struct mailbox out;
  struct mixer *mixer;
};

static void begin_with(struct rig *rig, double seconds, const struct gpu *gpu) {
  struct error err;
  mailbox_init(&rig->out);
  assert_int_equal(mixer_open(&rig->mixer, &rig->out, gpu, NULL, &err), 0);
  mixer_set_fade(rig->mixer, seconds, 1);
}

static void begin(struct rig *rig, double seconds) {
  begin_with(rig, seconds, &(struct gpu){.impl = NULL});
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

/* Frames that a GPU decodes fade as others do, and none of them is brought to the host. */
static void test_decoded_frames_fade(void **state) {
  (void)state;
  struct rig rig;
  struct error err;
  begin_with(&rig, 0.05, &fake_gpu);
  gpu_state.downloads = gpu_state.mixed = 0;
  for (int value = 40; value <= 200; value += 160) {
    struct frame frame = grey(0, PIXEL_NV12, 32, 32, value), there = bring_up(&frame);
    mixer_put(rig.mixer, MIXER_LIST, &there, true);
    frame_release(&frame);
  }
  const struct frame *frame = take(&rig);
  while (mixer_fades(rig.mixer)) {
    frame = take(&rig);
    assert_true(frame_on_gpu(frame, &fake_gpu.id));
  }
  assert_int_equal(gpu_state.downloads, 0);
  assert_true(gpu_state.mixed > 0);
  assert_int_equal(frame_wait(frame, MEMORY_HOST, &err), 0);
  end(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_formats_and_shapes),
      cmocka_unit_test(test_shape_that_is_seen),
      cmocka_unit_test(test_mixed_on_the_gpu),
      cmocka_unit_test(test_mixed_across),
      cmocka_unit_test(test_odd_sides),
      cmocka_unit_test(test_gpu_that_cannot_mix),
      cmocka_unit_test(test_picture_fades_in),
      cmocka_unit_test(test_leaving_source_moves),
      cmocka_unit_test_teardown(test_decoded_frames_fade, free_surfaces),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  for (int i = 0; i < 2; i++)
    host_pictures_free(&pictures[i]);
  return failed;
}
