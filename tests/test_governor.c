/* Tests the governor (which reduces the picture's size and steps to keep frames within the time budget) with simulated
 * machines: it keeps the budget, returns to better settings, and does not alternate between two. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdio.h>

#include "app/control/picture_size.h"
#include "app/run/governor.h"

/* --- the ladder: the list of sizes and step counts (rungs) that the governor may use, the best first --- */

static void expect_ladder(const struct governor_wish *wish, const char *expected) {
  struct governor_rung rungs[GOVERNOR_RUNGS];
  char said[200] = "";
  int used = 0, count = governor_ladder(wish, rungs);
  for (int i = 0; i < count; i++)
    used += snprintf(said + used, sizeof said - (size_t)used, "%s%dx%d/%d", i ? " " : "", rungs[i].width,
                     rungs[i].height, rungs[i].steps);
  assert_string_equal(said, expected);
}

static void ladders(void **state) {
  (void)state;
  expect_ladder(&(struct governor_wish){512, 512, 1, 8, 0}, "512x512/1 448x448/1 384x384/1 256x256/1");
  expect_ladder(&(struct governor_wish){512, 288, 4, 8, 0}, "512x288/4 456x256/4 342x192/4 256x144/4");
  expect_ladder(&(struct governor_wish){288, 512, 4, 8, 0}, "288x512/4 256x456/4 192x342/4 144x256/4");
  /* At the smallest allowed size, the number of steps is reduced. */
  expect_ladder(&(struct governor_wish){512, 512, 4, 8, 448 * 448}, "512x512/4 448x448/4 448x448/3 448x448/1");
  expect_ladder(&(struct governor_wish){512, 512, 4, 8, 512 * 512}, "512x512/4 512x512/3 512x512/2 512x512/1");
  /* Nothing can be reduced. */
  expect_ladder(&(struct governor_wish){512, 512, 1, 8, 512 * 512}, "512x512/1");
  expect_ladder(&(struct governor_wish){256, 256, 1, 8, 512 * 512}, "256x256/1");
  /* Only few sizes are multiples of what the engine needs; all have the aspect ratio of the wish. */
  expect_ladder(&(struct governor_wish){320, 180, 1, 32, 0}, "320x180/1 284x160/1 228x128/1 170x96/1");
  /* An engine with few sizes, and small pictures. */
  expect_ladder(&(struct governor_wish){64, 64, 1, 16, 0}, "64x64/1 48x48/1 32x32/1");
  expect_ladder(&(struct governor_wish){8, 8, 1, 8, 0}, "8x8/1");
}

/* For any wish and any multiple that engines require, all rungs of the ladder have the wish's shape. */
static void ladders_keep_the_shape(void **state) {
  (void)state;
  static const int multiples[] = {1, 8, 16, 32, 64};
  unsigned random = 4;
  for (int round = 0; round < 2000; round++) {
    struct governor_rung rungs[GOVERNOR_RUNGS];
    random = random * 1664525 + 1013904223;
    int width = 128 + 2 * (int)(random >> 16 & 1023), height = 128 + 2 * (int)(random >> 6 & 511);
    const struct governor_wish wish = {width, height, 2, multiples[round % 5], 0};
    int count = governor_ladder(&wish, rungs);
    assert_true(count > 1);
    for (int i = 1; i < count; i++) {
      const struct parameter_size asked = {width, height}, size = {rungs[i].width, rungs[i].height};
      assert_true(size.width % 2 == 0 && size.height % 2 == 0 && size.width * size.height >= width * height / 4);
      if (!picture_size_alike(&asked, &size))
        fail_msg("%dx%d has not the shape of %dx%d", size.width, size.height, width, height);
    }
  }
}

/* --- simulated machines --- */

/* A simulated machine. A frame of the wished size takes ms; fixed_ms of that do not depend on the size. */
struct machine {
  double ms, fixed_ms;
  double noise; /* a frame's time varies randomly by up to this fraction of it */
  /* returns the factor by which frames are slower at second s; NULL: 1 */
  double (*load)(struct machine *machine, double s, int rung);
  double heat;
  unsigned random;
};

struct report {
  int moves, ups, lowest;
  long frames, late;
  double late_share;         /* share of late frames in the second half of the test */
  double at[GOVERNOR_RUNGS]; /* times, in seconds, at which each rung was used first */
  int last;
};

static double draw(struct machine *machine) {
  machine->random = machine->random * 1664525u + 1013904223u;
  return (double)(machine->random >> 8) / (1 << 24);
}

static const struct governor_wish usual = {512, 512, 1, 8, 0};

static double frame_time(struct machine *machine, double s, const struct governor_rung *rung, int number) {
  double share = (double)rung->width * rung->height / (512.0 * 512);
  double ms = machine->fixed_ms + (machine->ms - machine->fixed_ms) * share;
  double noise = 1 + machine->noise * (2 * draw(machine) - 1);
  return ms * noise * (machine->load ? machine->load(machine, s, number) : 1);
}

/* Simulates frames, one after the other, for this many seconds. Bit i of `absent`: the handle of rung i cannot be
 * prepared. */
static void simulate(struct machine *machine, double budget_ms, double seconds, unsigned absent,
                     struct report *report) {
  struct governor_rung rungs[GOVERNOR_RUNGS];
  struct governor governor = {0};
  int count = governor_ladder(&usual, rungs);
  long late_half = 0, frames_half = 0;
  *report = (struct report){0};
  governor_begin(&governor, budget_ms, rungs, count, 0);
  for (int i = 0; i < count; i++)
    if (absent >> i & 1)
      governor_refuse(&governor, i, 0);
  for (double s = 0; s < seconds;) {
    int rung = governor.rung;
    double ms = frame_time(machine, s, &rungs[rung], rung);
    s += fmax(ms, 1000.0 / 60) / 1000;
    report->at[rung] += ms / 1000;
    report->frames++;
    report->late += ms > budget_ms;
    frames_half += s > seconds / 2;
    late_half += s > seconds / 2 && ms > budget_ms;
    governor_measure(&governor, rung, ms);
    governor_choose(&governor, ((1u << count) - 1) & ~absent, (int64_t)(s * 1e9));
    report->moves += governor.rung != rung;
    report->ups += governor.rung < rung;
    report->lowest = governor.rung > report->lowest ? governor.rung : report->lowest;
  }
  report->last = governor.rung;
  report->late_share = frames_half ? (double)late_half / (double)frames_half : 0;
  print_message("  %d moves, %d up, lowest %d, last %d, %ld of %ld late, %.1f %% in the last half\n", report->moves,
                report->ups, report->lowest, report->last, report->late, report->frames, 100 * report->late_share);
}

static void stays_where_there_is_room(void **state) {
  (void)state;
  struct report report;
  simulate(&(struct machine){.ms = 28, .noise = 0.1}, 33, 600, 0, &report);
  assert_int_equal(report.moves, 0);
  assert_int_equal(report.late, 0);
}

/* The costs of the rungs predict which one fits: the governor goes there directly, and stays. */
static void finds_the_rung_that_fits(void **state) {
  (void)state;
  struct report report;
  simulate(&(struct machine){.ms = 50, .noise = 0.05}, 33, 600, 0, &report);
  assert_in_range(report.moves, 1, 2);
  assert_int_equal(report.last, 2); /* this rung takes 28 ms; the one above would take 38 */
  assert_true(report.late < 20);
  /* If a large part of a frame's time does not depend on its size, it goes further down. */
  simulate(&(struct machine){.ms = 50, .fixed_ms = 20, .noise = 0.05}, 33, 600, 0, &report);
  assert_int_equal(report.last, 3);
  assert_in_range(report.moves, 1, 3);
  assert_true(report.late_share < 0.001);
}

static void a_budget_that_cannot_be_kept(void **state) {
  (void)state;
  struct report report;
  simulate(&(struct machine){.ms = 500, .noise = 0.05}, 33, 300, 0, &report);
  assert_int_equal(report.last, 3);
  assert_in_range(report.moves, 1, 3);
}

static double spikes(struct machine *machine, double s, int rung) {
  (void)s, (void)rung;
  return draw(machine) < 0.04 ? 5 : 1;
}

static void spikes_move_nothing(void **state) {
  (void)state;
  struct report report;
  simulate(&(struct machine){.ms = 24, .noise = 0.1, .load = spikes}, 33, 600, 0, &report);
  assert_true(report.late > 100);
  assert_true(report.moves <= 4); /* several spikes in a row may look like a lasting load */
  assert_int_equal(report.last, 0);
}

static double drift(struct machine *machine, double s, int rung) {
  (void)machine, (void)rung;
  return s < 600 ? 1 + s / 600 : 2 - (s - 600) / 600;
}

/* The machine slowly becomes half as fast, and fast again: the governor goes down and up step by step. */
static void drift_is_followed(void **state) {
  (void)state;
  struct report report;
  simulate(&(struct machine){.ms = 25, .noise = 0.08, .load = drift}, 33, 1200, 0, &report);
  assert_in_range(report.lowest, 2, 3);
  assert_true(report.moves <= 12);
  assert_int_equal(report.last, 0);
  assert_true((double)report.late / (double)report.frames < 0.02);
}

static double other_program(struct machine *machine, double s, int rung) {
  (void)machine, (void)rung;
  return s > 100 && s < 300 ? 1.9 : 1;
}

/* Another program takes half of the GPU for a while. */
static void a_shared_gpu(void **state) {
  (void)state;
  struct report report;
  simulate(&(struct machine){.ms = 24, .noise = 0.1, .load = other_program}, 33, 600, 0, &report);
  assert_in_range(report.moves, 2, 6);
  assert_int_equal(report.last, 0);
  assert_true(report.late < 40);
}

static double burst_s;

static double burst(struct machine *machine, double s, int rung) {
  (void)machine, (void)rung;
  return s > 10 && s < 10 + burst_s ? 1.9 : 1;
}

/* After a short load, whatever was measured during it, the wished size and steps come back. */
static void a_short_load_leaves_nothing(void **state) {
  (void)state;
  struct report report;
  for (burst_s = 0.1; burst_s < 1; burst_s += 0.1) {
    simulate(&(struct machine){.ms = 24, .noise = 0.1, .load = burst}, 33, 200, 0, &report);
    assert_int_equal(report.last, 0);
  }
}

static double in_turns(struct machine *machine, double s, int rung) {
  (void)machine, (void)rung;
  return fmod(s, 6) < 3 ? 1.9 : 1;
}

/* A load that comes and goes every few seconds: the pauses before going up become longer, so that the governor changes
 * rarely. */
static void a_gpu_shared_in_turns(void **state) {
  (void)state;
  struct report report;
  simulate(&(struct machine){.ms = 24, .noise = 0.1, .load = in_turns}, 33, 1200, 0, &report);
  assert_true(report.moves <= 40); /* the load changes 400 times */
  assert_true(report.late_share < 0.03);
}

/* The GPU overheats at the full size and cools at any smaller one. */
static double throttle(struct machine *machine, double s, int rung) {
  static const double warms[GOVERNOR_RUNGS] = {1, 0.7, 0.5, 0.3};
  (void)s;
  machine->heat += (warms[rung] - machine->heat) * 0.0008;
  return machine->heat > 0.85 ? 1.5 : 1;
}

static void a_gpu_that_throttles(void **state) {
  (void)state;
  struct report report;
  simulate(&(struct machine){.ms = 25, .noise = 0.05, .load = throttle}, 33, 1800, 0, &report);
  assert_true(report.moves <= 60);
  assert_true(report.late_share < 0.02);
}

/* A rung whose handle could not be allocated is skipped. */
static void absent_rungs_are_passed(void **state) {
  (void)state;
  struct report report;
  simulate(&(struct machine){.ms = 50, .noise = 0.05}, 33, 60, 1u << 2, &report);
  assert_int_equal(report.last, 3);
  assert_int_equal((int)report.at[2], 0);
  simulate(&(struct machine){.ms = 50, .noise = 0.05}, 33, 60, 0xe, &report);
  assert_int_equal(report.last, 0);
}

/* --- handles that are not ready --- */

static void feed(struct governor *governor, double ms, int frames, int64_t *now_ns) {
  for (int i = 0; i < frames; i++)
    governor_measure(governor, governor->rung, ms);
  *now_ns += (int64_t)(ms * 1e6) * frames;
}

static void waits_for_handles(void **state) {
  (void)state;
  struct governor_rung rungs[GOVERNOR_RUNGS];
  struct governor governor = {0};
  int64_t now_ns = 0;
  int count = governor_ladder(&usual, rungs);
  governor_begin(&governor, 33, rungs, count, 0);
  assert_false(governor_is_settled(&governor));
  feed(&governor, 50, 12, &now_ns);
  assert_true(governor_is_settled(&governor));
  assert_int_equal(governor_choose(&governor, 1, now_ns), 2);
  assert_int_equal(governor.rung, 0);
  /* rung 1 is ready, so it is used on the way to rung 2 */
  assert_int_equal(governor_choose(&governor, 1 | 1u << 1, now_ns), 2);
  assert_int_equal(governor.rung, 1);
  feed(&governor, 40, 12, &now_ns);
  assert_int_equal(governor_choose(&governor, 0x7, now_ns), 2);
  assert_int_equal(governor.rung, 2);
  feed(&governor, 10, 400, &now_ns);
  assert_int_equal(governor_choose(&governor, 0x5, now_ns), 1);
  assert_int_equal(governor.rung, 2);
}

/* A new wish begins at a rung that fits, by what is known of the machine. */
static void another_wish_begins_right(void **state) {
  (void)state;
  struct governor_rung rungs[GOVERNOR_RUNGS];
  struct governor governor = {0};
  int64_t now_ns = 0;
  governor_begin(&governor, 33, rungs, governor_ladder(&usual, rungs), 0);
  assert_int_equal(governor.rung, 0);
  feed(&governor, 25, 20, &now_ns);
  const struct governor_wish larger = {768, 768, 1, 8, 0};
  int count = governor_ladder(&larger, rungs);
  governor_begin(&governor, 33, rungs, count, now_ns);
  assert_int_equal(rungs[governor.rung].width, 512);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ladders),
      cmocka_unit_test(ladders_keep_the_shape),
      cmocka_unit_test(stays_where_there_is_room),
      cmocka_unit_test(finds_the_rung_that_fits),
      cmocka_unit_test(a_budget_that_cannot_be_kept),
      cmocka_unit_test(spikes_move_nothing),
      cmocka_unit_test(drift_is_followed),
      cmocka_unit_test(a_shared_gpu),
      cmocka_unit_test(a_short_load_leaves_nothing),
      cmocka_unit_test(a_gpu_shared_in_turns),
      cmocka_unit_test(a_gpu_that_throttles),
      cmocka_unit_test(absent_rungs_are_passed),
      cmocka_unit_test(waits_for_handles),
      cmocka_unit_test(another_wish_begins_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
