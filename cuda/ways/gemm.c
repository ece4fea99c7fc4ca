/* The way (implementation of a product) that runs on every GPU and can do every product, by kernels/gemm.cu. A choice
 * is a tile and a number of splits (thread blocks that share the sum of a tile). */
#include "cuda/ways/way.h"

#include "cuda/ways/product.h"

/* Returns the arguments with which the kernel is called. Their weights are still those of the 3x3 convolution. */
static struct gemm_args as_gemm(const struct gemm_args *args) {
  struct gemm_args gemm = *args;
  gemm.quarters = product_in_quarters(args);
  return gemm;
}

static int depth_blocks(const struct gemm_args *args) {
  int side = args->quarters ? 2 : args->kernel;
  return (side * side * (args->c + args->c2) + 63) / 64;
}

/* Estimates how long a product takes, in units of the time in which a 128x128 tile adds 64 products to each sum. Thread
 * blocks run in waves over the multiprocessors. The estimate adds up these waves, each with a constant for start and
 * end, and the memory traffic of split sums. */
static double model_time(const struct cuda_device *device, const struct gemm_args *args) {
  static const double block_time[TILES] = {[TILE_128x128] = 1.0, [TILE_128x160] = 1.18, [TILE_256x64] = 1.4,
                                           [TILE_64x160] = 0.8,  [TILE_64x64] = 0.45,   [TILE_64x16] = 0.25};
  const struct gemm_tile_size *size = &gemm_tile_sizes[args->tile];
  int blocks = gemm_tiles(args) * args->splits;
  double waves = (double)((blocks + device->queue.sms - 1) / device->queue.sms);
  double deep = (double)((depth_blocks(args) + args->splits - 1) / args->splits);
  double add = args->splits > 1 ? 2.0 + 0.5 * args->splits * size->m * size->n / (128.0 * 128.0) : 0;
  return waves * (deep + 3) * block_time[args->tile] + add;
}

/* Sets args->splits to the number of splits (thread blocks that share the sum of a tile) with the shortest estimated
 * time for args->tile, and returns that time. */
static double choose_splits(const struct cuda_device *device, struct gemm_args *args) {
  static const int splits[] = {1, 2, 3, 4, 6, 8, 12, 16, 24};
  int best = 1;
  double least = 0;
  for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++) {
    args->splits = splits[i];
    if (splits[i] > 1 && (2 * splits[i] > depth_blocks(args) || gemm_tiles(args) > ARRIVALS ||
                          gemm_partial_bytes(args) > WORKSPACE_BYTES))
      continue;
    double time = model_time(device, args);
    if (i == 0 || time < least) {
      best = splits[i];
      least = time;
    }
  }
  args->splits = best;
  return least;
}

/* Stores in `list` the choices (tile and number of splits) with the shortest estimated times, at most four, the best
 * first. Tiles with much longer estimates are left out. Returns the number of choices. */
static int candidates(const struct cuda_device *device, const struct gemm_args *args,
                      struct choice list[WAY_CANDIDATES_MAX]) {
  double time[TILES];
  int count = 0;
  for (int tile = 0; tile < TILES; tile++) {
    struct gemm_args trial = as_gemm(args);
    trial.tile = (enum gemm_tile)tile;
    double t = choose_splits(device, &trial);
    int at = count++;
    for (; at > 0 && time[at - 1] > t; at--) {
      time[at] = time[at - 1];
      list[at] = list[at - 1];
    }
    time[at] = t;
    list[at] = (struct choice){&way_gemm, tile, trial.splits};
  }
  while (count > 1 && time[count - 1] > 2.5 * time[0])
    count--;
  return count < 4 ? count : 4;
}

static int append(struct cuda_device *device, const struct product *product, const struct choice *choice,
                  struct launches *launches, struct error *err) {
  struct launch launch = {.kind = LAUNCH_GEMM, .op = product->prologue.op, .gemm = as_gemm(&product->args)};
  if (launch.gemm.quarters) {
    launch.gemm.weight = resource_quartered(device, product->weight, product->set, err);
    if (!launch.gemm.weight)
      return -1;
  }
  launch.gemm.tile = (enum gemm_tile)choice->index;
  launch.gemm.splits = choice->splits;
  if (choice->splits > 1) {
    launch.gemm.partial = product->workspace;
    launch.gemm.arrived = product->arrivals;
  }
  return launches_append(launches, &launch, err);
}

static bool takes(const struct cuda_device *device, const struct gemm_args *args, const struct choice *choice) {
  struct gemm_args trial = as_gemm(args);
  (void)device;
  if (choice->index < 0 || choice->index >= TILES || choice->splits < 1 || choice->splits > depth_blocks(&trial))
    return false;
  trial.tile = (enum gemm_tile)choice->index;
  trial.splits = choice->splits;
  return choice->splits == 1 || (gemm_tiles(&trial) <= ARRIVALS && gemm_partial_bytes(&trial) <= WORKSPACE_BYTES);
}

const struct way way_gemm = {.kind = LAUNCH_GEMM, .candidates = candidates, .takes = takes, .append = append};
