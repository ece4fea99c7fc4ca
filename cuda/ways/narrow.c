/* The way (implementation of a product) for 3x3 convolutions with few channels over many pixels, on every GPU
 * (kernels/narrow.cu). */
#include "cuda/ways/way.h"

static bool fits(const struct cuda_device *device, const struct gemm_args *args) {
  return narrow_supported(args) && narrow_shared_bytes(args) <= (int)device->properties.sharedMemPerBlockOptin;
}

static bool takes(const struct cuda_device *device, const struct gemm_args *args, const struct choice *choice) {
  (void)choice;
  return fits(device, args);
}

static int candidates(const struct cuda_device *device, const struct gemm_args *args,
                      struct choice list[WAY_CANDIDATES_MAX]) {
  list[0] = (struct choice){.way = &way_narrow};
  return fits(device, args);
}

static int append(struct cuda_device *device, const struct product *product, const struct choice *choice,
                  struct launches *launches, struct error *err) {
  struct launch launch = {.kind = LAUNCH_NARROW, .op = product->prologue.op, .gemm = product->args};
  (void)device, (void)choice;
  return launches_append(launches, &launch, err);
}

const struct way way_narrow = {.kind = LAUNCH_NARROW, .candidates = candidates, .takes = takes, .append = append};
