/* Kernels that work element by element: inputs and epilogues of convolutions and linear layers, and conversion of
 * weights. Also a slow attention for shapes that flash attention does not support. */
#include "cuda/kernels/common.cuh"

namespace {

constexpr int THREADS = 256;

__device__ __forceinline__ size_t thread_index() {
  return (size_t)blockIdx.x * THREADS + threadIdx.x;
}

/* Returns the thread's index in the grid as a 32-bit number, because dividing 64-bit numbers would take longer than the
 * rest of a small kernel. */
__device__ __forceinline__ unsigned short_index() {
  return blockIdx.x * THREADS + threadIdx.x;
}

/* --- gather, a kernel that makes a product's input: concatenation, activation, upsampling, padding --- */

__global__ void __launch_bounds__(THREADS)
    gather_kernel(const __grid_constant__ struct gather_args p, unsigned chunks) {
  unsigned i = short_index();
  wait_for_previous();
  if (i >= chunks)
    return;
  unsigned per_pixel = p.pitch / 8, shift = p.upsample, width = p.w << shift, height = p.h << shift;
  int channel = (int)(i % per_pixel) * 8;
  unsigned pixel = i / per_pixel, x = pixel % width, row = pixel / width, y = row % height, picture = row / height;
  size_t source = (size_t)(picture * p.h + (y >> shift)) * p.w + (x >> shift);
  const __half *x1 = static_cast<const __half *>(p.x) + source * p.c;
  const __half *x2 = static_cast<const __half *>(p.x2) + source * p.c2;
  /* Load eight channels from either input, with zeros in the padding. */
  float v[8];
  if (!p.x_f32 && p.c % 8 == 0 && p.c2 % 8 == 0 && channel < p.c + p.c2) {
    load8(channel < p.c ? x1 + channel : x2 + (channel - p.c), v);
  } else {
#pragma unroll
    for (int j = 0; j < 8; j++) {
      int c = channel + j;
      v[j] = 0.0f;
      if (c < p.c)
        v[j] = p.x_f32 ? static_cast<const float *>(p.x)[source * p.c + c] : __half2float(x1[c]);
      else if (c < p.c + p.c2)
        v[j] = __half2float(x2[c - p.c]);
    }
  }
  /* Activate and store. */
  if (p.act != ACT_NONE) /* every activation turns 0 into 0, so the padding stays 0 */
#pragma unroll
    for (int j = 0; j < 8; j++)
      v[j] = activate(v[j], p.act);
  store8(p.y + (size_t)pixel * p.pitch + channel, v);
}

/* Does the same as gather_kernel, one element a thread, if rows of y are not whole chunks of 16 bytes. */
__global__ void __launch_bounds__(THREADS)
    gather_odd_kernel(const __grid_constant__ struct gather_args p, size_t count) {
  size_t i = thread_index();
  wait_for_previous();
  if (i >= count)
    return;
  int shift = p.upsample, width = p.w << shift, height = p.h << shift, c = (int)(i % p.pitch);
  size_t pixel = i / p.pitch, x = pixel % width, y = pixel / width % height, picture = pixel / width / height;
  size_t source = (picture * p.h + (y >> shift)) * p.w + (x >> shift);
  float v = 0.0f;
  if (c < p.c)
    v = p.x_f32 ? static_cast<const float *>(p.x)[source * p.c + c]
                : __half2float(static_cast<const __half *>(p.x)[source * p.c + c]);
  else if (c < p.c + p.c2)
    v = __half2float(static_cast<const __half *>(p.x2)[source * p.c2 + (c - p.c)]);
  p.y[i] = __float2half_rn(c < p.c + p.c2 ? activate(v, p.act) : 0.0f);
}

/* --- the epilogue of a product that a library has computed --- */

__global__ void __launch_bounds__(THREADS) epilogue_kernel(const __grid_constant__ struct epilogue_args p) {
  unsigned i = short_index(), per_row = p.columns / 8, row = i / per_row, column = i % per_row * 8;
  size_t at = (size_t)row * p.columns + column;
  wait_for_previous();
  if (row >= p.rows)
    return;
  bool simple = is_simple(p.act);
  struct tail tail = {p.bias, p.time, p.residual, simple ? p.act : ACT_NONE, p.residual_last};
  float v[8];
  uint4 residual = fetch_residual(p.residual, at, true);
  load8(p.x + at, v);
  /* OP_INJECT: multiply product and bias by the gain of the control network's result. */
  if (p.gain.there) {
    float gain = gain_of(p.gain, (int)(row / (unsigned)p.pixels));
    tail.bias = NULL;
#pragma unroll
    for (int j = 0; j < 8; j++)
      v[j] = gain * (p.bias ? v[j] + __ldg(p.bias + column + j) : v[j]);
  }
  /* Add bias, time row (bias from the time embedding) and residual, activate, and store. */
  if (simple) {
    finish8(tail, v, column, residual);
  } else {
    tail.act = p.act;
#pragma unroll
    for (int j = 0; j < 8; j++)
      v[j] = finish(tail, v[j], column + j, at + j);
  }
  store8(p.y + at, v);
}

/* --- plain attention: one thread block for each row of q and each head --- */

__device__ float block_reduce(float v, bool largest, float *shared) {
  __syncthreads();
  shared[threadIdx.x] = v;
  for (int i = THREADS / 2; i > 0; i /= 2) {
    __syncthreads();
    if ((int)threadIdx.x < i) {
      float other = shared[threadIdx.x + i];
      shared[threadIdx.x] = largest ? fmaxf(shared[threadIdx.x], other) : shared[threadIdx.x] + other;
    }
  }
  __syncthreads();
  return shared[0];
}

/* The addresses of the keys, or of the values, of one head. They are in two arrays: the first `split` of them in
 * `one`, the others (those of earlier frames) in `two`. */
struct key_rows {
  const __half *one, *two;
  long one_row, two_row;
  int split; /* number of keys (or values) of this frame, which are in the array `one`; all later ones are in `two` */

  __device__ __forceinline__ const __half *at(int j) const {
    return j < split ? one + j * one_row : two + (j - split) * two_row;
  }
};

__device__ __forceinline__ const __half *head_rows(const void *rows, long batch, int n, int head, int d) {
  return static_cast<const __half *>(rows) + n * batch + head * d;
}

/* Number of keys whose weights are in shared memory at a time. It is a multiple of THREADS; sums are then added in the
 * same order whatever this number is. */
constexpr int WEIGHTS = 8192;

__device__ __forceinline__ float score_of(const struct attn_args &p, const __half *q, const __half *k) {
  float score = 0;
  for (int i = 0; i < p.D; i++)
    score += __half2float(q[i]) * __half2float(k[i]);
  return score * p.scale;
}

__global__ void __launch_bounds__(THREADS) plain_attention_kernel(const __grid_constant__ struct attn_args p) {
  extern __shared__ float totals[]; /* D sums, one for each channel of the head; one thread adds up each */
  __shared__ float weights[WEIGHTS], scratch[THREADS];
  int row = blockIdx.x, head = blockIdx.y, n = blockIdx.z;
  int split = p.causal ? min(p.Tk, row + 1) : p.Tk;
  const __half *q = head_rows(p.q, p.q_batch, n, head, p.D) + row * p.q_row;
  const key_rows k = {head_rows(p.k, p.k_batch, n, head, p.D), head_rows(p.k2, p.k2_batch, n, head, p.D), p.k_row,
                      p.k2_row, split};
  const key_rows v = {head_rows(p.v, p.v_batch, n, head, p.D), head_rows(p.v2, p.v2_batch, n, head, p.D), p.v_row,
                      p.v2_row, split};
  wait_for_previous();
  int each = max(p.count2_rows, 1), columns = split + (p.k2 ? min(max(*p.count2, 0), p.Tk2 / each) * each : 0);
  /* Find the row's largest score. */
  float row_max = -INFINITY, sum = 0;
  for (int j = threadIdx.x; j < columns; j += THREADS)
    row_max = fmaxf(row_max, score_of(p, q, k.at(j)));
  row_max = block_reduce(row_max, true, scratch);
  for (int i = threadIdx.x; i < p.D; i += THREADS)
    totals[i] = 0;
  for (int first = 0; first < columns; first += WEIGHTS) {
    int last = min(first + WEIGHTS, columns);
    __syncthreads(); /* wait until all threads have used the weights in shared memory, which are now replaced */
    /* Softmax: calculate the exponentials, and add them up. */
    for (int j = first + threadIdx.x; j < last; j += THREADS) {
      weights[j - first] = expf(score_of(p, q, k.at(j)) - row_max);
      sum += weights[j - first];
    }
    __syncthreads();
    /* Add up the weighted values. */
    for (int i = threadIdx.x; i < p.D; i += THREADS)
      for (int j = first; j < last; j++)
        totals[i] += weights[j - first] * __half2float(v.at(j)[i]);
  }
  sum = block_reduce(sum, false, scratch);
  __half *y = static_cast<__half *>(p.o) + n * p.o_batch + row * p.o_row + head * p.D;
  for (int i = threadIdx.x; i < p.D; i += THREADS)
    y[i] = __float2half_rn(totals[i] / sum);
}

/* --- conversion of weights to the device's layout --- */

__device__ __forceinline__ float source_value(const struct convert_args &p, size_t i) {
  if (p.dtype == DTYPE_F32)
    return static_cast<const float *>(p.source)[i];
  if (p.dtype == DTYPE_F16)
    return __half2float(static_cast<const __half *>(p.source)[i]);
  return __uint_as_float((unsigned)static_cast<const uint16_t *>(p.source)[i] << 16);
}

__global__ void __launch_bounds__(THREADS) convert_kernel(const __grid_constant__ struct convert_args p, size_t count) {
  size_t i = thread_index();
  wait_for_previous();
  if (i >= count)
    return;
  size_t channel = i % p.channels, tap = i / p.channels % p.taps, row = i / p.channels / p.taps;
  float v = source_value(p, (row * p.channels + channel) * p.taps + tap);
  v /= p.element.scale;
  if (p.element.type == DTYPE_I32)
    /* __float2int_rn saturates and turns NaN into 0, as element_store on the host does */
    static_cast<int32_t *>(p.target)[i] = __float2int_rn(v);
  else
    element_write(p.target, p.element.type, i, v);
}

__global__ void __launch_bounds__(THREADS) pad_kernel(const __grid_constant__ struct pad_args p, size_t count) {
  size_t i = thread_index();
  wait_for_previous();
  int column = (int)(i % p.pitch);
  if (i < count)
    p.target[i] = column < p.width ? p.source[i / p.pitch * p.width + column] : __half(0.0f);
}

/* A 3x3 convolution after an upsampling by 2 is done as four 2x2 convolutions before the upsampling: one for each of
 * the output pixels that an input pixel becomes. Returns true if row `tap` of the 2x2 window is the input row that row
 * k of the 3x3 window reads. first: 0 or 1: the upper or the lower one of the two output rows of an input row. Columns
 * work the same way. */
static __device__ __forceinline__ bool sees(int first, int tap, int k) {
  return (first + k + 1) / 2 == first + tap;
}

__global__ void __launch_bounds__(THREADS) quarters_kernel(const __grid_constant__ struct pad_args p, size_t count) {
  size_t i = thread_index(), at = i / p.pitch;
  wait_for_previous();
  if (i >= count)
    return;
  int c = (int)(i % p.pitch), tap = (int)(at % 4), quarter = (int)(at / 4 % 4);
  const __half *from = p.source + at / 16 * 9 * p.width + c;
  float sum = 0;
  for (int y = 0; y < 3 && c < p.width; y++)
    for (int x = 0; x < 3; x++)
      if (sees(quarter / 2, tap / 2, y) && sees(quarter % 2, tap % 2, x))
        sum += __half2float(from[(y * 3 + x) * p.width]);
  p.target[i] = __float2half_rn(sum);
}

__global__ void __launch_bounds__(THREADS) to_f16_kernel(const float *source, __half *target, size_t count) {
  size_t i = thread_index();
  wait_for_previous();
  if (i < count)
    target[i] = __float2half_rn(source[i]);
}

template <class T>
__device__ __forceinline__ void copy_segment(const char *source, void *target, size_t bytes, size_t first,
                                             size_t stride) {
  for (size_t i = first; i < bytes / sizeof(T); i += stride)
    static_cast<T *>(target)[i] = reinterpret_cast<const T *>(source)[i];
}

/* Copies changed weights from the shadow buffer (device memory in which they were calculated) to their addresses. A
 * segment (range of bytes) is copied by the thread blocks with the same blockIdx.y; each thread block does every
 * gridDim.y-th segment. */
__global__ void __launch_bounds__(THREADS) publish_kernel(const char *shadow, const struct segment *list, int count) {
  wait_for_previous();
  size_t first = (size_t)blockIdx.x * THREADS + threadIdx.x, stride = (size_t)gridDim.x * THREADS;
  for (int i = blockIdx.y; i < count; i += gridDim.y) {
    const struct segment s = list[i];
    if ((reinterpret_cast<uintptr_t>(s.target) | s.bytes) % 16 == 0)
      copy_segment<uint4>(shadow + s.source, s.target, s.bytes, first, stride);
    else
      copy_segment<uint16_t>(shadow + s.source, s.target, s.bytes, first, stride);
  }
}

} // namespace

cudaError_t kernels_version(int *version) {
  cudaFuncAttributes attributes;
  cudaError_t status = cudaFuncGetAttributes(&attributes, to_f16_kernel);
  if (status == cudaSuccess)
    *version = attributes.ptxVersion;
  return status;
}

cudaError_t launch_gather(const struct launch_queue *queue, const struct gather_args *args) {
  size_t pixels = (size_t)args->n * args->h * args->w << (args->upsample ? 2 : 0), count = pixels * args->pitch;
  if (args->pitch % 8 == 0)
    return launch(queue, gather_kernel, dim3(blocks_for(count / 8, THREADS)), dim3(THREADS), 0, *args,
                  (unsigned)(count / 8));
  return launch(queue, gather_odd_kernel, dim3(blocks_for(count, THREADS)), dim3(THREADS), 0, *args, count);
}

cudaError_t launch_epilogue(const struct launch_queue *queue, const struct epilogue_args *args) {
  return launch(queue, epilogue_kernel, dim3(blocks_for(args->rows * args->columns / 8, THREADS)), dim3(THREADS), 0,
                *args);
}

cudaError_t launch_plain_attention(const struct launch_queue *queue, const struct attn_args *args) {
  size_t shared = (size_t)args->D * sizeof(float);
  dim3 grid((unsigned)args->Tq, (unsigned)args->H, (unsigned)args->B);
  return launch(queue, plain_attention_kernel, grid, dim3(THREADS), shared, *args);
}

cudaError_t launch_convert(const struct launch_queue *queue, const struct convert_args *args) {
  size_t count = args->rows * args->channels * args->taps;
  return launch(queue, convert_kernel, dim3(blocks_for(count, THREADS)), dim3(THREADS), 0, *args, count);
}

cudaError_t launch_pad(const struct launch_queue *queue, const struct pad_args *args) {
  size_t count = args->rows * args->pitch;
  return launch(queue, pad_kernel, dim3(blocks_for(count, THREADS)), dim3(THREADS), 0, *args, count);
}

cudaError_t launch_quarters(const struct launch_queue *queue, const struct pad_args *args) {
  size_t count = args->rows * 16 * args->pitch;
  return launch(queue, quarters_kernel, dim3(blocks_for(count, THREADS)), dim3(THREADS), 0, *args, count);
}

cudaError_t launch_to_f16(const struct launch_queue *queue, const float *source, half_t *target, size_t count) {
  return launch(queue, to_f16_kernel, dim3(blocks_for(count, THREADS)), dim3(THREADS), 0, source, target, count);
}

cudaError_t launch_publish(const struct launch_queue *queue, const void *shadow, const struct segment *list,
                           int count) {
  const unsigned blocks = 16, rows = count < 1024 ? (unsigned)count : 1024;
  return launch(queue, publish_kernel, dim3(blocks, rows), dim3(THREADS), 0, static_cast<const char *>(shadow), list,
                count);
}
