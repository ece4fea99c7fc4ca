/* Every op on the CUDA device against the definition, and every way a convolution or linear layer can be done: each
 * tile of the project's own kernel with and without a split sum, the narrow kernel, cuBLASLt's and cuDNN's first
 * offers.
 *
 * test_ops_cuda [PREFIX [SEED]]   the cases whose names begin with PREFIX; SEED repeats a failure
 * test_ops_cuda --quick           a few of those ways only, for compute-sanitizer */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/tune.h"
#include "op_cases.h"

enum { SKIPPED = 77 };

static const struct choice *forced;

static void opened(struct device *device) {
  cuda_device(device)->forced = forced;
}

static void opened_to_tune(struct device *device) {
  cuda_device(device)->tune_always = true;
}

static const struct variant {
  const char *name;
  struct choice choice;
  bool quick;
} variants[] = {
    {"128x128 tiles", {BACKEND_GEMM, TILE_128x128, 1}},
    {"64x160 tiles", {BACKEND_GEMM, TILE_64x160, 1}},
    {"64x64 tiles", {BACKEND_GEMM, TILE_64x64, 1}},
    {"64x16 tiles", {BACKEND_GEMM, TILE_64x16, 1}},
    {"128x128 tiles, 2 splits", {BACKEND_GEMM, TILE_128x128, 2}},
    {"64x160 tiles, 3 splits", {BACKEND_GEMM, TILE_64x160, 3}, true},
    {"64x64 tiles, 2 splits", {BACKEND_GEMM, TILE_64x64, 2}},
    {"64x16 tiles, 5 splits", {BACKEND_GEMM, TILE_64x16, 5}},
    {"narrow convolutions", {BACKEND_NARROW, 0, 1}, true},
    {"cuBLASLt 0", {BACKEND_BLAS, 0, 1}},
    {"cuBLASLt 1", {BACKEND_BLAS, 1, 1}},
    {"cuDNN fused", {BACKEND_DNN, 0, 1}},
    {"cuDNN raw", {BACKEND_DNN, 1, 1}},
};

static int run(const char *what, const char *prefix, const struct op_test_options *options) {
  int count = 0, failed = op_cases_run(prefix, options, &count);
  printf("%-24s %-8s %3d cases, %d failed\n", what, prefix, count, failed);
  fflush(stdout);
  return failed;
}

int main(int argc, char **argv) {
  bool quick = argc > 1 && !strcmp(argv[1], "--quick");
  const char *prefix = argc > 1 && !quick ? argv[1] : "";
  /* Bounds: FP16 has 11 bits; results are rounded to it once, inputs of products twice (the norm's output). */
  struct op_test_options options = {.device = {.name = "cuda"},
                                    .opened = opened,
                                    .product = 1.5e-3,
                                    .exact = 1e-3,
                                    .codes = 1,
                                    .operands = DTYPE_F16,
                                    .seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 0};
  struct resources resources = {0};
  struct device *device;
  struct error err;
  if (device_open(&device, &resources, &options.device, &err) < 0) {
    printf("skipped: %s\n", err.message);
    return SKIPPED;
  }
  struct device_info info;
  device_get_info(device, &info);
  printf("%s: %s\n", info.name, info.detail);
  device_close(&device);
  int failed = run("the device's choice", prefix, &options);
  for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
    if (quick && !variants[i].quick)
      continue;
    forced = &variants[i].choice;
    failed += run(variants[i].name, *prefix ? prefix : "conv", &options);
    if (!*prefix && forced->backend != BACKEND_NARROW && forced->backend != BACKEND_DNN)
      failed += run(variants[i].name, "linear", &options);
  }
  if (quick)
    return failed != 0;
  options.opened = opened_to_tune;
  failed += run("timed candidates", *prefix ? prefix : "conv", &options);
  return failed != 0;
}
