#include "app/control/live_state.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "app/control/picture_size.h"
#include <string.h>

#include "unet/base/address.h"

void live_notice(struct live_state *state, int64_t now_ns, const char *format, ...) {
  char line[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  state->notice_is_followed = false;
  snprintf(state->notice, sizeof state->notice, "%s", address_conceal(line, sizeof line));
  int64_t reading_ms = (int64_t)strlen(state->notice) * NOTICE_BYTE_MS;
  state->notice_until_ns = now_ns + (reading_ms > NOTICE_MS ? reading_ms : NOTICE_MS) * 1000000;
}

int live_set_at(struct live_state *state, enum parameter id, int index, double number, int64_t now_ns) {
  struct error err;
  int status = parameters_set_number(&state->settings.values, id, index, number, &err);
  if (status)
    live_notice(state, now_ns, "%s", err.message);
  return status;
}

void live_set(struct live_state *state, enum parameter id, double number, int64_t now_ns) {
  live_set_at(state, id, 0, number, now_ns);
}

double live_blend_weight(const struct live_state *state, int prompt) {
  return parameters_number(&state->settings.values, PARAMETER_BLEND, prompt);
}

void live_end_blend(struct live_state *state, int64_t now_ns) {
  for (int i = 1; i <= SLOT_PRESETS; i++)
    if (live_blend_weight(state, i) > 0)
      live_set_at(state, PARAMETER_BLEND, i, 0, now_ns);
}

bool live_has_prompt(struct live_state *state, double number, int64_t now_ns) {
  bool in_range = number >= 1 && number <= SLOT_PRESETS;
  if (!in_range || parameters_text(&state->settings.values, PARAMETER_PROMPT, (int)number))
    return true;
  live_notice(state, now_ns, "no prompt %d", (int)number);
  return false;
}

void live_choose_prompt(struct live_state *state, double number, int64_t now_ns) {
  int before = (int)state->settings.values.shown_prompt;
  if (!live_has_prompt(state, number, now_ns) || live_set_at(state, PARAMETER_SHOWN_PROMPT, 0, number, now_ns))
    return;
  live_end_blend(state, now_ns);
  settings_turn(&state->settings, now_ns);
  if (state->settings.values.shown_prompt != before)
    state->slot_before = before;
}

enum { SIZE_STEP = 64 };

static int longest_of(const struct parameter_size *size) {
  return size->width > size->height ? size->width : size->height;
}

static bool same_size(const struct parameter_size *a, const struct parameter_size *b) {
  return a->width == b->width && a->height == b->height;
}

/* Notices a size that was set otherwise than by keys. Keys change the size in steps from sizes.asked. If the present
 * size differs from sizes.now, the last size that keys set or this function saw, it becomes sizes.asked. */
static void follow_asked(struct live_state *state) {
  struct size_steps *sizes = &state->sizes;
  const struct parameter_size *now = &state->settings.values.size;
  if (!same_size(now, &sizes->now))
    sizes->asked = *now;
  sizes->now = *now;
}

/* Finds the allowed size whose longest side is nearest to `longest`. Allowed sizes are about `step` pixels apart and
 * include the size that the user asked for. Repeated steps therefore reach each size once. Returns false if there is no
 * allowed size. */
static bool find_stop(const struct live_state *state, double longest, double step, struct parameter_size *stop) {
  const struct parameter_size *asked = &state->sizes.asked;
  const double reach = 0.375;
  *stop = *asked;
  if (lrint(longest / step) == lrint(longest_of(asked) / step))
    return true;
  const struct picture_size_wish wish = {
      .asked = *asked,
      .multiple = state->size_multiple,
      .scale = longest / longest_of(asked),
      .reach = fmax(reach * step, 1) / longest,
  };
  return longest > 0 && picture_size_find(&wish, stop);
}

static int set_size(struct live_state *state, const struct parameter_size *size, int64_t now_ns) {
  struct error err;
  int status = parameters_set_size(&state->settings.values, PARAMETER_SIZE, 0, size->width, size->height, &err);
  if (status)
    live_notice(state, now_ns, "%s", err.message);
  else
    live_notice(state, now_ns, "size %dx%d", size->width, size->height);
  state->notice_is_followed = !status && state->ready;
  state->sizes.now = state->settings.values.size;
  return status;
}

int live_set_longest(struct live_state *state, double longest, int64_t now_ns) {
  struct parameter_size stop;
  follow_asked(state);
  return find_stop(state, longest, SIZE_STEP, &stop) ? set_size(state, &stop, now_ns) : -1;
}

void live_step_size(struct live_state *state, double step, int64_t now_ns) {
  double by = fabs(step), longest = longest_of(&state->settings.values.size);
  struct parameter_size stop;
  if (longest <= 0 || by <= 0)
    return;
  follow_asked(state);
  longest = by * (double)(lrint(longest / by) + (step > 0 ? 1 : -1));
  if (longest <= parameter_row(PARAMETER_SIZE)->max && find_stop(state, longest, by, &stop))
    set_size(state, &stop, now_ns);
}

void live_put_back_size(struct live_state *state, int width, int height) {
  struct error ignored;
  follow_asked(state);
  parameters_set_size(&state->settings.values, PARAMETER_SIZE, 0, width, height, &ignored);
  state->sizes.now = state->settings.values.size;
}

int live_set_number(struct live_state *state, enum parameter id, int index, double number, int64_t now_ns) {
  if (id == PARAMETER_SIZE)
    return state->settings.values.size.width ? live_set_longest(state, number, now_ns) : -1;
  if (id == PARAMETER_SHOWN_PROMPT) {
    live_choose_prompt(state, number, now_ns);
    return parameters_number(&state->settings.values, id, 0) == number ? 0 : -1;
  }
  int status = live_set_at(state, id, index, number, now_ns);
  if (id == PARAMETER_BLEND)
    settings_turn(&state->settings, now_ns);
  return status;
}

/* Sets a parameter from text that the user typed. A decimal comma counts as a point. An empty text sets an empty
 * prompt, or removes the file if the parameter is a file's name. Returns 0, or -1 with err set. */
static int parse_words(struct parameters *values, enum parameter id, int index, const char *words, struct error *err) {
  char number[32];
  enum parameter_type type = parameter_row(id)->type;
  if ((type == TYPE_REAL || type == TYPE_WHOLE) && strlen(words) < sizeof number && !strchr(words, '.')) {
    snprintf(number, sizeof number, "%s", words);
    char *comma = strchr(number, ',');
    if (comma)
      *comma = '.';
    words = number;
  }
  bool none = !*words && parameter_row(id)->type == TYPE_TEXT && parameter_row(id)->need != NEED_ENCODING;
  return none ? parameters_set_text(values, id, index, NULL, err) : parameters_parse(values, id, index, words, err);
}

int live_set_words(struct live_state *state, enum parameter id, int index, const char *words, int64_t now_ns) {
  struct parameters values = state->settings.values;
  struct error err;
  if (parse_words(&values, id, index, words, &err)) {
    live_notice(state, now_ns, "%s", err.message);
    return -1;
  }
  if (parameter_row(id)->type == TYPE_TEXT || parameter_row(id)->type == TYPE_SIZE) {
    state->settings.values = values;
    return 0;
  }
  return live_set_number(state, id, index, parameters_number(&values, id, index), now_ns);
}
