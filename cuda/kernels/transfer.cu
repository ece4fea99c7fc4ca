/* The first two kernels of every run and its last one, which copy parameters and pixels between host and device.
 *
 * Pixels are copied by several thread blocks, because one alone cannot use the whole bandwidth of the bus. The run's
 * order (struct run_order: parameters and copies to make) is read by one thread block only: if several read the same
 * line of the host's memory, they do so one after the other, for a microsecond each. */
#include "cuda/kernels/transfer.h"
#include "cuda/kernels/common.cuh"

namespace {

constexpr int THREADS = 512, BLOCKS = 32, AT_ONCE = 4;

/* Reads the GPU's clock. Only one thread calls this function, because many readers wait for each other. PTX does not
 * say how coarse the clock's steps are, so the time of one run may be imprecise; the mean over many runs is right. A
 * host thread plans its wait by the shortest of the last times (cuda/run_wait.c), which is at most their mean. So it
 * may wake too early because of this, but not too late. */
__device__ __forceinline__ uint64_t clock_ns() {
  uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

static_assert(TRANSFER_UNIT == sizeof(uint4), "what a thread copies at a time");

/* Reads 16 bytes from the host's memory, not from a cache, which may hold the bytes of an earlier run. */
__device__ __forceinline__ uint4 read_unit(const void *from, size_t i) {
  return __ldcv(static_cast<const uint4 *>(from) + i);
}

__device__ __forceinline__ void write_unit(void *to, size_t i, uint4 unit) {
  static_cast<uint4 *>(to)[i] = unit;
}

/* Copies the rows that c describes, 16 bytes a thread at a time. Each thread starts several reads before its first
 * write, because a read of the host's memory takes long. */
__device__ __forceinline__ void copy_rows(const struct transfer c) {
  int width = c.bytes / TRANSFER_UNIT, count = width * c.rows, step = BLOCKS * THREADS;
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

/* Returns true in one thread only, which belongs to the thread block that arrives last. That thread sees everything
 * that the other thread blocks have written before they arrived. */
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
  constexpr int COUNT = sizeof *order / TRANSFER_UNIT;
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
    copy_rows(order->up[i]);
  if (arrives_last(&ring->arrived))
    order->there = clock_ns();
}

__device__ __forceinline__ uint32_t since(uint64_t begun, uint64_t ns) {
  return (uint32_t)((ns - begun) / RUN_END_NS);
}

/* Writes the report of the run's end with one store of 16 bytes, so that the host never sees a part of it. */
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
  /* Note the time, and copy the run's results to the host; the thread block that finishes last reports the end to the
   * host. */
  if (first)
    order->computed = clock_ns();
  for (int i = 0; i < downs; i++)
    copy_rows(order->down[i]);
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
