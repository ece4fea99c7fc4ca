/* Functions for clusters, groups of thread blocks that can write to each other's shared memory (compute capability 9.0
 * and up): their launch, barriers and remote stores. Also loads of weights that the compiler does not move. */
#ifndef CUDA_KERNELS_CLUSTER_SM90_CUH
#define CUDA_KERNELS_CLUSTER_SM90_CUH

#include "attention/hopper.cuh"
#include "cuda/kernels/common.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define CLUSTERS 0
#else
#define CLUSTERS 1
#endif

/* Enqueues kernel<<<grid, threads, shared>>>(args) in clusters of `cluster` thread blocks, which is 1 on GPUs without
 * clusters. If queue->overlap is set, the kernel may start before the preceding kernel in the stream has ended
 * (programmatic dependent launch). */
template <typename... Parameters, typename... Arguments>
static cudaError_t launch_cluster(const struct launch_queue *queue, void (*kernel)(Parameters...), dim3 grid,
                                  int threads, size_t shared, int cluster, Arguments... arguments) {
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim.x = (unsigned)cluster;
  attributes[1].val.clusterDim.y = 1;
  attributes[1].val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = dim3((unsigned)threads);
  config.dynamicSmemBytes = shared;
  config.stream = queue->stream;
  config.attrs = attributes;
  config.numAttrs = cluster > 1 ? 2 : queue->overlap ? 1 : 0;
  cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
  return status == cudaSuccess ? cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...) : status;
}

static __device__ __forceinline__ void cluster_begin() {
#if CLUSTERS
  attention::cluster_arrive_relaxed();
#endif
}

/* Waits until all thread blocks of the cluster have called cluster_begin. From then on this thread block may write to
 * their shared memory. */
static __device__ __forceinline__ void cluster_begun() {
#if CLUSTERS
  attention::cluster_wait();
#endif
}

/* Initialises a barrier in shared memory that waits until thread blocks of the cluster have written `bytes` bytes. One
 * thread calls this, before cluster_begin. A barrier of the whole cluster would take a thousand clocks, because it
 * first waits for all memory operations of its threads. */
static __device__ __forceinline__ void arrivals_make(uint64_t *arrivals, int bytes) {
#if CLUSTERS
  attention::barrier_init(shared_address(arrivals), 1);
  attention::barrier_init_fence();
  attention::barrier_expect(shared_address(arrivals), bytes);
#endif
}

static __device__ __forceinline__ void arrivals_wait(uint64_t *arrivals) {
#if CLUSTERS
  attention::barrier_wait(shared_address(arrivals), 0);
#endif
}

/* Writes a value to the shared memory of thread block number `rank` of the cluster, at the offset that `here` has in
 * the calling thread block's shared memory. The barrier `arrivals` of thread block number `rank` counts the bytes. */
static __device__ __forceinline__ void store_remote(void *here, int rank, uint64_t *arrivals, float2 value) {
#if CLUSTERS
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(
                   attention::cluster_address(shared_address(here), rank)),
               "f"(value.x), "f"(value.y), "r"(attention::cluster_address(shared_address(arrivals), rank))
               : "memory");
#endif
}

static __device__ __forceinline__ void store_remote(void *here, int rank, uint64_t *arrivals, uint32_t value) {
#if CLUSTERS
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(
                   attention::cluster_address(shared_address(here), rank)),
               "r"(value), "r"(attention::cluster_address(shared_address(arrivals), rank))
               : "memory");
#endif
}

/* Loads 16 bytes of weights at this point of the code, ahead of wait_for_previous. The compiler would move a plain load
 * to the place where the value is used. */
static __device__ __forceinline__ uint4 load_weights(const __half *from) {
  uint4 v;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from));
  return v;
}

static __device__ __forceinline__ float load_single(const float *from) {
  float v;
  asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(v) : "l"(from));
  return v;
}

static __device__ __forceinline__ float2 load_pair(const float *from) {
  float2 v;
  asm volatile("ld.global.nc.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "l"(from));
  return v;
}

/* Loads four 8x8 matrices of halves, transposed (ldmatrix). Lane l gives the address of row l % 8 of matrix l / 8. From
 * each matrix it gets element l / 4 of row 2 (l % 4) and element l / 4 of the next row. */
static __device__ __forceinline__ void load_transposed(uint32_t out[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(shared_address(row))
               : "memory");
}

/* Stores two 8x8 matrices of halves, transposed (stmatrix). Lane l gives the address of row l % 8 of matrix l / 8, if l
 * is less than 16. */
static __device__ __forceinline__ void store_transposed(void *row, uint32_t first, uint32_t second) {
#if CLUSTERS
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(shared_address(row)), "r"(first),
               "r"(second)
               : "memory");
#else
  const uint32_t two[2] = {first, second};
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    uint32_t to = __shfl_sync(0xffffffffu, shared_address(row), i / 2 * 8 + lane % 4 * 2 + i % 2) + lane / 4 * 2;
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(to), "h"((uint16_t)(two[i / 2] >> i % 2 * 16)) : "memory");
  }
#endif
}

#endif
