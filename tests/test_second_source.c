/* Tests a second source kept in step: which of its frames belongs to which time, and what happens when it ends, fails
 * or delivers nothing; two clips of different rates; masks; frames for controls. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/run/control_source.h"
#include "app/run/masking.h"
#include "app/source/second_source.h"
#include "unet/base/platform.h"
#include "tests/rigs/clips.h"

enum { PATIENCE_MS = 120000, TICKS = 1000000, FRAMES_MAX = 64 };

/* --- a fake source whose frames the test controls --- */

struct told {
  struct source source;
  const int *ticks; /* timestamp of each frame */
  int time_base;    /* ticks a second; 0: TICKS */
  int count, read;
  double fps;
  bool breaks; /* true: at the end reading fails instead of ending */
  bool gated;  /* each frame, and the end, is given only after sem_post(&let) */
  sem_t let;
  int *closed;
};

static int told_read(struct source *source, struct frame *frame, struct error *err) {
  struct told *told = (struct told *)source;
  static uint8_t pixel[4];
  while (told->gated && sem_trywait(&told->let)) {
    if (source_interrupted(source))
      return 0;
    usleep(1000);
  }
  if (told->read == told->count)
    return told->breaks ? error_set(err, STATUS_INPUT, "it breaks as told") : 0;
  *frame = (struct frame){.format = PIXEL_RGBA, .width = 1, .height = 1, .plane = {pixel}, .pitch = {4}};
  frame->serial = (uint64_t)told->read;
  frame->pts = told->ticks[told->read++];
  return 1;
}

static void told_info(const struct source *source, struct source_info *info) {
  info->time_base_num = 1;
  const struct told *told = (const struct told *)source;
  info->time_base_den = told->time_base ? told->time_base : TICKS;
  info->fps = told->fps;
}

static void told_close(struct source *source) {
  struct told *told = (struct told *)source;
  ++*told->closed;
  sem_destroy(&told->let);
}

static const struct source_impl told_impl = {.name = "told", .read = told_read, .info = told_info, .close = told_close};

/* --- what is tested --- */

struct rig {
  struct told told;
  struct second_source *second_source;
  struct error err;
  int closed;
};

static void begin(struct rig *rig, const struct told *told, const struct source_info *first, int patience_ms) {
  rig->told = *told;
  rig->told.source.impl = &told_impl;
  rig->told.closed = &rig->closed;
  rig->closed = 0;
  sem_init(&rig->told.let, 0, 0);
  struct source *source = &rig->told.source;
  const struct second_source_options options = {first, patience_ms};
  assert_int_equal(second_source_start(&rig->second_source, &source, &options, &rig->err), 0);
  assert_null(source);
}

static void end(struct rig *rig) {
  second_source_stop(&rig->second_source);
  assert_null(rig->second_source);
  assert_int_equal(rig->closed, 1);
}

static void let(struct rig *rig, int count) {
  for (int i = 0; i < count; i++)
    sem_post(&rig->told.let);
}

/* Returns the serial of the frame for a time in seconds; -1: none. */
static int at(struct rig *rig, double seconds, enum second_source_state state) {
  const struct frame *frame;
  assert_int_equal(second_source_at(rig->second_source, seconds, &frame, &rig->err), state);
  return frame ? (int)frame->serial : -1;
}

static void await(struct rig *rig, double seconds, int serial) {
  const struct frame *frame;
  while (second_source_at(rig->second_source, seconds, &frame, &rig->err) != SECOND_SOURCE_IN_STEP)
    usleep(1000);
  assert_int_equal(frame->serial, serial);
}

static void fill_ticks(int *ticks, int count, double fps, int time_base, double from) {
  for (int i = 0; i < count; i++)
    ticks[i] = (int)lrint((from + i / fps) * time_base);
}

/* Compares each frame with what the definition gives. */
static void frames_belong_together(void **state) {
  (void)state;
  const struct {
    double fps, second_fps;
    int time_base, second_time_base;
    double from, second_from;
    int expected[9];
  } cases[] = {
      {30, 30, TICKS, TICKS, 0, 0, {0, 1, 2, 3, 4, 5, 6, 7, 8}},
      {30, 30, TICKS, 1000, 0, 0, {0, 1, 2, 3, 4, 5, 6, 7, 8}}, /* 0.067 s must not count as later than 0.066667 s */
      {30, 30, 1000, TICKS, 0, 0, {0, 1, 2, 3, 4, 5, 6, 7, 8}},
      {29.97, 29.97, 1000, 1000, 0, 0, {0, 1, 2, 3, 4, 5, 6, 7, 8}},
      {30, 30, TICKS, TICKS, 0, 0.021, {0, 1, 2, 3, 4, 5, 6, 7, 8}}, /* both begin at the same time */
      {30, 30, TICKS, TICKS, 0.021, 0, {0, 1, 2, 3, 4, 5, 6, 7, 8}},
      {30, 30, TICKS, TICKS, 0, 0.1, {0, 0, 0, 0, 1, 2, 3, 4, 5}}, /* the second one begins later */
      {30, 30, TICKS, TICKS, 0.1, 0, {3, 4, 5, 6, 7, 8, 9, 10, 11}},
      {30, 60, TICKS, TICKS, 0, 0, {0, 2, 4, 6, 8, 10, 12, 14, 16}},
      {30, 15, TICKS, 1000, 0, 0, {0, 0, 1, 1, 2, 2, 3, 3, 4}},
      {30, 25, TICKS, TICKS, 0, 0, {0, 0, 1, 2, 3, 4, 5, 5, 6}},
      {24, 30, TICKS, TICKS, 0, 0, {0, 1, 2, 3, 5, 6, 7, 8, 10}},
      {10, 1, TICKS, TICKS, 0, 0, {0, 0, 0, 0, 0, 0, 0, 0, 0}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct rig rig;
    int ticks[FRAMES_MAX];
    fill_ticks(ticks, FRAMES_MAX, cases[i].second_fps, cases[i].second_time_base, cases[i].second_from);
    const struct source_info first = {.fps = cases[i].fps, .time_base_num = 1, .time_base_den = cases[i].time_base};
    const struct told told = {
        .ticks = ticks, .time_base = cases[i].second_time_base, .count = FRAMES_MAX, .fps = cases[i].second_fps};
    begin(&rig, &told, &first, PATIENCE_MS);
    for (int j = 0; j < 9; j++) {
      double seconds = rint((cases[i].from + j / cases[i].fps) * cases[i].time_base) / cases[i].time_base;
      int got = at(&rig, seconds, SECOND_SOURCE_IN_STEP);
      if (got != cases[i].expected[j])
        fail_msg("case %zu: frame %d has %d, not %d", i, j, got, cases[i].expected[j]);
    }
    end(&rig);
  }
}

/* The last frame lasts as long as the others; after that it is held, and the end is reported. */
static void the_end_is_told_when_its_time_is_over(void **state) {
  (void)state;
  struct rig rig;
  const int ticks[] = {0, TICKS / 10, TICKS / 5};
  begin(&rig, &(struct told){.ticks = ticks, .count = 3, .fps = 10}, NULL, PATIENCE_MS);
  assert_int_equal(at(&rig, 0, SECOND_SOURCE_IN_STEP), 0);
  assert_int_equal(at(&rig, 0.2, SECOND_SOURCE_IN_STEP), 2);
  assert_int_equal(at(&rig, 0.29, SECOND_SOURCE_IN_STEP), 2);
  assert_int_equal(at(&rig, 0.31, SECOND_SOURCE_ENDED), 2);
  assert_int_equal(at(&rig, 100, SECOND_SOURCE_ENDED), 2);
  end(&rig);
}

static void a_picture_is_for_all_times(void **state) {
  (void)state;
  struct rig rig;
  const int ticks[] = {0};
  begin(&rig, &(struct told){.ticks = ticks, .count = 1, .fps = 25}, NULL, PATIENCE_MS);
  assert_int_equal(at(&rig, 0, SECOND_SOURCE_IN_STEP), 0);
  assert_int_equal(at(&rig, 1000, SECOND_SOURCE_IN_STEP), 0);
  end(&rig);
}

static void a_failure_keeps_the_last_frame(void **state) {
  (void)state;
  struct rig rig;
  const int ticks[] = {0, TICKS};
  begin(&rig, &(struct told){.ticks = ticks, .count = 2, .fps = 1, .breaks = true}, NULL, PATIENCE_MS);
  assert_int_equal(at(&rig, 0, SECOND_SOURCE_IN_STEP), 0);
  assert_int_equal(at(&rig, 1, SECOND_SOURCE_FAILED), 1);
  assert_string_equal(rig.err.message, "it breaks as told");
  assert_int_equal(at(&rig, 2, SECOND_SOURCE_FAILED), 1);
  end(&rig);
  begin(&rig, &(struct told){.breaks = true}, NULL, PATIENCE_MS);
  assert_int_equal(at(&rig, 0, SECOND_SOURCE_FAILED), -1);
  end(&rig);
}

/* The time limit for waiting is used up once; then frames are taken as they come, and waited for again when the source
 * has caught up. */
static void what_does_not_come_is_held(void **state) {
  (void)state;
  struct rig rig;
  int ticks[FRAMES_MAX];
  fill_ticks(ticks, FRAMES_MAX, 10, TICKS, 0);
  begin(&rig, &(struct told){.ticks = ticks, .count = FRAMES_MAX, .fps = 10, .gated = true}, NULL, 50);
  assert_int_equal(at(&rig, 0, SECOND_SOURCE_BEHIND), -1);
  let(&rig, 3);
  await(&rig, 0, 0);
  await(&rig, 0.1, 1);
  assert_int_equal(at(&rig, 0.5, SECOND_SOURCE_BEHIND), 2);
  let(&rig, 9);
  await(&rig, 0.5, 5);
  end(&rig);
}

/* With a time limit of 0 the caller gets what is there; frames whose time has passed are dropped for later ones. */
static void nobody_has_to_wait(void **state) {
  (void)state;
  struct rig rig;
  int ticks[FRAMES_MAX];
  const struct frame *frame;
  fill_ticks(ticks, FRAMES_MAX, 10, TICKS, 0);
  begin(&rig, &(struct told){.ticks = ticks, .count = FRAMES_MAX, .fps = 10, .gated = true}, NULL, 0);
  assert_int_equal(at(&rig, 3, SECOND_SOURCE_IN_STEP), -1);
  let(&rig, FRAMES_MAX);
  do
    second_source_at(rig.second_source, 3, &frame, &rig.err);
  while (!frame || frame->serial != 30);
  end(&rig);
}

static void stopping_waits_for_no_frame(void **state) {
  (void)state;
  struct rig rig;
  begin(&rig, &(struct told){.gated = true}, NULL, PATIENCE_MS);
  end(&rig);
}

/* --- clips --- */

/* Makes a clip in which the grey of each frame is its number. */
static void make_clip(const char *name, int fps, int frames, const char *options) {
  shell(FFMPEG "-f lavfi -i color=black:s=32x32:r=%d,format=yuv420p,geq=lum='16+4*N':cb=128:cr=128 -frames:v %d %s %s",
        fps, frames, options, name);
}

static int grey_number(const struct frame *frame) {
  return (frame->plane[0][0] - 16 + 2) / 4;
}

static struct source *open_clip(const char *name, const struct source_options *options, struct source_info *info) {
  struct source *source;
  struct error err;
  if (source_open(&source, clip(name), options, &err))
    fail_msg("%s", err.message);
  source_get_info(source, info);
  return source;
}

/* Checks for each frame of the first clip which frame of the second one belongs to it. */
static void expect_pairs(const char *first, const char *second, const struct source_options *options, double fps,
                         double second_fps, int skipped, int frames) {
  struct source_info info, second_info;
  struct error err;
  struct frame frame;
  struct source *from = open_clip(first, options, &info), *other = open_clip(second, options, &second_info);
  struct second_source *second_source;
  int count = 0;
  const struct second_source_options together = {&info, PATIENCE_MS};
  assert_int_equal(second_source_start(&second_source, &other, &together, &err), 0);
  for (; source_read(from, &frame, &err) == 1; count++) {
    const struct frame *belongs;
    double seconds = (double)frame.pts * info.time_base_num / info.time_base_den;
    enum second_source_state state = second_source_at(second_source, seconds, &belongs, &err);
    int number = skipped + count, wanted = (int)floor(number * second_fps / fps + 1e-6);
    assert_int_equal(state, SECOND_SOURCE_IN_STEP);
    assert_int_equal(grey_number(&frame), number);
    if (grey_number(belongs) != wanted)
      fail_msg("%s, %s: frame %d has %d, not %d", first, second, number, grey_number(belongs), wanted);
    frame_release(&frame);
  }
  assert_int_equal(count, frames);
  second_source_stop(&second_source);
  source_close(&from);
}

static void clips_are_kept_in_step(void **state) {
  (void)state;
  if (!clips_open()) /* skipped without the ffmpeg program */
    skip();
  const struct source_options whole = {0}, part = {.start = 1, .duration = 0.5};
  make_clip("30.mkv", 30, 50, "-c:v ffv1");
  make_clip("30.mp4", 30, 50, "-c:v mpeg4 -q:v 1");
  make_clip("25.mp4", 25, 50, "-c:v mpeg4 -q:v 1 -bf 2");
  make_clip("12.mkv", 12, 24, "-c:v ffv1");
  expect_pairs("30.mkv", "30.mkv", &whole, 30, 30, 0, 50);
  expect_pairs("30.mp4", "30.mkv", &whole, 30, 30, 0, 50);
  expect_pairs("30.mkv", "30.mp4", &whole, 30, 30, 0, 50);
  expect_pairs("30.mkv", "25.mp4", &whole, 30, 25, 0, 50);
  expect_pairs("25.mp4", "12.mkv", &whole, 25, 12, 0, 50);
  expect_pairs("12.mkv", "25.mp4", &whole, 12, 25, 0, 24);
  /* half a second from one second on */
  expect_pairs("30.mp4", "30.mkv", &part, 30, 30, 30, 15);
  expect_pairs("25.mp4", "12.mkv", &part, 25, 12, 25, 13);
  clips_close();
}

/* --- masks --- */

static int masks_set, mask_number;

int engine_set_mask(struct engine *engine, const struct frame *mask, enum mask_channel channel, struct error *err) {
  (void)engine, (void)err;
  assert_int_equal(channel, MASK_WHITE);
  masks_set++;
  mask_number = grey_number(mask);
  return 0;
}

/* A mask's frames are in step with the source's, wherever those begin, and each is given to the engine once. */
static void a_mask_goes_along(void **state) {
  (void)state;
  if (!clips_open())
    skip();
  struct masking *masking;
  struct error err;
  char engines[2];
  make_clip("mask.mkv", 12, 24, "-c:v ffv1");
  assert_int_equal(masking_open(&masking, clip("mask.mkv"), NULL, NULL, &err), 0);
  for (int i = 0; i < 75; i++) {
    int number = i * 12 / 25 < 24 ? i * 12 / 25 : 23, set = masks_set, before = mask_number;
    assert_int_equal(masking_apply(masking, (struct engine *)&engines[i >= 60], NULL, 1000 + i / 25.0, &err), 0);
    assert_int_equal(mask_number, number);
    assert_int_equal(masks_set - set, !i || i == 60 || number != before);
  }
  masking_close(&masking);
  assert_null(masking);
  assert_int_equal(masking_open(&masking, "lavfi:color=s=32x32,realtime", NULL, NULL, &err), -1);
  assert_non_null(strstr(err.message, "--mask: "));
  clips_close();
}

/* --- frames for controls --- */

struct lines {
  atomic_int count; /* incremented after the line was stored */
  char last[300];
};

static void keep_line(void *opaque, enum log_level level, const char *text) {
  struct lines *lines = opaque;
  if (level != LOG_WARNING)
    return;
  snprintf(lines->last, sizeof lines->last, "%s", text);
  lines->count++;
}

/* A control source besides a main source of 25 frames a second. */
struct pair {
  struct lines lines;
  struct log log;
  struct source_options options;
  struct source_info first;
  struct control_source *control;
  struct error err;
};

static int pair_open(struct pair *pair, const char *spec, const struct source_options *options, int patience_ms) {
  *pair = (struct pair){.first = {.fps = 25, .time_base_num = 1, .time_base_den = 25}};
  pair->log = (struct log){keep_line, &pair->lines};
  pair->options = *options;
  pair->options.log = &pair->log;
  const struct control_source_params params = {spec, &pair->options, &pair->first, patience_ms};
  return control_source_open(&pair->control, &params, &pair->err);
}

static void must_open(struct pair *pair, const char *spec, const struct source_options *options, int patience_ms) {
  if (pair_open(pair, spec, options, patience_ms))
    fail_msg("%s", pair->err.message);
}

static const struct frame *seen(struct pair *pair, int number) {
  return control_source_at(pair->control, &(struct frame){.pts = number, .captured_ns = platform_now_ns()});
}

static void none_is_no_control_source(void **state) {
  (void)state;
  struct pair pair;
  char line[64];
  must_open(&pair, NULL, &(struct source_options){0}, 0);
  assert_null(pair.control);
  assert_null(seen(&pair, 0));
  assert_false(control_source_state(pair.control, line, sizeof line));
  control_source_close(&pair.control);
}

/* The last frame is held, one line says so, and the state says so as long as it lasts. */
static void an_end_is_one_notice(void **state) {
  (void)state;
  if (!clips_open())
    skip();
  struct pair pair;
  char line[300];
  make_clip("short.mkv", 25, 5, "-c:v ffv1");
  must_open(&pair, clip("short.mkv"), &(struct source_options){0}, PATIENCE_MS);
  for (int i = 0; i < 20; i++) {
    assert_int_equal(grey_number(seen(&pair, i)), i < 5 ? i : 4);
    assert_int_equal(pair.lines.count, i >= 5);
    assert_int_equal(control_source_state(pair.control, line, sizeof line), i >= 5);
  }
  assert_non_null(strstr(pair.lines.last, "--control-source: "));
  assert_non_null(strstr(pair.lines.last, "short.mkv has ended: its last frame is held"));
  assert_non_null(strstr(line, "short.mkv has ended"));
  control_source_close(&pair.control);
  /* both read the same part */
  must_open(&pair, clip("short.mkv"), &(struct source_options){.start = 0.08, .loop = true}, PATIENCE_MS);
  for (int i = 0; i < 20; i++)
    assert_int_equal(grey_number(seen(&pair, i)), 2 + i % 3);
  assert_int_equal(pair.lines.count, 0);
  control_source_close(&pair.control);
  clips_close();
}

/* A clip whose end is missing. */
static void a_failure_is_one_notice(void **state) {
  (void)state;
  if (!clips_open())
    skip();
  struct pair pair;
  make_clip("whole.mkv", 25, 40, "-c:v ffv1");
  shell("head -c $(($(stat -c %%s whole.mkv) / 2)) whole.mkv >half.mkv");
  must_open(&pair, clip("half.mkv"), &(struct source_options){0}, PATIENCE_MS);
  int last = 0;
  for (int i = 0; i < 60; i++) {
    int number = grey_number(seen(&pair, i));
    assert_in_range(number, last, i);
    last = number;
  }
  assert_in_range(last, 5, 30);
  assert_int_equal(pair.lines.count, 1);
  assert_non_null(strstr(pair.lines.last, "half.mkv"));
  control_source_close(&pair.control);
  assert_int_equal(pair_open(&pair, clip("none.mkv"), &(struct source_options){0}, 0), -1);
  assert_null(pair.control);
  assert_non_null(strstr(pair.err.message, "--control-source: "));
  shell("echo nothing >text.txt");
  assert_int_equal(pair_open(&pair, clip("text.txt"), &(struct source_options){0}, 0), -1);
  clips_close();
}

/* A live source gives its newest frame without waiting; it is lost and found again. --start applies only to files. */
static void a_camera_gives_its_newest_frame(void **state) {
  (void)state;
  struct pair pair;
  const char *spec = "lavfi:color=white:s=32x32:r=50:d=0.2,realtime";
  uint64_t last = 0;
  must_open(&pair, spec, &(struct source_options){.live = true, .start = 1000}, 0);
  while (!seen(&pair, 0))
    usleep(1000);
  while (pair.lines.count < 2) { /* until it has ended and begun again */
    const struct frame *frame = seen(&pair, 0);
    assert_true(frame->width == 32 && (frame->serial >= last || frame->serial < 10));
    last = frame->serial;
    usleep(1000);
  }
  control_source_close(&pair.control); /* its thread may log until then */
  assert_non_null(strstr(pair.lines.last, "--control-source: "));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(frames_belong_together),
      cmocka_unit_test(the_end_is_told_when_its_time_is_over),
      cmocka_unit_test(a_picture_is_for_all_times),
      cmocka_unit_test(a_failure_keeps_the_last_frame),
      cmocka_unit_test(what_does_not_come_is_held),
      cmocka_unit_test(nobody_has_to_wait),
      cmocka_unit_test(stopping_waits_for_no_frame),
      cmocka_unit_test(clips_are_kept_in_step),
      cmocka_unit_test(a_mask_goes_along),
      cmocka_unit_test(none_is_no_control_source),
      cmocka_unit_test(an_end_is_one_notice),
      cmocka_unit_test(a_failure_is_one_notice),
      cmocka_unit_test(a_camera_gives_its_newest_frame),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
