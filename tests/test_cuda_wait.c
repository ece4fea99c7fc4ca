/* Tests how a thread waits for runs of a device, in a simulation with a clock of its own. */
#include "tests/rigs/cmocka_all.h"

#include <stdbool.h>

#include "cuda/run_wait.h"

enum { RUNS = 400 };

/* The simulation: a thread that is woken late, and a device that does one run after the other. */
struct world {
  int64_t now, ends; /* nanoseconds */
  int64_t processor; /* processor time of the current wait, in nanoseconds */
  int asks;
  unsigned random;
  bool fails, looks;
};

static int64_t between(struct world *world, int64_t least, int64_t most) {
  world->random = world->random * 1664525u + 1013904223u;
  return least + (int64_t)(world->random >> 8) % (most - least + 1);
}

static int64_t world_now(void *opaque) {
  return ((struct world *)opaque)->now;
}

static void world_sleep(void *opaque, int64_t ns) {
  struct world *world = opaque;
  bool is_long = ns - world->now > 1000000, rare = between(world, 0, 19) == 0;
  world->processor += is_long ? 12000 : 4000;
  if (ns > world->now)
    world->now = ns;
  world->now += !is_long ? between(world, 3000, rare ? 50000 : 12000) : between(world, 15000, rare ? 270000 : 80000);
}

static int world_ended(void *opaque) {
  struct world *world = opaque;
  int64_t takes = world->looks ? 100 : 1000;
  world->now += takes;
  world->processor += takes;
  world->asks++;
  return world->now >= world->ends ? world->fails ? -1 : 1 : 0;
}

static const struct wait_world ways = {world_now, world_sleep, world_ended, false, NULL};

struct figures {
  double processor_us, late_us, latest_us; /* means over all runs, and the largest lateness, in microseconds */
};

/* Simulates runs that are submitted every `period` ns, or at once with two in flight. Lengths are used in turn. A
 * device that is idle begins a run `delay` ns after it was submitted. */
static struct figures simulate(const int64_t *lengths, int count, int64_t period, int64_t delay, int skip, bool looks) {
  struct world world = {.random = 1, .now = 1000000, .looks = looks};
  struct wait_world with = ways;
  with.looks = looks;
  struct waiter waiter = {0};
  struct durations durations = {0};
  struct figures sum = {0};
  int64_t device = 0, submitted = world.now;
  with.opaque = &world;
  for (int i = 0; i < RUNS; i++) {
    int64_t length = lengths[i % count] + between(&world, -4000, 4000);
    if (period && world.now < (i + 1) * period)
      world.now = (i + 1) * period;
    if (period)
      submitted = world.now;
    int64_t ready = submitted + (delay ? between(&world, delay * 9 / 10, delay * 11 / 10) : 0);
    int64_t begins = ready > device ? ready : device;
    device = world.ends = begins + length;
    int64_t next = world.now; /* with two in flight the next run is submitted before this one is waited for */
    world.processor = 0;
    assert_int_equal(wait_for_run(&waiter, &durations, submitted, &with), 1);
    assert_true(world.now >= world.ends);
    wait_learn(&waiter, &durations, length);
    submitted = next;
    if (i < skip)
      continue;
    double late = 1e-3 * (double)(world.now - world.ends);
    sum.processor_us += 1e-3 * (double)world.processor / (RUNS - skip);
    sum.late_us += late / (RUNS - skip);
    sum.latest_us = late > sum.latest_us ? late : sum.latest_us;
  }
  return sum;
}

static void test_runs_of_one_length(void **state) {
  (void)state;
  static const int64_t periods[] = {16666667, 4166667, 0}, lengths[] = {3100000, 700000};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 2; j++) {
      struct figures asking = simulate(&lengths[j], 1, periods[i], 0, 50, false);
      assert_true(asking.processor_us < 35 && asking.late_us < 15 && asking.latest_us < 80);
      struct figures looking = simulate(&lengths[j], 1, periods[i], 0, 50, true);
      assert_true(looking.processor_us < 35 && looking.late_us < 5 && looking.latest_us < 80);
    }
}

/* Runs begin late, as when the window's OpenGL uses the device first. */
static void test_runs_that_begin_late(void **state) {
  (void)state;
  static const int64_t periods[] = {16666667, 4166667}, lengths[] = {3100000, 700000}, delays[] = {60000, 250000};
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++)
      for (int k = 0; k < 2; k++) {
        struct figures asking = simulate(&lengths[j], 1, periods[i], delays[k], 50, false);
        struct figures looking = simulate(&lengths[j], 1, periods[i], delays[k], 50, true);
        assert_true(asking.processor_us < 30 && asking.late_us < 15 && asking.latest_us < 80);
        assert_true(looking.processor_us < 42 && looking.late_us < 12 && looking.latest_us < 80);
      }
}

/* A simulated thread that also polls for the end of runs, which are submitted one at a time. */
struct trial {
  struct world world;
  struct waiter waiter;
  struct durations durations;
};

static void trial_begin(struct trial *trial) {
  *trial = (struct trial){.world = {.random = 1, .now = 1000000, .looks = true}};
}

/* Returns how late, in ns, the thread sees the end of a run that begins `delay` ns after it was submitted. */
static int64_t trial_run(struct trial *trial, int64_t delay, int64_t length) {
  struct wait_world with = ways;
  int64_t submitted = trial->world.now += 16000000;
  with.opaque = &trial->world;
  with.looks = true;
  trial->world.ends = submitted + delay + length;
  assert_int_equal(wait_for_run(&trial->waiter, &trial->durations, submitted, &with), 1);
  wait_learn(&trial->waiter, &trial->durations, length);
  return trial->world.now - trial->world.ends;
}

/* One run in ten begins at once, the others late; its end is seen no later than theirs. */
static void test_runs_that_mostly_begin_late(void **state) {
  (void)state;
  struct trial trial;
  trial_begin(&trial);
  for (int i = 0; i < RUNS; i++) {
    int64_t late = trial_run(&trial, i % 10 ? 250000 : 0, 700000);
    assert_true(i < 50 || late < 100000);
  }
}

/* Runs no longer begin late, as when the window is closed: the thread sees some ends late at first, then ever less
 * so. */
static void test_runs_that_begin_late_no_more(void **state) {
  (void)state;
  struct trial trial;
  int64_t late = 0;
  trial_begin(&trial);
  for (int i = 0; i < 60; i++) {
    late = trial_run(&trial, i < 40 ? 250000 : 0, 3000000);
    assert_true(late < 400000);
  }
  assert_true(late < 100000);
}

/* Runs of other lengths than expected, including the first ones, of which nothing is known. */
static void test_runs_of_other_lengths(void **state) {
  (void)state;
  static const int64_t turns[] = {3100000, 3100000, 4300000}, more[] = {700000, 700000, 700000, 15000000};
  for (int64_t period = 0; period <= 16666667; period += 16666667) {
    struct figures f = simulate(turns, 3, period, 0, 0, false);
    assert_true(f.processor_us < 150 && f.late_us < 70 && f.latest_us < 500);
    f = simulate(more, 4, period, 0, 0, false);
    assert_true(f.processor_us < 250 && f.late_us < 70 && f.latest_us < 500);
  }
}

/* If runs become shorter, the thread sees the end of the first one late, and those of the next ones in time. */
static void test_runs_that_become_shorter(void **state) {
  (void)state;
  struct world world = {.random = 1, .now = 1000000};
  struct wait_world with = ways;
  struct waiter waiter = {0};
  struct durations durations = {0};
  int64_t lates[3] = {0}, device = 0, submitted = world.now;
  with.opaque = &world;
  for (int i = 0; i < 30; i++) {
    int64_t length = i < 27 ? 4000000 : 1000000, next = world.now;
    device = world.ends = (submitted > device ? submitted : device) + length;
    assert_int_equal(wait_for_run(&waiter, &durations, submitted, &with), 1);
    wait_learn(&waiter, &durations, length);
    submitted = next;
    if (i >= 27)
      lates[i - 27] = world.now - world.ends;
  }
  assert_true(lates[0] > 2000000 && lates[0] < 3100000);
  assert_true(lates[1] <= lates[0] && lates[2] < 100000);
}

/* Runs follow each other with two in flight, and after 60 of them there is other work on the device behind each of
 * `behind` runs. Returns the longest time by which an end was seen late: *during that work and until ten runs after it,
 * and *after that. */
static void simulate_work_behind(int behind, int64_t *during, int64_t *after) {
  struct world world = {.random = 1, .now = 1000000, .looks = true};
  struct wait_world with = ways;
  struct waiter waiter = {0};
  struct durations durations = {0};
  int64_t device = 0, submitted = world.now;
  with.opaque = &world;
  with.looks = true;
  *during = *after = 0;
  for (int i = 0; i < 60 + behind + 200; i++) {
    int64_t length = 4310000 + between(&world, -4000, 4000), next = world.now;
    device += i > 60 && i <= 60 + behind ? 220000 : 0;
    device = world.ends = (submitted > device ? submitted : device) + length;
    assert_int_equal(wait_for_run(&waiter, &durations, submitted, &with), 1);
    wait_learn(&waiter, &durations, length);
    submitted = next;
    int64_t late = world.now - world.ends, *most = i < 60 + behind + 10 ? during : after;
    *most = i >= 60 && late > *most ? late : *most;
  }
}

/* Other work on the device between runs, such as encoding a text, lets each run begin later than the thread expects.
 * Neither these runs nor those after them are then seen later than the limits. */
static void test_work_behind_runs(void **state) {
  (void)state;
  int64_t during, after;
  simulate_work_behind(9, &during, &after);
  assert_true(during < 90000 && after < 60000);
  simulate_work_behind(100, &during, &after); /* with so many the thread has learned to expect the delay */
  assert_true(during < 250000 && after < 60000);
}

/* A run that must have ended is not slept for, and an error of the device is returned. */
static void test_ends(void **state) {
  (void)state;
  struct world world = {.random = 1, .now = 5000000, .ends = 4000000};
  struct wait_world with = ways;
  struct waiter waiter = {0};
  struct durations durations = {.recent_ns = {3000000}, .count = 1};
  with.opaque = &world;
  assert_int_equal(wait_for_run(&waiter, &durations, 1900000, &with), 1);
  assert_true(world.asks == 1 && world.now < 5010000);
  world.fails = true;
  world.ends = world.now + 500000;
  assert_int_equal(wait_for_run(&waiter, &durations, world.now, &with), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_runs_of_one_length),
      cmocka_unit_test(test_runs_that_begin_late),
      cmocka_unit_test(test_runs_that_mostly_begin_late),
      cmocka_unit_test(test_runs_that_begin_late_no_more),
      cmocka_unit_test(test_runs_of_other_lengths),
      cmocka_unit_test(test_runs_that_become_shorter),
      cmocka_unit_test(test_work_behind_runs),
      cmocka_unit_test(test_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
