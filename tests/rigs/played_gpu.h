/* A fake GPU, whose page-locked memory is ordinary memory. */
#ifndef TESTS_PLAYED_GPU_H
#define TESTS_PLAYED_GPU_H

#include <stdlib.h>

#include "unet/base/gpu.h"

static inline void *played_alloc_host(const struct gpu *gpu, size_t bytes) {
  (void)gpu;
  return malloc(bytes);
}

static inline void played_free_host(const struct gpu *gpu, void *memory) {
  (void)gpu;
  free(memory);
}

static const struct gpu_impl played_gpu = {.alloc_host = played_alloc_host, .free_host = played_free_host};

#endif
