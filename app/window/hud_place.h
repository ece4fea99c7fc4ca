/* Computes the positions of the overlay's panels in pixels of the drawable, from the top left corner. These functions
 * have no state. */
#ifndef APP_WINDOW_HUD_PLACE_H
#define APP_WINDOW_HUD_PLACE_H

/* HUD_OVERLAY: the overlay's panels are drawn over the picture. HUD_OPERATOR: the panels are in a window of their own,
 * which also shows the picture. */
enum hud_layout { HUD_OVERLAY, HUD_OPERATOR };

struct hud_area {
  int left, top, width, height; /* a rectangle in pixels; width 0: there is no room for the panel */
};

/* Sizes of the font in pixels. size: font size; advance: width of a character column; line: distance from line to
 * line. */
struct hud_type {
  int size, advance, line;
};

struct hud_places {
  struct hud_area alerts, picture, graph, figures, list, line;
  int top;       /* distance in pixels from the top edge to the panels below the alerts */
  int list_rows; /* number of rows of the parameter list for which there is room */
};

/* Computes the positions of all panels. With HUD_OVERLAY only alerts, parameter list and typed line have a position.
 * alert_lines: number of lines that alerts take, above everything else. In the operator's window only the picture
 * becomes smaller for these lines, so that nothing moves that the operator may be about to click. */
void hud_place(struct hud_places *places, enum hud_layout layout, int width, int height, const struct hud_type *type,
               int alert_lines);
/* Stores how many characters a line of alerts may have at most, and how many such lines leave enough room for the other
 * panels. */
void hud_alert_room(enum hud_layout layout, int width, int height, const struct hud_type *type, int *columns,
                    int *lines);

/* Widths of the parameter list's three columns (name, bar, value), in characters. */
enum { HUD_NAME_COLUMNS = 19, HUD_BAR_COLUMNS = 14, HUD_VALUE_COLUMNS = 13 };

#endif
