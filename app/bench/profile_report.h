/* A profile as a table for people and as JSON for programs, with its totals. */
#ifndef APP_BENCH_PROFILE_REPORT_H
#define APP_BENCH_PROFILE_REPORT_H

#include <stdio.h>

#include <cjson/cJSON.h>

#include "unet/engine.h"

/* Sums over a frame of the rows (or launches) that are alike in some way. */
struct profile_total {
  char group[64];
  int ops, launches;
  double flops, weight_bytes, activation_bytes, floor_us, us;
};

enum profile_grouping {
  BY_PART,   /* "unet" */
  BY_KIND,   /* "unet conv3x3" */
  BY_LEVEL,  /* "unet conv3x3 4096" */
  BY_LAUNCH, /* "cudnn": times and counts alone: a launch has no more */
  GROUPINGS
};

struct profile_totals {
  struct profile_total *list; /* owned: in the order of first appearance */
  int count;
};

const char *profile_grouping_title(enum profile_grouping grouping);
/* -1: out of memory. The caller frees totals->list. */
int profile_totals(const struct profile *profile, enum profile_grouping grouping, struct profile_totals *totals);
/* Microseconds of a frame that are in some row. */
double profile_sum_us(const struct profile *profile);

void profile_table(const struct profile *profile, FILE *out);
void profile_json(const struct profile *profile, cJSON *to);

#endif
