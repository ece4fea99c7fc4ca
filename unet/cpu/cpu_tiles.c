/* 3x3 convolutions in bfloat16 by matrix units (cpu_tiles.h). Each of the nine taps of the kernel is a matrix product
 * of input pixels with weights. A thread copies the three rows of input that a row of results needs to memory of its
 * own, with a pixel of zeros on either side: there the 16 pixels of a tile lie one after another for every tap, and
 * rows and columns that upsampling repeats need no memory of their own. */
#include <stdlib.h>

#include "unet/cpu/cpu_tile_ops.h"
#include "unet/cpu/cpu_tiles.h"
#include "unet/cpu/cpu_simd.h"
#include "unet/cpu/cpu_threads.h"

enum {
  PIXELS = TILE_ROWS,      /* number of pixels in a tile of the input, and of the result */
  DEPTH = TILE_HALVES,     /* number of input channels in a tile */
  COLUMNS = TILE_FLOATS,   /* number of output channels in a tile */
  BLOCK = DEPTH * COLUMNS, /* number of weights in a tile */
  TAPS = 9,
  NARROW_PIXELS = 4 * PIXELS, /* number of pixels of a step (see below) with one tile of output channels */
  WIDE_PIXELS = 2 * PIXELS,   /* the same with two tiles of output channels */
  ROWS_LEAST = 4,             /* least number of rows of results that a thread takes at a time */
  SHARES = 4,                 /* how many times a thread takes rows of results, if there are enough of them */
};

/* --- weights: for each step's output channels [taps][c_in / DEPTH][tiles][DEPTH / 2][COLUMNS][2] --- */

/* Returns how many tiles of output channels a step computes: one if there are no more, else two. */
static int step_tiles(int c_out) {
  return c_out <= COLUMNS ? 1 : 2;
}

static int round_up(int x, int multiple) {
  return (x + multiple - 1) / multiple * multiple;
}

static size_t packed(int c_out, int c_in) {
  return (size_t)TAPS * (size_t)c_in * (size_t)round_up(c_out, step_tiles(c_out) * COLUMNS);
}

/* Packs the weights of a step, whose first output channel is `first`. Weights of output channels beyond c_out are 0. */
static void pack_step(const float *weight, int c_out, int c_in, int first, uint16_t *to) {
  int count = step_tiles(c_out);
  for (int tap = 0; tap < TAPS; tap++)
    for (int c = 0; c < c_in; c += DEPTH)
      for (int tile = 0; tile < count; tile++, to += BLOCK)
        for (int n = 0; n < COLUMNS; n++) {
          int out = first + tile * COLUMNS + n;
          uint16_t row[DEPTH] = {0};
          size_t at = ((size_t)out * TAPS + (size_t)tap) * (size_t)c_in + (size_t)c;
          for (int k = 0; out < c_out && k < DEPTH; k += LANES)
            vec_put(row, DTYPE_BF16, (size_t)k, LANES, vec_load(weight + at + k));
          for (int k = 0; k < DEPTH; k += 2)
            memcpy(to + k * COLUMNS + 2 * n, row + k, 2 * sizeof *to);
        }
}

static void pack(const float *weight, int c_out, int c_in, uint16_t *packed) {
#pragma omp parallel for
  for (int first = 0; first < c_out; first += step_tiles(c_out) * COLUMNS)
    pack_step(weight, c_out, c_in, first, packed + (size_t)TAPS * (size_t)c_in * (size_t)first);
}

/* --- one thread's memory --- */

struct lines {
  const struct conv3x3 *op;
  int w, h; /* width and height of the result in pixels */
  /* Three rows of input, of `pitch` bytes each: a pixel of zeros, the row's pixels, zeros. Row y of the input, counted
   * as after upsampling, is in line (y + 1) % 3; held[line] is y, or NOTHING. */
  uint16_t *line[3];
  int held[3];
  float *sums; /* the sums of a step: [pixels][tiles][COLUMNS] */
};

enum { NOTHING = -2 };

static size_t line_elements(int w, int c_in) {
  return (size_t)(round_up(w, NARROW_PIXELS) + 2) * (size_t)c_in;
}

static size_t scratch(int w, int c_in) {
  size_t bytes = 3 * line_elements(w, c_in) * sizeof(uint16_t) + NARROW_PIXELS * COLUMNS * sizeof(float);
  return (bytes + 63) / 64 * 64;
}

static struct lines lines_of(const struct conv3x3 *op) {
  struct lines l = {.op = op, .w = op->w << op->upsample, .h = op->h << op->upsample};
  size_t elements = line_elements(l.w, op->c);
  l.sums = (float *)((char *)op->scratch + (size_t)thread_number() * scratch(l.w, op->c));
  for (size_t i = 0; i < 3; i++) {
    size_t channels = (size_t)op->c, end = (size_t)(l.w + 1) * channels;
    l.line[i] = (uint16_t *)(l.sums + NARROW_PIXELS * COLUMNS) + i * elements;
    memset(l.line[i], 0, channels * sizeof *l.line[i]);
    memset(l.line[i] + end, 0, (elements - end) * sizeof *l.line[i]);
  }
  return l;
}

/* Copies row y of picture n, or zeros if there is no such row, to its line, unless it is there. */
static void hold_row(struct lines *l, int n, int y) {
  const struct conv3x3 *op = l->op;
  int number = (y + 1) % 3;
  size_t channels = (size_t)op->c, pixel = channels * sizeof(uint16_t);
  uint16_t *line = l->line[number] + channels;
  if (l->held[number] == y)
    return;
  l->held[number] = y;
  if (y < 0 || y >= l->h) {
    memset(line, 0, (size_t)l->w * pixel);
    return;
  }
  const uint16_t *row =
      (const uint16_t *)op->x + ((size_t)n * (size_t)op->h + (size_t)(y >> op->upsample)) * (size_t)op->w * channels;
  if (!op->upsample) {
    memcpy(line, row, (size_t)l->w * pixel);
    return;
  }
  for (size_t x = 0; x < (size_t)op->w; x++) {
    memcpy(line + 2 * x * channels, row + x * channels, pixel);
    memcpy(line + (2 * x + 1) * channels, row + x * channels, pixel);
  }
}

/* --- a step: the products of some pixels of a row with one or two tiles of output channels --- */

/* Computes WIDE_PIXELS pixels, for two tiles of output channels. rows: the input pixel at the upper left of the first
 * pixel's kernel, and those below it. */
static void multiply_wide(const uint16_t *const rows[3], const uint16_t *weight, int c_in, float *sums) {
  size_t channels = (size_t)c_in, pixel = channels * sizeof(uint16_t), out = 2 * COLUMNS * sizeof(float);
  TILE_ZERO(0);
  TILE_ZERO(1);
  TILE_ZERO(2);
  TILE_ZERO(3);
  for (int tap = 0; tap < TAPS; tap++) {
    const uint16_t *x = rows[tap / 3] + (size_t)(tap % 3) * channels;
    for (size_t c = 0; c < channels; c += DEPTH, weight += 2 * BLOCK) {
      TILE_LOAD(6, weight, 64);
      TILE_LOAD(4, x + c, pixel);
      TILE_PRODUCT(0, 4, 6);
      TILE_LOAD(7, weight + BLOCK, 64);
      TILE_PRODUCT(1, 4, 7);
      TILE_LOAD(5, x + PIXELS * channels + c, pixel);
      TILE_PRODUCT(2, 5, 6);
      TILE_PRODUCT(3, 5, 7);
    }
  }
  TILE_STORE(0, sums, out);
  TILE_STORE(1, sums + COLUMNS, out);
  TILE_STORE(2, sums + 2 * PIXELS * COLUMNS, out);
  TILE_STORE(3, sums + (2 * PIXELS + 1) * COLUMNS, out);
}

/* Computes NARROW_PIXELS pixels, for one tile of output channels. */
static void multiply_narrow(const uint16_t *const rows[3], const uint16_t *weight, int c_in, float *sums) {
  size_t channels = (size_t)c_in, pixel = channels * sizeof(uint16_t), out = COLUMNS * sizeof(float);
  TILE_ZERO(0);
  TILE_ZERO(1);
  TILE_ZERO(2);
  TILE_ZERO(3);
  for (int tap = 0; tap < TAPS; tap++) {
    const uint16_t *x = rows[tap / 3] + (size_t)(tap % 3) * channels;
    for (size_t c = 0; c < channels; c += DEPTH, weight += BLOCK) {
      TILE_LOAD(6, weight, 64);
      TILE_LOAD(4, x + c, pixel);
      TILE_PRODUCT(0, 4, 6);
      TILE_LOAD(5, x + PIXELS * channels + c, pixel);
      TILE_PRODUCT(1, 5, 6);
      TILE_LOAD(4, x + 2 * PIXELS * channels + c, pixel);
      TILE_PRODUCT(2, 4, 6);
      TILE_LOAD(5, x + 3 * PIXELS * channels + c, pixel);
      TILE_PRODUCT(3, 5, 6);
    }
  }
  TILE_STORE(0, sums, out);
  TILE_STORE(1, sums + PIXELS * COLUMNS, out);
  TILE_STORE(2, sums + 2 * PIXELS * COLUMNS, out);
  TILE_STORE(3, sums + 3 * PIXELS * COLUMNS, out);
}

/* Adds bias and residual to the sums of `pixels` pixels, applies the activation, and stores the results, the first at
 * index `at` of y. channel, channels: the first output channel, and how many there are. The function is inlined with
 * constant types for the most frequent case. */
INLINE void store(const struct conv3x3 *op, const float *sums, size_t at, int pixels, int channel, int channels,
                  const enum dtype dtype, const enum dtype residual_dtype, const enum activation act) {
  int columns = step_tiles(op->c_out) * COLUMNS;
  const void *residual = op->residual;
  const float *bias = op->bias;
  void *y = op->y;
  size_t pitch = (size_t)op->c_out;
  for (int c = 0; c < channels; c += LANES) {
    int count = channels - c < LANES ? channels - c : LANES;
    vec added = bias ? vec_get(bias, DTYPE_F32, (size_t)(channel + c), count) : vec_set(0);
    for (size_t p = 0; p < (size_t)pixels; p++) {
      vec v = vec_load(sums + p * (size_t)columns + c) + added;
      if (residual)
        v += vec_get(residual, residual_dtype, at + p * pitch + (size_t)c, count);
      vec_put(y, dtype, at + p * pitch + (size_t)c, count, vec_activate(act, v));
    }
  }
}

static void store_step(const struct conv3x3 *op, const float *sums, size_t at, int pixels, int channel) {
  int columns = step_tiles(op->c_out) * COLUMNS, left = op->c_out - channel, count = left < columns ? left : columns;
  bool halves =
      op->y_dtype == DTYPE_BF16 && (!op->residual || op->residual_dtype == DTYPE_BF16) && count == 2 * COLUMNS;
  if (halves && op->act == ACT_RELU)
    store(op, sums, at, pixels, channel, 2 * COLUMNS, DTYPE_BF16, DTYPE_BF16, ACT_RELU);
  else if (halves && op->act == ACT_NONE)
    store(op, sums, at, pixels, channel, 2 * COLUMNS, DTYPE_BF16, DTYPE_BF16, ACT_NONE);
  else
    store(op, sums, at, pixels, channel, count, op->y_dtype, op->residual_dtype, op->act);
}

/* --- the whole convolution: some rows at a time, divided among threads --- */

static void conv_row(struct lines *l, int n, int y) {
  const struct conv3x3 *op = l->op;
  int count = step_tiles(op->c_out), step = count == 1 ? NARROW_PIXELS : WIDE_PIXELS;
  size_t first = ((size_t)n * (size_t)l->h + (size_t)y) * (size_t)l->w;
  for (int i = -1; i <= 1; i++)
    hold_row(l, n, y + i);
  for (int channel = 0; channel < op->c_out; channel += count * COLUMNS) {
    const uint16_t *weight = (const uint16_t *)op->weight + (size_t)TAPS * (size_t)op->c * (size_t)channel;
    for (int x = 0; x < l->w; x += step) {
      const uint16_t *rows[3];
      for (int i = 0; i < 3; i++)
        rows[i] = l->line[(y + i) % 3] + (size_t)x * (size_t)op->c;
      (count == 1 ? multiply_narrow : multiply_wide)(rows, weight, op->c, l->sums);
      store_step(op, l->sums, (first + (size_t)x) * (size_t)op->c_out + (size_t)channel,
                 l->w - x < step ? l->w - x : step, channel);
    }
  }
}

static void conv(const struct conv3x3 *op) {
  int h = op->h << op->upsample;
#pragma omp parallel
  {
    struct lines l = lines_of(op);
    int share = (op->n * h + SHARES * thread_count() - 1) / (SHARES * thread_count());
    int rows = share < ROWS_LEAST ? ROWS_LEAST : share;
    int strips = (h + rows - 1) / rows;
    tiles_begin();
#pragma omp for schedule(dynamic)
    for (int strip = 0; strip < op->n * strips; strip++) {
      int begin = strip % strips * rows, end = begin + rows < h ? begin + rows : h;
      l.held[0] = l.held[1] = l.held[2] = NOTHING;
      for (int y = begin; y < end; y++)
        conv_row(&l, strip / strips, y);
    }
    tiles_end();
  }
}

#if defined(__AMX_BF16__)
const struct cpu_tiles cpu_tiles_amx =
#else
const struct cpu_tiles cpu_tiles_plain =
#endif
    {packed, pack, scratch, conv, TILES(attend_packed), TILES(attend_tile), TILES(attend)};
