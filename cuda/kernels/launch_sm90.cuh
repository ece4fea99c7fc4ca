/* Launches product_sm90.cu's kernel with one tile shape: makes the tensor maps, the kernel's parameters and the launch
 * attributes. */
#ifndef CUDA_KERNELS_LAUNCH_SM90_CUH
#define CUDA_KERNELS_LAUNCH_SM90_CUH

#include <cudaTypedefs.h>

#include "cuda/kernels/product_kernel_sm90.cuh"

namespace product_sm90 {

/* Returns the number of rows of the product. A row stands for an output pixel; with upsampling for an input pixel,
 * which becomes 2x2 output pixels. */
inline size_t rows_of(const struct gemm_args *args) {
  size_t pixels = (size_t)args->n * args->out_h * args->out_w;
  return args->upsample ? pixels / 4 : pixels;
}

inline dim3 grid_of(const struct product_args *args) {
  const struct product_tile_size *size = &product_tile_sizes[args->tile];
  unsigned across = blocks_for(rows_of(&args->gemm), size->m), down = blocks_for((size_t)args->gemm.columns, size->n);
  if (args->pair == PAIR_WEIGHTS)
    across = (across + 1) / 2 * 2;
  if (args->pair == PAIR_INPUT)
    down = (down + 1) / 2 * 2;
  if (args->gemm.upsample)
    down *= 4;
  return dim3(across, down, (unsigned)args->gemm.splits * (args->pair == PAIR_SUM ? 2 : 1));
}

inline bool encode_matrix(const struct product_device *device, CUtensorMap *map, const void *data, size_t rows,
                          size_t columns, int box_rows, int box_columns, bool swizzled) {
  cuuint64_t sizes[2] = {columns, rows}, pitch[1] = {columns * 2};
  cuuint32_t box[2] = {(cuuint32_t)box_columns, (cuuint32_t)box_rows}, steps[2] = {1, 1};
  return ((PFN_cuTensorMapEncodeTiled_v12000)device->encode_tiled)(
             map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, const_cast<void *>(data), sizes, pitch, box, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, swizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

/* Makes a tensor map, which tells the copy engine (TMA) to read pictures as windows of a convolution. One copy takes
 * one place of the window, for `pixels` neighbouring windows. */
inline bool encode_windows(const struct product_device *device, CUtensorMap *map, const void *data, int c,
                           const struct gemm_args *a, int pixels) {
  cuuint64_t sizes[4] = {(cuuint64_t)c, (cuuint64_t)a->w, (cuuint64_t)a->h, (cuuint64_t)a->n};
  cuuint64_t pitch[3] = {(cuuint64_t)c * 2, (cuuint64_t)c * a->w * 2, (cuuint64_t)c * a->w * a->h * 2};
  int lower[2] = {-a->pad, -a->pad};
  int out_w = a->upsample ? a->w : a->out_w, out_h = a->upsample ? a->h : a->out_h;
  int upper[2] = {(out_w - 1) * a->stride - a->pad - (a->w - 1), (out_h - 1) * a->stride - a->pad - (a->h - 1)};
  cuuint32_t steps[4] = {1, (cuuint32_t)a->stride, (cuuint32_t)a->stride, 1};
  return ((PFN_cuTensorMapEncodeIm2col_v12000)device->encode_im2col)(
             map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, const_cast<void *>(data), sizes, pitch, lower, upper, BLOCK_K,
             (cuuint32_t)pixels, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

inline bool encode_input(const struct product_device *device, CUtensorMap *map, const void *data, int c,
                         const struct gemm_args *a, int rows) {
  return a->kernel == 1 ? encode_matrix(device, map, data, rows_of(a), (size_t)c, rows, BLOCK_K, true)
                        : encode_windows(device, map, data, c, a, rows);
}

/* Makes the tensor map of y for a convolution that makes 2x2 output pixels of each input pixel. Its dimensions are:
 * channels; column within the 2x2 pixels; input column; row within the 2x2 pixels; input rows of all pictures. */
inline bool encode_quarters(const struct product_device *device, CUtensorMap *map, const struct gemm_args *a,
                            int box_columns) {
  cuuint64_t c = (cuuint64_t)a->columns, w = (cuuint64_t)a->w, h = (cuuint64_t)a->h * a->n;
  cuuint64_t sizes[5] = {c, 2, w, 2, h}, pitch[4] = {c * 2, c * 4, c * w * 4, c * w * 8};
  cuuint32_t box[5] = {(cuuint32_t)box_columns, 1, 8, 1, 1}, steps[5] = {1, 1, 1, 1, 1};
  return ((PFN_cuTensorMapEncodeTiled_v12000)device->encode_tiled)(
             map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 5, a->y, sizes, pitch, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
             box_columns == 64 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

inline bool encode_result(const struct product_device *device, CUtensorMap *map, const struct gemm_args *a, size_t rows,
                          size_t columns, int chunk) {
  return a->upsample ? encode_quarters(device, map, a, chunk)
                     : encode_matrix(device, map, a->y, rows, columns, 16, chunk, chunk == 64);
}

/* Returns the kernel's parameters for this product, except for the tensor maps. */
inline params describe(const struct product_args *args) {
  const struct gemm_args *a = &args->gemm;
  bool gated = a->act == ACT_GEGLU;
  params p = {};
  p.bias = a->bias;
  p.time = a->time;
  p.has_residual = a->residual != nullptr;
  p.least = a->act == ACT_RELU ? 0 : -INFINITY;
  p.partial = a->partial;
  p.arrived = a->arrived;
  p.splits = a->splits;
  p.parts = a->splits * (args->pair == PAIR_SUM ? 2 : 1);
  p.taps = a->upsample ? 4 : a->kernel * a->kernel;
  p.depth = product_depth(a);
  p.part = p.depth / p.parts;
  p.longer = p.depth % p.parts;
  p.x_blocks = (a->c + BLOCK_K - 1) / BLOCK_K;
  p.tap_blocks = divisor_of(product_window_depth(a) / p.taps);
  p.c = a->c;
  p.channels = a->c + a->c2;
  p.few = a->columns % 8 ? a->y : nullptr;
  p.rows = (int)rows_of(a);
  p.columns = gated ? a->columns / 2 : a->columns;
  p.gate = gated ? p.columns : 0;
  p.out_w = divisor_of(a->upsample ? a->w : a->out_w);
  p.pixels = divisor_of(a->upsample ? a->w * a->h : a->out_w * a->out_h);
  p.quarter_tiles = a->upsample ? (int)grid_of(args).y / 4 : 0;
  p.stride = a->stride;
  p.pad = a->pad;
  p.pair = args->pair;
  p.gain = a->gain;
  return p;
}

template <class T> bool encode_maps(const struct product_device *device, params *p, const struct product_args *args) {
  const struct gemm_args *a = &args->gemm;
  size_t rows = rows_of(a), columns = (size_t)p->columns, depth = (size_t)p->taps * p->channels;
  depth *= a->upsample ? 4 : 1;
  int input_rows = args->pair == PAIR_INPUT ? T::M / 2 : T::M, chunk = args->pair == PAIR_SUM ? T::HALF : T::CHUNK;
  return encode_input(device, &p->x, a->x, a->c, a, input_rows) &&
         (!a->x2 || encode_input(device, &p->x2, a->x2, a->c2, a, input_rows)) &&
         encode_matrix(device, &p->weight, a->weight, (size_t)a->columns, depth, T::HALF, BLOCK_K, true) &&
         (p->few || encode_result(device, &p->y, a, rows, columns, chunk)) &&
         (!a->residual ||
          encode_matrix(device, &p->residual, a->residual, rows, columns, T::RESIDUAL_ROWS, chunk, chunk == 64));
}

/* Makes the parameters of a convolution with a second product. */
template <class T>
bool describe_two(const struct product_device *device, two_params *p, const struct product_args *args) {
  const struct gemm_args *a = &args->gemm;
  size_t rows = rows_of(a);
  int input_rows = args->pair == PAIR_INPUT ? T::M / 2 : T::M;
  static_cast<params &>(*p) = describe(args);
  p->first = p->taps * (int)p->tap_blocks.by;
  p->more_x_blocks = (a->more.c + BLOCK_K - 1) / BLOCK_K;
  p->more_c = a->more.c;
  return encode_maps<T>(device, p, args) &&
         encode_matrix(device, &p->more_x, a->more.x, rows, (size_t)a->more.c, input_rows, BLOCK_K, true) &&
         (!a->more.x2 ||
          encode_matrix(device, &p->more_x2, a->more.x2, rows, (size_t)a->more.c2, input_rows, BLOCK_K, true)) &&
         encode_matrix(device, &p->more_weight, a->more.weight, (size_t)a->columns, (size_t)(a->more.c + a->more.c2),
                       T::HALF, BLOCK_K, true);
}

/* Makes the tensor map of a text's keys or values. Tokens beyond the last one read as zeros. */
inline bool encode_text(const struct product_device *device, CUtensorMap *map, const half_t *data, long row, long text,
                        const struct gemm_args *a) {
  cuuint64_t texts = text ? rows_of(a) / (size_t)a->attend.rows : 1;
  cuuint64_t sizes[3] = {(cuuint64_t)a->columns, (cuuint64_t)a->attend.tokens, texts};
  cuuint64_t pitch[2] = {(cuuint64_t)row * 2, (cuuint64_t)(text ? text : row) * 2};
  cuuint32_t box[3] = {PRODUCT_HEAD, PRODUCT_TOKENS_MOST, 1}, steps[3] = {1, 1, 1};
  return ((PFN_cuTensorMapEncodeTiled_v12000)device->encode_tiled)(
             map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3, const_cast<half_t *>(data), sizes, pitch, box, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

/* Makes the parameters of a product that ends with an attention. */
template <class T>
bool describe_attend(const struct product_device *device, attend_params *p, const struct product_args *args) {
  constexpr float LOG2_E = 1.44269504f;
  struct product_args result = *args;
  const struct product_attend *attend = &args->gemm.attend;
  result.gemm.y = attend->o;
  static_cast<params &>(*p) = describe(&result);
  p->tokens = attend->tokens;
  p->text_rows = attend->k_text ? attend->rows : 0;
  p->scale = attend->scale * LOG2_E;
  return encode_maps<T>(device, p, &result) &&
         encode_text(device, &p->k, attend->k, attend->k_row, attend->k_text, &args->gemm) &&
         encode_text(device, &p->v, attend->v, attend->v_row, attend->v_text, &args->gemm);
}

/* Returns how many thread blocks divide the tiles of the same rows between them, so that each calculates several tiles.
 * Such a thread block starts only once, and loads the first blocks of its next tile while it finishes the present one.
 * Returns 0 if the thread blocks would get too unequal numbers of tiles: one thread block for each tile is then
 * faster. */
template <class T> unsigned column_groups(const struct launch_queue *queue, const struct product_args *args) {
  dim3 grid = grid_of(args);
  unsigned places = (unsigned)(queue->sms * T::BLOCKS), groups = places / grid.x;
  if (args->pair == PAIR_INPUT)
    groups = groups / 2 * 2;
  if (args->pair == PAIR_SUM || args->gemm.splits > 1 || args->gemm.upsample || args->gemm.columns % 8 || groups < 1 ||
      grid.y <= groups || product_depth(&args->gemm) + 1 < T::STAGES)
    return 0;
  unsigned each = (grid.y + groups - 1) / groups;
  return each * groups * 10 <= grid.y * 11 && groups * grid.x * 10 >= places * 9 ? groups : 0;
}

template <class P>
cudaError_t launch_shared(const struct launch_queue *queue, void (*kernel)(P), dim3 grid, dim3 cluster, dim3 block,
                          int shared, const P &p) {
  cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  if (status != cudaSuccess)
    return status;
  cudaLaunchAttribute attributes[2] = {};
  int count = 0;
  if (queue->overlap) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (cluster.x * cluster.y * cluster.z > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count].val.clusterDim.x = cluster.x;
    attributes[count].val.clusterDim.y = cluster.y;
    attributes[count++].val.clusterDim.z = cluster.z;
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = (size_t)shared;
  config.stream = queue->stream;
  config.attrs = attributes;
  config.numAttrs = count;
  return cudaLaunchKernelEx(&config, kernel, p);
}

template <class T>
cudaError_t launch_tile(const struct product_device *device, const struct launch_queue *queue,
                        const struct product_args *args) {
  typename T::params_type p = {};
  bool described;
  if constexpr (T::TWO) {
    described = describe_two<T>(device, &p, args);
  } else if constexpr (T::ATTENDS) {
    described = describe_attend<T>(device, &p, args);
  } else {
    p = describe(args);
    described = encode_maps<T>(device, &p, args);
  }
  if (!described)
    return cudaErrorInvalidValue;
  dim3 grid = grid_of(args);
  if (T::SEVERAL) {
    p.column_tiles = (int)grid.y;
    grid.y = column_groups<T>(queue, args);
  }
  /* If there are enough multiprocessors, give each thread block one of its own, by asking for more shared memory than
   * needed. Otherwise two thread blocks could share one that becomes free early, and take twice as long. */
  bool alone = grid.x * grid.y * grid.z <= (unsigned)queue->sms && T::SHARED_BYTES < ALONE_BYTES;
  int shared = alone ? ALONE_BYTES : T::SHARED_BYTES;
  dim3 cluster(args->pair == PAIR_WEIGHTS ? 2 : 1, args->pair == PAIR_INPUT ? 2 : 1, args->pair == PAIR_SUM ? 2 : 1);
  return launch_shared(queue, product_kernel<T>, grid, cluster, dim3(T::THREADS), shared, p);
}

} // namespace product_sm90

#endif
