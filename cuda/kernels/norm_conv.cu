/* A group norm and the 3x3 convolution after it in one launch, for pictures of up to 8 x 8 (ROWS.md): y = conv(act((x -
 * mean) * rstd * gamma + beta)) + bias + time + residual. A residual block's shortcut, a linear layer of another input,
 * may be added: it is one more tap, whose window is the pixel itself, as it is.
 *
 * A cluster of four thread blocks calculates some rows of a picture, for some output channels (columns). Each thread
 * block has a quarter of the input's channels. These are whole groups, so it finds their statistics by itself, in one
 * reading of the picture. It normalises the rows that its convolution windows need and multiplies them with its quarter
 * of the weights, which were loaded while the preceding kernel still ran. The four sums are then added, a quarter of
 * the results by each thread block.
 *
 *          picture                     tile of a thread block          sums
 *     +---------------+            +-------------------+
 *     |               |            | zeros             |          0: W x of channels   0 to  31 \
 *     |   all of it:  |            | rows above        |          1:                  32 to  63  } added through
 *     |   statistics  |     ->     | its own rows      |    ->    2:                  64 to  95  } shared memory
 *     |               |            | rows below        |          3:                  96 to 127 /
 *     +---------------+            +-------------------+
 *
 * y^T = W x^T: a warp calculates 16 M columns of y (the tensor cores' rows) for 8 N pixels. A thread keeps the pixels
 * it has read in registers until the statistics are known. Latencies take the time here, not arithmetic. So everything
 * that depends on sizes alone is calculated, and all constants are loaded, before the wait for the preceding kernel.
 *
 * Weights and tile lie in planes of 32 channels (the last plane may have 16), with 16 bytes between rows, so that
 * ldmatrix reads eight rows without a bank conflict. */
#include "cuda/kernels/norm_conv.h"

#include "cuda/kernels/cluster_sm90.cuh"

namespace {

enum { SLICES = 4, WARPS = 8, THREADS = 32 * WARPS, CHANNELS_MAX = 96, HELD = 13 };

struct division {
  /* number of input channels that each thread block of a cluster works on, and of those of the linear layer that is
   * added */
  int slice, more_slice;
  /* rows: how many rows of a picture one cluster calculates; blocks: number of clusters that calculate one
   * picture */
  int rows, blocks;
};

/* number of halves from one row of a plane to the next: WIDE in planes of 32 channels, NARROW in a last plane of 16 */
constexpr int WIDE = 32 + 8, NARROW = 16 + 8;

/* Layout of the tile or of the weights in shared memory, as planes of 32 channels. slice: number of channels; count:
 * number of rows (pixels, or rows of weights). place() returns an offset in halves. */
struct planes {
  int slice, count;
  __device__ __forceinline__ int place(int index, int octet) const {
    int full = slice / 32;
    return octet < 4 * full ? (octet / 4 * count + index) * WIDE + octet % 4 * 8
                            : full * count * WIDE + index * NARROW + (octet - 4 * full) * 8;
  }
};

__host__ __device__ constexpr int plane_halves(int slice, int count) {
  return slice / 32 * count * WIDE + (slice % 32 ? count * NARROW : 0);
}

/* How the threads divide a picture. Each thread has the same eight channels of several pixels. A line is a group of
 * neighbouring threads that together have all channels of the slice; different lines have different pixels. */
struct lines {
  int count, line, octet;
  bool active;
  __device__ __forceinline__ explicit lines(int slice)
      : count(THREADS / (slice / 8)), line(threadIdx.x / (slice / 8)), octet(threadIdx.x % (slice / 8)),
        active(line < count) {}
};

struct memory {
  /* for each line of threads (struct lines) and each channel: the sum of the differences between the line's values and
   * the channel's first value, and the sum of the squares of these differences */
  float2 partial[THREADS * 8];
  float2 parts[THREADS]; /* sums of the entries that several lines of threads have in `partial`: [parts][channels of the
                          * thread block] */
  float2 channels[CHANNELS_MAX], factors[CHANNELS_MAX];
  alignas(16) uint64_t results_there;
};

/* Starts to copy the pixels of the rows that this thread block calculates, of the linear layer's input. */
__device__ __forceinline__ void copy_more(const struct norm_conv_args &p, const division &d, int picture, int top,
                                          int begin, __half *to) {
  const planes place = {d.more_slice, d.rows * p.w};
  int octets = d.more_slice / 8;
  for (int i = threadIdx.x; i < place.count * octets; i += THREADS) {
    int octet = i % octets, pixel = i / octets, at = top * p.w + pixel, channel = begin + octet * 8;
    bool there = at < p.h * p.w, second = channel >= p.more.c;
    size_t row = (size_t)picture * p.h * p.w + (there ? at : 0);
    copy16(to + place.place(pixel, octet),
           second ? p.more.x2 + row * p.more.c2 + (channel - p.more.c) : p.more.x + row * p.more.c + channel, there);
  }
  copies_commit();
}

/* Returns the address of channel number `channel` in the first pixel of a picture; *pitch gets the number of halves
 * from there to the next pixel. Channels from p.c on are in the second input, x2. */
__device__ __forceinline__ const __half *find_source(const struct norm_conv_args &p, int picture, int channel,
                                                     int *pitch) {
  size_t pixels = (size_t)picture * p.h * p.w;
  bool second = channel >= p.c;
  *pitch = second ? p.c2 : p.c;
  return second ? p.x2 + pixels * p.c2 + (channel - p.c) : p.x + pixels * p.c + channel;
}

/* The pixels that a thread keeps in registers, eight channels of each: number own.line of the picture and every
 * own.count-th one after it. */
struct held {
  uint4 raw[HELD];
  int at[HELD]; /* offset, in halves, at which each pixel is stored in the tile; -1: the pixel is not in the tile */

  __device__ __forceinline__ void find_places(const struct norm_conv_args &p, const division &d, const lines &own,
                                              int top, const planes &place) {
    int x = own.line % p.w, y = own.line / p.w, right = own.count % p.w, down = own.count / p.w;
#pragma unroll
    for (int i = 0; i < HELD; i++) {
      int row = y - top + 1;
      at[i] = y < p.h && row >= 0 && row < d.rows + 2 ? place.place(row * (p.w + 2) + x + 1, own.octet) : -1;
      x += right;
      y += down;
      if (x >= p.w) {
        x -= p.w;
        y++;
      }
    }
  }

  __device__ __forceinline__ void read(const struct norm_conv_args &p, const lines &own, const __half *from,
                                       int pitch) {
#pragma unroll
    for (int i = 0; i < HELD; i++)
      if (own.line + i * own.count < p.h * p.w)
        raw[i] = *reinterpret_cast<const uint4 *>(from + (size_t)(own.line + i * own.count) * pitch);
  }

  /* Statistics: computes the difference between each value and its channel's first value. Adds these differences, and
   * their squares, to the thread's sums. */
  __device__ __forceinline__ void add_up(const struct norm_conv_args &p, const lines &own, const float pivot[8],
                                         float2 *to) const {
    float sum[8] = {}, square[8] = {};
#pragma unroll
    for (int i = 0; i < HELD; i++) {
      if (own.line + i * own.count >= p.h * p.w)
        break;
      float v[8];
      unpack8(raw[i], v);
#pragma unroll
      for (int k = 0; k < 8; k++) {
        float distance = v[k] - pivot[k];
        sum[k] += distance;
        square[k] += distance * distance;
      }
    }
#pragma unroll
    for (int k = 0; k < 8; k++)
      to[k] = make_float2(sum[k], square[k]);
  }

  __device__ __forceinline__ void normalise(const struct norm_conv_args &p, const lines &own, const float2 *factors,
                                            __half *tile) const {
    float2 factor[8];
#pragma unroll
    for (int k = 0; k < 8; k++)
      factor[k] = factors[k];
#pragma unroll
    for (int i = 0; i < HELD; i++) {
      if (own.line + i * own.count >= p.h * p.w)
        break;
      if (at[i] < 0)
        continue;
      float v[8];
      unpack8(raw[i], v);
#pragma unroll
      for (int k = 0; k < 8; k++) {
        v[k] = v[k] * factor[k].x + factor[k].y;
        v[k] = p.act == ACT_SILU ? silu(v[k]) : v[k];
      }
      store8(tile + at[i], v);
    }
  }
};

/* Turns the sums in m->partial (one for each channel and line of threads) into the factor and the shift with which the
 * channel is normalised. parts: number of threads that add up one channel's sums; part: number of this thread among
 * them, from 0; first, size: first channel, and number of channels, of the channel's group. */
__device__ __forceinline__ void find_factors(const struct norm_conv_args &p, const division &d, const lines &own,
                                             int part, int parts, int channel, int first, int size, float gamma,
                                             float beta, float pivot, memory *m) {
  /* Each line of threads has stored a sum for each channel. Add up these sums channel by channel; `parts` threads work
   * on one channel, each on every parts-th line. */
  float pixels = (float)(p.h * p.w);
  float2 total = make_float2(0, 0);
  if (part < parts) {
#pragma unroll 4
    for (int i = part; i < own.count; i += parts) {
      float2 add = m->partial[i * d.slice + channel];
      total.x += add.x;
      total.y += add.y;
    }
    m->parts[threadIdx.x] = total;
  }
  __syncthreads();
  /* Calculate the mean of each channel, and the sum of the squares of the differences between its values and that
   * mean. */
  if (threadIdx.x < d.slice) {
#pragma unroll 4
    for (int i = 1; i < parts; i++) {
      total.x += m->parts[i * d.slice + channel].x;
      total.y += m->parts[i * d.slice + channel].y;
    }
    float distance = __fdividef(total.x, pixels);
    m->channels[channel] = make_float2(pivot + distance, total.y - total.x * distance);
  }
  __syncthreads();
  /* Calculate mean and variance of the group, then the channel's factor and shift. */
  if (threadIdx.x < d.slice) {
    float mean = 0, square = 0;
#pragma unroll 4
    for (int i = 0; i < size; i++)
      mean += m->channels[first + i].x;
    mean = __fdividef(mean, (float)size);
#pragma unroll 4
    for (int i = 0; i < size; i++) {
      float2 other = m->channels[first + i];
      square += other.y + pixels * (other.x - mean) * (other.x - mean);
    }
    float scale = gamma * rsqrtf(__fdividef(fmaxf(square, 0.0f), pixels * (float)size) + p.eps);
    m->factors[channel] = make_float2(scale, beta - mean * scale);
  }
  __syncthreads();
}

/* Writes zeros to those pixels of the tile that lie outside the picture. */
__device__ __forceinline__ void clear_borders(const struct norm_conv_args &p, const division &d, const lines &own,
                                              int top, const planes &place, __half *tile) {
  int wide = p.w + 2, x = own.line % wide, y = own.line / wide, right = own.count % wide, down = own.count / wide;
  for (int pixel = own.line; pixel < place.count; pixel += own.count) {
    int row = top + y - 1;
    if (x == 0 || x == wide - 1 || row < 0 || row >= p.h)
      *reinterpret_cast<uint4 *>(tile + place.place(pixel, own.octet)) = make_uint4(0, 0, 0, 0);
    x += right;
    y += down;
    if (x >= wide) {
      x -= wide;
      y++;
    }
  }
}

/* Starts to copy the weights of 16 M columns from number `first` on, for `slice` channels from number `channel` on. */
template <int M, int TAPS>
__device__ __forceinline__ void copy_weights(const __half *weight, int channels, int first, int slice, int channel,
                                             __half *to) {
  const planes place = {slice, TAPS * 16 * M};
  int octets = slice / 8;
  for (int i = threadIdx.x; i < TAPS * 16 * M * octets; i += THREADS) {
    int octet = i % octets, tap = i / octets % TAPS, column = i / octets / TAPS;
    copy16(to + place.place(tap * 16 * M + column, octet),
           weight + ((size_t)(first + column) * TAPS + tap) * channels + channel + octet * 8, true);
  }
  copies_commit();
}

/* Adds the products of the tile with the weights of one tap (place of the window), for 16 STEPS channels of one plane
 * (32 or 16 channels). */
template <int M, int N, int STEPS>
__device__ __forceinline__ void multiply(float (&sum)[M][N][4], const __half *weights, const __half *tile,
                                         const int (&at)[N], int offset) {
  constexpr int PITCH = STEPS == 2 ? WIDE : NARROW;
  uint32_t a[M][STEPS][4];
#pragma unroll
  for (int m = 0; m < M; m++)
#pragma unroll
    for (int s = 0; s < STEPS; s++)
      load_matrices(a[m][s], weights + 16 * m * PITCH + 16 * s);
#pragma unroll
  for (int i = 0; i < N; i++) {
    uint32_t x[4];
    load_matrices(x, tile + (at[i] + offset) * PITCH);
#pragma unroll
    for (int s = 0; s < STEPS; s++)
#pragma unroll
      for (int m = 0; m < M; m++) {
        const uint32_t b[2] = {x[2 * s], x[2 * s + 1]};
        multiply_add(sum[m][i], a[m][s], b);
      }
  }
}

/* Adds to `sum` the products of the tile's inputs and the weights, for all taps of the window (TAPS, 9 or 1) and all
 * `slice` channels of the tile. Shared memory holds them in planes of 32 channels; the last plane may have 16. */
template <int TAPS, int M, int N>
__device__ __forceinline__ void multiply_planes(float (&sum)[M][N][4], int slice, int pixels, const __half *weights,
                                                const __half *tile, const int (&at)[N], int wide) {
  int full = slice / 32, lane = threadIdx.x % 32;
#pragma unroll 1
  for (int plane = 0; plane < full; plane++) {
    const __half *w = weights + (plane * TAPS * 16 * M + lane % 16) * WIDE + lane / 16 * 8;
    const __half *x = tile + plane * pixels * WIDE + lane / 8 * 8;
#pragma unroll
    for (int tap = 0; tap < TAPS; tap++)
      multiply<M, N, 2>(sum, w + tap * 16 * M * WIDE, x, at, tap / 3 * wide + tap % 3);
  }
  if (slice % 32) {
    const __half *w = weights + full * TAPS * 16 * M * WIDE + lane % 16 * NARROW + lane / 16 * 8;
    const __half *x = tile + full * pixels * WIDE + lane / 8 % 2 * 8;
#pragma unroll
    for (int tap = 0; tap < TAPS; tap++)
      multiply<M, N, 1>(sum, w + tap * 16 * M * NARROW, x, at, tap / 3 * wide + tap % 3);
  }
}

/* The results that a lane finishes. The cluster's four thread blocks divide its results between them, so a lane
 * finishes one of every four that its warp calculates: those in every second pixel and in every second group of 8
 * columns. */
template <int M, int N> struct outcome {
  float value[M][N];
  size_t to[N];
  bool there[N];

  __device__ __forceinline__ void find_places(const struct norm_conv_args &p, int picture, int top, int pixels,
                                              int rank, int column) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < N; i++) {
      int pixel = (i * WARPS + warp) * 8 + lane % 4 * 2 + rank % 2, y = top + pixel / p.w;
      there[i] = pixel < pixels && y < p.h;
      to[i] = (((size_t)picture * p.h + y) * p.w + pixel % p.w) * p.columns + column;
    }
  }

  /* Sets this thread's results to bias plus time row (a vector from the time embedding) plus residual. The
   * convolution's sums are added to them later. */
  __device__ __forceinline__ void begin(const struct norm_conv_args &p, const float (&bias)[M], int column) {
#pragma unroll
    for (int u = 0; u < M; u++) {
      float time = p.time ? __half2float(p.time[column + 16 * u]) : 0.0f;
#pragma unroll
      for (int i = 0; i < N; i++) {
        value[u][i] = bias[u] + time;
        if (p.residual && there[i])
          value[u][i] += __half2float(p.residual[to[i] + 16 * u]);
      }
    }
  }

  /* Adds the sums that the four thread blocks of the cluster have sent, and stores the results. */
  __device__ __forceinline__ void finish(const struct norm_conv_args &p, const float *results) {
#pragma unroll
    for (int u = 0; u < M; u++)
#pragma unroll
      for (int i = 0; i < N; i++) {
#pragma unroll
        for (int of = 0; of < SLICES; of++)
          value[u][i] += results[(of * M * N + u * N + i) * THREADS + threadIdx.x];
        if (there[i])
          p.y[to[i] + 16 * u] = __float2half_rn(value[u][i]);
      }
  }
};

template <int M, int N>
__global__ void __launch_bounds__(THREADS, 1)
    norm_conv_kernel(const __grid_constant__ struct norm_conv_args p, const __grid_constant__ division d) {
  extern __shared__ uint4 dynamic_memory[];
  memory *m = reinterpret_cast<memory *>(dynamic_memory);
  /* sums that the cluster's thread blocks have sent, [thread block of the cluster][M N][thread] */
  float *results = reinterpret_cast<float *>(m + 1);
  __half *weights = reinterpret_cast<__half *>(results + SLICES * M * N * THREADS);
  __half *tile = weights + plane_halves(d.slice, 9 * 16 * M);
  __half *more_weights = tile + plane_halves(d.slice, (d.rows + 2) * (p.w + 2));
  __half *more_tile = more_weights + plane_halves(d.more_slice, 16 * M);
  int rank = blockIdx.x % SLICES, block = blockIdx.x / SLICES, picture = block / d.blocks;
  int top = block % d.blocks * d.rows, first = blockIdx.y * 16 * M, begin = rank * d.slice, pitch, pixel_pitch;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, wide = p.w + 2;
  const planes place = {d.slice, (d.rows + 2) * wide};
  const lines own(d.slice);
  /* Start to load the weights, and calculate all that does not depend on the preceding kernel in the stream. */
  if (threadIdx.x == 0)
    arrivals_make(&m->results_there, SLICES * M * N * THREADS * (int)sizeof(float));
  cluster_begin();
  copy_weights<M, 9>(p.weight, p.c + p.c2, first, d.slice, begin, weights);
  if (d.more_slice)
    copy_weights<M, 1>(p.more.weight, p.more.c + p.more.c2, first, d.more_slice, rank * d.more_slice, more_weights);
  /* For the statistics: the channel that this thread adds up, and the channel's group. */
  int parts = THREADS / d.slice, part = threadIdx.x / d.slice, channel = threadIdx.x - part * d.slice;
  int size = (p.c + p.c2) / p.groups, group = channel / size * size;
  const __half *single = find_source(p, picture, begin + channel, &pixel_pitch);
  const __half *from = find_source(p, picture, begin + own.octet * 8, &pitch);
  float gamma = p.gamma ? load_single(p.gamma + begin + channel) : 1.0f;
  float beta = p.beta ? load_single(p.beta + begin + channel) : 0.0f;
  struct held held;
  held.find_places(p, d, own, top, place);
  if (own.active)
    clear_borders(p, d, own, top, place, tile);
  /* Compute which pixels of the tile this lane reads as operands of the tensor cores' products. */
  int at[N], more_at[N], pixels = d.rows * p.w;
#pragma unroll
  for (int i = 0; i < N; i++) {
    int pixel = (i * WARPS + warp) * 8 + lane % 8;
    pixel = pixel < pixels ? pixel : pixels - 1;
    at[i] = pixel / p.w * wide + pixel % p.w;
    more_at[i] = pixel;
  }
  int column = first + rank / 2 * 8 + lane / 4;
  float bias[M];
  outcome<M, N> result;
  result.find_places(p, picture, top, pixels, rank, column);
#pragma unroll
  for (int u = 0; u < M; u++)
    bias[u] = (p.bias ? load_single(p.bias + column + 16 * u) : 0.0f) +
              (p.more.bias ? load_single(p.more.bias + column + 16 * u) : 0.0f);
  wait_for_previous();
  /* Load the picture and the residual. */
  float pivot = __half2float(*single), pivots[8];
  if (own.active) {
    load8(from, pivots);
    held.read(p, own, from, pitch);
  }
  result.begin(p, bias, column);
  if (d.more_slice)
    copy_more(p, d, picture, top, rank * d.more_slice, more_tile);
  if (own.active)
    /* Statistics. */
    held.add_up(p, own, pivots, &m->partial[own.line * d.slice + own.octet * 8]);
  __syncthreads();
  find_factors(p, d, own, part, parts, channel, group, size, gamma, beta, pivot, m);
  if (own.active)
    /* Normalise the pixels that are in registers, and store them in the tile. */
    held.normalise(p, own, m->factors + own.octet * 8, tile);
  copies_wait<0>();
  __syncthreads();
  /* Convolve this thread block's quarter of the channels. */
  float sum[M][N][4] = {};
  multiply_planes<9>(sum, d.slice, place.count, weights, tile, at, wide);
  multiply_planes<1>(sum, d.more_slice, pixels, more_weights, more_tile, more_at, wide);
  /* Exchange the sums within the cluster, add them up, and store. */
  cluster_begun();
#pragma unroll
  for (int u = 0; u < M * N; u++)
#pragma unroll
    for (int of = 0; of < SLICES; of++)
      store_remote(results + (rank * M * N + u) * THREADS + threadIdx.x, of, &m->results_there,
                   __float_as_uint(sum[u / N][u % N][of]));
  arrivals_wait(&m->results_there);
  result.finish(p, results);
}

/* --- the choice of a compiled kernel and of the division of work --- */

size_t count_bytes(const struct norm_conv_args *a, const division *d, int m, int n) {
  size_t halves = (size_t)plane_halves(d->slice, 9 * 16 * m) +
                  (size_t)plane_halves(d->slice, (d->rows + 2) * (a->w + 2)) +
                  (size_t)plane_halves(d->more_slice, 16 * m) + (size_t)plane_halves(d->more_slice, d->rows * a->w);
  return sizeof(memory) + (size_t)SLICES * m * n * THREADS * sizeof(float) + halves * sizeof(__half);
}

template <int M, int N>
cudaError_t launch_shape(const struct launch_queue *queue, const struct norm_conv_args *a, const division *d) {
  dim3 grid((unsigned)(SLICES * d->blocks * a->n), (unsigned)(a->columns / (16 * M)));
  return launch_cluster(queue, norm_conv_kernel<M, N>, grid, THREADS, count_bytes(a, d, M, N), SLICES, *a, *d);
}

const struct kind {
  int m, n; /* size of a warp's part of the result: 16 m columns (output channels), 8 n pixels */
  cudaError_t (*launch)(const struct launch_queue *, const struct norm_conv_args *, const division *);
} kinds[] = {
    {1, 1, launch_shape<1, 1>}, {1, 2, launch_shape<1, 2>}, {2, 1, launch_shape<2, 1>}, {2, 2, launch_shape<2, 2>}};

enum { SHARED_MAX = 227 << 10, KINDS = sizeof kinds / sizeof kinds[0] };

/* Decides how the work is divided between thread blocks. Returns false if kernels of this kind cannot do the
 * convolution. */
bool divide(const struct norm_conv_args *a, const struct kind *kind, division *d) {
  d->slice = (a->c + a->c2) / SLICES;
  d->more_slice = (a->more.c + a->more.c2) / SLICES;
  d->rows = 64 * kind->n / a->w < a->h ? 64 * kind->n / a->w : a->h;
  if (d->rows < 1 || a->columns % (16 * kind->m))
    return false;
  d->blocks = (a->h + d->rows - 1) / d->rows;
  return count_bytes(a, d, kind->m, kind->n) <= SHARED_MAX;
}

/* Estimates how many clock cycles the convolution takes if the work is divided as *d says. The estimate counts the
 * reads of shared memory for the products, and adds a constant for all other work. */
double model_time(const struct launch_queue *queue, const struct norm_conv_args *a, const struct kind *kind,
                  const division *d) {
  double blocks = (double)SLICES * d->blocks * a->n * (a->columns / (16.0 * kind->m));
  double waves = (double)(long)((blocks + queue->sms - 1) / queue->sms);
  double products = WARPS * ((9 * d->slice + d->more_slice) / 32.0) * (kind->m + kind->n / 2.0) * 1024 / 128;
  return waves * (8000 + products);
}

const struct kind *choose(const struct launch_queue *queue, const struct norm_conv_args *a, division *best) {
  const struct kind *chosen = nullptr;
  double least = 0;
  for (int i = 0; i < KINDS; i++) {
    division d;
    if (!divide(a, &kinds[i], &d))
      continue;
    double time = model_time(queue, a, &kinds[i], &d);
    if (chosen && time >= least)
      continue;
    chosen = &kinds[i];
    least = time;
    *best = d;
  }
  return chosen;
}

bool aligned(const void *pointer) {
  return (uintptr_t)pointer % 16 == 0;
}

} // namespace

/* Returns true for pictures of up to 64 pixels, such as 8 x 8. At 16 x 16, separate launches for norm and convolution
 * are as fast. */
bool norm_conv_supported(const struct launch_queue *queue, const struct norm_conv_args *a) {
  const int pixels_most = 64;
  int channels = a->c + a->c2;
  division d;
  return queue->overlap && channels % (16 * SLICES) == 0 && channels / SLICES <= CHANNELS_MAX && a->c % 8 == 0 &&
         a->c2 % 8 == 0 && a->groups % SLICES == 0 && channels % a->groups == 0 &&
         (a->act == ACT_NONE || a->act == ACT_SILU) && a->h * a->w <= pixels_most &&
         a->h * a->w <= HELD * (THREADS / (channels / SLICES / 8)) && aligned(a->x) && aligned(a->x2) &&
         aligned(a->weight) && (a->more.c + a->more.c2) % (16 * SLICES) == 0 && a->more.c % 8 == 0 &&
         a->more.c2 % 8 == 0 && aligned(a->more.x) && aligned(a->more.x2) && aligned(a->more.weight) &&
         choose(queue, a, &d);
}

cudaError_t launch_norm_conv(const struct launch_queue *queue, const struct norm_conv_args *a) {
  if (!norm_conv_supported(queue, a))
    return cudaErrorNotSupported;
  division d;
  const struct kind *kind = choose(queue, a, &d);
  return kind->launch(queue, a, &d);
}
