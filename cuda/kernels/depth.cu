/* Kernels around the depth networks: they cut a picture into patches, turn tokens back into a picture, interpolate, and
 * keep a range of depths that slowly adapts to the scene. Memory limits all of them. If the number of channels is a
 * multiple of 8, a thread has eight channels of a pixel. Positions between samples are quotients of integers, so that
 * they are exact in large pictures, too. */
#include "cuda/kernels/common.cuh"
#include "cuda/kernels/depth.h"

namespace {

constexpr int THREADS = 256;

__device__ __forceinline__ size_t thread_index() {
  return (size_t)blockIdx.x * THREADS + threadIdx.x;
}

/* --- patches of a picture, and tokens --- */

/* The indices of the four samples from which a value is interpolated, and their weights, by Keys' cubic kernel with a =
 * -0.75. */
struct cubic {
  int at[4];
  float weight[4];
};

__device__ __forceinline__ float keys_near(float d) {
  return (1.25f * d - 2.25f) * d * d + 1.0f;
}

__device__ __forceinline__ float keys_far(float d) {
  return ((-0.75f * d + 3.75f) * d - 6.0f) * d + 3.0f;
}

__device__ __forceinline__ cubic cubic_of(int i, int from, int to) {
  int twice = (2 * i + 1) * from - to, base = twice >= 0 ? twice / (2 * to) : -((2 * to - 1 - twice) / (2 * to));
  float t = (float)(twice - base * 2 * to) / (float)(2 * to);
  cubic c;
#pragma unroll
  for (int k = 0; k < 4; k++)
    c.at[k] = min(max(base + k - 1, 0), from - 1);
  c.weight[0] = keys_far(1 + t);
  c.weight[1] = keys_near(t);
  c.weight[2] = keys_near(1 - t);
  c.weight[3] = keys_far(2 - t);
  return c;
}

/* Each thread calculates one pixel of a patch, by interpolation. It writes zeros where a row of y has more values than
 * a patch, and in row 0, which belongs to no patch. */
__global__ void __launch_bounds__(THREADS) patches_kernel(const __grid_constant__ struct depth_args p) {
  int pixels = p.size * p.size, each = pixels + 1;
  size_t index = thread_index();
  int token = (int)(index / each), pixel = (int)(index % each);
  wait_for_previous();
  if (token > p.rows * p.columns)
    return;
  __half *y = p.y + (size_t)token * p.y_c + 3 * pixel;
  if (token == 0 || pixel == pixels) {
    int end = pixel == pixels ? p.y_c - 3 * pixels : 3;
    for (int k = 0; k < end; k++)
      y[k] = __float2half_rn(0.0f);
    return;
  }
  int row = (token - 1) / p.columns, column = (token - 1) % p.columns;
  cubic down = cubic_of(row * p.size + pixel / p.size, p.h, p.rows * p.size);
  cubic across = cubic_of(column * p.size + pixel % p.size, p.w, p.columns * p.size);
  /* Interpolate bicubically: along each of four rows, then between these rows. */
  float sum[3] = {};
#pragma unroll
  for (int i = 0; i < 4; i++) {
    float line[3] = {};
#pragma unroll
    for (int j = 0; j < 4; j++) {
      const __half *x = p.x + ((size_t)down.at[i] * p.w + across.at[j]) * 3;
#pragma unroll
      for (int k = 0; k < 3; k++)
        line[k] += across.weight[j] * __half2float(x[k]);
    }
#pragma unroll
    for (int k = 0; k < 3; k++)
      sum[k] += down.weight[i] * line[k];
  }
#pragma unroll
  for (int k = 0; k < 3; k++)
    y[k] = __float2half_rn(sum[k] * p.scale[k] + p.bias[k]);
}

/* Copies tokens to the pixels of a picture (OP_UNPATCH). Each thread moves WIDE channels. */
template <int WIDE>
__global__ void __launch_bounds__(THREADS) unpatch_kernel(const __grid_constant__ struct depth_args p) {
  int parts = p.y_c / WIDE;
  size_t index = thread_index(), pixel = index / parts;
  int part = (int)(index % parts) * WIDE, i = (int)(pixel / p.y_w), j = (int)(pixel % p.y_w);
  wait_for_previous();
  if (i >= p.y_h)
    return;
  size_t token = p.skip + (size_t)(i / p.size) * p.columns + j / p.size;
  const __half *x = p.x + token * p.c + (size_t)((i % p.size) * p.size + j % p.size) * p.y_c + part;
  __half *y = p.y + pixel * p.y_c + part;
  if (WIDE == 8)
    *reinterpret_cast<uint4 *>(y) = *reinterpret_cast<const uint4 *>(x);
  else
    *y = *x;
}

/* --- linear interpolation between samples --- */

/* The indices of the two neighbouring samples between which a value is interpolated, and the weight (0 to 1) of the
 * second one. */
struct between {
  int first, second;
  float share;
};

__device__ __forceinline__ between between_of(int i, int from, int to) {
  if (to == 1)
    return {0, 0, 0.0f};
  int place = i * (from - 1), first = place / (to - 1);
  return {first, min(first + 1, from - 1), (float)(place - first * (to - 1)) / (float)(to - 1)};
}

__device__ __forceinline__ float mix(float a, float b, float c, float d, float down, float across) {
  float top = a + across * (b - a), bottom = c + across * (d - c);
  return top + down * (bottom - top);
}

template <int WIDE> struct channels { float value[WIDE]; };

template <int WIDE> __device__ __forceinline__ channels<WIDE> load(const __half *from) {
  channels<WIDE> c;
  if (WIDE == 8)
    load8(from, c.value);
  else
    c.value[0] = __half2float(*from);
  return c;
}

template <int WIDE>
__global__ void __launch_bounds__(THREADS) resize_kernel(const __grid_constant__ struct depth_args p) {
  int parts = p.c / WIDE;
  size_t index = thread_index(), pixel = index / parts;
  int part = (int)(index % parts) * WIDE, j = (int)(pixel % p.y_w), row = (int)(pixel / p.y_w);
  int n = row / p.y_h, i = row % p.y_h;
  wait_for_previous();
  if (n >= p.n)
    return;
  between down = between_of(i, p.h, p.y_h), across = between_of(j, p.w, p.y_w);
  const __half *x = p.x + (size_t)n * p.h * p.w * p.c + part;
  const __half *top = x + (size_t)down.first * p.w * p.c, *bottom = x + (size_t)down.second * p.w * p.c;
  channels<WIDE> a = load<WIDE>(top + (size_t)across.first * p.c), b = load<WIDE>(top + (size_t)across.second * p.c);
  channels<WIDE> c = load<WIDE>(bottom + (size_t)across.first * p.c),
                 d = load<WIDE>(bottom + (size_t)across.second * p.c);
  size_t at = pixel * p.c + part;
  channels<WIDE> y = {};
  if (p.residual)
    y = load<WIDE>(p.residual + at);
#pragma unroll
  for (int k = 0; k < WIDE; k++)
    y.value[k] += mix(a.value[k], b.value[k], c.value[k], d.value[k], down.share, across.share);
  if (WIDE == 8)
    store8(p.y + at, y.value);
  else
    p.y[at] = __float2half_rn(y.value[0]);
}

/* --- the range of depths: kernels that measure it and apply it --- */

/* Calculates the mean of each square of size x size pixels of the depth map. Each warp takes one square. The squares'
 * means give the range of depths. */
__global__ void __launch_bounds__(THREADS) squares_kernel(const __grid_constant__ struct depth_args p) {
  int square = (int)(thread_index() / 32), lane = threadIdx.x % 32;
  wait_for_previous();
  if (square >= p.rows * p.columns)
    return;
  const __half *x = p.x + (size_t)(square / p.columns) * p.size * p.w + (size_t)(square % p.columns) * p.size;
  float sum = 0;
  for (int i = lane; i < p.size * p.size; i += 32)
    sum += __half2float(x[(size_t)(i / p.size) * p.w + i % p.size]);
  for (int other = 16; other; other /= 2)
    sum += __shfl_xor_sync(~0u, sum, other);
  if (lane == 0)
    p.means[square] = sum / (float)(p.size * p.size);
}

/* Returns, to every thread of the thread block, the smallest `value` of all these threads. */
__device__ float block_least(float value, float *shared) {
  for (int other = 16; other; other /= 2)
    value = fminf(value, __shfl_xor_sync(~0u, value, other));
  __syncthreads();
  if (threadIdx.x % 32 == 0)
    shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = shared[0];
  for (int i = 1; i < THREADS / 32; i++)
    value = fminf(value, shared[i]);
  return value;
}

__global__ void __launch_bounds__(THREADS) range_kernel(const __grid_constant__ struct depth_args p) {
  __shared__ float shared[THREADS / 32];
  float low = INFINITY, high = -INFINITY;
  bool finite = true;
  wait_for_previous();
  /* Find the lowest and the highest of the means: each is the mean depth of one square of the picture. */
  for (int i = threadIdx.x; i < p.rows * p.columns; i += THREADS) {
    float mean = p.means[i];
    finite = finite && isfinite(mean);
    low = fminf(low, mean);
    high = fmaxf(high, mean);
  }
  low = block_least(low, shared);
  high = -block_least(-high, shared);
  if (!__syncthreads_and(finite) || threadIdx.x)
    return;
  /* The first frame's range (lowest and highest depth) is taken as it is. Afterwards the stored range moves towards
   * each frame's range by the fraction that the user has set; after a cut, which shows as a large change, at once. */
  if (!(p.range[2] > 0)) {
    p.range[0] = low;
    p.range[1] = high;
  } else {
    float width = fmaxf(p.range[1] - p.range[0], high - low);
    float far = fmaxf(fabsf(low - p.range[0]), fabsf(high - p.range[1]));
    float cut = width > 0 ? fminf(fmaxf(4 * far / width - 1, 0.0f), 1.0f) : 1.0f;
    float speed = p.block->run.control[p.control].param[0], share = speed + (1 - speed) * cut;
    p.range[0] += share * (low - p.range[0]);
    p.range[1] += share * (high - p.range[1]);
  }
  p.range[2] = 1;
}

__global__ void __launch_bounds__(THREADS) spread_kernel(const __grid_constant__ struct depth_args p) {
  size_t pixel = thread_index();
  int i = (int)(pixel / p.y_w), j = (int)(pixel % p.y_w);
  wait_for_previous();
  if (i >= p.y_h)
    return;
  between down = between_of(i, p.h, p.y_h), across = between_of(j, p.w, p.y_w);
  const __half *top = p.x + (size_t)down.first * p.w, *bottom = p.x + (size_t)down.second * p.w;
  float value = mix(__half2float(top[across.first]), __half2float(top[across.second]),
                    __half2float(bottom[across.first]), __half2float(bottom[across.second]), down.share, across.share);
  float low = p.range[0], width = p.range[1] - low;
  value = width > 0 ? (value - low) / width : 0.0f;
  __half shade = __float2half_rn(value > 0 ? fminf(value, 1.0f) : 0.0f); /* a depth that is NaN becomes 0 */
#pragma unroll
  for (int k = 0; k < 3; k++)
    p.y[3 * pixel + k] = shade;
}

} // namespace

cudaError_t launch_patches(const struct launch_queue *queue, const struct depth_args *args) {
  size_t tokens = 1 + (size_t)args->rows * args->columns;
  return launch(queue, patches_kernel, blocks_for(tokens * (args->size * args->size + 1), THREADS), THREADS, 0, *args);
}

cudaError_t launch_unpatch(const struct launch_queue *queue, const struct depth_args *args) {
  size_t values = (size_t)args->y_h * args->y_w * args->y_c;
  if (args->y_c % 8)
    return launch(queue, unpatch_kernel<1>, blocks_for(values, THREADS), THREADS, 0, *args);
  return launch(queue, unpatch_kernel<8>, blocks_for(values / 8, THREADS), THREADS, 0, *args);
}

cudaError_t launch_resize(const struct launch_queue *queue, const struct depth_args *args) {
  size_t values = (size_t)args->n * args->y_h * args->y_w * args->c;
  if (args->c % 8)
    return launch(queue, resize_kernel<1>, blocks_for(values, THREADS), THREADS, 0, *args);
  return launch(queue, resize_kernel<8>, blocks_for(values / 8, THREADS), THREADS, 0, *args);
}

cudaError_t launch_squares(const struct launch_queue *queue, const struct depth_args *args) {
  size_t squares = (size_t)args->rows * args->columns;
  return launch(queue, squares_kernel, blocks_for(squares, THREADS / 32), THREADS, 0, *args);
}

cudaError_t launch_range(const struct launch_queue *queue, const struct depth_args *args) {
  return launch(queue, range_kernel, 1, THREADS, 0, *args);
}

cudaError_t launch_spread(const struct launch_queue *queue, const struct depth_args *args) {
  size_t pixels = (size_t)args->y_h * args->y_w;
  return launch(queue, spread_kernel, blocks_for(pixels, THREADS), THREADS, 0, *args);
}
