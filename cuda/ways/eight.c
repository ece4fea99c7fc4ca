/* The way (implementation of a product) for 3x3 convolutions from eight channels, on every GPU (kernels/eight.cu). */
#include "cuda/kernels/eight.h"
#include "cuda/ways/way.h"

static bool takes(const struct cuda_device *device, const struct gemm_args *args, const struct choice *choice) {
  (void)device, (void)choice;
  return eight_supported(args);
}

static int candidates(const struct cuda_device *device, const struct gemm_args *args,
                      struct choice list[WAY_CANDIDATES_MAX]) {
  (void)device;
  list[0] = (struct choice){&way_eight, 0, 1};
  return eight_supported(args);
}

static int append(struct cuda_device *device, const struct product *product, const struct choice *choice,
                  struct launches *launches, struct error *err) {
  struct launch launch = {.kind = LAUNCH_EIGHT, .op = product->prologue.op, .gemm = product->args};
  (void)device, (void)choice;
  return launches_append(launches, &launch, err);
}

const struct way way_eight = {.kind = LAUNCH_EIGHT, .candidates = candidates, .takes = takes, .append = append};
