/* The cover is what is drawn over the engine's picture: the source (parameter bypass), black (blackout), or a picture
 * that is held (freeze). Each of them fades in and out. The window draws the cover without the engine, so that it works
 * even if the engine hangs. A struct cover is a plain value. */
#ifndef APP_CONTROL_COVER_H
#define APP_CONTROL_COVER_H

#include "app/control/parameters.h"

/* Opacities from 0 to 1, applied in this order: the newest picture is mixed with the held picture by `held`, the
 * result with the source by `bypass`, and that result with black by `blackout`. All 0: the newest picture is shown
 * unchanged. */
struct cover_levels {
  float held, bypass, blackout;
};

struct cover_slide {
  double from, to;
  int64_t since_ns;
};

/* Initialise with zeros: nothing covers the picture. */
struct cover {
  struct cover_slide bypass, blackout, held;
  double fade_s; /* duration of a fade from 0 to 1, in seconds; cover_follow copies it from the parameter fade */
};

/* Starts fades at time now_ns (of platform_now_ns) where bypass, blackout or freeze differs from the level that its
 * last fade leads to. instead: the source is shown as with bypass, although the parameter is off. */
void cover_follow(struct cover *cover, const struct parameters *values, bool instead, int64_t now_ns);
/* Computes the opacities (levels) of bypass, blackout and the held picture at time now_ns. Returns true if any of them
 * is still changing. */
bool cover_levels(const struct cover *cover, int64_t now_ns, struct cover_levels *levels);

#endif
