/* Computes the positions of the overlay's panels in pixels of the drawable, from the top left corner. These functions
 * have no state. */
#ifndef APP_WINDOW_HUD_PLACE_H
#define APP_WINDOW_HUD_PLACE_H

/* HUD_OVERLAY: the overlay's panels are drawn over the picture. HUD_OPERATOR: the panels are in the operator's window,
 * where face_place.h computes their positions. */
enum hud_layout { HUD_OVERLAY, HUD_OPERATOR };

struct hud_area {
  int left, top, width, height; /* a rectangle in pixels; `width` 0: there is no room for the panel */
};

/* Sizes of the font in pixels. size: font size; advance: width of a character column; line: distance from line to
 * line. */
struct hud_type {
  int size, advance, line;
};

struct hud_places {
  struct hud_area alerts, picture, list, line;
  int top;       /* distance in pixels from the top edge to the panels below the alerts */
  int list_rows; /* number of rows of the parameter list for which there is room */
};

/* Computes the positions of the panels that are drawn over the picture in a window of this size in pixels;
 * places->picture stays empty. alert_lines: number of lines that alerts take, above everything else. */
void hud_place(struct hud_places *places, int width, int height, const struct hud_type *type, int alert_lines);
/* Stores how many characters a line of alerts may have at most, and how many such lines leave enough room for the other
 * panels. */
void hud_alert_room(int width, int height, const struct hud_type *type, int *columns, int *lines);
/* Returns the size in pixels of the font over a picture of this size. */
int hud_type_size(int width, int height);

/* Widths of the parameter list's three columns (name, bar, value), in characters. */
enum { HUD_NAME_COLUMNS = 19, HUD_BAR_COLUMNS = 14, HUD_VALUE_COLUMNS = 13 };

#endif
