/* The kernel with which the profile empties the GPU's caches between the launches that it times. */
#include "cuda/kernels/common.cuh"

namespace {

constexpr int THREADS = 256;

/* Reads all of `data`. Afterwards the last-level cache has nothing else, and nothing that must still be written back to
 * memory. */
__global__ void __launch_bounds__(THREADS) evict_kernel(const uint4 *data, size_t count, unsigned *sink) {
  unsigned sum = 0;
  wait_for_previous();
  for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += (size_t)gridDim.x * THREADS) {
    uint4 v = __ldcg(data + i);
    sum |= v.x | v.y | v.z | v.w;
  }
  if (sum) /* never true, because the data are zeros; the compiler cannot know that, so it does not remove the reads */
    *sink = sum;
}

} // namespace

cudaError_t launch_evict(const struct launch_queue *queue, const void *zeros, size_t bytes) {
  const uint4 *data = static_cast<const uint4 *>(zeros);
  unsigned *sink = static_cast<unsigned *>(const_cast<void *>(zeros));
  return launch(queue, evict_kernel, dim3(8 * queue->sms), dim3(THREADS), 0, data, bytes / sizeof(uint4), sink);
}
