/* The ops that measure how the picture moved since the last run (op.h). All of them compute in integers, by the
 * functions of motion_math.h, so that all devices agree to the bit; unet/cpu/cpu_motion.c has the order of the steps.
 *
 * A vector is (dy, dx) in 1/256 pixel. Blocks are squares of MOTION_BLOCK pixels, (h + 7) / 8 rows of (w + 7) / 8 for a
 * picture of w x h. */
#ifndef UNET_PLAN_OP_MOTION_H
#define UNET_PLAN_OP_MOTION_H

#include "unet/plan/operands.h"

/* How the picture as a whole moved: a place now was at A place + t in the last frame, with places (x, y) about the
 * picture's centre. A is [a -b; b a]; without a motion of the whole picture it is the identity and t is 0. */
enum global_value {
  GLOBAL_CUT, /* 1: the last frame tells nothing, because there is none or because it shows something else */
  GLOBAL_A,   /* in 1/2^24 */
  GLOBAL_B,
  GLOBAL_Y, /* t, in 1/256 pixel */
  GLOBAL_X,
  GLOBAL_VALUES
};

enum { MATCH_VALUES = 3, FIT_VALUES = 4 };

/* y = the details of a picture, by which its places are told apart. 8-bit codes, floor(255 (scale x + bias) + 0.5)
 * clamped to 0..255, computed by one multiply-add in FP32, with 0 for NaN, become brightness; levels 1 to 5 are blurred
 * and half as large each; y has the details of levels 1 to 3: a pixel's difference from the brightness around it. The
 * last value is 1.
 *   x  [1, h, w, 3]
 *   y  whole [1, 1, 1, motion_values] */
#define OPERANDS_PYRAMID(T, P)                                                                                         \
  T(x, OPERAND_READ)                                                                                                   \
  T(y, OPERAND_WRITE | OPERAND_WHOLE)
struct op_pyramid {
  OPERANDS(PYRAMID)
  float scale, bias;
};

/* y = where each block of one picture lies in another: its vector and weight. Picture 0 of y has the vectors from `now`
 * to `last`, picture 1 those from `last` to `now`. All vectors of up to MOTION_REACH blocks are tried at level 3, those
 * around the best ones of a block and its neighbours at level 2, and those around the best of these at level 1; the
 * fraction of a pixel is found from the slopes of the brightness.
 *   now, last  pyramids of pictures of the size w x h
 *   y          whole [2, rows of blocks, columns of blocks, MATCH_VALUES] */
#define OPERANDS_MATCH(T, P)                                                                                           \
  T(now, OPERAND_READ | OPERAND_WHOLE)                                                                                 \
  T(last, OPERAND_READ | OPERAND_STATE | OPERAND_WHOLE)                                                                \
  T(y, OPERAND_WRITE | OPERAND_WHOLE)
struct op_match {
  OPERANDS(MATCH)
  int w, h;
};

/* y = the similarity that most vectors of picture 0 agree with, as a, b, ty, tx of struct motion_model; zeros if no
 * motion explains them nearly as well.
 *   match  of OP_MATCH, for a picture of the size w x h
 *   y      whole [1, 1, 1, FIT_VALUES] */
#define OPERANDS_FIT(T, P)                                                                                             \
  T(match, OPERAND_READ | OPERAND_WHOLE)                                                                               \
  T(y, OPERAND_WRITE | OPERAND_WHOLE)
struct op_fit {
  OPERANDS(FIT)
  int w, h;
};

/* flow, back, visible and global = how the picture moved since the last frame, and last = now. Each block takes the
 * motion of the whole picture (none, if `fit` is zeros), or no motion, or its match, where this explains it clearly
 * better. A cell takes the values of the block that contains its centre. After a cut, or if run.restart is set, or in
 * the first run, flow, back and visible are 0. A frame without texture is passed over: nothing moved and all is
 * visible, and `last` stays, so that a later frame is compared with the one before it.
 *   now, match, fit  of the ops above, for a picture of the size w x h
 *   last     the state in which OP_MATCH finds the last frame's pyramid; its last value is 0 while there is none
 *   flow     whole [1, h / cell, w / cell, 2]: a cell's place in the last frame minus its place now
 *   back     whole, shape of flow: a cell of the last frame's place now minus its place then
 *   visible  whole [1, h / cell, w / cell, 1]: 1 if the cell was seen in the last frame
 *   global   whole [1, 1, 1, GLOBAL_VALUES] */
#define OPERANDS_FLOW(T, P)                                                                                            \
  T(now, OPERAND_READ | OPERAND_WHOLE)                                                                                 \
  T(match, OPERAND_READ | OPERAND_WHOLE)                                                                               \
  T(fit, OPERAND_READ | OPERAND_WHOLE)                                                                                 \
  T(last, OPERAND_READ | OPERAND_WRITE | OPERAND_STATE | OPERAND_WHOLE)                                                \
  T(flow, OPERAND_WRITE | OPERAND_STATE | OPERAND_WHOLE)                                                               \
  T(back, OPERAND_WRITE | OPERAND_STATE | OPERAND_WHOLE)                                                               \
  T(visible, OPERAND_WRITE | OPERAND_STATE | OPERAND_WHOLE)                                                            \
  T(global, OPERAND_WRITE | OPERAND_STATE | OPERAND_WHOLE)
struct op_flow {
  OPERANDS(FLOW)
  int w, h, cell; /* cell: side of a cell in pixels */
};

#endif
