/* Attention to style pictures, y += sum over styles of gain * softmax(scale * q k^T) v, and the op that joins rows of
 * tokens.
 *
 * The style pictures have few tokens (4, 16, rarely 257), so keys and values stay in the first-level cache, and tensor
 * cores would be idle most of the time. Instead four lanes share a row and head of q. Each lane has every fourth pair
 * of the channels, and they take four tokens at a time with a running softmax. The eight rows of a warp belong to one
 * head, so they read the same keys at the same time. q and y are read, and y is written, once for all style
 * pictures. */
#include "cuda/kernels/common.cuh"

namespace {

constexpr int THREADS = 256, LANES = 4, ROWS = THREADS / LANES, TURN = 4, PAIRS_MAX = 20;

/* Returns true if the row is the first of its latent's guidance rows (the rows that are computed for one latent, with
 * different prompts; guidance_row in unet/plan/operands.h). */
__device__ __forceinline__ bool is_first(struct guidance_rows rows, int row) {
  return row < rows.first ? row == 0 : (row - rows.first) % rows.each == 0;
}

__device__ __forceinline__ float sum_of_lanes(float v) {
  v += __shfl_xor_sync(0xffffffffu, v, 1);
  return v + __shfl_xor_sync(0xffffffffu, v, 2);
}

/* One lane's channels of a row, as pairs of values. `pairs` pairs are used; v has memory for PAIRS pairs. */
template <int PAIRS> struct slice {
  float2 v[PAIRS];

  __device__ __forceinline__ void load(const __half *from, int pairs, float factor) {
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
      float2 two =
          i < pairs ? __half22float2(*reinterpret_cast<const __half2 *>(from + 2 * LANES * i)) : make_float2(0, 0);
      v[i] = make_float2(factor * two.x, factor * two.y);
    }
  }
};

/* Adds gain * softmax(q k^T) v, for one style picture, to `total`. */
template <int PAIRS>
__device__ __forceinline__ void attend(slice<PAIRS> &total, const slice<PAIRS> &q, const __half *k, const __half *v,
                                       int pairs, int tokens, int pitch, float gain) {
  float2 sum[PAIRS] = {};
  float row_max = -INFINITY, weights = 0;
#pragma unroll 1
  for (int first = 0; first < tokens; first += TURN) {
    /* Calculate the scores of four tokens. */
    float score[TURN], new_max = row_max;
#pragma unroll
    for (int j = 0; j < TURN; j++) {
      const __half *key = k + (size_t)min(first + j, tokens - 1) * pitch;
      float2 dot = make_float2(0, 0);
#pragma unroll
      for (int i = 0; i < PAIRS; i++)
        if (i < pairs) {
          float2 two = __half22float2(__ldg(reinterpret_cast<const __half2 *>(key + 2 * LANES * i)));
          dot.x += q.v[i].x * two.x;
          dot.y += q.v[i].y * two.y;
        }
      score[j] = first + j < tokens ? sum_of_lanes(dot.x + dot.y) : -INFINITY;
      new_max = fmaxf(new_max, score[j]);
    }
    /* Rescale the sums so far to the new largest score. */
    float keep = __expf(row_max - new_max);
    row_max = new_max;
    weights *= keep;
#pragma unroll
    for (int i = 0; i < PAIRS; i++)
      sum[i] = make_float2(keep * sum[i].x, keep * sum[i].y);
      /* Add the weighted values of the four tokens. */
#pragma unroll
    for (int j = 0; j < TURN; j++) {
      const __half *value = v + (size_t)min(first + j, tokens - 1) * pitch;
      float weight = __expf(score[j] - new_max);
      weights += weight;
#pragma unroll
      for (int i = 0; i < PAIRS; i++)
        if (i < pairs) {
          float2 two = __half22float2(__ldg(reinterpret_cast<const __half2 *>(value + 2 * LANES * i)));
          sum[i].x += weight * two.x;
          sum[i].y += weight * two.y;
        }
    }
  }
  float factor = gain / weights;
#pragma unroll
  for (int i = 0; i < PAIRS; i++) {
    total.v[i].x += factor * sum[i].x;
    total.v[i].y += factor * sum[i].y;
  }
}

/* Returns an offset in k and in v: where the first token of a style picture's slot begins, for one head and lane. at:
 * offset of this head and lane within a token. */
__device__ __forceinline__ size_t place_of(const struct style_args &p, int slot, int at) {
  return (size_t)slot * p.tokens * p.pitch + at;
}

/* Attention to the style pictures. Each lane has PAIRS pairs of channels of a row; if ANY is true, at most PAIRS
 * pairs. */
template <int PAIRS, bool ANY>
__global__ void __launch_bounds__(THREADS) style_kernel(const __grid_constant__ struct style_args p) {
  int head = blockIdx.y, n = blockIdx.z, pairs = ANY ? p.d / (2 * LANES) : PAIRS;
  int row = blockIdx.x * ROWS + threadIdx.x / LANES, at = head * p.d + threadIdx.x % LANES * 2;
  bool there = row < p.count;
  row = there ? row : p.count - 1;
  wait_for_previous();
  /* Read the gains of the style pictures; if all are 0, y stays as it is. */
  const struct style_params *styles = p.block->run.style;
  float gain[STYLES_MAX], all = 0;
#pragma unroll
  for (int s = 0; s < STYLES_MAX; s++)
    all += fabsf(gain[s] = styles[s].weight * styles[s].part[p.part]);
  if (all == 0.0f)
    return;
  bool seen = is_first(p.rows, n);
  /* Load q and y, add the attention to each style picture, store y. */
  slice<PAIRS> q, total;
  __half *y = p.y + ((size_t)n * p.count + row) * p.y_pitch + at;
  q.load(p.q + ((size_t)n * p.count + row) * p.q_pitch + at, pairs, p.scale);
  total.load(y, pairs, 1.0f);
#pragma unroll 1
  for (int s = 0; s < STYLES_MAX; s++) {
    if (gain[s] == 0.0f)
      continue;
    size_t slot = place_of(p, seen ? styles[s].slot : p.last, at);
    attend<PAIRS>(total, q, p.k + slot, p.v + slot, pairs, p.tokens, p.pitch, gain[s]);
  }
#pragma unroll
  for (int i = 0; i < PAIRS; i++)
    if (i < pairs && there)
      *reinterpret_cast<__half2 *>(y + 2 * LANES * i) = __floats2half2_rn(total.v[i].x, total.v[i].y);
}

/* score_of and plain_style_kernel compute the attention to style pictures for any number of channels of a head. Each
 * thread has one row and head, and goes over all tokens once for each channel. */
__device__ __forceinline__ float score_of(const struct style_args &p, const __half *q, const __half *key) {
  float dot = 0;
  for (int i = 0; i < p.d; i++)
    dot += __half2float(q[i]) * __half2float(key[i]);
  return p.scale * dot;
}

__global__ void __launch_bounds__(THREADS) plain_style_kernel(const __grid_constant__ struct style_args p) {
  int row = blockIdx.x * THREADS + threadIdx.x, head = blockIdx.y, n = blockIdx.z;
  wait_for_previous();
  if (row >= p.count)
    return;
  const __half *q = p.q + ((size_t)n * p.count + row) * p.q_pitch + head * p.d;
  __half *y = p.y + ((size_t)n * p.count + row) * p.y_pitch + head * p.d;
  for (int i = 0; i < p.d; i++) {
    float total = __half2float(y[i]);
    for (int s = 0; s < STYLES_MAX; s++) {
      const struct style_params &style = p.block->run.style[s];
      float gain = style.weight * style.part[p.part];
      if (gain == 0.0f)
        continue;
      size_t slot = place_of(p, is_first(p.rows, n) ? style.slot : p.last, head * p.d);
      float row_max = -INFINITY, weights = 0, sum = 0;
      for (int j = 0; j < p.tokens; j++) {
        float score = score_of(p, q, p.k + slot + (size_t)j * p.pitch), new_max = fmaxf(row_max, score);
        float keep = __expf(row_max - new_max), weight = __expf(score - new_max);
        weights = keep * weights + weight;
        sum = keep * sum + weight * __half2float(p.v[slot + (size_t)j * p.pitch + i]);
        row_max = new_max;
      }
      total += gain * sum / weights;
    }
    y[i] = __float2half_rn(total);
  }
}

template <int PAIRS, bool ANY> cudaError_t launch_pairs(const struct launch_queue *queue, const struct style_args *a) {
  dim3 grid(blocks_for((size_t)a->count, ROWS), (unsigned)a->heads, (unsigned)a->n);
  return launch(queue, style_kernel<PAIRS, ANY>, grid, dim3(THREADS), 0, *a);
}

__global__ void __launch_bounds__(THREADS) join_kernel(const __grid_constant__ struct join_args p) {
  size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
  wait_for_previous();
  if (i >= p.count)
    return;
  float v = i < p.first ? element_read(p.x, p.x_type, i) : element_read(p.x2, p.x2_type, i - p.first);
  p.y[i] = __float2half_rn(p.position ? v + __half2float(p.position[i]) : v);
}

} // namespace

cudaError_t launch_style(const struct launch_queue *queue, const struct style_args *a) {
  bool even = a->d % (2 * LANES) == 0 && a->d <= 2 * LANES * PAIRS_MAX && a->pitch % 2 == 0 && a->q_pitch % 2 == 0 &&
              ((uintptr_t)a->q | (uintptr_t)a->k | (uintptr_t)a->v | (uintptr_t)a->y) % 4 == 0;
  if (!even)
    return launch(queue, plain_style_kernel,
                  dim3(blocks_for((size_t)a->count, THREADS), (unsigned)a->heads, (unsigned)a->n), dim3(THREADS), 0,
                  *a);
  switch (a->d) {
  case 40:
    return launch_pairs<5, false>(queue, a);
  case 64:
    return launch_pairs<8, false>(queue, a);
  case 80:
    return launch_pairs<10, false>(queue, a);
  case 160:
    return launch_pairs<20, false>(queue, a);
  default:
    return launch_pairs<PAIRS_MAX, true>(queue, a);
  }
}

cudaError_t launch_join(const struct launch_queue *queue, const struct join_args *args) {
  return launch(queue, join_kernel, dim3(blocks_for(args->count, THREADS)), dim3(THREADS), 0, *args);
}
