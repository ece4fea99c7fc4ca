/* The Hopper kernel for head dims up to 512, in two slices. */
#include "kernel_sm90.cuh"

namespace attention {

template cudaError_t launch_sm90<512>(const params_sm90 &, shape_sm90, int, bool, cudaStream_t);

} // namespace attention
