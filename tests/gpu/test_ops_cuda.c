/* Compares every op on the CUDA device with its definition, and every kernel (called a way) that can compute a
 * convolution or linear layer: each tile of the project's own kernels with and without a split sum, the narrow kernel,
 * and the first proposals of cuBLASLt and cuDNN. A way that cannot compute a product leaves it to the project's own
 * kernel, so the products that it did compute are counted: a way that computed none fails.
 *
 *   test_ops_cuda [PREFIX [SEED]]   the cases whose names begin with PREFIX; SEED repeats a failure
 *   test_ops_cuda --chosen [PREFIX] those cases by the device's choice alone
 *   test_ops_cuda --way WAY         the ways whose names begin with WAY; here and below, WAY may be `queries`: linear
 *                                   layers whose launch also does the attention to a text
 *   test_ops_cuda --fused           chains of ops that are one launch
 *   test_ops_cuda --generic [WAY]   all cases, or those ways alone, or (rest) all but the ways; fails if something is
 *                                   used that came with Hopper, or that needs more shared memory than an Ada GPU has
 *   test_ops_cuda --quick [WAY]     a few cases for each of those ways, for compute-sanitizer
 *   test_ops_cuda --flat [WAY]      as --quick without graphs, for synccheck, which supports no conditional graphs */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/ways/tuner.h"
#include "unet/devices.h"
#include "tests/rigs/op_cases.h"

enum { SKIPPED = 77, QUICK_APART = 7 };

/* the way that convolutions and linear layers must take; NULL: the device chooses */
static const struct choice *forced;
static int sms;               /* number of multiprocessors that kernels are told of; 0: all */
static bool generic, overlap; /* overlap: launches overlap on the device */

enum { ADA_SHARED_BYTES = 99 << 10 }; /* most shared memory of a thread block on an Ada GPU */

static void limit(struct cuda_device *device) {
  if (generic)
    device->properties.sharedMemPerBlockOptin = ADA_SHARED_BYTES;
}

static void opened(struct device *device) {
  limit(cuda_device(device));
  cuda_device(device)->forced = forced;
  if (sms)
    cuda_device(device)->queue.sms = cuda_device(device)->preparing.queue.sms = sms;
}

static void opened_apart(struct device *device) {
  limit(cuda_device(device));
  cuda_device(device)->apart = true;
}

static void opened_together(struct device *device) {
  opened(device);
  cuda_device(device)->together = true;
}

static void opened_to_tune(struct device *device) {
  limit(cuda_device(device));
  cuda_device(device)->tune_always = true;
}

/* --- which kernel (way) computed a convolution or linear layer --- */

/* Counts convolutions and linear layers, those that each kernel (way) computed, those that the forced one computed, and
 * sequences of ops that are fused. kinds: launches of each kind; shortcuts: those within small convolutions; attending:
 * products that end with an attention; beside: norms that make more than their result; joined: epilogues that do;
 * copies: launches that also make the next one's input. */
static struct {
  int products, by[WAYS], forced, fused, kinds[LAUNCH_KINDS], shortcuts, attending, beside, joined, copies;
} tally;

/* Returns the index in `ways` of the launch's kernel; WAYS: the launch does no convolution or linear layer. */
static int find_way(const struct launch *launch) {
  int i = 0;
  while (i < WAYS && ways[i]->kind != launch->kind)
    i++;
  return i;
}

/* True if the launch uses the kernel that is forced. cuDNN's even-numbered proposals fuse what follows a convolution,
 * so a convolution that nothing follows does not count for them. */
static bool is_forced(const struct launch *launch, const struct op *op) {
  if (launch->kind != forced->way->kind)
    return false;
  if (forced->way == &way_gemm)
    return launch->gemm.tile == (enum gemm_tile)forced->index && launch->gemm.splits == forced->splits;
  if (forced->way == &way_sm90)
    return product_index(launch->product.tile, launch->product.pair) == forced->index &&
           launch->product.gemm.splits == forced->splits;
  if (forced->way == &way_narrow)
    return launch->gemm.shape == (enum narrow_shape)forced->index;
  if (forced->way == &way_halo)
    return launch->halo.tile == (enum halo_tile)forced->index;
  return forced->way != &way_cudnn || forced->index % 2 || tensor_exists(op->conv.bias) ||
         tensor_exists(op->conv.time) || tensor_exists(op->conv.residual) || op->conv.act != ACT_NONE;
}

static void prepared(const struct program *base) {
  const struct cuda_program *program = (const struct cuda_program *)base;
  const struct launches *launches = &program->launches;
  for (int i = 0; i < base->plan->op_count; i++)
    tally.fused += program->fused[i].product != FUSED_NOTHING;
  for (int i = 0; i < launches->count; i++) {
    const struct launch *launch = &launches->list[i];
    int way = find_way(launch);
    tally.kinds[launch->kind]++;
    tally.fused += launch->kind == LAUNCH_BLOCK || launch->kind == LAUNCH_COMPOSED ||
                   launch->kind == LAUNCH_NORM_CONV || launch->kind == LAUNCH_ROW_ENTER ||
                   launch->kind == LAUNCH_ROW_ATTEND || launch->kind == LAUNCH_ROW_LEAVE;
    tally.attending += launch->kind == LAUNCH_PRODUCT && product_attends(launch->product.tile);
    tally.shortcuts += launch->kind == LAUNCH_NORM_CONV && launch->norm_conv.more.c;
    tally.joined += launch->kind == LAUNCH_EPILOGUE && launch->joined.x;
    tally.copies += launch->kind == LAUNCH_SAMPLE && launch->sample.args.copy.y;
    tally.beside += launch->kind == LAUNCH_NORM && (launch->beside.sum || launch->beside.joined);
    if (way == WAYS)
      continue;
    tally.products++;
    tally.by[way]++;
    tally.forced += forced && is_forced(launch, &base->plan->ops[launch->op]);
  }
}

/* --- the ways --- */

static const struct forced_way {
  const char *name;
  struct choice choice;
  int sms; /* number of multiprocessors, small so that each thread block computes many tiles; 0: all */
} cases[] = {
    {"128x128 tiles", {&way_gemm, TILE_128x128, 1}},
    {"128x160 tiles", {&way_gemm, TILE_128x160, 1}},
    {"256x64 tiles", {&way_gemm, TILE_256x64, 1}},
    {"64x160 tiles", {&way_gemm, TILE_64x160, 1}},
    {"64x64 tiles", {&way_gemm, TILE_64x64, 1}},
    {"64x16 tiles", {&way_gemm, TILE_64x16, 1}},
    {"128x128 tiles, 2 splits", {&way_gemm, TILE_128x128, 2}},
    {"128x160 tiles, 4 splits", {&way_gemm, TILE_128x160, 4}},
    {"256x64 tiles, 2 splits", {&way_gemm, TILE_256x64, 2}},
    {"64x160 tiles, 3 splits", {&way_gemm, TILE_64x160, 3}},
    {"64x64 tiles, 2 splits", {&way_gemm, TILE_64x64, 2}},
    {"64x16 tiles, 5 splits", {&way_gemm, TILE_64x16, 5}},
    {"windows 8x16x160", {&way_gemm, WINDOW_8x16x160, 1}},
    {"windows 8x16x80", {&way_gemm, WINDOW_8x16x80, 1}},
    {"windows 16x16x64", {&way_gemm, WINDOW_16x16x64, 1}},
    {"windows 8x16x64", {&way_gemm, WINDOW_8x16x64, 1}},
    {"windows 8x8x64", {&way_gemm, WINDOW_8x8x64, 1}},
    {"windows 8x8x64 deep", {&way_gemm, WINDOW_8x8x64_DEEP, 1}},
    {"windows 8x16x160, 3 splits", {&way_gemm, WINDOW_8x16x160, 3}},
    {"windows 8x8x64, 2 splits", {&way_gemm, WINDOW_8x8x64, 2}},
    {"windows 8x16x80, 2 splits", {&way_gemm, WINDOW_8x16x80, 2}},
    {"windows 8x8x64 deep, 2", {&way_gemm, WINDOW_8x8x64_DEEP, 2}},
    {"FP16 sums, 128x128", {&way_gemm, TILE_128x128_F16, 1}},
    {"FP16 sums, 128x160", {&way_gemm, TILE_128x160_F16, 1}},
    {"FP16 sums, 256x64", {&way_gemm, TILE_256x64_F16, 1}},
    {"FP16 sums, 128x128, 3", {&way_gemm, TILE_128x128_F16, 3}},
    {"FP16 sums, 128x160, 4", {&way_gemm, TILE_128x160_F16, 4}},
    {"FP16 sums, 256x64, 2", {&way_gemm, TILE_256x64_F16, 2}},
#define PRODUCT(tile, pair, splits)                                                                                    \
  { &way_sm90, PRODUCT_##tile *PRODUCT_PAIRS + PAIR_##pair, splits }
    {"sm90 128x80, input, 2", PRODUCT(128x80, INPUT, 2)},
    {"sm90 128x160", PRODUCT(128x160, NONE, 1)},
    {"sm90 128x160, many tiles", PRODUCT(128x160, NONE, 1), 1},
    {"sm90 128x160, weights", PRODUCT(128x160, WEIGHTS, 1)},
    {"sm90 128x160, weights, 3", PRODUCT(128x160, WEIGHTS, 3)},
    {"sm90 128x160, sum, 2", PRODUCT(128x160, SUM, 2)},
    {"sm90 64x80, input", PRODUCT(64x80, INPUT, 1)},
    {"sm90 64x80, 5", PRODUCT(64x80, NONE, 5)},
    {"sm90 64x80, sum", PRODUCT(64x80, SUM, 1)},
    {"sm90 128x128, weights", PRODUCT(128x128, WEIGHTS, 1)},
    {"sm90 128x80 deep, sum", PRODUCT(128x80_DEEP, SUM, 1)},
    {"sm90 64x80 deep, sum, 3", PRODUCT(64x80_DEEP, SUM, 3)},
    {"sm90 128x64, weights", PRODUCT(128x64, WEIGHTS, 1)},
    {"sm90 64x64", PRODUCT(64x64, NONE, 1)},
    {"sm90 64x64, sum, 2", PRODUCT(64x64, SUM, 2)},
    {"sm90 192x160", PRODUCT(192x160, NONE, 1)},
    {"sm90 192x160, sum, 2", PRODUCT(192x160, SUM, 2)},
    {"sm90 256x160", PRODUCT(256x160, NONE, 1)},
    {"sm90 256x160, many tiles", PRODUCT(256x160, NONE, 1), 1},
    {"sm90 256x160, input", PRODUCT(256x160, INPUT, 1)},
    {"sm90 256x160, weights", PRODUCT(256x160, WEIGHTS, 1)},
    {"sm90 192x80, input", PRODUCT(192x80, INPUT, 1)},
    {"sm90 192x80, sum, 3", PRODUCT(192x80, SUM, 3)},
    {"sm90 turns", PRODUCT(128x160_TURNS, NONE, 1)},
    {"sm90 turns, many tiles", PRODUCT(128x160_TURNS, NONE, 1), 3},
    {"sm90 turns, weights", PRODUCT(128x160_TURNS, WEIGHTS, 1), 5},
    {"halo 256", {&way_halo, HALO_256, 1}},
    {"halo 128", {&way_halo, HALO_128, 1}},
    {"halo 64", {&way_halo, HALO_64, 1}},
    {"halo 256, many tiles", {&way_halo, HALO_256, 1}, 2},
    {"halo 128, many tiles", {&way_halo, HALO_128, 1}, 2},
    {"halo 64, many tiles", {&way_halo, HALO_64, 1}, 3},
    {"narrow convolutions", {&way_narrow, 0, 1}},
    {"narrow, many tiles", {&way_narrow, NARROW_PAIR, 1}, 1},
    {"narrow, four groups", {&way_narrow, NARROW_FOUR, 1}},
    {"narrow, four, many tiles", {&way_narrow, NARROW_FOUR, 1}, 1},
    {"narrow, low tiles", {&way_narrow, NARROW_LOW, 1}},
    {"narrow, low, many tiles", {&way_narrow, NARROW_LOW, 1}, 2},
    {"few columns", {&way_few, 0, 1}},
    {"eight channels", {&way_eight, 0, 1}},
    {"cuBLASLt 0", {&way_cublaslt, 0, 1}},
    {"cuBLASLt 1", {&way_cublaslt, 1, 1}},
    {"cuDNN fused", {&way_cudnn, 0, 1}},
    {"cuDNN raw", {&way_cudnn, 1, 1}},
};

/* Runs cases; returns how many failed, and adds to *done how many convolutions and linear layers used the forced
 * kernel. */
static int run(const char *what, const char *prefix, const struct op_test_options *options, int *done) {
  int count = 0;
  memset(&tally, 0, sizeof tally);
  int failed = op_cases_run(prefix, options, &count);
  printf("%-24s %-8s %3d cases, %d failed; ", what, prefix, count, failed);
  if (forced)
    printf("%d of %d products that way\n", tally.forced, tally.products);
  else
    for (int i = 0; i < WAYS; i++)
      printf("%s%s %d%s", i ? ", " : "products: ", way_name(ways[i]), tally.by[i], i + 1 < WAYS ? "" : "\n");
  fflush(stdout);
  if (done)
    *done += tally.forced;
  return failed;
}

/* Runs the cases of ops that are one product by each kernel of sm90 that takes them. */
static int run_joined(struct op_test_options options) {
  enum { FEWEST = 15 };
  int failed = 0, done = 0;
  options.opened = opened_together;
  for (int i = 0; i < (int)(sizeof cases / sizeof cases[0]); i++) {
    if (cases[i].choice.way != &way_sm90)
      continue;
    forced = &cases[i].choice;
    sms = cases[i].sms;
    failed += run(cases[i].name, "fused shortcuts", &options, NULL);
    done += tally.forced > 0;
    failed += run(cases[i].name, "fused linear layers", &options, NULL);
  }
  forced = NULL;
  sms = 0;
  if (done >= FEWEST)
    return failed;
  printf("FAIL shortcuts: by %d kernels, fewer than %d\n", done, FEWEST);
  return failed + 1;
}

/* Runs linear layers that make the queries of an attention by each kernel that does both, then by what is timed to be
 * the fastest, but not where a sanitizer would have to look at libraries' kernels. The last of the cases must not be
 * done so. */
static int run_queries(struct op_test_options options) {
  static const struct forced_way attending[] = {{"64x64 attends", PRODUCT(64x64_ATTENDS, NONE, 1)},
                                                {"64x64 attends, weights", PRODUCT(64x64_ATTENDS, WEIGHTS, 1)},
                                                {"64x64 attends, input", PRODUCT(64x64_ATTENDS, INPUT, 1)},
                                                {"128x64 attends", PRODUCT(128x64_ATTENDS, NONE, 1)},
                                                {"128x64 attends, weights", PRODUCT(128x64_ATTENDS, WEIGHTS, 1)},
                                                {"128x64 attends, input", PRODUCT(128x64_ATTENDS, INPUT, 1)}};
  enum { ROWS_64 = 17, ROWS_128 = 16 }; /* number of cases that a kernel with so many rows must take */
  int failed = 0;
  options.opened = opened_together;
  for (int i = 0; i < (int)(sizeof attending / sizeof attending[0]); i++) {
    int wanted = product_tile_sizes[attending[i].choice.index / PRODUCT_PAIRS].m == 64 ? ROWS_64 : ROWS_128;
    forced = &attending[i].choice;
    failed += run(attending[i].name, "fused queries", &options, NULL);
    if (!options.apart && (tally.forced != wanted || tally.attending != wanted)) {
      printf("FAIL %s: %d products of %d, not %d\n", attending[i].name, tally.forced, tally.attending, wanted);
      failed++;
    }
  }
  forced = NULL;
  if (!options.large)
    return failed;
  options.opened = opened_to_tune;
  failed += run("timed", "fused queries", &options, NULL);
  printf("%d attentions by the product ahead\n", tally.attending);
  return failed;
}

/* Runs the pairs of linear layers with what is timed to be the faster: one launch for both, or one for each. */
static int run_timed_pairs(struct op_test_options options) {
  options.opened = opened_to_tune;
  int failed = run("timed", "fused pairs", &options, NULL);
  printf("%d pairs in one launch\n", tally.kinds[LAUNCH_ROW_PAIR]);
  return failed;
}

/* Runs feed-forwards whose last two layers are one product, then those that are timed to be faster so. */
static int run_feeds(struct op_test_options options) {
  enum { FEWEST = 8 };
  options.opened = opened_together;
  int failed = run("together", "fused feed-forward", &options, NULL), done = tally.joined;
  options.opened = opened_to_tune;
  failed += run("timed", "fused feed-forward", &options, NULL);
  printf("%d feed-forwards by two products, %d where they were timed\n", done, tally.joined);
  if (done >= FEWEST)
    return failed;
  printf("FAIL together: fewer than %d\n", FEWEST);
  return failed + 1;
}

/* Runs an autoencoder's blocks as on GPUs with few multiprocessors, where small pictures have large tiles, too. With an
 * odd number of them some launches have no pairs of thread blocks. */
static int run_large_tiles(const struct op_test_options *options) {
  static const int few[] = {20, 59};
  int failed = 0;
  for (int i = 0; i < (int)(sizeof few / sizeof few[0]); i++) {
    sms = few[i];
    failed += run("few multiprocessors", "fused blocks", options, NULL);
  }
  sms = 0;
  return failed;
}

/* Returns 1, and says so, if the last run had fewer launches of a kind than the cases of fused chains have at least. */
static int lacks_kinds(bool sm90) {
  static const struct {
    enum launch_kind kind;
    int fewest;
    bool sm90; /* true: other GPUs have no such launch */
  } wanted[] = {{LAUNCH_COMPOSED, 7},       {LAUNCH_BLOCK, 4},           {LAUNCH_ROW_ENTER, 4},
                {LAUNCH_ROW_ATTEND, 4},     {LAUNCH_ROW_LEAVE, 4, true}, {LAUNCH_NORM_CONV, 5, true},
                {LAUNCH_ROW_PAIR, 13, true}};
  int lacks = 0;
  for (int i = 0; i < (int)(sizeof wanted / sizeof wanted[0]); i++) {
    int count = tally.kinds[wanted[i].kind];
    printf("%d %s, ", count, launch_kind_name(wanted[i].kind));
    lacks += (sm90 || !wanted[i].sm90) && count < wanted[i].fewest;
  }
  printf("%d shortcuts in small convolutions\n", tally.shortcuts);
  lacks += sm90 && tally.shortcuts < 5;
  if (lacks)
    printf("FAIL together: %d of these are too few\n", lacks);
  return lacks > 0;
}

/* Runs the cases of fused chains as one launch each (some cases just miss the conditions for it), then op by op. */
static int run_fused(bool sm90, bool blas, struct op_test_options options) {
  if (!options.apart) /* also pairs of more rows than the GPU takes at a time, which are apart where nothing is timed */
    options.opened = opened_together;
  int failed = run("together", "fused", &options, NULL);
  printf("%d fused sequences of ops\n", tally.fused);
  failed += options.apart ? 0 : lacks_kinds(sm90);
  failed += sm90 && !options.apart ? run_large_tiles(&options) : 0;
  failed += sm90 ? run_timed_pairs(options) : blas ? run_feeds(options) : 0;
  options.opened = opened_apart;
  failed += run("op by op", "fused", &options, NULL);
  if (tally.fused) {
    printf("FAIL op by op: %d fused sequences of ops\n", tally.fused);
    failed++;
  }
  return failed + (sm90 ? run_joined(options) + run_queries(options) : 0);
}

/* Runs the sampler's steps between convolutions, whose inputs the ops ahead of them write. */
static int run_copies(const struct op_test_options *options) {
  enum { COPIES = 9 };
  int failed = run("the device's choice", "steps between", options, NULL);
  if (tally.copies == COPIES)
    return failed;
  printf("FAIL steps between convolutions: %d inputs were written ahead, not %d\n", tally.copies, COPIES);
  return failed + 1;
}

/* Returns true for the tiles of window.cu, which do 3x3 convolutions alone. */
static bool has_windows(const struct forced_way *way) {
  return way->choice.way == &way_gemm && way->choice.index < TILES_F32 && is_window((enum gemm_tile)way->choice.index);
}

/* Runs large sums, all of which are deep enough for every tile and split of gemm.cu. Windows do some of them, perhaps
 * none where some cases are left out. */
static int run_sums(const struct forced_way *way, const struct op_test_options *options, int *done) {
  int failed = run(way->name, "sums", options, done);
  if (tally.forced == tally.products || (has_windows(way) && (tally.forced > 0 || options->apart)))
    return failed;
  printf("FAIL %s: %d products were done in another way\n", way->name, tally.products - tally.forced);
  return failed + 1;
}

/* Runs residual blocks by a library's kernel. Where launches do not overlap, their norms also make what would be
 * launches of their own. */
static int run_blocks(const struct forced_way *way, const struct op_test_options *options) {
  int failed = run(way->name, "fused residual", options, NULL);
  bool wanted = !overlap && (way->choice.way == &way_cublaslt || way->choice.index % 2 == 0);
  if (tally.beside || !wanted)
    return failed;
  printf("FAIL %s: no norm has made more than its result\n", way->name);
  return failed + 1;
}

/* Runs one kernel on the cases that begin with prefix, or on all convolutions and linear layers. It is a failure if the
 * kernel computed nothing, unless the prefix may have left no case for it, or, of a window, a choice of some cases. */
static int run_way(const struct forced_way *way, const char *prefix, const struct op_test_options *options) {
  int done = 0;
  bool linear = (way->choice.way == &way_gemm && !has_windows(way)) || way->choice.way == &way_sm90 ||
                way->choice.way == &way_cublaslt;
  forced = &way->choice;
  sms = way->sms;
  int failed = run(way->name, *prefix ? prefix : "conv", options, &done);
  if (!*prefix && linear)
    failed += run(way->name, "linear", options, &done) + run(way->name, "inject", options, &done);
  if (!*prefix && way->choice.way == &way_gemm)
    failed += run_sums(way, options, &done);
  if (!*prefix && (way->choice.way == &way_cublaslt || way->choice.way == &way_cudnn))
    failed += run_blocks(way, options);
  if (!*prefix && way->choice.way == &way_halo) /* each second launch goes the other way */
    failed += run(way->name, "chain", options, &done);
  forced = NULL;
  sms = 0;
  if (*prefix || done || (has_windows(way) && options->apart))
    return failed;
  printf("FAIL %s: no product was done that way\n", way->name);
  return failed + 1;
}

/* Returns why a kernel cannot be tested here; NULL if it can. */
static const char *find_lack(const struct forced_way *way, bool blas, bool dnn, bool sm90) {
  if (way->choice.way == &way_cublaslt && !blas)
    return "cuBLASLt is not there";
  if ((way->choice.way == &way_sm90 || way->choice.way == &way_halo) && !sm90)
    return "the GPU is not of compute capability 9.0, or the build not for it";
  return way->choice.way == &way_cudnn && !dnn ? "cuDNN is not there" : NULL;
}

/* Returns a feature that the device has and an Ada GPU has not; NULL: none. */
static const char *find_hopper(const struct cuda_device *device) {
  return device->queue.overlap                 ? "launches that overlap"
         : device->product.encode_tiled        ? "the products of compute capability 9.0"
         : device->attention.encode_tensor_map ? "the attention of compute capability 9.0"
                                               : NULL;
}

int main(int argc, char **argv) {
  generic = argc > 1 && !strcmp(argv[1], "--generic");
  bool flat = argc > 1 && !strcmp(argv[1], "--flat"), quick = flat || (argc > 1 && !strcmp(argv[1], "--quick"));
  bool some = quick || (argc > 1 && !strcmp(argv[1], "--way"));
  const char *only = (some || generic) && argc > 2 ? argv[2] : "";
  bool ways_alone = *only && strcmp(only, "rest") != 0;
  bool chosen = argc > 1 && !strcmp(argv[1], "--chosen");
  const char *prefix = chosen ? argc > 2 ? argv[2] : "" : argc > 1 && !some && !generic ? argv[1] : "";
  /* Error bounds: FP16 has 11 bits; results are rounded to it once, inputs of products twice (the norm's output). */
  struct op_test_options options = {.device = {.name = "cuda", .graph = flat ? GRAPH_OFF : GRAPH_ON},
                                    .opened = opened,
                                    .prepared = prepared,
                                    .product = 1.5e-3,
                                    .exact = 1e-3,
                                    .codes = 1,
                                    .operands = DTYPE_F16,
                                    .large = !quick,
                                    .seed = argc > 2 && !some && !generic && !chosen ? strtoull(argv[2], NULL, 10) : 0};
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
  bool blas = cuda_device(device)->blas, dnn = cuda_device(device)->dnn;
  bool sm90 = cuda_device(device)->product.encode_tiled;
  overlap = cuda_device(device)->queue.overlap;
  const char *hopper = generic ? find_hopper(cuda_device(device)) : NULL;
  device_close(&device);
  if (hopper) {
    printf("FAIL the device has %s: build with -Dgpu_archs=ptx80\n", hopper);
    return 1;
  }
  if (argc > 1 && !strcmp(argv[1], "--fused"))
    return run_fused(sm90, blas, options) != 0;
  int failed = ways_alone ? 0 : run("the device's choice", prefix, &options, NULL);
  failed += ways_alone || *prefix ? 0 : run_copies(&options);
  if (chosen)
    return failed != 0;
  for (int i = 0; i < (int)(sizeof cases / sizeof cases[0]); i++) {
    const char *lack = find_lack(&cases[i], blas, dnn, sm90);
    if (strncmp(cases[i].name, only, strlen(only)) != 0)
      continue;
    options.apart = quick ? QUICK_APART : 0;
    options.first = quick ? i % QUICK_APART : 0;
    if (lack)
      printf("%-24s left out: %s\n", cases[i].name, lack);
    else
      failed += run_way(&cases[i], prefix, &options);
  }
  if (sm90 && !strcmp(only, "queries"))
    failed += run_queries(options);
  if (!ways_alone && !*prefix)
    failed += run_fused(sm90, blas, options);
  if (some || ways_alone)
    return failed != 0;
  options.opened = opened_to_tune;
  failed += run("timed candidates", *prefix ? prefix : "conv", &options, NULL);
  options.device.graph = GRAPH_OFF;
  failed += run("without a graph", *prefix ? prefix : "loop", &options, NULL);
  return failed != 0;
}
