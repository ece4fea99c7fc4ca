/* Launches the Hopper kernel: finds the tile type for a head dim and a shape, and sets the attributes of the launch. */
#ifndef ATTENTION_LAUNCH_SM90_CUH
#define ATTENTION_LAUNCH_SM90_CUH

#include "kernel_sm90.cuh"

#include <type_traits>

namespace attention {

template <class T> cudaError_t launch_tile_sm90(const params_sm90 &p, int grid, bool overlap, cudaStream_t stream) {
  cudaError_t status =
      cudaFuncSetAttribute(attention_sm90_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, T::SHARED_BYTES);
  if (status != cudaSuccess)
    return status;
  cudaLaunchAttribute attributes[2] = {};
  int count = 0;
  if (overlap) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (T::CLUSTER > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count++].val.clusterDim = {T::CLUSTER, 1, 1};
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(grid);
  config.blockDim = dim3(T::THREADS);
  config.dynamicSmemBytes = T::SHARED_BYTES;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  return cudaLaunchKernelEx(&config, attention_sm90_kernel<T>, p);
}

template <int DP, shape_sm90 SHAPE>
cudaError_t launch_shape_sm90(const params_sm90 &p, int grid, bool overlap, cudaStream_t stream) {
  using T = typename tile_of<DP, SHAPE>::type;
  if constexpr (std::is_void_v<T>)
    return cudaErrorNotSupported;
  else
    return launch_tile_sm90<T>(p, grid, overlap, stream);
}

template <int DP>
cudaError_t launch_sm90(const params_sm90 &p, shape_sm90 shape, int grid, bool overlap, cudaStream_t stream) {
  switch (shape) {
  case SHAPE_LONG:
    return launch_shape_sm90<DP, SHAPE_LONG>(p, grid, overlap, stream);
  case SHAPE_PAIR:
    return launch_shape_sm90<DP, SHAPE_PAIR>(p, grid, overlap, stream);
  case SHAPE_HALVES:
    return launch_shape_sm90<DP, SHAPE_HALVES>(p, grid, overlap, stream);
  case SHAPE_SPLIT:
    return launch_shape_sm90<DP, SHAPE_SPLIT>(p, grid, overlap, stream);
  case SHAPE_FEW:
    return launch_shape_sm90<DP, SHAPE_FEW>(p, grid, overlap, stream);
  case SHAPE_SHORT:
    return launch_shape_sm90<DP, SHAPE_SHORT>(p, grid, overlap, stream);
  default:
    return cudaErrorNotSupported;
  }
}

} // namespace attention

#endif
