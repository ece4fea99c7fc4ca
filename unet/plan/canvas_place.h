/* Where a frame lies on the canvas, an endless plane on which the scene stands still while the camera moves. The
 * functions compute in whole numbers. The plain definition of the ops (cpu_canvas.c) and the CUDA kernels (canvas.cu)
 * both use them, so that they compute the same positions to the bit.
 *
 * A "place" is the similarity (shift, turn and zoom) that maps the pixels of the frame to the canvas: the frame's
 * centre goes to a point, and around this point the frame is turned and scaled by the matrix [a -b; b a]. The networks
 * draw a window of the canvas. The window's corner lies at multiples of canvas_size.lattice pixels of the canvas. */
#ifndef UNET_PLAN_CANVAS_PLACE_H
#define UNET_PLAN_CANVAS_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define CANVAS_FUNCTION static __host__ __device__ __forceinline__
#else
#define CANVAS_FUNCTION static inline
#endif

/* Indices of the values of a place: where the frame lies on the canvas (an endless plane on which the scene stands
 * still). All zeros: the frame is at the canvas's origin, neither turned nor scaled. */
enum place_value {
  /* The matrix [a -b; b a] maps the frame to the canvas. PLACE_A is a - 1, and PLACE_B is b, both in units of 1 /
   * 2^24 */
  PLACE_A,
  PLACE_B,
  /* where the frame begins on the canvas, in whole pixels: PLACE_Y: the row, modulo the height of the window (the part
   * of the canvas that the networks draw); PLACE_X: the column, modulo the window's width */
  PLACE_Y,
  PLACE_X,
  /* Where the frame begins between whole pixels: PLACE_REST_Y below the row PLACE_Y, and PLACE_REST_X to the right of
   * the column PLACE_X, in 1/256 pixel */
  PLACE_REST_Y,
  PLACE_REST_X,
  /* 1: the frame is resampled with the matrix; 0: it is only shifted by whole pixels, and PLACE_A, PLACE_B,
   * PLACE_REST_Y and PLACE_REST_X have no effect */
  PLACE_WARPED,
  PLACE_VALUES
};

/* The numbers that stand for 1 in a matrix, and for one pixel in a distance. */
enum { CANVAS_ONE = 1 << 24, CANVAS_PIXEL = 256 };

/* How the whole picture moved since the last frame, as OP_FLOW found it (its operand `global`): a pixel that is now at
 * p, counted from the picture's centre, was at [a -b; b a] p + (x, y) in the last frame. */
struct canvas_motion {
  bool cut;     /* true: this frame shows another scene than the last one, so its place on the canvas is the origin */
  int32_t a, b; /* turn and zoom: a and b of the matrix [a -b; b a], in units of 1 / 2^24 */
  int32_t y, x; /* shift: the vector (x, y), which is added to the turned and zoomed position, in 1/256 pixel */
};

/* Sizes, in pixels, of a frame and of the window into which it is drawn (the part of the canvas that the networks
 * compute). */
struct canvas_size {
  int32_t h, w; /* height and width of the frame in pixels */
  /* size of the window (the part of the canvas that the networks draw), a multiple of `lattice`. Positions on the
   * canvas wrap around after this size, as it is stored modulo it. lattice: step by which the window moves, in
   * pixels */
  int32_t window_h, window_w;
  int32_t lattice;
};

/* Limits of the strain, which says how far the frame is turned and scaled on the canvas: if the matrix [a -b; b a] maps
 * the frame to the canvas, the strain is the length of (a - 1, b).
 *
 * Up to STRAIN_FREE the strain follows the measured motion; above that it grows more slowly, and it never exceeds
 * STRAIN_MOST. Each frame of a pan reduces it by the fraction 1 / STRAIN_EASED; while the picture stands still it does
 * not change. PAN_STRAIN: a motion counts as a pure pan if its strain is no larger; such a strain is measurement error,
 * which would otherwise add up. */
enum { PAN_STRAIN = CANVAS_ONE / 1024 };
enum { STRAIN_FREE = CANVAS_ONE / 8, STRAIN_MOST = CANVAS_ONE * 5 / 32, STRAIN_EASED = 64 };
/* Largest distance, in 1/256 pixel, between the frame's true position and the whole pixel at which it is drawn. If the
 * distance becomes larger, the frame moves to the next pixel. The limit is more than half a pixel, so that the frame
 * does not jump to and fro when the camera moves only a little. */
enum { REST_MOST = 160 };
/* When frames are resampled instead of shifted by whole pixels. A shift misplaces the frame's corner by some distance,
 * in 1/256 pixel. Frames are resampled once this exceeds CORNER_WARPS (one pixel), until it falls below CORNER_RESTS (a
 * quarter of a pixel). */
enum { CORNER_WARPS = CANVAS_PIXEL, CORNER_RESTS = CANVAS_PIXEL / 4 };

/* Returns value / 2^bits, rounded to nearest. */
CANVAS_FUNCTION int64_t canvas_shift(int64_t value, int bits) {
  return (value + ((int64_t)1 << (bits - 1))) >> bits;
}

/* Returns the largest whole number whose square is at most `value`. */
CANVAS_FUNCTION int64_t canvas_root(int64_t value) {
  int64_t root = 0;
  for (int64_t bit = (int64_t)1 << 30; bit; bit >>= 1)
    if ((root + bit) * (root + bit) <= value)
      root += bit;
  return root;
}

/* Returns `value` modulo `period`: a number from 0 to period - 1, also if `value` is negative. */
CANVAS_FUNCTION int32_t canvas_wrapped(int64_t value, int32_t period) {
  int64_t rest = value % period;
  return (int32_t)(rest < 0 ? rest + period : rest);
}

CANVAS_FUNCTION int64_t canvas_strain(int64_t a, int64_t b) {
  return canvas_root(a * a + b * b);
}

/* Adds `by` (1/256 pixel) to one coordinate of the frame's position on the canvas: *at in whole pixels, modulo
 * `period`, plus *rest in 1/256 pixel. */
CANVAS_FUNCTION void canvas_step(int32_t *at, int32_t *rest, int64_t by, int32_t period) {
  int64_t sum = *rest + by, whole = 0;
  if (sum > REST_MOST || sum < -REST_MOST)
    whole = (sum + CANVAS_PIXEL / 2) >> 8;
  *rest = (int32_t)(sum - whole * CANVAS_PIXEL);
  *at = canvas_wrapped(*at + whole, period);
}

/* Returns an element of a motion's matrix, clamped to -2..2, so that products do not overflow. The motions of a camera
 * stay within that range. Elements are in units of 1 / 2^24. */
CANVAS_FUNCTION int64_t canvas_clamped(int32_t element) {
  return element > 2 * CANVAS_ONE ? 2 * CANVAS_ONE : element < -2 * CANVAS_ONE ? -2 * CANVAS_ONE : element;
}

/* Returns true if the motion is a pure pan: the picture is shifted by a pixel or more, and turned or zoomed by less
 * than the measurement can tell. */
CANVAS_FUNCTION bool canvas_is_pan(const struct canvas_motion *motion) {
  bool moved = motion->x >= CANVAS_PIXEL || motion->x <= -CANVAS_PIXEL || motion->y >= CANVAS_PIXEL ||
               motion->y <= -CANVAS_PIXEL;
  int64_t a = canvas_clamped(motion->a) - CANVAS_ONE, b = canvas_clamped(motion->b);
  return moved && canvas_strain(a, b) <= PAN_STRAIN;
}

/* Updates the matrix with which the frame lies on the canvas (the plane that follows the camera). The matrix turns and
 * zooms. It is multiplied by that of the camera's motion since the last frame, and kept near the identity. */
CANVAS_FUNCTION void canvas_turn(int32_t place[PLACE_VALUES], const struct canvas_motion *motion) {
  int64_t a = place[PLACE_A], b = place[PLACE_B], strain = canvas_strain(a, b);
  int64_t by_a = canvas_clamped(motion->a), by_b = canvas_clamped(motion->b);
  int64_t next_a = canvas_shift((CANVAS_ONE + a) * by_a - b * by_b, 24) - CANVAS_ONE,
          next_b = canvas_shift((CANVAS_ONE + a) * by_b + b * by_a, 24);
  if (canvas_is_pan(motion)) {
    next_a = a - a / STRAIN_EASED;
    next_b = b - b / STRAIN_EASED;
  } else if (canvas_strain(next_a, next_b) > strain && strain > STRAIN_FREE) {
    int64_t left = strain < STRAIN_MOST ? STRAIN_MOST - strain : 0;
    next_a = a + (next_a - a) * left / (STRAIN_MOST - STRAIN_FREE);
    next_b = b + (next_b - b) * left / (STRAIN_MOST - STRAIN_FREE);
  }
  int64_t next = canvas_strain(next_a, next_b);
  if (next > STRAIN_MOST) {
    next_a = next_a * STRAIN_MOST / next;
    next_b = next_b * STRAIN_MOST / next;
  }
  place[PLACE_A] = (int32_t)next_a;
  place[PLACE_B] = (int32_t)next_b;
}

/* Decides whether the frame is resampled or only shifted by whole pixels (PLACE_WARPED). When a resampled frame is to
 * be only shifted again, its matrix becomes the identity. */
CANVAS_FUNCTION void canvas_settle(int32_t place[PLACE_VALUES], const struct canvas_size *size) {
  int64_t diagonal = canvas_root((int64_t)size->w * size->w + (int64_t)size->h * size->h);
  int64_t corner = canvas_strain(place[PLACE_A], place[PLACE_B]) * diagonal / 2 * CANVAS_PIXEL / CANVAS_ONE;
  if (corner >= CORNER_WARPS)
    place[PLACE_WARPED] = 1;
  if (corner > CORNER_RESTS || !place[PLACE_WARPED])
    return;
  place[PLACE_WARPED] = 0;
  place[PLACE_A] = place[PLACE_B] = 0;
}

/* Returns a coordinate of a motion (1/256 pixel). If it is close to whole pixels, it is rounded to them: the
 * measurement is not more exact, and texture would flicker if single frames moved it a pixel further. Motion below half
 * a pixel is not rounded, so that a slow pan has an effect. */
CANVAS_FUNCTION int64_t canvas_rounded(int32_t by) {
  int64_t whole = canvas_shift(by, 8) * CANVAS_PIXEL, off = by < whole ? whole - by : by - whole;
  int64_t size = by < 0 ? -(int64_t)by : by;
  return whole && off <= CANVAS_PIXEL / 16 + size / 16 ? whole : by;
}

/* Updates `place` by the picture's motion since the last frame. The place is the similarity that maps the frame's
 * pixels to the canvas (an endless plane on which the scene stands still). After a cut it is that of a first frame. */
CANVAS_FUNCTION void canvas_move(int32_t place[PLACE_VALUES], const struct canvas_motion *motion,
                                 const struct canvas_size *size) {
  if (motion->cut) {
    for (int i = 0; i < PLACE_VALUES; i++)
      place[i] = 0;
    return;
  }
  bool still = motion->a == CANVAS_ONE && motion->b == 0 && motion->y == 0 && motion->x == 0;
  /* true: OP_FLOW has not written the motion yet, so that all its values are 0 */
  bool none = motion->a == 0 && motion->b == 0;
  if (still || none)
    return;
  int64_t a = CANVAS_ONE + place[PLACE_A], b = place[PLACE_B];
  int64_t by_y = canvas_rounded(motion->y), by_x = canvas_rounded(motion->x);
  int64_t x = canvas_shift(a * by_x - b * by_y, 24), y = canvas_shift(b * by_x + a * by_y, 24);
  canvas_step(&place[PLACE_X], &place[PLACE_REST_X], x, size->window_w);
  canvas_step(&place[PLACE_Y], &place[PLACE_REST_Y], y, size->window_h);
  canvas_turn(place, motion);
  canvas_settle(place, size);
}

/* How pixels of the frame correspond to pixels of the window (the part of the canvas that the networks compute): the
 * frame's place, prepared for canvas_to_frame and canvas_to_window. */
struct canvas_view {
  bool warped;
  /* where the frame begins in the window (the part of the canvas that the networks draw): row and column. If `warped`
   * is true, the frame is resampled, and begins rest_y and rest_x (1/256 pixel) further down and right */
  int32_t top, left;
  int32_t rest_y, rest_x;
  int64_t a, b;           /* the matrix [a -b; b a], from the frame to the window, in units of 1 / 2^24 */
  int64_t back_a, back_b; /* inverse of the matrix, from the window to the frame, in units of 1 / 2^24 */
  /* where the window (the part of the canvas that the networks compute) begins on the canvas: row and column, in
   * pixels */
  int32_t cell_y, cell_x;
};

CANVAS_FUNCTION struct canvas_view canvas_view_of(const int32_t place[PLACE_VALUES], const struct canvas_size *size) {
  struct canvas_view v;
  int32_t in_y = place[PLACE_Y] % size->lattice, in_x = place[PLACE_X] % size->lattice;
  v.warped = place[PLACE_WARPED] != 0;
  v.cell_y = place[PLACE_Y] - in_y;
  v.cell_x = place[PLACE_X] - in_x;
  v.top = (size->window_h - size->h - (size->lattice - 1)) / 2 + in_y;
  v.left = (size->window_w - size->w - (size->lattice - 1)) / 2 + in_x;
  v.rest_y = place[PLACE_REST_Y];
  v.rest_x = place[PLACE_REST_X];
  v.a = CANVAS_ONE + (int64_t)place[PLACE_A];
  v.b = place[PLACE_B];
  int64_t determinant = (v.a * v.a + v.b * v.b) >> 24;
  v.back_a = v.a * CANVAS_ONE / (determinant ? determinant : 1);
  v.back_b = v.b * CANVAS_ONE / (determinant ? determinant : 1);
  return v;
}

/* A point of a picture: its distance, in 1/256 pixel, from the centre of the picture's first pixel. */
struct canvas_point {
  int32_t y, x;
};

/* canvas_to_frame returns the point of the frame that is drawn at a pixel of the window. canvas_to_window returns the
 * point of the window that is drawn at a pixel of the frame. Both also work for frames that are only shifted. */
CANVAS_FUNCTION struct canvas_point canvas_to_frame(const struct canvas_view *v, const struct canvas_size *size, int y,
                                                    int x) {
  struct canvas_point p = {(y - v->top) * CANVAS_PIXEL, (x - v->left) * CANVAS_PIXEL};
  if (!v->warped)
    return p;
  const int32_t half_y = (size->h - 1) * (CANVAS_PIXEL / 2), half_x = (size->w - 1) * (CANVAS_PIXEL / 2);
  int64_t dy = p.y - v->rest_y - half_y, dx = p.x - v->rest_x - half_x;
  p.y = (int32_t)canvas_shift(v->back_a * dy - v->back_b * dx, 24) + half_y;
  p.x = (int32_t)canvas_shift(v->back_a * dx + v->back_b * dy, 24) + half_x;
  return p;
}

CANVAS_FUNCTION struct canvas_point canvas_to_window(const struct canvas_view *v, const struct canvas_size *size, int y,
                                                     int x) {
  struct canvas_point p = {(y + v->top) * CANVAS_PIXEL, (x + v->left) * CANVAS_PIXEL};
  if (!v->warped)
    return p;
  const int32_t half_y = (size->h - 1) * (CANVAS_PIXEL / 2), half_x = (size->w - 1) * (CANVAS_PIXEL / 2);
  int64_t dy = (int64_t)y * CANVAS_PIXEL - half_y, dx = (int64_t)x * CANVAS_PIXEL - half_x;
  p.y = (int32_t)canvas_shift(v->a * dy + v->b * dx, 24) + half_y + v->rest_y + v->top * CANVAS_PIXEL;
  p.x = (int32_t)canvas_shift(v->a * dx - v->b * dy, 24) + half_x + v->rest_x + v->left * CANVAS_PIXEL;
  return p;
}

/* Returns the index, in a row of `size` pixels, of the pixel that is read for index i. If i lies outside the row, that
 * is the pixel of the row's mirror image. */
CANVAS_FUNCTION int canvas_mirrored(int i, int size) {
  if (i >= 0 && i < size)
    return i;
  int period = 2 * (size - 1), at = size > 1 ? i % period : 0;
  if (at < 0)
    at += period;
  return at < size ? at : period - at;
}

/* Stores the weights of four successive pixels for a point between the second and the third, by Keys' cubic kernel with
 * a = -0.75. part: distance of the point from the second pixel, in 1/256 pixel. */
CANVAS_FUNCTION void canvas_weights(int part, float weight[4]) {
  float t = (float)part / CANVAS_PIXEL;
  weight[0] = ((-0.75f * t + 1.5f) * t - 0.75f) * t;
  weight[1] = (1.25f * t - 2.25f) * t * t + 1;
  weight[2] = ((-1.25f * t + 1.5f) * t + 0.75f) * t;
  weight[3] = (0.75f * t - 0.75f) * t * t;
}

#endif
