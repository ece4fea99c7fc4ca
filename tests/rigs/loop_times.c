#include "tests/rigs/loop_times.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/rigs/next_frame.h"
#include "unet/base/platform.h"

static int count_pictures(const char *path, const struct source_options *options, struct error *err) {
  struct source_options once = *options;
  struct source *source;
  struct frame frame = {0};
  int count = 0, got;
  once.loop = false;
  if (source_open(&source, path, &once, err))
    return -1;
  while ((got = next_frame(source, &frame, err)) > 0)
    count++;
  frame_release(&frame);
  source_close(&source);
  return got < 0 ? -1 : count;
}

static void wait_for_turn(int64_t begun_ns, double pace_ms, int i) {
  int64_t rest_ns = begun_ns + (int64_t)(pace_ms * 1e6 * i) - platform_now_ns();
  if (pace_ms > 0 && rest_ns > 0)
    platform_sleep_ns(rest_ns);
}

static int compare(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

static double median_of(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, compare);
  return values[count / 2];
}

/* Evaluates reads from the middle of each round to the middle of the next. */
static void evaluate(double *ms, struct loop_times *times) {
  double slowest[2][LOOP_ROUNDS] = {{0}};
  int count = times->pictures, turns = LOOP_ROUNDS - 1, all = turns * count;
  for (int i = 0; i < all; i++) {
    int number = (i + count / 2) % count, far = number > LOOP_NEAR && count - number > LOOP_NEAR;
    double *slow = &slowest[far][i / count];
    *slow = fmax(*slow, ms[i + count / 2]);
  }
  for (int far = 0; far < 2; far++) {
    times->median[far] = median_of(slowest[far], turns);
    times->longest[far] = slowest[far][turns - 1];
  }
  times->usual = median_of(ms + count / 2, all);
}

int loop_times_measure(const char *path, const struct source_options *options, double pace_ms, struct loop_times *times,
                       struct error *err) {
  struct source_options looping = *options;
  struct source *source;
  struct frame frame = {0};
  int got = 1;
  looping.loop = true;
  *times = (struct loop_times){.pictures = count_pictures(path, options, err)};
  if (times->pictures < 1 || source_open(&source, path, &looping, err))
    return -1;
  double *ms = calloc((size_t)times->pictures * LOOP_ROUNDS, sizeof *ms);
  int64_t begun_ns = platform_now_ns();
  for (int i = 0; got > 0 && i < times->pictures * LOOP_ROUNDS; i++) {
    wait_for_turn(begun_ns, pace_ms, i);
    int64_t from_ns = platform_now_ns();
    got = next_frame(source, &frame, err);
    ms[i] = (double)(platform_now_ns() - from_ns) * 1e-6;
  }
  if (got > 0)
    evaluate(ms, times);
  free(ms);
  frame_release(&frame);
  source_close(&source);
  return got > 0 ? 0 : -1;
}

void loop_times_print(const char *name, const char *what, const struct loop_times *times) {
  printf("%-12s %-16s usually %6.2f ms; slowest around the loop %6.2f (of all %6.2f), elsewhere %6.2f (%6.2f)\n", name,
         what, times->usual, times->median[0], times->longest[0], times->median[1], times->longest[1]);
}
