/* Statistics of frame times. All stamps come from one clock, platform_now_ns. */
#ifndef APP_FLOW_STATS_H
#define APP_FLOW_STATS_H

#include <stdint.h>

/* A histogram of times with logarithmic buckets, 64 for each octave, so that a quantile is exact to 1.1 %; minimum,
 * maximum and sum are exact. Its size does not depend on the number of samples. Initialise with zeros. */
enum { STATS_BUCKETS = 64 * 40 };

struct stats {
  long count;
  double sum_ms, min_ms, max_ms;
  uint32_t buckets[STATS_BUCKETS];
};

/* Adds a sample. */
void stats_add(struct stats *stats, double ms);
/* Returns the quantile for q in 0 to 1; 0 if there are no samples. */
double stats_quantile(const struct stats *stats, double q);
/* Returns how many samples were longer than ms, except that samples in the same bucket as ms are not told apart. */
long stats_above(const struct stats *stats, double ms);

/* The figures that bench, render and the HUD print. */
struct stats_summary {
  long count;
  double mean_ms, median_ms, p95_ms, p99_ms, max_ms, min_ms;
  double jitter_ms; /* p99 - median */
  double spread_ms; /* about the standard error of the median */
};

void stats_summarise(const struct stats *stats, struct stats_summary *summary);

/* Returns how many decimals a time is printed with: 0 if it is a whole number of milliseconds, else 1. */
int stats_decimals(double ms);

#endif
