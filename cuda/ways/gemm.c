/* The way (implementation of a product) that runs on every GPU and can do every product, by kernels/gemm.cu. A choice
 * is a tile, some of which have FP16 sums, and a number of splits (thread blocks that share the sum of a tile). */
#include "cuda/ways/way.h"

#include <math.h>

#include "cuda/ways/product.h"

/* --- FP16 sums --- */

/* Tiles with FP16 sums add the products of a span of K in FP16, and the spans' sums in FP32. The largest relative error
 * that they may have, ||y - exact|| / ||exact||, is what test_ops_cuda allows every way of doing a product. */
static const double error_allowed = 1.5e-3;

/* Returns a bound of the relative error of results whose products all have one sign. FP16 has 11 bits, so rounding to
 * the nearest number changes a value by at most 2^-11 of it. Tensor cores are taken to round after 4 products; those
 * that are known to round more rarely have a smaller error. A span's sum grows from one of its n roundings to the next:
 * if all of them go the same way, they change it by (n + 1) / 2 times 2^-11. To add the spans in FP32 is the same with
 * 2^-24. The result is rounded to FP16, which depends on none of that: over many results the error is at most 2^-11 /
 * sqrt(3). Products of either sign at random have a smaller error: sqrt((n + 1) / 2) times that of one rounding,
 * however deep the sum is. Where large products cancel out, the error is larger, as it is by the rounding of the
 * operands to FP16. A span of 32 would have 2.2e-3. The bound holds for results above about 2.5e-4: below 2^-14 FP16's
 * numbers have equal steps of 2^-24. Emulated at a depth of 2880, results of 2.4e-4 in the mean err by 1.5e-3, and
 * those of 8e-5 by 4.5e-3, where FP32 sums err by 2.6e-4. */
static double largest_error(int span, int depth) {
  double rounding = 0x1p-11, count = span / 4.0, spans = (double)depth / span;
  double sums = (count + 1) / 2 * rounding + (spans + 1) / 2 * 0x1p-24;
  return sqrt(sums * sums + rounding * rounding / 3);
}

static int depth_of(const struct gemm_args *args) {
  int side = args->quarters ? 2 : args->kernel;
  return side * side * (args->c + args->c2);
}

/* Returns true if the tile has FP32 sums alone, or if the sum's depth (taps x channels) and the tile's span allow FP16
 * sums. With GEGLU a result is the product of two sums, whose errors together may be too large at any depth. Values
 * need not be looked at: see gemm_sums.cuh for those whose sums FP16 cannot hold. */
static bool is_exact_enough(const struct gemm_args *args, int tile) {
  int span = gemm_tile_sizes[tile].span;
  return span == 0 || (args->act != ACT_GEGLU && largest_error(span, depth_of(args)) <= error_allowed);
}

/* Returns true for GPUs with the compute capabilities of GeForce cards, which make products with FP32 sums at half the
 * rate. Other GPUs with these capabilities do not; there the candidates are timed for nothing. */
static bool may_gain(const struct cuda_device *device) {
  int capability = 10 * device->properties.major + device->properties.minor;
  return capability == 86 || capability == 89 || capability == 120;
}

/* --- tiles and splits --- */

/* Returns the arguments with which the kernel is called. Their weights are still those of the 3x3 convolution. */
static struct gemm_args as_gemm(const struct gemm_args *args) {
  struct gemm_args gemm = *args;
  gemm.quarters = product_in_quarters(args);
  return gemm;
}

static int depth_blocks(const struct gemm_args *args) {
  return (depth_of(args) + 63) / 64;
}

/* Returns how many blocks of 64 along K the longest part of a split sum has. Windows split the sum between blocks of
 * channels, each of which has all taps. */
static int longest_part(const struct gemm_args *args) {
  int blocks = depth_blocks(args);
  if (!is_window(args->tile))
    return (blocks + args->splits - 1) / args->splits;
  int channels = (args->c + args->c2 + 63) / 64, taps = args->quarters ? 4 : 9;
  return (channels + args->splits - 1) / args->splits * taps;
}

/* Estimates how long a product takes, in units of the time in which a 128x128 tile adds 64 products to each sum. Thread
 * blocks run in waves over the multiprocessors. The estimate adds up these waves, each with a constant for start and
 * end, and the memory traffic of split sums. */
static double model_time(const struct cuda_device *device, const struct gemm_args *args) {
  static const double block_time[TILES_F32] = {
      [TILE_128x128] = 1.0,    [TILE_128x160] = 1.18,   [TILE_256x64] = 1.4,      [TILE_64x160] = 0.8,
      [TILE_64x64] = 0.45,     [TILE_64x16] = 0.25,     [WINDOW_8x16x160] = 0.85, [WINDOW_8x16x80] = 0.45,
      [WINDOW_16x16x64] = 0.7, [WINDOW_8x16x64] = 0.37, [WINDOW_8x8x64] = 0.35,   [WINDOW_8x8x64_DEEP] = 0.33};
  const struct gemm_tile_size *size = &gemm_tile_sizes[args->tile];
  int blocks = gemm_tiles(args) * args->splits;
  double waves = (double)((blocks + device->queue.sms - 1) / device->queue.sms);
  double deep = (double)longest_part(args);
  double add = args->splits > 1 ? 2.0 + 0.5 * args->splits * size->m * size->n / (128.0 * 128.0) : 0;
  return waves * (deep + 3) * block_time[args->tile] + add;
}

/* Sets args->splits to the number of splits (thread blocks that share the sum of a tile) with the shortest estimated
 * time for args->tile, and returns that time. */
static double choose_splits(const struct cuda_device *device, struct gemm_args *args) {
  static const int splits[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24};
  int best = 1;
  double least = 0;
  for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++) {
    args->splits = splits[i];
    if (splits[i] > 1 && (2 * splits[i] > depth_blocks(args) || !gemm_takes(args) || gemm_tiles(args) > ARRIVALS ||
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

/* Appends to the list's `count` choices those of the same tiles, in the same order, with FP16 sums. They come last, so
 * that they are used only where they were timed: what is chosen by rule alone has FP32 sums. Windows have none. Returns
 * the number of choices. */
static int append_f16(const struct gemm_args *args, struct choice list[WAY_CANDIDATES_MAX], int count) {
  struct gemm_args gemm = as_gemm(args);
  int all = count;
  for (int i = 0; i < count; i++)
    for (int tile = TILES_F32; tile < TILES && all < WAY_CANDIDATES_MAX; tile++) {
      const struct gemm_tile_size *size = &gemm_tile_sizes[tile], *same = &gemm_tile_sizes[list[i].index];
      if (list[i].index < WINDOW_FIRST && size->m == same->m && size->n == same->n && is_exact_enough(&gemm, tile))
        list[all++] = (struct choice){&way_gemm, tile, list[i].splits};
    }
  return all;
}

/* Of the tiles from number `from` up to `end`, adds those with the shortest estimated times to the `count` choices of
 * `list`, which are in the order of these times, the best first. Adds `most` at most, and none that takes much longer
 * than the best of them. Returns the number of choices. */
static int add_tiles(const struct cuda_device *device, const struct gemm_args *args, int from, int end, int most,
                     struct choice list[], double time[], int count) {
  struct gemm_args best[TILES_F32];
  double times[TILES_F32];
  int tiles = 0;
  for (int tile = from; tile < end; tile++) {
    struct gemm_args trial = as_gemm(args);
    trial.tile = (enum gemm_tile)tile;
    trial.splits = 1;
    if (!gemm_takes(&trial))
      continue;
    double t = choose_splits(device, &trial);
    int at = tiles++;
    for (; at > 0 && times[at - 1] > t; at--) {
      times[at] = times[at - 1];
      best[at] = best[at - 1];
    }
    times[at] = t;
    best[at] = trial;
  }
  for (int i = 0; i < tiles && i < most && times[i] <= 2.5 * times[0]; i++) {
    int at = count++;
    for (; at > 0 && time[at - 1] > times[i]; at--) {
      time[at] = time[at - 1];
      list[at] = list[at - 1];
    }
    time[at] = times[i];
    list[at] = (struct choice){&way_gemm, (int)best[i].tile, best[i].splits};
  }
  return count;
}

/* Stores in `list` the choices (tile and number of splits) with the shortest estimated times, at most four of gemm.cu
 * and four of window.cu, the best first. Where FP16 sums may be faster, the same tiles with these sums follow. Returns
 * the number of choices. */
static int candidates(const struct cuda_device *device, const struct gemm_args *args,
                      struct choice list[WAY_CANDIDATES_MAX]) {
  double time[WAY_CANDIDATES_MAX];
  int count = add_tiles(device, args, 0, WINDOW_FIRST, 4, list, time, 0);
  count = add_tiles(device, args, WINDOW_FIRST, TILES_F32, 4, list, time, count);
  return may_gain(device) ? append_f16(args, list, count) : count;
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
  if (choice->index < 0 || choice->index >= TILES || choice->splits < 1 || choice->splits > depth_blocks(&trial))
    return false;
  if (choice->index >= TILES_F32 && ((!device->forced && !may_gain(device)) || !is_exact_enough(&trial, choice->index)))
    return false;
  trial.tile = (enum gemm_tile)choice->index;
  trial.splits = choice->splits;
  if (!gemm_takes(&trial))
    return false;
  return choice->splits == 1 || (gemm_tiles(&trial) <= ARRIVALS && gemm_partial_bytes(&trial) <= WORKSPACE_BYTES);
}

const struct way way_gemm = {
    .kind = LAUNCH_GEMM, .candidates = candidates, .takes = takes, .quarters = product_in_quarters, .append = append};
