/* The long shape of the generic kernel, and "ahead", compiled once for each padded head dim. */
#include "long_sm80.cuh"

namespace attention {

template cudaError_t launch_long_sm80<48, 2>(const attn_args &, const attn_cuts &, void *, void *, cudaStream_t);
template cudaError_t launch_long_sm80<64, 2>(const attn_args &, const attn_cuts &, void *, void *, cudaStream_t);

template cudaError_t launch_long_sm80<48, 1>(const attn_args &, const attn_cuts &, void *, void *, cudaStream_t);
template cudaError_t launch_long_sm80<64, 1>(const attn_args &, const attn_cuts &, void *, void *, cudaStream_t);

} // namespace attention
