/* 3x3 convolutions with few channels over many pixels, as in autoencoders: 64 or 32 channels to the same number, and
 * their first and last layers.
 *
 * An implicit matrix product (gemm.cu) would read the input nine times, and with few channels those reads would take
 * most of the time. Here a tile of pixels is loaded once, with its border, and all nine places of the window are read
 * from it. wgmma computes y^T = W x^T: output channels are its 64 rows, and pixels are its columns.
 *
 *     shared memory                              a place of the window is an offset into the tile: wgmma takes its
 *     W: 9 x 64 x 64, once, then tile by tile    columns in groups of 8 rows of 128 bytes, at any distance from group
 *                                                to group. A group is 8 pixels of a picture's row; the distance is a
 *       10 pixels                                row of the tile. TMA's swizzle goes by addresses, as
 *     +-----------+                              wgmma's does, so an offset may be any number of pixels.
 *     | +--------+|
 *     | | 8 x 32 ||  -> 64 channels of 256 pixels in registers, 128 a thread
 *     | |        ||  -> transposed into shared memory (stmatrix), residual and all, and out by TMA
 *     +-----------+
 *
 * A thread block is one producer thread and two warpgroups. The warpgroups take tiles in turn, so that the epilogue of
 * one warpgroup runs during the products of the other. TMA reads pixels outside the picture as zeros, and
 * does not write them.
 *
 * 32 output channels fill only half of wgmma's rows. The other half then calculates the pixels one row below. So a
 * column is a pair of pixels, one above the other. Their window has 4 x 3 places, and the weights of each pixel are
 * zero in one row of it.
 *
 * Upsampled input: a tile has the output pixels of one parity in x and in y. Their windows begin at neighbouring pixels
 * of the input, so each place of the window is an offset again. If a column is a pair of pixels, these are the two that
 * one pixel of the input becomes, one above the other.
 *
 * Stride 2: TMA loads every second pixel into each of four planes, and a place of the window is an offset
 * in one of the planes.
 *
 * Input of 8 channels, 16 bytes a pixel: wgmma sums over 16 values, so two places of the window are taken at a time.
 * Their distance may be any number of bytes, because these pixels are not swizzled. Output of 8 channels or fewer:
 * pixels are wgmma's rows, and output channels its columns. Output of 3 channels or fewer: wgmma's rows are the nine
 * taps of each output channel, so that each pixel of a tile is read once; a pixel's nine results are then added up.
 *
 * Roofline, 64 channels at 512 x 512: 19.3 GFLOP, 24 us at 800 TFLOP/s; 33.5 MB each way, 16 us at 4.2 TB/s. */
#include "cuda/kernels/halo_sm90.h"

#include <cudaTypedefs.h>

#include "cuda/kernels/halo_kernel_sm90.cuh"

namespace {

using namespace halo_sm90;

struct box_map {
  int dimensions;
  /* sizes: number of elements in each dimension; pitch: bytes from one element to the next in each dimension but the
   * first */
  cuuint64_t sizes[5], pitch[4];
  cuuint32_t box[5], steps[5];
};

/* Makes a tensor map, which describes data in global memory to the copy engine (TMA). pixel_bytes: bytes of a pixel in
 * shared memory, from which the swizzle (order of data in shared memory) follows. */
bool encode(const struct product_device *device, CUtensorMap *map, const void *data, const box_map &b,
            int pixel_bytes) {
  CUtensorMapSwizzle swizzle = pixel_bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                               : pixel_bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                               : pixel_bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                                   : CU_TENSOR_MAP_SWIZZLE_NONE;
  return ((PFN_cuTensorMapEncodeTiled_v12000)device->encode_tiled)(
             map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, (cuuint32_t)b.dimensions, const_cast<void *>(data), b.sizes, b.pitch,
             b.box, b.steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

/* Makes the input's tensor map, which describes the input to TMA. With stride 2 one copy takes every second column and
 * every second row, from an area with twice as many columns and rows. */
template <class S>
bool encode_input(const struct product_device *device, CUtensorMap *map, const struct gemm_args *a, int tall) {
  cuuint64_t pixel = S::PIXEL_BYTES, row = pixel * a->w, w = a->w, h = a->h, n = a->n;
  cuuint32_t step = S::STRIDE, wide = (S::BORDERED - 1) * step + 1, high = (tall - 1) * step + 1;
  box_map b = {4, {S::CI, w, h, n}, {pixel, row, row * h}, {S::CI, wide, high, 1}, {1, step, step, 1}};
  return encode(device, map, a->x, b, S::PIXEL_BYTES);
}

template <class S>
bool encode_weights(const struct product_device *device, CUtensorMap *map, const struct gemm_args *a) {
  box_map b = {2, {9 * S::CI, (cuuint64_t)a->columns}, {9 * S::PIXEL_BYTES}, {S::CI, S::FEW ? 8 : S::C}, {1, 1}};
  if (S::SPREAD)
    b = {3, {S::CI, 9, (cuuint64_t)a->columns}, {S::PIXEL_BYTES, 9 * S::PIXEL_BYTES}, {S::CI, 9, S::C}, {1, 1, 1}};
  return encode(device, map, a->weight, b, S::PIXEL_BYTES);
}

/* Makes the output's tensor map. With an upsampled input one box has every second pixel in both directions. For this
 * the map describes each pair of neighbouring pixels of a row as one pixel with twice the channels, and it has a
 * dimension for the two rows of a pair. */
template <class S>
bool encode_output(const struct product_device *device, CUtensorMap *map, const void *data, const struct gemm_args *a) {
  cuuint64_t times = a->upsample ? 2 : 1, pixel = 2 * S::C * times, n = a->n;
  cuuint64_t w = a->upsample ? a->w : a->out_w, h = a->upsample ? a->h : a->out_h, row = pixel * w;
  cuuint32_t pairs = a->upsample ? S::STACKED : 1, tall = a->upsample ? S::N / STRIP : S::TALL;
  box_map b = {5,
               {S::C * times, w, times, h, n},
               {pixel, row, row * times, row * times * h},
               {S::C, STRIP, pairs, tall, 1},
               {1, 1, 1, 1, 1}};
  return encode(device, map, data, b, 2 * S::C);
}

template <class S> bool encode_maps(const struct product_device *device, params *p, const struct gemm_args *a) {
  int tall = S::BORDERED_TALL - (a->upsample ? S::TALL - S::N / STRIP : 0);
  p->input_bytes = S::BORDERED * tall * S::PIXEL_BYTES;
  return encode_input<S>(device, &p->x, a, tall) && encode_weights<S>(device, &p->weight, a) &&
         (S::FEW || S::SPREAD || encode_output<S>(device, &p->y, a->y, a)) &&
         (!a->residual || encode_output<S>(device, &p->residual, a->residual, a));
}

/* Returns the kernel's parameters for this convolution, except for the tensor maps. */
template <class S> params describe_all(const struct halo_args *args) {
  /* policies of the cache for what is read: the ones that createpolicy makes for all of a copy's bytes */
  constexpr uint64_t EVICT_NORMAL = 0x1000000000000000, EVICT_FIRST = 0x12f0000000000000;
  const struct gemm_args *a = &args->gemm;
  params p = {};
  int w = a->upsample ? a->w : a->out_w, h = a->upsample ? a->h : a->out_h, stacked = a->upsample ? 1 : S::STACKED;
  p.bias = a->bias;
  p.time = a->time;
  p.few = a->y;
  p.has_residual = a->residual != nullptr;
  p.least = a->act == ACT_RELU ? 0 : -INFINITY;
  p.columns = a->columns;
  p.width = a->out_w;
  p.height = a->out_h;
  p.doubled = a->upsample;
  p.sides = a->upsample ? (S::STACKED == 1 ? 2 : 1) : 0;
  p.tall = S::N / STRIP * stacked;
  p.distance = stacked * S::BORDERED * S::PIXEL_BYTES;
  p.pad = a->pad;
  p.across = divisor_of((int)blocks_for((size_t)w, STRIP));
  p.down = divisor_of((int)blocks_for((size_t)h, p.tall));
  p.count = (int)(p.across.by * p.down.by * (unsigned)a->n) << p.sides;
  p.first = args->backward ? p.count - 1 : 0;
  p.step = args->backward ? -1 : 1;
  p.policy = args->input_ends ? EVICT_FIRST : EVICT_NORMAL;
  return p;
}

template <class S>
cudaError_t launch_shape(const struct product_device *device, const struct launch_queue *queue,
                         const struct halo_args *args) {
  params p = describe_all<S>(args);
  if (!encode_maps<S>(device, &p, &args->gemm))
    return cudaErrorInvalidValue;
  cudaError_t status =
      cudaFuncSetAttribute(halo_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::SHARED_BYTES);
  if (status != cudaSuccess)
    return status;
  int blocks = queue->sms * S::BLOCKS;
  return launch(queue, halo_kernel<S>, dim3((unsigned)(p.count < blocks ? p.count : blocks)), dim3(THREADS),
                S::SHARED_BYTES, p);
}

/* --- choosing one of the compiled kernels for a convolution, and launching it --- */

typedef cudaError_t (*launcher)(const struct product_device *, const struct launch_queue *, const struct halo_args *);

/* A kind of convolution for which kernels were compiled, with one launcher for each tile; NULL: there is no kernel with
 * this tile. c: input channels; columns to columns_max: output channels. */
struct kind {
  int c, columns, columns_max, stride;
  /* doubles: the kernels can take an input that is upsampled by 2; ends: they can add a residual */
  bool doubles, ends;
  bool silu; /* true: the convolution ends in SiLU; false: in ReLU or no activation */
  launcher launch[HALO_TILES];
};

template <int C, int N, int TILES, int BLOCKS = 1> using silu_shape = shape<C, C, N, TILES, BLOCKS, false, 1, true>;

const struct kind kinds[] = {
    {64,
     64,
     64,
     1,
     true,
     true,
     false,
     {launch_shape<shape<64, 64, 256, 2>>, launch_shape<shape<64, 64, 128, 4>>,
      launch_shape<shape<64, 64, 64, 2, 2, true>>}},
    {32,
     32,
     32,
     1,
     true,
     true,
     false,
     {launch_shape<shape<32, 32, 256, 2>>, launch_shape<shape<32, 32, 128, 4>>, launch_shape<shape<32, 32, 64, 2, 2>>}},
    {32,
     32,
     32,
     1,
     true,
     true,
     true,
     {launch_shape<silu_shape<32, 256, 2>>, launch_shape<silu_shape<32, 128, 4>>,
      launch_shape<silu_shape<32, 64, 2, 2>>}},
    {64, 64, 64, 2, false, true, false, {nullptr, nullptr, launch_shape<shape<64, 64, 64, 2, 1, false, 2>>}},
    {32, 32, 32, 2, false, true, false, {nullptr, nullptr, launch_shape<shape<32, 32, 64, 2, 1, false, 2>>}},
    {16, 32, 32, 2, false, true, true, {nullptr, nullptr, launch_shape<shape<16, 32, 64, 2, 1, false, 2, true>>}},
    {8,
     64,
     64,
     1,
     false,
     true,
     false,
     {launch_shape<shape<8, 64, 256, 4>>, nullptr, launch_shape<shape<8, 64, 64, 4, 2>>}},
    {8,
     32,
     32,
     1,
     false,
     true,
     false,
     {launch_shape<shape<8, 32, 256, 4>>, nullptr, launch_shape<shape<8, 32, 64, 4, 2>>}},
    {64,
     1,
     3,
     1,
     false,
     false,
     false,
     {launch_shape<shape<64, 8, 256, 4>>, launch_shape<shape<64, 3, 128, 4>>, launch_shape<shape<64, 8, 64, 4>>}},
    {64,
     4,
     8,
     1,
     false,
     false,
     false,
     {launch_shape<shape<64, 8, 256, 4>>, nullptr, launch_shape<shape<64, 8, 64, 4>>}},
    {32,
     1,
     3,
     1,
     false,
     false,
     false,
     {launch_shape<shape<32, 8, 256, 4>>, launch_shape<shape<32, 3, 128, 4>>, launch_shape<shape<32, 8, 64, 4>>}},
    {32,
     4,
     8,
     1,
     false,
     false,
     false,
     {launch_shape<shape<32, 8, 256, 4>>, nullptr, launch_shape<shape<32, 8, 64, 4>>}},
};

bool fits(const struct kind &kind, const struct gemm_args *a) {
  return a->c == kind.c && a->columns >= kind.columns && a->columns <= kind.columns_max && a->stride == kind.stride &&
         (kind.stride == 1 ? a->pad == 1 : a->pad <= 1) && (kind.doubles || !a->upsample) &&
         (kind.ends || !a->residual) && kind.silu == (a->act == ACT_SILU);
}

launcher find(const struct halo_args *args) {
  for (const struct kind &kind : kinds)
    if (fits(kind, &args->gemm))
      return kind.launch[args->tile];
  return nullptr;
}

bool aligned(const void *pointer) {
  return (uintptr_t)pointer % 16 == 0;
}

} // namespace

const int halo_tile_pixels[HALO_TILES] = {256, 128, 64};

bool halo_supported(const struct product_device *device, const struct halo_args *args) {
  const struct gemm_args *a = &args->gemm;
  bool ends = a->act == ACT_RELU || a->act == ACT_SILU;
  bool act = a->act == ACT_NONE || (ends && !(a->residual && a->residual_last));
  return device->encode_tiled && a->c2 == 0 && a->kernel == 3 && act && aligned(a->x) && aligned(a->weight) &&
         aligned(a->residual) && aligned(a->y) && (size_t)a->n * a->out_h * a->out_w < 1u << 28 && args->tile >= 0 &&
         args->tile < HALO_TILES && find(args);
}

cudaError_t launch_halo(const struct product_device *device, const struct launch_queue *queue,
                        const struct halo_args *args) {
  return halo_supported(device, args) ? find(args)(device, queue, args) : cudaErrorNotSupported;
}
