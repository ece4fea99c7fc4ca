/* Times the products of SD-Turbo's networks at 512x512 in every way of the kernels for compute capability 9.0, beside
 * the best of cuBLASLt and cuDNN. Each launch reads other weights than the one before, so that they come from memory as
 * they do in a frame. Results are compared with those of gemm.cu. No test depends on these times.
 *
 * bench_product FILE [PREFIX]   writes a line for each way to FILE and prints a table of the best. PREFIX selects among
 *                               "linear", "linear gated", "conv" and "narrow" (convolutions to at most 64 channels) */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/libraries/libraries.h"
#include "cuda/timing.h"
#include "unet/devices.h"

enum { SKIPPED = 77, WEIGHT_BYTES = 192 << 20, DATA_BYTES = 64 << 20, COPIES_MAX = 16, ALGORITHMS = 4, ENGINES = 8 };

static const struct shape {
  int h, w, c, c2, columns, kernel, times;
  enum activation act;
  bool residual;
} shapes[] = {
    {.h = 1, .w = 256, .c = 1280, .columns = 1280, .kernel = 1, .times = 25, .residual = true},
    {.h = 1, .w = 1024, .c = 640, .columns = 640, .kernel = 1, .times = 25, .residual = true},
    {.h = 1, .w = 4096, .c = 320, .columns = 320, .kernel = 1, .times = 25, .residual = true},
    {.h = 1, .w = 4096, .c = 320, .columns = 2560, .kernel = 1, .times = 5, .act = ACT_GEGLU},
    {.h = 1, .w = 1024, .c = 640, .columns = 5120, .kernel = 1, .times = 5, .act = ACT_GEGLU},
    {.h = 1, .w = 256, .c = 1280, .columns = 10240, .kernel = 1, .times = 5, .act = ACT_GEGLU},
    {.h = 1, .w = 4096, .c = 1280, .columns = 320, .kernel = 1, .times = 5, .residual = true},
    {.h = 1, .w = 1024, .c = 2560, .columns = 640, .kernel = 1, .times = 5, .residual = true},
    {.h = 1, .w = 256, .c = 5120, .columns = 1280, .kernel = 1, .times = 5, .residual = true},
    {.h = 1, .w = 256, .c = 1280, .columns = 3840, .kernel = 1, .times = 5},
    {.h = 1, .w = 4096, .c = 320, .columns = 960, .kernel = 1, .times = 5},
    {.h = 1, .w = 1024, .c = 640, .columns = 1920, .kernel = 1, .times = 5},
    {.h = 1, .w = 64, .c = 1280, .columns = 1280, .kernel = 1, .times = 5, .residual = true},
    {.h = 1, .w = 64, .c = 1280, .c2 = 1280, .columns = 1280, .kernel = 1, .times = 3},
    {.h = 1, .w = 256, .c = 1280, .c2 = 1280, .columns = 1280, .kernel = 1, .times = 2},
    {.h = 1, .w = 4096, .c = 320, .c2 = 320, .columns = 320, .kernel = 1, .times = 2},
    {.h = 1, .w = 1024, .c = 1280, .c2 = 640, .columns = 640, .kernel = 1, .times = 1},
    {.h = 1, .w = 4096, .c = 640, .c2 = 320, .columns = 320, .kernel = 1, .times = 1},
    {.h = 1, .w = 64, .c = 1280, .columns = 10240, .kernel = 1, .times = 1, .act = ACT_GEGLU},
    {.h = 1, .w = 64, .c = 5120, .columns = 1280, .kernel = 1, .times = 1, .residual = true},
    {.h = 1, .w = 64, .c = 1280, .columns = 3840, .kernel = 1, .times = 1},
    {.h = 1, .w = 77, .c = 1024, .columns = 2560, .kernel = 1, .times = 6},
    {.h = 8, .w = 8, .c = 1280, .columns = 1280, .kernel = 3, .times = 12, .residual = true},
    {.h = 16, .w = 16, .c = 1280, .columns = 1280, .kernel = 3, .times = 7, .residual = true},
    {.h = 64, .w = 64, .c = 320, .columns = 320, .kernel = 3, .times = 7, .residual = true},
    {.h = 32, .w = 32, .c = 640, .columns = 640, .kernel = 3, .times = 6, .residual = true},
    {.h = 8, .w = 8, .c = 2560, .columns = 1280, .kernel = 3, .times = 3},
    {.h = 16, .w = 16, .c = 2560, .columns = 1280, .kernel = 3, .times = 2},
    {.h = 64, .w = 64, .c = 640, .columns = 320, .kernel = 3, .times = 2},
    {.h = 32, .w = 32, .c = 1280, .columns = 1280, .kernel = 3, .times = 1},
    {.h = 64, .w = 64, .c = 640, .columns = 640, .kernel = 3, .times = 1},
    {.h = 64, .w = 64, .c = 960, .columns = 320, .kernel = 3, .times = 1},
    {.h = 32, .w = 32, .c = 1920, .columns = 640, .kernel = 3, .times = 1},
    {.h = 32, .w = 32, .c = 1280, .columns = 640, .kernel = 3, .times = 1},
    {.h = 16, .w = 16, .c = 640, .columns = 1280, .kernel = 3, .times = 1},
    {.h = 32, .w = 32, .c = 320, .columns = 640, .kernel = 3, .times = 1},
    {.h = 64, .w = 64, .c = 320, .columns = 4, .kernel = 3, .times = 1},
    {.h = 512, .w = 512, .c = 64, .columns = 64, .kernel = 3, .times = 4, .act = ACT_RELU},
    {.h = 512, .w = 512, .c = 64, .columns = 64, .kernel = 3, .times = 2, .act = ACT_RELU, .residual = true},
    {.h = 256, .w = 256, .c = 64, .columns = 64, .kernel = 3, .times = 19, .act = ACT_RELU},
    {.h = 128, .w = 128, .c = 64, .columns = 64, .kernel = 3, .times = 20, .act = ACT_RELU},
    {.h = 64, .w = 64, .c = 64, .columns = 64, .kernel = 3, .times = 20, .act = ACT_RELU},
    {.h = 1, .w = 9216, .c = 320, .columns = 2560, .kernel = 1, .act = ACT_GEGLU},
    {.h = 1, .w = 2304, .c = 640, .columns = 5120, .kernel = 1, .act = ACT_GEGLU},
    {.h = 1, .w = 576, .c = 1280, .columns = 10240, .kernel = 1, .act = ACT_GEGLU},
    {.h = 512, .w = 512, .c = 32, .columns = 32, .kernel = 3, .act = ACT_RELU},
    {.h = 256, .w = 256, .c = 32, .columns = 32, .kernel = 3, .act = ACT_RELU, .residual = true},
    {.h = 128, .w = 128, .c = 32, .columns = 32, .kernel = 3, .act = ACT_RELU},
    {.h = 64, .w = 64, .c = 32, .columns = 32, .kernel = 3, .act = ACT_RELU},
};

struct bench {
  struct cuda_device *device;
  FILE *file;
  char *weights;
  half_t *x, *x2, *residual, *y, *raw, *bias16, *result, *expected;
  float *bias;
  const struct shape *shape;
  struct gemm_args args;
  int copies; /* number of copies of the weights: each launch reads another one, so that none is in the cache */
  size_t weight_bytes, y_count;
  double worst;
};

static void must(cudaError_t status, const char *what) {
  if (status == cudaSuccess)
    return;
  fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  exit(1);
}

/* --- memory --- */

static float random_normal(void) {
  static uint64_t state = 1;
  float sum = 0;
  for (int i = 0; i < 4; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    sum += (float)(state >> 40) / (float)(1 << 24) - 0.5f;
  }
  return sum * 1.732f;
}

/* Allocates device memory and fills it with one block of random numbers over and over. */
static void *fill(size_t bytes, float scale) {
  enum { BLOCK = 1 << 20 };
  static half_t block[BLOCK];
  void *data;
  must(cudaMalloc(&data, bytes), "memory");
  for (int i = 0; i < BLOCK; i++)
    block[i] = f32_to_f16(scale * random_normal());
  for (size_t at = 0; at < bytes; at += sizeof block)
    must(cudaMemcpy((char *)data + at, block, bytes - at < sizeof block ? bytes - at : sizeof block,
                    cudaMemcpyHostToDevice),
         "memory");
  return data;
}

static void open_memory(struct bench *b) {
  float bias[10240];
  half_t f16[10240];
  for (int i = 0; i < 10240; i++) {
    bias[i] = random_normal();
    f16[i] = f32_to_f16(bias[i]);
  }
  b->weights = fill(WEIGHT_BYTES, 0.05f);
  b->x = fill(DATA_BYTES, 1);
  b->x2 = fill(DATA_BYTES, 1);
  b->residual = fill(DATA_BYTES, 1);
  b->y = fill(DATA_BYTES, 1);
  b->raw = fill(DATA_BYTES, 1);
  must(cudaMalloc((void **)&b->bias, sizeof bias), "memory");
  must(cudaMalloc((void **)&b->bias16, sizeof f16), "memory");
  must(cudaMemcpy(b->bias, bias, sizeof bias, cudaMemcpyHostToDevice), "memory");
  must(cudaMemcpy(b->bias16, f16, sizeof f16, cudaMemcpyHostToDevice), "memory");
  b->result = malloc(DATA_BYTES);
  b->expected = malloc(DATA_BYTES);
}

/* --- one shape --- */

static void set_shape(struct bench *b, const struct shape *s) {
  int in = s->c + s->c2, taps = s->kernel * s->kernel;
  b->shape = s;
  b->args = (struct gemm_args){.x = b->x,
                               .x2 = s->c2 ? b->x2 : NULL,
                               .bias = b->bias,
                               .residual = s->residual ? b->residual : NULL,
                               .y = b->y,
                               .n = 1,
                               .h = s->h,
                               .w = s->w,
                               .c = s->c,
                               .c2 = s->c2,
                               .out_h = s->h,
                               .out_w = s->w,
                               .kernel = s->kernel,
                               .stride = 1,
                               .pad = s->kernel / 2,
                               .residual_last = s->kernel == 1,
                               .act = s->act,
                               .columns = s->columns,
                               .splits = 1};
  b->weight_bytes = (size_t)s->columns * (size_t)taps * (size_t)in * 2;
  size_t copies = WEIGHT_BYTES / b->weight_bytes;
  b->copies = copies < COPIES_MAX ? (int)copies : COPIES_MAX;
  b->args.weight = (half_t *)b->weights;
  b->y_count = (size_t)s->h * (size_t)s->w * (size_t)(s->act == ACT_GEGLU ? s->columns / 2 : s->columns);
}

static const half_t *weight_copy(const struct bench *b, int copy) {
  return (half_t *)(b->weights + (size_t)copy * b->weight_bytes);
}

static void append(struct launches *launches, const struct launch *launch) {
  if (launches_append(launches, launch, NULL) < 0)
    exit(1);
}

/* Returns the time of one launch in microseconds, or of all the launches that a library needs in its place, and frees
 * the launches. */
static double time_and_free(struct bench *b, struct launches *launches) {
  bool disturbed;
  double seconds = launches_time(b->device, &b->device->queue, launches, INFINITY, &disturbed);
  launches_free(launches);
  return seconds < 0 ? INFINITY : 1e6 * seconds / b->copies;
}

/* --- the ways --- */

static void run_and_read(struct bench *b, const struct launch *launch, half_t *to) {
  must(cudaMemset(b->y, 0xff, b->y_count * 2), "poison");
  must(cudaDeviceSynchronize(), "poison");
  must(launch_enqueue(b->device, &b->device->queue, launch), "launch");
  must(cudaStreamSynchronize(b->device->queue.stream), "run");
  must(cudaMemcpy(to, b->y, b->y_count * 2, cudaMemcpyDeviceToHost), "result");
}

static void make_expected(struct bench *b) {
  struct launch launch = {.kind = LAUNCH_GEMM, .gemm = b->args};
  launch.gemm.tile = TILE_64x64;
  run_and_read(b, &launch, b->expected);
}

/* Returns the norm of the difference from the expected result, divided by the norm of that result. */
static double compare(struct bench *b, const struct launch *launch) {
  double difference = 0, norm = 0;
  run_and_read(b, launch, b->result);
  for (size_t i = 0; i<b->y_count; i += b->y_count> 4u << 20 ? 7 : 1) {
    double e = (double)f16_to_f32(b->expected[i]), d = (double)f16_to_f32(b->result[i]) - e;
    difference += d * d;
    norm += e * e;
  }
  return sqrt(difference / norm);
}

static double time_way(struct bench *b, enum product_tile tile, enum product_pair pair, int splits) {
  struct launch launch = {.kind = LAUNCH_PRODUCT, .product = {.gemm = b->args, .tile = tile, .pair = pair}};
  struct product_args *product = &launch.product;
  struct launches launches = {0};
  product->gemm.splits = splits;
  product->gemm.partial = b->device->lane[0].workspace;
  product->gemm.arrived = b->device->lane[0].arrivals;
  if (!product_supported(&b->device->product, product) || product_counters(product) > ARRIVALS ||
      (splits > 1 && product_partial_bytes(product) > WORKSPACE_BYTES) || product_blocks(product) > 4200 ||
      product_blocks(product) < 32 || (splits > 1 && product_blocks(product) > 270))
    return INFINITY;
  double error = compare(b, &launch);
  b->worst = error <= b->worst ? b->worst : error;
  for (int i = 0; i < b->copies; i++) {
    product->gemm.weight = weight_copy(b, i);
    append(&launches, &launch);
  }
  double us = time_and_free(b, &launches);
  fprintf(b->file, "  %d %dx%d, pair %d, %d splits, %d blocks: %.2f us, error %.1e\n", tile, product_tile_sizes[tile].m,
          product_tile_sizes[tile].n, pair, splits, product_blocks(product), us, error);
  return us;
}

static struct launch gather_launch(const struct bench *b) {
  struct launch launch = {.kind = LAUNCH_GATHER};
  launch.gather = (struct gather_args){.x = b->x,
                                       .x2 = b->x2,
                                       .y = b->raw,
                                       .n = 1,
                                       .h = b->args.h,
                                       .w = b->args.w,
                                       .c = b->args.c,
                                       .c2 = b->args.c2,
                                       .pitch = b->args.c + b->args.c2};
  return launch;
}

static double time_blas(struct bench *b, int index) {
  struct launches launches = {0};
  bool raw = b->args.act != ACT_NONE;
  for (int i = 0; i < b->copies; i++) {
    struct gemm_args args = b->args;
    args.weight = weight_copy(b, i);
    if (args.x2) {
      struct launch gather = gather_launch(b);
      append(&launches, &gather);
      args.x = b->raw;
      args.c += args.c2;
    }
    struct launch launch = {.kind = LAUNCH_BLAS};
    launch.blas = blas_product_create(b->device->blas, &args, raw ? NULL : b->bias16, raw ? b->raw : b->y, index,
                                      b->device->lane[0].workspace, WORKSPACE_BYTES);
    if (!launch.blas) {
      launches_free(&launches);
      return INFINITY;
    }
    append(&launches, &launch);
    if (raw) {
      struct launch epilogue = {.kind = LAUNCH_EPILOGUE};
      epilogue.epilogue = (struct epilogue_args){.x = b->raw,
                                                 .bias = b->bias,
                                                 .y = b->y,
                                                 .rows = (size_t)args.h * (size_t)args.w,
                                                 .columns = args.columns,
                                                 .act = args.act};
      append(&launches, &epilogue);
    }
  }
  return time_and_free(b, &launches);
}

static double time_dnn(struct bench *b, int index) {
  struct launches launches = {0};
  for (int i = 0; i < b->copies; i++) {
    struct gemm_args args = b->args;
    struct launch launch = {.kind = LAUNCH_DNN};
    args.weight = weight_copy(b, i);
    launch.dnn =
        dnn_conv_create(b->device->dnn, &args, b->bias16, true, index, b->device->lane[0].workspace, WORKSPACE_BYTES);
    if (!launch.dnn) {
      launches_free(&launches);
      return INFINITY;
    }
    append(&launches, &launch);
  }
  return time_and_free(b, &launches);
}

static double time_narrow(struct bench *b) {
  struct launches launches = {0};
  struct launch launch = {.kind = LAUNCH_NARROW, .gemm = b->args};
  if (!narrow_supported(&b->args))
    return INFINITY;
  for (int i = 0; i < b->copies; i++) {
    launch.gemm.weight = weight_copy(b, i);
    append(&launches, &launch);
  }
  return time_and_free(b, &launches);
}

static double time_halo(struct bench *b, int tile) {
  struct launches launches = {0};
  struct launch launch = {.kind = LAUNCH_HALO, .halo = {.gemm = b->args, .tile = (enum halo_tile)tile}};
  if (!halo_supported(&b->device->product, &launch.halo))
    return INFINITY;
  double error = compare(b, &launch);
  b->worst = error <= b->worst ? b->worst : error;
  for (int i = 0; i < b->copies; i++) {
    launch.halo.gemm.weight = weight_copy(b, i);
    append(&launches, &launch);
  }
  double us = time_and_free(b, &launches);
  fprintf(b->file, "  halo %d: %.2f us, error %.1e\n", halo_tile_pixels[tile], us, error);
  return us;
}

static double floor_us(const struct bench *b) {
  const struct shape *s = b->shape;
  double rows = s->h * s->w, depth = (double)s->kernel * s->kernel * (s->c + s->c2);
  double math = 2 * rows * s->columns * depth / 715e6, memory = (double)b->weight_bytes / 4.2e6;
  double cache = 2 * (rows * (s->c + s->c2) + (double)b->y_count * (s->residual ? 2 : 1)) / 5.5e6;
  return fmax(fmax(math, memory), cache);
}

static void time_shape(struct bench *b, const struct shape *s, double total[3]) {
  static const int splits[] = {1, 2, 3, 4, 6, 8, 12, 16};
  double library = INFINITY, best = INFINITY;
  char what[64] = "";
  set_shape(b, s);
  fprintf(b->file, "%dx%d, %d+%d to %d, kernel %d\n", s->h, s->w, s->c, s->c2, s->columns, s->kernel);
  for (int i = 0; b->device->blas && s->kernel == 1 && i < ALGORITHMS; i++)
    library = fmin(library, time_blas(b, i));
  for (int i = 0; b->device->dnn && s->kernel == 3 && i < ENGINES; i++)
    library = fmin(library, time_dnn(b, i));
  library = fmin(library, time_narrow(b));
  make_expected(b);
  b->worst = 0;
  for (int tile = 0; tile < PRODUCT_TILES; tile++)
    for (int pair = 0; pair < PRODUCT_PAIRS; pair++)
      for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++) {
        double us = time_way(b, (enum product_tile)tile, (enum product_pair)pair, splits[i]);
        if (us >= best)
          continue;
        best = us;
        snprintf(what, sizeof what, "%d %dx%d pair %d /%d", tile, product_tile_sizes[tile].m,
                 product_tile_sizes[tile].n, pair, splits[i]);
      }
  for (int tile = 0; tile < HALO_TILES; tile++) {
    double us = time_halo(b, tile);
    if (us >= best)
      continue;
    best = us;
    snprintf(what, sizeof what, "halo %d", halo_tile_pixels[tile]);
  }
  printf("%d %5d %6d %6d x%-3d %7.2f %7.2f %7.2f  %-22s %.1e\n", s->kernel, s->h * s->w, s->columns,
         s->kernel * s->kernel * (s->c + s->c2), s->times, floor_us(b), library, best, what, b->worst);
  fflush(stdout);
  fflush(b->file);
  total[0] += s->times * floor_us(b);
  total[1] += s->times * library;
  total[2] += s->times * fmin(best, library);
}

static const char *kind_of(const struct shape *s) {
  return s->act == ACT_GEGLU ? "linear gated" : s->kernel == 1 ? "linear" : s->columns <= 64 ? "narrow" : "conv";
}

int main(int argc, char **argv) {
  struct bench b = {0};
  struct resources resources = {0};
  struct device_options options = {.name = "cuda"};
  struct device *device;
  struct error err;
  double total[3] = {0};
  if (argc < 2 || !(b.file = fopen(argv[1], "w"))) {
    fprintf(stderr, "usage: bench_product FILE [PREFIX]\n");
    return 2;
  }
  if (device_open(&device, &resources, &options, &err) < 0) {
    printf("skipped: %s\n", err.message);
    return SKIPPED;
  }
  b.device = cuda_device(device);
  open_memory(&b);
  printf("k  rows columns depth times   floor library    here  way                    error\n");
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
    if (argc < 3 || !strncmp(kind_of(&shapes[i]), argv[2], strlen(argv[2])))
      time_shape(&b, &shapes[i], total);
  printf("all, microseconds: floor %.0f, libraries %.0f, the better of both %.0f\n", total[0], total[1], total[2]);
  fclose(b.file);
  device_close(&device);
  return 0;
}
