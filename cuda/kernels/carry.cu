/* The first two nodes of every run and the last one, which copy parameters and pixels between host and device.
 *
 * Pixels are copied by several thread blocks, because one cannot use the whole bandwidth of the bus. The run's order
 * (struct run_order) is read by one thread block: if several read the same line of the host's memory, they do so one
 * after the other, a microsecond each. */
#include "cuda/kernels/carry.h"
#include "cuda/kernels/common.cuh"

namespace {

constexpr int THREADS = 512, BLOCKS = 32, AT_ONCE = 4;

/* Reads the GPU's clock. One thread alone calls it, because many readers wait for each other. PTX does not say how
 * coarse the clock's steps are. Coarse steps make the time of one run imprecise, but the mean of many is right. A host
 * thread that plans its wait by it looks too early at worst, never too late. */
__device__ __forceinline__ uint64_t clock_ns() {
  uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

static_assert(CARRY_UNIT == sizeof(uint4), "what a thread carries at a time");

/* Reads past the caches, because the host has written its memory since the last run. */
__device__ __forceinline__ uint4 read_unit(const void *from, size_t i) {
  return __ldcv(static_cast<const uint4 *>(from) + i);
}

__device__ __forceinline__ void write_unit(void *to, size_t i, uint4 unit) {
  static_cast<uint4 *>(to)[i] = unit;
}

/* Copies rows. Each thread starts several reads before its first write, because reads of the host's memory take
 * long. */
__device__ __forceinline__ void carry(const struct carry c) {
  int width = c.bytes / CARRY_UNIT, count = width * c.rows, step = BLOCKS * THREADS;
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < count; i += AT_ONCE * step) {
    uint4 unit[AT_ONCE];
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++)
      if (i + j * step < count)
        unit[j] = read_unit(c.from + (size_t)((i + j * step) / width) * c.from_pitch, (i + j * step) % width);
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++)
      if (i + j * step < count)
        write_unit(c.to + (size_t)((i + j * step) / width) * c.to_pitch, (i + j * step) % width, unit[j]);
  }
}

/* True for the last of all thread blocks to arrive, in its first thread. Writes of the other thread blocks are then
 * visible to it, and come before everything it writes. */
__device__ __forceinline__ bool arrives_last(unsigned *arrived) {
  __syncthreads();
  if (threadIdx.x)
    return false;
  __threadfence_system();
  if (atomicAdd(arrived, 1u) != BLOCKS - 1)
    return false;
  *arrived = 0;
  __threadfence();
  return true;
}

__global__ void __launch_bounds__(THREADS) begin_kernel(struct run_ring *ring, struct run_order *order) {
  constexpr int COUNT = sizeof *order / CARRY_UNIT;
  static_assert(COUNT <= THREADS, "a thread reads one unit: all are on their way at a time");
  /* Note the time, and copy the order (struct run_order) to device memory. */
  uint64_t begun = 0;
  wait_for_previous();
  if (threadIdx.x == 0)
    begun = clock_ns();
  unsigned turn = ring->turn;
  if (threadIdx.x < COUNT)
    write_unit(order, threadIdx.x, read_unit(ring->order[turn & 1], threadIdx.x));
  __syncthreads();
  if (threadIdx.x)
    return;
  order->begun = order->there = begun;
  ring->turn = turn + 1;
}

__global__ void __launch_bounds__(THREADS) up_kernel(struct run_ring *ring, struct run_order *order) {
  wait_for_previous();
  int ups = order->ups;
  if (!ups)
    return;
  for (int i = 0; i < ups; i++)
    carry(order->up[i]);
  if (arrives_last(&ring->arrived))
    order->there = clock_ns();
}

__device__ __forceinline__ uint32_t since(uint64_t begun, uint64_t ns) {
  return (uint32_t)((ns - begun) / RUN_END_NS);
}

/* Writes all 16 bytes at once, so that the host never sees a part of them. */
__device__ __forceinline__ void tell(struct run_end *end, const struct run_order *order, uint64_t done) {
  uint64_t begun = order->begun;
  uint64_t low = order->number | (uint64_t)since(begun, order->there) << 32;
  uint64_t high = since(begun, order->computed) | (uint64_t)since(begun, done) << 32;
  asm volatile("{\n"
               ".reg .b128 all;\n"
               "mov.b128 all, {%1, %2};\n"
               "st.relaxed.sys.b128 [%0], all;\n"
               "}\n" ::"l"(end),
               "l"(low), "l"(high)
               : "memory");
}

__global__ void __launch_bounds__(THREADS) end_kernel(struct run_ring *ring, struct run_order *order) {
  wait_for_previous();
  int downs = order->downs;
  bool first = blockIdx.x == 0 && threadIdx.x == 0;
  /* Note the time, copy the result, and let the last thread block tell the host. */
  if (first)
    order->computed = clock_ns();
  for (int i = 0; i < downs; i++)
    carry(order->down[i]);
  if (downs ? !arrives_last(&ring->arrived) : !first)
    return;
  uint64_t done = downs ? clock_ns() : order->computed;
  if (downs)
    __threadfence_system();
  tell(order->end, order, done);
}

} // namespace

cudaError_t launch_begin(const struct launch_queue *queue, struct run_ring *ring, struct run_order *order) {
  cudaError_t status = launch(queue, begin_kernel, dim3(1), dim3(THREADS), 0, ring, order);
  return status == cudaSuccess ? launch(queue, up_kernel, dim3(BLOCKS), dim3(THREADS), 0, ring, order) : status;
}

cudaError_t launch_end(const struct launch_queue *queue, struct run_ring *ring, struct run_order *order) {
  return launch(queue, end_kernel, dim3(BLOCKS), dim3(THREADS), 0, ring, order);
}
