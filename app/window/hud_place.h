/* Computes where the overlay's panels are, in pixels of the drawable. These functions have no state. */
#ifndef APP_WINDOW_HUD_PLACE_H
#define APP_WINDOW_HUD_PLACE_H

/* HUD_OVERLAY: the panels are drawn over the picture; HUD_OPERATOR: they have a window of their own, which also shows
 * the picture. */
enum hud_layout { HUD_OVERLAY, HUD_OPERATOR };

struct hud_area {
  int left, top, width, height; /* width 0: there is no room for it */
};

/* Measures of the font in pixels: its size, the distance between columns, and the distance between lines. */
struct hud_type {
  int size, advance, line;
};

struct hud_places {
  struct hud_area alerts, picture, graph, figures, list, line;
  int top;       /* first row below the alerts */
  int list_rows; /* rows that fit into the list */
};

/* Computes the places. HUD_OVERLAY has only alerts, list and line. alert_lines: lines of alerts that get room above
 * everything else. In the operator's window only the picture becomes smaller for them, so that nothing moves that the
 * operator may be about to click. */
void hud_place(struct hud_places *places, enum hud_layout layout, int width, int height, const struct hud_type *type,
               int alert_lines);
/* Stores how much room alerts have: columns of characters, and the number of lines that still leave enough room for the
 * rest. */
void hud_alert_room(enum hud_layout layout, int width, int height, const struct hud_type *type, int *columns,
                    int *lines);

/* Widths of the list's three columns, in characters. */
enum { HUD_NAME_COLUMNS = 19, HUD_BAR_COLUMNS = 14, HUD_VALUE_COLUMNS = 13 };

#endif
