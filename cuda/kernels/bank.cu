/* Kernels of the bank, a ring of keys and values of earlier frames. At the beginning of a run one thread updates the
 * number of stored frames. Later many threads copy the frame's keys and values into the ring. Memory limits the copy.
 * Therefore each thread loads four vectors of 16 bytes before it stores the first one, and neighbours in a warp copy
 * neighbouring vectors. */
#include "cuda/kernels/bank.h"
#include "cuda/kernels/common.cuh"

namespace {

constexpr int THREADS = 256, EACH = 4; /* THREADS: number of threads of a thread block; EACH: number of vectors that
                                        * each thread copies */

__global__ void recall_kernel(const __grid_constant__ struct recall_args p) {
  wait_for_previous();
  const struct run_params &run = p.block->run;
  int32_t *bank = p.bank;
  if (run.restart || run.bank.anew || (p.cut && *p.cut)) {
    bank[BANK_COUNT] = bank[BANK_SLOT] = bank[BANK_AGE] = 0;
  } else if (bank[BANK_STORES]) {
    bank[BANK_COUNT] = min(bank[BANK_COUNT] + 1, run.bank.frames);
    bank[BANK_SLOT] = (bank[BANK_SLOT] + 1) % run.bank.frames;
  }
  bank[BANK_STORES] = bank[BANK_AGE] == 0;
  bank[BANK_AGE] = (bank[BANK_AGE] + 1) % run.bank.every;
}

/* Copies the keys and values of a frame into the ring. Vector is what one load moves: 8 halves, or 1 where rows are not
 * aligned. c and x_pitch count vectors here. */
template <typename Vector>
__global__ void __launch_bounds__(THREADS)
    remember_kernel(const __grid_constant__ struct remember_args p, struct divisor by_c) {
  int n = blockIdx.y, first = blockIdx.x * THREADS * EACH + threadIdx.x, count = p.tokens * p.c;
  wait_for_previous();
  int slot = p.bank[BANK_SLOT];
  if (!p.bank[BANK_STORES] || slot < 0 || slot >= p.room)
    return;
  const Vector *x = reinterpret_cast<const Vector *>(p.x) + (size_t)n * p.tokens * p.x_pitch;
  Vector *ring = reinterpret_cast<Vector *>(p.ring) + ((size_t)n * p.room + slot) * count;
  Vector moved[EACH];
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    int i = first + k * THREADS, token = quotient(i, by_c);
    if (i < count)
      moved[k] = x[(size_t)token * p.x_pitch + (i - token * p.c)];
  }
#pragma unroll
  for (int k = 0; k < EACH; k++)
    if (first + k * THREADS < count)
      ring[first + k * THREADS] = moved[k];
}

template <typename Vector>
cudaError_t remember(const struct launch_queue *queue, struct remember_args args, int elements) {
  args.c /= elements;
  args.x_pitch /= elements;
  dim3 grid(blocks_for((size_t)args.tokens * args.c, THREADS * EACH), (unsigned)args.n);
  return launch(queue, remember_kernel<Vector>, grid, dim3(THREADS), 0, args, divisor_of(args.c));
}

} // namespace

cudaError_t launch_recall(const struct launch_queue *queue, const struct recall_args *args) {
  return launch(queue, recall_kernel, dim3(1), dim3(1), 0, *args);
}

cudaError_t launch_remember(const struct launch_queue *queue, const struct remember_args *args) {
  bool aligned =
      args->c % 8 == 0 && args->x_pitch % 8 == 0 && (uintptr_t)args->x % 16 == 0 && (uintptr_t)args->ring % 16 == 0;
  return aligned ? remember<uint4>(queue, *args, 8) : remember<__half>(queue, *args, 1);
}
