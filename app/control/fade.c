#include "app/control/fade.h"

#include <string.h>

static const int64_t usual_ns = (int64_t)FADE_MS * 1000000;

static float progress(const struct fade *fade, int64_t now_ns) {
  int64_t elapsed = now_ns - fade->start_ns;
  if (elapsed >= fade->duration_ns)
    return 1;
  return elapsed <= 0 ? 0 : (float)elapsed / (float)fade->duration_ns;
}

void fade_begin(struct fade *fade, const float shares[SLOT_PRESETS]) {
  memcpy(fade->from, shares, sizeof fade->from);
  memcpy(fade->to, shares, sizeof fade->to);
  fade->start_ns = INT64_MIN / 2;
  fade->duration_ns = usual_ns;
}

void fade_turn(struct fade *fade, const float shares[SLOT_PRESETS], int64_t now_ns) {
  bool same = true;
  for (int i = 0; i < SLOT_PRESETS; i++)
    same = same && (shares[i] > 0) == (fade->to[i] > 0);
  if (!same) {
    fade_apply(fade, now_ns, fade->from);
    fade->start_ns = now_ns;
    fade->duration_ns = usual_ns;
  }
  memcpy(fade->to, shares, sizeof fade->to);
}

void fade_slide(struct fade *fade, const float shares[SLOT_PRESETS], int64_t now_ns, int64_t duration_ns) {
  float from[SLOT_PRESETS];
  fade_apply(fade, now_ns, from);
  memcpy(fade->from, from, sizeof from);
  memcpy(fade->to, shares, sizeof fade->to);
  fade->start_ns = now_ns;
  fade->duration_ns = duration_ns;
}

bool fade_is_over(const struct fade *fade, int64_t now_ns) {
  return progress(fade, now_ns) >= 1;
}

void fade_apply(const struct fade *fade, int64_t now_ns, float shares[SLOT_PRESETS]) {
  float done = progress(fade, now_ns);
  for (int i = 0; i < SLOT_PRESETS; i++)
    shares[i] = done * fade->to[i] + (1 - done) * fade->from[i];
}
