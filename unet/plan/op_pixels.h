/* The ops that read frames, write pictures, and make maps of pictures. op.h says how ops are declared. */
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
  int source; /* 0: the input of the stream; 1: the second source, from which controls make their maps instead */
};

/* y = a map in 0..1, which a control network reads in the place of the picture. The map's parameters are
 * run.control[control].param, in the order of maps.c; each but gain is rounded to the nearest integer. All arithmetic
 * is on integers, so that all devices agree: the picture becomes 8-bit codes, floor(255 (scale x + bias) + 0.5) clamped
 * to 0..255, computed by one multiply-add in FP32, with 0 for NaN; y is a code times 1/255. Pixels beyond the picture
 * repeat its edge. Quotients and roots are rounded down.
 *   grey(p)  (9798 r + 19235 g + 3735 b + 16384) / 32768, as in OpenCV
 *   soft(p)  the codes in sixteenths, smoothed by three box filters of n = 2 radius + 1 pixels in succession, along
 *            rows and then along columns: (16 sum + n^3 / 2) / n^3, then (sum + n^3 / 2) / n^3
 *   sobel(v) |gx| and |gy| of the values v, by 3x3 weights
 *   CANNY     OpenCV's Canny of grey with its L1 norm, but with EDGE_ROUNDS rounds of hysteresis, where OpenCV goes on
 *             to the end. A pixel of an edge is strong above `high` and weak above `low` (low is the smaller one). In a
 *             round, each tile of EDGE_TILE x EDGE_TILE pixels starts from the pixels in it and around it that were
 *             strong before the round; weak neighbours of strong pixels become strong until none is left. Strong pixels
 *             are white
 *   LINEART   d = the largest of soft - 16 code over r, g, b; 0 unless d is above 16 low, else (d - 16 low) gain / 16,
 *             rounded; gain is rounded to sixteenths
 *   SOFTEDGE  m = the root of the largest gx^2 + gy^2 of soft's r, g, b, by sobel; e = m - 16 low; 0 unless e is above
 *             0, else 255 e / (e + 16 half), rounded
 *   COLOR     the mean of the pixel's cell of cell x cell pixels, counted from the top left, rounded
 *   TILE      the same means, interpolated linearly between the cells' centres, rounded
 *   BLUR      soft, rounded
 *   GRAY      grey
 *   MASK      white where low <= grey <= high
 *   x  [1, h, w, 3] */
#define OPERANDS_MAP(T, P)                                                                                             \
  T(x, OPERAND_READ)                                                                                                   \
  T(y, OPERAND_WRITE)
struct op_map {
  OPERANDS(MAP)
  enum map_kind kind; /* any kind but MAP_DEPTH and MAP_PICTURE */
  int control;
  float scale, bias;
};

/* The run's output pictures = clamp(mix * (x * scale + bias) + (1 - mix) * input, 0, 1), in the format
 * program_options.output. YUV formats are limited range, BT.709; a chroma sample is the mean of its pixels. 8-bit
 * values are rounded to nearest. With run.show == SHOW_MAP the output is map number run.show_control instead. With
 * SHOW_BOTH it shows the whole map in the left half and the whole picture in the right half, each scaled to W / 2 by
 * H / 2 (a pixel is the mean of four), with black rows above and below: (H - H / 2) / 2 above. If the map does not
 * exist the output is the picture. W and H are the fields w and h; pixels of x to the right of W and below H are not
 * shown.
 *   x      [n, at least H, at least W, 3]
 *   input  shape of x, from OP_PIXELS_IN
 *   map0.. shape of x, 0..1: the map of each control */
#define OPERANDS_PIXELS_OUT(T, P)                                                                                      \
  T(x, OPERAND_READ)                                                                                                   \
  T(input, OPERAND_READ | OPERAND_OPTIONAL)                                                                            \
  T(map0, OPERAND_READ | OPERAND_OPTIONAL)                                                                             \
  T(map1, OPERAND_READ | OPERAND_OPTIONAL)                                                                             \
  T(map2, OPERAND_READ | OPERAND_OPTIONAL)                                                                             \
  T(map3, OPERAND_READ | OPERAND_OPTIONAL)
struct op_pixels_out {
  OPERANDS(PIXELS_OUT)
  int w, h; /* width and height of the picture; 0: the size of x */
  float scale, bias;
  float input_scale, input_bias;
};

static inline int pixels_out_w(const struct op_pixels_out *op) {
  return op->w ? op->w : op->x.w;
}

static inline int pixels_out_h(const struct op_pixels_out *op) {
  return op->h ? op->h : op->x.h;
}

/* Returns the operand map0, map1, ... that belongs to a control, numbered from 0. */
static inline struct tensor pixels_out_map(const struct op_pixels_out *op, int control) {
  const struct tensor maps[CONTROLS_MAX] = {op->map0, op->map1, op->map2, op->map3};
  return maps[control];
}

/* y = x in patches, as rows for a matrix product. x is resized to rows * size by columns * size pixels. Row 1 + i *
 * columns + j of y holds the patch in row i and column j, pixel after pixel, with channel k times scale[k] plus
 * bias[k]. Channels after the patch's 3 size^2 values are 0, and so is row 0, which is for the class token. Resizing is
 * bicubic (Keys' kernel with a = -0.75, in FP32) with pixel centres at halves; pixels outside repeat the edge, and a
 * reduction is not smoothed.
 *   x  [1, H, W, 3]
 *   y  [1, 1, 1 + rows * columns, c]; c is given and at least 3 size^2 */
#define OPERANDS_PATCHES(T, P)                                                                                         \
  T(x, OPERAND_READ)                                                                                                   \
  T(y, OPERAND_WRITE)
struct op_patches {
  OPERANDS(PATCHES)
  int rows, columns, size;
  float scale[3], bias[3];
};

/* y = rows of tokens as a picture: the inverse of OP_PATCHES. Each token becomes a square of size x size pixels. Pixel
 * (i, j) of token t's square has channels [(i size + j) c, (i size + j + 1) c) of row skip + t.
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

/* range = the range of a scene's depth values, which follows each frame's range slowly. A frame's range is the smallest
 * and the largest mean over squares of size x size values. The first frame's range is taken as it is. For each later
 * frame, low and high move towards the frame's low and high by the fraction speed + (1 - speed) clamp(4 d - 1, 0, 1) of
 * the distance. Here speed is run.control[control].param[0], and d is the larger of the two distances divided by the
 * wider range's width, so that the range follows a cut at once. A frame whose range is not finite changes nothing.
 *   x      [1, h, w, 1], h and w multiples of size
 *   range  precise [1, 1, 1, 3]: low, high, and 1 once there is a range */
#define OPERANDS_RANGE(T, P)                                                                                           \
  T(x, OPERAND_READ)                                                                                                   \
  T(range, OPERAND_READ | OPERAND_WRITE | OPERAND_STATE)
struct op_range {
  OPERANDS(RANGE)
  int size, control;
};

/* y = clamp((resized x - low) / (high - low), 0, 1), the same in three channels; 0 unless high is above low. x is
 * resized as OP_RESIZE does.
 *   x      [1, h, w, 1]
 *   range  the state that OP_RANGE writes
 *   y      [1, H, W, 3]; its h and w are given, or it is a state */
#define OPERANDS_SPREAD(T, P)                                                                                          \
  T(x, OPERAND_READ)                                                                                                   \
  T(range, OPERAND_READ | OPERAND_STATE)                                                                               \
  T(y, OPERAND_WRITE)
struct op_spread {
  OPERANDS(SPREAD)
};

#endif
