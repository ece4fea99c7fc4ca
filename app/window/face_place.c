#include "app/window/face_place.h"

#include <math.h>

/* The size of the font, in pixels, is the smaller one of the window's height / LINES and its width / COLUMNS, but at
 * least TYPE_MIN. In a narrow window (is_stacked) LINES_STACKED and COLUMNS_STACKED are used instead. */
enum { TYPE_MIN = 13, TYPE_MAX = 96, LINES = 36, COLUMNS = 56, LINES_STACKED = 68, COLUMNS_STACKED = 32 };
/* The operator's window has two columns side by side; the left one has LEFT hundredths of the width. In a narrow
 * window they are one above the other; the upper one then has ABOVE hundredths of the height. The picture has at least
 * PICTURE hundredths of the height of its column. */
enum { LEFT = 57, ABOVE = 50, PICTURE = 38 };
/* Lengths in tenths of the font's size: heights of buttons, of bars, of tiles of scenes and prompts, of headings, of
 * the row with meter, graph and figures, of the clip's bar, and of a row of the list; widths of the list's columns. */
enum {
  STATE = 26,
  BAR = 24,
  TILE = 20,
  HEAD = 15,
  FACTS = 66,
  CLIP = 18,
  ROW = 16,
  LABEL_WIDE = 95,
  BAR_WIDE = 60,
  METER_WIDE = 85,
  FIGURES_WIDE = 160
};
enum { ACROSS = 3, LIST_LEAST = 5 };

static int least(int a, int b) {
  return a < b ? a : b;
}

static int most(int a, int b) {
  return a > b ? a : b;
}

static int tenths(const struct face_places *places, int count) {
  return places->size * count / 10;
}

static int gap_of(const struct face_places *places) {
  return most(places->size / 3, 4);
}

/* Returns true if the window has room for one column of widgets only. */
static bool is_stacked(int width, int height) {
  return width < height || width < 48 * TYPE_MIN;
}

int face_type_size(int width, int height) {
  bool stacked = is_stacked(width, height);
  int size = least(height / (stacked ? LINES_STACKED : LINES), width / (stacked ? COLUMNS_STACKED : COLUMNS));
  return most(TYPE_MIN, least(size, TYPE_MAX));
}

static int line_of(int size) {
  return size * 7 / 5;
}

static int left_width(int width, int height, int margin) {
  return is_stacked(width, height) ? width - 2 * margin : width * LEFT / 100 - margin;
}

void face_alert_room(int width, int height, int advance, int *columns, int *lines) {
  int size = face_type_size(width, height);
  *columns = (left_width(width, height, size / 2) - size) / (advance > 0 ? advance : 1);
  *lines = height / 6 / line_of(size);
}

/* Cuts a strip of this height, and a gap next to it, off the top of *rest (bottom: off its bottom), and returns the
 * strip. If there is not enough room, *rest stays as it is, and the result is an empty area. */
static struct hud_area take(struct hud_area *rest, int height, int gap, bool bottom) {
  if (height <= 0 || rest->width <= 0 || height > rest->height)
    return (struct hud_area){0};
  struct hud_area strip = *rest;
  strip.height = height;
  if (bottom)
    strip.top = rest->top + rest->height - height;
  else
    rest->top += height + gap;
  rest->height -= height + gap;
  return strip;
}

/* Divides the area into `across` by `down` cells, and stores the first `count` of them, row by row. */
static void divide(const struct hud_area *area, struct hud_area *cell, int count, int across, int down, int gap) {
  if (!area->width || across < 1 || down < 1)
    return;
  int width = (area->width + gap) / across - gap, height = (area->height + gap) / down - gap;
  for (int i = 0; i < count; i++)
    if (width > 0 && height > 0)
      cell[i] = (struct hud_area){area->left + i % across * (width + gap), area->top + i / across * (height + gap),
                                  width, height};
}

/* Places meter, graph and figures side by side in a strip. */
static void place_facts(struct face_places *places, struct hud_area strip, bool sound) {
  int gap = gap_of(places), wide = sound ? least(tenths(places, METER_WIDE), strip.width / 3) : 0;
  if (!strip.width)
    return;
  if (wide)
    places->meter = (struct hud_area){strip.left, strip.top, wide, strip.height};
  strip.left += wide ? wide + gap : 0;
  strip.width -= wide ? wide + gap : 0;
  int figures = least(tenths(places, FIGURES_WIDE), strip.width / 2);
  places->graph = places->figures = strip;
  places->graph.width -= figures + gap;
  places->figures.left += places->graph.width + gap;
  places->figures.width = figures;
  if (places->graph.width <= 0)
    places->graph.width = 0;
}

/* Places the alerts, the picture, and below the picture its strips of widgets. If there is not enough room for all of
 * them, the meter, graph and figures are left out first, then a row of bars, and so on. */
static void place_show(struct face_places *places, struct hud_area area, const struct face_wish *wish) {
  int gap = gap_of(places), rows = (wish->bars + ACROSS - 1) / ACROSS;
  struct hud_area below = area;
  below.height = area.height - area.height * PICTURE / 100;
  int bar = tenths(places, BAR), top = below.height;
  struct hud_area states = take(&below, tenths(places, STATE), gap, true);
  struct hud_area clip = wish->clip ? take(&below, tenths(places, CLIP), gap, true) : (struct hud_area){0};
  while (rows > 0 && rows * (bar + gap) > below.height)
    rows--;
  struct hud_area bars = take(&below, rows * (bar + gap) - gap, gap, true);
  struct hud_area facts = take(&below, tenths(places, FACTS), gap, true);
  int used = top - below.height, at = area.top + area.height - used + gap;
  if (wish->alert_lines > 0)
    places->alerts =
        take(&area, least(wish->alert_lines * places->line + places->size, area.height - used), gap, false);
  places->picture = (struct hud_area){area.left, area.top, area.width, most(at - gap - area.top, 0)};
  if (places->picture.height <= 0 || area.width <= 0)
    places->picture = (struct hud_area){area.left, area.top, 0, 0};
  /* the strips from top to bottom: the clip's bar, the buttons of states, the bars of values, and meter, graph and
   * figures */
  struct hud_area *order[] = {&clip, &states, &bars, &facts};
  for (int i = 0; i < 4; i++) {
    order[i]->top = at;
    at += order[i]->height ? order[i]->height + gap : 0;
  }
  places->clip = clip;
  divide(&states, places->states, FACE_STATES, FACE_STATES, 1, gap);
  divide(&bars, places->bars, least(wish->bars, rows * ACROSS), ACROSS, rows, gap);
  place_facts(places, facts, wish->sound);
}

/* Cuts an area for a heading, and areas for at most `count` tiles, off *rest, the area that is still free. The tiles
 * are in rows, as many as there is room for. Stores the areas in *head and tile[]. */
static void place_tiles(struct face_places *places, struct hud_area *rest, struct hud_area *head, struct hud_area *tile,
                        int count) {
  int gap = gap_of(places), tall = tenths(places, TILE), title = tenths(places, HEAD);
  int rows = (count + ACROSS - 1) / ACROSS, kept = LIST_LEAST * tenths(places, ROW) + gap;
  while (rows > 0 && title + gap / 2 + rows * (tall + gap) > rest->height - kept)
    rows--;
  if (rows <= 0)
    return;
  *head = take(rest, title, gap / 2, false);
  struct hud_area strip = take(rest, rows * (tall + gap) - gap, gap, false);
  divide(&strip, tile, least(count, rows * ACROSS), ACROSS, rows, gap);
}

/* Places the list of parameters: below its heading as many rows as there is room for. */
static void place_list(struct face_places *places, struct hud_area area) {
  int row = tenths(places, ROW), pad = places->size / 2;
  places->list_rows = most((area.height - pad) / row - 1, 1);
  if (area.height < 3 * row || area.width < 10 * places->size)
    return;
  places->list = area;
  float left = (float)(area.left + pad), wide = (float)(area.width - 2 * pad);
  float label = fminf((float)tenths(places, LABEL_WIDE), wide * 0.4f),
        bar = fminf((float)tenths(places, BAR_WIDE), wide * 0.25f);
  places->box = (struct list_box){.left = left,
                                  .right = left + wide,
                                  .top = (float)(area.top + pad / 2 + row),
                                  .line = (float)row,
                                  .bar_left = left + label,
                                  .bar_right = left + label + bar};
}

void face_place(struct face_places *places, int width, int height, const struct face_wish *wish) {
  *places = (struct face_places){.size = face_type_size(width, height)};
  places->line = line_of(places->size);
  int margin = places->size / 2, gap = gap_of(places);
  struct hud_area all = {margin, margin, width - 2 * margin, height - 2 * margin}, show, rest;
  if (all.width <= 0 || all.height <= 0)
    return;
  places->typed = take(&all, places->line + places->size / 2, gap, true);
  show = rest = all;
  if (is_stacked(width, height)) {
    show = take(&rest, all.height * ABOVE / 100, gap, false);
  } else {
    show.width = left_width(width, height, margin);
    rest.left += show.width + gap;
    rest.width -= show.width + gap;
  }
  place_show(places, show, wish);
  place_tiles(places, &rest, &places->scenes_head, places->scenes, least(wish->scenes, FACE_SCENES));
  place_tiles(places, &rest, &places->prompts_head, places->prompts, least(wish->prompts, FACE_PROMPTS));
  place_list(places, rest);
}

static bool holds(const struct hud_area *area, float x, float y) {
  return area->width && x >= (float)area->left && x < (float)(area->left + area->width) && y >= (float)area->top &&
         y < (float)(area->top + area->height);
}

struct face_hit face_find(const struct face_places *places, float x, float y) {
  const struct {
    const struct hud_area *area;
    int count;
    enum face_part part;
  } parts[] = {{places->states, FACE_STATES, FACE_STATE},
               {places->bars, FACE_BARS, FACE_BAR},
               {places->scenes, FACE_SCENES, FACE_SCENE},
               {places->prompts, FACE_PROMPTS, FACE_PROMPT},
               {&places->clip, 1, FACE_CLIP},
               {&places->list, 1, FACE_LIST},
               {&places->typed, 1, FACE_LINE},
               {&places->picture, 1, FACE_PICTURE}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    for (int j = 0; j < parts[i].count; j++)
      if (holds(&parts[i].area[j], x, y))
        return (struct face_hit){parts[i].part, j};
  return (struct face_hit){FACE_NOTHING, 0};
}

double face_share(const struct hud_area *area, float x) {
  return area->width ? fmin(1, fmax(0, ((double)x - area->left) / area->width)) : 0;
}
