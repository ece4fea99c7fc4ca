/* Measures rates: how many pictures are shown, or frames read, per second. Times are on the clock of
 * platform_now_ns. */
#ifndef APP_FLOW_PACE_H
#define APP_FLOW_PACE_H

#include <stdint.h>

enum { PACE_STAMPS = 128 };

/* A ring of the last stamps: times, each with the number of pictures until then. Initialise with zeros. Used by one
 * thread. */
struct pace {
  long stamps; /* number of stamps since the start; stamp i is at index i % PACE_STAMPS */
  struct {
    int64_t at_ns;
    long total; /* number of pictures until that time */
  } stamp[PACE_STAMPS];
};

/* Adds a stamp if `total`, the number of all pictures so far, differs from that at the last call. */
void pace_count(struct pace *pace, long total, int64_t now_ns);

/* Returns pictures per second, over the last second or, if there were few, over the last few stamps. If the next
 * picture is later than this rate would mean, the rate is lowered. 0: unknown, because fewer than two stamps are of the
 * last ten minutes. */
double pace_rate(const struct pace *pace, int64_t now_ns);

#endif
