/* Group norm: y = act((x - mean) * rstd * gamma + beta), where mean and rstd = 1 / sqrt(variance + eps) are those of a
 * group of channels over all pixels of a picture. The result, of one input or two concatenated ones, is what a
 * convolution or a linear layer reads. NORM.md says which kernel runs when, and what was tried.
 *
 * One launch does it where a cluster of thread blocks can keep a slice of the channels in registers; otherwise the two
 * launches of group_norm_runs.cu do. Sums are taken in a fixed order, so results are the same to the bit every time.
 * They are sums of distances to each group's pivot, its first value in the picture, so that a large mean costs no
 * precision.
 *
 * Limits: an element is read once and written once. At the usual sizes (0.2 to 8 MB, in the L2 cache) that takes 0.1 to
 * 2 us and a launch 2 us, so the time goes to waits that follow each other: for the preceding kernel, for the input,
 * for sums, for gamma and beta. Loads and calculations are therefore made as early as possible. */
#include "cuda/kernels/cluster_sm90.cuh"
#include "cuda/kernels/norm.cuh"

namespace {

using namespace norms;

/* SiLU of two values with one reciprocal: special functions take longer than all the rest of a norm. The exponents are
 * bounded, so that the product of the two denominators is finite. */
__device__ __forceinline__ void silu_two(float &x, float &y) {
  float of_x, of_y, inverse;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(of_x) : "f"(fminf(-1.44269504f * x, 60.0f)));
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(of_y) : "f"(fminf(-1.44269504f * y, 60.0f)));
  of_x += 1.0f;
  of_y += 1.0f;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(of_x * of_y));
  x *= inverse * of_y;
  y *= inverse * of_x;
}

/* --- the single launch ---
 *
 * A slice is a few whole groups, in whole vectors of eight channels. The thread blocks of a cluster share its pixels,
 * keep them in registers and exchange their sums through shared memory:
 *
 *            column 0    column 1      ...       threads lie in rows over the slice's columns, so that each
 *     row 0  pixel 0     pixel 0                 thread always has the same eight channels;
 *     row 1  pixel 1     pixel 1                 its vectors are `rows` pixels apart
 *     ...
 *
 * The code runs once and comes from memory too, so it is short: the host does the divisions, and each thread calculates
 * the addresses of its vectors once. */

enum { CLUSTER_MAX = 8, SLICE_GROUPS = 32, SLICE_CHANNELS = 256, ROWS_MIN = 8 };
/* THREADS_MAX: threads of a thread block. HELD_MAX: vectors that a thread keeps in registers. The wide limits are used
 * where a thread would otherwise have to keep more vectors. */
enum { THREADS_MAX = 320, HELD_MAX = 16, WIDE_THREADS_MAX = 640, WIDE_HELD_MAX = 10 };
/* Least number of bytes that a slice of the channels has in each pixel: a sector of memory, or two sectors without
 * clusters; fewer were not measured. */
enum { SLICE_BYTES = 32, SLICE_BYTES_APART = 64 };

/* Divides numbers of threads or of channels by multiplying. */
struct divisor {
  unsigned factor;
};

__host__ __device__ inline divisor divide_by(int by) {
  return {65535u / (unsigned)by + 1};
}

__device__ __forceinline__ int quotient(int of, divisor by) {
  return (int)((unsigned)of * by.factor >> 16);
}

struct division {
  int slices, cluster;
  int columns, rows; /* vectors of 8 channels in a slice; threads that share each of these columns of vectors */
  int held;          /* largest number of vectors that a thread keeps */
  int size, groups;  /* channels of a group; groups of a slice */
  int run;           /* number of pixels that a thread block normalises */
  divisor by_columns, by_size;
  float inverse_count; /* 1 / number of values in a group */
};

/* The vectors of a thread: `held` of them, `rows` pixels apart. */
template <int HELD> struct vectors {
  uint4 held[HELD];

  /* Calls use(vector, its number) for each vector that exists. left: pixels from the thread's first one to the last. */
  template <typename Use> __device__ __forceinline__ void each(int left, int rows, Use use) {
#pragma unroll
    for (int j = 0; j < HELD; j++)
      if (j * rows < left)
        use(held[j], j);
  }
};

/* Returns a thread block's sums of one group from those of its threads, [columns][rows + 1]. A float4 has the sums for
 * the group in which the thread's vector begins, then those for the next group. One warp calls it; all its lanes get
 * the result. */
__device__ __forceinline__ float2 add_group(const float4 *sums, const division &d, int group) {
  float2 total = make_float2(0, 0);
  int lane = threadIdx.x % 32, begin = group * d.size / 8, end = ((group + 1) * d.size + 7) / 8;
#pragma unroll 1
  for (int column = begin; column < end; column++) {
    bool first = column * 8 >= group * d.size;
#pragma unroll 1
    for (int row = lane; row < d.rows; row += 32) {
      float4 part = sums[column * (d.rows + 1) + row];
      add(total, first ? part.x : part.z, first ? part.y : part.w);
    }
  }
  return add_lanes(total, 32);
}

/* Sends a thread block's sums to every thread block of the cluster, where a barrier counts them. All lanes of a warp
 * call it. */
__device__ __forceinline__ void tell_cluster(float2 *slot, uint64_t *arrivals, float2 total, int cluster) {
  int lane = threadIdx.x % 32;
  if (cluster == 1 && lane == 0)
    *slot = total;
  if (cluster > 1 && lane < cluster)
    store_remote(slot, lane, arrivals, total);
}

/* Returns the address of a channel of a pixel. */
__device__ __forceinline__ const __half *place_of(const struct norm_args &p, size_t pixel, int channel) {
  bool second = channel >= p.c;
  const __half *x = static_cast<const __half *>(second ? p.x2 : p.x);
  return x + pixel * (second ? p.c2 : p.c) + (second ? channel - p.c : channel);
}

/* Makes the compiler calculate an address at this point, ahead of wait_for_previous. */
__device__ __forceinline__ const __half *here(const __half *address) {
  asm volatile("" : "+l"(address));
  return address;
}

__device__ __forceinline__ uint4 load16(const __half *from) {
  uint4 v;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from));
  return v;
}

__device__ __forceinline__ __half load_half(const __half *from) {
  unsigned short v;
  asm volatile("ld.global.u16 %0, [%1];" : "=h"(v) : "l"(from));
  return __ushort_as_half(v);
}

/* Stores by one instruction; the compiler would split it. */
__device__ __forceinline__ void store16(__half *to, uint4 v) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}

/* Kernels whose threads hold the most vectors run two thread blocks on a multiprocessor, because 32 clusters of four
 * would not fit the chip with one. */
template <int HELD, bool ACTIVATED, int THREADS>
__global__ void __launch_bounds__(THREADS, HELD == HELD_MAX ? 2 : 1)
    slice_kernel(const __grid_constant__ struct norm_args p, const __grid_constant__ division d) {
  extern __shared__ float4 sums[]; /* [columns][rows + 1] */
  __shared__ float2 totals[CLUSTER_MAX][SLICE_GROUPS];
  __shared__ uint64_t totals_there;
  __shared__ float2 factors[SLICE_CHANNELS]; /* scale and shift of a channel */
  /* Divide: this thread's column, groups, pixels and addresses. */
  int thread = threadIdx.x, rank = blockIdx.x, channels = d.columns * 8, base = blockIdx.y * channels;
  int row = quotient(thread, d.by_columns), column = thread - row * d.columns;
  int group = quotient(column * 8, d.by_size), own_group = quotient(min(thread, channels - 1), d.by_size);
  int bound = (group + 1) * d.size - column * 8; /* first channel of the vector that belongs to the second group */
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
  /* Load the pivots (the first value of each group, from which distances are measured) and this thread's pixels. */
  __half first_pivot = load_half(first_pivot_at), next_pivot = load_half(next_pivot_at),
         channel_pivot = load_half(channel_pivot_at);
  vectors<HELD> pixels;
  pixels.each(left, d.rows, [&](uint4 &held, int j) { held = load16(from + j * step); });
  /* Statistics: sums of the distances to the pivots and of their squares, by thread, by thread block, by cluster. */
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
  /* Turn a channel's statistics, gamma and beta into one factor and one shift. */
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
  float2 factor[8];
#pragma unroll
  for (int i = 0; i < 8; i++)
    factor[i] = factors[column * 8 + i];
  pixels.each(left, d.rows, [&](const uint4 &held, int j) {
    float v[8];
    unpack8(held, v);
#pragma unroll
    for (int i = 0; i < 8; i++) {
      v[i] = v[i] * factor[i].x + factor[i].y;
      if (ACTIVATED && i % 2)
        silu_two(v[i - 1], v[i]);
    }
    store16(to + j * to_step, make_uint4(pack2(v[0], v[1]), pack2(v[2], v[3]), pack2(v[4], v[5]), pack2(v[6], v[7])));
  });
}

/* True if every vector of a slice lies in at most two groups. */
bool vectors_fit(int columns, int size) {
  for (int column = 0; column < columns; column++)
    if ((column * 8 + 7) / size > column * 8 / size + 1)
      return false;
  return true;
}

/* Returns into how many slices of whole groups the channels are divided: the most with which each slice has at least
 * least_bytes in a pixel, else the fewest that are possible; 0: no division is possible. */
int count_slices(const struct norm_args *args, int least_bytes) {
  int channels = args->c + args->c2, size = channels / args->groups, least = 0;
  for (int slices = 1; slices <= args->groups; slices++) {
    int width = channels / slices;
    if (args->groups % slices || width % 8 || width > SLICE_CHANNELS || width / size > SLICE_GROUPS ||
        !vectors_fit(width / 8, size))
      continue;
    if (!least || width * (int)sizeof(__half) >= least_bytes)
      least = slices;
  }
  return least;
}

/* Divides the work between thread blocks. Returns false if two launches (group_norm_runs.cu) must do it. */
bool divide(const struct launch_queue *queue, const struct norm_args *args, int threads, int most_held, division *d) {
  int channels = args->c + args->c2, least_bytes = queue->overlap ? SLICE_BYTES : SLICE_BYTES_APART;
  if (!norm_has_vectors(args) || args->pitch != channels || (d->slices = count_slices(args, least_bytes)) == 0)
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
  int most = queue->overlap ? CLUSTER_MAX : 1; /* clusters exist wherever overlap does */
  while (d->cluster < most && held() > 2 && (2 * d->cluster * d->slices * args->n <= queue->sms || held() > most_held))
    d->cluster *= 2;
  d->held = held();
  d->run = run();
  d->by_columns = divide_by(d->columns);
  d->by_size = divide_by(d->size);
  d->inverse_count = 1.0f / ((float)args->pixels * (float)d->size);
  return d->held <= most_held;
}

/* True if thread blocks may become resident while the preceding kernel in the stream still runs. With many vectors that
 * would be slower: two thread blocks would share each of the multiprocessors that become free first, and take twice as
 * long. */
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
  if (divide(queue, args, THREADS_MAX, HELD_MAX, &d))
    return d.held <= 2   ? launch_slices<2>(queue, args, &d)
           : d.held <= 4 ? launch_slices<4>(queue, args, &d)
           : d.held <= 8 ? launch_slices<8>(queue, args, &d)
                         : launch_slices<HELD_MAX>(queue, args, &d);
  if (queue->overlap && divide(queue, args, WIDE_THREADS_MAX, WIDE_HELD_MAX, &d))
    return launch_slices<WIDE_HELD_MAX, WIDE_THREADS_MAX>(queue, args, &d);
  return launch_group_norm_runs(queue, args);
}
