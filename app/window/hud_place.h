/* Where the overlay's panels lie, in pixels of the drawable. Pure. */
#ifndef APP_WINDOW_HUD_PLACE_H
#define APP_WINDOW_HUD_PLACE_H

/* OVERLAY: over the picture; OPERATOR: a window of their own, with the picture among them. */
enum hud_layout { HUD_OVERLAY, HUD_OPERATOR };

struct hud_area {
  int left, top, width, height; /* width 0: no room */
};

/* The type's: its size, from character to character, from line to line. */
struct hud_type {
  int size, advance, line;
};

struct hud_places {
  struct hud_area picture, graph, figures, list, line;
  int list_rows; /* so many fit */
};

/* Of OVERLAY the list and the line alone. */
void hud_place(struct hud_places *places, enum hud_layout layout, int width, int height, const struct hud_type *type);

/* The list's columns of characters: its names, then bars, then values. */
enum { HUD_NAME_COLUMNS = 19, HUD_BAR_COLUMNS = 14, HUD_VALUE_COLUMNS = 13 };

#endif
