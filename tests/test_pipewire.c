/* Tests video through PipeWire: an output of the program as a PipeWire node, and the same node as a source.
 * test_pipewire.py runs this in a PipeWire session of its own. */
#include "tests/rigs/cmocka_all.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "app/sink/sink.h"
#include "unet/base/platform.h"

enum { WIDTH = 96, HEIGHT = 64, READ = 5, STEP_MS = 10 };

/* A thread that writes frames into a node until `end` is set. */
struct writer {
  pthread_t thread;
  const char *spec;
  int width, height; /* size of the frames; the node's size is WIDTH x HEIGHT */
  atomic_bool begun, ends;
  atomic_int failures;
};

/* Writes frames that contain their number n: luma n % 200 + 20 in the upper half, n / 200 + 20 in the lower half. */
static void *write_frames(void *opaque) {
  struct writer *writer = opaque;
  static uint8_t pixels[2 * WIDTH * HEIGHT * 3 / 2];
  int luma = writer->width * writer->height;
  const struct sink_options options = {
      .format = PIXEL_YUV420P, .width = WIDTH, .height = HEIGHT, .time_base_num = 1, .time_base_den = 25, .fps = 25};
  struct frame frame = {.format = PIXEL_YUV420P,
                        .matrix = MATRIX_BT709,
                        .range = RANGE_LIMITED,
                        .width = writer->width,
                        .height = writer->height,
                        .plane = {pixels, pixels + luma, pixels + luma * 5 / 4},
                        .pitch = {writer->width, writer->width / 2, writer->width / 2}};
  struct sink *sink;
  struct error err;
  writer->failures += sink_open(&sink, writer->spec, &options, &err) != 0;
  writer->begun = true;
  memset(pixels + luma, 90, (size_t)luma / 4);
  memset(pixels + luma * 5 / 4, 160, (size_t)luma / 4);
  while (sink && !writer->ends) {
    memset(pixels, 20 + (int)(frame.pts % 200), (size_t)luma / 2);
    memset(pixels + luma / 2, 20 + (int)(frame.pts / 200 % 200), (size_t)luma / 2);
    writer->failures += sink->impl->write(sink, &frame, &err) != 0;
    frame.pts++;
    platform_sleep_ns(STEP_MS * 1000000);
  }
  sink_close(&sink);
  return NULL;
}

static void begin(struct writer *writer) {
  assert_int_equal(pthread_create(&writer->thread, NULL, write_frames, writer), 0);
  while (!writer->begun)
    platform_sleep_ns(STEP_MS * 1000000);
}

static void end(struct writer *writer) {
  writer->ends = true;
  pthread_join(writer->thread, NULL);
  assert_int_equal(writer->failures, 0);
}

/* Opens a source whose node exists. On a busy machine the session manager may take long to connect it. */
static struct source *opened(const char *spec) {
  enum { TRIES = 12 }; /* number of tries, of five seconds each */
  struct source *source;
  struct error err;
  const struct source_options options = {.live = true};
  for (int i = 0; i < TRIES; i++)
    if (!source_open(&source, spec, &options, &err))
      return source;
  fail_msg("%s", err.message);
  return NULL;
}

/* True if these rows of a plane have this value. */
static bool all_equal(const struct frame *frame, int plane, int first, int end, int value) {
  for (int y = first; y < end; y++)
    for (int x = 0; x < frame_row_bytes(frame->format, plane, frame->width); x++)
      if (frame->plane[plane][y * frame->pitch[plane] + x] != value)
        return false;
  return true;
}

/* Returns the number that a frame shows; -1: it shows none. */
static int number_of(const struct frame *frame) {
  const uint8_t *luma = frame->plane[0];
  int upper = luma[0], lower = luma[(HEIGHT - 1) * frame->pitch[0]];
  bool whole = all_equal(frame, 0, 0, HEIGHT / 2, upper) && all_equal(frame, 0, HEIGHT / 2, HEIGHT, lower) &&
               all_equal(frame, 1, 0, HEIGHT / 2, 90) && all_equal(frame, 2, 0, HEIGHT / 2, 160);
  return whole ? upper - 20 + 200 * (lower - 20) : -1;
}

/* --- the tests --- */

static void test_frames_come_as_they_were_written(void **state) {
  (void)state;
  struct writer writer = {.spec = "pipewire:reverie-test", .width = WIDTH, .height = HEIGHT};
  struct error err;
  struct source_info info;
  struct frame frame;
  int last = -1;
  begin(&writer);
  struct source *source = opened("pipewire:reverie-test");
  source_get_info(source, &info);
  assert_true(info.width == WIDTH && info.height == HEIGHT && info.fps == 25 && info.realtime && info.returns);
  assert_string_equal(info.description, "pipewire:reverie-test 96x64, 25 fps");
  for (int i = 0; i < READ; i++) {
    assert_int_equal(source_read(source, &frame, &err), 1);
    assert_true(frame.format == PIXEL_YUV420P && frame.matrix == MATRIX_BT709 && frame.range == RANGE_LIMITED);
    assert_true(frame.width == WIDTH && frame.height == HEIGHT);
    assert_true(number_of(&frame) > last);
    last = number_of(&frame);
    frame_release(&frame);
  }
  end(&writer);
  int got; /* frames in flight come first, then the end */
  while ((got = source_read(source, &frame, &err)) == 1)
    frame_release(&frame);
  assert_int_equal(got, 0);
  source_close(&source);
}

/* Frames of another shape are placed between black bars. */
static void test_frames_of_another_size(void **state) {
  (void)state;
  struct writer writer = {.spec = "pipewire:", .width = 64, .height = 64};
  struct error err;
  struct frame frame;
  begin(&writer);
  struct source *source = opened("pipewire:reverie");
  assert_int_equal(source_read(source, &frame, &err), 1);
  assert_int_equal(frame.width, WIDTH);
  assert_int_equal(frame.plane[0][0], 16);
  assert_true(frame.plane[0][WIDTH / 2] >= 20);
  assert_int_equal(frame.plane[0][WIDTH - 1], 16);
  frame_release(&frame);
  source_close(&source);
  end(&writer);
}

static void test_a_node_that_is_not_there(void **state) {
  (void)state;
  struct writer writer = {.spec = "pipewire:other", .width = WIDTH, .height = HEIGHT};
  struct source *source;
  struct error err;
  const struct source_options options = {.live = true};
  begin(&writer);
  /* the node that exists must not be used in its place */
  assert_int_equal(source_open(&source, "pipewire:nobody", &options, &err), -1);
  assert_int_equal(err.status, STATUS_INPUT);
  assert_non_null(strstr(err.message, "pipewire:nobody"));
  end(&writer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_frames_come_as_they_were_written),
      cmocka_unit_test(test_frames_of_another_size),
      cmocka_unit_test(test_a_node_that_is_not_there),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
