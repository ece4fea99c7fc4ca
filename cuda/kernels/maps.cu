/* Maps of a picture, such as its edges or its blurred colours, which steer control networks: the CUDA device's OP_MAP.
 * unet/cpu/cpu_maps.c has the definition. All arithmetic is in integers, as unet/plan/op_pixels.h says, so that every
 * device makes the same map. */
#include "cuda/kernels/common.cuh"

namespace {

constexpr int THREADS = 256, WARP = 32;
constexpr int REACH = 48; /* largest reach of a blur: pixels to each side that count */

__device__ __forceinline__ int rounded(float value) {
  return (int)(value + 0.5f);
}

__device__ __forceinline__ int parameter(const struct map_args &p, int i) {
  return rounded(p.block->run.control[p.control].param[i]);
}

__device__ __forceinline__ int clamp_to(int x, int high) {
  return min(max(x, 0), high);
}

/* --- 8-bit codes of the picture --- */

__device__ __forceinline__ int code_of(const struct map_args &p, half_t x) {
  float value = __fmaf_rn(__half2float(x), p.scale, p.bias);
  return value > 0.0f ? (int)fminf(value, 255.0f) : 0;
}

__device__ __forceinline__ uchar4 code_at(const struct map_args &p, int x, int y) {
  const half_t *at = p.x + ((size_t)y * p.w + x) * 3;
  return make_uchar4(code_of(p, at[0]), code_of(p, at[1]), code_of(p, at[2]), 0);
}

__device__ __forceinline__ int grey_of(uchar4 code) {
  return (9798 * code.x + 19235 * code.y + 3735 * code.z + 16384) >> 15;
}

__device__ __forceinline__ void put(const struct map_args &p, int x, int y, int r, int g, int b) {
  half_t *at = p.y + ((size_t)y * p.w + x) * 3;
  at[0] = __float2half_rn((float)r * (1 / 255.0f));
  at[1] = __float2half_rn((float)g * (1 / 255.0f));
  at[2] = __float2half_rn((float)b * (1 / 255.0f));
}

/* --- grey values and masks by brightness: one thread for each pixel --- */

__global__ void __launch_bounds__(THREADS) tone_kernel(const __grid_constant__ struct map_args p) {
  int at = blockIdx.x * THREADS + threadIdx.x, x = at % p.w, y = at / p.w;
  wait_for_previous();
  if (y >= p.h)
    return;
  int value = grey_of(code_at(p, x, y));
  if (p.kind == MAP_MASK)
    value = value >= parameter(p, 0) && value <= parameter(p, 1) ? 255 : 0;
  put(p, x, y, value, value, value);
}

/* --- maps of coarse cells (squares of pixels): first each cell's mean, then the map --- */

__device__ __forceinline__ int cells(int size, int cell) {
  return (size + cell - 1) / cell;
}

/* Returns, to every lane of a warp, the sum of v over all lanes of the warp. */
__device__ __forceinline__ int3 warp_sum(int3 v) {
  for (int i = WARP / 2; i; i /= 2) {
    v.x += __shfl_xor_sync(~0u, v.x, i);
    v.y += __shfl_xor_sync(~0u, v.y, i);
    v.z += __shfl_xor_sync(~0u, v.z, i);
  }
  return v;
}

/* Returns one thread's part of the sum of the colours in a cell (a square of pixels), if `threads` threads divide the
 * pixels of the cell between them. */
__device__ int3 cell_part(const struct map_args &p, int cell, int left, int top, int thread, int threads) {
  int width = min(cell, p.w - left), count = width * min(cell, p.h - top);
  int3 sum = make_int3(0, 0, 0);
#pragma unroll 4
  for (int i = thread; i < count; i += threads) {
    uchar4 code = code_at(p, left + i % width, top + i / width);
    sum.x += code.x, sum.y += code.y, sum.z += code.z;
  }
  return sum;
}

__device__ __forceinline__ void put_mean(const struct map_args &p, int cell, int left, int top, int index, int3 sum) {
  int count = min(cell, p.w - left) * min(cell, p.h - top);
  p.mean[index] = make_uchar4((sum.x + count / 2) / count, (sum.y + count / 2) / count, (sum.z + count / 2) / count, 0);
}

/* Calculates the mean colour of each cell (a square of pixels). A warp has a cell of up to 16 x 16 pixels, a thread
 * block a larger one. Cells of one pixel need no mean. */
__global__ void __launch_bounds__(THREADS) means_kernel(const __grid_constant__ struct map_args p) {
  __shared__ int3 parts[THREADS / WARP];
  wait_for_previous();
  int cell = parameter(p, 0), columns = cells(p.w, cell), count = columns * cells(p.h, cell);
  int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  /* Add up each cell's pixels and store the mean, by a warp or by the whole thread block. */
  bool large = cell > 16;
  int first = large ? blockIdx.x : blockIdx.x * (THREADS / WARP) + warp;
  int step = large ? gridDim.x : gridDim.x * (THREADS / WARP);
  for (int i = first; cell > 1 && i < count; i += step) {
    int left = i % columns * cell, top = i / columns * cell;
    int3 sum = warp_sum(cell_part(p, cell, left, top, large ? threadIdx.x : lane, large ? THREADS : WARP));
    if (!large) {
      if (lane == 0)
        put_mean(p, cell, left, top, i, sum);
      continue;
    }
    if (lane == 0)
      parts[warp] = sum;
    __syncthreads();
    if (warp == 0) {
      sum = warp_sum(lane < THREADS / WARP ? parts[lane] : make_int3(0, 0, 0));
      if (lane == 0)
        put_mean(p, cell, left, top, i, sum);
    }
    __syncthreads();
  }
}

struct between {
  int first, second, part;
};

__device__ __forceinline__ between between_cells(int position, int cell, int count) {
  int from = 2 * position + 1 + cell, index = from / (2 * cell) - 1;
  return {clamp_to(index, count - 1), clamp_to(index + 1, count - 1), from % (2 * cell)};
}

__device__ __forceinline__ int linear(int a, int b, int c, int d, int u, int v, int cell) {
  int high = a * (2 * cell - u) + b * u, low = c * (2 * cell - u) + d * u, all = 4 * cell * cell;
  return (high * (2 * cell - v) + low * v + all / 2) / all;
}

__global__ void __launch_bounds__(THREADS) cells_kernel(const __grid_constant__ struct map_args p) {
  int at = blockIdx.x * THREADS + threadIdx.x, x = at % p.w, y = at / p.w;
  wait_for_previous();
  if (y >= p.h)
    return;
  int cell = parameter(p, 0), columns = cells(p.w, cell);
  if (cell == 1) {
    uchar4 code = code_at(p, x, y);
    put(p, x, y, code.x, code.y, code.z);
  } else if (p.kind == MAP_COLOR) {
    uchar4 mean = p.mean[y / cell * columns + x / cell];
    put(p, x, y, mean.x, mean.y, mean.z);
  } else {
    between u = between_cells(x, cell, columns), v = between_cells(y, cell, cells(p.h, cell));
    uchar4 a = p.mean[v.first * columns + u.first], b = p.mean[v.first * columns + u.second];
    uchar4 c = p.mean[v.second * columns + u.first], d = p.mean[v.second * columns + u.second];
    put(p, x, y, linear(a.x, b.x, c.x, d.x, u.part, v.part, cell), linear(a.y, b.y, c.y, d.y, u.part, v.part, cell),
        linear(a.z, b.z, c.z, d.z, u.part, v.part, cell));
  }
}

/* --- blurs: first along rows, then along columns; the second kernel also makes the map of the blurred picture --- */

__device__ __forceinline__ int pairs(int count) {
  return count > 1 ? count * (count - 1) / 2 : 0;
}

/* Stores in shared memory the weight that the blur gives to pixels `thread` pixels away; each thread calculates one. */
__device__ __forceinline__ void make_weights(int *weight, int radius, int thread) {
  int n = 2 * radius + 1, j = 3 * radius - thread;
  if (j >= 0)
    weight[thread] = pairs(j + 2) - 3 * pairs(j - n + 2) + 3 * pairs(j - 2 * n + 2);
}

/* Blurs along rows. Each thread block calculates THREADS pixels of one row. */
__global__ void __launch_bounds__(THREADS) soft_rows_kernel(const __grid_constant__ struct map_args p) {
  __shared__ uchar4 codes[THREADS + 2 * REACH];
  __shared__ int weight[REACH + 1];
  /* Load the 8-bit values of the thread block's pixels, with a border on both sides. */
  int x = blockIdx.x * THREADS + threadIdx.x, y = blockIdx.y;
  wait_for_previous();
  int radius = parameter(p, 0), reach = 3 * radius, n = 2 * radius + 1;
  unsigned volume = (unsigned)(n * n * n);
  make_weights(weight, radius, threadIdx.x);
  for (int i = threadIdx.x; i < THREADS + 2 * reach; i += THREADS)
    codes[i] = code_at(p, clamp_to((int)(blockIdx.x * THREADS) + i - reach, p.w - 1), y);
  __syncthreads();
  if (x >= p.w)
    return;
  /* Add up the weighted values along the row. */
  unsigned r = 0, g = 0, b = 0;
#pragma unroll 4
  for (int k = -reach; k <= reach; k++) {
    uchar4 code = codes[(int)threadIdx.x + reach + k];
    unsigned w = (unsigned)weight[abs(k)];
    r += w * code.x, g += w * code.y, b += w * code.z;
  }
  p.along[(size_t)y * p.w + x] =
      make_ushort4((16 * r + volume / 2) / volume, (16 * g + volume / 2) / volume, (16 * b + volume / 2) / volume, 0);
}

__device__ ushort4 soft_at(const struct map_args &p, const int *weight, int reach, unsigned volume, int x, int y) {
  unsigned r = 0, g = 0, b = 0;
  x = clamp_to(x, p.w - 1), y = clamp_to(y, p.h - 1);
#pragma unroll 4
  for (int k = -reach; k <= reach; k++) {
    ushort4 v = p.along[(size_t)clamp_to(y + k, p.h - 1) * p.w + x];
    unsigned w = (unsigned)weight[abs(k)];
    r += w * v.x, g += w * v.y, b += w * v.z;
  }
  return make_ushort4((r + volume / 2) / volume, (g + volume / 2) / volume, (b + volume / 2) / volume, 0);
}

__device__ __forceinline__ void put_line(const struct map_args &p, ushort4 soft, int x, int y) {
  uchar4 code = code_at(p, x, y);
  int low = 16 * parameter(p, 1), gain = rounded(16 * p.block->run.control[p.control].param[2]);
  int darker = max(max(soft.x - 16 * code.x, soft.y - 16 * code.y), soft.z - 16 * code.z);
  int value = darker > low ? min(((darker - low) * gain + 128) >> 8, 255) : 0;
  put(p, x, y, value, value, value);
}

__global__ void __launch_bounds__(THREADS) soft_columns_kernel(const __grid_constant__ struct map_args p) {
  __shared__ int weight[REACH + 1];
  int x = blockIdx.x * WARP + threadIdx.x % WARP, y = blockIdx.y * (THREADS / WARP) + threadIdx.x / WARP;
  wait_for_previous();
  int radius = parameter(p, 0), n = 2 * radius + 1;
  make_weights(weight, radius, threadIdx.x);
  __syncthreads();
  if (x >= p.w || y >= p.h)
    return;
  ushort4 soft = soft_at(p, weight, 3 * radius, (unsigned)(n * n * n), x, y);
  if (p.kind == MAP_LINEART)
    put_line(p, soft, x, y);
  else
    put(p, x, y, (soft.x + 8) >> 4, (soft.y + 8) >> 4, (soft.z + 8) >> 4);
}

/* width and height, in pixels, of the tile that a thread block of soft_edges_kernel calculates */
constexpr int EDGE_W = 32, EDGE_H = 16;

__device__ __forceinline__ int squared(int nw, int n, int ne, int w, int e, int sw, int s, int se) {
  int gx = ne + 2 * e + se - nw - 2 * w - sw, gy = sw + 2 * s + se - nw - 2 * n - ne;
  return gx * gx + gy * gy;
}

__global__ void __launch_bounds__(THREADS) soft_edges_kernel(const __grid_constant__ struct map_args p) {
  __shared__ int weight[REACH + 1];
  __shared__ ushort4 soft[EDGE_H + 2][EDGE_W + 2];
  int left = blockIdx.x * EDGE_W, top = blockIdx.y * EDGE_H;
  wait_for_previous();
  int radius = parameter(p, 0), n = 2 * radius + 1, low = 16 * parameter(p, 1), half = 16 * parameter(p, 2);
  make_weights(weight, radius, threadIdx.x);
  __syncthreads();
  /* Blur the tile and its border along columns. */
  for (int i = threadIdx.x; i < (EDGE_W + 2) * (EDGE_H + 2); i += THREADS) {
    int column = i % (EDGE_W + 2), row = i / (EDGE_W + 2);
    soft[row][column] = soft_at(p, weight, 3 * radius, (unsigned)(n * n * n), left + column - 1, top + row - 1);
  }
  __syncthreads();
  /* Calculate Sobel gradients of the blurred tile. Of the three colours, the one with the largest gradient counts. */
  for (int i = threadIdx.x; i < EDGE_W * EDGE_H; i += THREADS) {
    int x = left + i % EDGE_W, y = top + i / EDGE_W;
    if (x >= p.w || y >= p.h)
      continue;
    const ushort4 *a = &soft[y - top][x - left], *b = a + EDGE_W + 2, *c = b + EDGE_W + 2;
    int most = squared(a[0].x, a[1].x, a[2].x, b[0].x, b[2].x, c[0].x, c[1].x, c[2].x);
    most = max(most, squared(a[0].y, a[1].y, a[2].y, b[0].y, b[2].y, c[0].y, c[1].y, c[2].y));
    most = max(most, squared(a[0].z, a[1].z, a[2].z, b[0].z, b[2].z, c[0].z, c[1].z, c[2].z));
    int e = (int)__fsqrt_rn((float)most) - low;
    int value = e > 0 ? (255 * e + (e + half) / 2) / (e + half) : 0;
    put(p, x, y, value, value, value);
  }
}

/* --- edges by Canny's method: weak and strong edge pixels, one bit each, then passes of hysteresis --- */

constexpr int WORD = 32, WORDS = EDGE_TILE / WORD;
/* sides, in pixels, of a square of WORD x WORD pixels with its border: 2 pixels for grey values, 1 pixel for
 * gradients */
constexpr int GREY = WORD + 4, SLOPES = WORD + 2;

__device__ __forceinline__ int words_of(int w) {
  return (w + WORD - 1) / WORD;
}

__device__ __forceinline__ int steepness(short2 slope) {
  return abs(slope.x) + abs(slope.y);
}

/* Calculates the gradients of the brightness in a square of WORD x WORD pixels and its border. Outside the picture they
 * are 0. */
__device__ void make_slopes(const struct map_args &p, int left, int top, short2 (&slope)[SLOPES][SLOPES]) {
  __shared__ int grey[GREY][GREY];
  for (int i = threadIdx.x; i < GREY * GREY; i += THREADS)
    grey[i / GREY][i % GREY] =
        grey_of(code_at(p, clamp_to(left + i % GREY - 2, p.w - 1), clamp_to(top + i / GREY - 2, p.h - 1)));
  __syncthreads();
  for (int i = threadIdx.x; i < SLOPES * SLOPES; i += THREADS) {
    int column = i % SLOPES, row = i / SLOPES, x = left + column - 1, y = top + row - 1;
    const int *a = &grey[row][column], *b = a + GREY, *c = b + GREY;
    bool inside = x >= 0 && y >= 0 && x < p.w && y < p.h;
    int gx = a[2] + 2 * b[2] + c[2] - a[0] - 2 * b[0] - c[0], gy = c[0] + 2 * c[1] + c[2] - a[0] - 2 * a[1] - a[2];
    slope[row][column] = inside ? make_short2((short)gx, (short)gy) : make_short2(0, 0);
  }
  __syncthreads();
}

__device__ __forceinline__ bool is_ridge(const short2 *at, int here) {
  int run = abs(at->x) * 13573, rise = abs(at->y) << 15;
  if (rise < run)
    return here > steepness(at[-1]) && here >= steepness(at[1]);
  if (rise > run + (abs(at->x) << 16))
    return here > steepness(at[-SLOPES]) && here >= steepness(at[SLOPES]);
  int side = (at->x ^ at->y) < 0 ? -1 : 1;
  return here > steepness(at[-SLOPES - side]) && here > steepness(at[SLOPES + side]);
}

/* Finds weak and strong edge pixels. Each thread block has WORD x WORD pixels; each of its warps has some rows of
 * them. */
__global__ void __launch_bounds__(THREADS) edges_kernel(const __grid_constant__ struct map_args p) {
  __shared__ short2 slope[SLOPES][SLOPES];
  int left = blockIdx.x * WORD, top = blockIdx.y * WORD, lane = threadIdx.x % WARP;
  wait_for_previous();
  make_slopes(p, left, top, slope);
  int a = parameter(p, 0), b = parameter(p, 1), low = min(a, b), high = max(a, b);
  /* Keep only the ridges of the gradient, and apply both thresholds. */
  for (int row = threadIdx.x / WARP; row < WORD && top + row < p.h; row += THREADS / WARP) {
    const short2 *at = &slope[row + 1][lane + 1];
    int here = steepness(*at); /* size of the gradient at this pixel */
    bool weak = here > low && is_ridge(at, here);
    unsigned any = __ballot_sync(~0u, weak), strong = __ballot_sync(~0u, weak && here > high);
    size_t word = (size_t)(top + row) * words_of(p.w) + blockIdx.x;
    if (lane == 0)
      p.weak[word] = any, p.strong[0][word] = strong;
  }
}

/* Returns `strong` with those weak pixels added that are connected to a strong pixel within this word (32 pixels, one
 * bit each). */
__device__ __forceinline__ unsigned fill_word(unsigned weak, unsigned strong) {
  unsigned up = (((weak + (strong & weak)) ^ weak) & weak) | strong;
  unsigned back = __brev(weak), down = __brev(up);
  down = (((back + (down & back)) ^ back) & back) | down;
  return __brev(down);
}

/* Returns a word (32 pixels of a row, one bit each) in which every pixel next to a set pixel is set as well. *row is
 * the word; row[-1] and row[1] are its neighbours. */
__device__ __forceinline__ unsigned spread(const volatile unsigned *row) {
  unsigned before = row[-1], here = row[0], after = row[1];
  return here | here << 1 | here >> 1 | before >> (WORD - 1) | after << (WORD - 1);
}

constexpr int TILE_THREADS = EDGE_TILE * WORDS;

/* Loads the strong edge pixels of a tile and of its border, one bit each, from `from`. The preceding pass of hysteresis
 * (growing strong edges along weak ones) has stored them there. first: index of the tile's first word in a row. */
__device__ void load_tile(const struct map_args &p, const unsigned *from, int first, int top,
                          unsigned (&strong)[EDGE_TILE + 2][WORDS + 2]) {
  int words = words_of(p.w);
  for (int i = threadIdx.x; i < (EDGE_TILE + 2) * (WORDS + 2); i += TILE_THREADS) {
    int word = first + i % (WORDS + 2) - 1, y = top + i / (WORDS + 2) - 1;
    bool there = word >= 0 && word < words && y >= 0 && y < p.h;
    strong[i / (WORDS + 2)][i % (WORDS + 2)] = there ? from[(size_t)y * words + word] : 0;
  }
}

/* Writes the edges of a tile to the map, eight pixels at a time if rows are aligned for that. */
__device__ void put_tile(const struct map_args &p, int left, int top,
                         const unsigned (&strong)[EDGE_TILE + 2][WORDS + 2]) {
  bool eights = p.w % 8 == 0;
  int each = eights ? 8 : 1, across = EDGE_TILE / each;
  for (int i = threadIdx.x; i < EDGE_TILE * across; i += TILE_THREADS) {
    int column = i % across * each, row = i / across;
    if (left + column >= p.w || top + row >= p.h)
      continue;
    unsigned bits = strong[row + 1][1 + column / WORD] >> (column % WORD);
    half_t *to = p.y + ((size_t)(top + row) * p.w + left + column) * 3;
    if (!eights) {
      put(p, left + column, top + row, bits & 1 ? 255 : 0, bits & 1 ? 255 : 0, bits & 1 ? 255 : 0);
      continue;
    }
    uint32_t two[12];
#pragma unroll
    for (int j = 0; j < 12; j++) /* 0x3c00 is 1.0 in FP16 */
      two[j] = (bits >> (2 * j / 3) & 1 ? 0x3c00u : 0u) | (bits >> ((2 * j + 1) / 3) & 1 ? 0x3c000000u : 0u);
#pragma unroll
    for (int j = 0; j < 3; j++)
      reinterpret_cast<uint4 *>(to)[j] = make_uint4(two[4 * j], two[4 * j + 1], two[4 * j + 2], two[4 * j + 3]);
  }
}

/* Does one pass of hysteresis: strong edges grow along weak ones, within a tile. A thread block has a tile, and each
 * thread a word (32 pixels of a row). Threads may read each other's results early or late: the tile is complete when no
 * thread finds anything new. */
__global__ void __launch_bounds__(TILE_THREADS) hysteresis_kernel(const __grid_constant__ struct map_args p) {
  __shared__ unsigned strong[EDGE_TILE + 2][WORDS + 2];
  int first = blockIdx.x * WORDS, top = blockIdx.y * EDGE_TILE, words = words_of(p.w);
  int word = threadIdx.x % WORDS, row = threadIdx.x / WORDS;
  wait_for_previous();
  load_tile(p, p.strong[p.pass % 2], first, top, strong);
  bool there = first + word < words && top + row < p.h;
  size_t at = (size_t)(top + row) * words + first + word;
  unsigned weak = there ? p.weak[at] : 0;
  volatile unsigned *here = &strong[row + 1][word + 1];
  __syncthreads();
  /* Grow strong pixels along weak ones until nothing changes in the tile. */
  bool changed;
  do {
    changed = false;
    for (int i = 0; i < 4; i++) {
      unsigned now = *here;
      unsigned next = now | (weak & (spread(here) | spread(here - (WORDS + 2)) | spread(here + (WORDS + 2))));
      next = fill_word(weak, next);
      if (next != now)
        *here = next, changed = true;
    }
  } while (__syncthreads_or(changed));
  /* The last pass writes the map. Each earlier pass stores the strong pixels (those known to be part of an edge) for
   * the next pass. */
  if (p.pass + 1 == EDGE_ROUNDS)
    put_tile(p, first * WORD, top, strong);
  else if (there)
    p.strong[1 - p.pass % 2][at] = *here;
}

cudaError_t per_pixel(const struct launch_queue *queue, void (*kernel)(struct map_args), const struct map_args *args) {
  return launch(queue, kernel, dim3(blocks_for((size_t)args->w * (size_t)args->h, THREADS)), dim3(THREADS), 0, *args);
}

} // namespace

size_t map_scratch_bytes(enum map_kind kind, int w, int h) {
  size_t pixels = (size_t)w * (size_t)h, bits = (size_t)h * (size_t)((w + WORD - 1) / WORD) * sizeof(unsigned);
  switch (kind) {
  case MAP_CANNY:
    return 3 * bits;
  case MAP_LINEART:
  case MAP_SOFTEDGE:
  case MAP_BLUR:
    return pixels * sizeof(ushort4);
  case MAP_COLOR:
  case MAP_TILE:
    return (size_t)((w + 1) / 2) * (size_t)((h + 1) / 2) * sizeof(uchar4);
  default:
    return 0;
  }
}

cudaError_t launch_map(const struct launch_queue *queue, const struct map_args *args) {
  struct map_args p = *args;
  size_t bits = (size_t)p.h * (size_t)((p.w + WORD - 1) / WORD);
  p.along = static_cast<ushort4 *>(p.scratch);
  p.mean = static_cast<uchar4 *>(p.scratch);
  p.weak = static_cast<unsigned *>(p.scratch);
  p.strong[0] = p.weak + bits;
  p.strong[1] = p.weak + 2 * bits;
  dim3 tiles(blocks_for((size_t)p.w, EDGE_TILE), blocks_for((size_t)p.h, EDGE_TILE));
  dim3 squares(blocks_for((size_t)p.w, WORD), blocks_for((size_t)p.h, WORD));
  cudaError_t status;
  switch (p.kind) {
  case MAP_CANNY:
    status = launch(queue, edges_kernel, squares, dim3(THREADS), 0, p);
    for (p.pass = 0; status == cudaSuccess && p.pass < EDGE_ROUNDS; p.pass++)
      status = launch(queue, hysteresis_kernel, tiles, dim3(TILE_THREADS), 0, p);
    return status;
  case MAP_LINEART:
  case MAP_SOFTEDGE:
  case MAP_BLUR:
    status =
        launch(queue, soft_rows_kernel, dim3(blocks_for((size_t)p.w, THREADS), (unsigned)p.h), dim3(THREADS), 0, p);
    if (status != cudaSuccess)
      return status;
    if (p.kind == MAP_SOFTEDGE)
      return launch(queue, soft_edges_kernel, dim3(blocks_for((size_t)p.w, EDGE_W), blocks_for((size_t)p.h, EDGE_H)),
                    dim3(THREADS), 0, p);
    return launch(queue, soft_columns_kernel,
                  dim3(blocks_for((size_t)p.w, WARP), blocks_for((size_t)p.h, THREADS / WARP)), dim3(THREADS), 0, p);
  case MAP_COLOR:
  case MAP_TILE:
    status = launch(queue, means_kernel, dim3((unsigned)(4 * queue->sms)), dim3(THREADS), 0, p);
    return status == cudaSuccess ? per_pixel(queue, cells_kernel, &p) : status;
  case MAP_GRAY:
  case MAP_MASK:
    return per_pixel(queue, tone_kernel, &p);
  default:
    return cudaErrorInvalidValue;
  }
}
