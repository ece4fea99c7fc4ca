/* The generic kernel, compiled once for each padded head dim. */
#include "kernel_sm80.cuh"

namespace attention {

template cudaError_t launch_sm80<32>(const attn_args &, shape_sm80, cudaStream_t);
template cudaError_t launch_sm80<48>(const attn_args &, shape_sm80, cudaStream_t);
template cudaError_t launch_sm80<64>(const attn_args &, shape_sm80, cudaStream_t);
template cudaError_t launch_sm80<80>(const attn_args &, shape_sm80, cudaStream_t);
template cudaError_t launch_sm80<96>(const attn_args &, shape_sm80, cudaStream_t);
template cudaError_t launch_sm80<128>(const attn_args &, shape_sm80, cudaStream_t);
template cudaError_t launch_sm80<160>(const attn_args &, shape_sm80, cudaStream_t);
template cudaError_t launch_sm80<512>(const attn_args &, shape_sm80, cudaStream_t);

} // namespace attention
