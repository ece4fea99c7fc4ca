#include "app/window/widget.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct color ground = {24, 27, 33, 255}, tile = {42, 47, 57, 255}, groove = {52, 57, 68, 255},
                          filling = {44, 98, 150, 255}, bright = {245, 245, 245, 255}, dim = {172, 177, 186, 255},
                          faint = {125, 130, 140, 255}, title = {140, 205, 255, 255}, warning = {255, 176, 84, 255},
                          dark = {18, 18, 20, 255}, red = {186, 34, 28, 255}, rescue = {255, 138, 128, 255},
                          chosen = {58, 70, 90, 255}, engine = {86, 128, 104, 255};

size_t widget_bytes(enum widget_kind kind) {
  static const size_t bytes[] = {[WIDGET_BUTTON] = sizeof(struct button_state),
                                 [WIDGET_BAR] = sizeof(struct bar_state),
                                 [WIDGET_LIST] = sizeof(struct list_state),
                                 [WIDGET_METER] = sizeof(struct meter_state),
                                 [WIDGET_GRAPH] = sizeof(struct graph_state)};
  return bytes[kind];
}

static int line_top(const struct typeface *face, int height, enum letter_size size) {
  return (height - lettering_line(typeface_lettering(face), size)) / 2;
}

static int pad_of(const struct typeface *face) {
  return typeface_size(face) / 2;
}

/* Fills the part of a bar that lies between two positions, which are numbers from 0 (left end) to 1 (right end). */
static void fill_between(struct sheet *sheet, int left, int top, int wide, int high, float from, float to,
                         struct color color) {
  int start = (int)((float)wide * (from < to ? from : to)), end = (int)((float)wide * (from < to ? to : from));
  sheet_fill(sheet, left + start, top, end - start, high, color);
}

/* --- button --- */

/* Colours of a button: what is behind the label, and the label. */
struct button_colors {
  struct color ground, label;
};

static struct button_colors colors_of(enum button_look look) {
  switch (look) {
  case BUTTON_ON:
    return (struct button_colors){filling, bright};
  case BUTTON_WARNS:
    return (struct button_colors){warning, dark};
  case BUTTON_RECORDS:
    return (struct button_colors){red, bright};
  case BUTTON_RESCUES:
    return (struct button_colors){tile, rescue};
  default:
    return (struct button_colors){tile, bright};
  }
}

static void draw_frame(struct sheet *sheet, int wide, struct color color) {
  sheet_fill(sheet, 0, 0, sheet->width, wide, color);
  sheet_fill(sheet, 0, sheet->height - wide, sheet->width, wide, color);
  sheet_fill(sheet, 0, 0, wide, sheet->height, color);
  sheet_fill(sheet, sheet->width - wide, 0, wide, sheet->height, color);
}

/* Draws the label in the largest letters in which it fits. */
static void draw_large(struct sheet *sheet, const struct typeface *face, const char *label, struct color color) {
  const struct lettering *lettering = typeface_lettering(face);
  int room = sheet->width - pad_of(face), width = 0;
  enum letter_size size = LETTERS_LARGE;
  while ((width = lettering_width(lettering, size, label, strlen(label))) > room && size > LETTERS_SMALL)
    size--;
  width = width < room ? width : room;
  sheet_letters(sheet, face, (sheet->width - width) / 2, line_top(face, sheet->height, size), room, size, color, label,
                strlen(label));
}

static void draw_button(struct widget *widget, const struct typeface *face, const union widget_state *before) {
  (void)before;
  const struct button_state *state = &widget->state.button;
  struct sheet *sheet = &widget->sheet;
  const struct button_colors colors = colors_of(state->look);
  if (!sheet_begin(sheet, widget->area.width, widget->area.height, colors.ground))
    return;
  int pad = pad_of(face), x = pad,
      key = lettering_width(typeface_lettering(face), LETTERS_SMALL, state->key, strlen(state->key));
  sheet_fill(sheet, 0, 0, (int)((float)sheet->width * state->share), sheet->height, filling);
  if (state->look == BUTTON_NEXT)
    draw_frame(sheet, 1 + pad / 6, title);
  if (state->state) {
    draw_large(sheet, face, state->label, colors.label);
    bool plain = state->look == BUTTON_OFF || state->look == BUTTON_RESCUES;
    sheet_letters(sheet, face, sheet->width - key - pad / 2, pad / 4, key, LETTERS_SMALL, plain ? dim : colors.label,
                  state->key, strlen(state->key));
  } else {
    x += sheet_letters(sheet, face, x, line_top(face, sheet->height, LETTERS_SMALL), sheet->width, LETTERS_SMALL,
                       state->share > 0 ? bright : dim, state->key, strlen(state->key));
    x += *state->key ? pad : 0;
    sheet_letters(sheet, face, x, line_top(face, sheet->height, LETTERS_USUAL), sheet->width - x - pad / 2,
                  LETTERS_USUAL, colors.label, state->label, strlen(state->label));
  }
  sheet_end(sheet);
}

/* --- bar --- */

/* Marks what lies between two positions (0 to 1) as drawn anew, and two pixels more on either side. */
static void touch_between(struct sheet *sheet, float a, float b) {
  int left = (int)((float)sheet->width * fmaxf(fminf(a, b), 0)), right = (int)((float)sheet->width * fmaxf(a, b));
  sheet_touch(sheet, left - 2, 0, right - left + 4, sheet->height);
}

/* Returns the width in pixels of the label or the value of a bar. */
static int words_wide(const struct typeface *face, const char *words) {
  return lettering_width(typeface_lettering(face), LETTERS_USUAL, words, strlen(words));
}

static int larger(int a, int b) {
  return a > b ? a : b;
}

/* Begins to draw a bar of which no more than the filled part, the moved part, the label and the value differ from
 * `before`, so that no more of it is copied to the texture. Returns false if the whole bar must be drawn, as where a
 * label is cut, because the value leaves it less room than it needs. */
static bool begin_changed_bar(struct widget *widget, const struct typeface *face, const struct bar_state *before) {
  const struct bar_state *state = &widget->state.bar;
  struct sheet *sheet = &widget->sheet;
  int now = words_wide(face, state->value), was = words_wide(face, before->value), pad = pad_of(face),
      value = larger(now, was), label = larger(words_wide(face, state->label), words_wide(face, before->label));
  bool relabelled = strcmp(state->label, before->label) != 0,
       cut = label > widget->area.width - 2 * pad - value - pad / 2;
  if (state->zero != before->zero || ((relabelled || now != was) && cut) ||
      !sheet_resume(sheet, widget->area.width, widget->area.height))
    return false;
  bool filled = state->share != before->share;
  if (filled)
    touch_between(sheet, state->share, before->share);
  if (state->moved >= 0 && (filled || state->moved != before->moved))
    touch_between(sheet, state->share, state->moved);
  if (before->moved >= 0 && (filled || state->moved != before->moved))
    touch_between(sheet, before->share, before->moved);
  if (strcmp(state->value, before->value))
    sheet_touch(sheet, sheet->width - value - 2 * pad, 0, value + 2 * pad, sheet->height);
  if (relabelled)
    sheet_touch(sheet, 0, 0, label + 2 * pad, sheet->height);
  return true;
}

/* Draws all of a bar, as far as it lies within the part of the sheet to which drawing is limited. */
static void draw_bar_part(const struct widget *widget, struct sheet *sheet, const struct typeface *face) {
  const struct bar_state *state = &widget->state.bar;
  int pad = pad_of(face), value = words_wide(face, state->value), room = sheet->width - 2 * pad,
      top = line_top(face, sheet->height, LETTERS_USUAL);
  value = value < room ? value : room;
  sheet_fill(sheet, 0, 0, sheet->width, sheet->height, tile);
  if (state->share >= 0)
    fill_between(sheet, 0, 0, sheet->width, sheet->height, state->zero, state->share, filling);
  if (state->zero > 0)
    sheet_fill(sheet, (int)((float)sheet->width * state->zero), 0, 1 + pad / 8, sheet->height, faint);
  if (state->moved >= 0) {
    int base = (int)((float)sheet->width * state->share), now = (int)((float)sheet->width * state->moved),
        high = sheet->height / 8 + 1, left = base < now ? base : now, wide = abs(now - base);
    sheet_fill(sheet, left, sheet->height - high, wide > 2 ? wide : 2, high, title);
  }
  sheet_letters(sheet, face, pad, top, room - value - pad / 2, LETTERS_USUAL, bright, state->label,
                strlen(state->label));
  sheet_letters(sheet, face, sheet->width - pad - value, top, value, LETTERS_USUAL, bright, state->value,
                strlen(state->value));
}

static void draw_bar(struct widget *widget, const struct typeface *face, const union widget_state *before) {
  struct sheet *sheet = &widget->sheet;
  if (!(before && begin_changed_bar(widget, face, &before->bar)) &&
      !sheet_begin(sheet, widget->area.width, widget->area.height, tile))
    return;
  for (int i = 0; i < sheet->parts; i++) {
    sheet_clip(sheet, i);
    draw_bar_part(widget, sheet, face);
  }
  sheet_end(sheet);
}

/* --- list --- */

/* Returns the width in pixels of the scroll bar beside a list. */
static int thumb_wide(const struct typeface *face) {
  return pad_of(face) / 3 + 1;
}

static struct color value_color(enum row_look look) {
  return look == ROW_TYPED ? title : look == ROW_GREY ? faint : bright;
}

static void draw_row(const struct list_state *list, struct sheet *sheet, const struct typeface *face,
                     const struct row_state *row, int top) {
  enum letter_size size = list->small ? LETTERS_SMALL : LETTERS_USUAL;
  int pad = pad_of(face), x = pad, end = sheet->width - pad, at = top + line_top(face, list->line, size);
  bool has_bar = row->share >= 0 && list->bar_wide, picked = row->look == ROW_CHOSEN || row->look == ROW_TYPED;
  if (row->look == ROW_HEADING) {
    sheet_fill(sheet, pad, top + list->line - 1, end - pad, 1, groove);
    sheet_letters(sheet, face, x, at, end - x, size, title, row->label, strlen(row->label));
    return;
  }
  if (picked)
    sheet_fill(sheet, pad / 2, top, sheet->width - pad, list->line, chosen);
  sheet_letters(sheet, face, x, at, list->label_wide - pad / 2, size,
                row->look == ROW_GREY ? faint
                : picked              ? bright
                                      : dim,
                row->label, strlen(row->label));
  x += list->label_wide;
  if (has_bar) {
    int high = list->line / 2, bar = top + (list->line - high) / 2;
    sheet_fill(sheet, x, bar, list->bar_wide, high, groove);
    fill_between(sheet, x, bar, list->bar_wide, high, row->zero, row->share, filling);
    x += list->bar_wide + pad;
  }
  sheet_letters(sheet, face, x, at, end - x, size, value_color(row->look), row->value, strlen(row->value));
}

/* Returns true if two states of the widget with the parameter list are equal in everything except, perhaps, their
 * rows. */
static bool differ_in_rows(const struct list_state *a, const struct list_state *b) {
  return !memcmp(a, b, offsetof(struct list_state, row));
}

/* Draws again those rows of the list that differ from the rows in `before`. Returns false if the whole widget must be
 * drawn. */
static bool draw_changed_rows(struct widget *widget, const struct typeface *face, const struct list_state *before) {
  const struct list_state *state = &widget->state.list;
  struct sheet *sheet = &widget->sheet;
  if (!differ_in_rows(state, before) || !sheet_resume(sheet, widget->area.width, widget->area.height))
    return false;
  int right = sheet->width - (state->to - state->from < 1 ? thumb_wide(face) : 0);
  int top = pad_of(face) / 2 + (*state->head ? state->line : 0);
  for (int i = 0; i < state->count && top + state->line <= sheet->height; i++, top += state->line) {
    if (!memcmp(&state->row[i], &before->row[i], sizeof state->row[i]))
      continue;
    sheet_touch(sheet, 0, top, right, state->line);
    sheet_fill(sheet, 0, top, right, state->line, ground);
    draw_row(state, sheet, face, &state->row[i], top);
  }
  sheet_end(sheet);
  return true;
}

static void draw_list(struct widget *widget, const struct typeface *face, const union widget_state *before) {
  const struct list_state *state = &widget->state.list;
  struct sheet *sheet = &widget->sheet;
  if (before && draw_changed_rows(widget, face, &before->list))
    return;
  if (!sheet_begin(sheet, widget->area.width, widget->area.height, ground))
    return;
  int pad = pad_of(face), top = pad / 2, wide = thumb_wide(face);
  if (*state->head) {
    sheet_letters(sheet, face, pad, top + line_top(face, state->line, LETTERS_SMALL), sheet->width - 2 * pad,
                  LETTERS_SMALL, dim, state->head, strlen(state->head));
    top += state->line;
  }
  int first = top, room = sheet->height - top;
  for (int i = 0; i < state->count && top + state->line <= sheet->height; i++, top += state->line)
    draw_row(state, sheet, face, &state->row[i], top);
  if (state->to - state->from < 1) {
    int from = first + (int)((float)room * state->from), high = (int)((float)room * (state->to - state->from));
    sheet_fill(sheet, sheet->width - wide, from, wide, high > wide ? high : wide, faint);
  }
  sheet_end(sheet);
}

/* --- meter --- */

/* Where the levels of a meter are drawn, in pixels of its sheet. */
struct meter_places {
  int pad, line, label, left, wide, high;
};

static struct meter_places place_meter(const struct sheet *sheet, const struct typeface *face) {
  struct meter_places at = {.pad = pad_of(face)};
  at.line = (sheet->height - at.pad) / METER_LEVELS;
  at.label = 2 * typeface_size(face) + 2 * at.pad;
  at.left = at.pad + at.label;
  at.wide = sheet->width - at.left - at.pad;
  at.high = at.line * 3 / 5;
  return at;
}

static struct color level_color(const struct meter_state *state, int level) {
  return !level && state->onset ? title : engine;
}

/* Draws those bars of the sound's levels that have changed, over the old bars; the rest of the widget stays. */
static void draw_changed_levels(struct widget *widget, const struct typeface *face, const struct meter_state *before) {
  const struct meter_state *state = &widget->state.meter;
  struct sheet *sheet = &widget->sheet;
  const struct meter_places at = place_meter(sheet, face);
  for (int i = 0; i < METER_LEVELS; i++) {
    int was = (int)((float)at.wide * before->level[i]), now = (int)((float)at.wide * state->level[i]),
        from = was < now ? was : now, to = was < now ? now : was, top = at.pad / 2 + i * at.line;
    if (!i && state->onset != before->onset)
      from = 0;
    top += (at.line - at.high) / 2;
    sheet_fill(sheet, at.left + from, top, to - from, at.high, groove);
    sheet_fill(sheet, at.left + from, top, now - from, at.high, level_color(state, i));
    if (to > from)
      sheet_touch(sheet, at.left + from, top, to - from, at.high);
  }
  sheet_end(sheet);
}

static void draw_meter(struct widget *widget, const struct typeface *face, const union widget_state *before) {
  const struct meter_state *state = &widget->state.meter;
  struct sheet *sheet = &widget->sheet;
  if (before && !memcmp(state->label, before->meter.label, sizeof state->label) &&
      sheet_resume(sheet, widget->area.width, widget->area.height)) {
    draw_changed_levels(widget, face, &before->meter);
    return;
  }
  if (!sheet_begin(sheet, widget->area.width, widget->area.height, ground))
    return;
  const struct meter_places at = place_meter(sheet, face);
  for (int i = 0; i < METER_LEVELS; i++) {
    int top = at.pad / 2 + i * at.line;
    sheet_letters(sheet, face, at.pad, top + line_top(face, at.line, LETTERS_SMALL), at.label - at.pad / 2,
                  LETTERS_SMALL, dim, state->label[i], strlen(state->label[i]));
    top += (at.line - at.high) / 2;
    sheet_fill(sheet, at.left, top, at.wide, at.high, groove);
    sheet_fill(sheet, at.left, top, (int)((float)at.wide * state->level[i]), at.high, level_color(state, i));
  }
  sheet_end(sheet);
}

/* --- graph --- */

int graph_height(const struct typeface *face, int height) {
  int pad = pad_of(face), head = lettering_line(typeface_lettering(face), LETTERS_SMALL);
  return height - head - 2 * pad > 1 ? height - head - 2 * pad : 1;
}

/* Returns the thickness in pixels of a graph's marks and of its limit. */
static int mark_thick(const struct typeface *face) {
  return 1 + pad_of(face) / 6;
}

/* Returns the height in pixels of the highest column or mark. */
static int highest_of(const struct graph_state *state) {
  int most = 0;
  for (int i = 0; i < state->columns; i++) {
    int high = state->high[i] > state->mark[i] ? state->high[i] : state->mark[i];
    most = high > most ? high : most;
  }
  return most;
}

/* Clears the part of a graph in which columns and marks may differ from `before`, and limits drawing to it. Returns
 * false if the whole graph must be drawn. */
static bool begin_changed_graph(struct widget *widget, const struct typeface *face, const struct graph_state *before) {
  const struct graph_state *state = &widget->state.graph;
  struct sheet *sheet = &widget->sheet;
  if (state->columns != before->columns || state->wide != before->wide || state->limit != before->limit ||
      strcmp(state->head, before->head) || !sheet_resume(sheet, widget->area.width, widget->area.height))
    return false;
  int now = highest_of(state), was = highest_of(before), pad = pad_of(face), high = now > was ? now : was,
      top = sheet->height - pad - high;
  sheet_touch(sheet, pad, top, state->columns * state->wide, high + mark_thick(face));
  sheet_clip(sheet, 0);
  sheet_fill(sheet, 0, 0, sheet->width, sheet->height, ground);
  return true;
}

static void draw_graph(struct widget *widget, const struct typeface *face, const union widget_state *before) {
  const struct graph_state *state = &widget->state.graph;
  struct sheet *sheet = &widget->sheet;
  if (!(before && begin_changed_graph(widget, face, &before->graph)) &&
      !sheet_begin(sheet, widget->area.width, widget->area.height, ground))
    return;
  int pad = pad_of(face), base = sheet->height - pad, thick = mark_thick(face);
  sheet_letters(sheet, face, pad, pad / 2, sheet->width - 2 * pad, LETTERS_SMALL, dim, state->head,
                strlen(state->head));
  for (int i = 0; i < state->columns; i++) {
    int x = pad + i * state->wide;
    if (state->high[i] > 0)
      sheet_fill(sheet, x, base - state->high[i], state->wide, state->high[i], state->missed[i] ? warning : engine);
    if (state->mark[i] >= 0)
      sheet_fill(sheet, x, base - state->mark[i], state->wide, thick, title);
  }
  sheet_fill(sheet, pad, base - graph_height(face, sheet->height), state->columns * state->wide, 1, groove);
  if (state->limit > 0)
    sheet_fill(sheet, pad, base - state->limit, state->columns * state->wide, thick, warning);
  sheet_end(sheet);
}

/* --- functions for widgets of all kinds --- */

bool widget_update(struct widget *widget, const struct typeface *face, enum widget_kind kind,
                   const struct hud_area *area, const union widget_state *state, bool anyway) {
  static void (*const draw[])(struct widget *, const struct typeface *,
                              const union widget_state *) = {[WIDGET_BUTTON] = draw_button,
                                                             [WIDGET_BAR] = draw_bar,
                                                             [WIDGET_LIST] = draw_list,
                                                             [WIDGET_METER] = draw_meter,
                                                             [WIDGET_GRAPH] = draw_graph};
  bool hidden = !area->width, was_hidden = !widget->area.width;
  bool same = !memcmp(&widget->area, area, sizeof *area) && widget->kind == kind && !anyway;
  if ((hidden && was_hidden) || (same && !memcmp(&widget->state, state, widget_bytes(kind))))
    return false;
  union widget_state before;
  memcpy(&before, &widget->state, widget_bytes(kind));
  memcpy(&widget->state, state, widget_bytes(kind));
  widget->area = *area;
  widget->kind = kind;
  if (hidden)
    widget->sheet.width = 0;
  else
    draw[kind](widget, face, same ? &before : NULL);
  return true;
}

void widget_show(const struct widget *widget, const struct typeface *face) {
  const struct sheet_place place = {widget->area.left, widget->area.top, 0, (float)typeface_size(face) / 4};
  sheets_put(&widget->sheet, face, &place);
}

void widget_close(struct widget *widget) {
  sheet_close(&widget->sheet);
  *widget = (struct widget){0};
}
