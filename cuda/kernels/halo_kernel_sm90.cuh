/* What halo_sm90.cu's warpgroups do with a tile: products, epilogue and store. */
#ifndef CUDA_KERNELS_HALO_KERNEL_SM90_CUH
#define CUDA_KERNELS_HALO_KERNEL_SM90_CUH

#include "cuda/kernels/halo_shape_sm90.cuh"

namespace halo_sm90 {

/* The warpgroups use named barriers BARRIER_GROUP + i, where i is the warpgroup's number. */
enum { BARRIER_GROUP = 1 };

/* Returns wgmma's descriptor of an operand in shared memory whose rows are pixels of PIXEL_BYTES bytes, in groups of 8.
 * distance: number of bytes from one group to the next. further: number of bytes from the pixels of one tap of the
 * window to those of the next. It is used only for pixels of 16 bytes, which are not swizzled, and of which each
 * product takes two taps. */
template <class S> __device__ __forceinline__ uint64_t describe(uint32_t address, int distance, int further) {
  constexpr uint32_t SWIZZLE = S::PIXEL_BYTES == 128  ? 1u << 30
                               : S::PIXEL_BYTES == 64 ? 2u << 30
                               : S::PIXEL_BYTES == 32 ? 3u << 30
                                                      : 0;
  return (uint64_t)(SWIZZLE | (uint32_t)distance >> 4) << 32 |
         ((uint32_t)further >> 4 << 16 | (address & 0x3ffff) >> 4);
}

template <class S> __device__ __forceinline__ uint64_t describe_weights(const memory_map<S> &m, int tap) {
  return describe<S>(m.weights(tap), 8 * S::PIXEL_BYTES, S::WEIGHT_BYTES);
}

/* Returns the position of an input pixel, in bytes from the beginning of a tile in shared memory. It is the pixel that
 * tap number `tap` of the window reads for the tile's first output pixel. */
template <class S> __device__ __forceinline__ int tap_offset(const params &p, const place &at, int tap) {
  int dy = tap / 3, dx = tap % 3;
  if (S::STRIDE == 2)
    return (dy % 2 * 2 + dx % 2) * S::PLANE_BYTES + (dy / 2 * S::BORDERED + dx / 2) * S::PIXEL_BYTES;
  int row = p.doubled ? (at.below + dy + 1) >> 1 : dy, column = p.doubled ? (at.right + dx + 1) >> 1 : dx;
  return (row * S::BORDERED + column) * S::PIXEL_BYTES;
}

/* Returns the number of bytes from the pixels that a tap (place of the convolution window) reads to those of the next
 * tap. If taps are taken in pairs, the last one is paired with a tap of zero weights, for which any pixels will do; so
 * for the last tap the result is 0. */
template <class S> __device__ __forceinline__ int tap_distance(const params &p, const place &at, int tap) {
  return tap + 1 < S::PLACES ? tap_offset<S>(p, at, tap + 1) - tap_offset<S>(p, at, tap) : 0;
}

/* A warpgroup's position in its sequence of tiles: number of the tile, and the stage (buffer in shared memory) and
 * barrier parity of its input. */
template <class S> struct turn {
  int stage, parity = 0, index;
  __device__ __forceinline__ explicit turn(int group) : stage(group), index(blockIdx.x + group * gridDim.x) {}
  __device__ __forceinline__ void advance() {
    index += GROUPS * gridDim.x;
    stage += GROUPS;
    if (stage >= S::TILES) {
      stage -= S::TILES;
      parity ^= 1;
    }
  }
};

/* Returns what is added to a channel's sums when they are complete: its bias plus its element of `time`, the vector
 * from the time embedding. */
__device__ __forceinline__ float channel_bias(const params &p, int channel) {
  return (p.bias ? __ldg(p.bias + channel) : 0.0f) + (p.time ? __half2float(p.time[channel]) : 0.0f);
}

/* --- consumers for more than 8 output channels: wgmma's rows are channels, its columns pixels --- */

template <class S> struct consumer {
  const params &p;
  const memory_map<S> &m;
  int group, thread, lane, warp;
  /* channel_bias of the two channels that this lane has (rows lane / 4 and lane / 4 + 8 of the warp's 16): it is added
   * to their sums */
  float bias[2];
  float sum[S::N / 8][4];

  __device__ __forceinline__ void load_bias() {
    int channel = (warp * 16 + lane / 4) % S::C;
    bias[0] = channel_bias(p, channel);
    bias[1] = channel_bias(p, channel + 8);
  }

  __device__ __forceinline__ void multiply(int stage, const place &at) {
    constexpr int STEP = S::CI == 8 ? 2 : 1, DEEP = S::CI == 8 ? 1 : S::CI / 16;
#pragma unroll
    for (int tap = 0; tap < S::TAPS; tap += STEP) {
      uint64_t a = describe_weights<S>(m, tap);
      uint64_t b = describe<S>(m.tile(stage) + tap_offset<S>(p, at, tap), p.distance,
                               STEP == 2 ? tap_distance<S>(p, at, tap) : 16);
#pragma unroll
      for (int i = 0; i < STEP; i++)
        barrier_wait(m.weights_full(tap + i), 0);
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < DEEP; k++)
        Wgmma<S::N>::scores(sum, a + 2 * k, b + 2 * k, tap || k);
    }
    wgmma_commit();
    wgmma_wait<0>();
    pin(sum);
  }

  __device__ __forceinline__ float activated(float v) const {
    return S::SILU ? silu(v) : fmaxf(v, p.least);
  }

  __device__ __forceinline__ uint32_t finish(float a, float b, float with, uint32_t residual) const {
    float2 more = __half22float2(*reinterpret_cast<__half2 *>(&residual));
    __half2 two = __floats2half2_rn(activated(a + with + more.x), activated(b + with + more.y));
    return *reinterpret_cast<uint32_t *>(&two);
  }

  /* Finishes the sums of a warp's 16 rows (channels) and writes them to shared memory. They are transposed, so that the
   * channels of a pixel are next to each other. One stmatrix writes 16 channels of two groups of 8 pixels. RESIDUAL:
   * the memory holds the residual, which is added. */
  template <bool RESIDUAL> __device__ __forceinline__ void write_output(uint32_t output) {
    constexpr int CHUNKS = S::C / 8, PIXEL = 2 * S::C;
    int above = warp * 16 / S::C, chunk = warp * 16 % S::C / 8 + lane / 8 % 2, within = lane % 8;
    /* index within the tile of the first pixel that this lane stores */
    int first = (lane / 16 * S::STACKED + above) * STRIP + within;
    int swizzled = CHUNKS == 8 ? chunk ^ within : chunk ^ (within >> 1 & 3);
    uint32_t row = output + first * PIXEL + swizzled * 16;
#pragma unroll
    for (int g = 0; g < S::N / 8; g += 2) {
      uint32_t four[4] = {0, 0, 0, 0};
      uint32_t to = row + g * S::STACKED * STRIP * PIXEL;
      if (RESIDUAL)
        load_transposed(four, to);
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const float *v = sum[g + i / 2] + i % 2 * 2;
        four[i] = finish(v[0], v[1], bias[i % 2], four[i]);
      }
      store_transposed(to, four);
    }
  }

  __device__ __forceinline__ void group_sync() const {
    named_sync(BARRIER_GROUP + group, 128);
  }

  __device__ __forceinline__ void ask_residual(uint32_t output, const place &at) const {
    if (p.has_residual && thread == 0) {
      barrier_expect(m.residual_full(group), S::OUTPUT_BYTES);
      load_output<S>(output, &p.residual, m.residual_full(group), at);
    }
  }

  /* Prepares for the tile at `at`. First waits until the stores of the previous tile have read their results from
   * shared memory. Then, if results have memory of their own, loads the residual to `output`. If they overwrite the
   * input (IN_PLACE), tells the producer that input buffer number `before` is free (negative: there was no previous
   * tile). */
  __device__ __forceinline__ void begin(int before, uint32_t output, const place &at) const {
    if (thread == 0)
      wait_for_stores();
    if (!S::IN_PLACE)
      ask_residual(output, at);
    else if (thread == 0 && before >= 0)
      barrier_arrive(m.tile_empty(before));
  }

  /* Finishes a tile after its products, when no warp reads the tile's input any more: adds bias and residual, and
   * stores the results. stage: number of the buffer with the tile's input; phase: phase of the barrier for the
   * residual; output: address of the results in shared memory. */
  __device__ __forceinline__ void end(int stage, int phase, uint32_t output, const place &at) {
    if (!S::IN_PLACE && lane == 0)
      barrier_arrive(m.tile_empty(stage));
    group_sync();
    if (S::IN_PLACE)
      ask_residual(output, at);
    if (p.has_residual) {
      barrier_wait(m.residual_full(group), phase);
      write_output<true>(output);
    } else {
      write_output<false>(output);
    }
    shared_fence();
    group_sync();
    if (thread == 0)
      store_output<S>(output, &p.y, at);
  }

  __device__ __forceinline__ void run() {
    int before = -1, phase = 0;
    if (p.time || (p.has_residual && thread == 0))
      wait_for_predecessors();
    load_bias();
#pragma unroll 1
    for (turn<S> t(group); t.index < p.count; t.advance(), phase ^= 1) {
      place at = find_place(p, t.index);
      uint32_t output = m.output(group, t.stage);
      begin(before, output, at);
      barrier_wait(m.tile_full(t.stage), t.parity);
      multiply(t.stage, at);
      end(t.stage, phase, output, at);
      before = t.stage;
    }
    if (thread == 0)
      wait_for_stores();
  }
};

/* --- consumers for at most 8 output channels: wgmma's rows are pixels, 64 at a time, its columns channels --- */

template <class S> struct few_consumer {
  static constexpr int PARTS = S::N / 64;
  const params &p;
  const memory_map<S> &m;
  int group, lane, warp;
  /* sum of the layer's bias and the bias from the time embedding, for the two output channels of this lane's results:
   * 2 (lane % 4) and 2 (lane % 4) + 1 */
  float bias[2];
  float sum[PARTS][1][4];

  __device__ __forceinline__ void load_bias() {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      int channel = lane % 4 * 2 + i;
      bias[i] = channel < p.columns ? channel_bias(p, channel) : 0;
    }
  }

  __device__ __forceinline__ void multiply(int stage, const place &at) {
#pragma unroll
    for (int tap = 0; tap < S::TAPS; tap++) {
      uint64_t a = describe<S>(m.tile(stage) + tap_offset<S>(p, at, tap), p.distance, 16);
      uint64_t b = describe_weights<S>(m, tap);
      barrier_wait(m.weights_full(tap), 0);
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < S::CI / 16; k++)
#pragma unroll
        for (int part = 0; part < PARTS; part++)
          Wgmma<8>::scores(sum[part], a + 2 * k + part * (64 / STRIP * S::BORDERED * S::PIXEL_BYTES / 16), b + 2 * k,
                           tap || k);
    }
    wgmma_commit();
    wgmma_wait<0>();
#pragma unroll
    for (int part = 0; part < PARTS; part++)
      pin(sum[part]);
  }

  /* Stores this lane's results of part number `part` of the tile (64 of its pixels): two channels each of two pixels,
   * one below the other. Their column in the tile is lane / 4. */
  __device__ __forceinline__ void write_part(const place &at, int part) const {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      int x = at.x + lane / 4, y = at.y + part * (64 / STRIP) + warp * 2 + half;
      if (x >= p.width || y >= p.height)
        continue;
      __half *to = p.few + (((size_t)at.n * p.height + y) * p.width + x) * p.columns;
#pragma unroll
      for (int i = 0; i < 2; i++) {
        int channel = lane % 4 * 2 + i;
        if (channel < p.columns)
          to[channel] = __float2half_rn(fmaxf(sum[part][0][half * 2 + i] + bias[i], p.least));
      }
    }
  }

  __device__ __forceinline__ void run() {
    if (p.time)
      wait_for_predecessors();
    load_bias();
#pragma unroll 1
    for (turn<S> t(group); t.index < p.count; t.advance()) {
      place at = find_place(p, t.index);
      barrier_wait(m.tile_full(t.stage), t.parity);
      multiply(t.stage, at);
      if (lane == 0)
        barrier_arrive(m.tile_empty(t.stage));
#pragma unroll
      for (int part = 0; part < PARTS; part++)
        write_part(at, part);
    }
  }
};

/* --- consumers for at most 3 output channels: wgmma's rows are taps, its columns the pixels of a bordered tile ---
 *
 *     27 taps  +---------------------+     one output channel of a pixel: the sum of 9 of these results, of tap t at
 *     (9 of    | results, in shared  |     the pixel that is t's place away. A thread has one pixel of the 8 x 16.
 *     each     | memory, FP32        |
 *     channel) +---------------------+
 *               10 x 18 pixels */

template <class S> struct spread_consumer {
  static constexpr int COLUMNS = S::SPREAD_COLUMNS, PITCH = S::SPREAD_PITCH;
  const params &p;
  const memory_map<S> &m;
  int group, thread, lane, warp;
  float *results;   /* of this warpgroup, in shared memory: [SPREAD_ROWS][SPREAD_PITCH] */
  float bias[S::C]; /* of each output channel: channel_bias */
  float sum[COLUMNS / 8][4];

  __device__ __forceinline__ void load_bias() {
#pragma unroll
    for (int i = 0; i < S::C; i++)
      bias[i] = i < p.columns ? channel_bias(p, i) : 0;
  }

  __device__ __forceinline__ void multiply(int stage) {
    uint64_t a = describe_weights<S>(m, 0), b = describe<S>(m.tile(stage), 8 * S::PIXEL_BYTES, 16);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < S::CI / 16; k++)
      Wgmma<COLUMNS>::scores(sum, a + 2 * k, b + 2 * k, k);
    wgmma_commit();
    wgmma_wait<0>();
    pin(sum);
  }

  /* Writes the sums of the rows that are used. Only the first two warps have such rows. */
  __device__ __forceinline__ void write_results() const {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      int row = warp * 16 + half * 8 + lane / 4;
      if (row >= S::SPREAD_ROWS)
        continue;
      float *to = results + row * PITCH + lane % 4 * 2;
#pragma unroll
      for (int g = 0; g < COLUMNS / 8; g++)
        *reinterpret_cast<float2 *>(to + g * 8) = make_float2(sum[g][half * 2], sum[g][half * 2 + 1]);
    }
  }

  /* Adds up and stores this thread's pixel of the tile. */
  __device__ __forceinline__ void write_pixel(const place &at) const {
    int column = thread % STRIP, row = thread / STRIP, x = at.x + column, y = at.y + row;
    const float *from = results + row * S::BORDERED + column;
    float of[S::C];
#pragma unroll
    for (int channel = 0; channel < S::C; channel++) {
      of[channel] = bias[channel];
#pragma unroll
      for (int tap = 0; tap < 9; tap++)
        of[channel] += from[(channel * 9 + tap) * PITCH + tap / 3 * S::BORDERED + tap % 3];
    }
    if (x >= p.width || y >= p.height)
      return;
    __half *to = p.few + (((size_t)at.n * p.height + y) * p.width + x) * p.columns;
#pragma unroll
    for (int channel = 0; channel < S::C; channel++)
      if (channel < p.columns)
        to[channel] = __float2half_rn(fmaxf(of[channel], p.least));
  }

  __device__ __forceinline__ void run() {
    if (p.time)
      wait_for_predecessors();
    load_bias();
    barrier_wait(m.weights_full(0), 0);
#pragma unroll 1
    for (turn<S> t(group); t.index < p.count; t.advance()) {
      place at = find_place(p, t.index);
      barrier_wait(m.tile_full(t.stage), t.parity);
      multiply(t.stage);
      if (lane == 0)
        barrier_arrive(m.tile_empty(t.stage));
      /* All threads have read the results of the tile before. */
      named_sync(BARRIER_GROUP + group, 128);
      write_results();
      named_sync(BARRIER_GROUP + group, 128);
      write_pixel(at);
    }
  }
};

/* --- the kernel, and its barriers --- */

/* number of the warp that loads the weights: the first warp of the second warpgroup. It has time for this, because this
 * warpgroup begins with the second tile */
enum { WEIGHT_WARP = 4 };

/* Initialises the barriers in shared memory. One thread of each warp calls it and gives the warp's number; each call
 * initialises only some barriers, and all calls together initialise all. */
template <class S> __device__ __forceinline__ void make_barriers(const params &p, const memory_map<S> &m, int warp) {
  if (warp < GROUPS * 4) {
    for (int tap = warp; tap < S::TAPS; tap += GROUPS * 4)
      barrier_init(m.weights_full(tap), 1);
    if (warp < S::TILES)
      barrier_init(m.tile_empty(warp), S::IN_PLACE ? 1 : 4);
    else if (warp < S::TILES + GROUPS)
      barrier_init(m.residual_full(warp - S::TILES), 1);
  } else {
    tensor_prefetch(&p.x);
    for (int i = 0; i < S::TILES; i++)
      barrier_init(m.tile_full(i), 1);
  }
  barrier_init_fence();
}

template <class S> __global__ void __launch_bounds__(THREADS, S::BLOCKS) halo_kernel(const __grid_constant__ params p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ char unaligned[];
  /* aligned to 1024 bytes, because TMA's swizzle (order of data in shared memory) depends on the address
   * modulo 1024 */
  memory_map<S> m = {(shared_address(unaligned) + 1023) & ~1023u};
  asm volatile("" : "+r"(m.base));
  int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  /* Initialise the barriers. */
  if (elect())
    make_barriers(p, m, warp);
  __syncwarp();
  __syncthreads();
  /* Split the warps: the consumers multiply, and before that one of them loads the weights; the producer loads the
   * tiles. */
  int thread = threadIdx.x % 128;
  if (warp < GROUPS * 4) {
    if (warp == WEIGHT_WARP && elect()) {
      /* the weights are constant, so their copies need not wait for the preceding kernel in the stream */
      if constexpr (S::SPREAD)
        load_spread_weights<S>(p, m);
      else
        load_weights<S>(p, m);
    }
    __syncwarp();
    if constexpr (S::SPREAD)
      spread_consumer<S>{p,
                         m,
                         warp / 4,
                         thread,
                         thread % 32,
                         warp % 4,
                         reinterpret_cast<float *>(unaligned + (m.output(warp / 4, 0) - shared_address(unaligned)))}
          .run();
    else if constexpr (S::FEW)
      few_consumer<S>{p, m, warp / 4, thread % 32, warp % 4}.run();
    else
      consumer<S>{p, m, warp / 4, thread, thread % 32, warp % 4}.run();
  } else {
    if (elect())
      produce<S>(p, m);
    __syncwarp();
  }
#endif
}

} // namespace halo_sm90

#endif
