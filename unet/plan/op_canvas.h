/* The ops of a canvas: an endless plane on which the scene stands still while the camera moves. The network draws a
 * window of the canvas instead of the frame. The ops compute where the frame lies on the canvas, draw the frame into
 * the window, cut the picture out again, and make the window's noise. canvas_place.h has the arithmetic, in whole
 * numbers; op.h says how ops are declared. */
#ifndef UNET_PLAN_OP_CANVAS_H
#define UNET_PLAN_OP_CANVAS_H

#include "unet/plan/canvas_place.h"
#include "unet/plan/op_motion.h"

/* place = where this frame lies on the canvas, computed from the last frame's place and the motion between the two
 * frames (canvas_move). After a cut the frame lies at the canvas's origin, neither turned nor scaled.
 *   global  int32 [1, 1, 1, GLOBAL_VALUES]: the motion, from OP_FLOW
 *   place   int32 [1, 1, 1, PLACE_VALUES] */
#define OPERANDS_CANVAS_PLACE(T, P)                                                                                    \
  T(global, OPERAND_READ | OPERAND_WHOLE)                                                                              \
  T(place, OPERAND_READ | OPERAND_WRITE | OPERAND_STATE | OPERAND_WHOLE)
struct op_canvas_place {
  OPERANDS(CANVAS_PLACE)
  struct canvas_size size;
};

/* y = a window of the canvas (the plane on which the scene stands still) with the frame x drawn into it. With `back`,
 * the reverse: y = the frame that is cut out of the window x. If the frame is only shifted on the canvas (PLACE_WARPED
 * 0), pixels are copied. Otherwise pixel p of y is x at the point canvas_to_frame(p), or with `back`
 * canvas_to_window(p): by bicubic interpolation (canvas_weights, in FP32), or with `nearest` the nearest pixel. Beyond
 * its border x is continued by its mirror image.
 *   x      [1, h, w, c]: the frame, or with `back` the window; c is at most 3
 *   place  int32 [1, 1, 1, PLACE_VALUES]: where the frame lies, from OP_CANVAS_PLACE
 *   y      [1, H, W, c]: the window, or with `back` the frame; may be a state */
#define OPERANDS_CANVAS_DRAW(T, P)                                                                                     \
  T(x, OPERAND_READ)                                                                                                   \
  T(place, OPERAND_READ | OPERAND_STATE | OPERAND_WHOLE)                                                               \
  T(y, OPERAND_WRITE)
struct op_canvas_draw {
  OPERANDS(CANVAS_DRAW)
  struct canvas_size size;
  bool back, nearest;
};

/* y = the noise for the window of the canvas, which moves with the canvas: y[i][j] = noise[(i + row) % h][(j + column)
 * % w], where row and column say where the window begins on the canvas, in cells of `cell` pixels.
 *   noise  FP32 [n, h, w, c]: one cell for each cell of the window
 *   place  int32 [1, 1, 1, PLACE_VALUES]: where the frame lies, from OP_CANVAS_PLACE
 *   y      FP32, a state of noise's shape */
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
