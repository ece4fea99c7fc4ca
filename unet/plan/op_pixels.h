/* The ops that read frames, write pictures, and make maps of pictures (edges, depth, colours) for control networks.
 * op.h says how ops are declared. */
#ifndef UNET_PLAN_OP_PIXELS_H
#define UNET_PLAN_OP_PIXELS_H

#include "unet/base/controls.h"
#include "unet/base/maps.h"
#include "unet/plan/operands.h"

/* y = the run's input frames, cropped and resized to y's size, as R, G, B: each value v in 0..1 becomes v * scale +
 * bias. Picture i is made from frame number source * n + i of the run, with the rectangles in run.geometry[source * n +
 * i]. Each output pixel is the mean of the source over an area of a plane's samples. The area is centred where the
 * pixel's centre lies in the source, and is at least one sample wide and high, so that an enlargement is linear
 * interpolation. Samples beyond the plane repeat its edge; beyond the cropped rectangle, but inside the plane, the
 * samples there are used. Chroma is taken as centre-sited (YUYV's too). Planes are resized first and then converted to
 * R, G, B, which are clamped to 0..1. Pixels outside the destination rectangle are black (value 0).
 *   y  [n, H, W, 3]; the caller gives its n (0 means 1), h and w */
enum { SOURCES_MAX = 2, FRAMES_MAX = SOURCES_MAX * BATCH_MAX };
#define OPERANDS_PIXELS_IN(T, P) T(y, OPERAND_WRITE)
struct op_pixels_in {
  OPERANDS(PIXELS_IN)
  float scale, bias;
  /* 0: the op reads the frames of the stream; 1: it reads the frames of the second source, from which controls with
   * engine_control.source make their maps */
  int source;
};

/* y = a map of the picture x in 0..1, which a control network reads instead of the picture. The map's parameters (low,
 * high, gain, half, radius, cell) are run.control[control].param, in the order of maps.c; each but gain is rounded to
 * the nearest integer. All arithmetic is on integers, so that all devices agree: the picture becomes 8-bit codes,
 * floor(255 (scale x + bias) + 0.5) clamped to 0..255 (one multiply-add in FP32, NaN gives 0); y is a code times 1/255.
 * Pixels beyond the picture repeat its edge. Quotients and roots are rounded down. The formulas use three functions:
 *   grey(p)   (9798 r + 19235 g + 3735 b + 16384) / 32768, as in OpenCV
 *   soft(p)   the codes in sixteenths, smoothed by three box filters of n = 2 radius + 1 pixels in succession, along
 *             rows and then along columns: (16 sum + n^3 / 2) / n^3, then (sum + n^3 / 2) / n^3
 *   sobel(v)  |gx| and |gy| of the values v, by the 3x3 weights of Sobel's filter
 * The kinds of maps (`kind`):
 *   CANNY     OpenCV's Canny of grey with its L1 norm, but with EDGE_ROUNDS rounds of hysteresis, where OpenCV goes on
 *             to the end. A pixel of an edge is strong above `high` and weak above `low` (low is the smaller one). In a
 *             round, each tile of EDGE_TILE x EDGE_TILE pixels starts from the pixels in it and around it that were
 *             strong before the round; weak neighbours of strong pixels become strong until none is left. Strong pixels
 *             are white
 *   LINEART   d = the largest of soft - 16 code over r, g, b. The value is 0 where d is at most 16 low, else
 *             (d - 16 low) gain / 16, rounded; gain is rounded to sixteenths
 *   SOFTEDGE  m = the root of the largest gx^2 + gy^2 by sobel of soft's r, g and b; e = m - 16 low. The value is 0
 *             where e is at most 0, else 255 e / (e + 16 half), rounded
 *   COLOR     each pixel has the mean colour, rounded, of its square of cell x cell pixels, counted from the top left
 *   TILE      the means of COLOR, interpolated linearly between the squares' centres, rounded
 *   BLUR      soft, rounded
 *   GRAY      grey
 *   MASK      white where low <= grey <= high
 * The operands:
 *   x  [1, h, w, 3]
 *   y  shape of x */
#define OPERANDS_MAP(T, P)                                                                                             \
  T(x, OPERAND_READ)                                                                                                   \
  T(y, OPERAND_WRITE)
struct op_map {
  OPERANDS(MAP)
  /* which map the op makes. Not MAP_DEPTH, which a network makes, and not MAP_PICTURE, which is the picture itself */
  enum map_kind kind;
  int control;
  float scale, bias;
};

/* Adds the fine detail of the input to the generated picture, in place: y += run.detail * (x - low(x)). low(x) is the
 * mean of x over the 7 x 7 pixels around each pixel, with the weight DETAIL_WEIGHT(dy) * DETAIL_WEIGHT(dx) / 256 at
 * distance (dy, dx), so that what is larger than a few pixels adds nothing. Pixels beyond the picture repeat its edge.
 *   x  [n, h, w, 3], from OP_PIXELS_IN
 *   y  shape of x, with values in the range of x's */
enum { DETAIL_RADIUS = 3, DETAIL_SUM = 256 };
#define DETAIL_WEIGHT(distance) (DETAIL_RADIUS + 1 - ((distance) < 0 ? -(distance) : (distance)))
#define OPERANDS_DETAIL(T, P)                                                                                          \
  T(x, OPERAND_READ)                                                                                                   \
  T(y, OPERAND_READ | OPERAND_WRITE)
struct op_detail {
  OPERANDS(DETAIL)
};

/* Writes the run's output pictures, clamp(mix * (x * scale + bias) + (1 - mix) * (input * input_scale + input_bias), 0,
 * 1) with mix = run.mix, in the format program_options.output. YUV formats have limited range and BT.709 colours; a
 * chroma sample is the mean of its pixels. 8-bit values are rounded to nearest. With run.show == SHOW_MAP the output is
 * instead map number run.show_control. With SHOW_BOTH it is the whole map in the left half and the whole picture in the
 * right half, each scaled to W / 2 by H / 2 (a pixel is the mean of four), with black rows above ((H - H / 2) / 2 of
 * them) and below. If that map was left out, the output is the picture. W and H are the fields w and h; pixels of x at
 * the right of W and below H are not shown.
 *   x      [n, at least H, at least W, 3]
 *   input  shape of x, from OP_PIXELS_IN
 *   map0.. shape of x, 0..1: the maps of controls 0 to 3 */
#define OPERANDS_PIXELS_OUT(T, P)                                                                                      \
  T(x, OPERAND_READ)                                                                                                   \
  T(input, OPERAND_READ | OPERAND_OPTIONAL)                                                                            \
  T(map0, OPERAND_READ | OPERAND_OPTIONAL)                                                                             \
  T(map1, OPERAND_READ | OPERAND_OPTIONAL)                                                                             \
  T(map2, OPERAND_READ | OPERAND_OPTIONAL)                                                                             \
  T(map3, OPERAND_READ | OPERAND_OPTIONAL)
struct op_pixels_out {
  OPERANDS(PIXELS_OUT)
  int w, h; /* width and height of the output picture in pixels; 0: those of x */
  float scale, bias;
  float input_scale, input_bias;
};

static inline int pixels_out_w(const struct op_pixels_out *op) {
  return op->w ? op->w : op->x.w;
}

static inline int pixels_out_h(const struct op_pixels_out *op) {
  return op->h ? op->h : op->x.h;
}

/* Returns the operand map0, map1, ... that holds the map of control number `control`, counted from 0. */
static inline struct tensor pixels_out_map(const struct op_pixels_out *op, int control) {
  const struct tensor maps[CONTROLS_MAX] = {op->map0, op->map1, op->map2, op->map3};
  return maps[control];
}

/* y = the picture x cut into squares (patches), each as one row for a matrix product (the first layer of a vision
 * transformer). x is resized to rows * size by columns * size pixels. Row 1 + i * columns + j of y holds the patch in
 * row i and column j, pixel after pixel, with channel k times scale[k] plus bias[k]. Channels after the patch's 3
 * size^2 values are 0. Row 0, whose place is for the class token, is 0, too. Resizing is bicubic (Keys' kernel with a =
 * -0.75, in FP32) with pixel centres at halves; pixels outside repeat the edge, and a reduction is not smoothed.
 *   x  [1, H, W, 3]
 *   y  [1, 1, 1 + rows * columns, c]; the caller gives c, at least 3 size^2 */
#define OPERANDS_PATCHES(T, P)                                                                                         \
  T(x, OPERAND_READ)                                                                                                   \
  T(y, OPERAND_WRITE)
struct op_patches {
  OPERANDS(PATCHES)
  int rows, columns, size;
  float scale[3], bias[3];
};

/* y = rows of tokens put together to a picture: the inverse of OP_PATCHES. Token t is row skip + t of x and becomes a
 * square of size x size pixels; the square's pixel (i, j) has channels (i size + j) c to (i size + j + 1) c - 1 of the
 * row.
 *   x  [1, 1, skip + rows * columns, size^2 c]
 *   y  [1, rows * size, columns * size, c] */
#define OPERANDS_UNPATCH(T, P)                                                                                         \
  T(x, OPERAND_READ)                                                                                                   \
  T(y, OPERAND_WRITE)
struct op_unpatch {
  OPERANDS(UNPATCH)
  int rows, columns, size, skip;
};

/* y = x resized to y's size, plus residual. Resizing is linear interpolation with aligned corners: pixel i of W is read
 * at position i (w - 1) / (W - 1) of x, or at 0 where W is 1; rows alike with h and H.
 *   x         [n, h, w, c]
 *   residual  shape of y
 *   y         [n, H, W, c]; the caller gives its h and w */
#define OPERANDS_RESIZE(T, P)                                                                                          \
  T(x, OPERAND_READ)                                                                                                   \
  T(residual, OPERAND_READ | OPERAND_OPTIONAL | OPERAND_ADDEND)                                                        \
  T(y, OPERAND_WRITE)
struct op_resize {
  OPERANDS(RESIZE)
};

/* Updates the range of depth values by which a depth map is scaled. The range follows the frames' ranges slowly, so
 * that the map does not flicker. A frame's own range is the smallest and the largest mean over squares of size x size
 * values. The first frame's range is taken as it is. Later, low and high move towards the frame's low and high by the
 * fraction speed + (1 - speed) clamp(4 d - 1, 0, 1) of the distance. Here speed is run.control[control].param[0], and d
 * is the larger of the two distances divided by the wider range's width, so that the range follows a cut at once. A
 * frame whose range is not finite changes nothing.
 *   x      [1, h, w, 1]: depth values; h and w are multiples of size
 *   range  FP32 [1, 1, 1, 3], a state: low, high, and 1 once a frame has set them (0 before) */
#define OPERANDS_RANGE(T, P)                                                                                           \
  T(x, OPERAND_READ)                                                                                                   \
  T(range, OPERAND_READ | OPERAND_WRITE | OPERAND_STATE)
struct op_range {
  OPERANDS(RANGE)
  int size, control;
};

/* y = clamp((X - low) / (high - low), 0, 1) in each of three channels, where X is x resized as by OP_RESIZE; 0 unless
 * high is above low. This makes a map of depth values.
 *   x      [1, h, w, 1]: depth values
 *   range  FP32 [1, 1, 1, 3]: low and high, from OP_RANGE
 *   y      [1, H, W, 3]; the caller gives its h and w, or names a state */
#define OPERANDS_SPREAD(T, P)                                                                                          \
  T(x, OPERAND_READ)                                                                                                   \
  T(range, OPERAND_READ | OPERAND_STATE)                                                                               \
  T(y, OPERAND_WRITE)
struct op_spread {
  OPERANDS(SPREAD)
};

#endif
