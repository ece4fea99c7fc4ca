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
  struct hud_area alerts, picture, graph, figures, list, line;
  int top;       /* of all that lies below the alerts */
  int list_rows; /* so many fit */
};

/* Of OVERLAY the alerts, the list and the line alone. alert_lines: so many lines of alerts have room before all else.
 * In the operator's window the picture makes room for them, so that nothing moves under the operator's hand. */
void hud_place(struct hud_places *places, enum hud_layout layout, int width, int height, const struct hud_type *type,
               int alert_lines);
/* The room that alerts have: columns of characters, and as many lines as leave the rest its place. */
void hud_alert_room(enum hud_layout layout, int width, int height, const struct hud_type *type, int *columns,
                    int *lines);

/* The list's columns of characters: its names, then bars, then values. */
enum { HUD_NAME_COLUMNS = 19, HUD_BAR_COLUMNS = 14, HUD_VALUE_COLUMNS = 13 };

#endif
