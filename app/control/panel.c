#include "app/control/panel.h"

#include <stdio.h>
#include <string.h>

static bool has_history(const struct panel *panel) {
  return !panel->filters && parameter_row(panel->value.id)->need == NEED_ENCODING;
}

static void open_line(struct panel *panel, const char *text) {
  panel->types = true;
  line_edit_begin(&panel->line, text);
  history_begin(&panel->history);
}

static void edit_value(struct panel *panel, const struct live_state *state, struct list_row value) {
  char words[PARAMETER_TEXT_MAX];
  panel->filters = false;
  panel->value = value;
  open_line(panel, parameters_print(&state->settings.values, value.id, value.index, words, sizeof words));
  line_edit_select(&panel->line);
}

void panel_open_filter(struct panel *panel) {
  panel->filters = true;
  open_line(panel, panel->list.filter);
}

/* Returns the number of the prompt that the user edits: the one that was added to the blend last, or the one that is
 * shown alone if there is no blend. */
static int prompt_in_use(const struct live_state *state) {
  const struct parameters *values = &state->settings.values;
  return state->share && values->blend[state->share - 1] > 0 ? state->share : (int)values->shown_prompt;
}

void panel_follow(struct panel *panel, struct live_state *state) {
  enum panel_wish wish = state->panel_asked;
  state->panel_asked = PANEL_NOTHING;
  if (wish == PANEL_LIST)
    panel->lists = !panel->lists;
  else if (wish == PANEL_PROMPT)
    edit_value(panel, state, (struct list_row){PARAMETER_PROMPT, prompt_in_use(state)});
  else if (wish == PANEL_NEGATIVE)
    edit_value(panel, state, (struct list_row){PARAMETER_NEGATIVE, 0});
}

static void close_line(struct panel *panel) {
  panel->types = false;
  line_edit_begin(&panel->line, "");
}

/* Updates the rows of the parameter list before the list handles a key, because several keys may come between two drawn
 * frames. */
static void update_rows(struct panel *panel, const struct live_state *state) {
  parameter_list_update(&panel->list, &state->settings.values, panel->list.seen);
}

/* Applies the filter text to the list of parameters while the user types that text. If the chosen row disappears, the
 * first remaining row is chosen. */
static void apply_filter(struct panel *panel, const struct live_state *state) {
  const struct list_row *row = parameter_list_chosen(&panel->list), before = row ? *row : (struct list_row){0};
  snprintf(panel->list.filter, sizeof panel->list.filter, "%.*s", (int)sizeof panel->list.filter - 1, panel->line.text);
  update_rows(panel, state);
  row = parameter_list_chosen(&panel->list);
  if (row && (row->id != before.id || row->index != before.index))
    parameter_list_choose(&panel->list, 0);
}

static void enter(struct panel *panel, struct live_state *state, int64_t now_ns) {
  if (!panel->filters && live_set_words(state, panel->value.id, panel->value.index, panel->line.text, now_ns))
    return;
  if (has_history(panel))
    history_add(&panel->history, panel->line.text);
  close_line(panel);
}

static void leave(struct panel *panel) {
  if (panel->filters)
    panel->list.filter[0] = 0;
  close_line(panel);
}

static void type_key(struct panel *panel, struct live_state *state, int key, int64_t now_ns) {
  if (key == KEY_UP || key == KEY_DOWN)
    panel->line.selected = false;
  if (key == KEY_ENTER)
    enter(panel, state, now_ns);
  else if (key == KEY_ESCAPE)
    leave(panel);
  else if ((key == KEY_UP || key == KEY_DOWN) && has_history(panel))
    history_step(&panel->history, &panel->line, key == KEY_UP ? -1 : 1);
  else
    line_edit_key(&panel->line, key);
  if (panel->types && panel->filters)
    apply_filter(panel, state);
}

static bool follow_wish(struct panel *panel, struct live_state *state, enum list_wish wish) {
  const struct list_row *row = parameter_list_chosen(&panel->list);
  if (wish == LIST_EDIT && row)
    edit_value(panel, state, *row);
  if (wish == LIST_LEAVE)
    panel->lists = false;
  return wish != LIST_NOT_MINE;
}

bool panel_key(struct panel *panel, struct live_state *state, int key, int64_t now_ns) {
  if (panel->types) {
    type_key(panel, state, key, now_ns);
    return true;
  }
  if (!panel->lists)
    return false;
  if (key == '/' && !*panel->list.typed) {
    panel_open_filter(panel);
    return true;
  }
  update_rows(panel, state);
  return follow_wish(panel, state, parameter_list_key(&panel->list, state, key, now_ns));
}

bool panel_text(struct panel *panel, const struct live_state *state, const char *text) {
  if (!panel->types)
    return false;
  line_edit_compose(&panel->line, "");
  line_edit_insert(&panel->line, text);
  if (panel->filters)
    apply_filter(panel, state);
  return true;
}

bool panel_compose(struct panel *panel, const char *text) {
  if (panel->types)
    line_edit_compose(&panel->line, text);
  return panel->types;
}

bool panel_press(struct panel *panel, struct live_state *state, const struct list_box *box, float x, float y,
                 int64_t now_ns) {
  return follow_wish(panel, state, parameter_list_press(&panel->list, state, box, x, y, now_ns));
}

const char *panel_label(const struct panel *panel, char name[PARAMETER_NAME_MAX]) {
  if (!panel->filters)
    return parameter_name(panel->value.id, panel->value.index, name);
  snprintf(name, PARAMETER_NAME_MAX, "filter");
  return name;
}
