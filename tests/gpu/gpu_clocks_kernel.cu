#include "tests/gpu/gpu_clocks.h"

namespace {

/* Thread blocks go to multiprocessors that have none first. */
__global__ void read_clocks(struct clock_reading *readings) {
  unsigned sm;
  int64_t clocks, ns;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(clocks));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  readings[sm] = {clocks, ns};
}

} // namespace

cudaError_t launch_clocks(cudaStream_t stream, struct clock_reading *readings, int sms) {
  read_clocks<<<(unsigned)sms, 1, 0, stream>>>(readings);
  return cudaGetLastError();
}
