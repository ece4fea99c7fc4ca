/* The end of a self-attention and the cross-attention to the text (rows.h): h = residual + W1 x; y = h + W3
 * attention(W2 layer norm(h)). Each thread block calculates 16 rows, and the keys and values of all tokens are in its
 * shared memory. */
#include "cuda/kernels/rows.cuh"

using namespace rows;

namespace {

constexpr int TOKENS = 80, HEAD = 64, SCORES_PITCH = TOKENS + 8, PROBABILITIES_PITCH = TOKENS + 8;

template <int C> struct attend_memory {
  union {
    __half k[TOKENS * PAIR_PITCH<C>];
    __half probabilities[C / HEAD][TILE * PROBABILITIES_PITCH]; /* stored when all scores are there */
  };
  __half v[TOKENS * PITCH<C>];
  __half tile[TILE * PITCH<C>], other[TILE * PITCH<C>];
  float scores[C / HEAD][TILE * SCORES_PITCH];
  float2 norm[C];
};

/* Starts to copy the text's keys and values to shared memory, with zeros after the last token. */
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

/* Calculates the scores, which are products of queries and keys. Each of a head's four warps takes every fourth block
 * of 8 tokens. */
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

/* Applies softmax to the scores. Each warp has four rows, and each of its lanes has every 32nd token of each row. */
template <int C> __device__ __forceinline__ void softmax(attend_memory<C> *m) {
  constexpr int ROWS = 4, EACH = 3;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, head = warp / 4, row = warp % 4 * ROWS;
  /* Load the scores, and find the largest one of each row. */
  float p[ROWS][EACH], row_max[ROWS], row_sum[ROWS];
#pragma unroll
  for (int i = 0; i < ROWS; i++) {
#pragma unroll
    for (int k = 0; k < EACH; k++)
      p[i][k] = lane + 32 * k < TOKENS ? m->scores[head][(row + i) * SCORES_PITCH + lane + 32 * k] : -INFINITY;
    row_max[i] = fmaxf(p[i][0], fmaxf(p[i][1], p[i][2]));
  }
#pragma unroll
  for (int by = 16; by > 0; by /= 2)
#pragma unroll
    for (int i = 0; i < ROWS; i++)
      row_max[i] = fmaxf(row_max[i], __shfl_xor_sync(0xffffffffu, row_max[i], by));
      /* Calculate the exponentials, and add them up. */
#pragma unroll
  for (int i = 0; i < ROWS; i++) {
#pragma unroll
    for (int k = 0; k < EACH; k++)
      p[i][k] = __expf(p[i][k] - row_max[i]);
    row_sum[i] = p[i][0] + p[i][1] + p[i][2];
  }
#pragma unroll
  for (int by = 16; by > 0; by /= 2)
#pragma unroll
    for (int i = 0; i < ROWS; i++)
      row_sum[i] += __shfl_xor_sync(0xffffffffu, row_sum[i], by);
      /* Normalise, and store the probabilities. */
#pragma unroll
  for (int i = 0; i < ROWS; i++) {
    float scale = __fdividef(1.0f, row_sum[i]);
#pragma unroll
    for (int k = 0; k < EACH; k++)
      if (lane + 32 * k < TOKENS)
        m->probabilities[head][(row + i) * PROBABILITIES_PITCH + lane + 32 * k] = __float2half_rn(p[i][k] * scale);
  }
}

/* Adds up the values of the tokens, weighted by their probabilities, for the 16 columns of each warp. */
template <int C> __device__ __forceinline__ void weigh_values(float (&sum)[1][2][4], const attend_memory<C> *m) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const __half *probabilities = m->probabilities[warp / 4] + lane % 16 * PROBABILITIES_PITCH + lane / 16 * 8;
  const __half *from = m->v + lane % 16 * PITCH<C> + 16 * warp + lane / 16 * 8;
#pragma unroll
  for (int i = 0; i < TOKENS / 16; i++) {
    uint32_t a[4], values[4];
    load_matrices(a, probabilities + 16 * i);
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
  portion<C> part_of_row;
  uint4 weights[2][C / 32], query_weights[2][C / 32];
  float2 bias[2], query_bias[2], last_bias[2];
  vectors<C> layer;
  /* Load weights and constants, which do not depend on the preceding kernel in the stream. */
  fetch(weights, p.first.weight + (size_t)column * C, C);
  fetch(query_weights, p.query.weight + (size_t)column * C, C);
  fetch_bias(bias, p.first.bias, column);
  fetch_bias(query_bias, p.query.bias, column);
  fetch_bias(last_bias, p.last.bias, column);
  layer.fetch(p.norm.gamma, p.norm.beta);
  layer.put(m->norm);
  if (p.text_there)
    fetch_text<C>(p, picture, m);
  wait_for_previous();
  /* Load the rows, and start to load keys and values. */
  uint4 row_values = part_of_row.read(p.x + first * C, C);
  halves<1, 2> h;
  h.read(p.residual + first * C + column, C);
  if (!p.text_there)
    fetch_text<C>(p, picture, m);
  part_of_row.share_out(m->tile, row_values);
  /* First product: x times the matrix W1, plus the residual, gives h. */
  float sum[1][2][4];
  begin(sum, bias);
  __syncthreads();
  multiply(sum, m->tile, P, weights);
  h.add_to(sum);
  h = share_rounded(m->other, column, P, sum);
  fetch(weights, p.last.weight + (size_t)column * C, C);
  __syncthreads();
  /* Layer norm, and the second product, which gives the queries. */
  normalise<C, TILE>(m->tile, m->other, m->norm, p.norm.eps);
  __syncthreads();
  begin(sum, query_bias);
  multiply(sum, m->tile, P, query_weights);
  share_rounded(m->other, column, P, sum);
  copies_wait<0>();
  __syncthreads();
  /* Attention: scores, softmax, weighted sum of the values. */
  score<C>(m, p.tokens, p.scale);
  __syncthreads();
  softmax<C>(m);
  __syncthreads();
  const float2 none[2] = {};
  begin(sum, none);
  weigh_values<C>(sum, m);
  share_rounded(m->tile, column, P, sum);
  __syncthreads();
  /* Last product: the attention's result times the matrix W3, plus h, gives y. */
  begin(sum, last_bias);
  multiply(sum, m->tile, P, weights);
  h.add_to(sum);
  share_rounded(m->other, column, P, sum);
  __syncthreads();
  part_of_row.write(p.y + first * C, C, part_of_row.take(m->other));
}

template <int C> cudaError_t launch_attend(const struct launch_queue *queue, const struct row_attend *a) {
  static_assert(sizeof(attend_memory<C>) <= 99 * 1024, "the limit of compute capability 8.6, 8.9 and 12.0");
  return launch_cluster(queue, attend_kernel<C>, dim3((unsigned)(a->n * a->rows / TILE)), 2 * C,
                        sizeof(attend_memory<C>), 1, *a);
}

} // namespace

bool row_attend_supported(const struct launch_queue *queue, const struct row_attend *a) {
  return has_rows(a->c, a->rows) && are_few(queue, (long)a->n * a->rows / TILE) && a->heads * HEAD == a->c &&
         a->tokens >= 1 && a->tokens <= TOKENS && a->k_row < 1 << 20 && a->v_row < 1 << 20 && a->k_row % 8 == 0 &&
         a->v_row % 8 == 0 && a->k_batch % 8 == 0 && a->v_batch % 8 == 0 && aligned(a->x) && aligned(a->residual) &&
         aligned(a->k) && aligned(a->v) && aligned(a->y) && aligned(a->first.weight) && aligned(a->query.weight) &&
         aligned(a->last.weight);
}

cudaError_t launch_row_attend(const struct launch_queue *queue, const struct row_attend *a) {
  if (!row_attend_supported(queue, a))
    return cudaErrorNotSupported;
  return a->c == 128 ? launch_attend<128>(queue, a) : launch_attend<192>(queue, a);
}
