/* The sums of products that gemm.cu's warps hold in registers.
 *
 * FP16 sums: some tiles add the products of a span, one step of 16 along K, in FP16, beginning with 0, and add the
 * span's sum to an FP32 sum. ways/gemm.c has the bound of the error.
 *
 * Any FP16 values may be multiplied, so a span's sum may be beyond 65504, the largest FP16 number. It is then infinite,
 * or no number where infinities of both signs meet, and so is each FP32 sum that it is added to. A thread block that
 * finds such a sum when it has multiplied its last block does all of its blocks once more with FP32 sums alone. So its
 * results are never worse than those of a tile without a span; they take more than twice the time. */
#ifndef CUDA_KERNELS_GEMM_SUMS_CUH
#define CUDA_KERNELS_GEMM_SUMS_CUH

#include "cuda/kernels/common.cuh"

namespace {

/* What a warp multiplies in one step along K: 16 columns of A's rows and of W's. */
template <class T> struct operands { uint32_t a[T::WARP_M / 16][4], b[T::WARP_N / 16][4]; };

/* The sums of a warp's part of the tile. */
template <class T> struct accumulator {
  static constexpr int TILES_M = T::WARP_M / 16, TILES_N = T::WARP_N / 8;
  float sum[TILES_M][TILES_N][4];
  /* m, n: first row and first column of the warp's part of the tile; k: index of the warp among those that divide K
   * between them */
  int m, n, k;

  __device__ __forceinline__ accumulator() {
    int warp = threadIdx.x / 32, place_mn = warp % (T::WARPS_M * T::WARPS_N);
    k = warp / (T::WARPS_M * T::WARPS_N);
    m = place_mn % T::WARPS_M * T::WARP_M;
    n = place_mn / T::WARPS_M * T::WARP_N;
    clear();
  }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < TILES_M; i++)
#pragma unroll
      for (int j = 0; j < TILES_N; j++)
#pragma unroll
        for (int e = 0; e < 4; e++)
          sum[i][j][e] = 0.0f;
  }

  /* Loads the operands of one step from a stage (buffer in shared memory). */
  __device__ __forceinline__ void load(operands<T> &to, const uint4 *stage, int step) const {
    int lane = threadIdx.x % 32, chunk = (step * T::WARPS_K + k) * 2;
    int a_row = lane % 16, b_row = lane % 8 + lane / 16 * 8;
    /* the first rows m and n are multiples of 16, which the swizzle does not see */
    const uint4 *a = stage + (m + a_row) * T::CHUNKS + ((chunk + lane / 16) ^ T::swizzle(a_row));
    const uint4 *b = stage + (T::M + n + b_row) * T::CHUNKS + ((chunk + lane / 8 % 2) ^ T::swizzle(b_row));
#pragma unroll
    for (int i = 0; i < TILES_M; i++)
      load_matrices(to.a[i], a + i * 16 * T::CHUNKS);
#pragma unroll
    for (int j = 0; j < TILES_N / 2; j++)
      load_matrices(to.b[j], b + j * 16 * T::CHUNKS);
  }

  __device__ __forceinline__ void multiply(const operands<T> &by) {
#pragma unroll
    for (int i = 0; i < TILES_M; i++)
#pragma unroll
      for (int j = 0; j < TILES_N; j++)
        multiply_add(sum[i][j], by.a[i], &by.b[j / 2][j % 2 * 2]);
  }

  /* Does the same with FP16 sums: the step is a span. */
  __device__ __forceinline__ void multiply_span(const operands<T> &by) {
#pragma unroll
    for (int i = 0; i < TILES_M; i++)
#pragma unroll
      for (int j = 0; j < TILES_N; j++) {
        uint32_t half[2] = {0, 0};
        multiply_add_f16(half, by.a[i], &by.b[j / 2][j % 2 * 2]);
#pragma unroll
        for (int e = 0; e < 2; e++) {
          float2 two = unpack2(half[e]);
          sum[i][j][2 * e] += two.x, sum[i][j][2 * e + 1] += two.y;
        }
      }
  }

  /* Returns true if no sum of the thread is infinite or no number. */
  __device__ __forceinline__ bool is_finite() const {
    float zero = 0.0f;
#pragma unroll
    for (int i = 0; i < TILES_M; i++)
#pragma unroll
      for (int j = 0; j < TILES_N; j++)
#pragma unroll
        for (int e = 0; e < 4; e++)
          zero += 0.0f * sum[i][j][e];
    return zero == 0.0f;
  }

  /* Stores the sums of the whole tile in shared memory. Warps that divide K between them add their sums one after the
   * other. */
  __device__ __forceinline__ void gather(float *tile) const {
    int lane = threadIdx.x % 32;
    for (int turn = T::WARPS_K - 1; turn >= 0; turn--) {
      __syncthreads();
      if (turn == k)
#pragma unroll
        for (int i = 0; i < TILES_M; i++)
#pragma unroll
          for (int j = 0; j < TILES_N; j++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
              float2 *to = reinterpret_cast<float2 *>(tile + (m + i * 16 + lane / 4 + half * 8) * T::SUM_PITCH + n +
                                                      j * 8 + lane % 4 * 2);
              float2 two = make_float2(sum[i][j][2 * half], sum[i][j][2 * half + 1]);
              if (turn < T::WARPS_K - 1)
                two.x += to->x, two.y += to->y;
              *to = two;
            }
    }
    __syncthreads();
  }
};

} // namespace

#endif
