/* Where a frame lies on the canvas, in whole numbers: the functions that the definition (cpu_canvas.c) and the CUDA
 * kernels (canvas.cu) share, so that both compute the same places to the bit.
 *
 * The canvas is an endless plane on which the scene stands still while the camera moves. A place is a similarity that
 * maps the pixels of the frame to the canvas: the frame's centre goes to a point, and around it the frame is turned and
 * scaled by the matrix [a -b; b a]. The networks draw a window of the canvas whose corner lies on the lattice, at
 * multiples of canvas_size.lattice pixels. */
#ifndef UNET_PLAN_CANVAS_PLACE_H
#define UNET_PLAN_CANVAS_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define CANVAS_FUNCTION static __host__ __device__ __forceinline__
#else
#define CANVAS_FUNCTION static inline
#endif

/* The values of a place. All zeros are the identity at the canvas's origin. */
enum place_value {
  PLACE_A, /* a - 1 and b, in 1 / 2^24 */
  PLACE_B,
  PLACE_Y, /* row and column of the canvas at which the frame begins, in whole pixels, modulo the canvas's period */
  PLACE_X,
  PLACE_REST_Y, /* how far the frame is from there, in 1/256 pixel */
  PLACE_REST_X,
  /* 1: the frame is resampled; 0: it is shifted by whole pixels alone, and a, b and the rest have no effect */
  PLACE_WARPED,
  PLACE_VALUES
};

/* Motion of the whole picture since the last frame, the values of the tensor `global`: a pixel at p from the picture's
 * centre was at [a -b; b a] p + (x, y). */
enum { CANVAS_ONE = 1 << 24, CANVAS_PIXEL = 256 };
struct canvas_motion {
  bool cut;     /* nothing of the last frame is known */
  int32_t a, b; /* in 1 / 2^24 */
  int32_t y, x; /* in 1/256 pixel */
};

/* The sizes of a frame and of the window in which it is drawn, in pixels. */
struct canvas_size {
  int32_t h, w;               /* of the frame */
  int32_t window_h, window_w; /* of the window, which is also the canvas's period; multiples of lattice */
  int32_t lattice;
};

/* How the matrix is kept near the identity. Its strain is its distance from the identity, the length of (a - 1, b),
 * which never exceeds STRAIN_MOST. Growth of the strain is taken whole up to STRAIN_FREE, and less above it. Each frame
 * of a pan takes a part of 1 / STRAIN_EASED from it; nothing changes in a picture that stands still. A pan is measured
 * with a strain of up to PAN_STRAIN, which would add up. */
enum { PAN_STRAIN = CANVAS_ONE / 1024 };
enum { STRAIN_FREE = CANVAS_ONE / 8, STRAIN_MOST = CANVAS_ONE * 5 / 32, STRAIN_EASED = 64 };
/* The frame moves by a whole pixel once it is this far from where it is drawn, which is more than half a pixel, so that
 * a motion to and fro does not move it each time. */
enum { REST_MOST = 160 };
/* A frame is resampled from the moment that its corner would be a pixel from its place if it were only shifted, until
 * that distance is a quarter of a pixel. */
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

/* Returns `value` modulo `period`, from 0 to below the period. */
CANVAS_FUNCTION int32_t canvas_wrapped(int64_t value, int32_t period) {
  int64_t rest = value % period;
  return (int32_t)(rest < 0 ? rest + period : rest);
}

CANVAS_FUNCTION int64_t canvas_strain(int64_t a, int64_t b) {
  return canvas_root(a * a + b * b);
}

/* Moves one coordinate of a place by `by` (1/256 pixel). */
CANVAS_FUNCTION void canvas_step(int32_t *at, int32_t *rest, int64_t by, int32_t period) {
  int64_t sum = *rest + by, whole = 0;
  if (sum > REST_MOST || sum < -REST_MOST)
    whole = (sum + CANVAS_PIXEL / 2) >> 8;
  *rest = (int32_t)(sum - whole * CANVAS_PIXEL);
  *at = canvas_wrapped(*at + whole, period);
}

/* Returns a matrix element of a motion, clamped to -2..2, a range that camera motions do not leave. */
CANVAS_FUNCTION int64_t canvas_clamped(int32_t element) {
  return element > 2 * CANVAS_ONE ? 2 * CANVAS_ONE : element < -2 * CANVAS_ONE ? -2 * CANVAS_ONE : element;
}

/* True if the picture is shifted by a pixel or more, and turned or zoomed by less than can be measured then. */
CANVAS_FUNCTION bool canvas_is_pan(const struct canvas_motion *motion) {
  bool moved = motion->x >= CANVAS_PIXEL || motion->x <= -CANVAS_PIXEL || motion->y >= CANVAS_PIXEL ||
               motion->y <= -CANVAS_PIXEL;
  int64_t a = canvas_clamped(motion->a) - CANVAS_ONE, b = canvas_clamped(motion->b);
  return moved && canvas_strain(a, b) <= PAN_STRAIN;
}

/* Multiplies the place's matrix by the motion's, and keeps it near the identity. */
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

/* Decides if the frame is resampled, and makes the matrix the identity when that ends. */
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

/* Returns a coordinate of a motion (1/256 pixel), rounded to whole pixels if it is nearly that. Measured motion is not
 * more exact, and texture that moves by one pixel more in one frame than in the next flickers. Motion below half a
 * pixel is returned as it is, so that a slow pan is followed. */
CANVAS_FUNCTION int64_t canvas_rounded(int32_t by) {
  int64_t whole = canvas_shift(by, 8) * CANVAS_PIXEL, off = by < whole ? whole - by : by - whole;
  int64_t size = by < 0 ? -(int64_t)by : by;
  return whole && off <= CANVAS_PIXEL / 16 + size / 16 ? whole : by;
}

/* Moves a place from the last frame to this one. */
CANVAS_FUNCTION void canvas_move(int32_t place[PLACE_VALUES], const struct canvas_motion *motion,
                                 const struct canvas_size *size) {
  if (motion->cut) {
    for (int i = 0; i < PLACE_VALUES; i++)
      place[i] = 0;
    return;
  }
  bool still = motion->a == CANVAS_ONE && motion->b == 0 && motion->y == 0 && motion->x == 0;
  bool none = motion->a == 0 && motion->b == 0; /* a state that no run has written */
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

/* How pixels of the frame and of the window correspond. */
struct canvas_view {
  bool warped;
  /* row and column of the window at which the frame begins; if warped, rest_y and rest_x are added */
  int32_t top, left;
  int32_t rest_y, rest_x;
  int64_t a, b;           /* matrix from the frame to the window, in 1 / 2^24 */
  int64_t back_a, back_b; /* matrix from the window to the frame */
  int32_t cell_y, cell_x; /* row and column of the canvas at which the window begins, in pixels */
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

/* A point of a picture, in 1/256 pixel from the centre of its first pixel. */
struct canvas_point {
  int32_t y, x;
};

/* canvas_to_frame returns the point of the frame that a pixel of the window shows, canvas_to_window the point of the
 * window that a pixel of the frame shows. Both also hold for views that are not warped. */
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

/* Returns the pixel that stands for number i of a row of `size`, which is continued beyond its ends by its mirror
 * image. */
CANVAS_FUNCTION int canvas_mirrored(int i, int size) {
  if (i >= 0 && i < size)
    return i;
  int period = 2 * (size - 1), at = size > 1 ? i % period : 0;
  if (at < 0)
    at += period;
  return at < size ? at : period - at;
}

/* Stores the weights of the four pixels around a point, by Keys' cubic kernel with a = -0.75. The point lies `part`
 * (1/256 pixel) after the second of them. */
CANVAS_FUNCTION void canvas_weights(int part, float weight[4]) {
  float t = (float)part / CANVAS_PIXEL;
  weight[0] = ((-0.75f * t + 1.5f) * t - 0.75f) * t;
  weight[1] = (1.25f * t - 2.25f) * t * t + 1;
  weight[2] = ((-1.25f * t + 1.5f) * t + 0.75f) * t;
  weight[3] = (0.75f * t - 0.75f) * t * t;
}

#endif
