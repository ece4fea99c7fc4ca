#include "app/window/hud.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/window/gl_util.h"
#include "app/window/hud_text.h"
#include "app/window/sheet.h"

enum panel_kind { PANEL_FIGURES, PANEL_NOTICE, PANEL_HELP, PANEL_ROWS, PANEL_LINE, PANEL_ALERTS, PANEL_GRAPH, PANELS };

static const int64_t refresh_ns = 100000000, graph_ns = 50000000;
/* Nanoseconds that the graph of frame times covers. */
static const int64_t graph_length_ns = 10000000000;

static const struct color ground = {24, 27, 33, 255}, over_picture = {16, 18, 22, 205},
                          chosen_ground = {52, 62, 78, 255}, groove = {48, 52, 60, 255}, filling = {70, 120, 165, 255},
                          bright = {240, 240, 240, 255}, engine_color = {86, 128, 104, 255},
                          way_color = {140, 205, 255, 255}, alert_color = {255, 176, 84, 255},
                          alert_ground = {150, 40, 24, 255};

struct words {
  char text[HUD_TEXT_MAX];
  struct sheet sheet;
};

struct hud {
  struct typeface *face;
  struct words panels[PANELS];
  enum hud_layout layout;
  int width, height; /* size in pixels of the drawable (window or overlay) for which the panels were last laid out */
  int64_t updated_ns, graphed_ns;
  int alert_lines; /* number of text lines that alerts take in the window at the moment */
  /* alert_columns: largest number of characters in a line of alerts; alert_lines_most: largest number of lines that
   * alerts may take */
  int alert_columns, alert_lines_most;
  int help_pages;
  int cursor; /* distance in pixels from the left edge of the typed line to its text cursor */
};

int hud_open(struct hud **out, struct error *err) {
  *out = NULL;
  struct hud *hud = calloc(1, sizeof *hud);
  if (!hud)
    return error_set(err, STATUS_FAILED, "no memory for the overlay");
  if (typeface_open(&hud->face, err)) {
    hud_close(&hud);
    return -1;
  }
  *out = hud;
  return 0;
}

void hud_close(struct hud **pointer) {
  struct hud *hud = *pointer;
  if (!hud)
    return;
  for (int i = 0; i < PANELS; i++)
    sheet_close(&hud->panels[i].sheet);
  typeface_close(&hud->face);
  free(hud);
  *pointer = NULL;
}

static struct hud_type get_type(const struct hud *hud) {
  return (struct hud_type){typeface_size(hud->face), typeface_advance(hud->face), typeface_line(hud->face)};
}

/* Chooses the font size by the height of the window's drawable, or by its width if the drawable is narrow. Returns true
 * if the size has changed. */
static bool fit_type(struct hud *hud, int width, int height) {
  int wide = width * 3 / 4;
  return typeface_fit(hud->face, height < wide ? height : wide);
}

void hud_get_places(struct hud *hud, enum hud_layout layout, int width, int height, struct hud_places *places) {
  fit_type(hud, width, height);
  const struct hud_type type = get_type(hud);
  hud_place(places, layout, width, height, &type, hud->alert_lines);
}

void hud_get_list_box(struct hud *hud, enum hud_layout layout, int width, int height, struct list_box *box) {
  struct hud_places places;
  hud_get_places(hud, layout, width, height, &places);
  const struct hud_type type = get_type(hud);
  float left = (float)(places.list.left + type.size), advance = (float)type.advance;
  *box = (struct list_box){.left = left,
                           .right = (float)(places.list.left + places.list.width),
                           .top = (float)(places.list.top + type.size / 2 + type.line),
                           .line = (float)type.line,
                           .bar_left = left + HUD_NAME_COLUMNS * advance,
                           .bar_right = left + (HUD_NAME_COLUMNS + HUD_BAR_COLUMNS - 1) * advance};
}

/* --- drawing text that contains colour marks --- */

/* Draws a line of text that contains marks, bytes that switch the colour (hud_text.h). Returns how many columns it
 * takes. */
static int draw_line(const struct hud *hud, struct sheet *sheet, int x, int y, int columns, const char *text) {
  int column = 0;
  enum tone tone = TONE_PLAIN;
  while (*text && *text != '\n') {
    if ((unsigned char)*text < TONES)
      tone = (enum tone) * text++;
    size_t length = 0;
    while (text[length] && text[length] != '\n' && (unsigned char)text[length] >= TONES)
      length++;
    column +=
        sheet_text(sheet, hud->face, x + column * typeface_advance(hud->face), y, columns - column, tone, text, length);
    text += length;
  }
  return column;
}

/* Returns the height of a notice of one line with its margins, in pixels. */
static int get_notice_height(const struct hud *hud) {
  const struct hud_type type = get_type(hud);
  return type.line + 2 * type.size;
}

/* Stores how much text a panel has room for: characters in a line, and lines. Room for alerts and a notice is left
 * free. In the operator's window, notices and measured values are beside the parameter list. */
static void get_room(struct hud *hud, enum panel_kind kind, int width, int height, int *columns, int *lines) {
  const struct hud_type type = get_type(hud);
  struct hud_places places;
  hud_get_places(hud, hud->layout, width, height, &places);
  *columns = width / type.advance - 4;
  if (hud->layout == HUD_OPERATOR && kind == PANEL_NOTICE)
    *columns = places.list.left / type.advance - 4;
  else if (hud->layout == HUD_OPERATOR && kind == PANEL_FIGURES)
    *columns = (places.figures.width - 2 * type.size) / type.advance;
  *lines = (height - 2 * type.size - places.top - get_notice_height(hud)) / type.line;
}

/* Draws a panel of text. If the text has more lines than fit into the window's height, it is drawn in several columns
 * side by side. */
static void draw_words(struct hud *hud, enum panel_kind kind, int width, int height) {
  struct words *words = &hud->panels[kind];
  const struct hud_type type = get_type(hud);
  int lines, columns, room, most;
  get_room(hud, kind, width, height, &room, &most);
  hud_text_measure(words->text, &lines, &columns);
  int beside = most > 0 ? (lines + most - 1) / most : 1, high = beside > 1 ? (lines + beside - 1) / beside : lines;
  beside = beside > 1 ? beside : 1;
  int gaps = HUD_COLUMN_GAP * (beside - 1);
  columns = columns * beside + gaps <= room ? columns : (room - gaps) / beside;
  int across = beside * columns + gaps;
  if (columns <= 0 || !sheet_begin(&words->sheet, 2 * type.size + across * type.advance,
                                   high * type.line + type.size * 5 / 6, (struct color){0})) {
    words->sheet.width = 0;
    return;
  }
  const char *text = words->text;
  for (int i = 0; i < lines; i++, text = hud_text_next_line(text))
    draw_line(hud, &words->sheet, type.size + i / high * (columns + HUD_COLUMN_GAP) * type.advance,
              type.size * 2 / 3 + i % high * type.line, columns, text);
  sheet_end(&words->sheet);
}

/* --- drawing the panels whose place in the window is fixed --- */

/* Draws a panel of text that has a fixed area in the window. If the area's size is 0, nothing is shown. below:
 * background colour. */
static void draw_lines(struct hud *hud, struct words *words, const struct hud_area *area, struct color below) {
  const struct hud_type type = get_type(hud);
  if (!sheet_begin(&words->sheet, area->width, area->height, below))
    return;
  const char *text = words->text;
  for (int y = type.size / 2; *text && y + type.line <= area->height; y += type.line, text = hud_text_next_line(text))
    draw_line(hud, &words->sheet, type.size, y, (area->width - 2 * type.size) / type.advance, text);
  sheet_end(&words->sheet);
}

static void draw_row(struct hud *hud, struct sheet *sheet, const char *text, int y) {
  const struct hud_type type = get_type(hud);
  int x = type.size, bar = x + HUD_NAME_COLUMNS * type.advance, bar_width = (HUD_BAR_COLUMNS - 1) * type.advance;
  int columns = (sheet->width - 2 * type.size) / type.advance, share = atoi(text + 2);
  if (text[1] == '>')
    sheet_fill(sheet, type.size / 2, y - type.size / 6, sheet->width - type.size, type.line, chosen_ground);
  sheet_text(sheet, hud->face, x, y, HUD_NAME_COLUMNS - 1, TONE_DIM, text + 6, HUD_NAME_COLUMNS - 1);
  int from = share < 0 ? HUD_NAME_COLUMNS : HUD_NAME_COLUMNS + HUD_BAR_COLUMNS;
  if (share >= 0) {
    sheet_fill(sheet, bar, y + type.size / 6, bar_width, type.size, groove);
    sheet_fill(sheet, bar, y + type.size / 6, bar_width * share / 1000, type.size, filling);
  }
  draw_line(hud, sheet, x + from * type.advance, y, columns - from, text + 6 + HUD_NAME_COLUMNS);
}

/* Draws the parameter list from the text that hud_list_text writes. The '>' of the selected row is not drawn: that row
 * gets a background of its own. */
static void draw_list(struct hud *hud, struct words *words, const struct hud_area *area, struct color below) {
  const struct hud_type type = get_type(hud);
  if (!*words->text || !sheet_begin(&words->sheet, area->width, area->height, below)) {
    words->sheet.width = 0;
    return;
  }
  int y = type.size / 2;
  draw_line(hud, &words->sheet, type.size, y, (area->width - 2 * type.size) / type.advance, words->text);
  for (const char *text = hud_text_next_line(words->text); *text; text = hud_text_next_line(text))
    draw_row(hud, &words->sheet, text, y += type.line);
  sheet_end(&words->sheet);
}

static void draw_typed(struct hud *hud, struct sheet *sheet, const struct panel *panel) {
  const struct hud_type type = get_type(hud);
  const struct line_edit *line = &panel->line;
  char name[PARAMETER_NAME_MAX];
  int y = type.size / 2, x = type.size, end = sheet->width - type.size;
  panel_label(panel, name);
  x += (1 + sheet_text(sheet, hud->face, x, y, 100, TONE_TITLE, name, strlen(name))) * type.advance;
  size_t from = line_edit_scroll(line, (end - x) / type.advance);
  int before = typeface_width(hud->face, line->text + from, line->cursor - from);
  if (line->selected)
    sheet_fill(sheet, x, y, before, type.size * 5 / 4, way_color);
  sheet_text(sheet, hud->face, x, y, (end - x) / type.advance, TONE_PLAIN, line->text + from, line->cursor - from);
  x += before;
  hud->cursor = x;
  if (*line->composed) {
    int width = typeface_width(hud->face, line->composed, strlen(line->composed));
    sheet_text(sheet, hud->face, x, y, (end - x) / type.advance, TONE_TITLE, line->composed, strlen(line->composed));
    sheet_fill(sheet, x, y + type.size * 5 / 4, width, 2, way_color);
    x += width;
  }
  sheet_fill(sheet, x, y, 2, type.size * 5 / 4, bright);
  sheet_text(sheet, hud->face, x + 2, y, (end - x) / type.advance, TONE_PLAIN, line->text + line->cursor,
             line->length - line->cursor);
}

static void draw_input(struct hud *hud, struct words *words, const struct hud_area *area, const struct panel *panel,
                       struct color below) {
  const struct hud_type type = get_type(hud);
  if (!*words->text || !sheet_begin(&words->sheet, area->width, area->height, below)) {
    words->sheet.width = 0;
    return;
  }
  if (panel->types)
    draw_typed(hud, &words->sheet, panel);
  else
    draw_line(hud, &words->sheet, type.size, type.size / 2, (area->width - 2 * type.size) / type.advance, words->text);
  sheet_end(&words->sheet);
}

/* --- the graph of frame times --- */

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

static int height_of(double ms, double top_ms, int height) {
  return ms > 0 ? (int)lrint(ms / top_ms * height) : 0;
}

static void draw_columns(struct sheet *sheet, const struct recent_column *column, int columns, int wide, int left,
                         int base, int height, double top_ms) {
  for (int i = 0; i < columns; i++) {
    int engine = height_of((double)column[i].engine_ms, top_ms, height),
        way = height_of((double)column[i].latency_ms, top_ms, height);
    sheet_fill(sheet, left + i * wide, base - engine, wide, engine, column[i].missed ? alert_color : engine_color);
    if (column[i].latency_ms >= 0)
      sheet_fill(sheet, left + i * wide, base - way - 1, wide, 2, way_color);
  }
}

static void draw_graph(struct hud *hud, struct sheet *sheet, const struct hud_content *content,
                       const struct hud_area *area, int64_t now_ns) {
  enum { COLUMNS_MAX = 400, COLUMN_WIDTH = 3 };
  const struct hud_type type = get_type(hud);
  struct recent_column column[COLUMNS_MAX];
  char words[80];
  if (!sheet_begin(sheet, area->width, area->height, ground))
    return;
  int left = type.size, base = area->height - type.size / 2, height = base - type.line - type.size / 2;
  int columns = (area->width - 2 * left) / COLUMN_WIDTH;
  columns = columns < COLUMNS_MAX ? columns : COLUMNS_MAX;
  recent_times_draw(content->recent, now_ns, graph_length_ns, column, columns);
  double top_ms = highest(column, columns, content->budget_ms);
  draw_columns(sheet, column, columns, COLUMN_WIDTH, left, base, height, top_ms);
  sheet_fill(sheet, left, base - height, columns * COLUMN_WIDTH, 1, groove);
  if (content->budget_ms > 0)
    sheet_fill(sheet, left, base - height_of(content->budget_ms, top_ms, height), columns * COLUMN_WIDTH, 1,
               alert_color);
  int length = snprintf(words, sizeof words, "%g ms, %d s: capture to screen, engine, misses", top_ms,
                        (int)(graph_length_ns / 1000000000));
  sheet_text(sheet, hud->face, left, type.size / 3, (area->width - 2 * left) / type.advance, TONE_DIM, words,
             (size_t)length);
  sheet_end(sheet);
}

/* --- updating and drawing all panels --- */

static void write_panel(struct hud *hud, enum panel_kind kind, char *text, const struct hud_content *content) {
  static void (*const writers[PANELS])(char *, const struct hud_content *) = {[PANEL_FIGURES] = hud_figures_text,
                                                                              [PANEL_NOTICE] = hud_notice_text,
                                                                              [PANEL_HELP] = hud_help_text,
                                                                              [PANEL_ROWS] = hud_list_text,
                                                                              [PANEL_LINE] = hud_line_text};
  if (kind == PANEL_ALERTS)
    hud_alerts_text(text, content, hud->alert_columns, hud->alert_lines_most);
  else
    writers[kind](text, content);
}

static void draw_panel(struct hud *hud, enum panel_kind kind, const struct hud_content *content, int width,
                       int height) {
  struct words *words = &hud->panels[kind];
  struct hud_places places;
  bool own_window = content->layout == HUD_OPERATOR;
  hud_get_places(hud, content->layout, width, height, &places);
  if (kind == PANEL_ALERTS)
    draw_lines(hud, words, &places.alerts, alert_ground);
  else if (kind == PANEL_ROWS)
    draw_list(hud, words, &places.list, own_window ? ground : over_picture);
  else if (kind == PANEL_LINE)
    draw_input(hud, words, &places.line, content->panel, own_window ? ground : over_picture);
  else if (kind == PANEL_FIGURES && own_window)
    draw_lines(hud, words, &places.figures, ground);
  else
    draw_words(hud, kind, width, height);
}

static bool update_panel(struct hud *hud, enum panel_kind kind, const struct hud_content *content, int width,
                         int height, bool anyway) {
  char text[HUD_TEXT_MAX];
  int columns, lines;
  write_panel(hud, kind, text, content);
  get_room(hud, kind, width, height, &columns, &lines);
  if (kind == PANEL_NOTICE)
    hud_text_fold(text, columns);
  if (kind == PANEL_FIGURES)
    hud_text_fold_figures(text, columns);
  if (kind == PANEL_HELP)
    hud->help_pages = hud_text_page(text, content->help_page, columns, lines);
  if (!anyway && !strcmp(text, hud->panels[kind].text))
    return false;
  memcpy(hud->panels[kind].text, text, strlen(text) + 1);
  draw_panel(hud, kind, content, width, height);
  return true;
}

/* Returns true if the graph of frame times is empty, because no picture has come for as long as the graph covers. */
static bool is_empty(const struct recent_times *recent, int64_t now_ns) {
  const struct recent_time *last = recent_times_before(recent, 0);
  return !last || now_ns - last->at_ns > graph_length_ns;
}

static bool update_graph(struct hud *hud, const struct hud_content *content, int width, int height, int64_t now_ns,
                         bool anyway) {
  struct hud_places places;
  struct sheet *sheet = &hud->panels[PANEL_GRAPH].sheet;
  if (content->layout != HUD_OPERATOR || !content->recent) {
    sheet->width = 0;
    return false;
  }
  if (!anyway && now_ns - hud->graphed_ns < graph_ns)
    return false;
  bool moves = !is_empty(content->recent, hud->graphed_ns);
  if (!anyway && !moves && is_empty(content->recent, now_ns))
    return false;
  hud->graphed_ns = now_ns;
  hud_get_places(hud, content->layout, width, height, &places);
  draw_graph(hud, sheet, content, &places.graph, now_ns);
  return true;
}

/* Breaks the alerts' text into lines that fit into the window, and stores the number of lines. Returns true if that
 * number has changed. */
static bool fit_alerts(struct hud *hud, const struct hud_content *content, int width, int height) {
  char text[HUD_TEXT_MAX];
  int before = hud->alert_lines;
  const struct hud_type type = get_type(hud);
  hud_alert_room(content->layout, width, height, &type, &hud->alert_columns, &hud->alert_lines_most);
  hud->alert_lines = hud_alerts_text(text, content, hud->alert_columns, hud->alert_lines_most);
  return hud->alert_lines != before;
}

bool hud_update(struct hud *hud, const struct hud_content *content, int width, int height, int64_t now_ns) {
  bool all = fit_type(hud, width, height), changed = false;
  all |= typeface_follow(hud->face);
  all = all || width != hud->width || height != hud->height || content->layout != hud->layout;
  hud->layout = content->layout;
  all |= fit_alerts(hud, content, width, height);
  bool words_due = all || now_ns - hud->updated_ns >= refresh_ns;
  hud->width = width;
  hud->height = height;
  if (words_due)
    hud->updated_ns = now_ns;
  for (enum panel_kind kind = 0; kind < PANEL_GRAPH; kind++)
    /* these two panels, the parameter list and the typed line, are updated at once, because they show what the user
     * does */
    if (words_due || kind == PANEL_ROWS || kind == PANEL_LINE)
      changed |= update_panel(hud, kind, content, width, height, all);
  return update_graph(hud, content, width, height, now_ns, all) || changed;
}

static struct sheet_place get_place(struct hud *hud, enum panel_kind kind, enum hud_layout layout, int width,
                                    int height) {
  const struct sheet *sheet = &hud->panels[kind].sheet;
  const struct hud_type type = get_type(hud);
  struct hud_places places;
  hud_get_places(hud, layout, width, height, &places);
  int room = layout == HUD_OPERATOR ? places.list.left : width, line = *hud->panels[PANEL_LINE].text != 0;
  struct sheet_place place = {type.size, places.top, 0.55f, (float)type.size / 2};
  if (kind == PANEL_NOTICE) {
    place.left = (room - sheet->width) / 2;
    place.top = (line ? places.line.top : height) - type.size - sheet->height;
    if (layout == HUD_OPERATOR)
      place.top = places.picture.top + places.picture.height - sheet->height;
  } else if (kind == PANEL_HELP) {
    place.left = (width - sheet->width) / 2;
    place.top = (height - get_notice_height(hud) + places.top - sheet->height) / 2;
    place.shade = 1;
  } else if (kind != PANEL_FIGURES || layout == HUD_OPERATOR) {
    const struct hud_area *area = kind == PANEL_ROWS     ? &places.list
                                  : kind == PANEL_LINE   ? &places.line
                                  : kind == PANEL_GRAPH  ? &places.graph
                                  : kind == PANEL_ALERTS ? &places.alerts
                                                         : &places.figures;
    place = (struct sheet_place){area->left, area->top, 0, place.radius};
  }
  return place;
}

void hud_get_cursor(struct hud *hud, enum hud_layout layout, int width, int height, struct hud_area *cursor) {
  struct hud_places places;
  hud_get_places(hud, layout, width, height, &places);
  *cursor = places.line;
  cursor->left += hud->cursor;
  cursor->width = get_type(hud).advance;
}

int hud_help_pages(const struct hud *hud) {
  return hud->help_pages;
}

/* Returns true if a panel is not drawn because another one takes its room. Over the picture, the help replaces the
 * measured values and the parameter list; the list replaces the measured values if both do not fit side by side. */
static bool is_overlapped(struct hud *hud, enum panel_kind kind, enum hud_layout layout, int width, int height) {
  const struct sheet *figures = &hud->panels[PANEL_FIGURES].sheet, *list = &hud->panels[PANEL_ROWS].sheet;
  bool help = *hud->panels[PANEL_HELP].text;
  if (layout != HUD_OVERLAY || (kind != PANEL_FIGURES && kind != PANEL_ROWS))
    return false;
  struct hud_places places;
  hud_get_places(hud, layout, width, height, &places);
  bool meet = list->width && get_type(hud).size + figures->width > places.list.left;
  return help || (kind == PANEL_FIGURES && meet);
}

/* Draws the panels so that no text is drawn over other text: the help and the notice, which may be in front of other
 * panels, have an opaque background. */
void hud_draw(struct hud *hud, enum hud_layout layout, int width, int height) {
  glViewport(0, 0, width, height);
  static const enum panel_kind order[] = {PANEL_FIGURES, PANEL_GRAPH,  PANEL_ROWS,  PANEL_LINE,
                                          PANEL_HELP,    PANEL_NOTICE, PANEL_ALERTS};
  bool help = *hud->panels[PANEL_HELP].text;
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
    struct sheet_place place = get_place(hud, order[i], layout, width, height);
    if (order[i] == PANEL_NOTICE && help)
      place.shade = 1;
    if (!is_overlapped(hud, order[i], layout, width, height))
      sheet_show(&hud->panels[order[i]].sheet, hud->face, &place, width, height);
  }
}
