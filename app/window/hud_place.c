#include "app/window/hud_place.h"

enum { LIST_COLUMNS = HUD_NAME_COLUMNS + HUD_BAR_COLUMNS + HUD_VALUE_COLUMNS, FIGURES_LINES = 8, GRAPH_LINES = 8 };

static int least(int a, int b) {
  return a < b ? a : b;
}

static struct hud_area area(int left, int top, int width, int height) {
  return left >= 0 && top >= 0 && width > 0 && height > 0 ? (struct hud_area){left, top, width, height}
                                                          : (struct hud_area){left, top, 0, 0};
}

static void place_list(struct hud_places *places, int width, int bottom, int most, const struct hud_type *type) {
  int margin = type->size, own = least(LIST_COLUMNS * type->advance + 2 * type->size, most);
  places->list = area(width - margin - own, margin, own, bottom - 2 * margin);
  int rows = (places->list.height - type->size) / type->line - 1; /* one is the head */
  places->list_rows = rows > 0 ? rows : 1;
}

void hud_place(struct hud_places *places, enum hud_layout layout, int width, int height, const struct hud_type *type) {
  int margin = type->size, line_top = height - type->line - 2 * type->size;
  *places = (struct hud_places){.line = area(margin, line_top, width - 2 * margin, type->line + type->size)};
  if (layout == HUD_OVERLAY) {
    place_list(places, width, line_top, width - 2 * margin, type);
    return;
  }
  place_list(places, width, line_top + margin / 2, width / 2, type);
  int left_width = places->list.left - 2 * margin, figures = FIGURES_LINES * type->line,
      graph = GRAPH_LINES * type->line;
  int picture = line_top - figures - graph - 3 * margin;
  if (picture < line_top / 3) { /* low windows do without the graph */
    picture += graph + margin;
    graph = 0;
  }
  places->picture = area(margin, margin, left_width, picture);
  places->graph = area(margin, picture + 2 * margin, left_width, graph);
  places->figures = area(margin, line_top - figures, left_width, figures - margin / 2);
}
