/* Group norm: y = act((x - mean) * rstd * gamma + beta), where mean and rstd = 1 / sqrt(variance + eps) are those of a
 * group of channels over all pixels of a picture. The input is one tensor, or two concatenated ones; a convolution or a
 * linear layer reads the result. NORM.md says which kernel runs when, and what was tried.
 *
 * One launch does it where a cluster of thread blocks can keep a slice of the channels in registers. Otherwise there
 * are two launches, those of group_norm_runs.cu. Sums are taken in a fixed order, so results are the same to the bit
 * every time. They are sums of differences from each group's pivot (its first value in the picture), so that a large
 * mean costs no precision.
 *
 * Limits: an element is read once and written once. At the usual sizes (0.2 to 8 MB, in the L2 cache) that takes 0.1 to
 * 2 us, and a launch takes 2 us. Most of the time is spent waiting: for the preceding kernel, then for the input, for
 * sums, for gamma and beta. Loads and calculations are therefore made as early as possible. */
#include "cuda/kernels/cluster_sm90.cuh"
#include "cuda/kernels/norm.cuh"

namespace {

using namespace norms;

/* Applies SiLU to two values with one reciprocal, because special functions take longer than all the rest of a norm.
 * The exponents are bounded, so that the product of the two denominators stays finite. */
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

enum { CLUSTER_MAX = 8, SLICE_GROUPS = 32, SLICE_CHANNELS = 256, ROWS_MIN = 8 };
/* THREADS_MAX: largest number of threads of a thread block. HELD_MAX: largest number of vectors that a thread keeps in
 * registers. The limits WIDE_ are used where a thread would otherwise have to keep more vectors than HELD_MAX. */
enum { THREADS_MAX = 320, HELD_MAX = 16, WIDE_THREADS_MAX = 640, WIDE_HELD_MAX = 10 };
/* Least width of a slice of the channels, in bytes of a pixel: a sector of memory, or two sectors on GPUs without
 * clusters. Smaller slices were not measured. */
enum { SLICE_BYTES = 32, SLICE_BYTES_APART = 64 };

/* A divisor that the host has prepared, so that the kernel divides numbers of threads and channels by a multiplication
 * and a shift. */
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
  /* columns: number of vectors (8 channels of a pixel each) side by side in a slice of the channels; rows: number of
   * threads that work on the same column of vectors, each on other pixels */
  int columns, rows;
  int held;         /* largest number of vectors (8 channels of a pixel each) that any thread keeps in registers */
  int size, groups; /* size: number of channels in a group; groups: number of groups in a slice of the channels */
  int run;          /* number of consecutive pixels of the picture that a thread block has */
  divisor by_columns, by_size;
  float inverse_count; /* 1 / number of values in a group */
};

/* The vectors (8 channels of a pixel each) that a thread keeps in registers. They are `rows` pixels apart. */
template <int HELD> struct vectors {
  uint4 held[HELD];

  /* Calls use(vector, its index) for each of the thread's vectors that exists. left: number of pixels from the thread's
   * first one to the end of the thread block's pixels. */
  template <typename Use> __device__ __forceinline__ void each(int left, int rows, Use use) {
#pragma unroll
    for (int j = 0; j < HELD; j++)
      if (j * rows < left)
        use(held[j], j);
  }
};

/* Returns two sums over all values that a thread block has of one group: of their differences from the pivot (the
 * group's first value), and of the squares of these differences. sums[columns][rows + 1] has the threads' own sums: x
 * and y of a float4 are for the group in which the thread's vector begins, z and w for the next group. All lanes of one
 * warp call it and get the result. */
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

/* Sends a thread block's sums to every thread block of the cluster, itself included, where a barrier counts the bytes
 * that have arrived. All lanes of one warp call it. */
__device__ __forceinline__ void tell_cluster(float2 *slot, uint64_t *arrivals, float2 total, int cluster) {
  int lane = threadIdx.x % 32;
  if (cluster == 1 && lane == 0)
    *slot = total;
  if (cluster > 1 && lane < cluster)
    store_remote(slot, lane, arrivals, total);
}

/* Returns the address of one channel of one pixel. Channels from p.c on are in the second input, x2. */
__device__ __forceinline__ const __half *place_of(const struct norm_args &p, size_t pixel, int channel) {
  bool second = channel >= p.c;
  const __half *x = static_cast<const __half *>(second ? p.x2 : p.x);
  return x + pixel * (second ? p.c2 : p.c) + (second ? channel - p.c : channel);
}

/* Returns the address unchanged, but makes the compiler calculate it at this point of the code, ahead of
 * wait_for_previous. */
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

/* Stores 16 bytes by one instruction; the compiler would split a plain store. */
__device__ __forceinline__ void store16(__half *to, uint4 v) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
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

/* Returns true if every vector of 8 channels in a slice belongs to at most two groups of the norm. columns: number
 * of vectors in a slice; size: number of channels in a group. */
bool vectors_fit(int columns, int size) {
  for (int column = 0; column < columns; column++)
    if ((column * 8 + 7) / size > column * 8 / size + 1)
      return false;
  return true;
}

/* Returns the number of slices, each of whole groups, into which the channels are divided. It is the largest possible
 * number with which a slice has at least least_bytes bytes of each pixel; if there is none, the smallest possible
 * number. 0: the channels cannot be divided in this way. */
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

/* Decides how the norm's work is divided between thread blocks. Returns false if one launch cannot do the norm. The
 * caller then uses the two launches of group_norm_runs.cu. */
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
  /* a GPU that can overlap launches (compute capability 9.0) has clusters as well */
  int most = queue->overlap ? CLUSTER_MAX : 1;
  while (d->cluster < most && held() > 2 && (2 * d->cluster * d->slices * args->n <= queue->sms || held() > most_held))
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
  if (divide(queue, args, THREADS_MAX, HELD_MAX, &d))
    return d.held <= 2   ? launch_slices<2>(queue, args, &d)
           : d.held <= 4 ? launch_slices<4>(queue, args, &d)
           : d.held <= 8 ? launch_slices<8>(queue, args, &d)
                         : launch_slices<HELD_MAX>(queue, args, &d);
  if (queue->overlap && divide(queue, args, WIDE_THREADS_MAX, WIDE_HELD_MAX, &d))
    return launch_slices<WIDE_HELD_MAX, WIDE_THREADS_MAX>(queue, args, &d);
  return launch_group_norm_runs(queue, args);
}
