/* Computes the positions of the overlay's panels in pixels of the drawable, from the top left corner. These functions
 * have no state. */
#ifndef APP_WINDOW_HUD_PLACE_H
#define APP_WINDOW_HUD_PLACE_H

/* HUD_OVERLAY: the panels are drawn over the picture. HUD_OPERATOR: they are in a window of their own, which also shows
 * the picture. */
enum hud_layout { HUD_OVERLAY, HUD_OPERATOR };

struct hud_area {
  int left, top, width, height; /* a rectangle in pixels; width 0: there is no room for the panel */
};

/* The font in pixels: its size, the width of a character column, and the distance from line to line. */
struct hud_type {
  int size, advance, line;
};

struct hud_places {
  struct hud_area alerts, picture, graph, figures, list, line;
  int top;       /* height at which the rest begins below the alerts */
  int list_rows; /* number of rows that fit into the parameter list */
};

/* Computes all positions. With HUD_OVERLAY only alerts, parameter list and typed line have a position. alert_lines:
 * number of lines for alerts, above everything else. In the operator's window only the picture gives way to them, so
 * that nothing moves that the operator may be about to click. */
void hud_place(struct hud_places *places, enum hud_layout layout, int width, int height, const struct hud_type *type,
               int alert_lines);
/* Stores how many character columns a line of alerts may have, and how many lines leave enough room for the rest. */
void hud_alert_room(enum hud_layout layout, int width, int height, const struct hud_type *type, int *columns,
                    int *lines);

/* Widths of the parameter list's three columns (name, bar, value), in characters. */
enum { HUD_NAME_COLUMNS = 19, HUD_BAR_COLUMNS = 14, HUD_VALUE_COLUMNS = 13 };

#endif
