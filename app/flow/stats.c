#include "app/flow/stats.h"

#include <math.h>

enum { PER_OCTAVE = 64 };
static const double smallest_ms = 1.0 / 1024;

static int bucket_of(double ms) {
  if (!(ms > smallest_ms))
    return 0;
  double index = floor(log2(ms / smallest_ms) * PER_OCTAVE);
  return index < STATS_BUCKETS - 1 ? (int)index : STATS_BUCKETS - 1;
}

void stats_add(struct stats *stats, double ms) {
  if (!stats->count || ms < stats->min_ms)
    stats->min_ms = ms;
  if (!stats->count || ms > stats->max_ms)
    stats->max_ms = ms;
  stats->count++;
  stats->sum_ms += ms;
  stats->buckets[bucket_of(ms)]++;
}

double stats_quantile(const struct stats *stats, double q) {
  if (!stats->count)
    return 0;
  long rank = (long)ceil(q * (double)stats->count), seen = 0;
  if (rank >= stats->count)
    return stats->max_ms;
  int bucket = 0;
  while (bucket < STATS_BUCKETS - 1 && (seen += stats->buckets[bucket]) < (rank < 1 ? 1 : rank))
    bucket++;
  double middle = smallest_ms * exp2((bucket + 0.5) / PER_OCTAVE);
  return fmin(fmax(middle, stats->min_ms), stats->max_ms);
}

long stats_above(const struct stats *stats, double ms) {
  long above = 0;
  for (int i = bucket_of(ms) + 1; i < STATS_BUCKETS; i++)
    above += stats->buckets[i];
  return above;
}

/* Largest relative error of a quantile: half the width of one bucket of the histogram; 64 buckets span a doubling of
 * the time. */
static const double bucket_error = 0.0055;

void stats_summarise(const struct stats *stats, struct stats_summary *summary) {
  *summary = (struct stats_summary){
      .count = stats->count,
      .mean_ms = stats->count ? stats->sum_ms / (double)stats->count : 0,
      .median_ms = stats_quantile(stats, 0.5),
      .p95_ms = stats_quantile(stats, 0.95),
      .p99_ms = stats_quantile(stats, 0.99),
      .max_ms = stats->max_ms,
      .min_ms = stats->min_ms,
  };
  summary->jitter_ms = summary->p99_ms - summary->median_ms;
  double half = stats_quantile(stats, 0.75) - stats_quantile(stats, 0.25), bucket = summary->median_ms * bucket_error;
  summary->spread_ms = stats->count ? fmax(half / sqrt((double)stats->count), bucket) : 0;
}

int stats_decimals(double ms) {
  return fabs(ms - round(ms)) >= 0.05;
}
