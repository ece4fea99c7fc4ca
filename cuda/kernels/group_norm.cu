/* Group norm: y = act((x - mean) * rstd * gamma + beta), where mean and rstd = 1 / sqrt(variance + eps) are those of a
 * group of channels over all pixels of a picture. The input is one tensor, or two concatenated ones; a convolution or a
 * linear layer reads the result. NORM.md says which kernel runs when, and what was tried.
 *
 * One launch does it where a cluster of thread blocks can keep a slice of the channels in registers. Otherwise there
 * are two launches, those of group_norm_runs.cu. GPUs without clusters have group_norm_apart.cu. Sums are taken in a
 * fixed order, so results are the same to the bit every time. They are sums of differences from each group's pivot (its
 * first value in the picture), so that a large mean costs no precision.
 *
 * Limits: an element is read once and written once. At the usual sizes (0.2 to 8 MB, in the L2 cache) that takes 0.1 to
 * 2 us, and a launch takes 2 us. Most of the time is spent waiting: for the preceding kernel, then for the input, for
 * sums, for gamma and beta. Loads and calculations are therefore made as early as possible. */
#include "cuda/kernels/cluster_sm90.cuh"
#include "cuda/kernels/group_norm.cuh"

namespace {

using namespace norms;

/* --- the single launch ---
 *
 * A cluster of thread blocks has a slice of a picture's channels: a few whole groups, in whole vectors of eight
 * channels. Its thread blocks divide the pixels of the slice between them, keep them in registers, and exchange their
 * sums through shared memory:
 *
 *            column 0    column 1      ...       threads lie in rows over the slice's columns, so that each
 *     row 0  pixel 0     pixel 0                 thread always has the same eight channels;
 *     row 1  pixel 1     pixel 1                 its vectors are `rows` pixels apart
 *     ...
 *
 * The code is short, because it is fetched from memory and executed only once: the host does the divisions, and each
 * thread calculates the addresses of its vectors once. */

enum { CLUSTER_MAX = 8 };
/* THREADS_MAX: largest number of threads of a thread block. HELD_MAX: largest number of vectors that a thread keeps in
 * registers. The limits WIDE_ are used where a thread would otherwise have to keep more vectors than HELD_MAX. */
enum { THREADS_MAX = 320, HELD_MAX = 16, WIDE_THREADS_MAX = 640, WIDE_HELD_MAX = 10 };
enum { SLICE_BYTES = 32 }; /* least width of a slice of the channels, in bytes of a pixel: a sector of memory */

/* Sends a thread block's sums to every thread block of the cluster, itself included, where a barrier counts the bytes
 * that have arrived. All lanes of one warp call it. */
__device__ __forceinline__ void tell_cluster(float2 *slot, uint64_t *arrivals, float2 total, int cluster) {
  int lane = threadIdx.x % 32;
  if (cluster == 1 && lane == 0)
    *slot = total;
  if (cluster > 1 && lane < cluster)
    store_remote(slot, lane, arrivals, total);
}

/* Kernels whose threads keep the most vectors must leave room for two thread blocks on each multiprocessor: otherwise
 * 32 clusters of four thread blocks would not fit the GPU at the same time. */
template <int HELD, bool ACTIVATED, int THREADS>
__global__ void __launch_bounds__(THREADS, HELD == HELD_MAX ? 2 : 1)
    slice_kernel(const __grid_constant__ struct norm_args p, const __grid_constant__ division d) {
  /* for each thread: the sum of the differences between its values and the pivot (the group's first value in the
   * picture), and the sum of the squares of these differences; [columns][rows + 1] */
  extern __shared__ float4 sums[];
  __shared__ float2 totals[CLUSTER_MAX][SLICE_GROUPS];
  __shared__ uint64_t totals_there;
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
  const __half *from = here(place_of(p, first, channel));
  const __half *first_pivot_at = here(place_of(p, start, base + group * d.size));
  const __half *next_pivot_at = here(place_of(p, start, base + (bound < 8 ? group + 1 : group) * d.size));
  const __half *channel_pivot_at = here(place_of(p, start, base + own_group * d.size));
  __half *to = p.y + first * p.pitch + channel;
  /* Load gamma and beta, which do not depend on the preceding kernel in the stream. */
  float gamma = 1.0f, beta = 0.0f;
  if (d.cluster > 1) {
    if (thread == 0)
      arrivals_make(&totals_there, d.cluster * d.groups * (int)sizeof(float2));
    cluster_begin();
  }
  if (thread < channels) {
    read_vector<1>(p.gamma, base + thread, 1.0f, &gamma);
    read_vector<1>(p.beta, base + thread, 0.0f, &beta);
  }
  wait_for_previous();
  /* Load this thread's pixels, and the pivots, which are subtracted from the values: each group's first value in the
   * picture. */
  __half first_pivot = load_half(first_pivot_at), next_pivot = load_half(next_pivot_at),
         channel_pivot = load_half(channel_pivot_at);
  vectors<HELD> pixels;
  pixels.each(left, d.rows, [&](uint4 &held, int j) { held = load16(from + j * step); });
  /* Statistics: add up the differences between the values and their pivots, and the squares of these differences, by
   * thread, by thread block, by cluster. */
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
  if (d.cluster > 1)
    cluster_begun();
#pragma unroll 1
  for (int g = thread / 32; g < d.groups; g += blockDim.x / 32)
    tell_cluster(&totals[rank][g], &totals_there, add_group(sums, d, g), d.cluster);
  if (d.cluster > 1)
    arrivals_wait(&totals_there);
  else
    __syncthreads();
  /* Turn a channel's mean, standard deviation, gamma and beta into one factor and one shift. */
  if (thread < channels) {
    float2 total = totals[0][own_group];
#pragma unroll
    for (int i = 1; i < CLUSTER_MAX; i++)
      if (i < d.cluster)
        add(total, totals[i][own_group].x, totals[i][own_group].y);
    float2 stat = finish_group(p, __half2float(channel_pivot), total, d.inverse_count);
    factors[thread] = make_float2(gamma * stat.y, beta - stat.x * gamma * stat.y);
  }
  __syncthreads();
  /* Normalise, activate and store. */
  store_vectors<ACTIVATED>(pixels, left, d, factors + column * 8, to, to_step);
}

/* Decides how the norm's work is divided between thread blocks. Returns false if one launch cannot do the norm. The
 * caller then uses the two launches of group_norm_runs.cu. */
bool divide(const struct launch_queue *queue, const struct norm_args *args, int threads, int most_held, division *d) {
  int channels = args->c + args->c2;
  if (!norm_has_vectors(args) || args->pitch != channels || (d->slices = count_slices(args, SLICE_BYTES)) == 0)
    return false;
  d->size = channels / args->groups;
  d->groups = args->groups / d->slices;
  d->columns = channels / d->slices / 8;
  d->cluster = 1;
  d->rows = ROWS_MIN;
  while (d->rows < args->pixels && 2 * d->rows * d->columns <= threads)
    d->rows *= 2;
  auto run = [&] { return (int)blocks_for((size_t)args->pixels, (size_t)d->cluster); };
  auto held = [&] { return (int)blocks_for((size_t)run(), (size_t)d->rows); };
  while (d->cluster < CLUSTER_MAX && held() > 2 &&
         (2 * d->cluster * d->slices * args->n <= queue->sms || held() > most_held))
    d->cluster *= 2;
  d->held = held();
  d->run = run();
  d->by_columns = divide_by(d->columns);
  d->by_size = divide_by(d->size);
  d->inverse_count = 1.0f / ((float)args->pixels * (float)d->size);
  return d->held <= most_held;
}

/* Returns true if the kernel's thread blocks should start while the preceding kernel in the stream still runs. If each
 * thread has many vectors, that is slower: only some multiprocessors are free then, and two thread blocks that share
 * one of them take twice as long. */
bool comes_early(const struct launch_queue *queue, const division *d) {
  enum { HELD_EARLY = 4 };
  return queue->overlap && d->held <= HELD_EARLY;
}

template <int HELD, int THREADS = THREADS_MAX>
cudaError_t launch_slices(const struct launch_queue *queue, const struct norm_args *args, const division *d) {
  cudaLaunchAttribute attributes[2] = {};
  int count = 0;
  if (comes_early(queue, d)) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (d->cluster > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count].val.clusterDim.x = (unsigned)d->cluster;
    attributes[count].val.clusterDim.y = 1;
    attributes[count++].val.clusterDim.z = 1;
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((unsigned)d->cluster, (unsigned)d->slices, (unsigned)args->n);
  config.blockDim = dim3((unsigned)(d->columns * d->rows + 31) / 32 * 32);
  config.dynamicSmemBytes = (size_t)d->columns * (d->rows + 1) * sizeof(float4);
  config.stream = queue->stream;
  config.attrs = attributes;
  config.numAttrs = count;
  return cudaLaunchKernelEx(
      &config, args->act == ACT_SILU ? slice_kernel<HELD, true, THREADS> : slice_kernel<HELD, false, THREADS>, *args,
      *d);
}

} // namespace

cudaError_t launch_group_norm(const struct launch_queue *queue, const struct norm_args *args) {
  division d;
  if (!queue->overlap) /* a GPU that can overlap launches (compute capability 9.0) has clusters as well */
    return launch_group_norm_runs(queue, args);
  if (divide(queue, args, THREADS_MAX, HELD_MAX, &d))
    return d.held <= 2   ? launch_slices<2>(queue, args, &d)
           : d.held <= 4 ? launch_slices<4>(queue, args, &d)
           : d.held <= 8 ? launch_slices<8>(queue, args, &d)
                         : launch_slices<HELD_MAX>(queue, args, &d);
  if (divide(queue, args, WIDE_THREADS_MAX, WIDE_HELD_MAX, &d))
    return launch_slices<WIDE_HELD_MAX, WIDE_THREADS_MAX>(queue, args, &d);
  return launch_group_norm_runs(queue, args);
}
