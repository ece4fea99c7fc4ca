/* The kernel of product_sm90.cu: it initialises barriers, and splits a thread block into producers (which load) and
 * consumers (which multiply). */
#ifndef CUDA_KERNELS_PRODUCT_KERNEL_SM90_CUH
#define CUDA_KERNELS_PRODUCT_KERNEL_SM90_CUH

#include "cuda/kernels/epilogue_sm90.cuh"

namespace product_sm90 {

/* Initialises the barriers in shared memory. One thread of each warp initialises every WARPS-th barrier of each kind,
 * without a branch. Several lanes of one warp would do it one after the other; one thread for all barriers would take
 * 300 clocks. The barrier `full` of a stage (it has data) waits for both producers. */
template <class T> __device__ __forceinline__ void make_barriers(const work<T> &w, int warp, int readers) {
#pragma unroll
  for (int s = 0; s < T::STAGE_BARRIERS; s += T::WARPS)
    barrier_init(w.full(s + warp), 2);
#pragma unroll
  for (int s = 0; s < T::STAGE_BARRIERS; s += T::WARPS)
    barrier_init(w.empty(s + warp), readers);
  barrier_init(w.vectors() + 8 * warp, 1);
  barrier_init_fence();
  if (T::SUMS && warp > 0 && warp <= T::CONSUMERS)
    /* An inbox is the memory in which a consumer receives the sums of another thread block. It is used only once, so
     * its barrier is armed here. If the sums are not split, no thread waits for the barrier. */
    barrier_expect(w.inbox_full(warp - 1), T::INBOX_GROUP_BYTES);
}

/* Makes the copy engine (TMA) fetch the tensor maps of y and residual, before they are used. One warp calls it. */
__device__ __forceinline__ void prefetch_results(const params &p) {
  if (elect()) {
    if (!p.few)
      tensor_prefetch(&p.y);
    if (p.has_residual)
      tensor_prefetch(&p.residual);
  }
  __syncwarp();
}

template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    product_kernel(const __grid_constant__ typename T::params_type p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ char unaligned[];
  /* product_open reads how much static shared memory the kernel has. This array is all of it; if there is none, the
   * kernel was not compiled for this GPU */
  __shared__ unsigned told[T::CONSUMERS];
  /* Align shared memory, and initialise the barriers. */
  uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(unaligned));
  /* aligned to 1024 bytes, because TMA's swizzle (order of data in shared memory) depends on the address
   * modulo 1024 */
  uint32_t aligned = (address + 1023) & ~1023u;
  char *memory = unaligned + (aligned - address);
  asm volatile("" : "+r"(aligned));
  work<T> w(p, aligned);
  int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  bool shared_loads = p.pair == PAIR_WEIGHTS || p.pair == PAIR_INPUT;
  if (elect()) {
    if (warp >= T::INPUT_WARP)
      tensor_prefetch(warp == T::INPUT_WARP ? &p.x : &p.weight);
    make_barriers(w, warp, 4 * T::CONSUMERS * (shared_loads ? 2 : 1));
  }
  __syncwarp();
  if (p.pair != PAIR_NONE)
    cluster_arrive_relaxed();
  if (shared_loads)
    cluster_wait();
  else
    __syncthreads();
  /* Split the warps into consumers and producers. */
  if (warp < T::INPUT_WARP) {
    if constexpr (T::HIGH > 1)
      registers_take<T::TAKEN>();
    if (warp == 0)
      prefetch_results(p);
    int thread = threadIdx.x % 128;
    epilogue<T> c = {{p, w, memory, told, warp / 4, thread, thread % 32, p.pair == PAIR_NONE ? 0 : cluster_rank()}};
    do {
      c.begin();
      c.multiply();
      c.finish();
    } while (c.w.next(p));
  } else {
    if constexpr (T::HIGH > 1)
      registers_give<T::GIVEN>();
    if (warp == T::WEIGHT_WARP && elect())
      producer<T>(p, w).run_weights();
    else if (warp == T::INPUT_WARP && elect())
      producer<T>(p, w).run_input();
    __syncwarp();
    if (p.pair == PAIR_SUM)
      cluster_wait();
  }
#endif
}

} // namespace product_sm90

#endif
