/* The way (implementation of a product) for 3x3 convolutions to very few channels, on every GPU (kernels/few.cu). */
#include "cuda/kernels/few.h"
#include "cuda/ways/way.h"

static bool fits(const struct cuda_device *device, const struct gemm_args *args) {
  return few_supported(args) && few_shared_bytes(args) <= (int)device->properties.sharedMemPerBlockOptin;
}

static bool takes(const struct cuda_device *device, const struct gemm_args *args, const struct choice *choice) {
  (void)choice;
  return fits(device, args);
}

static int candidates(const struct cuda_device *device, const struct gemm_args *args,
                      struct choice list[WAY_CANDIDATES_MAX]) {
  list[0] = (struct choice){&way_few, 0, 1};
  return fits(device, args);
}

static int append(struct cuda_device *device, const struct product *product, const struct choice *choice,
                  struct launches *launches, struct error *err) {
  struct launch launch = {.kind = LAUNCH_FEW, .op = product->prologue.op, .gemm = product->args};
  (void)device, (void)choice;
  return launches_append(launches, &launch, err);
}

const struct way way_few = {.kind = LAUNCH_FEW, .candidates = candidates, .takes = takes, .append = append};
