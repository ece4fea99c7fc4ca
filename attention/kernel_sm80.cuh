/* Flash attention with cp.async and mma.sync.m16n8k16: for compute capability 8.0 and up, any length, causal or not.
 *
 * A block of threads owns BM rows of one head's queries and goes through the keys in blocks of BN:
 *
 *                keys, BN at a time ->
 *              +------+------+------+--     S = Q K^T        16 x BN a warp, in registers
 *     queries  |  S   |  S'  |      |       P = 2^(S - m),   packed in registers to an A operand
 *     (BM)     +------+------+------+--     O = O 2^(m_old - m) + P V
 *
 * Each warp owns 16 rows, so no softmax crosses warps. Q stays in registers. Keys and values come through shared
 * memory, in two stages: while one block is used, the next is loaded. Rows in shared memory are swizzled (SharedRows),
 * which lets ldmatrix read eight rows without a bank conflict for any head dim.
 *
 * There are four shapes of thread blocks:
 *   tall    4 warps own 64 rows and share each block of keys
 *   short   as tall, with blocks of 80 keys: one block has all tokens of a prompt (77)
 *   wide    4 warps own the same 16 rows and split the keys between them (block j goes to warp j % 4), each with
 *           buffers of its own and no barrier in the loop; their partial results are merged at the end. This gives
 *           four times as many thread blocks, for few heads and short rows
 *   sliced  for head dims above 160, whose O would not fit into a warp's registers: 4 warps share 16 rows and all
 *           keys, and split the channels. Each multiplies its own channels of Q and K, and the four parts of a score
 *           are added up through shared memory. From there on a warp works as if it were alone, with its own channels
 *           of V and O
 *
 * Arithmetic: 4 Tq Tk D operations a head. Q, K, V, O are read or written once from memory (K and V again from L2 for
 * each row tile), so beyond a few hundred keys the tensor cores and the exponentials bound it, not memory. */
#ifndef ATTENTION_KERNEL_SM80_CUH
#define ATTENTION_KERNEL_SM80_CUH

#include "attention.h"
#include "softmax.cuh"
#include "tiles.h"

namespace attention {

__device__ __forceinline__ uint32_t shared_address(const void *p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

/* Starts to copy 16 bytes from global to shared memory; if `valid` is false, writes zeros instead. */
__device__ __forceinline__ void copy16_async(uint32_t to, const void *from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid ? 16 : 0) : "memory");
}

__device__ __forceinline__ void copies_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int PENDING> __device__ __forceinline__ void copies_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

__device__ __forceinline__ void load_matrices(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

__device__ __forceinline__ void load_matrices_transposed(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

__device__ __forceinline__ void multiply_add(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* Copies rows `first` to `first + ROWS - 1` of one head to shared memory, with zeros for rows from `limit` on and for
 * channels from D on. */
template <int DP, int ROWS, int THREADS>
__device__ __forceinline__ void load_rows(uint32_t to, const __half *from, long row_stride, int first, int limit, int D,
                                          int thread) {
  constexpr int CHUNKS = DP / 8;
#pragma unroll
  for (int i = thread; i < ROWS * CHUNKS; i += THREADS) {
    int row = i / CHUNKS, chunk = i % CHUNKS;
    bool valid = first + row < limit && chunk * 8 < D;
    const __half *source = valid ? from + (first + row) * row_stride + chunk * 8 : from;
    copy16_async(to + SharedRows<DP>::at(row, chunk), source, valid);
  }
}

/* Where the keys and values of one head are: in k and v, or those that are appended to them in k2 and v2. */
struct Segment {
  const __half *k, *v;
  long k_row, v_row;
  int count;
};

/* The blocks of BN keys that a thread block goes through: first the keys in k (segment one), then those in k2, which
 * come from earlier frames (segment two). No block has keys of both. */
template <class T> struct KeyBlocks {
  Segment one, two;
  int split, total; /* split: number of key blocks in k; total: in k and k2 together */

  __device__ __forceinline__ KeyBlocks(const attn_args &a, int b, int h, int columns) {
    one.k = static_cast<const __half *>(a.k) + b * a.k_batch + h * a.D;
    one.v = static_cast<const __half *>(a.v) + b * a.v_batch + h * a.D;
    two.k = static_cast<const __half *>(a.k2) + b * a.k2_batch + h * a.D;
    two.v = static_cast<const __half *>(a.v2) + b * a.v2_batch + h * a.D;
    one.k_row = a.k_row, one.v_row = a.v_row, two.k_row = a.k2_row, two.v_row = a.v2_row;
    one.count = columns;
    int rows = max(a.count2_rows, 1);
    two.count = a.k2 ? attn_second_keys(*a.count2, a.Tk2 / rows, rows) : 0;
    split = (one.count + T::BN - 1) / T::BN;
    total = split + (two.count + T::BN - 1) / T::BN;
  }

  /* first() returns the index, within k or k2, of the first key in key block j. valid() returns the number of keys from
   * that key to the end of k or k2. */
  __device__ __forceinline__ int first(int j) const {
    return (j < split ? j : j - split) * T::BN;
  }
  __device__ __forceinline__ int valid(int j) const {
    return (j < split ? one.count : two.count) - first(j);
  }

  __device__ __forceinline__ void load(int j, uint32_t to, int D, int thread) const {
    constexpr int THREADS = T::GROUP_THREADS;
    bool in_one = j < split;
    const __half *k = in_one ? one.k : two.k, *v = in_one ? one.v : two.v;
    long k_row = in_one ? one.k_row : two.k_row, v_row = in_one ? one.v_row : two.v_row;
    int count = in_one ? one.count : two.count;
    load_rows<T::DP, T::BN, THREADS>(to, k, k_row, first(j), count, D, thread);
    load_rows<T::DP, T::BN, THREADS>(to + T::TILE_BYTES, v, v_row, first(j), count, D, thread);
  }
};

/* Computes the scores S = Q K^T for a warp's 16 rows, over the warp's channels. */
template <class T>
__device__ __forceinline__ void multiply_keys(float (&s)[T::BN / 8][4], const uint32_t (&q)[T::SLICE / 16][4],
                                              uint32_t keys, int lane) {
  uint32_t address = keys + T::Rows::at(lane % 8 + lane / 16 * 8, lane / 8 % 2);
#pragma unroll
  for (int g = 0; g < T::BN / 8; g++)
#pragma unroll
    for (int i = 0; i < 4; i++)
      s[g][i] = 0;
#pragma unroll
  for (int d = 0; d < T::SLICE / 16; d++)
#pragma unroll
    for (int g = 0; g < T::BN / 8; g += 2) {
      uint32_t b[4];
      load_matrices(b, T::Rows::further(address, 2 * d) + g * 8 * T::Rows::BYTES);
      multiply_add(s[g], q[d], b[0], b[1]);
      multiply_add(s[g + 1], q[d], b[2], b[3]);
    }
}

/* Adds up the parts of each score: the SLICES warps with the same rows have each computed one from their own channels.
 * All of them add the parts in the same order, and so get the same bits. exchange: [SLICES][BN / 8][32] float4 of
 * shared memory, free again after the next barrier of these warps. */
template <class T>
__device__ __forceinline__ void add_slices(float (&s)[T::BN / 8][4], float4 *exchange, int row_warp, int slice,
                                           int lane) {
#pragma unroll
  for (int g = 0; g < T::BN / 8; g++)
    exchange[(slice * (T::BN / 8) + g) * 32 + lane] = make_float4(s[g][0], s[g][1], s[g][2], s[g][3]);
  asm volatile("bar.sync %0, %1;" ::"r"(1 + row_warp), "n"(32 * T::SLICES) : "memory");
#pragma unroll
  for (int g = 0; g < T::BN / 8; g++) {
    float4 sum = exchange[g * 32 + lane];
#pragma unroll
    for (int i = 1; i < T::SLICES; i++) {
      float4 x = exchange[(i * (T::BN / 8) + g) * 32 + lane];
      sum.x += x.x;
      sum.y += x.y;
      sum.z += x.z;
      sum.w += x.w;
    }
    s[g][0] = sum.x, s[g][1] = sum.y, s[g][2] = sum.z, s[g][3] = sum.w;
  }
}

/* Adds P V to O for a warp's 16 rows and its channels. */
template <class T>
__device__ __forceinline__ void multiply_values(float (&o)[T::SLICE / 8][4], const uint32_t (&p)[T::BN / 16][4],
                                                uint32_t values, int lane) {
  uint32_t address = values + T::Rows::at(lane % 16, lane / 16);
#pragma unroll
  for (int k = 0; k < T::BN / 16; k++)
#pragma unroll
    for (int g = 0; g < T::SLICE / 8; g += 2) {
      uint32_t b[4];
      load_matrices_transposed(b, T::Rows::further(address, g) + k * 16 * T::Rows::BYTES);
      multiply_add(o[g], p[k], b[0], b[1]);
      multiply_add(o[g + 1], p[k], b[2], b[3]);
    }
}

/* Masks the elements of a tile of scores that causal attention must not use: column c of row r, if first + c > r.
 * first: the number of the tile's first key. */
template <int GROUPS>
__device__ __forceinline__ void mask_causal(float (&s)[GROUPS][4], int first, int row, int column) {
#pragma unroll
  for (int g = 0; g < GROUPS; g++)
#pragma unroll
    for (int i = 0; i < 4; i++)
      if (first + 8 * g + column + i % 2 > row + i / 2 * 8)
        s[g][i] = -CUDART_INF_F;
}

/* Stores a warp's part of O as FP16. The values are first rearranged in shared memory (staging) to rows of 16-byte
 * chunks. out, staging: where the warp's first channel is stored; channels: number of the warp's channels. */
template <class T>
__device__ __forceinline__ void store_rows(const attn_args &a, __half *out, char *staging, float (&o)[T::SLICE / 8][4],
                                           int first, int channels, int lane) {
#pragma unroll
  for (int g = 0; g < T::SLICE / 8; g++) {
    char *to = staging + T::Rows::at(lane / 4, g) + lane % 4 * 4;
    *reinterpret_cast<uint32_t *>(to) = pack_result(o[g][0], o[g][1]);
    *reinterpret_cast<uint32_t *>(to + 8 * T::Rows::BYTES) = pack_result(o[g][2], o[g][3]);
  }
  __syncwarp();
  int chunks = channels / 8;
  for (int i = lane; i < 16 * chunks; i += 32) {
    int row = i / chunks, chunk = i % chunks;
    if (first + row < a.Tq)
      *reinterpret_cast<uint4 *>(out + (first + row) * a.o_row + chunk * 8) =
          *reinterpret_cast<const uint4 *>(staging + T::Rows::at(row, chunk));
  }
}

/* Merges the results of the warps that have the same rows and different keys (the wide shape): each warp writes its
 * partial result to shared memory, then all threads combine them and store the sum. */
template <class T>
__device__ __forceinline__ void merge_rows(const attn_args &a, __half *out, char *shared, float (&o)[T::DP / 8][4],
                                           const OnlineSoftmax &softmax, float scale, int first) {
  constexpr int PITCH = T::DP + 4;
  float *partial = reinterpret_cast<float *>(shared); /* partial results of the warps: [KEY_GROUPS][16][PITCH] */
  float *maxima = partial + T::KEY_GROUPS * 16 * PITCH, *sums = maxima + T::KEY_GROUPS * 16;
  int lane = threadIdx.x % 32, group = threadIdx.x / 32;
  /* After this barrier no warp reads the buffers of keys and values any more, so they are overwritten. */
  __syncthreads();
#pragma unroll
  for (int r = 0; r < 2; r++) {
    int row = group * 16 + lane / 4 + 8 * r;
    float sum = quad_sum(softmax.sum[r]);
    maxima[row] = softmax.max[r];
    sums[row] = sum;
#pragma unroll
    for (int g = 0; g < T::DP / 8; g++)
      *reinterpret_cast<float2 *>(partial + row * PITCH + 8 * g + lane % 4 * 2) =
          make_float2(o[g][2 * r], o[g][2 * r + 1]);
  }
  __syncthreads();
  int chunks = a.D / 8;
  for (int i = threadIdx.x; i < 16 * chunks; i += T::THREADS) {
    int row = i / chunks, chunk = i % chunks;
    if (first + row >= a.Tq)
      continue;
    float top = maxima[row], sum = 0, value[8] = {};
    for (int g = 1; g < T::KEY_GROUPS; g++)
      top = fmaxf(top, maxima[g * 16 + row]);
    for (int g = 0; g < T::KEY_GROUPS; g++) {
      float weight = weight_of(maxima[g * 16 + row], top, scale);
      sum += weight * sums[g * 16 + row];
      for (int c = 0; c < 8; c++)
        value[c] += weight * partial[(g * 16 + row) * PITCH + chunk * 8 + c];
    }
    float inverse = inverse_approx(sum);
    uint4 packed = {
        pack_result(value[0] * inverse, value[1] * inverse), pack_result(value[2] * inverse, value[3] * inverse),
        pack_result(value[4] * inverse, value[5] * inverse), pack_result(value[6] * inverse, value[7] * inverse)};
    *reinterpret_cast<uint4 *>(out + (first + row) * a.o_row + chunk * 8) = packed;
  }
}

template <class T> __device__ __forceinline__ void group_barrier() {
  if constexpr (T::GROUP_THREADS == 32)
    __syncwarp();
  else
    __syncthreads();
}

/* The generic kernel. Its grid is row tiles x heads x batch rows. */
template <class T> __global__ void __launch_bounds__(T::THREADS) attention_sm80_kernel(const attn_args a) {
  extern __shared__ __align__(128) char shared[];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int group = warp / (T::ROW_WARPS * T::SLICES), row_warp = warp / T::SLICES % T::ROW_WARPS, slice = warp % T::SLICES;
  int group_thread = threadIdx.x % T::GROUP_THREADS, first_channel = slice * T::SLICE;
  int tile = blockIdx.x * T::BM, h = blockIdx.y, b = blockIdx.z;
  int first = tile + row_warp * 16; /* number of the warp's first row of q */

  int columns = a.causal ? min(a.Tk, tile + T::BM) : a.Tk;
  KeyBlocks<T> keys(a, b, h, columns);
  int blocks = keys.total;

  /* the two buffers (stages) of keys and values that this group of warps uses in turn */
  char *buffers = shared + T::Q_BYTES + group * 2 * T::STAGE_BYTES;
  uint32_t stages = shared_address(buffers);
  char *own_q = shared + row_warp * 16 * T::Rows::BYTES + first_channel * 2;
  /* memory that holds Q at first, and through which warps later exchange parts of scores */
  float4 *exchange = reinterpret_cast<float4 *>(shared) + row_warp * T::SLICES * (T::BN / 8) * 32;
  /* Load Q and the first block of keys and values. */
  load_rows<T::DP, T::BM, T::THREADS>(shared_address(shared),
                                      static_cast<const __half *>(a.q) + b * a.q_batch + h * a.D, a.q_row, tile, a.Tq,
                                      a.D, threadIdx.x);
  copies_commit();
  if (group < blocks)
    keys.load(group, stages, a.D, group_thread);
  copies_commit();
  copies_wait<1>();
  __syncthreads();
  /* Load Q from shared memory to registers. */
  uint32_t q[T::SLICE / 16][4];
#pragma unroll
  for (int d = 0; d < T::SLICE / 16; d++)
    load_matrices(q[d], shared_address(own_q) + T::Rows::at(lane % 16, 2 * d + lane / 16));

  float scale = scale_of(a), keep[2], top[2];
  float o[T::SLICE / 8][4] = {};
  OnlineSoftmax softmax;
  softmax.reset();
  for (int j = group, i = 0; j < blocks; j += T::KEY_GROUPS, i ^= 1) {
    /* Start to load the next block of keys and values, and wait for the present one. */
    if (j + T::KEY_GROUPS < blocks)
      keys.load(j + T::KEY_GROUPS, stages + (i ^ 1) * T::STAGE_BYTES, a.D, group_thread);
    copies_commit();
    copies_wait<1>();
    group_barrier<T>();

    /* Scores: S = Q K^T, masked. */
    float s[T::BN / 8][4];
    uint32_t p[T::BN / 16][4];
    multiply_keys<T>(s, q, stages + i * T::STAGE_BYTES + first_channel * 2, lane);
    if constexpr (T::SLICES > 1)
      add_slices<T>(s, exchange, row_warp, slice, lane);
    if (keys.valid(j) < T::BN)
      mask_columns(s, keys.valid(j), lane % 4 * 2);
    if (a.causal && keys.first(j) + T::BN > first)
      mask_causal(s, keys.first(j), first + lane / 4, lane % 4 * 2);
    /* Online softmax: rescale O if the reference m (the score that is subtracted) changes, then P = 2^(S - m). */
    largest(s, top);
    if (softmax.expect(top, scale, keep))
      scale_rows<T::SLICE / 8>(o, keep);
    softmax.exponentiate<true>(s, scale);
    /* O += P V, for the warp's rows. */
    pack_tile(p, s);
    multiply_values<T>(o, p, stages + i * T::STAGE_BYTES + T::TILE_BYTES + first_channel * 2, lane);
    group_barrier<T>();
  }

  /* Divide O by the row sums and store it. */
  __half *out = static_cast<__half *>(a.o) + b * a.o_batch + h * a.D;
  if constexpr (T::KEY_GROUPS > 1) {
    merge_rows<T>(a, out, shared, o, softmax, scale, first);
  } else {
    float inverse[2] = {inverse_approx(quad_sum(softmax.sum[0])), inverse_approx(quad_sum(softmax.sum[1]))};
    scale_rows<T::SLICE / 8>(o, inverse);
    store_rows<T>(a, out + first_channel, own_q, o, first, min(max(a.D - first_channel, 0), T::SLICE), lane);
  }
}

template <class T> cudaError_t launch_sm80_tile(const attn_args &a, cudaStream_t stream) {
  cudaError_t status =
      cudaFuncSetAttribute(attention_sm80_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, T::SHARED_BYTES);
  if (status != cudaSuccess)
    return status;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((a.Tq + T::BM - 1) / T::BM, a.H, a.B);
  config.blockDim = dim3(T::THREADS);
  /* One block of keys needs one stage, so that more thread blocks fit a multiprocessor. */
  bool one_block = T::KEY_GROUPS == 1 && a.Tk <= T::BN && !a.k2;
  config.dynamicSmemBytes = T::SHARED_BYTES - (one_block ? T::STAGE_BYTES : 0);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, attention_sm80_kernel<T>, a);
}

template <int DP> cudaError_t launch_sm80(const attn_args &a, shape_sm80 shape, cudaStream_t stream) {
  if constexpr (DP > UNSPLIT_DIM_MAX) {
    return shape == SM80_TALL ? launch_sm80_tile<TileSm80<DP, 2, 1, 16, 4>>(a, stream) : cudaErrorNotSupported;
  } else {
    if (shape == SM80_WIDE)
      return launch_sm80_tile<TileSm80<DP, 1, 4, tile_keys_sm80_wide(DP)>>(a, stream);
    if constexpr (DP <= SHORT_DIM_MAX)
      if (shape == SM80_SHORT)
        return launch_sm80_tile<TileSm80<DP, 4, 1, SHORT_KEYS>>(a, stream);
    return launch_sm80_tile<TileSm80<DP, 4, 1, tile_keys_sm80(DP)>>(a, stream);
  }
}

} // namespace attention

#endif
