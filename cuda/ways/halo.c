/* The way (implementation of a product) for 3x3 convolutions with few channels over many pixels, on GPUs of compute
 * capability 9.0 (kernels/halo_sm90.cu). Its choices are the sizes of tiles (enum halo_tile). */
#include "cuda/ways/way.h"

static struct halo_args as_halo(const struct gemm_args *args, int tile) {
  return (struct halo_args){.gemm = *args, .tile = (enum halo_tile)tile};
}

static bool takes(const struct cuda_device *device, const struct gemm_args *args, const struct choice *choice) {
  const struct halo_args halo = as_halo(args, choice->index);
  return halo_supported(&device->product, &halo);
}

/* Returns true for upsampled inputs with many pixels. For them this file's way (halo) is chosen without any timing:
 * libraries take twice as long, and need an upsampled copy of the input. */
static bool settles(const struct cuda_device *device, const struct gemm_args *shape) {
  enum { MANY = 64 * 64 };
  const struct choice choice = {.way = &way_halo, .index = HALO_64, .splits = 1};
  return shape->upsample && shape->columns == shape->c && shape->out_h * shape->out_w >= MANY &&
         takes(device, shape, &choice);
}

static int candidates(const struct cuda_device *device, const struct gemm_args *args,
                      struct choice list[WAY_CANDIDATES_MAX]) {
  int count = 0;
  for (int tile = 0; tile < HALO_TILES; tile++) {
    const struct choice choice = {.way = &way_halo, .index = tile, .splits = 1};
    if (takes(device, args, &choice))
      list[count++] = choice;
  }
  return count;
}

/* Returns true if the next halo convolution of a program calculates its tiles from the last to the first: every second
 * one does. */
static bool goes_backward(const struct launches *launches) {
  for (int i = launches->count - 1; i >= 0; i--)
    if (launches->list[i].kind == LAUNCH_HALO)
      return !launches->list[i].halo.backward;
  return false;
}

static int append(struct cuda_device *device, const struct product *product, const struct choice *choice,
                  struct launches *launches, struct error *err) {
  struct launch launch = {
      .kind = LAUNCH_HALO, .op = product->prologue.op, .halo = as_halo(&product->args, choice->index)};
  (void)device;
  launch.halo.backward = goes_backward(launches);
  launch.halo.input_ends = product->input_ends;
  return launches_append(launches, &launch, err);
}

const struct way way_halo = {
    .kind = LAUNCH_HALO, .settles = settles, .candidates = candidates, .takes = takes, .append = append};
