/* What lies over the picture: the source that bypasses the engine, black, and a picture that is held; each comes and
 * goes with a fade. The window alone follows it, so that it costs the engine nothing and acts though the engine hangs.
 * A plain value. */
#ifndef APP_CONTROL_COVER_H
#define APP_CONTROL_COVER_H

#include "app/control/parameters.h"

/* Each 0..1. What is shown is the newest picture, mixed with the one held by held, that with the source by bypass, and
 * that with black by blackout. All 0: the newest picture as it is. */
struct cover_levels {
  float held, bypass, blackout;
};

struct cover_slide {
  double from, to;
  int64_t since_ns;
};

/* Zero-initialise to start: nothing lies there. */
struct cover {
  struct cover_slide bypass, blackout, held;
  double fade_s; /* of the values last followed */
};

/* Follows the values at time now. instead: the source is wanted though values do not say so. */
void cover_follow(struct cover *cover, const struct parameters *values, bool instead, int64_t now_ns);
/* Returns whether one of them is on its way. */
bool cover_levels(const struct cover *cover, int64_t now_ns, struct cover_levels *levels);

#endif
