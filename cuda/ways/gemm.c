/* The kernel that runs on every GPU (kernels/gemm.cu). A choice is a tile and a number of splits. It takes every
 * product. */
#include "cuda/ways/way.h"

static int depth_blocks(const struct gemm_args *args) {
  return (args->kernel * args->kernel * (args->c + args->c2) + 63) / 64;
}

/* Estimates the time of a product, in units of one 64-deep block of a 128x128 tile: waves of thread blocks over the
 * multiprocessors, each with a constant for its start and end, and the traffic of split sums. */
static double model_time(const struct cuda_device *device, const struct gemm_args *args) {
  static const double block_time[TILES] = {
      [TILE_128x128] = 1.0, [TILE_64x160] = 0.62, [TILE_64x64] = 0.33, [TILE_64x16] = 0.16};
  const struct gemm_tile_size *size = &gemm_tile_sizes[args->tile];
  int blocks = gemm_tiles(args) * args->splits;
  double waves = (double)((blocks + device->queue.sms - 1) / device->queue.sms);
  double deep = (double)((depth_blocks(args) + args->splits - 1) / args->splits);
  double add = args->splits > 1 ? 2.0 + 0.5 * args->splits * size->m * size->n / (128.0 * 128.0) : 0;
  return waves * (deep + 3) * block_time[args->tile] + add;
}

/* Chooses the best number of splits for args->tile by the model, and returns the model's time. */
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

/* Lists the tiles, the best by the model first. Tiles with much longer times are left out. */
static int candidates(const struct cuda_device *device, const struct gemm_args *args,
                      struct choice list[WAY_CANDIDATES_MAX]) {
  double time[TILES];
  int count = 0;
  for (int tile = 0; tile < TILES; tile++) {
    struct gemm_args trial = *args;
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
  return count < 3 ? count : 3;
}

static int append(struct cuda_device *device, const struct product *product, const struct choice *choice,
                  struct launches *launches, struct error *err) {
  struct launch launch = {.kind = LAUNCH_GEMM, .op = product->prologue.op, .gemm = product->args};
  (void)device;
  launch.gemm.tile = (enum gemm_tile)choice->index;
  launch.gemm.splits = choice->splits;
  if (choice->splits > 1) {
    launch.gemm.partial = product->workspace;
    launch.gemm.arrived = product->arrivals;
  }
  return launches_append(launches, &launch, err);
}

static bool takes(const struct cuda_device *device, const struct gemm_args *args, const struct choice *choice) {
  struct gemm_args trial = *args;
  (void)device;
  if (choice->index < 0 || choice->index >= TILES || choice->splits < 1 || choice->splits > depth_blocks(args))
    return false;
  trial.tile = (enum gemm_tile)choice->index;
  trial.splits = choice->splits;
  return choice->splits == 1 || (gemm_tiles(&trial) <= ARRIVALS && gemm_partial_bytes(&trial) <= WORKSPACE_BYTES);
}

const struct way way_gemm = {.kind = LAUNCH_GEMM, .candidates = candidates, .takes = takes, .append = append};
