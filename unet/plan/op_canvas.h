/* The ops of a canvas that follows the camera (op.h): where the frame lies on it, the frame drawn there, the picture
 * cut out again, and the noise at this place. canvas_place.h has the arithmetic, which is on whole numbers. */
#ifndef UNET_PLAN_OP_CANVAS_H
#define UNET_PLAN_OP_CANVAS_H

#include "unet/plan/canvas_place.h"
#include "unet/plan/op_motion.h"

/* place = the place of this frame, from that of the last frame and the motion between them (canvas_move). After a cut
 * it is the identity.
 *   global  whole [1, 1, 1, GLOBAL_VALUES]
 *   place   whole [1, 1, 1, PLACE_VALUES] */
#define OPERANDS_CANVAS_PLACE(T, P)                                                                                    \
  T(global, OPERAND_READ | OPERAND_WHOLE)                                                                              \
  T(place, OPERAND_READ | OPERAND_WRITE | OPERAND_STATE | OPERAND_WHOLE)
struct op_canvas_place {
  OPERANDS(CANVAS_PLACE)
  struct canvas_size size;
};

/* y = the frame x, drawn at its place into a window of the canvas; with `back`, the frame's part of the window x. In a
 * place that is not warped, pixels are copied. Else pixel p of y is read at canvas_to_frame(p), with `back` at
 * canvas_to_window(p): by bicubic interpolation (canvas_weights, in FP32), or with `nearest` from the nearest pixel.
 * Beyond its border x is continued by its mirror image.
 *   x      [1, h, w, c]: the frame, or the window; c is at most 3
 *   place  the state that OP_CANVAS_PLACE writes
 *   y      [1, H, W, c]: the window, or the frame; it may be a state */
#define OPERANDS_CANVAS_DRAW(T, P)                                                                                     \
  T(x, OPERAND_READ)                                                                                                   \
  T(place, OPERAND_READ | OPERAND_STATE | OPERAND_WHOLE)                                                               \
  T(y, OPERAND_WRITE)
struct op_canvas_draw {
  OPERANDS(CANVAS_DRAW)
  struct canvas_size size;
  bool back, nearest;
};

/* y = the noise of the window at its place on the canvas: y[i][j] = noise[(i + row) % h][(j + column) % w], where row
 * and column are those of the canvas at which the window begins, in cells of `cell` pixels.
 *   noise  precise [n, h, w, c]
 *   place  the state that OP_CANVAS_PLACE writes
 *   y      precise, a state of noise's shape */
#define OPERANDS_CANVAS_NOISE(T, P)                                                                                    \
  T(noise, OPERAND_READ | OPERAND_STATE)                                                                               \
  T(place, OPERAND_READ | OPERAND_STATE | OPERAND_WHOLE)                                                               \
  T(y, OPERAND_WRITE)
struct op_canvas_noise {
  OPERANDS(CANVAS_NOISE)
  struct canvas_size size;
  int cell;
};

#endif
