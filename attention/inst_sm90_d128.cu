/* Compiles the Hopper kernel for head dims up to 128. */
#include "launch_sm90.cuh"

namespace attention {

template cudaError_t launch_sm90<128>(const params_sm90 &, shape_sm90, int, bool, cudaStream_t);

} // namespace attention
