/* Tests the mask of inpainting models: in every pixel format, while frames are in flight, and what is refused.
 *
 *   test_mask GOLDENS DEVICE       skipped where there is no such device */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/fixture.h"
#include "tests/rigs/hidden_picture.h"
#include "tests/rigs/rig.h"

static char **args; /* arguments of the test program */

enum { MASK_WIDTH = 40, MASK_HEIGHT = 32 };

/* Makes a mask that is white in a disc, in its pixel format; chroma is grey. */
static void fill_mask(struct frame *mask, uint8_t *pixels) {
  int bytes = mask->format == PIXEL_RGBA || mask->format == PIXEL_BGRA ? 4 : mask->format == PIXEL_P010 ? 2 : 1;
  bytes = mask->format == PIXEL_YUYV ? 2 : bytes;
  *mask = (struct frame){.format = mask->format, .width = MASK_WIDTH, .height = MASK_HEIGHT, .range = RANGE_LIMITED};
  mask->plane[0] = mask->plane[1] = mask->plane[2] = pixels;
  mask->pitch[0] = mask->pitch[1] = mask->pitch[2] = bytes * MASK_WIDTH;
  for (int i = 0; i < MASK_WIDTH * MASK_HEIGHT; i++) {
    int x = i % MASK_WIDTH - 22, y = i / MASK_WIDTH - 14;
    bool white = x * x + y * y < 90;
    uint8_t *p = pixels + bytes * i;
    memset(p, bytes == 4 && white ? 255 : 0, (size_t)bytes);
    if (bytes == 4)
      p[3] = white ? 0 : 255; /* transparent within the disc */
    else
      p[mask->format == PIXEL_P010] = white ? 235 : 16;
  }
}

static uint8_t *masked(struct rig *rig, enum pixel_format format, enum mask_channel channel) {
  uint8_t pixels[4 * MASK_WIDTH * MASK_HEIGHT];
  struct frame mask = {.format = format};
  fill_mask(&mask, pixels);
  struct frame hidden = hidden_copy(&mask);
  must(engine_set_mask(rig->engine, &hidden, channel, &rig->err), &rig->err);
  frame_release(&hidden); /* the mask was copied, so its frame can be released */
  return generate_default(rig);
}

static void test_mask(void **state) {
  (void)state;
  static const enum pixel_format others[] = {PIXEL_BGRA, PIXEL_NV12, PIXEL_P010, PIXEL_YUV420P, PIXEL_YUYV};
  struct rig rig;
  rig_open(&rig, args, "inpaint", false);
  uint8_t *without = generate_default(&rig), *with = masked(&rig, PIXEL_RGBA, MASK_WHITE);
  assert_true(memcmp(without, with, picture_bytes(&rig)));
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    uint8_t *same = masked(&rig, others[i], MASK_WHITE);
    assert_memory_equal(same, with, picture_bytes(&rig));
    free(same);
  }
  must(engine_set_mask(rig.engine, NULL, MASK_WHITE, &rig.err), &rig.err);
  assert_same(&rig, without, generate_default(&rig));
  assert_same(&rig, with, masked(&rig, PIXEL_BGRA, MASK_TRANSPARENT));
  rig_close(&rig);
}

/* Frames in flight keep the mask that they were submitted with; another handle uses the newest mask. */
static void test_mask_in_flight(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "inpaint", false);
  uint8_t *without = generate_default(&rig), pixels[4 * MASK_WIDTH * MASK_HEIGHT];
  struct frame mask = {.format = PIXEL_RGBA}, picture;
  fill_mask(&mask, pixels);
  must(rig_submit(&rig, &rig.golden.frame), &rig.err);
  must(engine_set_mask(rig.engine, &mask, MASK_WHITE, &rig.err), &rig.err);
  must(rig_submit(&rig, &rig.golden.frame), &rig.err);
  collect_expected(&rig, without);
  must(rig_collect(&rig, &picture), &rig.err);
  uint8_t *with = picture_copy(&picture);
  assert_true(memcmp(without, with, picture_bytes(&rig)));
  free(without);
  must(rig_reshape(&rig, 48, 48, 0), &rig.err);
  must(rig_reshape(&rig, rig.golden.frame.width, rig.golden.frame.height, 0), &rig.err);
  assert_same(&rig, with, generate_default(&rig));
  rig_close(&rig);
}

/* Returns the picture of the golden's frame shifted to the left by this many pixels; the caller frees it. */
static uint8_t *moved(struct rig *rig, int pixels, bool restart) {
  struct frame frame = rig->golden.frame;
  size_t pitch = (size_t)frame.pitch[0], shift = 4 * (size_t)pixels;
  uint8_t *copy = malloc(pitch * (size_t)frame.height);
  for (int y = 0; y < frame.height; y++)
    for (size_t x = 0; x < pitch; x++)
      copy[(size_t)y * pitch + x] = frame.plane[0][(size_t)y * pitch + (x + shift) % pitch];
  frame.plane[0] = copy;
  struct engine_result result;
  const struct engine_request request = {
      .prepared = rig->prepared, .controls = &rig->controls, .frame = &frame, .restart = restart};
  must(engine_submit(rig->engine, &request, &rig->err), &rig->err);
  must(engine_collect(rig->engine, &result, &rig->err), &rig->err);
  free(copy);
  return picture_copy(&result.picture);
}

/* Returns the sum of the differences of two pictures in the columns from `first` to `last` - 1. */
static long difference(const struct rig *rig, const uint8_t *a, const uint8_t *b, int first, int last) {
  int width = rig->golden.frame.width;
  long sum = 0;
  for (int i = 0; i < width * rig->golden.frame.height; i++)
    for (int c = 0; i % width >= first && i % width < last && c < 3; c++)
      sum += abs(a[4 * i + c] - b[4 * i + c]);
  return sum;
}

/* Returns the last picture of a pan with a mask that repaints the quarter at the left (0) or right (1); -1: a mask that
 * repaints all. The caller frees it. */
static uint8_t *panned(struct rig *rig, int right) {
  enum { FRAMES = 4, STEP = 4 };
  uint8_t pixels[MASK_WIDTH * MASK_HEIGHT * 4], *made = NULL;
  for (int i = 0; i < MASK_WIDTH * MASK_HEIGHT; i++) {
    int x = i % MASK_WIDTH;
    memset(pixels + 4 * i, (right ? MASK_WIDTH - 1 - x : x) < MASK_WIDTH / 4 ? 255 : 0, 4);
  }
  const struct frame mask = {
      .format = PIXEL_RGBA, .width = MASK_WIDTH, .height = MASK_HEIGHT, .plane = {pixels}, .pitch = {4 * MASK_WIDTH}};
  must(engine_set_mask(rig->engine, right < 0 ? NULL : &mask, MASK_WHITE, &rig->err), &rig->err);
  for (int i = 0; i < FRAMES; i++) {
    free(made);
    made = moved(rig, STEP * i, i == 0);
  }
  return made;
}

/* On a canvas that follows the camera the mask keeps its position in the picture, however far the canvas has moved:
 * within the mask, the picture is nearer to one that was repainted everywhere. */
static void test_mask_on_a_canvas(void **state) {
  (void)state;
  struct rig rig;
  struct prepared_info info;
  rig_open(&rig, args, "inpaint", false);
  int width = rig.golden.frame.width, quarter = width / 4;
  prepared_get_info(rig.prepared, &info);
  info.shape.canvas = CANVAS_FOLLOW;
  must(engine_prepare(rig.engine, &info.shape, &rig.prepared, &rig.err), &rig.err);
  uint8_t *anew = panned(&rig, -1), *left = panned(&rig, 0), *right = panned(&rig, 1);
  assert_true(difference(&rig, left, anew, 0, quarter) < difference(&rig, right, anew, 0, quarter));
  assert_true(difference(&rig, right, anew, width - quarter, width) <
              difference(&rig, left, anew, width - quarter, width));
  free(anew);
  free(left);
  free(right);
  rig_close(&rig);
}

static void test_mask_refusals(void **state) {
  (void)state;
  struct rig rig;
  uint8_t pixels[4 * MASK_WIDTH * MASK_HEIGHT];
  struct frame mask = {.format = PIXEL_NV12};
  fill_mask(&mask, pixels);
  rig_open(&rig, args, "turbo", false);
  assert_int_equal(engine_set_mask(rig.engine, &mask, MASK_WHITE, &rig.err), -1);
  assert_error(&rig.err, STATUS_USAGE, "inpainting");
  rig_close(&rig);
  rig_open(&rig, args, "inpaint", false);
  assert_int_equal(engine_set_mask(rig.engine, &mask, MASK_TRANSPARENT, &rig.err), -1);
  assert_error(&rig.err, STATUS_INPUT, "alpha");
  assert_int_equal(engine_set_mask(rig.engine, &(struct frame){.format = PIXEL_RGBA}, MASK_WHITE, &rig.err), -1);
  assert_error(&rig.err, STATUS_INPUT, "pixels");
  rig_close(&rig);
}

int main(int argc, char **argv) {
  args = argv;
  int status = golden_arguments(argc, argv, "inpaint");
  if (status)
    return status;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mask),
      cmocka_unit_test(test_mask_in_flight),
      cmocka_unit_test(test_mask_on_a_canvas),
      cmocka_unit_test(test_mask_refusals),
  };
  char *tuning = fixture_make(); /* so that all engines choose the same kernels, and their pictures can be compared */
  setenv("TUNING_DIR", tuning, 1);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  fixture_remove(tuning);
  return failed;
}
