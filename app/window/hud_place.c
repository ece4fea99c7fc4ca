#include "app/window/hud_place.h"

#include <stdbool.h>

enum { LIST_COLUMNS = HUD_NAME_COLUMNS + HUD_BAR_COLUMNS + HUD_VALUE_COLUMNS, FIGURES_LINES = 8, GRAPH_LINES = 8 };

/* If there is room for fewer characters than this in a line beside the parameter list, the alerts are placed above the
 * list instead of beside it. */
enum { ALERT_COLUMNS = 40 };
/* The parameter list takes at most LIST_PART / WHOLE (three fifths) of the operator's window's width. */
enum { LIST_PART = 3, WHOLE = 5 };

static int least(int a, int b) {
  return a < b ? a : b;
}

static struct hud_area area(int left, int top, int width, int height) {
  return left >= 0 && top >= 0 && width > 0 && height > 0 ? (struct hud_area){left, top, width, height}
                                                          : (struct hud_area){left, top, 0, 0};
}

static int list_width(int most, const struct hud_type *type) {
  return least(LIST_COLUMNS * type->advance + 2 * type->size, most);
}

static void place_list(struct hud_places *places, int width, int top, int bottom, int most,
                       const struct hud_type *type) {
  int margin = type->size, own = list_width(most, type);
  places->list = area(width - margin - own, top, own, bottom - margin - top);
  int rows = (places->list.height - type->size) / type->line - 1; /* the first row of the list is its heading */
  places->list_rows = rows > 0 ? rows : 1;
}

static int beside_list(int width, const struct hud_type *type) {
  return width - 3 * type->size - list_width(width * LIST_PART / WHOLE, type);
}

static bool lie_above_all(enum hud_layout layout, int width, const struct hud_type *type) {
  return layout == HUD_OVERLAY || beside_list(width, type) < ALERT_COLUMNS * type->advance + 2 * type->size;
}

static int alerts_width(enum hud_layout layout, int width, const struct hud_type *type) {
  return lie_above_all(layout, width, type) ? width - 2 * type->size : beside_list(width, type);
}

void hud_alert_room(enum hud_layout layout, int width, int height, const struct hud_type *type, int *columns,
                    int *lines) {
  *columns = (alerts_width(layout, width, type) - 2 * type->size) / type->advance;
  *lines = height / 6 / type->line;
}

void hud_place(struct hud_places *places, enum hud_layout layout, int width, int height, const struct hud_type *type,
               int alert_lines) {
  int margin = type->size, line_top = height - type->line - 2 * type->size;
  int alerts = alert_lines > 0 ? least(alert_lines * type->line + type->size, line_top - margin - margin / 2) : 0;
  *places = (struct hud_places){
      .line = area(margin, line_top, width - 2 * margin, type->line + type->size),
      .alerts = area(margin, margin, alerts_width(layout, width, type), alerts),
      .top = alerts > 0 ? alerts + margin + margin / 2 : margin,
  };
  if (layout == HUD_OVERLAY) {
    place_list(places, width, places->top, line_top, width - 2 * margin, type);
    return;
  }
  int list_top = lie_above_all(layout, width, type) ? places->top : margin;
  place_list(places, width, list_top, line_top + margin / 2, width * LIST_PART / WHOLE, type);
  int left_width = places->list.left - 2 * margin, figures = FIGURES_LINES * type->line,
      graph = GRAPH_LINES * type->line;
  figures = least(figures, line_top - places->top);
  int picture = line_top - figures - graph - 2 * margin - places->top;
  /* the graph is left out and the picture gets its room, because the picture would not be high enough otherwise */
  if (picture < line_top / 5 || picture + alerts < line_top / 3) {
    picture += graph + margin;
    graph = 0;
  }
  places->picture = area(margin, places->top, left_width, picture);
  places->graph = area(margin, places->top + picture + margin, left_width, graph);
  places->figures = area(margin, line_top - figures, left_width, figures - margin / 2);
}
