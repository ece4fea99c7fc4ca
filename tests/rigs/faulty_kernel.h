/* A kernel that stops the GPU with an error, for tests of a lost device. */
#ifndef TESTS_FAULTY_KERNEL_H
#define TESTS_FAULTY_KERNEL_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Launches the kernel. After that every CUDA call of this process fails, but no other process is affected. The kernel
 * traps instead of writing to invalid memory, which with one driver also affected other processes (MEASURED.md). */
cudaError_t launch_trap(cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
