#include "app/flow/recent_times.h"

#include <math.h>
#include <stdlib.h>

enum { FEW = 3 };

void recent_times_add(struct recent_times *recent, const struct recent_time *time) {
  recent->time[recent->count++ % RECENT_TIMES_MAX] = *time;
}

const struct recent_time *recent_times_before(const struct recent_times *recent, long i) {
  return i < recent->count && i < RECENT_TIMES_MAX ? &recent->time[(recent->count - 1 - i) % RECENT_TIMES_MAX] : NULL;
}

static int compare(const void *a, const void *b) {
  float first = *(const float *)a, second = *(const float *)b;
  return (first > second) - (first < second);
}

/* Returns the quantile q (0 to 1): the smallest value that is at least as large as a fraction q of all the sorted
 * values. */
static double quantile(const float *sorted, int count, double q) {
  int rank = (int)ceil(q * count);
  return count ? (double)sorted[rank < 1 ? 0 : rank - 1] : 0;
}

void recent_times_summarise(const struct recent_times *recent, int64_t now_ns, struct recent_summary *summary) {
  float latency[RECENT_TIMES_MAX];
  const struct recent_time *time;
  int count = 0;
  for (long i = 0; (time = recent_times_before(recent, i)); i++) {
    if (count >= FEW && now_ns - time->at_ns > RECENT_SECONDS * (int64_t)1000000000)
      break;
    if (time->latency_ms >= 0)
      latency[count++] = time->latency_ms;
  }
  qsort(latency, (size_t)count, sizeof *latency, compare);
  *summary = (struct recent_summary){quantile(latency, count, 0.5), quantile(latency, count, 0.99)};
}

void recent_times_judge(const struct recent_times *recent, int64_t now_ns, struct recent_lateness *lateness) {
  enum { LOOK = 16, LEAST = 2 };
  static const int64_t lasting_ns = 10000000000;
  const struct recent_time *time, *last = recent_times_before(recent, 0);
  int missed = 0, of = 0;
  for (; of < LOOK && (time = recent_times_before(recent, of)) && now_ns - time->at_ns <= lasting_ns; of++)
    missed += time->missed;
  bool late = of >= LEAST && missed > 0 && (lateness->late ? 4 : 2) * missed >= of;
  *lateness = (struct recent_lateness){late, missed, of, late ? (double)(last->at_ns + lasting_ns - now_ns) * 1e-9 : 0};
}

void recent_times_draw(const struct recent_times *recent, int64_t now_ns, int64_t length_ns,
                       struct recent_column *column, int columns) {
  const struct recent_time *time;
  for (int i = 0; i < columns; i++)
    column[i] = (struct recent_column){-1, -1, false};
  for (long i = 0; (time = recent_times_before(recent, i)) && now_ns - time->at_ns < length_ns; i++) {
    int at = columns - 1 - (int)((double)(now_ns - time->at_ns) / (double)length_ns * columns);
    if (at < 0 || at >= columns)
      continue;
    column[at].engine_ms = fmaxf(column[at].engine_ms, time->engine_ms);
    column[at].latency_ms = fmaxf(column[at].latency_ms, time->latency_ms);
    column[at].missed = column[at].missed || time->missed;
  }
}
