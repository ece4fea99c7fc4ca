/* Which moment of a microphone belongs to a picture: that at which its frame was captured, as long before the picture
 * was shown as frames take of late. One that takes longer than the others does not move the sound. */
#ifndef APP_RUN_HEARD_H
#define APP_RUN_HEARD_H

#include "unet/base/frame.h"

/* Zero-initialise to start. */
struct heard {
  int64_t captured_ns; /* of the last picture's frame */
  double latency_ns;   /* from capture to screen, smoothed; 0: not known */
};

/* Of a picture recorded as shown at that time, which rises. */
int64_t heard_with(struct heard *heard, const struct frame *picture, int64_t shown_ns);

#endif
