/* The first nodes of every run, and the last. Pixels take several thread blocks, because one cannot keep the bus to the
 * host busy. The order takes one: blocks that read the same line of the host's memory do so one after the other, which
 * is a microsecond each. */
#include "cuda/kernels/carry.h"
#include "cuda/kernels/common.cuh"

namespace {

constexpr int THREADS = 512, BLOCKS = 32, AT_ONCE = 4;

/* Of one thread alone: many that read it wait for each other. PTX does not say how fine its steps are. On a GPU where
 * they are coarse the time of one run is, too, while that of many is right in the middle; who waits for a run by it
 * looks sooner than it need, never later. */
__device__ __forceinline__ uint64_t clock_ns() {
  uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

static_assert(CARRY_UNIT == sizeof(uint4), "what a thread carries at a time");

/* Of the host's memory nothing may come from a cache: the host has written it since. */
__device__ __forceinline__ uint4 read_unit(const void *from, size_t i) {
  return __ldcv(static_cast<const uint4 *>(from) + i);
}

__device__ __forceinline__ void write_unit(void *to, size_t i, uint4 unit) {
  static_cast<uint4 *>(to)[i] = unit;
}

/* A thread's reads are all on their way before it writes: the host's memory is far. */
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

/* Whether this thread is the last of all blocks' first threads to come here; what the blocks have written is seen by
 * whatever it writes then. */
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

/* Nobody sees a part of it. */
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
