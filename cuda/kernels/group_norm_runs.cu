/* Group norm in two launches, for shapes that group_norm.cu, which has the formula, cannot do in one. Each thread block
 * of the first launch writes its sums over some consecutive pixels to memory. The second launch adds these sums,
 * normalises, activates and stores. */
#include "cuda/kernels/norm.cuh"

namespace {

using namespace norms;

/* THREADS: threads of a thread block; LANES: threads that together add up the sums of one group */
constexpr int THREADS = 512, LANES = 16;
constexpr int AT_ONCE = 4; /* number of pixels that a thread loads before it uses the first of them */
constexpr int FEW = 2;     /* smallest number of pixels of a thread, if the picture has enough pixels */

/* The part of a picture on which a thread block works: some consecutive pixels with all their channels. The `span`
 * threads of a row of threads divide the channels of a pixel between them; different rows have different pixels. */
struct share {
  int picture, first, last, chunk, chunks;
  int channels, columns, span, rows, row, column;
  int size; /* number of channels of a group */
  float groups_a_channel;
};

template <int WIDTH> __device__ __forceinline__ share make_share(const struct norm_args &p) {
  share s;
  s.chunks = gridDim.x / p.n;
  s.chunk = blockIdx.x % s.chunks;
  s.picture = blockIdx.x / s.chunks;
  s.first = (int)((long)p.pixels * s.chunk / s.chunks);
  s.last = (int)((long)p.pixels * (s.chunk + 1) / s.chunks);
  s.channels = p.c + p.c2;
  s.size = s.channels / p.groups;
  s.columns = s.channels / WIDTH;
  s.span = min(s.columns, THREADS);
  s.rows = THREADS / s.span;
  s.row = threadIdx.x / s.span;
  s.column = threadIdx.x % s.span;
  s.groups_a_channel = 1.0f / (float)s.size;
  return s;
}

/* Returns the number of the group to which a channel belongs. The quotient is exact, because a float has many more
 * digits than channel numbers. */
__device__ __forceinline__ int group_of(const share &s, int channel) {
  return (int)(((float)channel + 0.5f) * s.groups_a_channel);
}

/* Calls use(values, pixel) for each pixel of a thread, with the values of its WIDTH channels as floats. */
template <int WIDTH, typename Use>
__device__ __forceinline__ void each_pixel(const struct norm_args &p, const share &s, int column, Use use) {
  size_t start = (size_t)s.picture * p.pixels;
#pragma unroll 1
  for (int pixel = s.first + s.row; pixel < s.last; pixel += AT_ONCE * s.rows) {
    packed<WIDTH> loaded[AT_ONCE];
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++)
      if (pixel + j * s.rows < s.last)
        loaded[j] = fetch<WIDTH>(p, start + pixel + j * s.rows, column * WIDTH);
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++)
      if (pixel + j * s.rows < s.last) {
        float v[WIDTH];
        unpack(loaded[j], v);
        use(v, start + pixel + j * s.rows);
      }
  }
}

/* Adds the sums of a thread block's threads, [rows][channels] in shared memory, to one sum for each group, which is
 * stored in totals[group]. */
__device__ __forceinline__ void add_rows(const struct norm_args &p, const share &s, float2 *sums, float2 *totals) {
#pragma unroll 1
  for (int channel = threadIdx.x; channel < s.channels; channel += THREADS) {
    float2 total = sums[channel];
    for (int row = 1; row < s.rows; row++)
      add(total, sums[row * s.channels + channel].x, sums[row * s.channels + channel].y);
    sums[channel] = total;
  }
  __syncthreads();
  int lane = threadIdx.x % LANES, turns = (p.groups + THREADS / LANES - 1) / (THREADS / LANES);
#pragma unroll 1
  for (int turn = 0; turn < turns; turn++) {
    int group = turn * (THREADS / LANES) + threadIdx.x / LANES;
    float2 total = make_float2(0, 0);
    for (int i = lane; group < p.groups && i < s.size; i += LANES)
      add(total, sums[group * s.size + i].x, sums[group * s.size + i].y);
    total = add_lanes(total, LANES);
    if (lane == 0 && group < p.groups)
      totals[group] = total;
  }
}

template <int WIDTH>
__global__ void __launch_bounds__(THREADS) sums_kernel(const __grid_constant__ struct norm_args p) {
  extern __shared__ float2 channel_sums[];
  __shared__ float pivots[NORM_GROUPS_MAX];
  share s = make_share<WIDTH>(p);
  wait_for_previous();
  /* Load the pivots, which are subtracted from the values: the first value of each group. */
  for (int group = threadIdx.x; group < p.groups; group += THREADS)
    read<1>(p, (size_t)s.picture * p.pixels, group * s.size, &pivots[group]);
  __syncthreads();
  /* Statistics: add up the differences between the values and their group's pivot (its first value in the picture), and
   * the squares of these differences. */
#pragma unroll 1
  for (int column = s.column; s.row < s.rows && column < s.columns; column += s.span) {
    float pivot[WIDTH], sum[WIDTH] = {}, square[WIDTH] = {};
#pragma unroll
    for (int i = 0; i < WIDTH; i++)
      pivot[i] = pivots[group_of(s, column * WIDTH + i)];
    each_pixel<WIDTH>(p, s, column, [&](const float v[WIDTH], size_t) {
#pragma unroll
      for (int i = 0; i < WIDTH; i++) {
        sum[i] += v[i] - pivot[i];
        square[i] += (v[i] - pivot[i]) * (v[i] - pivot[i]);
      }
    });
#pragma unroll
    for (int i = 0; i < WIDTH; i++)
      channel_sums[s.row * s.channels + column * WIDTH + i] = make_float2(sum[i], square[i]);
  }
  __syncthreads();
  add_rows(p, s, channel_sums, reinterpret_cast<float2 *>(p.partial) + (size_t)blockIdx.x * p.groups);
}

/* Adds the sums that the first launch's thread blocks have stored for this picture, and stores mean and reciprocal
 * standard deviation of each group in stats. sums: shared memory for LANES * groups elements. */
__device__ __forceinline__ void combine(const struct norm_args &p, const share &s, float2 *sums, float2 *stats) {
  const float2 *partial = reinterpret_cast<const float2 *>(p.partial) + (size_t)s.picture * s.chunks * p.groups;
#pragma unroll 1
  for (int i = threadIdx.x; i < LANES * p.groups; i += THREADS) {
    int group = i % p.groups;
    float2 total = make_float2(0, 0);
#pragma unroll 4
    for (int chunk = i / p.groups; chunk < s.chunks; chunk += LANES) {
      float2 part = __ldcg(partial + (size_t)chunk * p.groups + group);
      add(total, part.x, part.y);
    }
    sums[i] = total;
  }
  __syncthreads();
#pragma unroll 1
  for (int group = threadIdx.x; group < p.groups; group += THREADS) {
    float2 total = make_float2(0, 0);
    float pivot;
#pragma unroll
    for (int i = 0; i < LANES; i++)
      add(total, sums[i * p.groups + group].x, sums[i * p.groups + group].y);
    read<1>(p, (size_t)s.picture * p.pixels, group * s.size, &pivot);
    stats[group] = finish_group(p, pivot, total, 1.0f / ((float)p.pixels * (float)s.size));
  }
  __syncthreads();
}

template <int WIDTH>
__global__ void __launch_bounds__(THREADS) apply_kernel(const __grid_constant__ struct norm_args p) {
  extern __shared__ float2 group_sums[];
  __shared__ float2 stats[NORM_GROUPS_MAX];
  share s = make_share<WIDTH>(p);
  wait_for_previous();
  /* Find mean and standard deviation of each group, then factor and shift of each channel. */
  combine(p, s, group_sums, stats);
#pragma unroll 1
  for (int column = s.column; s.row < s.rows && column < s.columns; column += s.span) {
    float scale[WIDTH], shift[WIDTH];
    read_vector<WIDTH>(p.gamma, column * WIDTH, 1.0f, scale);
    read_vector<WIDTH>(p.beta, column * WIDTH, 0.0f, shift);
#pragma unroll
    for (int i = 0; i < WIDTH; i++) {
      float2 stat = stats[group_of(s, column * WIDTH + i)];
      scale[i] *= stat.y;
      shift[i] -= stat.x * scale[i];
    }
    /* Normalise, activate and store. */
    each_pixel<WIDTH>(p, s, column, [&](float v[WIDTH], size_t pixel) {
#pragma unroll
      for (int i = 0; i < WIDTH; i++) {
        v[i] = v[i] * scale[i] + shift[i];
        if (p.act == ACT_SILU)
          v[i] = silu(v[i]);
      }
      write<WIDTH>(p, pixel, column * WIDTH, v);
    });
  }
  /* Write zeros to the padding, the channels from the last one up to the pitch. */
  int padding = p.pitch - s.channels;
#pragma unroll 1
  for (int i = threadIdx.x; i < (s.last - s.first) * padding; i += THREADS)
    p.y[((size_t)s.picture * p.pixels + s.first + i / padding) * p.pitch + s.channels + i % padding] = __half(0.0f);
}

template <int WIDTH> cudaError_t launch_runs(const struct launch_queue *queue, const struct norm_args *args) {
  if (args->groups > NORM_GROUPS_MAX || args->n > NORM_BLOCKS_MAX)
    return cudaErrorInvalidConfiguration;
  int channels = args->c + args->c2, columns = channels / WIDTH;
  int rows = THREADS / (columns < THREADS ? columns : THREADS);
  int runs = (int)blocks_for((size_t)args->pixels, (size_t)rows * FEW), most = NORM_BLOCKS_MAX / args->n;
  dim3 grid((unsigned)((runs < most ? runs : most) * args->n));
  size_t shared = (size_t)rows * channels * sizeof(float2);
  cudaError_t status =
      cudaFuncSetAttribute(sums_kernel<WIDTH>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
  if (status == cudaSuccess)
    status = launch(queue, sums_kernel<WIDTH>, grid, dim3(THREADS), shared, *args);
  return status == cudaSuccess ? launch(queue, apply_kernel<WIDTH>, grid, dim3(THREADS),
                                        (size_t)LANES * args->groups * sizeof(float2), *args)
                               : status;
}

} // namespace

cudaError_t launch_group_norm_runs(const struct launch_queue *queue, const struct norm_args *args) {
  return norm_has_vectors(args) ? launch_runs<8>(queue, args) : launch_runs<1>(queue, args);
}
