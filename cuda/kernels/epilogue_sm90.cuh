/* The end of a tile's calculation. First adds up sums that several thread blocks have calculated: those of a pair, and
 * those of splits (each has a part of the sum). Then adds the residual, activates, and stores the result by the copy
 * engine (TMA).
 *
 * A tile that ends with an attention (END_ATTEND) is one head of 64 columns: 64 x 64 or 128 x 64. Each consumer has 64
 * rows of queries in its registers, where all else stays, too. The head's keys and values, of all tokens of the text,
 * are in shared memory before the sums are done.
 *
 *     sums = queries      K [80 tokens x 64]          V [80 x 64]
 *     64 x 64 (FP16)  --------------------->  scores  ------------->  result: in the sums' place
 *                       4 products 64x80x16   64 x 80   5 products 64x64x16
 *                                             softmax
 *
 * Roofline: for 64 rows both products take 320 clocks of the tensor cores, and 80 x 64 exponentials then another 320. K
 * and V are 20 KB, 320 clocks of what a multiprocessor can take in, beside the 340 KB of a product from 1280 channels.
 * A launch of its own would store and load the queries besides, and begin and end, which is most of its 3.5 us. */
#ifndef CUDA_KERNELS_EPILOGUE_SM90_CUH
#define CUDA_KERNELS_EPILOGUE_SM90_CUH

#include "attention/softmax.cuh"
#include "cuda/kernels/mainloop_sm90.cuh"

namespace product_sm90 {

template <class T> struct epilogue : consumer<T> {
  using consumer<T>::p;
  using consumer<T>::w;
  using consumer<T>::memory;
  using consumer<T>::told;
  using consumer<T>::group;
  using consumer<T>::thread;
  using consumer<T>::lane;
  using consumer<T>::rank;
  using consumer<T>::sum;
  using consumer<T>::at;
  using consumer<T>::add;
  using consumer<T>::group_sync;
  using consumer<T>::release;

  template <int FIRST> __device__ __forceinline__ void send_half() const {
    uint32_t to = cluster_address(w.base + T::INBOX_OFFSET + group * T::INBOX_GROUP_BYTES + thread * 16, rank ^ 1);
    uint32_t full = cluster_address(w.inbox_full(group), rank ^ 1);
#pragma unroll
    for (int g = 0; g < T::HALF / 8; g++)
      send(to + g * 2048, sum[0][FIRST + g], full);
  }

  /* Completes the sums of a tile that the two thread blocks of a pair have computed together: each has a part of every
   * sum. Each thread block finishes half of the columns. It sends its sums for the other half to the other thread
   * block, and adds the sums that it receives to its own half. Afterwards its own half is at the beginning of sum[]. */
  __device__ __forceinline__ void add_pair() {
    cluster_wait(); /* wait until the other thread block of the pair has initialised its barriers */
    if (rank == 0) {
      send_half<T::HALF / 8>();
    } else {
      send_half<0>();
#pragma unroll
      for (int g = 0; g < T::HALF / 8; g++)
#pragma unroll
        for (int i = 0; i < 4; i++)
          sum[0][g][i] = sum[0][g + T::HALF / 8][i];
    }
    barrier_wait(w.inbox_full(group), 0);
    const float4 *inbox =
        reinterpret_cast<const float4 *>(memory + T::INBOX_OFFSET + group * T::INBOX_GROUP_BYTES) + thread;
#pragma unroll
    for (int g = 0; g < T::HALF / 8; g++)
      add(sum[0][g], inbox[g * 128]);
  }

  __device__ __forceinline__ static void add(float (&to)[4], float4 x) {
    to[0] += x.x;
    to[1] += x.y;
    to[2] += x.z;
    to[3] += x.w;
  }

  __device__ __forceinline__ static void set(float (&to)[4], float4 x) {
    to[0] = x.x;
    to[1] = x.y;
    to[2] = x.z;
    to[3] = x.w;
  }

  /* Adds the partial sums of two splits to sum[]; if FIRST, replaces sum[] by them. All loads are issued before the
   * first value is used. */
  template <int COLUMNS, bool FIRST>
  __device__ __forceinline__ void add_two(const float4 *first, const float4 *second) {
    float4 a[COLUMNS / 8], b[COLUMNS / 8];
#pragma unroll
    for (int g = 0; g < COLUMNS / 8; g++) {
      a[g] = __ldcg(first + g * 128);
      b[g] = __ldcg(second + g * 128);
    }
#pragma unroll
    for (int g = 0; g < COLUMNS / 8; g++) {
      if (FIRST)
        set(sum[0][g], a[g]);
      else
        add(sum[0][g], a[g]);
      add(sum[0][g], b[g]);
    }
  }

  /* Used if several thread blocks (splits) each compute a part of the tile's sums. Stores this split's sums of COLUMNS
   * columns in the workspace. The split that arrives last adds the sums of all splits, in a fixed order, and returns
   * true; the others return false. */
  template <int COLUMNS> __device__ __forceinline__ bool add_splits() {
    int halves = T::N / COLUMNS, tiles = gridDim.x * gridDim.y;
    int tile = (blockIdx.y * gridDim.x + blockIdx.x) * halves + (halves == 2 ? rank : 0);
    int index = tile * T::CONSUMERS + group, split = blockIdx.z / halves;
    float4 *all = reinterpret_cast<float4 *>(p.partial) + (size_t)index * (64 * COLUMNS / 4) + thread;
    size_t pitch = (size_t)tiles * halves * T::CONSUMERS * (64 * COLUMNS / 4);
    /* Store the sums of this split, and count it as arrived. */
    float4 *own_sums = all + split * pitch;
#pragma unroll
    for (int g = 0; g < COLUMNS / 8; g++)
      __stcg(own_sums + g * 128, make_float4(sum[0][g][0], sum[0][g][1], sum[0][g][2], sum[0][g][3]));
    group_sync();
    if (thread == 0)
      told[group] = add_acquire_release(p.arrived + index, 1);
    group_sync();
    if (told[group] != (unsigned)p.splits - 1)
      return false;
    if (thread == 0)
      p.arrived[index] = 0;
    /* The thread block that is the last to finish its split of the tile's sum adds the sums of all splits. */
    int s = 1;
    /* the sums of two splits are added at a time, except in larger tiles, for which there are too few registers */
    if constexpr (T::BLOCKS == 1 && T::CONSUMERS < 3 && COLUMNS <= 80) {
      add_two<COLUMNS, true>(all, all + pitch);
#pragma unroll 1
      for (s = 2; s + 1 < p.splits; s += 2)
        add_two<COLUMNS, false>(all + s * pitch, all + (s + 1) * pitch);
    } else {
#pragma unroll
      for (int g = 0; g < COLUMNS / 8; g++)
        set(sum[0][g], __ldcg(all + g * 128));
    }
#pragma unroll 1
    for (; s < p.splits; s++)
#pragma unroll
      for (int g = 0; g < COLUMNS / 8; g++)
        add(sum[0][g], __ldcg(all + s * pitch + g * 128));
    return true;
  }

  /* Returns where a lane's two results for this row and group of 8 columns are in shared memory. The result is an
   * offset in bytes from the beginning of the block of COLUMNS columns. */
  template <int COLUMNS> __device__ __forceinline__ static int place(int row, int group_of_8, int lane) {
    int within = lane % 4 * 4;
    return COLUMNS == 64 ? row * 128 + ((group_of_8 ^ row) % 8) * 16 + within
                         : row * (COLUMNS * 2) + group_of_8 * 16 + within;
  }

  /* Returns the gains (OP_INJECT) by which the thread's two rows are multiplied; 1 for all other ops. Rows after the
   * product's last row are never stored; they get the gain of the last row. */
  __device__ __forceinline__ float2 gains() const {
    if (T::END != END_GAIN)
      return make_float2(1, 1);
    int row = w.row + group * 64 + thread / 32 * 16 + lane / 4;
    wait_for_predecessors();
    return make_float2(gain_of(p.gain, quotient(min(row, p.rows - 1), p.pixels)),
                       gain_of(p.gain, quotient(min(row + 8, p.rows - 1), p.pixels)));
  }

  /* Returns two values after ReLU or SiLU, as FP16. ReLU is applied after rounding; the result is the same as with ReLU
   * before rounding. */
  __device__ __forceinline__ uint32_t rounded(float low, float high) const {
    if (T::END == END_SILU)
      return pack2(silu(low), silu(high));
    if (T::ATTENDS)
      return pack_result(low, high);
    __half2 least = __float2half2_rn(p.least), two = __hmax2(__floats2half2_rn(low, high), least);
    return *reinterpret_cast<uint32_t *>(&two);
  }

  /* Returns the number, counted from the tile's first row, of the first row that this warp calculates. high: 0 or 1,
   * which of the consumer's blocks of 64 rows is meant. */
  __device__ __forceinline__ int first_row(int high) const {
    return (group * T::HIGH + high) * 64 + thread / 32 * 16;
  }

  /* Finishes 16 rows of a warp in one chunk of columns, two groups of 8 columns at a time. Each lane has the address of
   * 8 columns of one row. All residuals are loaded before the first is used. */
  template <int COLUMNS, bool RESIDUAL>
  __device__ __forceinline__ void finish_chunk(uint32_t stage, int chunk, float2 gain, int high) {
    constexpr int GROUPS = COLUMNS / 8, PAIRS = (GROUPS + 1) / 2;
    int row = first_row(high) + lane % 16;
    uint32_t to[PAIRS], v[PAIRS][4];
#pragma unroll
    for (int k = 0; k < PAIRS; k++) {
      to[k] = stage + place<COLUMNS>(row, 2 * k + (2 * k + 1 < GROUPS ? lane / 16 : 0), 0);
      if constexpr (RESIDUAL)
        2 * k + 1 < GROUPS ? load_matrices(v[k], to[k]) : load_two_matrices(v[k], to[k]);
    }
#pragma unroll
    for (int k = 0; k < PAIRS; k++) {
#pragma unroll
      for (int i = 0; i < 4 && 2 * k + i / 2 < GROUPS; i++) {
        const float *from = sum[high][chunk * GROUPS + 2 * k + i / 2] + i % 2 * 2;
        if constexpr (RESIDUAL) {
          float2 more = unpack2(v[k][i]);
          float factor = i % 2 ? gain.y : gain.x;
          v[k][i] = rounded(factor * from[0] + more.x, factor * from[1] + more.y);
        } else {
          v[k][i] = rounded(from[0], from[1]);
        }
      }
      2 * k + 1 < GROUPS ? store_matrices(to[k], v[k]) : store_two_matrices(to[k], v[k]);
    }
  }

  /* Applies GEGLU to a chunk of columns: the left half of the sums are values, the right half their gates. */
  __device__ __forceinline__ void finish_gated_chunk(char *stage, int chunk) {
    int row = group * 64 + thread / 32 * 16 + lane / 4;
#pragma unroll
    for (int g = 0; g < T::CHUNK / 8; g++) {
      const float *v = sum[0][chunk * (T::CHUNK / 8) + g], *gate = sum[0][chunk * (T::CHUNK / 8) + g + T::HALF / 8];
#pragma unroll
      for (int half = 0; half < 2; half++)
        *reinterpret_cast<uint32_t *>(stage + place<T::CHUNK>(row + 8 * half, g, lane)) =
            pack2(v[2 * half] * gelu(gate[2 * half]), v[2 * half + 1] * gelu(gate[2 * half + 1]));
    }
  }

  /* Waits until TMA has read the shared memory from which results are being stored, so that it may be overwritten. */
  __device__ __forceinline__ void wait_for_stores() const {
    if (elect())
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  }

  /* Stores a warp's 16 rows (pixels) if the input is upsampled. They are stored as two groups of 8 neighbouring pixels,
   * because a picture's width is a multiple of 8, but not always of 16. */
  __device__ __forceinline__ void store_quarters(uint32_t from, int column, int row, int pitch) const {
    for (int i = 0; i < 2; i++, row += 8, from += 8 * pitch) {
      int y = quotient(row, p.out_w);
      store_quarter(from, &p.y, column, row - y * (int)p.out_w.by, y, w.quarter % 2, w.quarter / 2);
    }
  }

  template <int COLUMNS> __device__ __forceinline__ void store(int stage, int column, int high) {
    int warp_row = first_row(high);
    shared_fence();
    __syncwarp();
    if (elect()) {
      uint32_t from = w.stage(stage) + warp_row * COLUMNS * 2;
      if (p.quarter_tiles)
        store_quarters(from, column, w.row + warp_row, COLUMNS * 2);
      else
        store_box(from, &p.y, column, w.row + warp_row);
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
  }

  /* Stores results by plain stores, because the rows of y are shorter than 16 bytes, the least that TMA stores. */
  __device__ __forceinline__ void store_few(int column) const {
    int row = w.row + group * 64 + thread / 32 * 16 + lane / 4;
    column += lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 4; i++)
      if (row + i / 2 * 8 < p.rows && column + i % 2 < p.columns)
        p.few[(row + i / 2 * 8) * (size_t)p.columns + column + i % 2] = __float2half_rn(fmaxf(sum[0][0][i], p.least));
  }

  /* Finishes and stores the results, CHUNKS chunks of columns one after another. Each chunk has a stage: a buffer in
   * shared memory to which its residual is copied. A thread block that stores nothing waits for these copies as well,
   * because it must not end before they do. */
  template <int CHUNK, int CHUNKS, bool GATED> __device__ __forceinline__ void finish_tile(bool stores, int column) {
    /* The rows of y are too short to be stored by TMA. */
    if (p.few) {
      if (stores)
        store_few(column);
      return;
    }
    /* For each chunk of columns: add the residual, activate, store, and release the chunk's stage (buffer in shared
     * memory). */
    const float2 gain = gains();
#pragma unroll
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
      barrier_wait(w.full(at.stage), at.parity);
      if (stores) {
        char *stage = memory + at.stage * T::STAGE_BYTES;
#pragma unroll
        for (int high = 0; high < T::HIGH; high++) {
          if constexpr (GATED)
            finish_gated_chunk(stage, chunk);
          else if (p.has_residual)
            finish_chunk<CHUNK, true>(w.stage(at.stage), chunk, gain, high);
          else
            finish_chunk<CHUNK, false>(w.stage(at.stage), chunk, gain, high);
          store<CHUNK>(at.stage, column + chunk * CHUNK, high);
        }
      }
      if (T::SEVERAL && p.column_tiles) {
        wait_for_stores();
        release(at.stage);
      }
      at.advance();
    }
  }

  static constexpr int TOKEN_GROUPS = PRODUCT_TOKENS_MOST / 8;

  /* Turns a row's scores into weights of the values, and returns 1 / sum of them for each of the thread's rows. Scores
   * of places beyond the last token count nothing. This code runs once in a launch, so what counts is how much of it
   * must be fetched: nearly all texts have so many tokens that only the last group has such places. */
  __device__ __forceinline__ void weigh(float (&score)[TOKEN_GROUPS][4], int tokens, float scale,
                                        float (&share)[2]) const {
    constexpr int LAST = TOKEN_GROUPS - 1;
    float top[2];
    OnlineSoftmax softmax;
    softmax.reset();
    if (tokens > LAST * 8)
      mask_columns(reinterpret_cast<float(&)[1][4]>(score[LAST]), tokens - LAST * 8, lane % 4 * 2);
    else
      mask_columns(score, tokens, lane % 4 * 2);
    largest(score, top);
    softmax.begin(top, scale);
    softmax.template exponentiate<true>(score, scale);
    share[0] = inverse_approx(quad_sum(softmax.sum[0]));
    share[1] = inverse_approx(quad_sum(softmax.sum[1]));
  }

  /* Keeps wgmma's operand in its registers until its products are done. */
  template <int STEPS> __device__ __forceinline__ static void hold(uint32_t (&a)[STEPS][4]) {
#pragma unroll
    for (int k = 0; k < STEPS; k++)
#pragma unroll
      for (int i = 0; i < 4; i++)
        asm volatile("" : "+r"(a[k][i])::"memory");
  }

  /* Does the attention of the tile's head: the sums are queries, and the results take their place. */
  __device__ __forceinline__ void attend() {
    const attend_params &a = static_cast<const attend_params &>(p);
    float(&own)[PRODUCT_HEAD / 8][4] = sum[0];
    float score[TOKEN_GROUPS][4], share[2];
    uint32_t query[4][4], weight[TOKEN_GROUPS / 2][4];
    barrier_wait(w.text_full(), 0);
    pack_tile(query, own);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < 4; k++)
      Wgmma<PRODUCT_TOKENS_MOST>::rows(score, query[k], descriptor(describe_rows(w.keys()), k * 32), k > 0);
    wgmma_commit();
    wgmma_wait<0>();
    hold(query);
    pin(score);
    weigh(score, a.tokens, a.scale, share);
    pack_tile(weight, score);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < TOKEN_GROUPS / 2; k++)
      Wgmma<PRODUCT_HEAD>::values(own, weight[k], descriptor(describe_columns(w.values(), 0), k * 2048), k > 0);
    wgmma_commit();
    wgmma_wait<0>();
    hold(weight);
    pin(own);
    scale_rows<PRODUCT_HEAD / 8>(own, share);
  }

  __device__ __forceinline__ void finish() {
    if constexpr (T::ATTENDS) {
      attend();
      finish_tile<T::CHUNK, T::CHUNKS, false>(true, w.column);
      wait_for_stores();
      return;
    }
    if (T::SUMS && p.pair == PAIR_SUM) {
      add_pair();
      bool stores = p.splits == 1 || add_splits<T::HALF>();
      finish_tile<T::HALF, 1, false>(stores, w.column + rank * T::HALF);
    } else {
      bool stores = T::HIGH > 1 || p.splits == 1 || add_splits<T::N>();
      if (T::GATED && p.gate)
        finish_tile<T::CHUNK, T::CHUNKS / 2, T::GATED>(stores, w.column);
      else
        finish_tile<T::CHUNK, T::CHUNKS, false>(stores, w.column);
    }
    wait_for_stores();
  }
};

} // namespace product_sm90

#endif
