/* How many come a second: of pictures shown, of frames read. Stamps are of platform_now_ns. */
#ifndef APP_FLOW_PACE_H
#define APP_FLOW_PACE_H

#include <stdint.h>

enum { PACE_STAMPS = 128 };

/* Zero-initialise to start. */
struct pace {
  long stamps; /* in all */
  struct {
    int64_t at_ns;
    long total; /* of what had come by then */
  } stamp[PACE_STAMPS];
};

/* So many have come by now; the same number as before says nothing. */
void pace_count(struct pace *pace, long total, int64_t now_ns);

/* Over the last second, or over the last few where they come more slowly; less when the next one is overdue. 0: not
 * known, because there was no second one in the last ten minutes. */
double pace_rate(const struct pace *pace, int64_t now_ns);

#endif
