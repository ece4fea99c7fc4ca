/* The kernel: a thread block's barriers, its producer and its consumers. */
#ifndef CUDA_KERNELS_KERNEL_SM90_CUH
#define CUDA_KERNELS_KERNEL_SM90_CUH

#include "cuda/kernels/epilogue_sm90.cuh"

namespace product_sm90 {

/* By one thread each: lanes with a barrier of their own would take turns. Full ones wait for both producers. */
template <class T> __device__ __forceinline__ void make_full_barriers(const work<T> &w) {
#pragma unroll
  for (int s = 0; s < T::STAGES; s++)
    barrier_init(w.full(s), 2);
  barrier_init(w.vectors(), 1);
  barrier_init_fence();
}

template <class T> __device__ __forceinline__ void make_empty_barriers(const work<T> &w, int readers) {
#pragma unroll
  for (int s = 0; s < T::STAGES; s++)
    barrier_init(w.empty(s), readers);
#pragma unroll
  for (int group = 0; T::SUMS && group < T::CONSUMERS; group++)
    barrier_init(w.inbox_full(group), 1);
  barrier_init_fence();
#pragma unroll
  for (int group = 0; T::SUMS && group < T::CONSUMERS; group++)
    barrier_expect(w.inbox_full(group), T::INBOX_GROUP_BYTES); /* once; without a pair nobody waits for it */
}

/* By one thread. */
__device__ __forceinline__ void prefetch_maps(const params &p) {
  tensor_prefetch(&p.weight);
  tensor_prefetch(&p.x);
  if (!p.few)
    tensor_prefetch(&p.y);
  if (p.has_residual)
    tensor_prefetch(&p.residual);
}

template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS) product_kernel(const __grid_constant__ params p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ char unaligned[];
  __shared__ unsigned told[T::CONSUMERS]; /* it also tells product_open that there is code here */
  uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(unaligned));
  uint32_t aligned = (address + 1023) & ~1023u; /* the period of the swizzle */
  char *memory = unaligned + (aligned - address);
  asm volatile("" : "+r"(aligned));
  work<T> w(p, aligned);
  int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  bool shared_loads = p.pair == PAIR_WEIGHTS || p.pair == PAIR_INPUT;
  if (threadIdx.x == T::INPUT_WARP * 32)
    make_full_barriers(w);
  else if (threadIdx.x == T::WEIGHT_WARP * 32)
    make_empty_barriers(w, 4 * T::CONSUMERS * (shared_loads ? 2 : 1));
  else if (threadIdx.x == 0)
    prefetch_maps(p);
  if (p.pair != PAIR_NONE)
    cluster_arrive_relaxed();
  if (shared_loads)
    cluster_wait();
  else
    __syncthreads();
  if (warp >= T::INPUT_WARP) {
    if (warp == T::INPUT_WARP && elect())
      producer<T>(p, w).run_input();
    else if (warp == T::WEIGHT_WARP && elect())
      producer<T>(p, w).run_weights();
    __syncwarp();
    if (p.pair == PAIR_SUM)
      cluster_wait();
  } else {
    int thread = threadIdx.x % 128;
    epilogue<T> c = {{p, w, memory, told, warp / 4, thread, thread % 32, p.pair == PAIR_NONE ? 0 : cluster_rank()}};
    do {
      c.begin();
      c.multiply();
      c.finish();
    } while (c.w.next(p));
  }
#endif
}

} // namespace product_sm90

#endif
