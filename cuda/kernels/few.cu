/* 3x3 convolutions to very few channels, such as a U-Net's last one, 320 to 4 channels at 64 x 64: 0.1 GFLOP, which
 * gemm.cu does in 26 us, because its tiles are made for many columns.
 *
 * A thread block has a tile of 8 x 4 pixels and all columns. It copies the tile's input with its border to shared
 * memory, once for all nine taps. The sum over taps and channels is divided between its eight warps, 32 channels of a
 * tap at a time:
 *
 *     warp 0: tap 0, channels 0..31   warp 1: channels 32..63   ...   warp 0: the ninth block, and so on
 *
 * So each weight is read by one warp, straight to the registers from where the tensor cores read it, and those of the
 * first blocks before the wait for the preceding kernel. As the order of a sum over 32 channels does not matter, lane q
 * of four takes channels 8q to 8q + 7 of weights and input, 16 bytes each, in the places where the tensor cores expect
 * others. At the end the warps' sums are added up through shared memory.
 *
 * Limits: a launch, the input from the cache, and a chain of 45 products a warp. */
#include "cuda/kernels/common.cuh"
#include "cuda/kernels/few.h"

namespace {

enum { FEW_WARPS = 8, FEW_THREADS = 32 * FEW_WARPS, FEW_COLUMNS_MAX = 16, FEW_BLOCK = 32 };
/* The tile of output pixels, and the part of the input that it reads. */
enum { ACROSS = 8, DOWN = 4, FEW_PIXELS = ACROSS * DOWN, WIDE = ACROSS + 2, HIGH = DOWN + 2 };

/* Returns how many chunks of 16 bytes lie between two pixels in shared memory: two pixels side by side must be 64 bytes
 * apart modulo 128, so that eight lanes that read four chunks of each read different banks. */
__host__ __device__ inline int pitch_of(int channels) {
  int chunks = channels / 8;
  return chunks % 8 == 4 ? chunks : chunks + 4;
}

/* The weights of some blocks of the sum, each 32 channels of a tap, that one warp multiplies by: for each block and
 * eight columns, lane 4n + q has channels 8q to 8q + 7 of column n. */
template <int TILES> struct few_weights {
  static constexpr int BLOCKS = 12 / TILES;
  uint4 held[BLOCKS][TILES];

  /* Loads the weights of this warp's blocks from block `first` on, every eighth one. Rows of weights that do not exist
   * are zeros. */
  __device__ __forceinline__ void load(const struct gemm_args &p, int first, int count) {
    int column = threadIdx.x % 32 / 4, chunk = threadIdx.x % 4, depth = 9 * p.c;
#pragma unroll
    for (int i = 0; i < BLOCKS; i++)
#pragma unroll
      for (int t = 0; t < TILES; t++) {
        bool there = first + i * FEW_WARPS < count && column + 8 * t < p.columns;
        const __half *from =
            p.weight + (size_t)(column + 8 * t) * depth + (first + i * FEW_WARPS) * FEW_BLOCK + chunk * 8;
        held[i][t] = there ? __ldg(reinterpret_cast<const uint4 *>(from)) : make_uint4(0, 0, 0, 0);
      }
  }
};

/* Starts the copies of the tile's input with its border; zeros beyond the picture. */
__device__ __forceinline__ void copy_input(const struct gemm_args &p, uint4 *shared, int left, int top) {
  int chunks = p.c / 8, pitch = pitch_of(p.c);
  const __half *picture = p.x + (size_t)blockIdx.z * p.h * p.w * p.c;
#pragma unroll 1
  for (int pixel = threadIdx.x / 32; pixel < WIDE * HIGH; pixel += FEW_WARPS) {
    int y = top - 1 + pixel / WIDE, x = left - 1 + pixel % WIDE;
    bool there = x >= 0 && y >= 0 && x < p.w && y < p.h;
    const __half *from = there ? picture + ((size_t)y * p.w + x) * p.c : picture;
    for (int chunk = threadIdx.x % 32; chunk < chunks; chunk += 32)
      copy16(shared + pixel * pitch + chunk, from + chunk * 8, there);
  }
}

/* TILES: how many times eight columns there are. to_tap: 65536 / blocks of a tap, rounded up, so that block * to_tap >>
 * 16 is a block's tap. */
template <int TILES>
__global__ void __launch_bounds__(FEW_THREADS) few_kernel(const __grid_constant__ struct gemm_args p, unsigned to_tap) {
  extern __shared__ uint4 shared[];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = lane / 4, quarter = lane % 4;
  int left = blockIdx.x * ACROSS, top = blockIdx.y * DOWN, per_tap = p.c / FEW_BLOCK, count = 9 * per_tap;
  int pitch = pitch_of(p.c);
  few_weights<TILES> weights;
  weights.load(p, warp, count);
  wait_for_previous();
  copy_input(p, shared, left, top);
  copies_commit();
  copies_wait<0>();
  __syncthreads();
  /* Multiply: two tiles of 16 pixels, two rows of the picture each. */
  float sums[2][TILES][4] = {};
#pragma unroll 1
  for (int first = warp; first < count; first += FEW_WARPS * few_weights<TILES>::BLOCKS) {
    if (first != warp)
      weights.load(p, first, count);
#pragma unroll
    for (int i = 0; i < few_weights<TILES>::BLOCKS; i++) {
      int block = first + i * FEW_WARPS;
      if (block >= count)
        break;
      int tap = (int)(block * to_tap >> 16), dy = tap / 3, dx = tap - 3 * dy;
      const uint4 *from = shared + (dy * WIDE + row + dx) * pitch + (block - tap * per_tap) * (FEW_BLOCK / 8) + quarter;
#pragma unroll
      for (int m = 0; m < 2; m++) {
        uint4 low = from[2 * m * WIDE * pitch], high = from[(2 * m + 1) * WIDE * pitch];
        const uint32_t one[4] = {low.x, high.x, low.y, high.y}, two[4] = {low.z, high.z, low.w, high.w};
#pragma unroll
        for (int t = 0; t < TILES; t++) {
          uint4 w = weights.held[i][t];
          const uint32_t w_one[2] = {w.x, w.y}, w_two[2] = {w.z, w.w};
          multiply_add(sums[m][t], one, w_one);
          multiply_add(sums[m][t], two, w_two);
        }
      }
    }
  }
  /* Add up the warps' sums: [warps][pixels][columns]. */
  constexpr int COLUMNS = 8 * TILES;
  float *parts = reinterpret_cast<float *>(shared);
  __syncthreads();
#pragma unroll
  for (int m = 0; m < 2; m++)
#pragma unroll
    for (int t = 0; t < TILES; t++)
#pragma unroll
      for (int half = 0; half < 2; half++)
        *reinterpret_cast<float2 *>(parts + (warp * FEW_PIXELS + m * 16 + half * 8 + row) * COLUMNS + t * 8 +
                                    quarter * 2) = make_float2(sums[m][t][2 * half], sums[m][t][2 * half + 1]);
  __syncthreads();
  struct tail tail = {p.bias, p.time, p.residual, p.act, p.residual_last};
#pragma unroll 1
  for (int i = threadIdx.x; i < FEW_PIXELS * COLUMNS; i += FEW_THREADS) {
    int pixel = i / COLUMNS, column = i % COLUMNS, x = left + pixel % ACROSS, y = top + pixel / ACROSS;
    if (column >= p.columns || x >= p.w || y >= p.h)
      continue;
    float v = 0;
#pragma unroll
    for (int w = 0; w < FEW_WARPS; w++)
      v += parts[w * FEW_PIXELS * COLUMNS + i];
    size_t at = (((size_t)blockIdx.z * p.h + y) * p.w + x) * p.columns + column;
    p.y[at] = __float2half_rn(finish(tail, v, column, at));
  }
}

template <int TILES> cudaError_t launch_columns(const struct launch_queue *queue, const struct gemm_args *args) {
  size_t shared = (size_t)few_shared_bytes(args);
  cudaError_t status =
      cudaFuncSetAttribute(few_kernel<TILES>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
  dim3 grid(blocks_for((size_t)args->w, ACROSS), blocks_for((size_t)args->h, DOWN), (unsigned)args->n);
  unsigned to_tap = 65535u / (unsigned)(args->c / FEW_BLOCK) + 1;
  return status == cudaSuccess ? launch(queue, few_kernel<TILES>, grid, dim3(FEW_THREADS), shared, *args, to_tap)
                               : status;
}

} // namespace

bool few_supported(const struct gemm_args *args) {
  return args->kernel == 3 && args->stride == 1 && args->pad == 1 && !args->upsample && !args->c2 && !args->more.x &&
         !args->gain.there && args->act != ACT_GEGLU && args->c % FEW_BLOCK == 0 && args->columns <= FEW_COLUMNS_MAX &&
         args->out_h == args->h && args->out_w == args->w;
}

int few_shared_bytes(const struct gemm_args *args) {
  int input = WIDE * HIGH * pitch_of(args->c) * (int)sizeof(uint4);
  int parts = FEW_WARPS * FEW_PIXELS * FEW_COLUMNS_MAX * (int)sizeof(float);
  return input > parts ? input : parts;
}

cudaError_t launch_few(const struct launch_queue *queue, const struct gemm_args *args) {
  return args->columns <= 8 ? launch_columns<1>(queue, args) : launch_columns<2>(queue, args);
}
