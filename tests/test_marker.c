/* Tests the marker (blocks in a corner of each frame) that bench --live reads from the window, and what it counts. */
#include "tests/rigs/cmocka_all.h"

#include <libavutil/pixfmt.h>
#include <libswscale/swscale.h>
#include <stdlib.h>

#include "app/live/sightings.h"
#include "app/source/marker.h"
#include "app/source/source.h"
#include "unet/base/picture.h"

static const struct marker example = {0xdeadbeef, 0x123456789abcL};

static void draw(struct host_pictures *pictures, struct frame *frame, int width, int height) {
  struct error err;
  assert_int_equal(host_pictures_take(pictures, PIXEL_YUV420P, width, height, frame, &err), 0);
  for (int plane = 0; plane < 3; plane++)
    for (int y = 0; y < frame_rows(PIXEL_YUV420P, plane, height); y++)
      for (int x = 0; x < frame->pitch[plane]; x++)
        frame_plane(frame, plane)[y * frame->pitch[plane] + x] = (uint8_t)(x * 7 + y * 13);
  marker_draw(frame, &example);
}

/* Gets the green values at the centres of the marker's blocks. */
static void look(const uint8_t *rgba, int width, int height, uint8_t level[MARKER_BLOCKS]) {
  double shape = (double)width / height;
  for (int y = 0; y < MARKER_ROWS; y++)
    for (int x = 0; x < MARKER_COLUMNS; x++)
      level[y * MARKER_COLUMNS + x] =
          rgba[4 * ((int)(marker_y(y) * height) * width + (int)(marker_x(x, shape) * width)) + 1];
}

/* The marker can be read after scaling as in the window and stronger, and with chroma at half the resolution. */
static void test_read_after_resize(void **state) {
  (void)state;
  static const int sizes[][4] = {{512, 512, 512, 512}, {512, 512, 720, 720}, {640, 360, 960, 540}, {96, 96, 720, 720},
                                 {513, 289, 255, 144}, {320, 640, 360, 720}, {1024, 576, 171, 96}};
  static const int ways[] = {SWS_POINT, SWS_FAST_BILINEAR, SWS_BICUBIC, SWS_AREA};
  for (size_t i = 0; i < 4 * sizeof sizes / sizeof *sizes; i++) {
    const int *size = sizes[i / 4], width = size[2], height = size[3];
    struct host_pictures pictures = {0};
    struct frame frame;
    struct marker marker;
    uint8_t level[MARKER_BLOCKS], *rgba = malloc((size_t)(4 * width * height));
    assert_non_null(rgba);
    draw(&pictures, &frame, size[0], size[1]);
    struct SwsContext *sws = sws_getContext(size[0], size[1], AV_PIX_FMT_YUV420P, width, height, AV_PIX_FMT_RGBA,
                                            ways[i % 4], NULL, NULL, NULL);
    assert_non_null(sws);
    sws_scale(sws, frame.plane, frame.pitch, 0, size[1], (uint8_t *const[]){rgba}, (const int[]){4 * width});
    look(rgba, width, height, level);
    if (!marker_read(level, &marker) || marker.number != example.number || marker.time_us != example.time_us)
      fail_msg("%dx%d as %dx%d (%d) is read as %u, %ld", size[0], size[1], width, height, ways[i % 4], marker.number,
               (long)marker.time_us);
    for (int block = 0; block < MARKER_BLOCKS; block++) {
      level[block] ^= 0xff;
      assert_false(marker_read(level, &marker));
      level[block] ^= 0xff;
    }
    sws_freeContext(sws);
    free(rgba);
    frame_release(&frame);
    host_pictures_free(&pictures);
  }
}

static void test_nothing_is_no_marker(void **state) {
  (void)state;
  struct marker marker;
  uint8_t level[MARKER_BLOCKS] = {0};
  assert_false(marker_read(level, &marker));
  memset(level, 255, sizeof level);
  assert_false(marker_read(level, &marker));
}

static void see(struct sightings *s, uint32_t number, int captured_ms, int presented_ms) {
  int64_t ms = 1000000;
  sightings_add(s, &(struct sighting){.read = true,
                                      .number = number,
                                      .captured_ns = captured_ms * ms,
                                      .submitted_ns = (captured_ms + 1) * ms,
                                      .finished_ns = (captured_ms + 3) * ms,
                                      .presented_ns = presented_ms * ms,
                                      .frame_ms = 2});
}

static void test_counts(void **state) {
  (void)state;
  struct sightings s = {.deadline_ms = 10};
  see(&s, 7, 100, 105);
  see(&s, 8, 110, 121); /* 11 ms after the frame before */
  see(&s, 8, 110, 125);
  see(&s, 12, 150, 157);
  sightings_add(&s, &(struct sighting){.presented_ns = 205000000});
  assert_int_equal(s.presented, 5);
  assert_int_equal(s.unread, 1);
  assert_int_equal(s.repeated, 1);
  assert_int_equal(s.dropped, 3);
  assert_int_equal(s.missed, 1);
  assert_true(s.missed_by[MISS_WINDOW] == 1 && !s.missed_by[MISS_ENGINE] && !s.missed_by[MISS_WAITING]);
  assert_int_equal(s.latency.count, 3);
  assert_true(s.latency.min_ms == 5 && s.latency.max_ms == 11);
  assert_true(s.taken.max_ms == 1 && s.finished.max_ms == 2 && s.shown.max_ms == 8);
  assert_true(sightings_rate(&s) == 40);
}

/* The stage that took most time beyond its usual time is named as the reason of a delay. */
static void test_reasons(void **state) {
  (void)state;
  struct sightings s = {.deadline_ms = 10, .engine_ms = 3};
  const int64_t ms = 1000000;
  const struct sighting waited = {true, 1, 100 * ms, 106 * ms, 110 * ms, 112 * ms},
                        long_run = {true, 2, 200 * ms, 203 * ms, 210 * ms, 212 * ms, .device_ms = 6.5};
  sightings_add(&s, &waited);
  sightings_add(&s, &long_run);
  assert_int_equal(s.missed, 2);
  assert_true(s.missed_by[MISS_WAITING] == 1 && s.missed_by[MISS_ENGINE] == 1 && !s.missed_by[MISS_WINDOW]);
  assert_true(s.late[0].device_ms == 0 && s.late[1].engine_ms == 7 && s.late[1].device_ms == 6.5);
}

/* The pattern source reports the same numbers as the markers in its frames. */
static void test_source(void **state) {
  (void)state;
  struct source *source;
  struct frame frame;
  struct error err;
  const struct source_options options = {.live = true, .fps = 1000};
  assert_int_equal(source_open(&source, "pattern-marked:192x128", &options, &err), 0);
  for (uint32_t i = 0; i < 3; i++) {
    uint8_t level[MARKER_BLOCKS];
    struct marker marker;
    assert_int_equal(source_read(source, &frame, &err), 1);
    for (int block = 0; block < MARKER_BLOCKS; block++)
      level[block] = frame.plane[0][(int)(marker_y(block / MARKER_COLUMNS) * 128) * frame.pitch[0] +
                                    (int)(marker_x(block % MARKER_COLUMNS, 1.5) * 192)];
    assert_true(marker_read(level, &marker));
    assert_int_equal(marker.number, i);
    assert_int_equal(marker.time_us, frame.captured_ns / 1000);
    frame_release(&frame);
  }
  source_close(&source);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_read_after_resize),
      cmocka_unit_test(test_nothing_is_no_marker),
      cmocka_unit_test(test_counts),
      cmocka_unit_test(test_reasons),
      cmocka_unit_test(test_source),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
