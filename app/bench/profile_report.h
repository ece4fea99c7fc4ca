/* Prints a profile (the times of a frame's ops and launches) as a table and as JSON, together with sums over groups. */
#ifndef APP_BENCH_PROFILE_REPORT_H
#define APP_BENCH_PROFILE_REPORT_H

#include <stdio.h>

#include <cjson/cJSON.h>

#include "unet/engine.h"

/* Sums for one frame over a group of ops (operations of the network), or over the launches (kernels and library
 * functions) of one library. floor_us: microseconds that the device would need at its peak rates; us: measured
 * microseconds. */
struct profile_total {
  char group[64];
  int ops, launches;
  double flops, weight_bytes, activation_bytes, floor_us, us;
};

enum profile_grouping {
  BY_PART,  /* one group for each part of the model, such as "unet" */
  BY_KIND,  /* one group for each part and kind of op, such as "unet conv3x3" */
  BY_LEVEL, /* groups such as "unet conv3x3 4096", where the number is the pixels of the op's result */
  /* one group for each library that makes launches, such as "cudnn"; only the fields launches and us of profile_total
   * are filled */
  BY_LAUNCH,
  GROUPINGS
};

struct profile_totals {
  struct profile_total *list; /* sums over the ops of each group; the groups are in the order in which they first occur
                               * in the profile */
  int count;
};

/* Returns the heading that reports print for a grouping, a string constant. */
const char *profile_grouping_title(enum profile_grouping grouping);
/* Fills *totals with the sums for each group. The caller frees totals->list. Returns 0, or -1: out of memory, and there
 * is nothing to free. */
int profile_totals(const struct profile *profile, enum profile_grouping grouping, struct profile_totals *totals);
/* Returns how many microseconds all ops of the profile take together in one frame. */
double profile_sum_us(const struct profile *profile);

/* profile_table prints the profile's ops, and their sums for each grouping, as a table; profile_json adds the same to a
 * JSON object. */
void profile_table(const struct profile *profile, FILE *out);
void profile_json(const struct profile *profile, cJSON *to);

#endif
