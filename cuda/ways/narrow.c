/* The way (implementation of a product) for 3x3 convolutions with few channels over many pixels, on every GPU
 * (kernels/narrow.cu). A choice is an enum narrow_shape. */
#include "cuda/ways/way.h"

static struct gemm_args with_shape(const struct gemm_args *args, enum narrow_shape shape) {
  struct gemm_args shaped = *args;
  shaped.shape = shape;
  return shaped;
}

static bool fits(const struct cuda_device *device, const struct gemm_args *args, enum narrow_shape shape) {
  struct gemm_args shaped = with_shape(args, shape);
  return narrow_has_shape(&shaped) && narrow_shared_bytes(&shaped) <= (int)device->properties.sharedMemPerBlockOptin;
}

static bool takes(const struct cuda_device *device, const struct gemm_args *args, const struct choice *choice) {
  return choice->index >= 0 && choice->index < NARROW_SHAPES && fits(device, args, (enum narrow_shape)choice->index);
}

/* Stores all shapes in `list`. Without timing the first one is used: low tiles where there are few. */
static int candidates(const struct cuda_device *device, const struct gemm_args *args,
                      struct choice list[WAY_CANDIDATES_MAX]) {
  int tiles = args->n * ((args->out_w + 15) / 16) * ((args->out_h + 7) / 8), count = 0;
  int first = 2 * tiles <= device->queue.sms ? NARROW_LOW : NARROW_PAIR;
  for (int i = 0; i < NARROW_SHAPES; i++) {
    int shape = (first + i) % NARROW_SHAPES;
    if (fits(device, args, (enum narrow_shape)shape))
      list[count++] = (struct choice){.way = &way_narrow, .index = shape};
  }
  return count;
}

static int append(struct cuda_device *device, const struct product *product, const struct choice *choice,
                  struct launches *launches, struct error *err) {
  struct launch launch = {.kind = LAUNCH_NARROW, .op = product->prologue.op};
  (void)device;
  launch.gemm = with_shape(&product->args, (enum narrow_shape)choice->index);
  return launches_append(launches, &launch, err);
}

const struct way way_narrow = {.kind = LAUNCH_NARROW, .candidates = candidates, .takes = takes, .append = append};
