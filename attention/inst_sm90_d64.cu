/* Compiles the Hopper kernel for head dims up to 64. */
#include "launch_sm90.cuh"

namespace attention {

template cudaError_t launch_sm90<64>(const params_sm90 &, shape_sm90, int, bool, cudaStream_t);

bool present_sm90() {
  cudaFuncAttributes attributes = {};
  cudaError_t status = cudaFuncGetAttributes(&attributes, attention_sm90_kernel<tile_of<64, SHAPE_PAIR>::type>);
  return status == cudaSuccess && attributes.sharedSizeBytes > 0;
}

} // namespace attention
