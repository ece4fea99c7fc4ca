/* The way for products on GPUs of compute capability 9.0 (kernels/product_sm90.cu). A choice is a tile, how thread
 * blocks work in pairs, and a number of splits (thread blocks that share the sum of a tile). */
#include "cuda/ways/way.h"

#include <math.h>

#include "cuda/ways/product.h"

/* Returns true if a convolution after an upsampling by 2 is done as four 2x2 convolutions before the upsampling. */
static bool in_quarters(const struct gemm_args *args) {
  return product_in_quarters(args) && args->w % 8 == 0;
}

/* Returns the arguments with which the kernel is called. The kernel itself upsamples only if in_quarters is true.
 * Otherwise an earlier launch (product_append_dense) has stored the upsampled, concatenated input, and the result
 * describes that one. */
static struct gemm_args without_upsampling(const struct gemm_args *args) {
  struct gemm_args dense = *args;
  if (args->upsample && !in_quarters(args)) {
    dense.h *= 2;
    dense.w *= 2;
    dense.c += dense.c2;
    dense.c2 = 0;
    dense.x2 = NULL;
    dense.upsample = false;
  }
  return dense;
}

static struct product_args as_product(const struct gemm_args *args, const struct choice *choice) {
  struct product_args product = {.gemm = without_upsampling(args),
                                 .tile = (enum product_tile)(choice->index / PRODUCT_PAIRS),
                                 .pair = (enum product_pair)(choice->index % PRODUCT_PAIRS)};
  product.gemm.splits = choice->splits;
  return product;
}

static bool takes(const struct cuda_device *device, const struct gemm_args *args, const struct choice *choice) {
  if (choice->index < 0 || choice->index >= PRODUCT_TILES * PRODUCT_PAIRS)
    return false;
  struct product_args product = as_product(args, choice);
  return product_supported(&device->product, &product) &&
         (choice->splits == 1 ||
          (product_counters(&product) <= ARRIVALS && product_partial_bytes(&product) <= WORKSPACE_BYTES));
}

/* Estimates how many microseconds a product takes. The constants were fitted to measurements by bench_product on an
 * H200. Arithmetic of the busiest multiprocessor, reads from the second-level cache, and reads of weights take place at
 * the same time, so only the longest of the three counts. To it the model adds the times for the start, for the
 * epilogues, and for the addition of split sums, in which one multiprocessor reads all parts of a tile. */
static double model_time(const struct cuda_device *device, const struct gemm_args *args, const struct choice *choice) {
  /* Rates in a microsecond. Of one multiprocessor: flops: operations; weights: bytes of weights that it reads; sums:
   * bytes of split sums that it reads. Of the whole GPU: cache: bytes from the cache; memory: bytes from memory.
   * slower: for each tile shape, a factor of the arithmetic's time. */
  static const double flops = 5.5e6, cache = 1.1e7, memory = 4.2e6, weights = 5.1e4, sums = 1.8e5;
  static const double slower[PRODUCT_TILES] = {1.2, 0.9, 1, 1.1, 1, 1, 1.5, 1, 0.9, 0.95, 0.9, 0.88, 1, 1.1};
  struct product_args product = as_product(args, choice);
  const struct product_tile_size *size = &product_tile_sizes[product.tile];
  bool pair_sum = product.pair == PAIR_SUM;
  int blocks = product_blocks(&product), parts = choice->splits * (pair_sum ? 2 : 1), sms = device->queue.sms;
  double waves = (double)((blocks + sms - 1) / sms), resident = ceil((double)blocks / (sms * size->blocks));
  int depth = product_depth(&product.gemm);
  double deep = 64 * (double)((depth + parts - 1) / parts);
  double rows = size->m / (product.pair == PAIR_INPUT ? 2.0 : 1) + size->n / (product.pair == PAIR_WEIGHTS ? 2.0 : 1);
  double tile = (double)size->m * size->n, partial = tile * 4 / (pair_sum ? 2 : 1);
  double multiply = fmax(waves * deep * tile * 2 / flops * slower[product.tile], blocks * deep * rows * 2 / cache);
  /* with this tile a thread block's consumers take turns: an epilogue runs while another consumer calculates a product,
   * so only the last epilogue adds to the time */
  if (product.tile == PRODUCT_128x160_TURNS)
    resident = 1;
  double columns = (double)args->columns * (product.gemm.upsample ? 4 : 1);
  double load = fmax(columns * 64 * depth * 2 / memory, waves * deep * size->n * 2 / weights);
  double sum = pair_sum ? 0.45 * tile / 10240 : 0;
  if (choice->splits > 1)
    sum += 2.1 + choice->splits * partial / sums + 2 * blocks * partial / cache;
  return fmax(multiply, load) + 1.4 + 0.65 * resident * tile / 10240 + sum;
}

/* Returns true if this choice may be the fastest for the product. Only the kernel whose consumers take turns
 * (turns_sm90.cuh) is excluded in some cases: it is fast only with GEGLU, or if some thread blocks calculate several
 * tiles. */
static bool pays(const struct cuda_device *device, const struct gemm_args *args, const struct choice *choice) {
  struct product_args product = as_product(args, choice);
  return product.tile != PRODUCT_128x160_TURNS || args->act == ACT_GEGLU ||
         product_blocks(&product) > device->queue.sms;
}

enum { TIMED = 6, TIMED_ATTENDING = 4 };

/* Stores in list the kernels and splits of the sum for which model_time predicts the shortest times, the shortest
 * first, at most `most` of them (TIMED or fewer), and returns their number. attending: only those that end with the
 * product's attention are meant; false: only all others. */
static int rank(const struct cuda_device *device, const struct gemm_args *args, bool attending, int most,
                struct choice *list) {
  static const int splits[] = {1, 2, 3, 4, 6, 8, 12, 16};
  double time[TIMED];
  int count = 0;
  for (int index = 0; index < PRODUCT_TILES * PRODUCT_PAIRS; index++)
    for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++) {
      struct choice choice = {&way_sm90, index, splits[i]};
      if (choice_attends(&choice) != attending || !takes(device, args, &choice) || !pays(device, args, &choice))
        continue;
      double t = model_time(device, args, &choice);
      int at = count < most ? count++ : most;
      for (; at > 0 && time[at - 1] > t; at--)
        if (at < most) {
          time[at] = time[at - 1];
          list[at] = list[at - 1];
        }
      if (at < most) {
        time[at] = t;
        list[at] = choice;
      }
    }
  return count;
}

/* Those that attend are the last: where nothing is timed, the attention has a launch of its own. */
static int candidates(const struct cuda_device *device, const struct gemm_args *args,
                      struct choice list[WAY_CANDIDATES_MAX]) {
  int count = rank(device, args, false, TIMED, list);
  return count + (args->attend.k ? rank(device, args, true, TIMED_ATTENDING, list + count) : 0);
}

static int append(struct cuda_device *device, const struct product *product, const struct choice *choice,
                  struct launches *launches, struct error *err) {
  struct gemm_args args = product->args;
  if (in_quarters(&args)) {
    args.weight = resource_quartered(device, product->weight, product->set, err);
    if (!args.weight)
      return -1;
  } else if (args.upsample && product_append_dense(device, product, &args, launches, err) < 0) {
    return -1;
  }
  struct launch launch = {.kind = LAUNCH_PRODUCT, .op = product->prologue.op};
  launch.product = as_product(&args, choice);
  launch.product.gemm.partial = product->workspace;
  launch.product.gemm.arrived = product->arrivals;
  return launches_append(launches, &launch, err);
}

static void scratch(const struct gemm_args *shape, size_t bytes[SCRATCH_AREAS]) {
  if (shape->upsample && !in_quarters(shape))
    bytes[SCRATCH_DENSE] = product_dense_bytes(shape);
}

const struct way way_sm90 = {.kind = LAUNCH_PRODUCT,
                             .scratch = scratch,
                             .candidates = candidates,
                             .takes = takes,
                             .quarters = in_quarters,
                             .append = append};
