#include "app/control/fade.h"

static const int64_t duration_ns = (int64_t)FADE_MS * 1000000;

static float progress(const struct fade *fade, int64_t now_ns) {
  int64_t elapsed = now_ns - fade->start_ns;
  if (fade->from == fade->to || elapsed >= duration_ns)
    return 1;
  return elapsed <= 0 ? 0 : (float)elapsed / (float)duration_ns;
}

void fade_turn(struct fade *fade, int slot, int64_t now_ns) {
  float done = progress(fade, now_ns);
  if (slot == fade->to)
    return;
  if (done < 1 && slot == fade->from) {
    *fade = (struct fade){fade->to, slot, now_ns - (int64_t)((1 - done) * (float)duration_ns)};
    return;
  }
  *fade = (struct fade){done < 0.5f ? fade->from : fade->to, slot, now_ns};
}

void fade_apply(const struct fade *fade, int64_t now_ns, struct controls *controls) {
  float done = progress(fade, now_ns);
  int over = done >= 1;
  controls->prompt = over ? fade->to : fade->from;
  controls->prompt_to = fade->to;
  controls->blend = over ? 0 : done;
}
