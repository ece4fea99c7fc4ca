/* What follows the sums of a product that warps hold as results of mma.sync: parts of split sums are added, the
 * epilogue is applied, and results are stored, without a way through shared memory.
 *
 * Each warp has TILES_M x TILES_N fragments of 16 rows and 8 columns. Of each, lane l holds two columns, from
 * 2 (l % 4) on, in rows l / 4 and l / 4 + 8. */
#ifndef CUDA_KERNELS_FRAGMENTS_CUH
#define CUDA_KERNELS_FRAGMENTS_CUH

#include "cuda/kernels/common.cuh"

template <int TILES_M, int TILES_N> struct fragments { float at[TILES_M][TILES_N][4]; };

/* Exchanges values among four neighbouring lanes: lane l % 4 = i gives value j to lane j, which gets it as value i. */
static __device__ __forceinline__ void exchange4(uint32_t v[4]) {
  bool odd = threadIdx.x & 1, high = threadIdx.x & 2;
  uint32_t low = __shfl_xor_sync(~0u, odd ? v[0] : v[1], 1), up = __shfl_xor_sync(~0u, odd ? v[2] : v[3], 1);
  v[0] = odd ? low : v[0], v[1] = odd ? v[1] : low;
  v[2] = odd ? up : v[2], v[3] = odd ? v[3] : up;
  uint32_t first = __shfl_xor_sync(~0u, high ? v[0] : v[2], 2), second = __shfl_xor_sync(~0u, high ? v[1] : v[3], 2);
  v[0] = high ? first : v[0], v[1] = high ? second : v[1];
  v[2] = high ? v[2] : first, v[3] = high ? v[3] : second;
}

/* Adds the fragments of all splits: thread blocks that each have a part of the sum along K. The one that arrives last
 * adds them, in the order of K, and has its own in registers. index: number of the tile; THREADS: number of threads of
 * a thread block, which hold all of a tile's sums; last: in shared memory. Returns true in the thread block that has
 * the complete sums. */
template <int THREADS, int TILES_M, int TILES_N>
static __device__ __forceinline__ bool add_parts(const struct gemm_args &p, int index,
                                                 fragments<TILES_M, TILES_N> &sums, bool *last) {
  constexpr int COUNT = TILES_M * TILES_N;
  constexpr int GROUP = COUNT % 10 == 0 ? 10 : COUNT % 8 == 0 ? 8 : COUNT % 4 == 0 ? 4 : 2; /* parts on their way */
  float4 *all = reinterpret_cast<float4 *>(p.partial) + (size_t)index * p.splits * COUNT * THREADS + threadIdx.x;
  float4 *own = all + (size_t)blockIdx.z * COUNT * THREADS;
#pragma unroll
  for (int f = 0; f < COUNT; f++) {
    const float *v = sums.at[f / TILES_N][f % TILES_N];
    __stcg(own + f * THREADS, make_float4(v[0], v[1], v[2], v[3]));
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    *last = atomicAdd(&p.arrived[index], 1u) == (unsigned)p.splits - 1;
    if (*last)
      p.arrived[index] = 0;
    __threadfence();
  }
  __syncthreads();
  if (!*last)
    return false;
#pragma unroll
  for (int first = 0; first < COUNT; first += GROUP) {
    float4 total[GROUP] = {};
#pragma unroll 2
    for (int s = 0; s < p.splits; s++)
#pragma unroll
      for (int g = 0; g < GROUP; g++) {
        const float *v = sums.at[(first + g) / TILES_N][(first + g) % TILES_N];
        float4 part = make_float4(v[0], v[1], v[2], v[3]);
        if (s != (int)blockIdx.z)
          part = __ldcg(all + ((size_t)s * COUNT + first + g) * THREADS);
        total[g].x += part.x, total[g].y += part.y, total[g].z += part.z, total[g].w += part.w;
      }
#pragma unroll
    for (int g = 0; g < GROUP; g++) {
      float *v = sums.at[(first + g) / TILES_N][(first + g) % TILES_N];
      v[0] = total[g].x, v[1] = total[g].y, v[2] = total[g].z, v[3] = total[g].w;
    }
  }
  return true;
}

/* Adds the sums of two warps that divide K between them: warp k, 0 or 1, gives the other half of what it has, through
 * shared memory (8 TILES_M TILES_N bytes a thread), and gets its own half complete. All threads call it, behind a
 * barrier, and meet at another before the memory is used again. */
template <int THREADS, int TILES_M, int TILES_N>
static __device__ __forceinline__ void halve(const fragments<TILES_M, TILES_N> &sums, int k,
                                             fragments<TILES_M / 2, TILES_N> &half, uint4 *shared) {
  constexpr int H = TILES_M / 2, PAIRS = THREADS / 2;
  float4 *place = reinterpret_cast<float4 *>(shared) + threadIdx.x % PAIRS;
#pragma unroll
  for (int i = 0; i < H; i++)
#pragma unroll
    for (int j = 0; j < TILES_N; j++) {
      float give[4];
#pragma unroll
      for (int e = 0; e < 4; e++) {
        give[e] = k ? sums.at[i][j][e] : sums.at[i + H][j][e];
        half.at[i][j][e] = k ? sums.at[i + H][j][e] : sums.at[i][j][e];
      }
      place[(((k ^ 1) * H + i) * TILES_N + j) * PAIRS] = make_float4(give[0], give[1], give[2], give[3]);
    }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < H; i++)
#pragma unroll
    for (int j = 0; j < TILES_N; j++) {
      float4 got = place[((k * H + i) * TILES_N + j) * PAIRS];
      half.at[i][j][0] += got.x, half.at[i][j][1] += got.y, half.at[i][j][2] += got.z, half.at[i][j][3] += got.w;
    }
}

/* What the epilogue adds to a warp's sums, and where results go. All of it is on its way from memory at a time, since
 * each wait would take as long as a hundred products; but the residual of 128 sums would not fit into registers. */
template <int TILES_M, int TILES_N> struct addends {
  static constexpr bool EARLY = TILES_M * TILES_N <= 20;
  long at[TILES_M];     /* for each 16 rows, index in y of the eight columns that the lane stores; -1: there is none */
  float2 bias[TILES_N]; /* of the lane's columns in each fragment, with the time row */
  uint4 residual[TILES_M][TILES_N / 2];
};

/* Reads what is added. rows.at(r): the row of y of the warp's row r, or -1 where there is none; column: first column of
 * y of the warp; count: number of columns of y, a multiple of 8. */
template <int TILES_M, int TILES_N, class Rows>
static __device__ __forceinline__ void fetch_addends(const struct gemm_args &p, const Rows &rows, int column, int count,
                                                     addends<TILES_M, TILES_N> &add) {
  int q = threadIdx.x % 4;
#pragma unroll
  for (int j = 0; j < TILES_N; j++) {
    int from = column + j * 8 + 2 * q;
    bool there = column + j * 8 < count;
    add.bias[j] = make_float2(0.0f, 0.0f);
    if (p.bias && there)
      add.bias[j] = __ldg(reinterpret_cast<const float2 *>(p.bias + from));
    if (p.time && there) {
      float2 time = unpack2(*reinterpret_cast<const uint32_t *>(p.time + from));
      add.bias[j].x += time.x, add.bias[j].y += time.y;
    }
  }
#pragma unroll
  for (int i = 0; i < TILES_M; i++) {
    long row = rows.at(i * 16 + threadIdx.x % 32 / 4 + q / 2 * 8);
    add.at[i] = row < 0 ? -1 : row * count + column + q % 2 * 8;
#pragma unroll
    for (int j = 0; j < TILES_N / 2 && add.EARLY; j++)
      add.residual[i][j] =
          fetch_residual(p.residual, add.at[i] + j * 16, row >= 0 && column + j * 16 + q % 2 * 8 < count);
  }
}

/* Stores eight columns of a row for each lane. v: two columns each of four fragments' rows, 16 rows by 16 columns, that
 * the lane has, as FP16. */
static __device__ __forceinline__ void store_exchanged(__half *y, long at, bool there, uint32_t v[4]) {
  exchange4(v);
  if (there)
    *reinterpret_cast<uint4 *>(y + at) = make_uint4(v[0], v[1], v[2], v[3]);
}

/* Applies the epilogue, whose activation is none or ReLU, and stores a warp's results. Four lanes exchange what they
 * hold, so that each reads and stores eight columns of a row. */
template <int TILES_M, int TILES_N>
static __device__ __forceinline__ void write_fragments(const struct gemm_args &p, int column, int count,
                                                       const fragments<TILES_M, TILES_N> &sums,
                                                       const addends<TILES_M, TILES_N> &add) {
  bool residual_last = p.residual_last, any = p.residual;
  float least = p.act == ACT_RELU ? 0.0f : -INFINITY, least_first = residual_last ? least : -INFINITY;
  float least_last = residual_last ? -INFINITY : least;
#pragma unroll
  for (int j = 0; j < TILES_N / 2; j++) {
    bool there = column + j * 16 + threadIdx.x % 2 * 8 < count;
    uint4 late[TILES_M];
#pragma unroll
    for (int i = 0; i < TILES_M && !add.EARLY; i++)
      late[i] = fetch_residual(p.residual, add.at[i] + j * 16, add.at[i] >= 0 && there);
#pragma unroll
    for (int i = 0; i < TILES_M; i++) {
      const uint4 &r = add.EARLY ? add.residual[i][j] : late[i];
      uint32_t more[4] = {r.x, r.y, r.z, r.w}, v[4];
      if (any)
        exchange4(more);
#pragma unroll
      for (int item = 0; item < 4; item++) {
        const float *sum = sums.at[i][2 * j + item % 2] + item / 2 * 2;
        float2 bias = add.bias[2 * j + item % 2], last = unpack2(more[item]);
        v[item] = pack2(fmaxf(fmaxf(sum[0] + bias.x, least_first) + last.x, least_last),
                        fmaxf(fmaxf(sum[1] + bias.y, least_first) + last.y, least_last));
      }
      store_exchanged(p.y, add.at[i] + j * 16, add.at[i] >= 0 && there, v);
    }
  }
}

/* Applies the epilogue to 16 rows of a warp's sums in shared memory, WIDE columns each, and stores them, one element at
 * a time: with any activation and any number of columns. rows.at(first) is the first row. */
template <int WIDE, class Rows>
static __device__ __noinline__ void write_elements(const struct gemm_args &p, const Rows rows, int first, int column,
                                                   int count, const float *buffer) {
  struct tail tail = {p.bias, p.time, p.residual, p.act, p.residual_last};
  int width = min(WIDE, count - column);
#pragma unroll 1
  for (int item = threadIdx.x % 32; item < 16 * width; item += 32) {
    int r = item / width, offset = item - r * width;
    long row = rows.at(first + r), at = row * count + column + offset;
    if (row >= 0)
      p.y[at] = __float2half_rn(finish(tail, buffer[r * WIDE + offset], column + offset, at));
  }
}

/* The same for all of a warp's sums. No function that is called gets their address, since the compiler would then keep
 * them in memory. buffer: shared memory of the warp alone, for 16 x 8 TILES_N floats. */
template <int TILES_M, int TILES_N, class Rows>
static __device__ __forceinline__ void write_slowly(const struct gemm_args &p, const Rows &rows, int column, int count,
                                                    const fragments<TILES_M, TILES_N> &sums, float *buffer) {
  constexpr int WIDE = TILES_N * 8;
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < TILES_M; i++) {
    __syncwarp();
#pragma unroll
    for (int j = 0; j < TILES_N; j++)
#pragma unroll
      for (int half = 0; half < 2; half++)
        *reinterpret_cast<float2 *>(buffer + (lane / 4 + half * 8) * WIDE + j * 8 + lane % 4 * 2) =
            make_float2(sums.at[i][j][2 * half], sums.at[i][j][2 * half + 1]);
    __syncwarp();
    write_elements<WIDE>(p, rows, i * 16, column, count, buffer);
  }
}

/* Adds the parts of split sums, applies the epilogue, and stores a warp's results. index: number of the tile; buffer:
 * shared memory of the warp alone, for 16 x 8 TILES_N floats; last: a flag in shared memory. */
template <int THREADS, int TILES_M, int TILES_N, class Rows>
static __device__ __forceinline__ void finish_sums(const struct gemm_args &p, const Rows &rows, int column, int count,
                                                   int index, fragments<TILES_M, TILES_N> &sums, float *buffer,
                                                   bool *last) {
  addends<TILES_M, TILES_N> add;
  bool fast = count % 8 == 0 && is_simple(p.act);
  if (fast)
    fetch_addends(p, rows, column, count, add);
  if (p.splits > 1 && !add_parts<THREADS>(p, index, sums, last))
    return;
  if (fast)
    write_fragments(p, column, count, sums, add);
  else
    write_slowly(p, rows, column, count, sums, buffer);
}

#endif
