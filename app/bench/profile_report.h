/* Prints a profile as a table and as JSON, with its totals. */
#ifndef APP_BENCH_PROFILE_REPORT_H
#define APP_BENCH_PROFILE_REPORT_H

#include <stdio.h>

#include <cjson/cJSON.h>

#include "unet/engine.h"

/* Sums for one frame over a group of ops, or of a library's launches. */
struct profile_total {
  char group[64];
  int ops, launches;
  double flops, weight_bytes, activation_bytes, floor_us, us;
};

enum profile_grouping {
  BY_PART,   /* "unet" */
  BY_KIND,   /* "unet conv3x3" */
  BY_LEVEL,  /* "unet conv3x3 4096" */
  BY_LAUNCH, /* "cudnn": launches by the library that makes them; only launches and us are filled */
  GROUPINGS
};

struct profile_totals {
  struct profile_total *list; /* in the order of first appearance */
  int count;
};

/* Returns the heading of a grouping, a string constant. */
const char *profile_grouping_title(enum profile_grouping grouping);
/* Fills totals; the caller frees totals->list. -1: out of memory, and there is nothing to free. */
int profile_totals(const struct profile *profile, enum profile_grouping grouping, struct profile_totals *totals);
/* Returns how many microseconds of a frame the profile's ops take together. */
double profile_sum_us(const struct profile *profile);

/* Print the ops, and their totals by each grouping, as a table, and add them to a JSON object. */
void profile_table(const struct profile *profile, FILE *out);
void profile_json(const struct profile *profile, cJSON *to);

#endif
