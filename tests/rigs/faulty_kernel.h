/* A GPU that stops by itself. */
#ifndef TESTS_FAULTY_KERNEL_H
#define TESTS_FAULTY_KERNEL_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* CUDA fails whatever this process asks of it from then on, and no other process notices. After writes to where no
 * memory is one driver was not the same for others either (MEASURED.md). */
cudaError_t launch_trap(cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
