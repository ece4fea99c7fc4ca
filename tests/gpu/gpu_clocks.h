/* Reads the clock of each multiprocessor, by a kernel. */
#ifndef TESTS_GPU_CLOCKS_H
#define TESTS_GPU_CLOCKS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

struct clock_reading {
  int64_t clocks, ns; /* counted from a start that differs from one multiprocessor to the next; 0: not read */
};

#ifdef __cplusplus
extern "C" {
#endif

/* readings: device memory for one reading of each multiprocessor, in the order of their numbers. */
cudaError_t launch_clocks(cudaStream_t stream, struct clock_reading *readings, int sms);

#ifdef __cplusplus
}
#endif

#endif
