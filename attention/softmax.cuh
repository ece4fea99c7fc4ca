/* Online softmax over tiles of scores in registers.
 *
 * mma.m16n8k16 and wgmma.m64nNk16 give each thread the same part of an accumulator: of the 16 rows of its warp the rows
 * lane / 4 and lane / 4 + 8, and of each group of 8 columns the two at 2 * (lane % 4):
 *
 *   tile[g][0], tile[g][1]:  row lane / 4,      columns 8 g + 2 (lane % 4) and the next
 *   tile[g][2], tile[g][3]:  row lane / 4 + 8,  the same columns
 *
 * Four neighbouring threads (a quad) share a row. Two groups of columns, packed to FP16, are a thread's part of the A
 * operand of the next product, so probabilities never leave registers. */
#ifndef ATTENTION_SOFTMAX_CUH
#define ATTENTION_SOFTMAX_CUH

#include <cuda_fp16.h>
#include <math_constants.h>

#include <stdint.h>

namespace attention {

/* log2 of the factor by which a row's maximum may grow before the accumulator is rescaled. Until then probabilities,
 * which are relative to the older maximum, may reach 256; that costs FP16 no precision. After the first blocks hardly
 * any rescaling is left. */
constexpr float RESCALE_THRESHOLD = 8;

__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ uint32_t pack_half2(float low, float high) {
  __half2 h = __floats2half2_rn(low, high);
  return *reinterpret_cast<uint32_t *>(&h);
}

/* Packs two results to FP16, clamped to its finite range. Results are weighted means of V; but the weights are rounded
 * to FP16, so that a mean of values near 65504 could round to infinity. NaN stays NaN. */
__device__ __forceinline__ uint32_t pack_result(float low, float high) {
  const __half2 LARGEST = __floats2half2_rn(65504, 65504);
  __half2 h = __hmin2_nan(__hmax2_nan(__floats2half2_rn(low, high), __hneg2(LARGEST)), LARGEST);
  return *reinterpret_cast<uint32_t *>(&h);
}

__device__ __forceinline__ float inverse_approx(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffff, x, 2));
}

__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(0xffffffff, x, 1);
  return x + __shfl_xor_sync(0xffffffff, x, 2);
}

/* How the reference m of a row is used: the score that is subtracted from all of the row's scores. Probabilities are
 * 2^(scale * (score - m)), where m is the largest score seen when m was last chosen.
 *
 * As fma(score, scale, -round(scale * m)) this takes one instruction a score. The rounding error is the same for the
 * whole row: a common factor, which the division by the row's sum cancels. But it must not be large: a float near 2^28
 * is off by up to 2^3, and a float near 2^35 (which occurs with FP16's largest values) by up to 2^10. So in rows whose
 * scale * m is beyond FAR, m is subtracted from the scores first, which is exact for scores near m, and the difference
 * is multiplied by scale. */
/* up to this value of scale * m, rounding changes all probabilities of a row by a factor below 2^(2^-4), so that FP16
 * can still hold them */
constexpr float FAR = 1 << 20;

__device__ __forceinline__ bool is_far(float m, float scale) {
  return fabsf(m * scale) > FAR;
}

/* Returns the factor 2^(scale * (m - larger)): when a row's reference grows from m to `larger`, probabilities computed
 * with m must be multiplied by it. It is rounded in the same way as the exponents of these probabilities. m may be
 * -inf; `larger` must not be. */
__device__ __forceinline__ float weight_of(float m, float larger, float scale) {
  /* m * scale and larger * scale are rounded before the subtraction (no fused multiply-add), because the probabilities
   * were computed with the rounded m * scale. */
  float near_m = __fmul_rn(m, scale), near_larger = __fmul_rn(larger, scale);
  float power = near_m - near_larger;
  bool far_m = is_far(m, scale), far_larger = is_far(larger, scale);
  if (far_m || far_larger)
    power = !far_m ? fmaf(-larger, scale, near_m) : !far_larger ? fmaf(m, scale, -near_larger) : (m - larger) * scale;
  return exp2_approx(power);
}

/* The state of the online softmax for a thread's two rows of scores. */
struct OnlineSoftmax {
  /* the reference m of each row: the score that is subtracted from all scores of the row; -inf before the first
   * score */
  float max[2];
  float limit[2]; /* score of each row above which its reference m is replaced */
  /* number that is added to each scaled score of the row: -scale * m; 0 if m is subtracted before scaling (FAR) */
  float offset[2];
  float sum[2]; /* sum of the probabilities in this thread's own columns */
  bool far;     /* true: scale * m of some row of this warp is beyond FAR, so that m is subtracted before scaling */

  __device__ __forceinline__ void reset() {
#pragma unroll
    for (int r = 0; r < 2; r++) {
      max[r] = limit[r] = -CUDART_INF_F;
      offset[r] = sum[r] = 0;
    }
    far = false;
  }

  /* Chooses the reference m of each row (the score that is subtracted from all) from the row's first scores. top: this
   * thread's largest score of each of its two rows. */
  __device__ __forceinline__ void begin(const float (&top)[2], float scale) {
    refer_to({quad_max(top[0]), quad_max(top[1])}, scale);
  }

  /* Compares the reference m of each row with further scores, and replaces m if they are too large. top: this thread's
   * largest score of each of its two rows. Returns true if m changed in any row of the warp; the caller must then
   * multiply what it has accumulated by keep[row]. */
  __device__ __forceinline__ bool expect(const float (&top)[2], float scale, float (&keep)[2]) {
    float seen[2] = {quad_max(top[0]), quad_max(top[1])};
    keep[0] = keep[1] = 1;
    if (__all_sync(0xffffffff, seen[0] <= limit[0] && seen[1] <= limit[1]))
      return false;
    float before[2] = {max[0], max[1]};
    refer_to({fmaxf(before[0], seen[0]), fmaxf(before[1], seen[1])}, scale);
#pragma unroll
    for (int r = 0; r < 2; r++) {
      keep[r] = max[r] == -CUDART_INF_F ? 1 : weight_of(before[r], max[r], scale);
      sum[r] *= keep[r];
    }
    return true;
  }

  /* Turns scores into 2^(scale * (score - m) + zero), where m is the row's reference, set by begin() or expect(). ADD:
   * true: also adds the results to `sum`. zero is always 0. The caller reads it from memory where the compiler must not
   * move this calculation to an earlier point. */
  template <bool ADD, int GROUPS>
  __device__ __forceinline__ void exponentiate(float (&tile)[GROUPS][4], float scale, float zero = 0) {
    if (far)
      subtract_first(tile, scale);
    float from[2] = {offset[0] + zero, offset[1] + zero}, added[4] = {};
#pragma unroll
    for (int g = 0; g < GROUPS; g++)
#pragma unroll
      for (int i = 0; i < 4; i++) {
        tile[g][i] = exp2_approx(fmaf(tile[g][i], scale, from[i / 2]));
        if (ADD)
          added[i] += tile[g][i];
      }
    if (ADD) {
      sum[0] += added[0] + added[1];
      sum[1] += added[2] + added[3];
    }
  }

  /* Does the same with one group of columns, and adds the results to `sum`. Before that subtract_first() must have been
   * called with it if `far` is true. */
  __device__ __forceinline__ void exponentiate_group(float (&group)[4], float scale) {
#pragma unroll
    for (int i = 0; i < 4; i++)
      group[i] = exp2_approx(fmaf(group[i], scale, offset[i / 2]));
    sum[0] += group[0] + group[1];
    sum[1] += group[2] + group[3];
  }

  /* Subtracts the reference m from the scores of rows for which scale * m is beyond FAR. */
  template <int GROUPS> __device__ __forceinline__ void subtract_first(float (&tile)[GROUPS][4], float scale) const {
    float m[2];
#pragma unroll
    for (int r = 0; r < 2; r++)
      m[r] = is_far(max[r], scale) && max[r] != -CUDART_INF_F ? max[r] : 0;
#pragma unroll
    for (int g = 0; g < GROUPS; g++)
#pragma unroll
      for (int i = 0; i < 4; i++)
        tile[g][i] -= m[i / 2];
  }

private:
  struct Rows {
    float row[2];
  };

  /* Makes m.row[r] the reference of row r from now on. If row r has no score yet, m.row[r] is -inf. is_far is true for
   * it, so offset[r] is 0 and the row's scores stay as they are. */
  __device__ __forceinline__ void refer_to(Rows m, float scale) {
    bool row_far[2] = {is_far(m.row[0], scale), is_far(m.row[1], scale)};
#pragma unroll
    for (int r = 0; r < 2; r++) {
      max[r] = m.row[r];
      /* The limit is rounded down. Rounded to the nearest it could be too high, and scores just below it could get
       * probabilities that are 2^16 times larger than intended. */
      limit[r] = __fadd_rd(m.row[r], __fdividef(RESCALE_THRESHOLD, scale));
      offset[r] = row_far[r] ? 0 : -m.row[r] * scale;
    }
    far = __any_sync(0xffffffff, row_far[0] || row_far[1]);
  }
};

/* Finds a thread's largest score of each row, by two separate chains of maxima, which take half as long as a single
 * chain. */
template <int GROUPS> __device__ __forceinline__ void largest(const float (&tile)[GROUPS][4], float (&top)[2]) {
#pragma unroll
  for (int r = 0; r < 2; r++) {
    float even = fmaxf(tile[0][2 * r], tile[0][2 * r + 1]), odd = fmaxf(tile[1][2 * r], tile[1][2 * r + 1]);
#pragma unroll
    for (int g = 2; g < GROUPS; g += 2) {
      even = fmaxf(even, fmaxf(tile[g][2 * r], tile[g][2 * r + 1]));
      odd = fmaxf(odd, fmaxf(tile[g + 1][2 * r], tile[g + 1][2 * r + 1]));
    }
    top[r] = fmaxf(even, odd);
  }
}

/* Masks columns `valid` to 8 * GROUPS - 1 of a tile of scores, which belong to no key. column: this thread's first
 * column, 2 * (lane % 4). */
template <int GROUPS> __device__ __forceinline__ void mask_columns(float (&tile)[GROUPS][4], int valid, int column) {
#pragma unroll
  for (int g = 0; g < GROUPS; g++)
#pragma unroll
    for (int i = 0; i < 4; i++)
      if (8 * g + column + i % 2 >= valid)
        tile[g][i] = -CUDART_INF_F;
}

/* Packs a tile of probabilities, which is in the layout of an accumulator, to FP16 A operands of the next product: p[k]
 * has columns 16 k to 16 k + 15. */
template <int GROUPS>
__device__ __forceinline__ void pack_tile(uint32_t (&p)[GROUPS / 2][4], const float (&tile)[GROUPS][4]) {
#pragma unroll
  for (int k = 0; k < GROUPS / 2; k++) {
    p[k][0] = pack_half2(tile[2 * k][0], tile[2 * k][1]);
    p[k][1] = pack_half2(tile[2 * k][2], tile[2 * k][3]);
    p[k][2] = pack_half2(tile[2 * k + 1][0], tile[2 * k + 1][1]);
    p[k][3] = pack_half2(tile[2 * k + 1][2], tile[2 * k + 1][3]);
  }
}

/* Multiplies the first COUNT groups of columns of o by the factor of each row. */
template <int COUNT, int GROUPS>
__device__ __forceinline__ void scale_rows(float (&tile)[GROUPS][4], const float (&factor)[2]) {
#pragma unroll
  for (int g = 0; g < COUNT; g++)
#pragma unroll
    for (int i = 0; i < 4; i++)
      tile[g][i] *= factor[i / 2];
}

} // namespace attention

#endif
