#include "tests/rigs/attention_util.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void cuda_must(cudaError_t status, const char *file, int line, const char *call) {
  if (status == cudaSuccess)
    return;
  fprintf(stderr, "%s: %s:%d: %s: %s\n", program_invocation_short_name, file, line, call, cudaGetErrorString(status));
  exit(1);
}

double random_uniform(void) {
  static uint64_t state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return ((state >> 33) + 0.5) / 2147483648.0;
}

double random_normal(void) {
  return sqrt(-2 * log(random_uniform())) * cos(2 * M_PI * random_uniform());
}
