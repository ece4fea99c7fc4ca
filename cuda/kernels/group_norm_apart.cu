/* Group norm on GPUs that have no clusters, or code that knows none; group_norm.cu has the formula. As there, a thread
 * block has a slice of the channels, a few whole groups, and each thread keeps its vectors of eight channels in
 * registers. A slice of a small picture has one thread block, and the norm is one launch. A slice of a larger one is
 * divided into runs of pixels, a thread block each, and there are two launches:
 *
 *     SUMS    reads the pixels and stores each run's two sums for each group of its slice;
 *     APPLY   reads the pixels again, adds up the sums of its slice's runs, normalises and stores.
 *
 * The second launch has its pixels on their way while it adds up the sums, of which there are few: a slice has a few
 * groups and a few dozen runs. Sums are taken in a fixed order.
 *
 * Limits: a launch takes about 2 us here whatever it does, because it begins when the preceding one has ended. So the
 * first of the launches also makes what would be small launches of their own (norm_beside.h). */
#include "cuda/kernels/group_norm.cuh"

namespace {

using namespace norms;

enum stage { WHOLE, SUMS, APPLY };

/* APART_THREADS: largest number of threads of a thread block; APART_HELD: largest number of vectors that a thread keeps
 * in registers; APART_BYTES: least width of a slice of the channels, in bytes of a pixel: a sector of memory. */
enum { APART_THREADS = 320, APART_HELD = 4, APART_BYTES = 32 };

/* Where the sums of a picture's runs are stored for a group: those of all runs of a group follow each other. */
__device__ __forceinline__ float2 *partial_of(const struct norm_args &p, const division &d, int group) {
  size_t at = ((size_t)blockIdx.z * d.slices + blockIdx.y) * d.groups + group;
  return reinterpret_cast<float2 *>(p.partial) + at * gridDim.x;
}

/* Returns the sums of all runs for one group. All lanes of one warp call it and get the result. */
__device__ __forceinline__ float2 add_runs(const float2 *partial) {
  float2 total = make_float2(0, 0);
#pragma unroll 1
  for (int run = threadIdx.x % 32; run < (int)gridDim.x; run += 32) {
    float2 part = __ldcg(partial + run);
    add(total, part.x, part.y);
  }
  return add_lanes(total, 32);
}

/* Has eight neighbouring constants read from memory to the cache. */
__device__ __forceinline__ void fetch_ahead(const float *constants) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(constants));
}

/* Makes what is wanted beside the norm but the concatenated input. All threads of the grid divide it between them. */
__device__ __forceinline__ void make_beside(const struct norm_beside &b) {
  int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  int first = block * blockDim.x + threadIdx.x, step = gridDim.x * gridDim.y * gridDim.z * blockDim.x;
  if (b.sum)
#pragma unroll 1
    for (int i = first; i < b.count; i += step)
      b.sum[i] = __float2half_rn(__half2float(b.time[i]) + b.bias[i]);
#pragma unroll 1
  for (int j = 0; j < NORMS_AHEAD; j++)
#pragma unroll 1
    for (int i = 8 * first; i < b.ahead[j].channels; i += 8 * step) {
      if (b.ahead[j].gamma)
        fetch_ahead(b.ahead[j].gamma + i);
      if (b.ahead[j].beta)
        fetch_ahead(b.ahead[j].beta + i);
    }
}

template <int HELD, enum stage STAGE, bool ACTIVATED>
__global__ void __launch_bounds__(APART_THREADS)
    apart_kernel(const __grid_constant__ struct norm_args p, const __grid_constant__ division d,
                 const __grid_constant__ struct norm_beside beside) {
  /* for each thread: the sum of the differences between its values and the pivot (the group's first value in the
   * picture), and the sum of the squares of these differences; [columns][rows + 1] */
  extern __shared__ float4 sums[];
  __shared__ float2 totals[SLICE_GROUPS];
  __shared__ float2 factors[SLICE_CHANNELS]; /* factor and shift with which each channel of the slice is normalised */
  /* Find what this thread works on: column of vectors, groups, pixels, addresses. */
  int thread = threadIdx.x, rank = blockIdx.x, channels = d.columns * 8, base = blockIdx.y * channels;
  int row = quotient(thread, d.by_columns), column = thread - row * d.columns;
  int group = quotient(column * 8, d.by_size), own_group = quotient(min(thread, channels - 1), d.by_size);
  /* index, within this thread's vector, of the first channel that belongs to the vector's second group */
  int bound = (group + 1) * d.size - column * 8;
  int left = row < d.rows ? min(d.run, p.pixels - rank * d.run) - row : 0;
  size_t start = (size_t)blockIdx.z * p.pixels, first = start + rank * d.run + row;
  int channel = base + column * 8, step = d.rows * (channel >= p.c ? p.c2 : p.c), to_step = d.rows * p.pitch;
  const __half *from = place_of(p, first, channel);
  float gamma = 1.0f, beta = 0.0f;
  wait_for_previous();
  /* Load this thread's pixels, and the pivots, which are subtracted from the values: each group's first value in the
   * picture. */
  vectors<HELD> pixels;
  pixels.each(left, d.rows, [&](uint4 &held, int j) { held = load16(from + j * step); });
  __half first_pivot, next_pivot, channel_pivot;
  if (STAGE != APPLY) {
    first_pivot = load_half(place_of(p, start, base + group * d.size));
    next_pivot = load_half(place_of(p, start, base + (bound < 8 ? group + 1 : group) * d.size));
  }
  if (STAGE != SUMS) {
    channel_pivot = load_half(place_of(p, start, base + own_group * d.size));
    if (thread < channels) {
      read_vector<1>(p.gamma, base + thread, 1.0f, &gamma);
      read_vector<1>(p.beta, base + thread, 0.0f, &beta);
    }
  }
  if (STAGE != APPLY) {
    make_beside(beside);
    if (beside.joined) {
      __half *joined = beside.joined + first * p.pitch + channel;
      pixels.each(left, d.rows, [&](const uint4 &held, int j) { store16(joined + j * to_step, held); });
    }
    /* Add up the differences between the values and their pivots, and the squares of these differences, by thread. */
    if (row < d.rows) {
      float sum[8] = {}, square[8] = {}, pivot[8];
#pragma unroll
      for (int i = 0; i < 8; i++)
        pivot[i] = __half2float(i < bound ? first_pivot : next_pivot);
      pixels.each(left, d.rows, [&](const uint4 &held, int) {
        float v[8];
        unpack8(held, v);
#pragma unroll
        for (int i = 0; i < 8; i++) {
          float distance = v[i] - pivot[i];
          sum[i] += distance;
          square[i] += distance * distance;
        }
      });
      float4 group_sums = make_float4(0, 0, 0, 0);
#pragma unroll
      for (int i = 0; i < 8; i++) {
        group_sums.x += i < bound ? sum[i] : 0.0f;
        group_sums.y += i < bound ? square[i] : 0.0f;
        group_sums.z += i < bound ? 0.0f : sum[i];
        group_sums.w += i < bound ? 0.0f : square[i];
      }
      sums[column * (d.rows + 1) + row] = group_sums;
    }
    __syncthreads();
  }
  /* Add up the sums by group: those of this thread block's threads, or those of all runs. */
#pragma unroll 1
  for (int g = thread / 32; g < d.groups; g += blockDim.x / 32) {
    float2 total = STAGE == APPLY ? add_runs(partial_of(p, d, g)) : add_group(sums, d, g);
    if (thread % 32 == 0)
      *(STAGE == SUMS ? partial_of(p, d, g) + rank : &totals[g]) = total;
  }
  if (STAGE == SUMS)
    return;
  __syncthreads();
  /* Turn a channel's mean, standard deviation, gamma and beta into one factor and one shift. */
  if (thread < channels) {
    float2 stat = finish_group(p, __half2float(channel_pivot), totals[own_group], d.inverse_count);
    factors[thread] = make_float2(gamma * stat.y, beta - stat.x * gamma * stat.y);
  }
  __syncthreads();
  /* Normalise, activate and store. */
  __half *to = p.y + first * p.pitch + channel;
  store_vectors<ACTIVATED>(pixels, left, d, factors + column * 8, to, to_step);
}

/* Decides how the norm's work is divided between thread blocks; d->cluster is the number of runs of a slice. Returns
 * false if these launches cannot do the norm. */
bool divide_apart(const struct launch_queue *queue, const struct norm_args *args, division *d) {
  int channels = args->c + args->c2;
  if (queue->overlap || !args->groups || !norm_has_vectors(args) || args->pitch != channels ||
      (d->slices = count_slices(args, APART_BYTES)) == 0)
    return false;
  d->size = channels / args->groups;
  d->groups = args->groups / d->slices;
  d->columns = channels / d->slices / 8;
  d->rows = ROWS_MIN;
  while (d->rows < args->pixels && 2 * d->rows * d->columns <= APART_THREADS)
    d->rows *= 2;
  int runs = 1, most = NORM_PARTIAL_FLOATS / 2 / args->groups / args->n;
  auto held = [&] { return (int)blocks_for(blocks_for((size_t)args->pixels, (size_t)runs), (size_t)d->rows); };
  if (held() > APART_HELD)
    while (2 * runs <= most && (held() > APART_HELD || (held() > 2 && 2 * runs * d->slices * args->n <= queue->sms)))
      runs *= 2;
  d->cluster = runs;
  d->held = held();
  d->run = (int)blocks_for((size_t)args->pixels, (size_t)runs);
  d->by_columns = divide_by(d->columns);
  d->by_size = divide_by(d->size);
  d->inverse_count = 1.0f / ((float)args->pixels * (float)d->size);
  return d->held <= APART_HELD;
}

template <int HELD, enum stage STAGE>
cudaError_t launch_stage(const struct launch_queue *queue, const struct norm_args *args, const division *d,
                         const struct norm_beside *beside) {
  dim3 grid((unsigned)d->cluster, (unsigned)d->slices, (unsigned)args->n);
  dim3 block((unsigned)(d->columns * d->rows + 31) / 32 * 32);
  size_t shared = STAGE == APPLY ? 0 : (size_t)d->columns * (d->rows + 1) * sizeof(float4);
  bool activated = STAGE != SUMS && args->act == ACT_SILU;
  return launch(queue, activated ? apart_kernel<HELD, STAGE, STAGE != SUMS> : apart_kernel<HELD, STAGE, false>, grid,
                block, shared, *args, *d, *beside);
}

template <int HELD>
cudaError_t launch_stages(const struct launch_queue *queue, const struct norm_args *args, const division *d,
                          const struct norm_beside *beside) {
  if (d->cluster == 1)
    return launch_stage<HELD, WHOLE>(queue, args, d, beside);
  cudaError_t status = launch_stage<HELD, SUMS>(queue, args, d, beside);
  return status == cudaSuccess ? launch_stage<HELD, APPLY>(queue, args, d, beside) : status;
}

} // namespace

bool group_norm_is_apart(const struct launch_queue *queue, const struct norm_args *args) {
  division d;
  return divide_apart(queue, args, &d);
}

cudaError_t launch_group_norm_apart(const struct launch_queue *queue, const struct norm_args *args,
                                    const struct norm_beside *beside) {
  division d;
  if (!divide_apart(queue, args, &d))
    return cudaErrorInvalidConfiguration;
  return d.held <= 2 ? launch_stages<2>(queue, args, &d, beside) : launch_stages<APART_HELD>(queue, args, &d, beside);
}
