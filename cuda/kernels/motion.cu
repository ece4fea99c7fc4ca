/* Finds how the picture has moved since the last run: the CUDA device's OP_PYRAMID, OP_MATCH, OP_FIT and OP_FLOW.
 * unet/cpu/cpu_motion.c and cpu_flow.c have the definitions. All arithmetic is that of unet/plan/motion_math.h, on
 * integers. Sums of integers do not depend on their order, so every device finds the same motion. The kernels divide
 * their work as follows:
 *
 *   levels  |  a thread block has 32x32 pixels, and makes all pyramid levels of this tile
 *   details |  a thread computes one detail (a pixel's brightness minus the mean around it)
 *   seek    |  a thread block has 8x8 blocks of the picture; a thread tries one vector for a row of these blocks, in
 *           |  which neighbours share the sums of columns
 *   match   |  a warp has one block of the picture
 *   fit     |  one thread block; the latency of MOTION_PASSES + 2 reductions limits it
 *   choose  |  a thread block has a group of 4x4 blocks, each of its warps one of them
 *   finish  |  a thread has a cell (a pixel of the latent), and some values to copy */
#include "cuda/kernels/common.cuh"
#include "cuda/kernels/motion.h"

namespace {

constexpr int THREADS = 256, WARP = 32;
constexpr unsigned ALL = ~0u;

__device__ __forceinline__ const int32_t *level_of(const struct motion_size &s, const int32_t *pyramid, int level) {
  return pyramid + motion_at(&s, 1, level);
}

/* --- the pyramid: the picture's brightness at smaller and smaller sizes, and details made from it --- */

constexpr int TILE = 32, HALF = TILE / 2, AROUND = TILE + 2;

__device__ __forceinline__ int code_of(const struct motion_args &p, half_t x) {
  float value = __fmaf_rn(__half2float(x), p.scale, p.bias);
  return value > 0.0f ? (int)fminf(value, 255.0f) : 0;
}

__device__ __forceinline__ int grey_at(const struct motion_args &p, int x, int y) {
  int row = motion_clamp(y, p.size.h[0] - 1), column = motion_clamp(x, p.size.w[0] - 1);
  const half_t *at = p.x + ((size_t)row * p.size.w[0] + column) * 3;
  return motion_grey(code_of(p, at[0]), code_of(p, at[1]), code_of(p, at[2]));
}

__global__ void __launch_bounds__(THREADS) levels_kernel(const __grid_constant__ struct motion_args p) {
  __shared__ int grey[AROUND][AROUND + 1];
  __shared__ int half[2][HALF][HALF + 1];
  const int thread = threadIdx.x;
  wait_for_previous();
  /* Load the brightness of the tile and its border. */
  for (int i = thread; i < AROUND * AROUND; i += THREADS)
    grey[i / AROUND][i % AROUND] =
        grey_at(p, (int)blockIdx.x * TILE + i % AROUND - 1, (int)blockIdx.y * TILE + i / AROUND - 1);
  __syncthreads();
  /* Make level 1 of the pyramid, of half the width and height: blur the brightness and take every other pixel. */
  int sum = 0, column = thread % HALF, row = thread / HALF;
  for (int i = 0; i < 16; i++)
    sum += motion_blur(i / 4) * motion_blur(i % 4) * grey[2 * row + i / 4][2 * column + i % 4];
  half[0][row][column] = (sum + 2) >> 2;
  int x = blockIdx.x * HALF + column, y = blockIdx.y * HALF + row;
  if (x < p.size.w[1] && y < p.size.h[1])
    p.scratch[y * p.size.w[1] + x] = half[0][row][column];
  /* Halve the width and height of the pyramid's level 1 four times, to make its levels 2 to 5. */
  for (int level = 2; level <= MOTION_LEVELS; level++) {
    int side = TILE >> level;
    __syncthreads();
    column = thread % side, row = thread / side;
    x = blockIdx.x * side + column, y = blockIdx.y * side + row;
    if (row >= side || x >= p.size.w[level] || y >= p.size.h[level])
      continue;
    int right = 2 * column + (2 * x + 1 < p.size.w[level - 1]), low = 2 * row + (2 * y + 1 < p.size.h[level - 1]);
    const int(*from)[HALF + 1] = half[level & 1];
    int mean = (from[2 * row][2 * column] + from[2 * row][right] + from[low][2 * column] + from[low][right] + 2) >> 2;
    half[1 - (level & 1)][row][column] = mean;
    p.scratch[motion_at(&p.size, 1, level) + y * p.size.w[level] + x] = mean;
  }
}

__global__ void __launch_bounds__(THREADS) details_kernel(const __grid_constant__ struct motion_args p) {
  int i = blockIdx.x * THREADS + threadIdx.x, last = motion_values(&p.size) - 1;
  wait_for_previous();
  if (i >= last) {
    if (i == last)
      p.y[i] = 1;
    return;
  }
  int level = i < motion_at(&p.size, 1, 2) ? 1 : i < motion_at(&p.size, 1, 3) ? 2 : 3, around = motion_around(level);
  int at = i - motion_at(&p.size, 1, level), w = p.size.w[level];
  int there = motion_between(p.scratch + motion_at(&p.size, 1, around), p.size.w[around], p.size.h[around], at % w,
                             at / w, 1 << (around - level));
  p.y[i] = motion_detail(p.scratch[i], there, level == 1);
}

/* --- the search, for each block of one frame, for the matching block of the other frame --- */

constexpr int SEEK = 8, SEEK_NOW = SEEK + 4, SEEK_LAST = SEEK_NOW + 2 * MOTION_REACH;

__global__ void __launch_bounds__(THREADS) seek_kernel(const __grid_constant__ struct motion_args p) {
  __shared__ int now[SEEK_NOW][SEEK_NOW + 1], last[SEEK_LAST][SEEK_LAST + 1], best[SEEK * SEEK];
  const int left = blockIdx.x * SEEK, top = blockIdx.y * SEEK, w = p.size.w[3], h = p.size.h[3];
  wait_for_previous();
  /* Load the details (a pixel's brightness minus the mean around it) of both pictures, with a border. */
  const int32_t *here = level_of(p.size, blockIdx.z ? p.last : p.now, 3);
  const int32_t *there = level_of(p.size, blockIdx.z ? p.now : p.last, 3);
  for (int i = threadIdx.x; i < SEEK_NOW * SEEK_NOW; i += THREADS)
    now[i / SEEK_NOW][i % SEEK_NOW] = motion_pixel(here, w, h, left + i % SEEK_NOW - 2, top + i / SEEK_NOW - 2);
  for (int i = threadIdx.x; i < SEEK_LAST * SEEK_LAST; i += THREADS)
    last[i / SEEK_LAST][i % SEEK_LAST] =
        motion_pixel(there, w, h, left + i % SEEK_LAST - 2 - MOTION_REACH, top + i / SEEK_LAST - 2 - MOTION_REACH);
  if (threadIdx.x < SEEK * SEEK)
    best[threadIdx.x] = MOTION_NONE;
  __syncthreads();
  /* Try every vector for every row of blocks, and keep the best one of each block. */
  for (int task = threadIdx.x; task < MOTION_SIDE * MOTION_SIDE * SEEK; task += THREADS) {
    int index = task / SEEK, row = task % SEEK, dy = index / MOTION_SIDE, dx = index % MOTION_SIDE;
    int sum[SEEK_NOW] = {};
#pragma unroll
    for (int v = 0; v < 5; v++)
#pragma unroll
      for (int u = 0; u < SEEK_NOW; u++)
        sum[u] += abs(now[row + v][u] - last[row + v + dy][u + dx]);
#pragma unroll
    for (int x = 0; x < SEEK; x++)
      atomicMin(&best[row * SEEK + x],
                motion_seek_key(sum[x] + sum[x + 1] + sum[x + 2] + sum[x + 3] + sum[x + 4], index));
  }
  __syncthreads();
  int x = left + threadIdx.x % SEEK, y = top + threadIdx.x / SEEK;
  if (threadIdx.x < SEEK * SEEK && x < w && y < h)
    p.scratch[(blockIdx.z * h + y) * w + x] = best[threadIdx.x];
}

/* number of blocks of the picture whose best match one thread block finds: one for each warp */
constexpr int MATCHES = THREADS / WARP;

/* A warp's shared memory in match_kernel: the details around its block (a pixel's brightness minus the mean around it),
 * of the present picture (now2, now1) and of the last one (last2, last1), in levels 2 and 1 of the pyramid. The arrays
 * of the last picture have one pixel more on each side. last2 has one such array for each of the MOTION_BASES starting
 * vectors of the search in level 2. */
struct match_memory {
  int now2[36], last2[MOTION_BASES][64], now1[64], last1[100];
};

/* Returns starting vector number `base` (motion_base) of the search in level 2 of the pyramid for a block, in pixels of
 * that level. found: the results of the search in level 3. */
__device__ __forceinline__ int2 base_vector(const struct motion_args &p, const int32_t *found, int x, int y, int base) {
  int block = motion_base(&p.size, x, y, base), key = block < 0 ? 0 : found[block];
  return block < 0 ? make_int2(0, 0) : make_int2(2 * motion_seek_x(key), 2 * motion_seek_y(key));
}

/* Returns the vector with which block (x, y) of the picture matches best, searched in level 2 of the pyramids, in
 * pixels of that level. */
__device__ int2 find_middle(const struct motion_args &p, const int32_t *now, const int32_t *last, const int32_t *found,
                            int x, int y, int lane, struct match_memory &m) {
  const int w = p.size.w[2], h = p.size.h[2];
  for (int i = lane; i < 36; i += WARP)
    m.now2[i] = motion_pixel(now, w, h, 2 * x - 2 + i % 6, 2 * y - 2 + i / 6);
#pragma unroll
  for (int base = 0; base < MOTION_BASES; base++) {
    int2 vector = base_vector(p, found, x, y, base);
    for (int i = lane; i < 64; i += WARP)
      m.last2[base][i] = motion_pixel(last, w, h, 2 * x - 3 + i % 8 + vector.x, 2 * y - 3 + i / 8 + vector.y);
  }
  __syncwarp();
  int best = MOTION_NONE;
  for (int i = lane; i < 9 * MOTION_BASES; i += WARP) {
    int base = i / 9, dx = i % 3, dy = i % 9 / 3, sum = 0;
    int2 vector = base_vector(p, found, x, y, base);
#pragma unroll
    for (int k = 0; k < 36; k++)
      sum += abs(m.now2[k] - m.last2[base][(k / 6 + dy) * 8 + k % 6 + dx]);
    bool still = !(vector.x + dx - 1) && !(vector.y + dy - 1);
    best = min(best, motion_middle_key(sum, i, still));
  }
  best = __reduce_min_sync(ALL, best) & 63;
  int2 vector = base_vector(p, found, x, y, best / 9);
  return make_int2(vector.x + best % 3 - 1, vector.y + best % 9 / 3 - 1);
}

/* Returns the vector with which block (x, y) of the picture matches best, searched in level 1 of the pyramids around
 * `middle`, the best vector of level 2. The result is in pixels of level 1. */
__device__ int2 find_fine(const struct motion_args &p, const int32_t *now, const int32_t *last, int2 middle, int x,
                          int y, int lane, struct match_memory &m) {
  const int w = p.size.w[1], h = p.size.h[1];
  for (int i = lane; i < 64; i += WARP)
    m.now1[i] = motion_pixel(now, w, h, 4 * x - 2 + i % 8, 4 * y - 2 + i / 8);
  for (int i = lane; i < 100; i += WARP)
    m.last1[i] = motion_pixel(last, w, h, 4 * x - 3 + i % 10 + 2 * middle.x, 4 * y - 3 + i / 10 + 2 * middle.y);
  __syncwarp();
  int best = MOTION_NONE;
#pragma unroll
  for (int i = 0; i < 9; i++) {
    int sum = 0;
#pragma unroll
    for (int k = lane; k < 64; k += WARP)
      sum += abs(m.now1[k] - m.last1[(k / 8 + i / 3) * 10 + k % 8 + i % 3]);
    best = min(best, motion_fine_key((int)__reduce_add_sync(ALL, sum), i));
  }
  int index = motion_fine_index(best);
  return make_int2(2 * middle.x + index % 3 - 1, 2 * middle.y + index / 3 - 1);
}

__global__ void __launch_bounds__(THREADS) match_kernel(const __grid_constant__ struct motion_args p) {
  __shared__ struct match_memory memory[MATCHES];
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, x = blockIdx.x * MATCHES + warp, y = blockIdx.y;
  const int blocks = motion_pixels(&p.size, 3);
  wait_for_previous();
  if (x >= p.size.w[3])
    return;
  const int32_t *now = blockIdx.z ? p.last : p.now, *last = blockIdx.z ? p.now : p.last;
  const int32_t *now1 = level_of(p.size, now, 1), *last1 = level_of(p.size, last, 1);
  int2 middle = find_middle(p, level_of(p.size, now, 2), level_of(p.size, last, 2), p.scratch + blockIdx.z * blocks, x,
                            y, lane, memory[warp]);
  int2 fine = find_fine(p, now1, last1, middle, x, y, lane, memory[warp]);
  /* The vector `fine` is in whole pixels. Find the fraction of a pixel by which the motion differs from it, from the
   * slopes of the brightness. */
  struct motion_slopes s = {};
#pragma unroll
  for (int i = lane; i < 64; i += WARP)
    motion_add_slopes(&s, now1, last1, p.size.w[1], p.size.h[1], x, y, fine.x, fine.y, i);
  s.xx = __reduce_add_sync(ALL, s.xx), s.xy = __reduce_add_sync(ALL, s.xy), s.yy = __reduce_add_sync(ALL, s.yy);
  s.xt = __reduce_add_sync(ALL, s.xt), s.yt = __reduce_add_sync(ALL, s.yt);
  if (lane)
    return;
  struct motion_match match = motion_solve(s, fine.y, fine.x);
  int32_t *out = p.y + MATCH_VALUES * (blockIdx.z * blocks + y * p.size.w[3] + x);
  out[0] = match.y, out[1] = match.x, out[2] = match.weight;
}

/* --- fitting the motion of the whole picture to the blocks' vectors --- */

constexpr int FIT_THREADS = 1024, FIT_WARPS = FIT_THREADS / WARP;

/* Replaces each of `count` numbers by its sum over all threads of the thread block. */
template <int count> __device__ void block_sums(int64_t *value) {
  __shared__ int64_t parts[FIT_WARPS][count], total[count];
#pragma unroll
  for (int k = 0; k < count; k++)
    for (int i = WARP / 2; i; i /= 2)
      value[k] += __shfl_xor_sync(ALL, value[k], i);
  if (threadIdx.x % WARP == 0)
    for (int k = 0; k < count; k++)
      parts[threadIdx.x / WARP][k] = value[k];
  __syncthreads();
  if (threadIdx.x < count) {
    int64_t sum = 0;
#pragma unroll 8
    for (int i = 0; i < FIT_WARPS; i++)
      sum += parts[i][threadIdx.x];
    total[threadIdx.x] = sum;
  }
  __syncthreads();
  for (int k = 0; k < count; k++)
    value[k] = total[k];
}

/* Stores a first guess of the motion of the whole picture in *model: a vector near which there are more blocks' vectors
 * than anywhere else. All threads of the thread block call it. */
__device__ void guess_model(const struct motion_args &p, struct motion_model *model) {
  __shared__ int counts[MOTION_BINS * MOTION_BINS];
  __shared__ unsigned long long best;
  const int blocks = motion_pixels(&p.size, 3);
  for (int i = threadIdx.x; i < MOTION_BINS * MOTION_BINS; i += FIT_THREADS)
    counts[i] = 0;
  if (threadIdx.x == 0)
    best = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < blocks; i += FIT_THREADS) {
    const int32_t *one = p.match + MATCH_VALUES * i;
    int bin = motion_bin(one[0], one[1]);
    if (bin >= 0 && one[2] >= MOTION_WEIGHT)
      atomicAdd(&counts[bin], 1);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < MOTION_BINS * MOTION_BINS; i += FIT_THREADS) {
    unsigned long long key = (unsigned long long)motion_bin_key(counts, i);
    for (int k = WARP / 2; k; k /= 2)
      key = max(key, __shfl_xor_sync(ALL, key, k));
    if (threadIdx.x % WARP == 0)
      atomicMax(&best, key);
  }
  __syncthreads();
  if (threadIdx.x == 0)
    *model = motion_bin_model((int64_t)best);
  __syncthreads();
}

__global__ void __launch_bounds__(FIT_THREADS) fit_kernel(const __grid_constant__ struct motion_args p) {
  __shared__ struct motion_model model;
  const int blocks = motion_pixels(&p.size, 3), w = p.size.w[3];
  wait_for_previous();
  guess_model(p, &model);
  /* Fit the motion of the whole picture (model) several times. Each fit uses only the vectors that are near the result
   * of the previous fit. */
  for (int pass = 0; pass < MOTION_PASSES; pass++) {
    struct motion_sums sums = {};
    const struct motion_model before = model;
    for (int i = threadIdx.x; i < blocks; i += FIT_THREADS) {
      const int32_t *one = p.match + MATCH_VALUES * i;
      motion_gather(&sums, &before, motion_radius(pass), motion_place(i % w, p.size.w[0]),
                    motion_place(i / w, p.size.h[0]), one[0], one[1], one[2]);
    }
    block_sums<sizeof sums / sizeof(int64_t)>(&sums.count);
    if (threadIdx.x == 0)
      motion_fit(&model, &sums, pass);
    __syncthreads();
  }
  /* Decide if the model of the whole picture's motion fits the blocks' vectors well enough. If not, the picture counts
   * as still. */
  struct motion_merit merit = {};
  for (int i = threadIdx.x; i < blocks; i += FIT_THREADS) {
    const int32_t *one = p.match + MATCH_VALUES * i;
    motion_weigh(&merit, &model, motion_place(i % w, p.size.w[0]), motion_place(i / w, p.size.h[0]), one[0], one[1],
                 one[2]);
  }
  block_sums<sizeof merit / sizeof(int64_t)>(&merit.still);
  if (threadIdx.x)
    return;
  bool moving = motion_is_moving(&merit, blocks);
  p.y[0] = moving ? model.a : 0, p.y[1] = moving ? model.b : 0;
  p.y[2] = moving ? model.ty : 0, p.y[3] = moving ? model.tx : 0;
}

/* --- the choice of each block's vector, and what is needed to find cuts --- */

constexpr int GROUP_BLOCKS = MOTION_GROUP * MOTION_GROUP, CHOOSE_THREADS = GROUP_BLOCKS * WARP;
constexpr int GROUP_SIDE = 4 * MOTION_GROUP; /* side of a group of blocks in level 1, in pixels of that level */

/* One of the two directions of the search: where the blocks of picture `now` are in picture `last`. The other direction
 * has the two pictures exchanged. */
struct direction {
  const int32_t *now, *last, *match;
  struct motion_model model;
};

/* Returns how badly block (x, y) of picture d.now fits picture d.last at the vector (vy, vx), in 1/256 pixel of the
 * picture: the sum of absolute differences over 8x8 pixels around the block in level 1 (half size). The details are
 * compared (a pixel's brightness minus the mean around it), after motion_gain has made them equally strong in both
 * pictures. All lanes of a warp call it. */
__device__ int cost(const struct motion_args &p, const struct direction &d, int x, int y, int vy, int vx, int lane) {
  const int w = p.size.w[1], h = p.size.h[1];
  int now[2], last[2], all_now = 0, all_last = 0, sum = 0;
#pragma unroll
  for (int k = 0; k < 2; k++) {
    int i = lane + k * WARP, u = 4 * x - 2 + i % 8, v = 4 * y - 2 + i / 8;
    now[k] = motion_pixel(d.now, w, h, u, v);
    last[k] = motion_sample(d.last, w, h, 512 * u + vx, 512 * v + vy);
    all_now += abs(now[k]), all_last += abs(last[k]);
  }
  int gain = motion_gain(__reduce_add_sync(ALL, all_now), __reduce_add_sync(ALL, all_last));
#pragma unroll
  for (int k = 0; k < 2; k++)
    sum += motion_difference(now[k], last[k], gain);
  return __reduce_add_sync(ALL, sum);
}

__device__ bool is_trusted(const struct motion_args &p, const struct direction &d, int x, int y, int lane) {
  const int32_t *own = d.match + MATCH_VALUES * (y * p.size.w[3] + x);
  int u = x + lane % 3 - 1, v = y + lane / 3 - 1;
  bool there = lane < 9 && lane != 4 && u >= 0 && v >= 0 && u < p.size.w[3] && v < p.size.h[3];
  const int32_t *other = d.match + MATCH_VALUES * (there ? v * p.size.w[3] + u : 0);
  int support = __popc(__ballot_sync(ALL, there && motion_is_near(own[0], own[1], other[0], other[1])));
  return support >= MOTION_SUPPORT && own[2] >= MOTION_WEIGHT / 2;
}

/* Chooses and stores the vector of a block. First the whole picture's motion at the block is compared with no motion,
 * which is used only if it fits clearly better. The block's own match replaces the result if it can be trusted
 * (is_trusted) and fits clearly better still. */
__device__ void choose(const struct motion_args &p, const struct direction &d, int x, int y, int lane,
                       int32_t *vector) {
  int at = y * p.size.w[3] + x, u = motion_place(x, p.size.w[0]), v = motion_place(y, p.size.h[0]);
  const int32_t *match = d.match + MATCH_VALUES * at;
  int vy = motion_model_y(&d.model, u, v), vx = motion_model_x(&d.model, u, v);
  int best = cost(p, d, x, y, vy, vx, lane);
  if (!motion_is_still(&d.model)) {
    int still = cost(p, d, x, y, 0, 0, lane);
    if (motion_is_clear(still, best))
      best = still, vy = vx = 0;
  }
  if (is_trusted(p, d, x, y, lane) && motion_is_clear(cost(p, d, x, y, match[0], match[1], lane), best))
    vy = match[0], vx = match[1];
  if (lane == 0)
    vector[2 * at] = vy, vector[2 * at + 1] = vx;
}

/* Compares pixel (u, v) of level 1 (half size) of this frame with the pixel of the last frame to which the vector
 * points. Adds to *s the products of their details (a pixel's brightness minus the mean around it). Overexposed pixels
 * are left out. */
__device__ void compare(const struct motion_args &p, const struct direction &d, int u, int v, int vy, int vx,
                        struct motion_likeness *s) {
  const int w = p.size.w[1], h = p.size.h[1];
  if (u >= w || v >= h)
    return;
  int now = d.now[v * w + u], nearest = motion_pixel(d.last, w, h, u + ((vx + 256) >> 9), v + ((vy + 256) >> 9));
  if (!(now & 1) && !(nearest & 1))
    motion_compare(s, now, motion_sample(d.last, w, h, 512 * u + vx, 512 * v + vy));
}

/* Bits for a group of blocks of pixels. GROUP_NOW: this frame has texture there (its brightness varies). GROUP_BOTH:
 * both this frame and the last one have texture there. GROUP_ALIKE: the two frames look alike there. */
enum { GROUP_NOW = 1, GROUP_BOTH = 2, GROUP_ALIKE = 4 };

/* Judges one group of picture blocks, that with the numbers (blockIdx.x, blockIdx.y): returns GROUP_NOW, GROUP_BOTH and
 * GROUP_ALIKE as they hold for it. Only thread 0's result is valid. All threads of the thread block call it. */
__device__ int judge(const struct motion_args &p, const struct direction &d) {
  constexpr int VECTORS = 3;
  __shared__ int heaviest, sums[VECTORS][3];
  const int thread = threadIdx.x, x = blockIdx.x, y = blockIdx.y, w = p.size.w[3], h = p.size.h[3];
  if (thread == 0)
    heaviest = -1;
  if (thread < 3 * VECTORS)
    sums[thread / 3][thread % 3] = 0;
  __syncthreads();
  /* Find the block of the group whose match has the highest weight; the first one if several have it. */
  int bx = MOTION_GROUP * x + thread % MOTION_GROUP, by = MOTION_GROUP * y + thread / MOTION_GROUP;
  if (thread < GROUP_BLOCKS && bx < w && by < h)
    atomicMax(&heaviest, d.match[MATCH_VALUES * (by * w + bx) + 2] * 16 + 15 - thread);
  __syncthreads();
  int first = 15 - (heaviest & 15);
  const int32_t *match = d.match + MATCH_VALUES * ((MOTION_GROUP * y + first / MOTION_GROUP) * w + MOTION_GROUP * x +
                                                   first % MOTION_GROUP);
  /* Compare the group's pixels in both frames with three vectors: 0, that of the whole picture's motion, and that of
   * the best match. */
  const int middle = 2 * MOTION_GROUP * MOTION_BLOCK, u = middle * x + middle / 2 - p.size.w[0],
            v = middle * y + middle / 2 - p.size.h[0];
  const int vy[VECTORS] = {0, motion_model_y(&d.model, u, v), match[0]};
  const int vx[VECTORS] = {0, motion_model_x(&d.model, u, v), match[1]};
#pragma unroll
  for (int k = 0; k < VECTORS; k++) {
    struct motion_likeness s = {};
    if (thread < GROUP_SIDE * GROUP_SIDE)
      compare(p, d, GROUP_SIDE * x + thread % GROUP_SIDE, GROUP_SIDE * y + thread / GROUP_SIDE, vy[k], vx[k], &s);
    s.both = __reduce_add_sync(ALL, s.both), s.now = __reduce_add_sync(ALL, s.now);
    s.last = __reduce_add_sync(ALL, s.last);
    if (thread % WARP == 0)
      atomicAdd(&sums[k][0], s.both), atomicAdd(&sums[k][1], s.now), atomicAdd(&sums[k][2], s.last);
  }
  __syncthreads();
  bool alike = false;
  for (int k = 0; k < VECTORS; k++) {
    const struct motion_likeness s = {sums[k][0], sums[k][1], sums[k][2]};
    alike = alike || motion_is_alike(&s);
  }
  bool now = motion_has_texture(sums[0][1]), both = now && motion_has_texture(sums[0][2]);
  return (now ? GROUP_NOW : 0) | (both ? GROUP_BOTH : 0) | (both && alike ? GROUP_ALIKE : 0);
}

/* vectors_of and past_of return addresses in the scratch memory of launch_flow. It has three parts. First the motion
 * vectors of all blocks: from this frame to the last one, then (backward 1) from the last one to this one. Then a
 * number that is not 0 if there was a last frame (past_of). Then for each group of blocks its bits GROUP_NOW,
 * GROUP_BOTH and GROUP_ALIKE. */
__device__ __forceinline__ int32_t *vectors_of(const struct motion_args &p, int backward) {
  return p.scratch + 2 * backward * motion_pixels(&p.size, 3);
}

__device__ __forceinline__ int32_t *past_of(const struct motion_args &p) {
  return p.scratch + 4 * motion_pixels(&p.size, 3);
}

__global__ void __launch_bounds__(CHOOSE_THREADS) choose_kernel(const __grid_constant__ struct motion_args p) {
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, backward = blockIdx.z;
  const int x = MOTION_GROUP * blockIdx.x + warp % MOTION_GROUP, y = MOTION_GROUP * blockIdx.y + warp / MOTION_GROUP;
  wait_for_previous();
  const struct motion_model model = {p.fit[0], p.fit[1], p.fit[2], p.fit[3]};
  const struct direction d = {backward ? p.last : p.now, backward ? p.now : p.last,
                              p.match + MATCH_VALUES * backward * motion_pixels(&p.size, 3),
                              backward ? motion_inverse(&model) : model};
  if (x < p.size.w[3] && y < p.size.h[3])
    choose(p, d, x, y, lane, vectors_of(p, backward));
  if (backward)
    return;
  int bits = judge(p, d);
  if (threadIdx.x == 0) {
    past_of(p)[1 + blockIdx.y * gridDim.x + blockIdx.x] = bits;
    if (blockIdx.x == 0 && blockIdx.y == 0)
      *past_of(p) = p.last[motion_values(&p.size) - 1];
  }
}

/* --- writing the results of OP_FLOW --- */

/* Counts the groups of picture blocks that have each of the bits GROUP_NOW, GROUP_BOTH and GROUP_ALIKE: where the frame
 * has texture, and where it is like the last frame. All threads of the thread block must call it, and all get the
 * result. */
__device__ struct motion_tally count_groups(const struct motion_args &p) {
  struct motion_tally t = {motion_groups(p.size.w[3]) * motion_groups(p.size.h[3]), 0, 0, 0};
  for (int first = 0; first < t.groups; first += THREADS) {
    int i = first + threadIdx.x, bits = i < t.groups ? past_of(p)[1 + i] : 0;
    t.now += __syncthreads_count(bits & GROUP_NOW);
    t.both += __syncthreads_count(bits & GROUP_BOTH);
    t.alike += __syncthreads_count(bits & GROUP_ALIKE);
  }
  return t;
}

__device__ void put_global(const struct motion_args &p, bool cut, bool blank, bool past) {
  bool known = !cut && !blank;
  p.global[GLOBAL_CUT] = cut;
  p.global[GLOBAL_A] = MOTION_ONE + (known ? p.fit[0] : 0);
  p.global[GLOBAL_B] = known ? p.fit[1] : 0;
  p.global[GLOBAL_Y] = known ? p.fit[2] : 0;
  p.global[GLOBAL_X] = known ? p.fit[3] : 0;
  p.global[GLOBAL_BLANK] = motion_blank(blank, past, p.global[GLOBAL_BLANK]);
}

__device__ void put_cell(const struct motion_args &p, int cell, bool known, bool otherwise_visible) {
  int x = (cell % p.columns * p.cell + p.cell / 2) / MOTION_BLOCK;
  int y = (cell / p.columns * p.cell + p.cell / 2) / MOTION_BLOCK, at = y * p.size.w[3] + x;
  const int32_t *forward = vectors_of(p, 0), *backward = vectors_of(p, 1);
  int vy = forward[2 * at], vx = forward[2 * at + 1], origin = motion_origin(&p.size, x, y, vy, vx);
  bool seen = origin >= 0 && motion_agrees(vy, vx, backward[2 * origin], backward[2 * origin + 1]);
  p.flow[2 * cell] = known ? vy : 0, p.flow[2 * cell + 1] = known ? vx : 0;
  p.visible[cell] = known ? seen : otherwise_visible;
}

__global__ void __launch_bounds__(THREADS) finish_kernel(const __grid_constant__ struct motion_args p) {
  const int thread = blockIdx.x * THREADS + threadIdx.x, threads = gridDim.x * THREADS;
  const int values = motion_values(&p.size);
  wait_for_previous();
  const struct motion_tally t = count_groups(p);
  bool past = *past_of(p) && !p.block->run.restart, blank = motion_is_blank(&t);
  bool cut = !past || (!blank && motion_is_cut(&t));
  if (thread == 0)
    put_global(p, cut, blank, past);
  for (int cell = thread; cell < p.rows * p.columns; cell += threads)
    put_cell(p, cell, !cut && !blank, blank && !cut);
  for (int i = thread; !blank && i < values; i += threads)
    p.kept[i] = p.now[i];
  if (blank && !past && thread == 0)
    p.kept[values - 1] = 0;
}

} // namespace

size_t motion_scratch_bytes(const struct motion_size *size) {
  int levels = motion_at(size, 1, MOTION_LEVELS + 1), blocks = motion_pixels(size, 3);
  int flow = 4 * blocks + 1 + motion_groups(size->w[3]) * motion_groups(size->h[3]);
  return (size_t)(levels > flow ? levels : flow) * sizeof(int32_t);
}

cudaError_t launch_pyramid(const struct launch_queue *queue, const struct motion_args *args) {
  const struct motion_size *s = &args->size;
  dim3 tiles(blocks_for((size_t)s->w[0], TILE), blocks_for((size_t)s->h[0], TILE));
  cudaError_t status = launch(queue, levels_kernel, tiles, dim3(THREADS), 0, *args);
  if (status != cudaSuccess)
    return status;
  return launch(queue, details_kernel, dim3(blocks_for((size_t)motion_values(s), THREADS)), dim3(THREADS), 0, *args);
}

cudaError_t launch_match(const struct launch_queue *queue, const struct motion_args *args) {
  unsigned w = (unsigned)args->size.w[3], h = (unsigned)args->size.h[3];
  dim3 tiles(blocks_for(w, SEEK), blocks_for(h, SEEK), 2), rows(blocks_for(w, MATCHES), h, 2);
  cudaError_t status = launch(queue, seek_kernel, tiles, dim3(THREADS), 0, *args);
  return status == cudaSuccess ? launch(queue, match_kernel, rows, dim3(THREADS), 0, *args) : status;
}

cudaError_t launch_fit(const struct launch_queue *queue, const struct motion_args *args) {
  return launch(queue, fit_kernel, dim3(1), dim3(FIT_THREADS), 0, *args);
}

cudaError_t launch_flow(const struct launch_queue *queue, const struct motion_args *args) {
  const struct motion_size *s = &args->size;
  dim3 groups((unsigned)motion_groups(s->w[3]), (unsigned)motion_groups(s->h[3]), 2);
  cudaError_t status = launch(queue, choose_kernel, groups, dim3(CHOOSE_THREADS), 0, *args);
  if (status != cudaSuccess)
    return status;
  return launch(queue, finish_kernel, dim3(blocks_for((size_t)motion_values(s), 4 * THREADS)), dim3(THREADS), 0, *args);
}
