/* The cover is what is drawn over the engine's picture: the source (parameter bypass), black (blackout), or an earlier
 * picture (freeze). Each fades in and out. The window draws the cover without the engine, so it works even if the
 * engine hangs. A struct cover is a plain value. */
#ifndef APP_CONTROL_COVER_H
#define APP_CONTROL_COVER_H

#include "app/control/parameters.h"

/* Opacities from 0 to 1, in the order in which they are applied: the frozen picture is drawn over the newest picture
 * with opacity `held`, the source over the result with `bypass`, and black over that with `blackout`. All 0: the newest
 * picture is shown unchanged. */
struct cover_levels {
  float held, bypass, blackout;
};

struct cover_slide {
  double from, to;
  int64_t since_ns;
};

/* What is drawn over the picture (source, black, frozen picture), with its fades. Initialise with zeros: nothing covers
 * the picture. */
struct cover {
  struct cover_slide bypass, blackout, held;
  double fade_s; /* seconds of a fade from 0 to 1; cover_follow copies it from the parameter fade */
};

/* Starts a fade at now_ns (platform_now_ns) of each opacity whose parameter (bypass, blackout, freeze) has changed.
 * instead: true: the source is shown even if bypass is off, for example because the engine has failed. */
void cover_follow(struct cover *cover, const struct parameters *values, bool instead, int64_t now_ns);
/* Ends all fades: each opacity gets the value to which its fade leads. */
void cover_jump(struct cover *cover);
/* Computes the opacities (levels) of the source, of black and of the frozen picture at time now_ns. Returns true if any
 * opacity is still changing. */
bool cover_levels(const struct cover *cover, int64_t now_ns, struct cover_levels *levels);

#endif
