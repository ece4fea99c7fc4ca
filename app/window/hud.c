#include "app/window/hud.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/window/code_panel.h"
#include "app/window/face.h"
#include "app/window/gl_util.h"
#include "app/window/hud_text.h"
#include "app/window/sheet.h"

enum panel_kind { PANEL_FIGURES, PANEL_NOTICE, PANEL_HELP, PANEL_ROWS, PANEL_LINE, PANEL_ALERTS, PANEL_CODE, PANELS };

static const int64_t refresh_ns = 100000000;

static const struct color ground = {24, 27, 33, 255}, over_picture = {16, 18, 22, 205},
                          chosen_ground = {52, 62, 78, 255}, groove = {48, 52, 60, 255}, filling = {70, 120, 165, 255},
                          bright = {240, 240, 240, 255}, way_color = {140, 205, 255, 255},
                          alert_ground = {150, 40, 24, 255};

struct words {
  char text[HUD_TEXT_MAX];
  struct sheet sheet;
};

struct hud {
  struct typeface *face;
  struct face *operator_face; /* the widgets of the operator's window, beside the overlay's panels */
  struct face_wish wish;      /* how many widgets of each kind were to be shown at the last hud_update */
  struct words panels[PANELS];
  enum hud_layout layout;
  int width, height; /* size in pixels of the drawable (window or overlay) for which the panels were last laid out */
  int64_t updated_ns;
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
  if (typeface_open(&hud->face, err) || face_open(&hud->operator_face, err)) {
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
  face_close(&hud->operator_face);
  typeface_close(&hud->face);
  free(hud);
  *pointer = NULL;
}

static struct hud_type get_type(const struct hud *hud) {
  return (struct hud_type){typeface_size(hud->face), typeface_advance(hud->face), typeface_line(hud->face)};
}

/* Chooses the font size that suits a window of this size. Returns true if the size has changed. */
static bool fit_type(struct hud *hud, enum hud_layout layout, int width, int height) {
  return typeface_set_size(hud->face,
                           layout == HUD_OPERATOR ? face_type_size(width, height) : hud_type_size(width, height));
}

void hud_get_face_places(const struct hud *hud, int width, int height, struct face_places *places) {
  face_place(places, width, height, &hud->wish);
}

/* Stores the positions of the overlay's panels in the operator's window, whose size in pixels is `width` x `height`. */
static void place_beside_face(const struct hud *hud, int width, int height, struct hud_places *places) {
  struct face_places at;
  hud_get_face_places(hud, width, height, &at);
  *places = (struct hud_places){.alerts = at.alerts,
                                .picture = at.picture,
                                .list = at.list,
                                .line = at.typed,
                                .top = at.picture.top,
                                .list_rows = at.list_rows};
}

void hud_get_places(struct hud *hud, enum hud_layout layout, int width, int height, struct hud_places *places) {
  fit_type(hud, layout, width, height);
  const struct hud_type type = get_type(hud);
  if (layout == HUD_OPERATOR)
    place_beside_face(hud, width, height, places);
  else
    hud_place(places, width, height, &type, hud->alert_lines);
}

void hud_get_list_box(struct hud *hud, enum hud_layout layout, int width, int height, struct list_box *box) {
  struct hud_places places;
  hud_get_places(hud, layout, width, height, &places);
  const struct hud_type type = get_type(hud);
  float left = (float)(places.list.left + type.size), advance = (float)type.advance;
  struct face_places at;
  hud_get_face_places(hud, width, height, &at);
  *box = layout == HUD_OPERATOR
             ? at.box
             : (struct list_box){.left = left,
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

/* Draws a line of text in the proportional font and in one colour. Marks in the text (bytes that switch the colour,
 * hud_text.h) are left out. */
static void draw_letters(const struct hud *hud, struct sheet *sheet, int x, int y, int width, const char *text) {
  char plain[HUD_TEXT_MAX];
  size_t length = 0;
  for (; *text && *text != '\n'; text++)
    if ((unsigned char)*text >= TONES)
      plain[length++] = *text;
  sheet_letters(sheet, hud->face, x, y, width, LETTERS_USUAL, bright, plain, length);
}

/* Returns the height of a notice of one line with its margins, in pixels. */
static int get_notice_height(const struct hud *hud) {
  const struct hud_type type = get_type(hud);
  return type.line + 2 * type.size;
}

/* Stores how much text a panel has room for: in *columns the characters in a line, in *lines the number of lines. Room
 * for alerts and a notice is left free. In the operator's window a notice is as wide as the picture, over which it is
 * drawn. */
static void get_room(struct hud *hud, enum panel_kind kind, int width, int height, int *columns, int *lines) {
  const struct hud_type type = get_type(hud);
  struct hud_places places;
  hud_get_places(hud, hud->layout, width, height, &places);
  *columns = width / type.advance - 4;
  if (hud->layout == HUD_OPERATOR && kind == PANEL_NOTICE)
    *columns = places.picture.width / type.advance - 4;
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

/* Draws the alerts: in the operator's window with the proportional font, over the picture with the monospaced one. If
 * the area's size is 0, nothing is shown. */
static void draw_alerts(struct hud *hud, struct words *words, const struct hud_area *area) {
  const struct hud_type type = get_type(hud);
  bool letters = hud->layout == HUD_OPERATOR;
  int line = letters ? type.size * 7 / 5 : type.line;
  if (!sheet_begin(&words->sheet, area->width, area->height, alert_ground))
    return;
  const char *text = words->text;
  for (int y = type.size / 2; *text && y + line <= area->height; y += line, text = hud_text_next_line(text))
    if (letters)
      draw_letters(hud, &words->sheet, type.size / 2, y, area->width - type.size, text);
    else
      draw_line(hud, &words->sheet, type.size, y, (area->width - 2 * type.size) / type.advance, text);
  sheet_end(&words->sheet);
}

static void draw_row(struct hud *hud, struct sheet *sheet, const char *text, int y) {
  const struct hud_type type = get_type(hud);
  int x = type.size, bar = x + HUD_NAME_COLUMNS * type.advance, bar_width = (HUD_BAR_COLUMNS - 1) * type.advance;
  int columns = (sheet->width - 2 * type.size) / type.advance, share = atoi(text + 2);
  if (text[1] == '>')
    sheet_fill(sheet, type.size / 2, y - type.size / 6, sheet->width - type.size, type.line, chosen_ground);
  sheet_text(sheet, hud->face, x, y, HUD_NAME_COLUMNS - 1, *text == TONE_TITLE ? TONE_TITLE : TONE_DIM, text + 6,
             HUD_NAME_COLUMNS - 1);
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
  else if (hud->layout == HUD_OPERATOR)
    draw_letters(hud, &words->sheet, type.size / 2, type.size / 3, area->width - type.size, words->text);
  else
    draw_line(hud, &words->sheet, type.size, type.size / 2, (area->width - 2 * type.size) / type.advance, words->text);
  sheet_end(&words->sheet);
}

/* --- updating and drawing all panels --- */

static void write_panel(struct hud *hud, enum panel_kind kind, char *text, const struct hud_content *content) {
  static void (*const writers[PANELS])(char *, const struct hud_content *) = {
      [PANEL_FIGURES] = hud_figures_text, [PANEL_NOTICE] = hud_notice_text, [PANEL_HELP] = hud_help_text,
      [PANEL_ROWS] = hud_list_text,       [PANEL_LINE] = hud_line_text,     [PANEL_CODE] = hud_code_text};
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
    draw_alerts(hud, words, &places.alerts);
  else if (kind == PANEL_CODE)
    code_panel_draw(&words->sheet, hud->face, words->text, width, height);
  else if (kind == PANEL_ROWS)
    draw_list(hud, words, &places.list, over_picture);
  else if (kind == PANEL_LINE)
    draw_input(hud, words, &places.line, content->panel, own_window ? ground : over_picture);
  else
    draw_words(hud, kind, width, height);
}

static bool update_panel(struct hud *hud, enum panel_kind kind, const struct hud_content *content, int width,
                         int height, bool anyway) {
  char text[HUD_TEXT_MAX];
  int columns, lines;
  bool beside = content->layout == HUD_OPERATOR && (kind == PANEL_FIGURES || kind == PANEL_ROWS);
  text[0] = 0;
  if (!beside) /* in the operator's window, widgets (face.h) show the measured values (PANEL_FIGURES) and the parameter
                * list (PANEL_ROWS) instead */
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

/* Breaks the alerts' text into lines that fit into the window, and stores the number of lines. Returns true if that
 * number has changed. */
static bool fit_alerts(struct hud *hud, const struct hud_content *content, int width, int height) {
  char text[HUD_TEXT_MAX];
  int before = hud->alert_lines;
  const struct hud_type type = get_type(hud);
  if (content->layout == HUD_OPERATOR)
    face_alert_room(width, height, type.advance, &hud->alert_columns, &hud->alert_lines_most);
  else
    hud_alert_room(width, height, &type, &hud->alert_columns, &hud->alert_lines_most);
  hud->alert_lines = hud_alerts_text(text, content, hud->alert_columns, hud->alert_lines_most);
  return hud->alert_lines != before;
}

/* Stores in hud->wish which things the operator's window has to show, and the number of each. Returns true if that has
 * changed, so that everything must be placed again. */
static bool follow_wish(struct hud *hud, const struct hud_content *content) {
  const struct face_wish before = hud->wish;
  hud->wish = face_wish(content, hud->alert_lines);
  return before.alert_lines != hud->wish.alert_lines || before.bars != hud->wish.bars ||
         before.scenes != hud->wish.scenes || before.prompts != hud->wish.prompts || before.clip != hud->wish.clip ||
         before.sound != hud->wish.sound;
}

long hud_count_drawn(const struct hud *hud) {
  return face_drawn(hud->operator_face);
}

bool hud_update(struct hud *hud, const struct hud_content *content, int width, int height, int64_t now_ns) {
  bool all = fit_type(hud, content->layout, width, height), changed = false;
  all |= typeface_follow(hud->face);
  all = all || width != hud->width || height != hud->height || content->layout != hud->layout;
  hud->layout = content->layout;
  all |= fit_alerts(hud, content, width, height);
  all |= follow_wish(hud, content);
  bool words_due = all || now_ns - hud->updated_ns >= refresh_ns;
  hud->width = width;
  hud->height = height;
  if (words_due)
    hud->updated_ns = now_ns;
  for (enum panel_kind kind = 0; kind < PANELS; kind++)
    /* these two panels, the parameter list and the typed line, are updated at once, because they show what the user
     * does */
    if (words_due || kind == PANEL_ROWS || kind == PANEL_LINE)
      changed |= update_panel(hud, kind, content, width, height, all);
  if (content->layout != HUD_OPERATOR)
    return changed;
  struct face_places places;
  hud_get_face_places(hud, width, height, &places);
  return face_update(hud->operator_face, hud->face, &places, content, words_due, all) || changed;
}

static struct sheet_place get_place(struct hud *hud, enum panel_kind kind, enum hud_layout layout, int width,
                                    int height) {
  const struct sheet *sheet = &hud->panels[kind].sheet;
  const struct hud_type type = get_type(hud);
  struct hud_places places;
  hud_get_places(hud, layout, width, height, &places);
  bool own_window = layout == HUD_OPERATOR, line = *hud->panels[PANEL_LINE].text != 0;
  bool in_middle = *hud->panels[PANEL_HELP].text || *hud->panels[PANEL_CODE].text;
  struct sheet_place place = {type.size, places.top, 0.55f, (float)type.size / 2};
  if (kind == PANEL_NOTICE && own_window && !in_middle) {
    place.left = places.picture.left + (places.picture.width - sheet->width) / 2;
    place.top = places.picture.top + places.picture.height - sheet->height;
  } else if (kind == PANEL_NOTICE) {
    place.left = (width - sheet->width) / 2;
    place.top = (own_window ? height - type.size / 2 : (line ? places.line.top : height) - type.size) - sheet->height;
  } else if (kind == PANEL_HELP || kind == PANEL_CODE) {
    place.left = (width - sheet->width) / 2;
    place.top = (height - get_notice_height(hud) + places.top - sheet->height) / 2;
    place.shade = 1;
  } else if (kind != PANEL_FIGURES) {
    const struct hud_area *area = kind == PANEL_ROWS   ? &places.list
                                  : kind == PANEL_LINE ? &places.line
                                                       : &places.alerts;
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
  static const enum panel_kind order[] = {PANEL_FIGURES, PANEL_ROWS,   PANEL_LINE,  PANEL_HELP,
                                          PANEL_CODE,    PANEL_NOTICE, PANEL_ALERTS};
  bool help = *hud->panels[PANEL_HELP].text;
  sheets_begin(hud->face, width, height);
  if (layout == HUD_OPERATOR)
    face_draw(hud->operator_face, hud->face);
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
    struct sheet_place place = get_place(hud, order[i], layout, width, height);
    if (order[i] == PANEL_NOTICE && help)
      place.shade = 1;
    if (!is_overlapped(hud, order[i], layout, width, height))
      sheets_put(&hud->panels[order[i]].sheet, hud->face, &place);
  }
  sheets_end();
}
