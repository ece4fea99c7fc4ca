#include "app/window/face.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/parameter_order.h"
#include "app/flow/stats.h"
#include "app/window/hud.h"
#include "app/window/widget.h"
#include "unet/base/text.h"

/* graph_length_ns: time in ns that the graph of frame times covers. COLUMN_TENTHS: largest width of a column of it, in
 * tenths of the font's size. */
static const int64_t graph_length_ns = 10000000000;
/* graph_ns: shortest time in ns between two drawings of the graph. Graph and figures take equally long to draw, so they
 * are normally drawn at different times. graph_patience_ns: if the graph was not drawn for this many ns, it is drawn
 * together with the figures. */
static const int64_t graph_ns = 100000000, graph_patience_ns = 150000000;
enum { COLUMN_TENTHS = 2 };

enum { HEAD_SCENES, HEAD_PROMPTS, HEADS };

struct face {
  struct widget states[FACE_STATES], bars[FACE_BARS], scenes[FACE_SCENES], prompts[FACE_PROMPTS], heads[HEADS], clip,
      meter, graph, figures, list;
  union widget_state next; /* new state of the widget that is being updated; its unused bytes are zeros */
  struct recent_column column[WIDGET_COLUMNS_MAX];
  int64_t graphed_ns; /* time when the graph of frame times was drawn last, on the clock of hud_content.now_ns */
};

/* Calls `call` for each widget of the operator's window, with `opaque` as second argument. */
static void for_all(struct face *face, void (*call)(struct widget *widget, void *opaque), void *opaque) {
  struct widget *const alone[] = {&face->clip, &face->meter, &face->graph, &face->figures, &face->list};
  const struct {
    struct widget *widget;
    int count;
  } several[] = {{face->states, FACE_STATES},
                 {face->bars, FACE_BARS},
                 {face->scenes, FACE_SCENES},
                 {face->prompts, FACE_PROMPTS},
                 {face->heads, HEADS}};
  for (size_t i = 0; i < sizeof several / sizeof *several; i++)
    for (int j = 0; j < several[i].count; j++)
      call(&several[i].widget[j], opaque);
  for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
    call(alone[i], opaque);
}

int face_open(struct face **face, struct error *err) {
  *face = calloc(1, sizeof **face);
  return *face ? 0 : error_set(err, STATUS_FAILED, "no memory for the operator's window");
}

static void close_widget(struct widget *widget, void *opaque) {
  (void)opaque;
  widget_close(widget);
}

void face_close(struct face **face) {
  if (*face)
    for_all(*face, close_widget, NULL);
  free(*face);
  *face = NULL;
}

struct face_wish face_wish(const struct hud_content *content, int alert_lines) {
  const struct face_content *face = content->face;
  struct face_wish wish = {.alert_lines = alert_lines};
  if (!face)
    return wish;
  wish.bars = face->bars;
  wish.scenes = face->scenes;
  wish.prompts = face->prompts;
  wish.clip = face->clip;
  wish.sound = content->meter && content->meter->heard;
  return wish;
}

/* Copies text that does not come from the program, such as prompts, without its control characters, and as many whole
 * characters as there is room for. */
static void copy_foreign(char *out, size_t size, const char *words) {
  size_t length = strlen(words);
  if (length > size - 1)
    length = size - 1;
  while (length && words[length] && ((unsigned char)words[length] & 0xc0) == 0x80)
    length--;
  memcpy(out, words, length);
  out[length] = 0;
  text_clean(out);
}

/* Arguments that the functions which update widgets share. */
struct update {
  struct face *face;
  const struct typeface *type;
  const struct face_places *places;
  const struct hud_content *content;
  bool anyway, changed;
};

/* Returns a cleared state for the next widget to be updated, for the caller to fill in. kind: kind of that widget. */
static union widget_state *begin(struct update *update, enum widget_kind kind) {
  memset(&update->face->next, 0, widget_bytes(kind));
  return &update->face->next;
}

static void end(struct update *update, struct widget *widget, enum widget_kind kind, const struct hud_area *area) {
  update->changed |= widget_update(widget, update->type, kind, area, &update->face->next, update->anyway);
}

/* --- buttons --- */

static void update_states(struct update *update) {
  static const char *const labels[FACE_STATES] = {"Freeze", "Black", "Bypass", "Record", "Panic"},
                           *const keys[FACE_STATES] = {"F", "B", "U", "R", "P"};
  const struct parameters *values = update->content->values;
  const bool on[FACE_STATES] = {values->freeze, values->blackout, values->bypass, values->recording, false};
  for (int i = 0; i < FACE_STATES; i++) {
    struct button_state *state = &begin(update, WIDGET_BUTTON)->button;
    state->state = true;
    state->look = i == 4 ? BUTTON_RESCUES : !on[i] ? BUTTON_OFF : i == 3 ? BUTTON_RECORDS : BUTTON_WARNS;
    snprintf(state->key, sizeof state->key, "%s", keys[i]);
    snprintf(state->label, sizeof state->label, "%s", labels[i]);
    end(update, &update->face->states[i], WIDGET_BUTTON, &update->places->states[i]);
  }
}

static void update_head(struct update *update, int head, const char *words, const struct hud_area *area) {
  struct list_state *state = &begin(update, WIDGET_LIST)->list;
  state->line = area->height - update->places->size / 2;
  state->small = true;
  state->to = 1;
  snprintf(state->head, sizeof state->head, "%s", words);
  end(update, &update->face->heads[head], WIDGET_LIST, area);
}

static void update_scenes(struct update *update) {
  const struct face_content *content = update->content->face;
  char words[WIDGET_VALUE_MAX];
  for (int i = 0; i < FACE_SCENES; i++) {
    struct button_state *state = &begin(update, WIDGET_BUTTON)->button;
    int number = content->first_scene + i;
    if (number <= content->scenes) {
      state->look = number == content->scene_taken  ? BUTTON_ON
                    : number == content->scene_cued ? BUTTON_NEXT
                                                    : BUTTON_OFF;
      snprintf(state->key, sizeof state->key, "%d", number);
      copy_foreign(state->label, sizeof state->label, content->scene_name[i]);
    }
    const struct hud_area none = {0};
    end(update, &update->face->scenes[i], WIDGET_BUTTON,
        number <= content->scenes ? &update->places->scenes[i] : &none);
  }
  int last = content->first_scene + FACE_SCENES - 1;
  if (content->scenes > FACE_SCENES)
    snprintf(words, sizeof words, "Scenes %d to %d of %d: the wheel turns to others", content->first_scene,
             last < content->scenes ? last : content->scenes, content->scenes);
  else
    snprintf(words, sizeof words, "Scenes");
  update_head(update, HEAD_SCENES, words, &update->places->scenes_head);
}

static void update_prompts(struct update *update) {
  const struct parameters *values = update->content->values;
  for (int i = 0; i < FACE_PROMPTS; i++) {
    struct button_state *state = &begin(update, WIDGET_BUTTON)->button;
    const char *words = parameters_text(values, PARAMETER_PROMPT, i + 1);
    float share = update->content->face->prompt_share[i];
    state->share = share >= 0.999f ? 0 : roundf(share * 200) / 200;
    state->look = share >= 0.999f ? BUTTON_ON : BUTTON_OFF;
    snprintf(state->key, sizeof state->key, "%d", i + 1);
    copy_foreign(state->label, sizeof state->label, words ? words : "");
    end(update, &update->face->prompts[i], WIDGET_BUTTON, &update->places->prompts[i]);
  }
  update_head(update, HEAD_PROMPTS, "Prompts: press one, or draw along it to blend it in",
              &update->places->prompts_head);
}

/* --- bars --- */

/* Returns the row of the meter for this parameter; NULL: neither sound nor LFOs move the parameter. */
static const struct meter_row *moved_row(const struct hud_content *content, struct list_row row) {
  for (int i = 0; content->meter && i < content->meter->count; i++)
    if (content->meter->row[i].id == row.id && content->meter->row[i].index == row.index)
      return &content->meter->row[i];
  return NULL;
}

/* Returns the position of the value 0 on the row's bar, or the end of the bar that is nearest to 0. */
static float zero_of(struct list_row row) {
  double place = parameter_list_place(row, 0);
  return place > 0 ? (float)place : 0;
}

/* Writes a value with what sound and LFOs add to it, such as "0.50 +0.12". */
static void write_value(char *out, size_t size, const struct hud_content *content, struct list_row row) {
  char value[PARAMETER_TEXT_MAX];
  const struct meter_row *moved = moved_row(content, row);
  parameter_list_value(content->values, row, value, sizeof value);
  copy_foreign(out, size, value);
  size_t used = strlen(out);
  if (moved && used < size)
    snprintf(out + used, size - used, " %+.2f", moved->now - moved->base);
}

static void update_bars(struct update *update) {
  const struct hud_content *content = update->content;
  for (int i = 0; i < FACE_BARS; i++) {
    struct bar_state *state = &begin(update, WIDGET_BAR)->bar;
    const struct hud_area none = {0};
    bool there = i < content->face->bars;
    if (there) {
      struct list_row row = content->face->bar[i];
      const struct meter_row *moved = moved_row(content, row);
      char label[PARAMETER_NAME_MAX];
      state->share = (float)parameter_list_share(content->values, row);
      state->zero = zero_of(row);
      state->moved = moved ? roundf((float)parameter_list_place(row, moved->now) * 500) / 500 : -1;
      snprintf(state->label, sizeof state->label, "%s", parameter_label(row.id, row.index, label));
      write_value(state->value, sizeof state->value, content, row);
    }
    end(update, &update->face->bars[i], WIDGET_BAR, there ? &update->places->bars[i] : &none);
  }
}

static void write_time(char *out, size_t size, double seconds) {
  int whole = seconds > 0 ? (int)seconds : 0;
  snprintf(out, size, "%d:%02d", whole / 60, whole % 60);
}

static void update_clip(struct update *update) {
  const struct face_content *content = update->content->face;
  struct bar_state *state = &begin(update, WIDGET_BAR)->bar;
  char left[16];
  double length = content->clip_end_s - content->clip_from_s, passed = content->clip_at_s - content->clip_from_s;
  state->moved = -1;
  state->share = length > 0 ? roundf((float)fmax(0, fmin(passed / length, 1)) * 1000) / 1000 : -1;
  write_time(state->label, sizeof state->label, content->clip_at_s);
  if (length > 0) {
    write_time(left, sizeof left, content->clip_left_s);
    snprintf(state->value, sizeof state->value, "%s left", left);
    if (content->clip_speed != 1)
      snprintf(state->value, sizeof state->value, "%s left, x%.3g", left, content->clip_speed);
  }
  end(update, &update->face->clip, WIDGET_BAR, &update->places->clip);
}

/* --- meter and graph --- */

static void update_meter(struct update *update) {
  static const char *const labels[METER_LEVELS] = {"level", "bass", "mid", "treble"};
  const struct meter *meter = update->content->meter;
  struct meter_state *state = &begin(update, WIDGET_METER)->meter;
  for (int i = 0; i < METER_LEVELS; i++) {
    snprintf(state->label[i], sizeof state->label[i], "%s", labels[i]);
    state->level[i] = meter ? fminf(1, fmaxf(0, roundf((float)meter->values[i] * 200) / 200)) : 0;
  }
  state->onset = meter && meter->values[SOUND_ONSET] > 0;
  end(update, &update->face->meter, WIDGET_METER, &update->places->meter);
}

/* Returns the top of the graph's scale: the smallest number of ms that is 1, 2 or 5 times a power of ten and at least
 * `ms`. */
static double round_up(double ms) {
  double power = pow(10, floor(log10(fmax(ms, 0.1)))), times = ms / power;
  return power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

static double highest(const struct recent_column *column, int columns, double budget_ms) {
  double most = 1.1 * budget_ms;
  for (int i = 0; i < columns; i++)
    most = fmax(most, fmax((double)column[i].engine_ms, (double)column[i].latency_ms));
  return round_up(most);
}

static short height_of(double ms, double top_ms, int height) {
  return ms > 0 ? (short)lrint(ms / top_ms * height) : 0;
}

static void update_graph(struct update *update) {
  struct face *face = update->face;
  const struct hud_content *content = update->content;
  const struct hud_area *area = &update->places->graph;
  struct graph_state *state = &begin(update, WIDGET_GRAPH)->graph;
  if (!content->recent || !area->width) {
    const struct hud_area none = {0};
    end(update, &face->graph, WIDGET_GRAPH, &none);
    return;
  }
  int size = update->places->size, room = area->width - size, high = graph_height(update->type, area->height);
  state->wide = size * COLUMN_TENTHS / 10 > 1 ? size * COLUMN_TENTHS / 10 : 1;
  state->columns = room / state->wide < WIDGET_COLUMNS_MAX ? room / state->wide : WIDGET_COLUMNS_MAX;
  state->columns = state->columns > 0 ? state->columns : 0;
  recent_times_draw(content->recent, content->now_ns, graph_length_ns, face->column, state->columns);
  double top_ms = highest(face->column, state->columns, content->budget_ms);
  state->limit = content->budget_ms > 0 ? height_of(content->budget_ms, top_ms, high) : 0;
  for (int i = 0; i < state->columns; i++) {
    const struct recent_column *column = &face->column[i];
    state->high[i] = height_of((double)column->engine_ms, top_ms, high);
    state->mark[i] = column->latency_ms >= 0 ? height_of((double)column->latency_ms, top_ms, high) : -1;
    state->missed[i] = column->missed;
  }
  snprintf(state->head, sizeof state->head, "%g ms: engine, screen", top_ms);
  end(update, &face->graph, WIDGET_GRAPH, area);
}

/* --- the widget with the measured values (figures) --- */

/* Adds a row with a label and a measured value. A text that is too long for the row continues in the next one. */
PRINTF_LIKE(3, 4)
static void add_figure(struct update *update, const char *label, const char *format, ...) {
  struct list_state *state = &update->face->next.list;
  char words[4 * WIDGET_VALUE_MAX], *at = words;
  va_list args;
  va_start(args, format);
  vsnprintf(words, sizeof words, format, args);
  va_end(args);
  text_clean(words);
  int room = update->places->figures.width - state->label_wide - update->places->size;
  for (; *at && state->count < WIDGET_ROWS_MAX; label = "") {
    struct row_state *row = &state->row[state->count++];
    size_t length = strlen(at), fits = lettering_fit(typeface_lettering(update->type), LETTERS_SMALL, at, length, room),
           bytes = fits;
    while (fits < length && bytes && at[bytes] != ' ')
      bytes--;
    bytes = bytes ? bytes : length; /* a word that is too long by itself is cut when it is drawn */
    snprintf(row->value, sizeof row->value, "%.*s", (int)bytes, at);
    snprintf(row->label, sizeof row->label, "%s", label);
    row->share = -1;
    at += bytes + (at[bytes] == ' ');
  }
}

/* Returns with how many decimals a time in ms is shown. */
static int decimals_of(double ms) {
  return ms < 99.95;
}

static void add_speed(struct update *update, const struct hud_content *content) {
  int decimals = content->fps < 0.995 ? 2 : 1;
  if (content->budget_ms > 0)
    add_figure(update, "rate", "%.*f fps, %.*f of %.*f ms", decimals, content->fps, decimals_of(content->frame_ms),
               content->frame_ms, stats_decimals(content->budget_ms), content->budget_ms);
  else
    add_figure(update, "rate", "%.*f fps, %.*f ms", decimals, content->fps, decimals_of(content->frame_ms),
               content->frame_ms);
  if (content->latency_ms > 0)
    add_figure(update, "screen", "%.*f, p99 %.*f ms", decimals_of(content->latency_ms), content->latency_ms,
               decimals_of(content->latency_p99_ms), content->latency_p99_ms);
  if (content->budget_ms > 0)
    add_figure(update, "skipped", "%ld, missed %ld", content->dropped, content->missed);
  else
    add_figure(update, "skipped", "%ld", content->dropped);
}

static void update_figures(struct update *update) {
  const struct hud_content *content = update->content;
  struct list_state *state = &begin(update, WIDGET_LIST)->list;
  state->small = true;
  state->to = 1;
  state->line = update->places->size * 11 / 10;
  state->label_wide = update->places->size * 40 / 10;
  if (content->state)
    add_figure(update, "waits", "%s", content->state);
  if (content->outputs)
    add_figure(update, "output", "%s", content->outputs);
  if (content->running)
    add_speed(update, content);
  if (content->tempo > 0)
    add_figure(update, "tempo", "%.1f, beat %d of %d", content->tempo, content->beat + 1, content->bar_beats);
  if (content->governed)
    add_figure(update, "size", "%s", content->governed);
  if (content->running && content->loading)
    add_figure(update, "model", "%s, loading %s", content->model, content->loading);
  else if (content->running && content->model)
    add_figure(update, "model", "%s", content->model);
  if (content->source_fps > 0)
    add_figure(update, "source", "%.1f fps%s%s", content->source_fps, content->hardware ? " " : "",
               content->hardware ? content->hardware : "");
  end(update, &update->face->figures, WIDGET_LIST, &update->places->figures);
}

/* --- the widget with the list of parameters --- */

/* Writes the heading of the list of parameters: the filter, if one is set; otherwise, while keys go to the list, the
 * meaning of the chosen row; otherwise how the list is used. */
static void write_list_head(char *out, size_t size, const struct hud_content *content) {
  const struct panel *panel = content->panel;
  const struct list_row *row = parameter_list_chosen(&panel->list);
  char name[PARAMETER_NAME_MAX];
  if (*panel->list.filter)
    snprintf(out, size, "only \"%s\": press here for all", panel->list.filter);
  else if (panel->lists && row && row->id != PARAMETER_NONE)
    snprintf(out, size, "%s: %s", parameter_name(row->id, row->index, name), parameter_row(row->id)->help);
  else
    snprintf(out, size, "All: press here to filter; drag bars, press texts; Tab: keys");
}

static void write_row(struct row_state *state, const struct hud_content *content, struct list_row row, bool chosen) {
  const struct parameter_list *list = &content->panel->list;
  const struct refusals *refusals = content->face->refusals;
  char label[PARAMETER_NAME_MAX];
  state->share = -1;
  if (row.id == PARAMETER_NONE) {
    state->look = ROW_HEADING;
    snprintf(state->label, sizeof state->label, "%s", parameter_group_label((enum parameter_group)row.index));
    return;
  }
  const char *why = refusals ? refusals->why[row.id] : NULL;
  state->look = chosen ? ROW_CHOSEN : why ? ROW_GREY : ROW_PLAIN;
  state->share = why ? -1 : (float)parameter_list_share(content->values, row);
  state->zero = zero_of(row);
  snprintf(state->label, sizeof state->label, "%s", parameter_label(row.id, row.index, label));
  if (chosen && *list->typed) {
    state->look = ROW_TYPED;
    snprintf(state->value, sizeof state->value, "%s_", list->typed);
  } else if (why) {
    snprintf(state->value, sizeof state->value, "%s", why);
  } else {
    write_value(state->value, sizeof state->value, content, row);
  }
}

static void update_list(struct update *update) {
  const struct hud_content *content = update->content;
  const struct parameter_list *list = &content->panel->list;
  const struct list_box *box = &update->places->box;
  struct list_state *state = &begin(update, WIDGET_LIST)->list;
  state->line = (int)box->line;
  state->label_wide = (int)(box->bar_left - box->left);
  state->bar_wide = (int)(box->bar_right - box->bar_left);
  state->from = list->count ? (float)list->first / (float)list->count : 0;
  state->to = list->count ? fminf(1, (float)(list->first + list->seen) / (float)list->count) : 1;
  write_list_head(state->head, sizeof state->head, content);
  for (int i = list->first; i < list->first + list->seen && i < list->count && state->count < WIDGET_ROWS_MAX; i++) {
    bool chosen = i == list->chosen && (content->panel->lists || list->grabbed);
    write_row(&state->row[state->count++], content, list->row[i], chosen);
  }
  end(update, &update->face->list, WIDGET_LIST, &update->places->list);
}

bool face_update(struct face *face, const struct typeface *type, const struct face_places *places,
                 const struct hud_content *content, bool slow, bool anyway) {
  struct update update = {face, type, places, content, anyway, false};
  if (!content->face || !content->values || !content->panel)
    return false;
  update_states(&update);
  update_bars(&update);
  update_scenes(&update);
  update_prompts(&update);
  update_clip(&update);
  update_list(&update);
  update_meter(&update);
  bool due = slow || anyway;
  if (due)
    update_figures(&update);
  /* Figures and graph are drawn in different redraws if possible, because they take longer than everything else. */
  int64_t age_ns = content->now_ns - face->graphed_ns;
  if (anyway || age_ns >= (due ? graph_patience_ns : graph_ns)) {
    face->graphed_ns = content->now_ns;
    update_graph(&update);
  }
  return update.changed;
}

static void show_widget(struct widget *widget, void *opaque) {
  const struct typeface *const *type = opaque;
  if (widget->area.width)
    widget_show(widget, *type);
}

void face_draw(const struct face *face, const struct typeface *type) {
  for_all((struct face *)(uintptr_t)face, show_widget, &type);
}

static void count_widget(struct widget *widget, void *opaque) {
  *(long *)opaque += widget->sheet.drawn;
}

long face_drawn(const struct face *face) {
  long drawn = 0;
  for_all((struct face *)(uintptr_t)face, count_widget, &drawn);
  return drawn;
}
