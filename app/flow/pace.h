/* Measures rates: how many pictures are shown, or frames read, per second. Times are on the clock of
 * platform_now_ns. */
#ifndef APP_FLOW_PACE_H
#define APP_FLOW_PACE_H

#include <stdint.h>

enum { PACE_STAMPS = 128 };

/* The last PACE_STAMPS stamps; a stamp is a time with the number of pictures until then. Initialise with zeros. Used by
 * one thread. */
struct pace {
  long stamps; /* number of stamps since the start; stamp i is at index i % PACE_STAMPS */
  struct {
    int64_t at_ns;
    long total; /* number of all pictures up to the time of the stamp */
  } stamp[PACE_STAMPS];
};

/* Adds a stamp for the time now_ns if `total`, the number of all pictures so far, has changed since the last stamp. */
void pace_count(struct pace *pace, long total, int64_t now_ns);

/* Returns the rate in pictures per second over the last second, or over the last few pictures if there were few. If no
 * picture came for more than a second, the rate is at most one picture in that time. Returns 0 if the rate is unknown,
 * because there are fewer than two pictures in the last ten minutes. */
double pace_rate(const struct pace *pace, int64_t now_ns);

#endif
