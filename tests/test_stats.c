/* Compares the histogram's quantiles of frame times with those of a sorted list. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdlib.h>

#include "app/flow/stats.h"
#include "unet/base/platform.h"

static double next_random(unsigned *state) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) / (double)(1 << 24);
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void assert_near(double got, double want, double relative) {
  if (fabs(got - want) > relative * fabs(want))
    fail_msg("got %g, want %g within %g %%", got, want, relative * 100);
}

static void test_quantiles_match_a_sort(void **state) {
  (void)state;
  enum { COUNT = 5000 };
  static double sorted[COUNT];
  struct stats stats = {0};
  unsigned seed = 7;
  double sum = 0;
  for (int i = 0; i < COUNT; i++) {
    sorted[i] = exp(8 * next_random(&seed) - 3);
    sum += sorted[i];
    stats_add(&stats, sorted[i]);
  }
  qsort(sorted, COUNT, sizeof *sorted, compare);
  const double at[] = {0.01, 0.25, 0.5, 0.95, 0.99};
  for (int i = 0; i < 5; i++)
    assert_near(stats_quantile(&stats, at[i]), sorted[(int)ceil(at[i] * COUNT) - 1], 0.011);
  for (int i = 0; i < 5; i++) {
    long above = stats_above(&stats, sorted[(int)(at[i] * COUNT)]);
    assert_true(labs(above - (long)(COUNT - at[i] * COUNT)) <= COUNT / 100);
  }
  assert_true(stats_above(&stats, sorted[COUNT - 1]) == 0);
  struct stats_summary summary;
  stats_summarise(&stats, &summary);
  assert_int_equal(summary.count, COUNT);
  assert_near(summary.mean_ms, sum / COUNT, 1e-9);
  assert_true(summary.max_ms == sorted[COUNT - 1] && summary.min_ms == sorted[0]);
  assert_true(summary.jitter_ms == summary.p99_ms - summary.median_ms);
  assert_true(stats_quantile(&stats, 1) == sorted[COUNT - 1]);
}

static void test_few_and_extreme_values(void **state) {
  (void)state;
  struct stats stats = {0};
  assert_true(stats_quantile(&stats, 0.5) == 0);
  stats_add(&stats, 12.5);
  assert_true(stats_quantile(&stats, 0) == 12.5 && stats_quantile(&stats, 0.5) == 12.5);
  stats_add(&stats, 0);
  stats_add(&stats, 1e12);
  assert_true(stats.min_ms == 0 && stats.max_ms == 1e12);
  assert_near(stats_quantile(&stats, 0.5), 12.5, 0.011);
}

static void test_clock_rises(void **state) {
  (void)state;
  int64_t before = platform_now_ns();
  assert_true(before > 0 && platform_now_ns() >= before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_quantiles_match_a_sort),
      cmocka_unit_test(test_few_and_extreme_values),
      cmocka_unit_test(test_clock_rises),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
