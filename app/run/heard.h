/* Finds the moment of a microphone's sound that belongs to a picture: when its frame was captured. It is computed as
 * the time when the picture was shown minus the smoothed latency, so that a single slow frame does not shift the
 * sound. */
#ifndef APP_RUN_HEARD_H
#define APP_RUN_HEARD_H

#include "unet/base/frame.h"

/* Zero-initialise to start. */
struct heard {
  int64_t captured_ns; /* capture time of the previous picture's frame */
  double latency_ns;   /* smoothed time from capture to screen; 0: unknown */
};

/* Returns the moment for a picture that is recorded as shown at shown_ns. Times must not decrease. */
int64_t heard_with(struct heard *heard, const struct frame *picture, int64_t shown_ns);

#endif
