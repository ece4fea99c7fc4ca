/* Computes which moment of a microphone's sound belongs to a picture in a recording: when its frame was captured. That
 * is the time when the picture was shown, minus the smoothed latency; without smoothing, a slow frame would shift the
 * sound. */
#ifndef APP_RUN_HEARD_H
#define APP_RUN_HEARD_H

#include "unet/base/frame.h"

/* State for computing which sound belongs to a picture. Zero-initialise to start. */
struct heard {
  int64_t captured_ns; /* time when the frame of the previously shown picture was captured (platform_now_ns) */
  double latency_ns;   /* smoothed time from a frame's capture to the display of its picture, in ns; 0: unknown */
};

/* Returns the time on the clock of platform_now_ns at which the sound of this picture was recorded. shown_ns: time when
 * the picture was shown; it must not decrease from call to call. */
int64_t heard_with(struct heard *heard, const struct frame *picture, int64_t shown_ns);

#endif
