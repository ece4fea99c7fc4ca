/* 3x3 convolutions by Winograd's minimal filtering F(4x4, 3x3) (Lavin and Gray, Fast Algorithms for Convolutional
 * Neural Networks, 2015). It needs 36 products instead of 144 for each 4x4 tile of the output: Y = A' [(G g G') . (B' d
 * B)] A. Here d is a 6x6 patch of the input, g is the kernel, and . is a matrix product over channels for each of the
 * patch's 36 places. The polynomial is evaluated at 0, +-3/4, +-3/2 and infinity; the errors are about twice those of a
 * direct convolution in FP32. With the usual 0, +-1, +-2 they would be four times as large. */
#include "unet/cpu/cpu_kernels.h"
#include "unet/cpu/cpu_simd.h"
#include "unet/cpu/cpu_threads.h"

#define P 0.75f
#define Q 1.5f
#define PP (P * P)
#define QQ (Q * Q)

enum {
  TILE = 4,
  PATCH = TILE + 2,
  PLACES = PATCH * PATCH,
  WIDE = LANES == 16 ? 4 : 2, /* largest number of vectors of output channels that one matrix product computes */
  /* number of vectors of sums that a matrix product holds in registers: r * v, if it computes r rows and v vectors of
   * output channels at a time */
  SUMS = LANES == 16 ? 24 : 12,
  TILES_LEAST = 12,
  /* largest number of tiles in a block; a block has as many as fit into BLOCK_FLOATS, but no more than this */
  TILES_MOST = 48,
  BLOCK_FLOATS = 1 << 17, /* number of floats in a block: 512 KB, for the second-level cache */
  PART_LEAST = 64,        /* least number of output channels of a part, see parts_of */
  /* number of floats of weights beside which no block fits into the second-level cache; with vectors of 8 floats
   * products take so long that reading the weights again costs nothing */
  HEAVY_FLOATS = LANES == 16 ? 1 << 18 : 1 << 30,
};

static int round_up(int x, int multiple) {
  return (x + multiple - 1) / multiple * multiple;
}

/* Returns how many vectors of output channels are computed by the matrix product that begins with channel `first`. The
 * output channels are divided among several such products. */
static int product_width(int first, int c_out) {
  int left = (round_up(c_out, LANES) - first) / LANES;
  return left >= WIDE ? WIDE : left >= 2 ? 2 : 1;
}

/* --- weights, stored for each matrix product as [PLACES][c_in][width * LANES] --- */

size_t KERNEL(cpu_winograd_packed)(int c_out, int c_in) {
  return (size_t)PLACES * (size_t)c_in * (size_t)round_up(c_out, LANES);
}

/* Transforms a 3x3 kernel: u = G g G', in double precision. */
static void transform_kernel(const double g[3][3], double u[PATCH][PATCH]) {
  const double p = (double)P, q = (double)Q, pp = p * p, qq = q * q;
  const double points[4] = {p, -p, q, -q},
               norms[4] = {2 * pp * (pp - qq), 2 * pp * (pp - qq), 2 * qq * (qq - pp), 2 * qq * (qq - pp)};
  double matrix[PATCH][3] = {{1 / (pp * qq), 0, 0}, [PATCH - 1] = {0, 0, 1}};
  for (int i = 0; i < 4; i++)
    for (int power = 0; power < 3; power++)
      matrix[i + 1][power] = (power == 0 ? 1 : power == 1 ? points[i] : points[i] * points[i]) / norms[i];
  for (int i = 0; i < PATCH; i++)
    for (int j = 0; j < PATCH; j++) {
      u[i][j] = 0;
      for (int y = 0; y < 3; y++)
        for (int x = 0; x < 3; x++)
          u[i][j] += matrix[i][y] * g[y][x] * matrix[j][x];
    }
}

static void pack_channel(const float *weight, int c_out, int c_in, int channel, float *packed) {
  int first = 0;
  while (first + product_width(first, c_out) * LANES <= channel)
    first += product_width(first, c_out) * LANES;
  size_t columns = (size_t)product_width(first, c_out) * LANES, inputs = (size_t)c_in;
  float *to = packed + (size_t)PLACES * inputs * (size_t)first + (channel - first);
  for (size_t c = 0; c < inputs; c++) {
    double g[3][3] = {{0}}, u[PATCH][PATCH];
    for (size_t tap = 0; channel < c_out && tap < 9; tap++)
      g[tap / 3][tap % 3] = (double)weight[((size_t)channel * 9 + tap) * inputs + c];
    transform_kernel(g, u);
    for (size_t place = 0; place < PLACES; place++)
      to[(place * inputs + c) * columns] = (float)u[place / PATCH][place % PATCH];
  }
}

/* Transforms and packs the weights of all matrix products. If a product's last vector goes beyond c_out, the surplus
 * weights are 0. */
void KERNEL(cpu_winograd_pack)(const float *weight, int c_out, int c_in, float *packed) {
#pragma omp parallel for
  for (int channel = 0; channel < round_up(c_out, LANES); channel++)
    pack_channel(weight, c_out, c_in, channel, packed);
}

/* --- one block of tiles: transforming its inputs, multiplying, transforming its results --- */

/* A block of tiles of 4x4 outputs, and one thread's memory for it. Tiles are numbered row by row, image after image.
 * patches: transformed inputs [tiles][c / LANES][PLACES][LANES]; products: [tiles][vectors][PLACES][LANES], with as
 * many vectors as a matrix product has; zeros: PATCH pixels of zeros, for rows outside the picture. */
struct block {
  const struct conv3x3 *op;
  size_t first;
  int tiles;
  float *patches, *products, *zeros;
};

struct position {
  int n, y, x; /* picture, row and column of the tile's first output pixel */
};

static int rows_of(const struct conv3x3 *op) {
  return op->h << op->upsample;
}

static int columns_of(const struct conv3x3 *op) {
  return op->w << op->upsample;
}

static struct position tile_position(const struct conv3x3 *op, size_t tile) {
  size_t across = (size_t)(columns_of(op) + TILE - 1) / TILE, down = (size_t)(rows_of(op) + TILE - 1) / TILE;
  return (struct position){(int)(tile / (across * down)), (int)(tile / across % down) * TILE,
                           (int)(tile % across) * TILE};
}

static int channels_of(const struct conv3x3 *op) {
  return round_up(op->c, LANES);
}

/* Transforms six input values, a column or row d of a patch: out = B' d, with the matrix B of the formula at the head
 * of this file. */
INLINE void transform_input(const vec d[PATCH], vec out[PATCH]) {
  vec even = d[4] - QQ * d[2], odd = d[3] - QQ * d[1];
  out[0] = (PP * QQ) * d[0] - (PP + QQ) * d[2] + d[4];
  out[1] = even + P * odd;
  out[2] = even - P * odd;
  even = d[4] - PP * d[2];
  odd = d[3] - PP * d[1];
  out[3] = even + Q * odd;
  out[4] = even - Q * odd;
  out[5] = (PP * QQ) * d[1] - (PP + QQ) * d[3] + d[5];
}

/* Transforms six sums of products, a row or column m of a patch, to four outputs: out = A' m, with the matrix A of the
 * formula at the head of this file. */
INLINE void transform_output(const vec m[PATCH], vec out[TILE]) {
  vec sum_p = m[1] + m[2], difference_p = m[1] - m[2], sum_q = m[3] + m[4], difference_q = m[3] - m[4];
  out[0] = m[0] + sum_p + sum_q;
  out[1] = P * difference_p + Q * difference_q;
  out[2] = PP * sum_p + QQ * sum_q;
  out[3] = (PP * P) * difference_p + (QQ * Q) * difference_q + m[5];
}

/* Where the pixels of a tile's patch are: pixel (y, x) is `across[x]` bytes after `row[y]`. */
struct patch {
  const char *row[PATCH]; /* a row outside the picture is b->zeros */
  size_t across[PATCH];
  bool outside[PATCH]; /* true: the column lies outside the picture, its pixels are zeros */
};

static struct patch locate_patch(const struct block *b, struct position at) {
  const struct conv3x3 *op = b->op;
  size_t pixel_bytes = (size_t)op->c * dtype_size(op->x_dtype);
  const char *image = (const char *)op->x + (size_t)at.n * (size_t)op->h * (size_t)op->w * pixel_bytes;
  struct patch patch;
  int first = at.x ? (at.x - 1) >> op->upsample : 0; /* the leftmost column of the input that the patch reads */
  for (int i = 0; i < PATCH; i++) {
    int x = at.x - 1 + i, y = at.y - 1 + i;
    patch.outside[i] = x < 0 || x >= columns_of(op);
    patch.across[i] = patch.outside[i] ? 0 : (size_t)((x >> op->upsample) - first) * pixel_bytes;
    patch.row[i] = y < 0 || y >= rows_of(op)
                       ? (const char *)b->zeros
                       : image + ((size_t)(y >> op->upsample) * (size_t)op->w + (size_t)first) * pixel_bytes;
  }
  return patch;
}

/* Transforms channels `c` to `c + count - 1` of a patch, and stores the result in `out`, [PLACES][LANES]. Where
 * channels fill whole vectors, the function is inlined with constant dtype and count. */
INLINE void load_channels(const struct patch *patch, const enum dtype dtype, int c, const int count, float *out) {
  vec half[PATCH][PATCH]; /* the patch after the transform of its columns; indexed [column][row] */
#pragma GCC unroll 8
  for (int x = 0; x < PATCH; x++) {
    vec column[PATCH];
#pragma GCC unroll 8
    for (int y = 0; y < PATCH; y++)
      column[y] = patch->outside[x] ? vec_set(0) : vec_get(patch->row[y] + patch->across[x], dtype, (size_t)c, count);
    transform_input(column, half[x]);
  }
#pragma GCC unroll 8
  for (int y = 0; y < PATCH; y++) {
    vec row[PATCH], place[PATCH];
#pragma GCC unroll 8
    for (int x = 0; x < PATCH; x++)
      row[x] = half[x][y];
    transform_input(row, place);
#pragma GCC unroll 8
    for (int x = 0; x < PATCH; x++)
      vec_store(out + (y * PATCH + x) * LANES, place[x]);
  }
}

static void load_patch(const struct block *b, int tile) {
  const struct conv3x3 *op = b->op;
  const struct patch patch = locate_patch(b, tile_position(op, b->first + (size_t)tile));
  float *out = b->patches + (size_t)tile * PLACES * (size_t)channels_of(op);
  for (int c = 0; c < op->c; c += LANES, out += PLACES * LANES) {
    if (op->c - c < LANES)
      load_channels(&patch, op->x_dtype, c, op->c - c, out);
    else if (op->x_dtype == DTYPE_F32)
      load_channels(&patch, DTYPE_F32, c, LANES, out);
    else
      load_channels(&patch, DTYPE_BF16, c, LANES, out);
  }
}

/* Computes out [rows][width][LANES] = a [rows][depth] times b [depth][width vectors], for one of the 36 places. a and
 * out are arrays of vectors of which PLACES lie between one and the next of the same row; a_pitch and out_pitch are the
 * numbers of elements from one row to the next. */
INLINE void multiply_rows(const float *a, size_t a_pitch, const float *b, int depth, float *out, size_t out_pitch,
                          const int rows, const int width) {
  vec sum[SUMS] = {{0}};
  for (int first = 0; first < depth; first += LANES, a += PLACES * LANES) {
    int count = depth - first < LANES ? depth - first : LANES;
    for (int k = 0; k < count; k++, b += width * LANES) {
      vec row[WIDE];
#pragma GCC unroll 8
      for (int j = 0; j < width; j++)
        row[j] = vec_load(b + j * LANES);
#pragma GCC unroll 32
      for (int r = 0; r < rows; r++) {
        float factor = a[(size_t)r * a_pitch + (size_t)k];
#pragma GCC unroll 8
        for (int j = 0; j < width; j++)
          sum[r * width + j] += factor * row[j];
      }
    }
  }
#pragma GCC unroll 32
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
    for (int j = 0; j < width; j++)
      vec_store(out + (size_t)r * out_pitch + (size_t)(j * PLACES * LANES), sum[r * width + j]);
}

/* Computes the same product as multiply_rows for any even number of rows, in as many calls as needed: each takes as
 * many rows as the registers hold. */
INLINE void multiply_all(const float *a, size_t a_pitch, const float *b, int depth, float *out, size_t out_pitch,
                         int rows, const int width) {
  int r = 0;
  for (; r + SUMS / width <= rows; r += SUMS / width)
    multiply_rows(a + (size_t)r * a_pitch, a_pitch, b, depth, out + (size_t)r * out_pitch, out_pitch, SUMS / width,
                  width);
  for (; r < rows; r += 2)
    multiply_rows(a + (size_t)r * a_pitch, a_pitch, b, depth, out + (size_t)r * out_pitch, out_pitch, 2, width);
}

static void multiply_places(const struct block *b, int first, int width) {
  const struct conv3x3 *op = b->op;
  size_t a_pitch = (size_t)PLACES * (size_t)channels_of(op), columns = (size_t)(width * LANES);
  int rows = round_up(b->tiles, 2);
  for (size_t place = 0; place < PLACES; place++) {
    const float *a = b->patches + place * LANES;
    const float *weight =
        (const float *)op->weight + ((size_t)PLACES * (size_t)first + place * columns) * (size_t)op->c;
    float *out = b->products + place * LANES;
    if (width == 4 && WIDE == 4) /* if WIDE, the largest width, is less than 4, no product is 4 vectors wide */
      multiply_all(a, a_pitch, weight, op->c, out, PLACES * columns, rows, WIDE);
    else if (width == 2)
      multiply_all(a, a_pitch, weight, op->c, out, PLACES * columns, rows, 2);
    else
      multiply_all(a, a_pitch, weight, op->c, out, PLACES * columns, rows, 1);
  }
}

/* Where the results of a tile are stored: the index in y, and how many of the tile's rows and columns lie inside the
 * picture. */
struct corner {
  /* at: index of the tile's first element in y; row: number of elements from one row of y to the next */
  size_t at, row;
  int rows, columns;
};

static struct corner tile_corner(const struct block *b, int tile) {
  const struct conv3x3 *op = b->op;
  struct position p = tile_position(op, b->first + (size_t)tile);
  size_t columns = (size_t)columns_of(op), c_out = (size_t)op->c_out;
  int down = rows_of(op) - p.y, across = columns_of(op) - p.x;
  return (struct corner){(((size_t)p.n * (size_t)rows_of(op) + (size_t)p.y) * columns + (size_t)p.x) * c_out,
                         columns * c_out, down < TILE ? down : TILE, across < TILE ? across : TILE};
}

/* Transforms and stores the results of a tile, for channels `c` to `c + count - 1`. m: the sums of products,
 * [PLACES][LANES]. plain: the activation is none or ReLU; whole: all of the tile is inside the picture. */
INLINE void store_channels(const struct conv3x3 *op, const struct corner *to, const float *m, int c,
                           const enum dtype dtype, const int count, const bool plain, const bool whole) {
  vec half[PATCH][TILE], bias = op->bias ? vec_get(op->bias, DTYPE_F32, (size_t)c, count) : vec_set(0);
  vec least = vec_set(op->act == ACT_RELU ? 0 : -INFINITY);
  enum activation act = op->act;
  const void *residual = op->residual;
  enum dtype residual_dtype = op->residual_dtype;
  void *out = op->y;
  size_t pixel = (size_t)op->c_out;
  int rows = whole ? TILE : to->rows, columns = whole ? TILE : to->columns;
#pragma GCC unroll 8
  for (int x = 0; x < PATCH; x++) {
    vec column[PATCH];
#pragma GCC unroll 8
    for (int y = 0; y < PATCH; y++)
      column[y] = vec_load(m + (y * PATCH + x) * LANES);
    transform_output(column, half[x]);
  }
#pragma GCC unroll 4
  for (int y = 0; y < rows; y++) {
    vec row[PATCH], value[TILE];
#pragma GCC unroll 8
    for (int x = 0; x < PATCH; x++)
      row[x] = half[x][y];
    transform_output(row, value);
#pragma GCC unroll 4
    for (int x = 0; x < columns; x++) {
      size_t at = to->at + (size_t)y * to->row + (size_t)x * pixel + (size_t)c;
      vec v = value[x] + bias;
      if (residual)
        v += vec_get(residual, residual_dtype, at, count);
      vec_put(out, dtype, at, count, plain ? vec_max(v, least) : vec_activate(act, v));
    }
  }
}

static void store_tile(const struct block *b, int tile, int first, int width) {
  const struct conv3x3 *op = b->op;
  struct corner to = tile_corner(b, tile);
  bool plain = op->act == ACT_NONE || op->act == ACT_RELU, whole = to.rows == TILE && to.columns == TILE;
  int step = width * LANES;
  for (int c = first; c < first + step && c < op->c_out; c += LANES) {
    const float *m = b->products + (size_t)tile * (size_t)(PLACES * step) + PLACES * (c - first);
    int count = op->c_out - c < LANES ? op->c_out - c : LANES;
    if (plain && whole && count == LANES && op->y_dtype == DTYPE_F32)
      store_channels(op, &to, m, c, DTYPE_F32, LANES, true, true);
    else if (plain && whole && count == LANES)
      store_channels(op, &to, m, c, DTYPE_BF16, LANES, true, true);
    else
      store_channels(op, &to, m, c, op->y_dtype, count, false, false);
  }
}

/* Computes output channels `first` to `end` - 1 of a block. Both are numbers at which matrix products begin or end. */
static void run_block(const struct block *b, int first, int end) {
  const struct conv3x3 *op = b->op;
  for (int tile = 0; tile < b->tiles; tile++)
    load_patch(b, tile);
  for (int width; first < end; first += width * LANES) {
    width = product_width(first, op->c_out);
    multiply_places(b, first, width);
    for (int tile = 0; tile < b->tiles; tile++)
      store_tile(b, tile, first, width);
  }
}

/* --- the whole convolution: blocks of tiles, divided among threads --- */

static int tiles_most(int channels) {
  int most = BLOCK_FLOATS / (PLACES * channels);
  return most < TILES_LEAST ? TILES_LEAST : most > TILES_MOST ? TILES_MOST : most;
}

size_t KERNEL(cpu_winograd_scratch)(int c_in) {
  int channels = round_up(c_in, LANES);
  return (size_t)(tiles_most(channels) + 1) * PLACES * (size_t)(channels + WIDE * LANES) + PATCH * (size_t)channels;
}

/* How the work is divided into items: each is a block of `step` tiles and one of `parts` ranges of `columns` output
 * channels. */
struct division {
  int parts, columns, step;
  size_t blocks;
};

static int common_divisor(int a, int b) {
  return b ? common_divisor(b, a % b) : a;
}

/* Returns into how many ranges of output channels the work is divided. Weights that do not fit into the cache beside a
 * block are read from a slower one for each block. If they are divided among the threads, each reads only a part of
 * them; the price is that inputs are transformed once for each part. */
static int parts_of(const struct conv3x3 *op, int threads) {
  int columns = round_up(op->c_out, LANES), products = columns / (WIDE * LANES), most = columns / PART_LEAST;
  if ((size_t)PLACES * (size_t)channels_of(op) * (size_t)columns <= HEAVY_FLOATS || columns % (WIDE * LANES))
    return 1;
  int parts = most < threads ? most : threads;
  while (parts > 1 && products % parts)
    parts--;
  return parts < 1 ? 1 : parts;
}

/* A block has as many tiles as fit into the cache, but few enough that all threads get about the same number. */
static struct division divide(const struct conv3x3 *op, size_t tiles, int threads) {
  struct division d = {.parts = parts_of(op, threads)};
  size_t most = (size_t)tiles_most(channels_of(op)), share = (size_t)(threads / common_divisor(threads, d.parts));
  d.columns = d.parts > 1 ? round_up(op->c_out, LANES) / d.parts : op->c_out;
  d.blocks = ((tiles + most - 1) / most + share - 1) / share * share;
  d.step = round_up((int)((tiles + d.blocks - 1) / d.blocks), 2);
  d.blocks = (tiles + (size_t)d.step - 1) / (size_t)d.step;
  return d;
}

void KERNEL(cpu_winograd)(const struct conv3x3 *op) {
  int channels = channels_of(op);
  size_t tiles =
      (size_t)op->n * (size_t)((rows_of(op) + TILE - 1) / TILE) * (size_t)((columns_of(op) + TILE - 1) / TILE);
#pragma omp parallel
  {
    struct division d = divide(op, tiles, thread_count());
    size_t items = d.blocks * (size_t)d.parts, together = d.parts > 1 ? items / (size_t)thread_count() : 1;
    struct block b = {.op = op};
    b.zeros = (float *)op->scratch + (size_t)thread_number() * KERNEL(cpu_winograd_scratch)(op->c);
    b.patches = b.zeros + PATCH * channels;
    b.products = b.patches + (size_t)d.step * PLACES * (size_t)channels;
    memset(b.zeros, 0, PATCH * (size_t)channels * sizeof *b.zeros);
    /* Items of the same output channels follow each other: a thread takes several of them, and their weights once. */
#pragma omp for schedule(dynamic, together ? together : 1)
    for (size_t item = 0; item < items; item++) {
      int first = (int)(item / d.blocks) * d.columns;
      b.first = item % d.blocks * (size_t)d.step;
      b.tiles = tiles - b.first < (size_t)d.step ? (int)(tiles - b.first) : d.step;
      run_block(&b, first, first + d.columns);
    }
  }
}
