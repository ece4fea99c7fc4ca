/* The clock of each multiprocessor, read by the GPU itself. */
#ifndef TESTS_GPU_CLOCKS_H
#define TESTS_GPU_CLOCKS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

struct clock_reading {
  int64_t clocks, ns; /* since some moment of the multiprocessor's own; 0: not read */
};

#ifdef __cplusplus
extern "C" {
#endif

/* readings: one for each multiprocessor, by its number, in device memory. */
cudaError_t launch_clocks(cudaStream_t stream, struct clock_reading *readings, int sms);

#ifdef __cplusplus
}
#endif

#endif
