/* Rates: how many pictures are shown, or frames read, per second. Times are of platform_now_ns. */
#ifndef APP_FLOW_PACE_H
#define APP_FLOW_PACE_H

#include <stdint.h>

enum { PACE_STAMPS = 128 };

/* Zero-initialise to start. */
struct pace {
  long stamps; /* number of all stamps so far */
  struct {
    int64_t at_ns;
    long total; /* number of pictures by then */
  } stamp[PACE_STAMPS];
};

/* Records that `total` pictures have come by now. Does nothing if total has not changed. */
void pace_count(struct pace *pace, long total, int64_t now_ns);

/* Returns the rate over the last second, or over the last few stamps if they are rarer; less if the next one is
 * overdue. 0: unknown, because fewer than two came in the last ten minutes. */
double pace_rate(const struct pace *pace, int64_t now_ns);

#endif
