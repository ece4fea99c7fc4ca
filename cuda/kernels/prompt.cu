/* The blend of prompts (OP_PROMPT). In most runs of a show it is what it was in the run before: then a launch that has
 * a note of what it has made (struct prompt_note) reads the note and ends. */
#include "cuda/kernels/common.cuh"

namespace {

enum { PROMPT_THREADS = 256, PROMPT_WORDS = sizeof(struct prompt_params) / 4, PROMPT_BLOCKS_EACH = 4 };
static_assert(GUIDANCE_ROWS_MAX * PROMPT_WORDS <= PROMPT_THREADS, "a thread compares a word");

/* Returns how many words of run.prompt the launch reads. */
__device__ __forceinline__ int words_read(const struct sample_args &p) {
  return max(p.rows.first, p.rows.each) * PROMPT_WORDS;
}

/* Returns, in all threads of a thread block, whether y is this run's blend already. */
__device__ __forceinline__ bool is_noted(const struct sample_args &p) {
  const unsigned *noted = reinterpret_cast<const unsigned *>(p.note->prompt);
  const unsigned *wanted = reinterpret_cast<const unsigned *>(p.block->run.prompt);
  int word = threadIdx.x;
  bool same = word >= words_read(p) || noted[word] == wanted[word];
  if (word == 0)
    same = same && p.note->slots == (uint64_t)p.table && p.note->changes == p.block->changes;
  return __syncthreads_and(same);
}

/* Notes what y is now. The thread block that is done last does so, since until then others may still have to compare.
 */
__device__ __forceinline__ void write_note(const struct sample_args &p) {
  __shared__ bool last;
  int word = threadIdx.x;
  if (word == 0)
    last = atomicAdd(&p.note->done, 1u) == gridDim.x * gridDim.y - 1;
  __syncthreads();
  if (!last)
    return;
  if (word < words_read(p))
    reinterpret_cast<unsigned *>(p.note->prompt)[word] = reinterpret_cast<const unsigned *>(p.block->run.prompt)[word];
  if (word == 0) {
    p.note->slots = (uint64_t)p.table;
    p.note->changes = p.block->changes;
    p.note->done = 0;
  }
}

/* Thread blocks (i, r) make row r of y. Each thread calculates WIDTH values at a time: eight if p.count is a multiple
 * of 8, else one. */
template <int WIDTH>
__global__ void __launch_bounds__(PROMPT_THREADS) prompt_kernel(const __grid_constant__ struct sample_args p) {
  wait_for_previous();
  if (p.note && is_noted(p))
    return;
  const struct prompt_params &prompt = p.block->run.prompt[row_of(p.rows, (int)blockIdx.y)];
  __half *y = static_cast<__half *>(p.y) + blockIdx.y * p.count;
  size_t step = (size_t)gridDim.x * PROMPT_THREADS * WIDTH;
#pragma unroll 2
  for (size_t i = ((size_t)blockIdx.x * PROMPT_THREADS + threadIdx.x) * WIDTH; i < p.count; i += step) {
    float sum[WIDTH] = {};
    for (int part = 0; part < PROMPTS_MAX; part++) {
      float weight = prompt.weight[part];
      if (weight == 0.0f)
        break;
      const __half *from = p.table + prompt.slot[part] * p.count + i;
      float v[WIDTH];
      if constexpr (WIDTH == 8)
        load8(from, v);
      else
        v[0] = __half2float(*from);
#pragma unroll
      for (int j = 0; j < WIDTH; j++)
        sum[j] += weight * v[j];
    }
    if constexpr (WIDTH == 8)
      store8(y + i, sum);
    else
      y[i] = __float2half_rn(sum[0]);
  }
  if (p.note)
    write_note(p);
}

} // namespace

cudaError_t launch_prompt(const struct launch_queue *queue, const struct sample_args *args) {
  bool wide = args->count % 8 == 0;
  unsigned blocks = blocks_for(wide ? args->count / 8 : args->count, PROMPT_THREADS);
  unsigned most = (unsigned)(PROMPT_BLOCKS_EACH * queue->sms);
  dim3 grid(blocks < most ? blocks : most, (unsigned)args->n);
  return launch(queue, wide ? prompt_kernel<8> : prompt_kernel<1>, grid, dim3(PROMPT_THREADS), 0, *args);
}
