/* Parts of a transformer's block in one launch each, for few channels (ROWS.md).
 *
 * A thread block takes 16 rows, or a few times 16, of all C channels, in 2 C threads: C / 16 warps, of which each makes
 * 16 columns of every product. With as few rows a product is as long as its weights take to come, so those of the
 * first products are asked for before the wait for the kernel ahead, straight into the registers that the tensor cores
 * read them from: a weight is used by one warp alone.
 *
 * A lane's share of 16-byte loads fits tensor cores as it is: the order of a product's sum is free, so lane l takes
 * channels 8 (l % 4) to 8 (l % 4) + 7 of each 32, of the weights from memory and of the rows from shared memory.
 *
 *     lane l % 4 holds        0          1          2            3
 *     channels              0 .. 7    8 .. 15    16 .. 23    24 .. 31
 *     first product's sum   0 1 2 3   8 9 10 11  16 17 18 19  ...
 *     second's              4 5 6 7   ...
 *
 * Between products rows pass through shared memory, of each 32 channels those first that a lane's first pair is of:
 *
 *     0 1  8 9  16 17  24 25  |  2 3  10 11  18 19  26 27  |  4 5 ...
 *
 * so that one instruction brings what a warp reads of 16 rows and 16 channels. Sums are taken in a fixed order. */
#include "cuda/kernels/rows.h"

#include "cuda/kernels/cluster_sm90.cuh"

namespace {

enum { TILE = 16 };

/* Halves from a row to the next, such that eight rows' 16 bytes lie in different banks. */
template <int K> constexpr int PITCH = K + 8;
/* The same for eight lanes' 16 bytes of two rows. */
template <int K> constexpr int PAIR_PITCH = K / 2 % 32 == 16 ? K : K + 32;

/* Where a row in shared memory has a channel. */
__device__ __forceinline__ int place(int channel) {
  return (channel & ~31) + (channel >> 1 & 3) * 8 + (channel >> 3 & 3) * 2 + (channel & 1);
}

__device__ __forceinline__ int lane_row() {
  return threadIdx.x % 32 / 4;
}
__device__ __forceinline__ int lane_column() {
  return threadIdx.x % 4;
}

/* --- products --- */

/* A lane's part of 8 N rows of weights, 32 BLOCKS channels of each. */
template <int N, int BLOCKS>
__device__ __forceinline__ void fetch(uint4 (&to)[N][BLOCKS], const __half *first, int pitch) {
  const __half *from = first + lane_row() * pitch + 8 * lane_column();
#pragma unroll
  for (int j = 0; j < N; j++)
#pragma unroll
    for (int s = 0; s < BLOCKS; s++)
      to[j][s] = load_weights(from + 8 * j * pitch + 32 * s);
}

/* sum[m][j] += rows 16 m of a times weights j. */
template <int M, int N, int BLOCKS>
__device__ __forceinline__ void multiply(float (&sum)[M][N][4], const __half *a, int pitch,
                                         const uint4 (&weights)[N][BLOCKS]) {
  const __half *from = a + threadIdx.x % 16 * pitch + threadIdx.x % 32 / 16 * 8;
#pragma unroll
  for (int s = 0; s < BLOCKS; s++)
#pragma unroll
    for (int m = 0; m < M; m++) {
      uint32_t one[4], two[4];
      load_matrices(one, from + 16 * m * pitch + 32 * s);
      load_matrices(two, from + 16 * m * pitch + 32 * s + 16);
#pragma unroll
      for (int j = 0; j < N; j++) {
        const uint32_t w1[2] = {weights[j][s].x, weights[j][s].y}, w2[2] = {weights[j][s].z, weights[j][s].w};
        multiply_add(sum[m][j], one, w1);
        multiply_add(sum[m][j], two, w2);
      }
    }
}

/* Bias of a lane's two columns of each 8. */
template <int N> __device__ __forceinline__ void fetch_bias(float2 (&to)[N], const float *bias, int column) {
#pragma unroll
  for (int j = 0; j < N; j++)
    to[j] = bias ? load_pair(bias + column + 8 * j + 2 * lane_column()) : make_float2(0, 0);
}

template <int M, int N> __device__ __forceinline__ void begin(float (&sum)[M][N][4], const float2 (&bias)[N]) {
#pragma unroll
  for (int m = 0; m < M; m++)
#pragma unroll
    for (int j = 0; j < N; j++) {
      sum[m][j][0] = sum[m][j][2] = bias[j].x;
      sum[m][j][1] = sum[m][j][3] = bias[j].y;
    }
}

/* A lane's part of results in memory: two columns of each 8, of rows of the upper and the lower half of 16. */
template <int M, int N> struct halves {
  uint32_t pair[M][N][2];

  __device__ __forceinline__ static size_t at(int m, int j, int half, int pitch) {
    return (size_t)(16 * m + 8 * half + lane_row()) * pitch + 8 * j + 2 * lane_column();
  }
  __device__ __forceinline__ void read(const __half *from, int pitch) {
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
      for (int j = 0; j < N; j++)
#pragma unroll
        for (int half = 0; half < 2; half++)
          pair[m][j][half] = *reinterpret_cast<const uint32_t *>(from + at(m, j, half, pitch));
  }
  __device__ __forceinline__ void write(__half *to, int pitch) const {
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
      for (int j = 0; j < N; j++)
#pragma unroll
        for (int half = 0; half < 2; half++)
          *reinterpret_cast<uint32_t *>(to + at(m, j, half, pitch)) = pair[m][j][half];
  }
  __device__ __forceinline__ void round(const float (&sum)[M][N][4]) {
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
      for (int j = 0; j < N; j++)
#pragma unroll
        for (int half = 0; half < 2; half++)
          pair[m][j][half] = pack2(sum[m][j][2 * half], sum[m][j][2 * half + 1]);
  }
  __device__ __forceinline__ void add_to(float (&sum)[M][N][4]) const {
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
      for (int j = 0; j < N; j++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
          float2 add = unpack2(pair[m][j][half]);
          sum[m][j][2 * half] += add.x;
          sum[m][j][2 * half + 1] += add.y;
        }
  }
  /* To shared memory, from column `column` on. */
  __device__ __forceinline__ void share(__half *to, int column, int pitch) const {
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
      for (int j = 0; j < N; j++)
#pragma unroll
        for (int half = 0; half < 2; half++)
          *reinterpret_cast<uint32_t *>(to + (16 * m + 8 * half + lane_row()) * pitch +
                                        place(column + 8 * j + 2 * lane_column())) = pair[m][j][half];
  }
};

template <int M, int N>
__device__ __forceinline__ halves<M, N> share_rounded(__half *to, int column, int pitch, const float (&sum)[M][N][4]) {
  halves<M, N> rounded;
  rounded.round(sum);
  rounded.share(to, column, pitch);
  return rounded;
}

/* --- rows as they lie in memory: each thread has 16 bytes of each 16 rows --- */

template <int C> struct share {
  static constexpr int OCTETS = C / 8;
  int row = threadIdx.x / OCTETS, column = threadIdx.x % OCTETS * 8;
  __device__ __forceinline__ uint4 read(const __half *from, int pitch) const {
    return *reinterpret_cast<const uint4 *>(from + (size_t)row * pitch + column);
  }
  __device__ __forceinline__ void write(__half *to, int pitch, uint4 value) const {
    *reinterpret_cast<uint4 *>(to + (size_t)row * pitch + column) = value;
  }
  /* The same in shared memory. */
  __device__ __forceinline__ uint4 take(const __half *from) const {
    const uint32_t *pair = reinterpret_cast<const uint32_t *>(from + row * PITCH<C> + place(column));
    return make_uint4(pair[0], pair[4], pair[8], pair[12]);
  }
  __device__ __forceinline__ void share_out(__half *to, uint4 value) const {
    uint32_t *pair = reinterpret_cast<uint32_t *>(to + row * PITCH<C> + place(column));
    pair[0] = value.x;
    pair[4] = value.y;
    pair[8] = value.z;
    pair[12] = value.w;
  }
};

/* --- layer norm --- */

/* A thread's channel of gamma and beta, on their way to shared memory. */
template <int C> struct vectors {
  float gamma = 1, beta = 0;
  __device__ __forceinline__ void fetch(const float *g, const float *b) {
    if (threadIdx.x >= C)
      return;
    if (g)
      gamma = load_single(g + threadIdx.x);
    if (b)
      beta = load_single(b + threadIdx.x);
  }
  __device__ __forceinline__ void put(float2 *to) const {
    if (threadIdx.x < C)
      to[place(threadIdx.x)] = make_float2(gamma, beta);
  }
};

__device__ __forceinline__ float add_16_lanes(float v) {
#pragma unroll
  for (int i = 8; i > 0; i /= 2)
    v += __shfl_xor_sync(0xffffffffu, v, i);
  return v;
}

/* ROWS rows from shared memory to shared memory, by 16 lanes each. */
template <int C, int ROWS>
__device__ __forceinline__ void normalise(__half *to, const __half *from, const float2 *factors, float eps) {
  constexpr int PAIRS = C / 32, AT_ONCE = 2 * C / 16;
  int lane = threadIdx.x % 16;
#pragma unroll
  for (int base = 0; base < ROWS; base += AT_ONCE) {
    int row = base + threadIdx.x / 16;
    bool there = row < ROWS;
    int start = (there ? row : 0) * PITCH<C> + 2 * lane;
    float2 v[PAIRS];
    float sum = 0, square = 0;
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
      v[i] = unpack2(*reinterpret_cast<const uint32_t *>(from + start + 32 * i));
      sum += v[i].x + v[i].y;
    }
    float mean = add_16_lanes(sum) * (1.0f / C);
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
      v[i].x -= mean;
      v[i].y -= mean;
      square += v[i].x * v[i].x + v[i].y * v[i].y;
    }
    float scale = rsqrtf(add_16_lanes(square) * (1.0f / C) + eps);
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
      float4 f = *reinterpret_cast<const float4 *>(factors + 2 * lane + 32 * i);
      if (there)
        *reinterpret_cast<uint32_t *>(to + start + 32 * i) =
            pack2(v[i].x * scale * f.x + f.y, v[i].y * scale * f.z + f.w);
    }
  }
}

/* --- group norm, then two products --- */

template <int C, int CLUSTER> struct enter_memory {
  float2 partial[TILE][C];
  float2 parts[CLUSTER][C]; /* the picture's sums, from each thread block of the cluster */
  float2 channels[C], factors[C], norm[C];
  __half tile[TILE * PITCH<C>], other[TILE * PITCH<C>];
  uint64_t parts_there;
};

/* Sums of distances to each channel's first value, and of their squares, over rows of the picture. */
template <int C, int CLUSTER>
__device__ __forceinline__ void add_up(const __half *picture, int begin, int end, enter_memory<C, CLUSTER> *m) {
  share<C> mine;
  float sum[8] = {}, square[8] = {}, pivot[8];
  load8(picture + mine.column, pivot);
#pragma unroll 8
  for (int i = begin; i < end; i += TILE) {
    float v[8];
    unpack8(mine.read(picture + (size_t)i * C, C), v);
#pragma unroll
    for (int k = 0; k < 8; k++) {
      float distance = v[k] - pivot[k];
      sum[k] += distance;
      square[k] += distance * distance;
    }
  }
#pragma unroll
  for (int k = 0; k < 8; k += 2)
    *reinterpret_cast<float4 *>(&m->partial[mine.row][mine.column + k]) =
        make_float4(sum[k], square[k], sum[k + 1], square[k + 1]);
}

template <int LINES, int C> __device__ __forceinline__ float2 add_lines(const float2 (&lines)[LINES][C]) {
  float2 total = make_float2(0, 0);
#pragma unroll
  for (int i = 0; i < LINES; i++) {
    total.x += lines[i][threadIdx.x].x;
    total.y += lines[i][threadIdx.x].y;
  }
  return total;
}

/* What a channel's values are multiplied with, and what is added: into m->factors. first and size: its group's. */
template <int C, int CLUSTER>
__device__ __forceinline__ void find_factors(const struct row_enter &p, float pivot, int first, int size,
                                             const vectors<C> &affine, enter_memory<C, CLUSTER> *m) {
  if (CLUSTER > 1) {
    cluster_begun();
    if (threadIdx.x < C) {
      float2 part = add_lines<TILE, C>(m->partial);
#pragma unroll
      for (int to = 0; to < CLUSTER; to++)
        store_remote(&m->parts[blockIdx.x % CLUSTER][threadIdx.x], to, &m->parts_there, part);
    }
    arrivals_wait(&m->parts_there);
  }
  if (threadIdx.x < C) {
    float2 total = CLUSTER > 1 ? add_lines<CLUSTER, C>(m->parts) : add_lines<TILE, C>(m->partial);
    float distance = __fdividef(total.x, (float)p.rows);
    m->channels[threadIdx.x] = make_float2(pivot + distance, total.y - total.x * distance);
  }
  __syncthreads();
  if (threadIdx.x < C) {
    float mean = 0, square = 0;
#pragma unroll 4
    for (int i = 0; i < size; i++)
      mean += m->channels[first + i].x;
    mean = __fdividef(mean, (float)size);
#pragma unroll 4
    for (int i = 0; i < size; i++) {
      float2 channel = m->channels[first + i];
      square += channel.y + (float)p.rows * (channel.x - mean) * (channel.x - mean);
    }
    float variance = __fdividef(fmaxf(square, 0.0f), (float)size * (float)p.rows);
    float scale = affine.gamma * rsqrtf(variance + p.eps);
    m->factors[threadIdx.x] = make_float2(scale, affine.beta - mean * scale);
  }
  __syncthreads();
}

/* The thread blocks of a cluster, all of one picture, share the sums of its group norm. */
template <int C, int CLUSTER>
__global__ void __launch_bounds__(2 * C, 1) enter_kernel(const __grid_constant__ struct row_enter p) {
  extern __shared__ uint4 dynamic_memory[];
  enter_memory<C, CLUSTER> *m = reinterpret_cast<enter_memory<C, CLUSTER> *>(dynamic_memory);
  constexpr int P = PITCH<C>;
  int column = threadIdx.x / 32 * 16, second = blockIdx.y * C, channel = threadIdx.x % C;
  int size = p.groups ? C / p.groups : 1, group = channel / size * size;
  size_t first = (size_t)blockIdx.x * TILE;
  const __half *picture = p.x + first / p.rows * p.rows * C;
  share<C> mine;
  uint4 weights[2][C / 32], next[2][C / 32];
  float2 bias[2], bias2[2];
  vectors<C> affine, layer;
  if (CLUSTER > 1) {
    if (threadIdx.x == 0)
      arrivals_make(&m->parts_there, (int)sizeof m->parts);
    cluster_begin();
  }
  fetch(weights, p.first.weight + (size_t)column * C, C);
  fetch(next, p.second.weight + (size_t)(second + column) * C, C);
  fetch_bias(bias, p.first.bias, column);
  fetch_bias(bias2, p.second.bias, second + column);
  affine.fetch(p.gamma, p.beta);
  layer.fetch(p.norm.gamma, p.norm.beta);
  layer.put(m->norm);
  wait_for_previous();
  uint4 own = mine.read(p.x + first * C, C);
  if (p.groups) {
    float v[8], pivot = __half2float(picture[channel]);
    int each = p.rows / CLUSTER, begin = blockIdx.x % CLUSTER * each;
    add_up(picture, begin, begin + each, m);
    __syncthreads();
    find_factors(p, pivot, group, size, affine, m);
    unpack8(own, v);
#pragma unroll
    for (int i = 0; i < 8; i++) {
      float2 f = m->factors[mine.column + i];
      v[i] = v[i] * f.x + f.y;
    }
    own = make_uint4(pack2(v[0], v[1]), pack2(v[2], v[3]), pack2(v[4], v[5]), pack2(v[6], v[7]));
  }
  mine.share_out(m->tile, own);
  __syncthreads();
  float sum[1][2][4];
  begin(sum, bias);
  multiply(sum, m->tile, P, weights);
  share_rounded(m->other, column, P, sum);
  __syncthreads();
  if (blockIdx.y == 0)
    mine.write(p.y + first * C, C, mine.take(m->other));
  normalise<C, TILE>(m->tile, m->other, m->norm, p.norm.eps);
  __syncthreads();
  begin(sum, bias2);
  multiply(sum, m->tile, P, next);
  share_rounded(m->other, column, P, sum);
  __syncthreads();
  mine.write(p.z + first * p.columns + second, p.columns, mine.take(m->other));
}

/* --- out of an attention, through one to the text --- */

constexpr int TOKENS = 80, HEAD = 64, SCORES_PITCH = TOKENS + 8, POWERS_PITCH = TOKENS + 8;

template <int C> struct attend_memory {
  __half k[TOKENS * PAIR_PITCH<C>], v[TOKENS * PITCH<C>];
  __half tile[TILE * PITCH<C>], other[TILE * PITCH<C>];
  __half powers[C / HEAD][TILE * POWERS_PITCH];
  float scores[C / HEAD][TILE * SCORES_PITCH];
  float2 norm[C];
};

/* Keys and values on their way to shared memory, zeros behind the last. */
template <int C>
__device__ __forceinline__ void fetch_text(const struct row_attend &p, size_t picture, attend_memory<C> *m) {
  constexpr int OCTETS = C / 8, LINES = 2 * C / OCTETS;
  int at = threadIdx.x % OCTETS * 8, token = threadIdx.x / OCTETS;
  const __half *k = p.k + picture * p.k_batch + at, *v = p.v + picture * p.v_batch + at;
  int k_row = (int)p.k_row, v_row = (int)p.v_row;
#pragma unroll
  for (int i = 0; i < TOKENS / LINES; i++, token += LINES) {
    bool there = token < p.tokens;
    int row = there ? token : 0;
    copy16(m->k + token * PAIR_PITCH<C> + at, k + row * k_row, there);
    copy16(m->v + token * PITCH<C> + at, v + row * v_row, there);
  }
  copies_commit();
}

/* The scores of a warp's head that are its own: it and three more take turns. */
template <int C> __device__ __forceinline__ void score(attend_memory<C> *m, int tokens, float scale) {
  int warp = threadIdx.x / 32, head = warp / 4;
#pragma unroll
  for (int i = 0; i < 3; i++) {
    int token = 8 * (warp % 4 + 4 * i);
    if (token >= TOKENS)
      continue;
    uint4 keys[1][2];
    float sum[1][1][4] = {};
#pragma unroll
    for (int s = 0; s < 2; s++)
      keys[0][s] = *reinterpret_cast<const uint4 *>(m->k + (token + lane_row()) * PAIR_PITCH<C> + head * HEAD + 32 * s +
                                                    8 * lane_column());
    multiply(sum, m->other + head * HEAD, PITCH<C>, keys);
    int at = token + 2 * lane_column();
    float *to = m->scores[head] + lane_row() * SCORES_PITCH + at;
#pragma unroll
    for (int half = 0; half < 2; half++)
      *reinterpret_cast<float2 *>(to + 8 * half * SCORES_PITCH) =
          make_float2(at < tokens ? sum[0][0][2 * half] * scale : -INFINITY,
                      at + 1 < tokens ? sum[0][0][2 * half + 1] * scale : -INFINITY);
  }
}

/* Scores to their softmax: a warp takes four rows, of which a lane has three columns. */
template <int C> __device__ __forceinline__ void soften(attend_memory<C> *m) {
  constexpr int ROWS = 4, EACH = 3;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, head = warp / 4, row = warp % 4 * ROWS;
  float p[ROWS][EACH], most[ROWS], total[ROWS];
#pragma unroll
  for (int i = 0; i < ROWS; i++) {
#pragma unroll
    for (int k = 0; k < EACH; k++)
      p[i][k] = lane + 32 * k < TOKENS ? m->scores[head][(row + i) * SCORES_PITCH + lane + 32 * k] : -INFINITY;
    most[i] = fmaxf(p[i][0], fmaxf(p[i][1], p[i][2]));
  }
#pragma unroll
  for (int by = 16; by > 0; by /= 2)
#pragma unroll
    for (int i = 0; i < ROWS; i++)
      most[i] = fmaxf(most[i], __shfl_xor_sync(0xffffffffu, most[i], by));
#pragma unroll
  for (int i = 0; i < ROWS; i++) {
#pragma unroll
    for (int k = 0; k < EACH; k++)
      p[i][k] = __expf(p[i][k] - most[i]);
    total[i] = p[i][0] + p[i][1] + p[i][2];
  }
#pragma unroll
  for (int by = 16; by > 0; by /= 2)
#pragma unroll
    for (int i = 0; i < ROWS; i++)
      total[i] += __shfl_xor_sync(0xffffffffu, total[i], by);
#pragma unroll
  for (int i = 0; i < ROWS; i++) {
    float scale = __fdividef(1.0f, total[i]);
#pragma unroll
    for (int k = 0; k < EACH; k++)
      if (lane + 32 * k < TOKENS)
        m->powers[head][(row + i) * POWERS_PITCH + lane + 32 * k] = __float2half_rn(p[i][k] * scale);
  }
}

/* A warp's 16 columns of the values' mean. */
template <int C> __device__ __forceinline__ void mix(float (&sum)[1][2][4], const attend_memory<C> *m) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const __half *powers = m->powers[warp / 4] + lane % 16 * POWERS_PITCH + lane / 16 * 8;
  const __half *from = m->v + lane % 16 * PITCH<C> + 16 * warp + lane / 16 * 8;
#pragma unroll
  for (int i = 0; i < TOKENS / 16; i++) {
    uint32_t a[4], values[4];
    load_matrices(a, powers + 16 * i);
    load_transposed(values, from + 16 * i * PITCH<C>);
    const uint32_t left[2] = {values[0], values[1]}, right[2] = {values[2], values[3]};
    multiply_add(sum[0][0], a, left);
    multiply_add(sum[0][1], a, right);
  }
}

template <int C>
__global__ void __launch_bounds__(2 * C, 1) attend_kernel(const __grid_constant__ struct row_attend p) {
  extern __shared__ uint4 dynamic_memory[];
  attend_memory<C> *m = reinterpret_cast<attend_memory<C> *>(dynamic_memory);
  constexpr int P = PITCH<C>;
  int column = threadIdx.x / 32 * 16;
  size_t first = (size_t)blockIdx.x * TILE, picture = first / p.rows;
  share<C> mine;
  uint4 weights[2][C / 32], next[2][C / 32];
  float2 bias[2], bias2[2], bias3[2];
  vectors<C> layer;
  fetch(weights, p.first.weight + (size_t)column * C, C);
  fetch(next, p.query.weight + (size_t)column * C, C);
  fetch_bias(bias, p.first.bias, column);
  fetch_bias(bias2, p.query.bias, column);
  fetch_bias(bias3, p.last.bias, column);
  layer.fetch(p.norm.gamma, p.norm.beta);
  layer.put(m->norm);
  wait_for_previous();
  uint4 own = mine.read(p.x + first * C, C);
  halves<1, 2> kept;
  kept.read(p.residual + first * C + column, C);
  fetch_text<C>(p, picture, m);
  mine.share_out(m->tile, own);
  float sum[1][2][4];
  begin(sum, bias);
  __syncthreads();
  multiply(sum, m->tile, P, weights);
  kept.add_to(sum);
  kept = share_rounded(m->other, column, P, sum);
  fetch(weights, p.last.weight + (size_t)column * C, C);
  __syncthreads();
  normalise<C, TILE>(m->tile, m->other, m->norm, p.norm.eps);
  __syncthreads();
  begin(sum, bias2);
  multiply(sum, m->tile, P, next);
  share_rounded(m->other, column, P, sum);
  copies_wait<0>();
  __syncthreads();
  score<C>(m, p.tokens, p.scale);
  __syncthreads();
  soften<C>(m);
  __syncthreads();
  const float2 none[2] = {};
  begin(sum, none);
  mix<C>(sum, m);
  share_rounded(m->tile, column, P, sum);
  __syncthreads();
  begin(sum, bias3);
  multiply(sum, m->tile, P, weights);
  kept.add_to(sum);
  share_rounded(m->other, column, P, sum);
  __syncthreads();
  mine.write(p.y + first * C, C, mine.take(m->other));
}

/* --- feed-forward, way out --- */

/* A cluster takes 16 M rows. Each of its thread blocks makes a part of the wide layer's channels, so has a part of the
 * narrow one's sum for all columns, and adds up its own columns of all parts; then, all having all columns, its own of
 * the last product. */
template <int C, int M, int CLUSTER> struct leave_shape {
  static constexpr int ROWS = 16 * M, OWN = C / CLUSTER, WIDE = 4 * C / CLUSTER, EACH = WIDE / (C / 16);
  static_assert(EACH % 8 == 0 && OWN % 8 == 0, "tensor cores make eight columns");
  struct memory {
    __half x[ROWS * PITCH<C>], tile[ROWS * PITCH<C>];
    __half wide[ROWS * PITCH<WIDE>];
    float parts[CLUSTER][ROWS][OWN];
    float2 norm[C], bias[OWN / 2];
    uint64_t parts_there, rows_there;
  };
};

template <int C, int M, int CLUSTER>
__global__ void __launch_bounds__(2 * C, 1) leave_kernel(const __grid_constant__ struct row_leave p) {
  using S = leave_shape<C, M, CLUSTER>;
  extern __shared__ uint4 dynamic_memory[];
  typename S::memory *m = reinterpret_cast<typename S::memory *>(dynamic_memory);
  constexpr int P = PITCH<C>, N = S::EACH / 8;
  int warp = threadIdx.x / 32, column = warp * 16, rank = blockIdx.x % CLUSTER, own = rank * S::OWN;
  int wide = rank * S::WIDE + warp * S::EACH;
  size_t first = (size_t)(blockIdx.x / CLUSTER) * S::ROWS;
  bool works = warp / M < S::OWN / 8; /* on the last product: 8 columns of 16 rows */
  int last_column = works ? own + warp / M * 8 : own, last_row = warp % M * 16;
  share<C> mine;
  uint4 values[N][C / 32], gates[N][C / 32], narrow[2][S::WIDE / 32], last[1][C / 32];
  float2 value_bias[N], gate_bias[N], last_bias[1];
  vectors<C> layer;
  if (threadIdx.x == 0) {
    arrivals_make(&m->parts_there, (int)sizeof m->parts);
    arrivals_make(&m->rows_there, S::ROWS * C * (int)sizeof(__half));
  }
  cluster_begin();
  fetch(values, p.wide.weight + (size_t)wide * C, C);
  fetch(gates, p.wide.weight + (size_t)(4 * C + wide) * C, C);
  fetch(narrow, p.narrow.weight + (size_t)column * 4 * C + rank * S::WIDE, 4 * C);
  fetch_bias(value_bias, p.wide.bias, wide);
  fetch_bias(gate_bias, p.wide.bias, 4 * C + wide);
  fetch_bias(last_bias, p.last.bias, last_column);
  layer.fetch(p.norm.gamma, p.norm.beta);
  layer.put(m->norm);
  if (threadIdx.x < S::OWN / 2)
    m->bias[threadIdx.x] = p.narrow.bias ? load_pair(p.narrow.bias + own + 2 * threadIdx.x) : make_float2(0, 0);
  wait_for_previous();
  halves<1, 1> residual;
  residual.read(p.residual + (first + last_row) * C + last_column, C);
#pragma unroll
  for (int i = 0; i < M; i++)
    mine.share_out(m->x + 16 * i * P, mine.read(p.x + (first + 16 * i) * C, C));
  __syncthreads();
  normalise<C, S::ROWS>(m->tile, m->x, m->norm, p.norm.eps);
  __syncthreads();
  {
    float value[M][N][4], gate[M][N][4];
    begin(value, value_bias);
    begin(gate, gate_bias);
    multiply(value, m->tile, P, values);
    multiply(gate, m->tile, P, gates);
#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
      for (int j = 0; j < N; j++)
#pragma unroll
        for (int k = 0; k < 4; k++)
          value[i][j][k] *= gelu(gate[i][j][k]);
    share_rounded(m->wide, warp * S::EACH, PITCH<S::WIDE>, value);
  }
  fetch(last, p.last.weight + (size_t)last_column * C, C);
  cluster_begun();
  __syncthreads();
  {
    float sum[M][2][4] = {};
    multiply(sum, m->wide, PITCH<S::WIDE>, narrow);
#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
      for (int j = 0; j < 2; j++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
          int at = column + 8 * j, to = at / S::OWN, row = 16 * i + 8 * half + lane_row();
          store_remote(&m->parts[rank][row][at - to * S::OWN + 2 * lane_column()], to, &m->parts_there,
                       make_float2(sum[i][j][2 * half], sum[i][j][2 * half + 1]));
        }
  }
  arrivals_wait(&m->parts_there);
  for (int i = threadIdx.x; i < S::ROWS * S::OWN / 2; i += 2 * C) {
    int row = i / (S::OWN / 2), at = i % (S::OWN / 2) * 2;
    float2 sum = m->bias[at / 2];
#pragma unroll
    for (int part = 0; part < CLUSTER; part++) {
      float2 add = *reinterpret_cast<const float2 *>(&m->parts[part][row][at]);
      sum.x += add.x;
      sum.y += add.y;
    }
    float2 add = unpack2(*reinterpret_cast<const uint32_t *>(m->x + row * P + place(own + at)));
    uint32_t both = pack2(sum.x + add.x, sum.y + add.y);
#pragma unroll
    for (int part = 0; part < CLUSTER; part++)
      store_remote(m->tile + row * P + place(own + at), part, &m->rows_there, both);
  }
  float sum[1][1][4];
  begin(sum, last_bias);
  if (!works)
    return;
  arrivals_wait(&m->rows_there);
  multiply(sum, m->tile + last_row * P, P, last);
  residual.add_to(sum);
  residual.round(sum);
  residual.write(p.y + (first + last_row) * C + last_column, C);
}

/* --- launching --- */

template <typename... Parameters, typename... Arguments>
cudaError_t launch_cluster(const struct launch_queue *queue, void (*kernel)(Parameters...), dim3 grid, int threads,
                           size_t shared, int cluster, Arguments... arguments) {
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim.x = (unsigned)cluster;
  attributes[1].val.clusterDim.y = 1;
  attributes[1].val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = dim3((unsigned)threads);
  config.dynamicSmemBytes = shared;
  config.stream = queue->stream;
  config.attrs = attributes;
  config.numAttrs = cluster > 1 ? 2 : 1;
  cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
  return status == cudaSuccess ? cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...) : status;
}

bool aligned(const void *pointer) {
  return (uintptr_t)pointer % 16 == 0;
}

bool has_rows(const struct launch_queue *queue, int c, int rows) {
  return queue->overlap && (c == 128 || c == 192) && rows % TILE == 0;
}

template <int C, int CLUSTER> cudaError_t launch_enter(const struct launch_queue *queue, const struct row_enter *a) {
  dim3 grid((unsigned)(a->n * a->rows / TILE), (unsigned)(a->columns / C));
  return launch_cluster(queue, enter_kernel<C, CLUSTER>, grid, 2 * C, sizeof(enter_memory<C, CLUSTER>), CLUSTER, *a);
}

template <int C> cudaError_t launch_enter_any(const struct launch_queue *queue, const struct row_enter *a) {
  enum { SHARED = 8 }; /* below as many tiles, one reads a whole picture as fast as it is told */
  return a->groups && a->rows % (SHARED * TILE) == 0 ? launch_enter<C, SHARED>(queue, a) : launch_enter<C, 1>(queue, a);
}

template <int C> cudaError_t launch_attend(const struct launch_queue *queue, const struct row_attend *a) {
  return launch_cluster(queue, attend_kernel<C>, dim3((unsigned)(a->n * a->rows / TILE)), 2 * C,
                        sizeof(attend_memory<C>), 1, *a);
}

template <int C, int M, int CLUSTER>
cudaError_t launch_leave(const struct launch_queue *queue, const struct row_leave *a) {
  using S = leave_shape<C, M, CLUSTER>;
  return launch_cluster(queue, leave_kernel<C, M, CLUSTER>, dim3((unsigned)(a->rows / S::ROWS * CLUSTER)), 2 * C,
                        sizeof(typename S::memory), CLUSTER, *a);
}

} // namespace

bool row_enter_has_norm(int rows, int c) {
  const int most = 256 * 192; /* of a picture, which each thread block reads: beyond, a launch of its own is faster */
  return rows * c <= most;
}

bool row_enter_supported(const struct launch_queue *queue, const struct row_enter *a) {
  return has_rows(queue, a->c, a->rows) && a->columns % a->c == 0 && aligned(a->x) && aligned(a->y) && aligned(a->z) &&
         aligned(a->first.weight) && aligned(a->second.weight) &&
         (!a->groups || (a->c % a->groups == 0 && row_enter_has_norm(a->rows, a->c)));
}

cudaError_t launch_row_enter(const struct launch_queue *queue, const struct row_enter *a) {
  if (!row_enter_supported(queue, a))
    return cudaErrorNotSupported;
  return a->c == 128 ? launch_enter_any<128>(queue, a) : launch_enter_any<192>(queue, a);
}

bool row_attend_supported(const struct launch_queue *queue, const struct row_attend *a) {
  return has_rows(queue, a->c, a->rows) && a->heads * HEAD == a->c && a->tokens >= 1 && a->tokens <= TOKENS &&
         a->k_row < 1 << 20 && a->v_row < 1 << 20 && a->k_row % 8 == 0 && a->v_row % 8 == 0 && a->k_batch % 8 == 0 &&
         a->v_batch % 8 == 0 && aligned(a->x) && aligned(a->residual) && aligned(a->k) && aligned(a->v) &&
         aligned(a->y) && aligned(a->first.weight) && aligned(a->query.weight) && aligned(a->last.weight);
}

cudaError_t launch_row_attend(const struct launch_queue *queue, const struct row_attend *a) {
  if (!row_attend_supported(queue, a))
    return cudaErrorNotSupported;
  return a->c == 128 ? launch_attend<128>(queue, a) : launch_attend<192>(queue, a);
}

bool row_leave_supported(const struct launch_queue *queue, const struct row_leave *a) {
  const int most = a->c == 128 ? 1024 : 256; /* each cluster reads all weights, so more are faster op by op */
  return has_rows(queue, a->c, a->rows) && a->rows <= most && aligned(a->x) && aligned(a->residual) && aligned(a->y) &&
         aligned(a->wide.weight) && aligned(a->narrow.weight) && aligned(a->last.weight);
}

cudaError_t launch_row_leave(const struct launch_queue *queue, const struct row_leave *a) {
  if (!row_leave_supported(queue, a))
    return cudaErrorNotSupported;
  if (a->c == 128) /* of many rows, clusters of two fill the chip */
    return a->rows > 384 ? launch_leave<128, 1, 2>(queue, a) : launch_leave<128, 1, 8>(queue, a);
  return a->rows % 32 == 0 && a->rows >= 256 ? launch_leave<192, 2, 8>(queue, a) : launch_leave<192, 1, 8>(queue, a);
}
