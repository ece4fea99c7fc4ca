/* Matrix products y = epilogue(A W^T) by tensor copies (TMA) and wgmma. Read PRODUCT.md first.
 *
 * A thread block calculates a tile of M rows and N columns, or its part of the tile's sum. Two threads, the producers,
 * fill a ring of stages (buffers in shared memory) with blocks of 64 channels of A and W. M / 64 warpgroups, the
 * consumers (M / 128 if M is 256), multiply these. After the last block the tile's residual is loaded into the ring.
 * The results are stored from the same memory. */
#include "cuda/kernels/launch_sm90.cuh"
#include "cuda/kernels/turns_sm90.cuh"

namespace {

using namespace product_sm90;

using shape_128x80 = tile_shape<128, 80, 4, 2, false>;
using shape_128x160 = tile_shape<128, 160, 5, 1, true>;
using shape_128x160_several = tile_shape<128, 160, 5, 1, false, true>;
using shape_64x80 = tile_shape<64, 80, 5, 2, true>;
using shape_128x128 = tile_shape<128, 128, 3, 2, false>;
using shape_128x80_deep = tile_shape<128, 80, 7, 1, true>;
using shape_64x80_deep = tile_shape<64, 80, 11, 1, true>;
using shape_128x64 = tile_shape<128, 64, 3, 3, false>;
using shape_192x160 = tile_shape<192, 160, 3, 1, true>;
using shape_192x80 = tile_shape<192, 80, 5, 1, true>;
using shape_256x160 = tile_shape<256, 160, 4, 1, false, false, END_PLAIN, 2>;
using shape_256x160_several = tile_shape<256, 160, 4, 1, false, true, END_PLAIN, 2>;
using shape_64x64 = tile_shape<64, 64, 4, 3, true>;
using shape_128x128_silu = tile_shape<128, 128, 3, 2, false, false, END_SILU>;
using shape_128x64_silu = tile_shape<128, 64, 3, 3, false, false, END_SILU>;
using shape_128x80_gain = tile_shape<128, 80, 7, 1, true, false, END_GAIN>;
using shape_64x80_gain = tile_shape<64, 80, 11, 1, true, false, END_GAIN>;
template <int M, int N, int STAGES, bool SUMS = true, int HIGH = 1>
using shape_two = tile_shape<M, N, STAGES, 1, SUMS, false, END_PLAIN, HIGH, FROM_TWO>;
using shape_64x64_silu = tile_shape<64, 64, 4, 3, true, false, END_SILU>;
using shape_64x64_attends = tile_shape<64, 64, 11, 1, false, false, END_ATTEND>;
using shape_128x64_attends = tile_shape<128, 64, 7, 1, false, false, END_ATTEND>;

void *find_driver_function(const char *name) {
  void *function = nullptr;
  cudaDriverEntryPointQueryResult found;
  cudaError_t status = cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
  return status == cudaSuccess && found == cudaDriverEntryPointSuccess ? function : nullptr;
}

bool gates(enum product_tile tile) {
  return tile == PRODUCT_128x160 || tile == PRODUCT_128x128 || tile == PRODUCT_192x160 || tile == PRODUCT_128x160_TURNS;
}

/* Returns true if the kernel for this tile was also compiled with SiLU as its activation. */
bool silus(enum product_tile tile) {
  return tile == PRODUCT_128x128 || tile == PRODUCT_128x64 || tile == PRODUCT_64x64;
}

/* Returns true if the kernel for this tile was also compiled for a convolution with a second product. */
bool adds(enum product_tile tile) {
  return tile == PRODUCT_128x160 || tile == PRODUCT_128x80_DEEP || tile == PRODUCT_64x80_DEEP ||
         tile == PRODUCT_128x64 || tile == PRODUCT_64x64 || tile == PRODUCT_192x160 || tile == PRODUCT_192x80 ||
         tile == PRODUCT_256x160;
}

bool sums(enum product_tile tile) {
  return tile == PRODUCT_128x160 || tile == PRODUCT_64x80 || tile == PRODUCT_128x80_DEEP ||
         tile == PRODUCT_64x80_DEEP || tile == PRODUCT_64x64 || tile == PRODUCT_192x160 || tile == PRODUCT_192x80;
}

bool aligned(const void *pointer) {
  return (uintptr_t)pointer % 16 == 0;
}

/* Returns true if an attending tile can do this product's attention. All rows of a tile must read the same text. */
bool attends(const struct product_args *args) {
  const struct gemm_args *a = &args->gemm;
  const struct product_attend *attend = &a->attend;
  const struct product_tile_size *size = &product_tile_sizes[args->tile];
  bool strides = attend->k_row % 8 == 0 && attend->v_row % 8 == 0 && attend->k_text % 8 == 0 && attend->v_text % 8 == 0;
  bool texts = !attend->k_text == !attend->v_text && (!attend->k_text || attend->rows % size->m == 0);
  return attend->k && attend->tokens >= 1 && attend->tokens <= PRODUCT_TOKENS_MOST && strides && texts &&
         aligned(attend->k) && aligned(attend->v) && aligned(attend->o) && args->pair != PAIR_SUM && a->splits == 1 &&
         a->kernel == 1 && a->columns % size->n == 0 && a->act == ACT_NONE && !a->residual && !a->more.x &&
         !a->gain.there && !a->upsample;
}

/* Launches the kernel whose consumers take turns (turns_sm90.cuh), with one thread block on each multiprocessor, or
 * fewer if there are fewer tiles. */
cudaError_t launch_turns(const struct product_device *device, const struct launch_queue *queue,
                         const struct product_args *args) {
  params p = describe(args);
  if (!encode_maps<turns_shape>(device, &p, args))
    return cudaErrorInvalidValue;
  dim3 tiles = grid_of(args);
  unsigned count = tiles.x * tiles.y, most = (unsigned)queue->sms;
  p.row_tiles = (int)tiles.x;
  p.column_tiles = (int)tiles.y;
  bool pair = args->pair == PAIR_WEIGHTS;
  if (pair)
    most = most > 2 ? most / 2 * 2 : 2;
  return launch_shared(queue, p.gate ? turns_kernel<true> : turns_kernel<false>, dim3(count < most ? count : most),
                       dim3(pair ? 2 : 1), dim3(turns_shape::THREADS), turns_shape::SHARED_BYTES, p);
}

/* Launches the kernel for a convolution with a second product. */
cudaError_t launch_two(const struct product_device *device, const struct launch_queue *queue,
                       const struct product_args *args) {
  switch (args->tile) {
  case PRODUCT_128x160:
    return launch_tile<shape_two<128, 160, 5>>(device, queue, args);
  case PRODUCT_128x80_DEEP:
    return launch_tile<shape_two<128, 80, 7>>(device, queue, args);
  case PRODUCT_64x80_DEEP:
    return launch_tile<shape_two<64, 80, 11>>(device, queue, args);
  case PRODUCT_128x64:
    return launch_tile<shape_two<128, 64, 8, false>>(device, queue, args);
  case PRODUCT_64x64:
    return launch_tile<shape_two<64, 64, 11>>(device, queue, args);
  case PRODUCT_192x160:
    return launch_tile<shape_two<192, 160, 3>>(device, queue, args);
  case PRODUCT_192x80:
    return launch_tile<shape_two<192, 80, 5>>(device, queue, args);
  default:
    return launch_tile<shape_two<256, 160, 4, false, 2>>(device, queue, args);
  }
}

} // namespace

const struct product_tile_size product_tile_sizes[PRODUCT_TILES] = {
    {128, 80, 2}, {128, 160, 1}, {64, 80, 2},  {128, 128, 2}, {128, 80, 1},  {64, 80, 1}, {128, 64, 3},
    {64, 64, 3},  {192, 160, 1}, {192, 80, 1}, {128, 160, 1}, {256, 160, 1}, {64, 64, 1}, {128, 64, 1}};

void product_open(struct product_device *device) {
  int index, major = 0, minor = 0;
  cudaFuncAttributes attributes = {};
  *device = {};
  if (cudaGetDevice(&index) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index) != cudaSuccess ||
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, index) != cudaSuccess || major != 9 ||
      minor != 0 || cudaFuncGetAttributes(&attributes, product_kernel<shape_128x80>) != cudaSuccess ||
      attributes.sharedSizeBytes == 0)
    return;
  device->encode_tiled = find_driver_function("cuTensorMapEncodeTiled");
  device->encode_im2col = find_driver_function("cuTensorMapEncodeIm2col");
}

static int blocks_of(int c, int c2) {
  return (c + BLOCK_K - 1) / BLOCK_K + (c2 + BLOCK_K - 1) / BLOCK_K;
}

int product_window_depth(const struct gemm_args *args) {
  return (args->upsample ? 4 : args->kernel * args->kernel) * blocks_of(args->c, args->c2);
}

int product_depth(const struct gemm_args *args) {
  return product_window_depth(args) + (args->more.x ? blocks_of(args->more.c, args->more.c2) : 0);
}

int product_blocks(const struct product_args *args) {
  dim3 grid = grid_of(args);
  return (int)(grid.x * grid.y * grid.z);
}

int product_counters(const struct product_args *args) {
  dim3 grid = grid_of(args);
  return (int)(grid.x * grid.y) * (product_tile_sizes[args->tile].m / 64) * (args->pair == PAIR_SUM ? 2 : 1);
}

size_t product_partial_bytes(const struct product_args *args) {
  const struct product_tile_size *size = &product_tile_sizes[args->tile];
  return (size_t)product_blocks(args) * size->m * size->n * sizeof(float) / (args->pair == PAIR_SUM ? 2 : 1);
}

bool product_supported(const struct product_device *device, const struct product_args *args) {
  const struct gemm_args *a = &args->gemm;
  bool linear = a->kernel == 1 && a->stride == 1 && a->pad == 0, gated = a->act == ACT_GEGLU;
  bool window = a->kernel == 3 && a->pad <= 1 && a->stride <= 2;
  bool ends = a->act == ACT_RELU || (a->act == ACT_SILU && silus(args->tile) && a->columns % 8 == 0);
  bool act = a->act == ACT_NONE || (ends && !(a->residual && a->residual_last)) ||
             (gated && gates(args->tile) && !a->residual && !a->time);
  bool pair = args->pair != PAIR_SUM || (sums(args->tile) && !gated && 2 * a->splits <= product_depth(a));
  bool doubled = a->kernel == 3 && a->stride == 1 && a->pad == 1 && a->w % 8 == 0 && !a->residual;
  bool turns = args->tile != PRODUCT_128x160_TURNS ||
               (!a->upsample && a->columns % 8 == 0 && a->splits == 1 && product_depth(a) >= turns_shape::DEPTH_LEAST &&
                (args->pair == PAIR_NONE || args->pair == PAIR_WEIGHTS));
  /* few: y has only 4 columns, so its rows are too short to be stored by TMA; the bias then has 16 bytes, the smallest
   * bulk copy */
  bool few = a->columns == 4 && !a->residual && !a->time && !a->upsample && !gated;
  bool deep = args->tile == PRODUCT_128x80_DEEP || args->tile == PRODUCT_64x80_DEEP;
  /* high: false if the tile is PRODUCT_256x160, in which each consumer has two blocks of 64 rows (HIGH is 2 in
   * tile_sm90.cuh), and the product needs code that this tile's kernel lacks: adding split sums, or y with 4 columns */
  bool high = args->tile != PRODUCT_256x160 || (a->splits == 1 && a->columns % 8 == 0);
  bool more = !a->more.x ||
              (adds(args->tile) && a->kernel == 3 && a->stride == 1 && a->pad == 1 && !a->upsample && !a->residual &&
               a->act == ACT_NONE && !a->gain.there && a->columns % 8 == 0 && a->more.c % 8 == 0 &&
               a->more.c2 % 8 == 0 && aligned(a->more.x) && aligned(a->more.x2) && aligned(a->more.weight));
  bool gain = !a->gain.there || (deep && a->residual && a->act == ACT_NONE);
  return device->encode_tiled && device->encode_im2col && (linear || window) && act && gain && more && pair && turns &&
         high && (!product_attends(args->tile) || attends(args)) && (!a->upsample || doubled) && a->c % 8 == 0 &&
         a->c2 % 8 == 0 && (a->columns % (gated ? 16 : 8) == 0 || few) && rows_of(a) < 1u << 30 && aligned(a->x) &&
         aligned(a->x2) && aligned(a->weight) && aligned(a->bias) && aligned(a->time) && aligned(a->residual) &&
         aligned(a->y) && a->splits >= 1 && a->splits <= product_depth(a);
}

cudaError_t launch_product(const struct product_device *device, const struct launch_queue *queue,
                           const struct product_args *args) {
  if (!product_supported(device, args))
    return cudaErrorNotSupported;
  if (args->gemm.more.x)
    return launch_two(device, queue, args);
  bool silu = args->gemm.act == ACT_SILU, gain = args->gemm.gain.there;
  switch (args->tile) {
  case PRODUCT_128x80:
    return launch_tile<shape_128x80>(device, queue, args);
  case PRODUCT_128x160:
    return column_groups<shape_128x160_several>(queue, args) ? launch_tile<shape_128x160_several>(device, queue, args)
                                                             : launch_tile<shape_128x160>(device, queue, args);
  case PRODUCT_64x80:
    return launch_tile<shape_64x80>(device, queue, args);
  case PRODUCT_128x80_DEEP:
    return gain ? launch_tile<shape_128x80_gain>(device, queue, args)
                : launch_tile<shape_128x80_deep>(device, queue, args);
  case PRODUCT_64x80_DEEP:
    return gain ? launch_tile<shape_64x80_gain>(device, queue, args)
                : launch_tile<shape_64x80_deep>(device, queue, args);
  case PRODUCT_128x64:
    return silu ? launch_tile<shape_128x64_silu>(device, queue, args) : launch_tile<shape_128x64>(device, queue, args);
  case PRODUCT_64x64:
    return silu ? launch_tile<shape_64x64_silu>(device, queue, args) : launch_tile<shape_64x64>(device, queue, args);
  case PRODUCT_192x160:
    return launch_tile<shape_192x160>(device, queue, args);
  case PRODUCT_192x80:
    return launch_tile<shape_192x80>(device, queue, args);
  case PRODUCT_64x64_ATTENDS:
    return launch_tile<shape_64x64_attends>(device, queue, args);
  case PRODUCT_128x64_ATTENDS:
    return launch_tile<shape_128x64_attends>(device, queue, args);
  case PRODUCT_128x160_TURNS:
    return launch_turns(device, queue, args);
  case PRODUCT_256x160:
    return column_groups<shape_256x160_several>(queue, args) ? launch_tile<shape_256x160_several>(device, queue, args)
                                                             : launch_tile<shape_256x160>(device, queue, args);
  default:
    return silu ? launch_tile<shape_128x128_silu>(device, queue, args)
                : launch_tile<shape_128x128>(device, queue, args);
  }
}
