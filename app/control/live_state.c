#include "app/control/live_state.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "unet/base/address.h"

void live_notice(struct live_state *state, int64_t now_ns, const char *format, ...) {
  char line[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
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

/* That of the pictures is rounded: it has to tell of another one before it counts. */
static double shape_of_size(const struct live_state *state, const struct parameter_size *size) {
  double now = (double)size->width / size->height;
  return state->shape > 0 && fabs(log(now / state->shape)) < 0.25 ? state->shape : now;
}

static int round_side(const struct live_state *state, double side) {
  double multiple = state->size_multiple > 0 ? state->size_multiple : 1;
  return (int)(fmax(1, floor(side / multiple + 0.5)) * multiple);
}

int live_set_longest(struct live_state *state, double longest, int64_t now_ns) {
  double shape = shape_of_size(state, &state->settings.values.size);
  int width = round_side(state, longest * fmin(1, shape)), height = round_side(state, longest / fmax(1, shape));
  struct error err;
  int status = parameters_set_size(&state->settings.values, PARAMETER_SIZE, 0, width, height, &err);
  if (status)
    live_notice(state, now_ns, "%s", err.message);
  else
    live_notice(state, now_ns, "size %dx%d", width, height);
  return status;
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

/* A prompt can be empty; of a file, nothing typed is none. */
static int parse_words(struct parameters *values, enum parameter id, int index, const char *words, struct error *err) {
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
