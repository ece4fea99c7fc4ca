/* The cover is what lies over the picture: the source (bypass), black (blackout), or a held picture (freeze). Each
 * comes and goes with a fade. The window alone draws it, so that it costs the engine nothing and acts even if the
 * engine hangs. A plain value. */
#ifndef APP_CONTROL_COVER_H
#define APP_CONTROL_COVER_H

#include "app/control/parameters.h"

/* Levels from 0 to 1, applied in this order: the newest picture is mixed with the held one by `held`, the result with
 * the source by `bypass`, and that with black by `blackout`. All 0: the newest picture is shown unchanged. */
struct cover_levels {
  float held, bypass, blackout;
};

struct cover_slide {
  double from, to;
  int64_t since_ns;
};

/* Initialise with zeros: nothing lies over the picture. */
struct cover {
  struct cover_slide bypass, blackout, held;
  double fade_s; /* how long a whole fade takes, from the values of the last cover_follow */
};

/* Starts the fades that the values ask for at time now. instead: the source is to be shown even if the values do not
 * ask for it. */
void cover_follow(struct cover *cover, const struct parameters *values, bool instead, int64_t now_ns);
/* Computes the levels at time now. Returns true if a fade is under way. */
bool cover_levels(const struct cover *cover, int64_t now_ns, struct cover_levels *levels);

#endif
