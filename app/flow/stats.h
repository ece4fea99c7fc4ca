/* Statistics of frame times. All stamps come from one clock, platform_now_ns. */
#ifndef APP_FLOW_STATS_H
#define APP_FLOW_STATS_H

#include <stdint.h>

/* A histogram with a fixed number of logarithmic buckets (1/64 octave, so a quantile is within 1.1 %) and an exact
 * minimum, maximum and sum: constant memory however long the program runs. Zero-initialise to start. */
enum { STATS_BUCKETS = 64 * 40 };

struct stats {
  long count;
  double sum_ms, min_ms, max_ms;
  uint32_t buckets[STATS_BUCKETS];
};

void stats_add(struct stats *stats, double ms);
/* q in 0..1; 0 with no samples. */
double stats_quantile(const struct stats *stats, double q);
/* How many were longer, to the bucket. */
long stats_above(const struct stats *stats, double ms);

/* What bench, render and the HUD print. */
struct stats_summary {
  long count;
  double mean_ms, median_ms, p95_ms, p99_ms, max_ms, min_ms;
  double jitter_ms; /* p99 - median */
  double spread_ms; /* about the median's standard error */
};

void stats_summarise(const struct stats *stats, struct stats_summary *summary);

/* How many decimals a time is written with: one, or none if it is a whole number of milliseconds. */
int stats_decimals(double ms);

#endif
