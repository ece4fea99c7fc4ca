/* The ops that read frames, make pictures, and make maps of them (op.h). */
#ifndef UNET_PLAN_OP_PIXELS_H
#define UNET_PLAN_OP_PIXELS_H

#include "unet/base/controls.h"
#include "unet/base/maps.h"
#include "unet/plan/operands.h"

/* y = the run's frames, cropped and resized to y's size, as R, G, B: y = value * scale + bias with value in 0..1.
 * Picture i is made from frame source * n + i of the run with the run.geometry of the same number. Each output pixel is
 * the mean of the source over its footprint: an area in samples of the plane, centred at the pixel's mapped centre and
 * at least one sample wide and high (so an enlargement is linear interpolation). Samples beyond the plane repeat its
 * edge; the edges of the cropped rectangle do not clamp. Chroma is centre-sited (YUYV's too). Planes are resized first
 * and then converted to R, G, B, which are clamped to 0..1. Pixels outside the destination rectangle are black (value
 * 0).
 *   y  [n, H, W, 3]; its n (0 means 1), h and w are given */
enum { SOURCES_MAX = 2, FRAMES_MAX = SOURCES_MAX * BATCH_MAX };
#define OPERANDS_PIXELS_IN(T, P) T(y, OPERAND_WRITE)
struct op_pixels_in {
  OPERANDS(PIXELS_IN)
  float scale, bias;
  int source; /* 0: the input; 1: what controls come from instead */
};

/* y = what a control network reads of a picture: a map, 0..1. Its parameters are run.control[control].param, in the
 * order of maps.c, each rounded to the nearest integer but gain. Everything is counted in integers, so that all devices
 * agree: the picture becomes 8-bit codes, floor(255 (scale x + bias) + 0.5) within 0..255 by one multiply-add in FP32,
 * no number being 0, and y is a code times 1/255. Beyond the picture's edges its outermost pixels go on. Quotients and
 * roots lose their fraction.
 *   grey(p)  (9798 r + 19235 g + 3735 b + 16384) / 32768, as OpenCV has it
 *   soft(p)  the codes in sixteenths, averaged with the weights of three boxes of n = 2 radius + 1 pixels after each
 *            other, along rows and then along columns: (16 sum + n^3 / 2) / n^3, then (sum + n^3 / 2) / n^3
 *   sobel(v) of values v, by 3x3 weights: |gx|, |gy|
 *   CANNY     OpenCV's Canny of grey, with its L1 norm; EDGE_ROUNDS rounds of hysteresis stand for what it does to
 *             the end. Where an edge's pixel is above `high` it is strong, above `low` weak (low is the smaller one).
 *             A round: in each tile of EDGE_TILE x EDGE_TILE pixels the strong ones in it and around it, as they were
 *             before the round, make weak neighbours strong, those theirs, to the end. Strong pixels are white
 *   LINEART   d = most of soft - 16 code over r, g, b; 0 where d is not above 16 low, else (d - 16 low) gain / 16,
 *             rounded; gain is rounded to sixteenths
 *   SOFTEDGE  m = the root of the largest gx^2 + gy^2 of soft's r, g, b, by sobel; e = m - 16 low; 0 where e is not
 *             above 0, else 255 e / (e + 16 half), rounded
 *   COLOR     the mean of its cell of cell x cell pixels, counted from the first, rounded
 *   TILE      the same means, with linear interpolation between the cells' centres, rounded
 *   BLUR      soft, rounded
 *   GRAY      grey
 *   MASK      white where low <= grey <= high
 *   x  [1, h, w, 3] */
#define OPERANDS_MAP(T, P)                                                                                             \
  T(x, OPERAND_READ)                                                                                                   \
  T(y, OPERAND_WRITE)
struct op_map {
  OPERANDS(MAP)
  enum map_kind kind; /* any but MAP_DEPTH and MAP_PICTURE */
  int control;
  float scale, bias;
};

/* The run's output pictures = clamp(mix * (x * scale + bias) + (1 - mix) * input, 0, 1), in the format of
 * program_options.output. YUV formats are written limited range, BT.709; a chroma sample is the mean of its pixels.
 * 8-bit values round to nearest.
 * With run.show SHOW_MAP it is map number run.show_control instead. With SHOW_BESIDE it has the map at the left and
 * what it would have been at the right, each whole and half as wide and high (W / 2 by H / 2, a pixel the mean of
 * four), the rows above and below them black: (H - H / 2) / 2 above. Where there is no such map it is the picture
 * whatever is asked for. W and H are w and h; what x has beyond them, at the right and below, is not seen.
 *   x      [n, at least H, at least W, 3]
 *   input  x's shape, from OP_PIXELS_IN
 *   map0.. x's shape, 0..1: of each control */
#define OPERANDS_PIXELS_OUT(T, P)                                                                                      \
  T(x, OPERAND_READ)                                                                                                   \
  T(input, OPERAND_READ | OPERAND_OPTIONAL)                                                                            \
  T(map0, OPERAND_READ | OPERAND_OPTIONAL)                                                                             \
  T(map1, OPERAND_READ | OPERAND_OPTIONAL)                                                                             \
  T(map2, OPERAND_READ | OPERAND_OPTIONAL)                                                                             \
  T(map3, OPERAND_READ | OPERAND_OPTIONAL)
struct op_pixels_out {
  OPERANDS(PIXELS_OUT)
  int w, h; /* 0: x's */
  float scale, bias;
  float input_scale, input_bias;
};

static inline int pixels_out_w(const struct op_pixels_out *op) {
  return op->w ? op->w : op->x.w;
}

static inline int pixels_out_h(const struct op_pixels_out *op) {
  return op->h ? op->h : op->x.h;
}

/* Of each control. */
static inline struct tensor pixels_out_map(const struct op_pixels_out *op, int control) {
  const struct tensor maps[CONTROLS_MAX] = {op->map0, op->map1, op->map2, op->map3};
  return maps[control];
}

/* y = x in patches, as rows for a product: x is resized to rows * size by columns * size pixels, and row
 * 1 + i * columns + j of y has the patch that is number i down and j across, pixel by pixel, with channel k times
 * scale[k] plus bias[k]; what is behind its 3 size^2 values is 0, as is all of row 0, the place of a class token.
 * Resizing is bicubic (Keys' kernel with a = -0.75, in FP32): centres of pixels are at halves, what lies outside is as
 * at the edge, and a reduction is not smoothed.
 *   x  [1, H, W, 3]
 *   y  [1, 1, 1 + rows * columns, c], c at least 3 size^2: given */
#define OPERANDS_PATCHES(T, P)                                                                                         \
  T(x, OPERAND_READ)                                                                                                   \
  T(y, OPERAND_WRITE)
struct op_patches {
  OPERANDS(PATCHES)
  int rows, columns, size;
  float scale[3], bias[3];
};

/* The other way: rows of tokens as a picture, in which each is a square of size x size pixels. Pixel (i, j) of the
 * square of token t has channels [(i size + j) c, (i size + j + 1) c) of row skip + t.
 *   x  [1, 1, skip + rows * columns, size^2 c]
 *   y  [1, rows * size, columns * size, c] */
#define OPERANDS_UNPATCH(T, P)                                                                                         \
  T(x, OPERAND_READ)                                                                                                   \
  T(y, OPERAND_WRITE)
struct op_unpatch {
  OPERANDS(UNPATCH)
  int rows, columns, size, skip;
};

/* y = x resized + residual, by linear interpolation with aligned corners: pixel i of W is read at i (w - 1) / (W - 1)
 * of x, or at 0 where W is 1.
 *   x         [n, h, w, c]
 *   residual  shape of y
 *   y         [n, H, W, c]; its h and w are given */
#define OPERANDS_RESIZE(T, P)                                                                                          \
  T(x, OPERAND_READ)                                                                                                   \
  T(residual, OPERAND_READ | OPERAND_OPTIONAL | OPERAND_ADDEND)                                                        \
  T(y, OPERAND_WRITE)
struct op_resize {
  OPERANDS(RESIZE)
};

/* The range of a scene's values, which follows them slowly. The least and the most of the means over squares of size x
 * size values are the frame's own range. The first one is taken as it is; then low and high go `speed` of the way to
 * those of each frame, which is run.control[control].param[0], or more where these are elsewhere: with d, the farther
 * of the two distances in widths of the wider range, speed + (1 - speed) clamp(4 d - 1, 0, 1) of the way, so that a cut
 * is followed at once. A frame whose range is not finite is left out.
 *   x      [1, h, w, 1], h and w multiples of size
 *   range  precise [1, 1, 1, 3]: low, high, and 1 where there is a range yet */
#define OPERANDS_RANGE(T, P)                                                                                           \
  T(x, OPERAND_READ)                                                                                                   \
  T(range, OPERAND_READ | OPERAND_WRITE | OPERAND_STATE)
struct op_range {
  OPERANDS(RANGE)
  int size, control;
};

/* y = clamp((resized x - low) / (high - low), 0, 1) in three channels, which are the same; 0 where high is not above
 * low. Resized as by OP_RESIZE.
 *   x      [1, h, w, 1]
 *   range  OP_RANGE's
 *   y      [1, H, W, 3]; its h and w are given, or it is a state */
#define OPERANDS_SPREAD(T, P)                                                                                          \
  T(x, OPERAND_READ)                                                                                                   \
  T(range, OPERAND_READ | OPERAND_STATE)                                                                               \
  T(y, OPERAND_WRITE)
struct op_spread {
  OPERANDS(SPREAD)
};

#endif
