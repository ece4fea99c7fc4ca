#include "app/window/face_input.h"

#include <math.h>
#include <string.h>

const char *const face_commands[FACE_STATES] = {"freeze", "blackout", "bypass", "record", "panic"};

static void run(struct live_state *state, const char *command, double value, int64_t now_ns) {
  const struct command_entry *entry = commands_find(command, strlen(command));
  if (entry)
    commands_call(state, entry, isnan(value) ? entry->value : value, now_ns);
}

/* Sets the value of a bar to the position x on it. */
static void set_bar(const struct face_places *places, const struct face_content *content, struct live_state *state,
                    int bar, float x, int64_t now_ns) {
  if (bar >= content->bars)
    return;
  const struct list_row row = content->bar[bar];
  const double share = face_share(&places->bars[bar], x), number = parameter_list_number(row, share);
  const struct parameters *values = &state->settings.values;
  if (fabs(parameter_list_place(row, number) - parameter_list_share(values, row)) > 1e-9)
    live_set_number(state, row.id, row.index, number, now_ns);
}

/* Adds a prompt to the blend, or changes its weight there. The weight is given by the position x of the press on the
 * prompt's tile. If no prompts are blended yet, the prompt shown alone becomes the first of the blend. */
static void blend(const struct face_places *places, struct live_state *state, int prompt, float x, int64_t now_ns) {
  const struct parameters *values = &state->settings.values;
  bool any = false;
  for (int i = 1; i <= SLOT_PRESETS; i++)
    any |= live_blend_weight(state, i) > 0;
  if (!state->ready || !live_has_prompt(state, prompt + 1, now_ns))
    return;
  if (!any && values->shown_prompt != prompt + 1)
    live_set_at(state, PARAMETER_BLEND, (int)values->shown_prompt, 1, now_ns);
  double weight = round(100 * face_share(&places->prompts[prompt], x)) / 100;
  if (weight == live_blend_weight(state, prompt + 1))
    return;
  live_set_at(state, PARAMETER_BLEND, prompt + 1, weight, now_ns);
  state->share = prompt + 1;
  settings_turn(&state->settings, now_ns);
}

bool face_press(struct face_grip *grip, const struct face_places *places, const struct face_content *content,
                struct panel *panel, struct live_state *state, float x, float y, int64_t now_ns) {
  *grip = (struct face_grip){.hit = face_find(places, x, y), .x = x, .y = y, .at_x = x, .at_y = y};
  int number = grip->hit.number;
  switch (grip->hit.part) {
  case FACE_STATE:
    run(state, face_commands[number], (double)NAN, now_ns);
    break;
  case FACE_BAR:
    set_bar(places, content, state, number, x, now_ns);
    break;
  case FACE_SCENE:
    if (content->first_scene + number <= content->scenes)
      live_set(state, PARAMETER_SAVED_PRESET, content->first_scene + number, now_ns);
    break;
  case FACE_LIST:
    if (y >= places->box.top)
      panel_press(panel, state, &places->box, x, y, now_ns);
    else if (!panel->types && *panel->list.filter)
      panel->list.filter[0] = 0;
    else if (!panel->types)
      panel_open_filter(panel);
    break;
  case FACE_LINE:
    if (!panel->types && state->ready)
      state->panel_asked = PANEL_PROMPT;
    break;
  case FACE_PROMPT:
  case FACE_CLIP:
    break;
  case FACE_NOTHING:
  case FACE_PICTURE:
    return false;
  }
  return true;
}

/* Scrolls the list by as many rows as the press has moved since it was scrolled last. */
static void scroll(struct face_grip *grip, const struct face_places *places, struct panel *panel, float y) {
  int rows = (int)((grip->at_y - y) / places->box.line);
  parameter_list_scroll(&panel->list, rows);
  grip->at_y -= (float)rows * places->box.line;
}

void face_drag(struct face_grip *grip, const struct face_places *places, const struct face_content *content,
               struct panel *panel, struct live_state *state, float x, float y, int64_t now_ns) {
  float far = (float)places->size / 2;
  grip->at_x = x;
  grip->moved |= fabsf(x - grip->x) > far || fabsf(y - grip->y) > far;
  if (grip->hit.part == FACE_BAR)
    set_bar(places, content, state, grip->hit.number, x, now_ns);
  else if (grip->hit.part == FACE_PROMPT && grip->moved)
    blend(places, state, grip->hit.number, x, now_ns);
  else if (grip->hit.part == FACE_LIST && panel->list.grabbed)
    parameter_list_drag(&panel->list, state, &places->box, x, now_ns);
  else if (grip->hit.part == FACE_LIST && !panel->types)
    scroll(grip, places, panel, y);
}

void face_release(struct face_grip *grip, const struct face_places *places, const struct face_content *content,
                  struct panel *panel, struct live_state *state, int64_t now_ns) {
  double length = content->clip_end_s - content->clip_from_s, share = face_share(&places->clip, grip->at_x);
  if (grip->hit.part == FACE_CLIP && content->clip_end_s > 0)
    live_set(state, PARAMETER_CLIP_POSITION, content->clip_from_s + share * length, now_ns);
  if (grip->hit.part == FACE_PROMPT && !grip->moved)
    run(state, "prompt", grip->hit.number + 1, now_ns);
  if (grip->hit.part == FACE_LIST)
    parameter_list_release(&panel->list);
  *grip = (struct face_grip){0};
}

void face_wheel(const struct face_places *places, const struct face_content *content, struct panel *panel,
                struct live_state *state, int *first_scene, float x, float y, float turns, int64_t now_ns) {
  const struct face_hit hit = face_find(places, x, y);
  int by = turns > 0 ? -FACE_SCENES : FACE_SCENES, next = *first_scene + by;
  if (hit.part == FACE_BAR && hit.number < content->bars)
    parameter_list_step(state, content->bar[hit.number], turns > 0 ? 1 : -1, now_ns);
  else if (hit.part == FACE_SCENE && next >= 1 && next <= content->scenes)
    *first_scene = next;
  else if (hit.part != FACE_SCENE)
    parameter_list_scroll(&panel->list, (int)lrintf(-3 * turns));
}
