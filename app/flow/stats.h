/* Statistics of frame times in milliseconds, which bench, render and the window's overlay print. */
#ifndef APP_FLOW_STATS_H
#define APP_FLOW_STATS_H

#include <stdint.h>

/* A histogram of times with logarithmic buckets, 64 for each doubling of the time, so that quantiles have errors of at
 * most 0.55 %; minimum, maximum and sum are exact. The size of the struct does not depend on the number of samples.
 * Initialise with zeros. */
enum { STATS_BUCKETS = 64 * 40 };

struct stats {
  long count;
  double sum_ms, min_ms, max_ms;
  uint32_t buckets[STATS_BUCKETS];
};

/* Adds a time in ms. */
void stats_add(struct stats *stats, double ms);
/* Returns the quantile q (0 to 1) of the times in ms; 0 if there are none. */
double stats_quantile(const struct stats *stats, double q);
/* Returns about how many of the added times were longer than ms: those in buckets of the histogram above the bucket
 * that ms falls into. */
long stats_above(const struct stats *stats, double ms);

/* The statistics of times that bench, render and the window's overlay print. */
struct stats_summary {
  long count;
  double mean_ms, median_ms, p95_ms, p99_ms, max_ms, min_ms;
  double jitter_ms; /* how unsteady the times are: p99_ms minus median_ms */
  double spread_ms; /* about the standard error of the median, in ms; at least the histogram's own error */
};

void stats_summarise(const struct stats *stats, struct stats_summary *summary);

/* Returns the number of decimals with which a time in ms is printed: 0 if it is a whole number of milliseconds, else
 * 1. */
int stats_decimals(double ms);

#endif
