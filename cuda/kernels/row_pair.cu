/* h = residual + W1 x, y = W2 layer_norm(h), for rows of 320 channels (row_pair.h). ROWS.md says what it takes.
 *
 * A pair of thread blocks (a cluster of two) has 64 rows. Of both products each of them calculates the sums of 160
 * channels at a time, in two warpgroups of 80. So W1's and W2's rows are divided between the two, and both read all of
 * x:
 *
 *                    channels 0 .. 159              channels 160 .. 319
 *               +-------------------------+    +-------------------------+
 *     64 rows   |      thread block 0     |    |      thread block 1     |    h: sums in registers, rounded, stored
 *               | group 0    | group 1    |    | group 0    | group 1    |
 *               +-------------------------+    +-------------------------+
 *                     |   mean and squared distances of 80 channels   |       st.async, to both thread blocks
 *                     |   <--------- of each row: 8 bytes --------->  |
 *               +-------------------------+    +-------------------------+
 *     normalised|         own half        | -> |          copy           |    one copy of 20 KB, from shared memory
 *               |          copy           | <- |         own half        |    to shared memory
 *               +-------------------------+    +-------------------------+
 *                     |                               |
 *               y: 160 of each 320 columns, in 1 or 3 passes over the normalised rows
 *
 * The sum over 320 channels has five blocks of 64. In the second product a thread block begins with the two that are
 * wholly its own half, while the other half is on its way. One thread loads: the weights of the first six blocks do not
 * wait for the kernel ahead; x, residual and all other weights come in the order in which they are used.
 *
 *     shared memory:  x 40 KB | normalised rows 40 KB | residual, then h, then y 20 KB | 6 stages of weights, 120 KB
 *
 * What bounds it: with 4096 rows 128 thread blocks fill 132 multiprocessors once. Each reads x (40 KB), a half of the
 * residual (20 KB) and of the weights (100 KB for each 320 columns). From the cache, at 11 TB/s, that takes 1.9 us
 * without a second product, 3.1 us with 320 columns and 5.5 us with 960. The products take 1.2 us for each 320 columns,
 * at 64 x 80 a warpgroup. The launch adds 1.4 us, the exchanges and the ends of the passes about 0.7 us each. */
#include "cuda/kernels/row_pair.h"

#include "cuda/kernels/launch_sm90.cuh"

using namespace product_sm90;

namespace {

enum { CHANNELS = 320, HALF = CHANNELS / 2, PART = HALF / 2, PARTS = 4, ROWS = 64, BLOCKS = CHANNELS / BLOCK_K };
enum { GROUPS = 2, CONSUMERS = GROUPS * 128, THREADS = CONSUMERS + 32, STAGES = 6 };
/* x: blocks of 64 channels, in swizzled rows of 128 bytes. The normalised rows: blocks of 32 channels, in swizzled rows
 * of 64 bytes, so that a half has whole blocks. Results: the 80 channels of a warpgroup, in rows of 160 bytes. */
enum { X_BLOCK = ROWS * ROW_BYTES, NORMAL_BLOCK = ROWS * 64, NORMAL_HALF = HALF / 32 * NORMAL_BLOCK };
enum { RESULT_ROW = PART * 2, RESULT_BYTES = ROWS * RESULT_ROW, STAGE_BYTES = HALF * ROW_BYTES };
enum { STATS_PART = ROWS * 8, STATS_BYTES = PARTS * STATS_PART, VECTOR_BYTES = 2 * HALF * 4 };
enum { X_AT = 0, NORMAL_AT = X_AT + BLOCKS * X_BLOCK, RESULT_AT = NORMAL_AT + 2 * NORMAL_HALF };
enum { RING_AT = RESULT_AT + GROUPS * RESULT_BYTES, VECTORS_AT = RING_AT + STAGES * STAGE_BYTES };
enum { STATS_AT = VECTORS_AT + VECTOR_BYTES, BARRIERS_AT = STATS_AT + STATS_BYTES, BARRIER_BYTES = 256 };
enum { ALIGNMENT = 1024, SHARED_BYTES = BARRIERS_AT + BARRIER_BYTES + ALIGNMENT, SHARED_MOST = 232448 };
static_assert((int)SHARED_BYTES <= (int)SHARED_MOST, "shared memory of a multiprocessor");
static_assert(NORMAL_AT % 1024 == 0 && RING_AT % 1024 == 0, "the swizzle depends on addresses modulo 1024");

struct pair_params {
  CUtensorMap x, residual, h, y, first, second;
  const float *first_bias, *second_bias, *gamma, *beta;
  float eps;
  int has_residual;
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* The barriers in shared memory. full: a stage's weights are there; empty: all warps have read a stage; x: a block of x
 * is there; stats: those of both thread blocks are there; normal: the other thread block's normalised half is there;
 * taken: the other thread block has this one's half. */
struct barriers {
  uint32_t first;
  __device__ __forceinline__ uint32_t full(int stage) const {
    return first + 8 * stage;
  }
  __device__ __forceinline__ uint32_t empty(int stage) const {
    return first + 8 * (STAGES + stage);
  }
  __device__ __forceinline__ uint32_t x(int block) const {
    return first + 8 * (2 * STAGES + block);
  }
  __device__ __forceinline__ uint32_t residual() const {
    return x(BLOCKS);
  }
  __device__ __forceinline__ uint32_t stats() const {
    return x(BLOCKS + 1);
  }
  __device__ __forceinline__ uint32_t normal() const {
    return x(BLOCKS + 2);
  }
  __device__ __forceinline__ uint32_t taken() const {
    return x(BLOCKS + 3);
  }
};
static_assert(8 * (2 * STAGES + BLOCKS + 4) <= BARRIER_BYTES, "barriers");

/* Initialises the barriers; one thread calls it. What the other thread block sends is expected from here on, because it
 * may come as soon as the cluster's barrier is passed. */
__device__ __forceinline__ void make_barriers(const barriers &b) {
  for (int s = 0; s < STAGES; s++) {
    barrier_init(b.full(s), 1);
    barrier_init(b.empty(s), CONSUMERS / 32);
  }
  for (int k = 0; k < BLOCKS; k++)
    barrier_init(b.x(k), 1);
  barrier_init(b.residual(), 1);
  barrier_init(b.stats(), 1);
  barrier_init(b.normal(), 1);
  barrier_init(b.taken(), 1);
  barrier_init_fence();
  barrier_expect(b.stats(), STATS_BYTES);
  barrier_expect(b.normal(), NORMAL_HALF);
}

/* Returns which block of 64 channels comes at place k of the second product's sum: a thread block begins with its own
 * half. */
__device__ __forceinline__ int block_at(int k, int rank) {
  return rank ? BLOCKS - 1 - k : k;
}

/* --- loading --- */

struct loader {
  const pair_params &p;
  uint32_t base;
  barriers b;
  int rank, row;

  /* Loads the weights of block number `unit`, counted over all products, once its stage is free. */
  __device__ __forceinline__ void load_weights_of(int unit) const {
    int s = unit % STAGES, later = unit - BLOCKS, pass = later / BLOCKS;
    uint32_t to = base + RING_AT + s * STAGE_BYTES;
    barrier_wait(b.empty(s), (unit / STAGES % 2) ^ 1);
    barrier_expect(b.full(s), STAGE_BYTES);
    if (unit < BLOCKS)
      load_box(to, &p.first, b.full(s), unit * BLOCK_K, rank * HALF);
    else
      load_box(to, &p.second, b.full(s), block_at(later % BLOCKS, rank) * BLOCK_K, pass * CHANNELS + rank * HALF);
  }

  __device__ __forceinline__ void load_rows() const {
    barrier_expect(b.x(0), X_BLOCK);
    wait_for_predecessors();
    load_box(base + X_AT, &p.x, b.x(0), 0, row);
    launch_dependents();
    for (int k = 1; k < BLOCKS; k++) {
      barrier_expect(b.x(k), X_BLOCK);
      load_box(base + X_AT + k * X_BLOCK, &p.x, b.x(k), k * BLOCK_K, row);
    }
    if (!p.has_residual)
      return;
    barrier_expect(b.residual(), GROUPS * RESULT_BYTES);
    for (int g = 0; g < GROUPS; g++)
      load_box(base + RESULT_AT + g * RESULT_BYTES, &p.residual, b.residual(), rank * HALF + g * PART, row);
  }

  template <int PASSES> __device__ __forceinline__ void run() const {
    constexpr int UNITS = BLOCKS * (1 + PASSES), AHEAD = UNITS < STAGES ? UNITS : (int)STAGES;
#pragma unroll 1
    for (int unit = 0; unit < AHEAD; unit++)
      load_weights_of(unit);
    load_rows();
#pragma unroll 1
    for (int unit = AHEAD; unit < UNITS; unit++)
      load_weights_of(unit);
    /* This thread block's memory must last until the other one has copied from it. */
    if (PASSES)
      barrier_wait(b.taken(), 0);
  }
};

/* --- calculating: a warpgroup has 64 rows of 80 channels --- */

/* Makes wgmma's descriptor of 64 rows of 64 bytes with the 64-byte swizzle: chunk i of 16 bytes of row r is at position
 * i xor (r / 2 % 4). */
__device__ __forceinline__ uint64_t descriptor_64(uint32_t lower) {
  constexpr uint32_t SWIZZLE_64 = 1u << 31, GROUP_OF_ROWS = 512 >> 4;
  return (uint64_t)(SWIZZLE_64 | GROUP_OF_ROWS) << 32 | lower;
}

__device__ __forceinline__ uint32_t pack(float low, float high) {
  __half2 two = __floats2half2_rn(low, high);
  return *reinterpret_cast<uint32_t *>(&two);
}

__device__ __forceinline__ float2 unpack(uint32_t raw) {
  return __half22float2(*reinterpret_cast<__half2 *>(&raw));
}

/* Sends two values to a thread block of the cluster, whose barrier counts their 8 bytes. */
__device__ __forceinline__ void send_two(uint32_t remote, float2 v, uint32_t remote_barrier) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(remote),
               "f"(v.x), "f"(v.y), "r"(remote_barrier)
               : "memory");
}

__device__ __forceinline__ void send_bytes(uint32_t from, int bytes, uint32_t remote, uint32_t remote_barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(remote),
      "r"(from), "r"(bytes), "r"(remote_barrier)
      : "memory");
}

__device__ __forceinline__ float add_four_lanes(float v) {
  v += __shfl_xor_sync(0xffffffffu, v, 1);
  return v + __shfl_xor_sync(0xffffffffu, v, 2);
}

struct calculator {
  const pair_params &p;
  uint32_t base;
  barriers b;
  const char *memory;
  int rank, row;
  int group, within, lane; /* number of the warpgroup, of the warp in it, of the lane */
  int unit;                /* number of the next block of weights */
  /* wgmma's layout: sum[g][2 * half + i] is row 16 * within + 8 * half + lane / 4, and channel 8 * g + 2 * (lane % 4) +
   * i of the warpgroup's 80 */
  float sum[PART / 8][4];

  /* Sums begin as the bias, or as 0 if it is NULL. column: the first of this warpgroup's columns. */
  __device__ __forceinline__ void begin(const float *bias, int column) {
#pragma unroll
    for (int g = 0; g < PART / 8; g++)
      sum[g][0] = sum[g][1] = sum[g][2] = sum[g][3] = 0;
    if (bias)
#pragma unroll
      for (int g = 0; g < PART / 8; g++) {
        float2 v = __ldg(reinterpret_cast<const float2 *>(bias + column + g * 8 + lane % 4 * 2));
        sum[g][0] = sum[g][2] = v.x;
        sum[g][1] = sum[g][3] = v.y;
      }
    pin(sum);
  }

  __device__ __forceinline__ void release(int stage) const {
    if (lane == 0)
      barrier_arrive(b.empty(stage));
  }

  /* Adds the products of one block of 64 channels. rows: returns the descriptor of 16 of its channels. */
  template <class Rows> __device__ __forceinline__ void multiply_block(int stage, const Rows &rows) {
    uint32_t weights = describe_rows(base + RING_AT + stage * STAGE_BYTES + group * PART * ROW_BYTES);
    barrier_wait(b.full(stage), unit / STAGES % 2);
    wgmma_fence();
#pragma unroll
    for (int j = 0; j < BLOCK_K / 16; j++)
      Wgmma<PART>::scores(sum, rows(j), descriptor(weights, j * 32), 1);
    wgmma_commit();
  }

  /* Waits until all products but those of the last PENDING blocks are done, and gives the stage of the last block that
   * is done back to the loader. */
  template <int PENDING> __device__ __forceinline__ void release_block() {
    wgmma_wait<PENDING>();
    release((unit - 1) % STAGES);
  }

  __device__ __forceinline__ void multiply_first() {
    uint32_t x = describe_rows(base + X_AT);
#pragma unroll
    for (int k = 0; k < BLOCKS; k++, unit++) {
      barrier_wait(b.x(k), 0);
      multiply_block(unit % STAGES, [&](int j) { return descriptor(x + k * (X_BLOCK / 16), j * 32); });
      if (k > 0)
        release_block<1>();
    }
    release_block<0>();
    pin(sum);
  }

  /* Waits for the other thread block's half of the normalised rows, and tells it that it has arrived. */
  __device__ __forceinline__ void receive_half() const {
    barrier_wait(b.normal(), 0);
    if (threadIdx.x == 0)
      barrier_arrive_remote(cluster_address(b.taken(), rank ^ 1));
    __syncwarp();
  }

  __device__ __forceinline__ void multiply_second(bool first_pass) {
    enum { OWN_BLOCKS = HALF / BLOCK_K };
    uint32_t normal = describe_rows(base + NORMAL_AT);
#pragma unroll
    for (int k = 0; k < BLOCKS; k++, unit++) {
      int block = block_at(k, rank);
      if (k == OWN_BLOCKS && first_pass)
        receive_half();
      multiply_block(unit % STAGES, [&](int j) {
        return descriptor_64(normal + (2 * block + j / 2) * (NORMAL_BLOCK / 16) + j % 2 * 2);
      });
      if (k > 0)
        release_block<1>();
    }
    release_block<0>();
    pin(sum);
  }

  /* Returns where this lane's row of 16 channels is in the memory of results, for loads and stores of four matrices. */
  __device__ __forceinline__ uint32_t result_at(int k) const {
    return base + RESULT_AT + group * RESULT_BYTES + (within * 16 + lane % 16) * RESULT_ROW + (2 * k + lane / 16) * 16;
  }

  /* Rounds the sums, in registers too, and puts them where results are stored from. add: adds what is there first. */
  __device__ __forceinline__ void finish(bool add) {
    uint32_t v[PART / 16][4] = {};
    if (add)
#pragma unroll
      for (int k = 0; k < PART / 16; k++)
        load_matrices(v[k], result_at(k));
#pragma unroll
    for (int k = 0; k < PART / 16; k++) {
#pragma unroll
      for (int i = 0; i < 4; i++) {
        float *from = sum[2 * k + i / 2] + i % 2 * 2;
        float2 more = add ? unpack(v[k][i]) : make_float2(0, 0);
        v[k][i] = pack(from[0] + more.x, from[1] + more.y);
        float2 rounded = unpack(v[k][i]);
        from[0] = rounded.x;
        from[1] = rounded.y;
      }
      store_matrices(result_at(k), v[k]);
    }
  }

  /* Stores a warp's 16 rows. column: the first of this thread block's columns. */
  __device__ __forceinline__ void store(const CUtensorMap *map, int column) const {
    shared_fence();
    __syncwarp();
    if (elect()) {
      store_box(base + RESULT_AT + group * RESULT_BYTES + within * 16 * RESULT_ROW, map, column + group * PART,
                row + within * 16);
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
    __syncwarp();
  }

  /* Waits until the memory of a warp's stored results may be written again. */
  __device__ __forceinline__ void wait_for_stores() const {
    if (elect())
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    __syncwarp();
  }

  /* Returns the mean and the sum of squared distances to it, of this warpgroup's channels of a row. */
  __device__ __forceinline__ float2 measure(int half) const {
    float total = 0, squares = 0;
#pragma unroll
    for (int g = 0; g < PART / 8; g++)
      total += sum[g][2 * half] + sum[g][2 * half + 1];
    float mean = add_four_lanes(total) * (1.0f / PART);
#pragma unroll
    for (int g = 0; g < PART / 8; g++) {
      float d0 = sum[g][2 * half] - mean, d1 = sum[g][2 * half + 1] - mean;
      squares += d0 * d0 + d1 * d1;
    }
    return make_float2(mean, add_four_lanes(squares));
  }

  __device__ __forceinline__ int row_of(int half) const {
    return within * 16 + 8 * half + lane / 4;
  }

  /* Tells both thread blocks, this one too, what measure() says of this warpgroup's rows. */
  __device__ __forceinline__ void send_stats() const {
    const float2 stats[2] = {measure(0), measure(1)};
    int to = lane % 4;
    if (to < 2) {
      uint32_t part = cluster_address(base + STATS_AT, to) + (rank * GROUPS + group) * STATS_PART;
#pragma unroll
      for (int half = 0; half < 2; half++)
        send_two(part + row_of(half) * 8, stats[half], cluster_address(b.stats(), to));
    }
    __syncwarp();
  }

  /* Returns a row's mean and the reciprocal of its deviation, from those of its four parts. */
  __device__ __forceinline__ float2 join_stats(int half) const {
    const float2 *stats = reinterpret_cast<const float2 *>(memory + STATS_AT) + row_of(half);
    float2 part[PARTS];
    float total = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < PARTS; i++) {
      part[i] = stats[ROWS * i];
      total += part[i].x;
      squares += part[i].y;
    }
    float mean = total * (1.0f / PARTS);
#pragma unroll
    for (int i = 0; i < PARTS; i++)
      squares += PART * (part[i].x - mean) * (part[i].x - mean);
    return make_float2(mean, rsqrtf(squares * (1.0f / CHANNELS) + p.eps));
  }

  /* Returns where this lane's row of 16 normalised channels goes in the second product's input. */
  __device__ __forceinline__ uint32_t normal_at(int k) const {
    int chunk = (rank * HALF + group * PART) / 8 + 2 * k + lane / 16, r = within * 16 + lane % 16;
    return base + NORMAL_AT + chunk / 4 * NORMAL_BLOCK + r * 64 + ((chunk % 4) ^ (r / 2 % 4)) * 16;
  }

  /* Normalises the rows in registers. inward: true: they become the second product's input; false: the result. */
  __device__ __forceinline__ void normalise(bool inward) {
    const float2 row_stats[2] = {join_stats(0), join_stats(1)};
    const float *gamma = reinterpret_cast<const float *>(memory + VECTORS_AT) + group * PART + lane % 4 * 2;
    const float *beta = gamma + HALF;
#pragma unroll
    for (int k = 0; k < PART / 16; k++) {
      uint32_t v[4];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        int g = 2 * k + i / 2, half = i % 2;
        float2 factor = *reinterpret_cast<const float2 *>(gamma + g * 8);
        float2 summand = *reinterpret_cast<const float2 *>(beta + g * 8);
        float mean = row_stats[half].x, rstd = row_stats[half].y;
        v[i] = pack((sum[g][2 * half] - mean) * rstd * factor.x + summand.x,
                    (sum[g][2 * half + 1] - mean) * rstd * factor.y + summand.y);
      }
      store_matrices(inward ? normal_at(k) : result_at(k), v);
    }
  }

  /* Sends this thread block's normalised half to the other one, when all of its warps have written theirs. */
  __device__ __forceinline__ void send_half(int warp) const {
    shared_fence();
    named_sync(BARRIER_GROUP, CONSUMERS);
    if (warp == 0 && elect()) {
      uint32_t from = base + NORMAL_AT + rank * NORMAL_HALF;
      send_bytes(from, NORMAL_HALF, cluster_address(from, rank ^ 1), cluster_address(b.normal(), rank ^ 1));
    }
    __syncwarp();
  }

  template <int PASSES> __device__ __forceinline__ void run(int warp) {
    int own = rank * HALF;
    begin(p.first_bias, own + group * PART);
    multiply_first();
    if (p.has_residual)
      barrier_wait(b.residual(), 0);
    finish(p.has_residual);
    store(&p.h, own);
    send_stats();
    barrier_wait(b.stats(), 0);
    if (PASSES == 0) {
      wait_for_stores();
      normalise(false);
      store(&p.y, own);
    } else {
      normalise(true);
      send_half(warp);
    }
#pragma unroll 1
    for (int pass = 0; pass < PASSES; pass++) {
      begin(p.second_bias, pass * CHANNELS + own + group * PART);
      multiply_second(pass == 0);
      wait_for_stores();
      finish(false);
      store(&p.y, pass * CHANNELS + own);
    }
    wait_for_stores();
  }
};

/* Puts factors and summands of this thread block's channels into shared memory. */
__device__ __forceinline__ void fetch_vectors(const pair_params &p, char *memory, int rank) {
  float *vectors = reinterpret_cast<float *>(memory + VECTORS_AT);
#pragma unroll 1
  for (int i = threadIdx.x; i < 2 * HALF; i += THREADS)
    vectors[i] = i < HALF ? (p.gamma ? __ldg(p.gamma + rank * HALF + i) : 1.0f)
                          : (p.beta ? __ldg(p.beta + rank * HALF + i - HALF) : 0.0f);
}

#endif

/* PASSES: number of times 320 columns of the second product; 0: there is none, and y is the norm's result. */
template <int PASSES>
__global__ void __launch_bounds__(THREADS, 1) row_pair_kernel(const __grid_constant__ pair_params p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ char unaligned[];
  uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(unaligned));
  uint32_t base = (address + ALIGNMENT - 1) & ~(uint32_t)(ALIGNMENT - 1);
  char *memory = unaligned + (base - address);
  barriers b = {base + BARRIERS_AT};
  int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0), lane = threadIdx.x % 32, rank = cluster_rank();
  int row = (int)blockIdx.x / 2 * ROWS;
  if (threadIdx.x == CONSUMERS)
    make_barriers(b);
  fetch_vectors(p, memory, rank);
  __syncwarp();
  cluster_arrive();
  cluster_wait();
  if (warp == CONSUMERS / 32) {
    if (elect())
      loader{p, base, b, rank, row}.run<PASSES>();
    __syncwarp();
    return;
  }
  calculator c = {p, base, b, memory, rank, row, warp / 4, warp % 4, lane, 0};
  c.run<PASSES>(warp);
#endif
}

bool is_aligned(const void *pointer) {
  return (uintptr_t)pointer % 16 == 0;
}

bool encode(const struct product_device *device, pair_params *p, const struct row_pair *a) {
  enum { STORED = 16 }; /* rows that a warp stores */
  size_t rows = (size_t)a->rows, columns = (size_t)(a->columns ? a->columns : a->c);
  return encode_matrix(device, &p->x, a->x, rows, CHANNELS, ROWS, BLOCK_K, true) &&
         (!a->residual || encode_matrix(device, &p->residual, a->residual, rows, CHANNELS, ROWS, PART, false)) &&
         encode_matrix(device, &p->h, a->h, rows, CHANNELS, STORED, PART, false) &&
         encode_matrix(device, &p->y, a->y, rows, columns, STORED, PART, false) &&
         encode_matrix(device, &p->first, a->first.weight, CHANNELS, CHANNELS, HALF, BLOCK_K, true) &&
         (!a->columns || encode_matrix(device, &p->second, a->second.weight, columns, CHANNELS, HALF, BLOCK_K, true));
}

} // namespace

bool row_pair_has(int columns) {
  return columns == CHANNELS || columns == 3 * CHANNELS;
}

bool row_pair_supported(const struct product_device *device, const struct row_pair *a) {
  return device->encode_tiled && a->c == CHANNELS && a->rows > 0 && a->rows % ROWS == 0 &&
         (!a->columns || row_pair_has(a->columns)) && is_aligned(a->x) && is_aligned(a->residual) &&
         is_aligned(a->first.weight) && is_aligned(a->first.bias) && is_aligned(a->second.weight) &&
         is_aligned(a->second.bias) && is_aligned(a->h) && is_aligned(a->y);
}

int row_pair_blocks(int rows) {
  return rows / ROWS * 2;
}

cudaError_t launch_row_pair(const struct product_device *device, const struct launch_queue *queue,
                            const struct row_pair *a) {
  if (!row_pair_supported(device, a))
    return cudaErrorNotSupported;
  pair_params p = {};
  p.first_bias = a->first.bias;
  p.second_bias = a->columns ? a->second.bias : nullptr;
  p.gamma = a->norm.gamma;
  p.beta = a->norm.beta;
  p.eps = a->norm.eps;
  p.has_residual = a->residual != nullptr;
  if (!encode(device, &p, a))
    return cudaErrorInvalidValue;
  auto kernel = a->columns == 0 ? row_pair_kernel<0> : a->columns == CHANNELS ? row_pair_kernel<1> : row_pair_kernel<3>;
  dim3 grid((unsigned)row_pair_blocks(a->rows));
  return launch_shared(queue, kernel, grid, dim3(2), dim3(THREADS), SHARED_BYTES, p);
}
