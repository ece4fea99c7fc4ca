#include "app/control/cover.h"

#include <math.h>

static double progress(const struct cover *cover, const struct cover_slide *slide, int64_t now_ns) {
  double seconds = (double)(now_ns - slide->since_ns) * 1e-9, whole = cover->fade_s * fabs(slide->to - slide->from);
  return whole > 0 ? fmin(1, fmax(0, seconds / whole)) : 1;
}

static double level(const struct cover *cover, const struct cover_slide *slide, int64_t now_ns) {
  return slide->from + (slide->to - slide->from) * progress(cover, slide, now_ns);
}

/* Starts a fade of one opacity from its present level to `to`. All fades have the same speed: a fade from 0 to 1 takes
 * fade_s seconds. */
static void slide_to(struct cover *cover, struct cover_slide *slide, double to, int64_t now_ns) {
  if (slide->to != to)
    *slide = (struct cover_slide){level(cover, slide, now_ns), to, now_ns};
}

void cover_follow(struct cover *cover, const struct parameters *values, bool instead, int64_t now_ns) {
  slide_to(cover, &cover->bypass, values->bypass || instead, now_ns);
  slide_to(cover, &cover->blackout, values->blackout, now_ns);
  slide_to(cover, &cover->held, values->freeze, now_ns);
  if (values->freeze) /* a freeze begins without a fade, because the picture that is frozen is on the screen already */
    cover->held.from = 1;
  cover->fade_s = values->fade;
}

void cover_jump(struct cover *cover) {
  cover->bypass.from = cover->bypass.to;
  cover->blackout.from = cover->blackout.to;
  cover->held.from = cover->held.to;
}

bool cover_levels(const struct cover *cover, int64_t now_ns, struct cover_levels *levels) {
  const struct cover_slide *slides[] = {&cover->held, &cover->bypass, &cover->blackout};
  float *level_of[] = {&levels->held, &levels->bypass, &levels->blackout};
  bool moving = false;
  for (int i = 0; i < 3; i++) {
    *level_of[i] = (float)level(cover, slides[i], now_ns);
    moving = moving || (slides[i]->from != slides[i]->to && progress(cover, slides[i], now_ns) < 1);
  }
  return moving;
}
