/* The values that say where the output window shows the picture (placement.h), and the keys and the mouse that move the
 * four corners of the corner pin while corners are edited (the parameter corner-edit). Only the main thread uses these
 * functions. */
#ifndef APP_CONTROL_CORNERS_H
#define APP_CONTROL_CORNERS_H

#include "app/control/live_state.h"
#include "app/control/placement.h"

/* A corner that the user drags. Zeros: no corner is dragged. */
struct corner_drag {
  int corner;       /* number of the corner, from 1; 0: none is dragged */
  double beside[2]; /* distance from the pointer to the corner, x and y, in widths and heights of the window */
};

/* Fills *placement from the parameters that say where the output window shows the picture. */
void corners_placement(const struct parameters *values, struct placement *placement);

/* Moves a corner (number from 1) to x, y, in widths and heights of the window from its top left corner. Does nothing if
 * the four corners would then make no good shape (placement_corners_good). */
void corners_move(struct live_state *state, int corner, double x, double y, int64_t now_ns);

/* Handles a key while corners are edited. Arrow keys move the selected corner by 1/2000 of the window, Tab selects the
 * next corner, Del moves it back to the window's own corner, and Esc ends editing. Returns false if corners are not
 * edited or the key has no such meaning. */
bool corners_key(struct live_state *state, int key, int64_t now_ns);

/* Handles a press of the mouse button (pressed true) or a movement with the button held down, at x, y in widths and
 * heights of the window. A press takes the nearest corner, which then follows the pointer. */
void corners_drag(struct corner_drag *drag, struct live_state *state, bool pressed, double x, double y, int64_t now_ns);

#endif
