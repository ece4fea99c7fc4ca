#include "app/control/corners.h"

#include <math.h>

#include "app/control/keys.h"

_Static_assert((int)OUTPUT_CORNERS == (int)PLACEMENT_CORNERS, "a pair of values for each corner");

/* Distance by which an arrow key moves a corner, as a fraction of the window's width or height. If the window is 1920
 * pixels wide, it is about one pixel. */
static const double step = 0.0005;

void corners_placement(const struct parameters *values, struct placement *placement) {
  *placement = (struct placement){.fit = (enum output_fit)values->output_fit,
                                  .flip = (enum output_flip)values->output_flip,
                                  .zoom = values->output_zoom,
                                  .rotation = values->output_rotation};
  for (int i = 0; i < PLACEMENT_CORNERS; i++) {
    placement->corner[i][0] = values->corner_x[i];
    placement->corner[i][1] = values->corner_y[i];
  }
}

/* Stores the positions of the four corners in `at`, in widths and heights of the window. */
static void get_corners(const struct live_state *state, double at[PLACEMENT_CORNERS][2]) {
  struct placement placement;
  corners_placement(&state->settings.values, &placement);
  placement_corners(&placement, at);
}

/* Returns `offset`, a corner's distance from the window's own corner, rounded and limited to a value that the parameter
 * `id` can have. */
static double to_range(enum parameter id, double offset) {
  const struct parameter_row *row = parameter_row(id);
  double scale = pow(10, row->decimals);
  return fmin(row->max, fmax(row->min, round(offset * scale) / scale));
}

void corners_move(struct live_state *state, int corner, double x, double y, int64_t now_ns) {
  static const double own[PLACEMENT_CORNERS][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
  double at[PLACEMENT_CORNERS][2];
  const double *home = own[corner - 1];
  double right = to_range(PARAMETER_CORNER_X, x - home[0]), down = to_range(PARAMETER_CORNER_Y, y - home[1]);
  get_corners(state, at);
  bool was_good = placement_corners_good(at);
  at[corner - 1][0] = home[0] + right;
  at[corner - 1][1] = home[1] + down;
  /* if another program has set corners that make no good shape, each corner may be moved freely, because otherwise no
   * corner could be moved */
  if (was_good && !placement_corners_good(at))
    return;
  live_set_at(state, PARAMETER_CORNER_X, corner, right, now_ns);
  live_set_at(state, PARAMETER_CORNER_Y, corner, down, now_ns);
}

static void put_back(struct live_state *state, int corner, int64_t now_ns) {
  live_set_at(state, PARAMETER_CORNER_X, corner, 0, now_ns);
  live_set_at(state, PARAMETER_CORNER_Y, corner, 0, now_ns);
}

bool corners_key(struct live_state *state, int key, int64_t now_ns) {
  int corner = (int)state->settings.values.corner_edit;
  double at[PLACEMENT_CORNERS][2], x, y;
  if (!corner)
    return false;
  get_corners(state, at);
  x = key == KEY_RIGHT ? step : key == KEY_LEFT ? -step : 0;
  y = key == KEY_DOWN ? step : key == KEY_UP ? -step : 0;
  if (x != 0 || y != 0)
    corners_move(state, corner, at[corner - 1][0] + x, at[corner - 1][1] + y, now_ns);
  else if (key == KEY_TAB)
    live_set(state, PARAMETER_CORNER_EDIT, corner % PLACEMENT_CORNERS + 1, now_ns);
  else if (key == KEY_DELETE)
    put_back(state, corner, now_ns);
  else if (key == KEY_ESCAPE)
    live_set(state, PARAMETER_CORNER_EDIT, 0, now_ns);
  else
    return false;
  return true;
}

void corners_drag(struct corner_drag *drag, struct live_state *state, bool pressed, double x, double y,
                  int64_t now_ns) {
  double at[PLACEMENT_CORNERS][2];
  get_corners(state, at);
  if (pressed) {
    int nearest = 0;
    for (int i = 1; i < PLACEMENT_CORNERS; i++)
      if (hypot(at[i][0] - x, at[i][1] - y) < hypot(at[nearest][0] - x, at[nearest][1] - y))
        nearest = i;
    *drag = (struct corner_drag){nearest + 1, {at[nearest][0] - x, at[nearest][1] - y}};
    live_set(state, PARAMETER_CORNER_EDIT, drag->corner, now_ns);
  } else if (drag->corner) {
    corners_move(state, drag->corner, x + drag->beside[0], y + drag->beside[1], now_ns);
  }
}
