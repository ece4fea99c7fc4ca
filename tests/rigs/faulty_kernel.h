/* A kernel that makes the GPU stop by itself. */
#ifndef TESTS_FAULTY_KERNEL_H
#define TESTS_FAULTY_KERNEL_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Launches it. After that every CUDA call of this process fails, and other processes are not affected. A write to
 * invalid memory is not used, because with one driver it affected other processes as well (MEASURED.md). */
cudaError_t launch_trap(cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
