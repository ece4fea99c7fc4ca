/* The ops that measure how the picture moved since the last run: a vector for each block of the picture, the motion of
 * the whole picture, and whether the scene was cut. All of them compute in integers, by the functions of motion_math.h,
 * so that all devices agree to the bit. unet/cpu/cpu_motion.c shows the order of the steps; op.h says how ops are
 * declared.
 *
 * A vector is (dy, dx) in 1/256 pixel. Blocks are squares of MOTION_BLOCK pixels: (h + 7) / 8 rows of (w + 7) / 8
 * blocks for a picture of w x h. */
#ifndef UNET_PLAN_OP_MOTION_H
#define UNET_PLAN_OP_MOTION_H

#include "unet/plan/operands.h"

/* How the picture as a whole moved: a point that is now at position p was at A p + t in the last frame. A is [a -b; b
 * a]; positions (x, y) are counted from the picture's centre. If the whole picture did not move, A is the identity and
 * t is 0. */
enum global_value {
  /* 1: a cut, that is, there is no last frame, or it shows another scene; 0: no cut */
  GLOBAL_CUT,
  GLOBAL_A, /* a of the matrix A, in units of 1 / 2^24; GLOBAL_B is b in the same units */
  GLOBAL_B,
  GLOBAL_Y, /* vertical part of t, in 1/256 pixel, downwards; GLOBAL_X is the horizontal part, to the right */
  GLOBAL_X,
  /* 1: this frame has no texture, for example because it is black; 2: the frame before it had none; 0: both have
   * texture. At 1 and 2 the motion since the last picture is not known, so noise and latents are not moved by it. */
  GLOBAL_BLANK,
  GLOBAL_VALUES
};

enum { MATCH_VALUES = 3, FIT_VALUES = 4 };

/* y = the details of a picture, by which positions are told apart: each pixel's brightness minus the mean brightness
 * around it. First 8-bit codes, floor(255 (scale x + bias) + 0.5) clamped to 0..255 (one multiply-add in FP32, NaN
 * gives 0), become brightness. Then five levels are made, each blurred and half as large as the one before. y holds the
 * details of levels 1 to 3, one level after another, and last the value 1.
 *   x  [1, h, w, 3]
 *   y  int32 [1, 1, 1, motion_values] */
#define OPERANDS_PYRAMID(T, P)                                                                                         \
  T(x, OPERAND_READ)                                                                                                   \
  T(y, OPERAND_WRITE | OPERAND_WHOLE)
struct op_pyramid {
  OPERANDS(PYRAMID)
  float scale, bias;
};

/* y = for each block of a picture, the vector to the position in another picture that looks most like it, and how
 * certain the vector is (struct motion_match). Picture 0 of y has the vectors from `now` to `last`, picture 1 those
 * from `last` to `now`. At level 3 all vectors of up to MOTION_REACH blocks are tried, at level 2 those around the best
 * ones of the block and its neighbours, and at level 1 those around the best of these. The fraction of a pixel is
 * computed from the slopes of the brightness.
 *   now, last  int32: details of two pictures of w x h pixels, from OP_PYRAMID
 *   y          int32 [2, rows of blocks, columns of blocks, MATCH_VALUES] */
#define OPERANDS_MATCH(T, P)                                                                                           \
  T(now, OPERAND_READ | OPERAND_WHOLE)                                                                                 \
  T(last, OPERAND_READ | OPERAND_STATE | OPERAND_WHOLE)                                                                \
  T(y, OPERAND_WRITE | OPERAND_WHOLE)
struct op_match {
  OPERANDS(MATCH)
  int w, h;
};

/* y = the motion of the whole picture: the similarity (shift, turn and zoom) that most vectors of picture 0 agree with,
 * as a, b, ty, tx of struct motion_model. It is all zeros if "no motion" explains the vectors nearly as well.
 *   match  int32: vectors from OP_MATCH, for a picture of w x h pixels
 *   y      int32 [1, 1, 1, FIT_VALUES] */
#define OPERANDS_FIT(T, P)                                                                                             \
  T(match, OPERAND_READ | OPERAND_WHOLE)                                                                               \
  T(y, OPERAND_WRITE | OPERAND_WHOLE)
struct op_fit {
  OPERANDS(FIT)
  int w, h;
};

/* Writes how the picture moved since the last frame to flow, visible and global, and copies `now` to `last`. Each block
 * takes one of three vectors: that of the motion of the whole picture (none, if `fit` is zeros), no motion, or that of
 * its own match, if this one explains the block clearly better. A cell of the latent takes the values of the block that
 * contains the cell's centre. After a cut, in the first run, or if run.restart is set, flow and visible are 0. A frame
 * without texture is ignored: nothing moved, all is visible, and `last` is not written, so that the next frame is
 * compared with the frame before this one.
 *   now, match, fit  int32: results of OP_PYRAMID, OP_MATCH and OP_FIT for a picture of w x h pixels
 *   last     int32: a state with the last frame's details; its last value is 0 while there is no last frame
 *   flow     int32 [1, h / cell, w / cell, 2]: a cell's position in the last frame minus its position now
 *   visible  int32 [1, h / cell, w / cell, 1]: 1 if the cell was seen in the last frame, else 0
 *   global   int32 [1, 1, 1, GLOBAL_VALUES]; its GLOBAL_BLANK of the last run is read, too */
#define OPERANDS_FLOW(T, P)                                                                                            \
  T(now, OPERAND_READ | OPERAND_WHOLE)                                                                                 \
  T(match, OPERAND_READ | OPERAND_WHOLE)                                                                               \
  T(fit, OPERAND_READ | OPERAND_WHOLE)                                                                                 \
  T(last, OPERAND_READ | OPERAND_WRITE | OPERAND_STATE | OPERAND_WHOLE)                                                \
  T(flow, OPERAND_WRITE | OPERAND_STATE | OPERAND_WHOLE)                                                               \
  T(visible, OPERAND_WRITE | OPERAND_STATE | OPERAND_WHOLE)                                                            \
  T(global, OPERAND_READ | OPERAND_WRITE | OPERAND_STATE | OPERAND_WHOLE)
struct op_flow {
  OPERANDS(FLOW)
  int w, h, cell; /* cell: width of a latent's cell in pixels of the picture */
};

#endif
