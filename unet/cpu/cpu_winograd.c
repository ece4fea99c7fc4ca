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
 * patches: transformed inputs [tiles][PLACES][c]; products: [tiles][PLACES][WIDE * LANES]; zeros: a pixel of zeros, for
 * positions outside the picture. */
struct block {
  const struct winograd *op;
  size_t first;
  int tiles;
  float *patches, *products, *zeros;
};

struct position {
  int n, y, x; /* picture, row and column of the tile's first output pixel */
};

static int rows_of(const struct winograd *op) {
  return op->h << op->upsample;
}

static int columns_of(const struct winograd *op) {
  return op->w << op->upsample;
}

static struct position tile_position(const struct winograd *op, size_t tile) {
  size_t across = (size_t)(columns_of(op) + TILE - 1) / TILE, down = (size_t)(rows_of(op) + TILE - 1) / TILE;
  return (struct position){(int)(tile / (across * down)), (int)(tile / across % down) * TILE,
                           (int)(tile % across) * TILE};
}

static int channels_of(const struct winograd *op) {
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

/* Stores the addresses of the 36 input pixels of a tile's patch; pixels outside the picture get the address
 * b->zeros. */
static void locate_patch(const struct block *b, struct position at, const void *pixels[PLACES]) {
  const struct winograd *op = b->op;
  size_t pixel_bytes = (size_t)op->c * dtype_size(op->x_dtype), across[PATCH];
  const char *image = (const char *)op->x + (size_t)at.n * (size_t)op->h * (size_t)op->w * pixel_bytes;
  bool outside[PATCH];
  for (int i = 0; i < PATCH; i++) {
    int x = at.x - 1 + i;
    outside[i] = x < 0 || x >= columns_of(op);
    across[i] = (size_t)(x >> op->upsample) * pixel_bytes;
  }
  for (int j = 0; j < PATCH; j++) {
    int y = at.y - 1 + j;
    bool beyond = y < 0 || y >= rows_of(op);
    const char *row = image + (size_t)(beyond ? 0 : y >> op->upsample) * (size_t)op->w * pixel_bytes;
    for (int i = 0; i < PATCH; i++)
      pixels[j * PATCH + i] = (beyond | outside[i]) ? (const char *)b->zeros : row + across[i];
  }
}

/* Transforms channels `c` to `c + count - 1` of a patch, and stores the result in `out`. Where channels fill whole
 * vectors, the function is inlined with constant dtype and count. */
INLINE void load_channels(const void *const pixels[PLACES], const enum dtype dtype, int c, const int count, float *out,
                          int channels) {
  vec half[PATCH][PATCH]; /* the patch after the transform of its columns; indexed [column][row] */
#pragma GCC unroll 8
  for (int x = 0; x < PATCH; x++) {
    vec column[PATCH];
#pragma GCC unroll 8
    for (int y = 0; y < PATCH; y++)
      column[y] = vec_get(pixels[y * PATCH + x], dtype, (size_t)c, count);
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
      vec_store(out + (y * PATCH + x) * channels + c, place[x]);
  }
}

static void load_patch(const struct block *b, int tile) {
  const struct winograd *op = b->op;
  const void *pixels[PLACES];
  int channels = channels_of(op);
  float *out = b->patches + (size_t)tile * PLACES * (size_t)channels;
  locate_patch(b, tile_position(op, b->first + (size_t)tile), pixels);
  for (int c = 0; c < op->c; c += LANES) {
    if (op->c - c < LANES)
      load_channels(pixels, op->x_dtype, c, op->c - c, out, channels);
    else if (op->x_dtype == DTYPE_F32)
      load_channels(pixels, DTYPE_F32, c, LANES, out, channels);
    else
      load_channels(pixels, DTYPE_BF16, c, LANES, out, channels);
  }
}

/* Computes out [rows][width vectors] = a [rows][depth] times b [depth][width vectors]. */
INLINE void multiply_rows(const float *a, size_t a_pitch, const float *b, int depth, float *out, size_t out_pitch,
                          const int rows, const int width) {
  vec sum[SUMS] = {{0}};
  for (int k = 0; k < depth; k++) {
    vec row[WIDE];
#pragma GCC unroll 8
    for (int j = 0; j < width; j++)
      row[j] = vec_load(b + (k * width + j) * LANES);
#pragma GCC unroll 32
    for (int r = 0; r < rows; r++) {
      float factor = a[(size_t)r * a_pitch + (size_t)k];
#pragma GCC unroll 8
      for (int j = 0; j < width; j++)
        sum[r * width + j] += factor * row[j];
    }
  }
#pragma GCC unroll 32
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
    for (int j = 0; j < width; j++)
      vec_store(out + (size_t)r * out_pitch + (size_t)(j * LANES), sum[r * width + j]);
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
  const struct winograd *op = b->op;
  size_t channels = (size_t)channels_of(op), columns = (size_t)(width * LANES);
  int rows = round_up(b->tiles, 2);
  for (size_t place = 0; place < PLACES; place++) {
    const float *a = b->patches + place * channels;
    const float *weight = op->weight + ((size_t)PLACES * (size_t)first + place * columns) * (size_t)op->c;
    float *out = b->products + place * columns;
    if (width == 4 && WIDE == 4) /* if WIDE, the largest width, is less than 4, no product is 4 vectors wide */
      multiply_all(a, PLACES * channels, weight, op->c, out, PLACES * columns, rows, WIDE);
    else if (width == 2)
      multiply_all(a, PLACES * channels, weight, op->c, out, PLACES * columns, rows, 2);
    else
      multiply_all(a, PLACES * channels, weight, op->c, out, PLACES * columns, rows, 1);
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
  const struct winograd *op = b->op;
  struct position p = tile_position(op, b->first + (size_t)tile);
  size_t columns = (size_t)columns_of(op), c_out = (size_t)op->c_out;
  int down = rows_of(op) - p.y, across = columns_of(op) - p.x;
  return (struct corner){(((size_t)p.n * (size_t)rows_of(op) + (size_t)p.y) * columns + (size_t)p.x) * c_out,
                         columns * c_out, down < TILE ? down : TILE, across < TILE ? across : TILE};
}

/* Transforms and stores the results of a tile, for channels `c` to `c + count - 1`. m: the sums of products, `step`
 * elements from the sums of one of the 36 places to those of the next. plain: the activation is none or ReLU; whole:
 * all of the tile is inside the picture. */
INLINE void store_channels(const struct winograd *op, const struct corner *to, const float *m, int step, int c,
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
      column[y] = vec_load(m + (y * PATCH + x) * step);
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
  const struct winograd *op = b->op;
  struct corner to = tile_corner(b, tile);
  bool plain = op->act == ACT_NONE || op->act == ACT_RELU, whole = to.rows == TILE && to.columns == TILE;
  int step = width * LANES;
  for (int c = first; c < first + step && c < op->c_out; c += LANES) {
    const float *m = b->products + (size_t)tile * (size_t)(PLACES * step) + (c - first);
    int count = op->c_out - c < LANES ? op->c_out - c : LANES;
    if (plain && whole && count == LANES && op->y_dtype == DTYPE_F32)
      store_channels(op, &to, m, step, c, DTYPE_F32, LANES, true, true);
    else if (plain && whole && count == LANES)
      store_channels(op, &to, m, step, c, DTYPE_BF16, LANES, true, true);
    else
      store_channels(op, &to, m, step, c, op->y_dtype, count, false, false);
  }
}

static void run_block(const struct block *b) {
  const struct winograd *op = b->op;
  for (int tile = 0; tile < b->tiles; tile++)
    load_patch(b, tile);
  for (int first = 0, width; first < op->c_out; first += width * LANES) {
    width = product_width(first, op->c_out);
    multiply_places(b, first, width);
    for (int tile = 0; tile < b->tiles; tile++)
      store_tile(b, tile, first, width);
  }
}

/* --- the whole convolution: blocks of tiles, divided among threads --- */

/* Returns how many tiles a block should have: as many as fit into the cache, but few enough that all threads get about
 * the same number. */
static int block_tiles(size_t tiles, int channels, int threads) {
  int most = BLOCK_FLOATS / (PLACES * channels);
  most = most < TILES_LEAST ? TILES_LEAST : most > TILES_MOST ? TILES_MOST : most;
  size_t round = (size_t)threads * (size_t)most, blocks = (tiles + round - 1) / round * (size_t)threads;
  return round_up((int)((tiles + blocks - 1) / blocks), 2);
}

size_t KERNEL(cpu_winograd_scratch)(int c_in) {
  int channels = round_up(c_in, LANES), most = BLOCK_FLOATS / (PLACES * channels);
  most = most < TILES_LEAST ? TILES_LEAST : most > TILES_MOST ? TILES_MOST : most;
  return (size_t)(most + 1) * PLACES * (size_t)(channels + WIDE * LANES) + (size_t)channels;
}

void KERNEL(cpu_winograd)(const struct winograd *op) {
  int channels = channels_of(op);
  size_t tiles =
      (size_t)op->n * (size_t)((rows_of(op) + TILE - 1) / TILE) * (size_t)((columns_of(op) + TILE - 1) / TILE);
#pragma omp parallel
  {
    int step = block_tiles(tiles, channels, thread_count());
    struct block b = {.op = op, .zeros = op->scratch + (size_t)thread_number() * KERNEL(cpu_winograd_scratch)(op->c)};
    b.patches = b.zeros + channels;
    b.products = b.patches + (size_t)step * PLACES * (size_t)channels;
    memset(b.zeros, 0, (size_t)channels * sizeof *b.zeros);
#pragma omp for schedule(dynamic)
    for (size_t first = 0; first < tiles; first += (size_t)step) {
      b.first = first;
      b.tiles = tiles - first < (size_t)step ? (int)(tiles - first) : step;
      run_block(&b);
    }
  }
}
