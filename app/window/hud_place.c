#include "app/window/hud_place.h"

#include <stdbool.h>

enum { LIST_COLUMNS = HUD_NAME_COLUMNS + HUD_BAR_COLUMNS + HUD_VALUE_COLUMNS };
/* The font's size in pixels is the smaller one of the drawable's height and three quarters of its width, divided by
 * LINES_OF_TYPE, but at least TYPE_MIN and at most TYPE_MAX. All other lengths are computed from the font's size. */
enum { TYPE_MIN = 13, TYPE_MAX = 40, LINES_OF_TYPE = 44 };

static int least(int a, int b) {
  return a < b ? a : b;
}

int hud_type_size(int width, int height) {
  int size = least(height, width * 3 / 4) / LINES_OF_TYPE;
  return size < TYPE_MIN ? TYPE_MIN : least(size, TYPE_MAX);
}

static struct hud_area area(int left, int top, int width, int height) {
  return left >= 0 && top >= 0 && width > 0 && height > 0 ? (struct hud_area){left, top, width, height}
                                                          : (struct hud_area){left, top, 0, 0};
}

static void place_list(struct hud_places *places, int width, int top, int bottom, const struct hud_type *type) {
  int margin = type->size, own = least(LIST_COLUMNS * type->advance + 2 * type->size, width - 2 * margin);
  places->list = area(width - margin - own, top, own, bottom - margin - top);
  int rows = (places->list.height - type->size) / type->line - 1; /* the first row of the list is its heading */
  places->list_rows = rows > 0 ? rows : 1;
}

void hud_alert_room(int width, int height, const struct hud_type *type, int *columns, int *lines) {
  *columns = (width - 4 * type->size) / type->advance;
  *lines = height / 6 / type->line;
}

void hud_place(struct hud_places *places, int width, int height, const struct hud_type *type, int alert_lines) {
  int margin = type->size, line_top = height - type->line - 2 * type->size;
  int alerts = alert_lines > 0 ? least(alert_lines * type->line + type->size, line_top - margin - margin / 2) : 0;
  *places = (struct hud_places){
      .line = area(margin, line_top, width - 2 * margin, type->line + type->size),
      .alerts = area(margin, margin, width - 2 * margin, alerts),
      .top = alerts > 0 ? alerts + margin + margin / 2 : margin,
  };
  place_list(places, width, places->top, line_top, type);
}
