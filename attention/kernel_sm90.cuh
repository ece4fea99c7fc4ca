/* Flash attention for Hopper: TMA copies, wgmma, one producer and up to four consumer warpgroups a thread block.
 *
 * Tiles. A consumer warpgroup owns 64 rows of Q. S = Q K^T (64 x BN) stays in its registers, is turned into
 * probabilities there, and is the A operand of O += P V straight from registers.
 *
 *        ROW_GROUPS = 3: the groups own 192 rows and share        KEY_GROUPS = 2: the groups own the same
 *        every block of keys                                      64 rows and take every other block of keys
 *
 *        Q0 [64]  | K0 V0 | K1 V1 | K2 V2 | ...                   Q [64]  | K0 V0 |       | K2 V2 |       ...
 *        Q1 [64]  |   "   |   "   |   "   |                         "     |       | K1 V1 |       | K3 V3
 *        Q2 [64]  |   "   |   "   |   "   |                       merged through shared memory at the end
 *
 * SLICES = 2, for head dims whose O is too large for one thread block: a cluster of two thread blocks owns the same
 * rows and takes the same blocks of keys. Each has half of the channels of Q, K, V and O, so its product of Q and K is
 * a part of every score. Each thread therefore sends its scores to the thread with the same rows and keys in the other
 * thread block (st.async, counted by a barrier there), and adds the scores that it receives. From there on each thread
 * block works as on a head of its own.
 *
 * PARTS = 2, for tiles that fill less than half of the chip: a cluster of two thread blocks owns the same rows, and
 * each takes half of the blocks of keys. At the end each sends the other its results for half of the rows, adds the
 * results that it receives for its own half, and stores that half.
 *
 * Pipeline. The producer has STAGES blocks of K and V under way; full barriers count the bytes that arrived, empty
 * barriers the warps that are done. A consumer issues the next S = Q K^T and the last O += P V together. The row groups
 * do so in turns: while one is in its softmax (special function units), the others' products keep the tensor cores
 * busy.
 *
 *   group 0   | S1 PV0 |  softmax 1  | S2 PV1 |  softmax 2  |
 *   group 1            | S1 PV0 |  softmax 1  | S2 PV1 |  softmax 2  |
 *   group 2                     | S1 PV0 |  softmax 1  | S2 PV1 |
 *
 * The groups get their first scores at nearly the same time. So that they alternate from then on, their first
 * exponentials go in order, one group after the other.
 *
 * A launch's first and last microsecond go to latencies: instruction cache misses, divisions, copies. To shorten them,
 * the producer initialises the barriers and begins to load before the other warps are ready. It divides by multiplying
 * with constants from the host, and writes the tile's coordinates to shared memory for the consumers that store the
 * tile.
 *
 * The exponentials limit the softmax: those of one instruction (one for each thread of a warp) take eight cycles.
 * Packing to FP16 fits in between. With D = 64 the tensor cores compute the row sums, too: V gets eight more channels,
 * all ones. All stages share one tile of ones in shared memory: V's descriptor has a field for the distance from V's
 * chunk of 64 channels to the next chunk, and this field is set so that the tile of ones is that next chunk.
 *
 * Roofline, D = 64: a 64 x 64 square of S costs the tensor cores of a multiprocessor 256 cycles (both products) and the
 * special function units another 256 (16 exponentials a cycle). Both are the limit, and memory is not, because 192 rows
 * use each block of K and V. With larger D the products dominate.
 *
 * Work. Row tiles rarely fill the chip evenly. Balanced launches divide all pairs of a row tile and a block of keys, in
 * order, into equal ranges, one for each thread block. The pieces of a tile that is cut this way store partial results
 * in the workspace. The thread block that finishes last adds them up, in the order of the keys, so that results do not
 * depend on timing. cuts.h has the division. */
#ifndef ATTENTION_KERNEL_SM90_CUH
#define ATTENTION_KERNEL_SM90_CUH

#include "partial_sm90.cuh"
#include "pipeline_sm90.cuh"
#include "softmax.cuh"

namespace attention {

/* ---- consumers: the warpgroups that compute ----------------------------------------------------------------- */

/* Numbers of the named barriers, by which the warps of a thread block wait for each other. */
enum {
  BARRIER_START = 0,
  /* barrier 1 + i, for consumer i (a warpgroup that computes), 0 to 3: consumer i waits for its turn at the tensor
   * cores or exponentials */
  BARRIER_TURN = 1,
  /* barrier 5 + i, for consumer i, 0 to 3: the four warps of consumer i wait for each other */
  BARRIER_GROUP = 5,
  /* barrier 8 + i, for consumer i, 1 to 3: consumer i waits until consumer i - 1 has computed its first exponentials */
  BARRIER_FIRST = 8
};

/* Starts the product S = Q K^T. q, k: wgmma's descriptors of the first channels of Q and K. */
template <class T>
__device__ __forceinline__ void multiply_keys_async(float (&s)[T::BN / 8][4], uint32_t q, uint32_t k) {
#pragma unroll
  for (int d = 0; d < (T::DP + 15) / 16; d++) {
    int chunk = d / 4, within = d % 4 * 32;
    Wgmma<T::BN>::scores(s, descriptor(q, chunk * T::Q_CHUNK_BYTES + within),
                         descriptor(k, chunk * T::CHUNK_BYTES + within), d != 0);
  }
  wgmma_commit();
}

/* Returns the number that is added to V's descriptor to move its address by this many bytes. With T::SUMS, a second
 * field of the descriptor is the distance from V's chunk of channels to the chunk of ones. The ones stay where they
 * are, so this distance becomes smaller by the same amount. */
template <class T> __device__ __forceinline__ uint32_t values_step(int bytes) {
  return bytes / 16 * (T::SUMS ? 1u - (1u << 16) : 1u);
}

/* Starts the product O += P V. v: wgmma's descriptor of the first keys of V. */
template <class T>
__device__ __forceinline__ void multiply_values_async(float (&o)[T::O_GROUPS][4], const uint32_t (&p)[T::BN / 16][4],
                                                      uint32_t v) {
#pragma unroll
  for (int k = 0; k < T::BN / 16; k++)
    Wgmma<8 * T::O_GROUPS>::values(o, p[k], descriptor(v + values_step<T>(k * 2048), 0), 1);
  wgmma_commit();
}

/* Keeps the compiler from reusing the operand's registers before this point: wgmma reads them until a wait says that
 * it is done. */
template <int STEPS> __device__ __forceinline__ void pin_operand(uint32_t (&p)[STEPS][4]) {
#pragma unroll
  for (int k = 0; k < STEPS; k++)
#pragma unroll
    for (int i = 0; i < 4; i++)
      asm volatile("" : "+r"(p[k][i])::"memory");
}

template <class T> struct Consumer {
  const params_sm90 &p;
  const Work<T> &work;
  Shared<T> shared;
  char *memory; /* pointer to the thread block's shared memory */
  /* for each consumer, in shared memory: if its tile's keys are divided among several clusters, how many other
   * clusters finished their part of the tile before this one (merge_pieces) */
  int *arrived;
  int row_group, key_group, consumer, thread, lane;
  /* wgmma's descriptors of this group's Q, and of the first stage (buffer) of K and of V */
  uint32_t q_rows, k_rows, v_columns;
  Ring<T> k_ring, v_ring;
  int inbox_parity;
  /* the output before it is divided by the row sums; with T::SUMS its last 8 columns are these sums */
  float o[T::O_GROUPS][4];
  OnlineSoftmax softmax;

  __device__ __forceinline__ void release(uint32_t empty) const {
    if (lane == 0)
      barrier_arrive(empty);
  }

  __device__ __forceinline__ void group_sync() const {
    named_sync(BARRIER_GROUP + consumer, 128);
  }

  /* How the results' rows are stored. BY_WARP: true: each warp stores its own 16 rows; false: the four warps store
   * their 64 rows together. leads() returns true in the thread that starts the store. */
  static constexpr bool BY_WARP = T::STORE_ROWS == 16;
  __device__ __forceinline__ bool leads() const {
    return (BY_WARP ? lane : thread) == 0;
  }

  /* The consumers do one step of the loop (T::TURNS says which) one after the other. turn_begin waits for this
   * consumer's turn; turn_end hands the turn to the next consumer. zero: always 0, but computed from earlier results,
   * so that the compiler keeps the order (see the comments in `probabilities`). */
  __device__ __forceinline__ void turn_begin() const {
    named_sync(BARRIER_TURN + consumer, 256);
  }
  __device__ __forceinline__ void turn_end(uint32_t zero) const {
    named_arrive(BARRIER_TURN + (consumer + 1) % T::CONSUMERS + zero, 256);
  }

  /* first_begin waits until the previous consumer has computed its first exponentials, first_end lets the next one
   * begin. All consumers get their first scores at nearly the same time; without this order all would be slow, and
   * finish together. */
  __device__ __forceinline__ void first_begin() const {
    if (consumer > 0)
      named_sync(BARRIER_FIRST + consumer, 256);
  }
  __device__ __forceinline__ void first_end(uint32_t zero) const {
    if (consumer < T::CONSUMERS - 1)
      named_arrive(BARRIER_FIRST + consumer + 1 + zero, 256);
  }

  __device__ __forceinline__ void mask(float (&s)[T::BN / 8][4], int j) const {
    int valid = work.valid(p, j);
    if (valid < T::BN)
      mask_columns(s, valid, lane % 4 * 2);
  }

  /* In the last block of the appended values (v2, for example those of earlier frames), zeroes the rows that are not in
   * use. Their probabilities are 0, but 0 times an infinity or a NaN in that memory would be NaN. */
  __device__ __forceinline__ void clear_stale(int j) const {
    int valid = work.valid(p, j);
    if (j < work.split || valid >= T::BN)
      return;
    barrier_wait(shared.v_full(v_ring.stage), v_ring.parity);
    for (int c = 0; c < T::CHUNKS; c++) {
      char *rows = memory + T::V_OFFSET + v_ring.stage * T::TILE_BYTES + c * T::CHUNK_BYTES;
      for (int i = valid * 8 + thread; i < T::BN * 8; i += 128)
        *reinterpret_cast<uint4 *>(rows + i * 16) = make_uint4(0, 0, 0, 0);
    }
    shared_fence();
    group_sync();
  }

  /* Adds to the scores the part from the other half of the channels, which the cluster's other thread block has
   * computed. Each thread exchanges its part with the thread there that has the same rows and keys. Both get the same
   * sums to the bit, so both take the same decisions from here on. */
  __device__ __forceinline__ void add_other_slice(float (&s)[T::BN / 8][4]) {
    if constexpr (T::SLICES > 1) {
      int warp = consumer * 4 + thread / 32, other = slice_of_block<T>() ^ 1;
      uint32_t inbox = shared.inbox(warp) + lane * 16, full = shared.inbox_full(warp);
      uint32_t remote_inbox = cluster_address(inbox, other), remote_full = cluster_address(full, other);
      if (lane == 0)
        barrier_expect(full, T::INBOX_WARP_BYTES);
      barrier_wait(shared.outbox_empty(warp), inbox_parity ^ 1);
#pragma unroll
      for (int g = 0; g < T::BN / 8; g++)
        send(remote_inbox + g * 512, s[g], remote_full);
      barrier_wait(full, inbox_parity);
      const float4 *other_scores = reinterpret_cast<const float4 *>(memory + (inbox - shared.base));
#pragma unroll
      for (int g = 0; g < T::BN / 8; g++) {
        float4 x = other_scores[g * 32];
        s[g][0] += x.x;
        s[g][1] += x.y;
        s[g][2] += x.z;
        s[g][3] += x.w;
      }
      __syncwarp();
      if (lane == 0)
        barrier_arrive_remote(cluster_address(shared.outbox_empty(warp), other));
      inbox_parity ^= 1;
    }
  }

  /* Turns a block's scores into probabilities and updates the softmax state. FIRST: the block is the consumer's first
   * block of keys for this tile. In later blocks the previous block's product O += P V still reads `probability` and
   * adds to `o`. It must end before either is written; normally it already has, because finding the maxima takes
   * longer. */
  template <bool FIRST>
  __device__ __forceinline__ void probabilities(float (&s)[T::BN / 8][4], uint32_t (&probability)[T::BN / 16][4]) {
    float top[2], keep[2];
    /* Find the maxima, and with them the reference m of each row (the score that is subtracted from all). */
    largest(s, top);
    if constexpr (FIRST) {
      softmax.begin(top, p.scale);
    } else {
      bool changed = softmax.expect(top, p.scale, keep);
      wgmma_wait<0>();
      pin(o);
      pin_operand(probability);
      values_done();
      if (changed)
        scale_rows<T::O_GROUPS>(o, keep);
    }
    /* Compute the exponentials, and pack them to the A operand of the next product. */
    constexpr bool IN_TURN = T::TURNS == TURNS_EXPONENTIALS, IN_ORDER = FIRST && T::TURNS == TURNS_PRODUCTS;
    if constexpr (IN_TURN || IN_ORDER) {
      /* The exponentials must be calculated between the two barriers, but the compiler may move arithmetic across
       * barriers. Two data dependencies prevent that: the exponentials need a zero that is read after the first
       * barrier, and the second barrier needs a zero made of the exponentials' signs. */
      IN_TURN ? turn_begin() : first_begin();
      float zero = *reinterpret_cast<volatile float *>(memory + T::ZERO_OFFSET);
      softmax.template exponentiate<!T::SUMS>(s, p.scale, zero);
      pack_tile(probability, s);
      uint32_t signs = 0;
#pragma unroll
      for (int k = 0; k < T::BN / 16; k++)
        signs |= probability[k][0] | probability[k][1] | probability[k][2] | probability[k][3];
      IN_TURN ? turn_end(signs >> 31) : first_end(signs >> 31);
    } else {
      softmax.template exponentiate<!T::SUMS>(s, p.scale);
      pack_tile(probability, s);
    }
  }

  /* scores_done gives the stage (buffer) with the present block of K back to the producer, values_done the stage with
   * the present block of V. */
  __device__ __forceinline__ void scores_done() {
    release(shared.k_empty(k_ring.stage));
    k_ring.advance(T::KEY_GROUPS);
  }
  __device__ __forceinline__ void values_done() {
    release(shared.v_empty(v_ring.stage));
    v_ring.advance(T::KEY_GROUPS);
  }

  /* issue_scores starts the product Q K^T for the next block of K in the ring of buffers, issue_values the product P V
   * for the next block of V. */
  __device__ __forceinline__ void issue_scores(float (&s)[T::BN / 8][4]) const {
    wgmma_fence();
    multiply_keys_async<T>(s, q_rows, k_rows + k_ring.stage * (T::TILE_BYTES / 16));
  }
  __device__ __forceinline__ void issue_values(const uint32_t (&probability)[T::BN / 16][4]) {
    barrier_wait(shared.v_full(v_ring.stage), v_ring.parity);
    wgmma_fence();
    multiply_values_async<T>(o, probability, v_columns + v_ring.stage * values_step<T>(T::TILE_BYTES));
  }

  /* Computes this warpgroup's part of a piece (rows of a tile, range of keys). The result is in o and softmax. */
  __device__ __forceinline__ void attend(const Piece &piece) {
    float s[T::BN / 8][4];
    uint32_t probability[T::BN / 16][4] = {};
    int j = piece.first + key_group;
    if (T::TURNS == TURNS_EXPONENTIALS && (piece.last - piece.first - 1) % T::KEY_GROUPS < key_group) {
      /* This group has one block of keys less than the first group. It therefore hands its last turn to the next group
       * without computing anything. */
      turn_begin();
      turn_end(0);
    }
    if (j >= piece.last)
      return;
    /* The first block of keys: scores and probabilities. */
    barrier_wait(shared.k_full(k_ring.stage), k_ring.parity);
    issue_scores(s);
    wgmma_wait<0>();
    pin(s);
    scores_done();
    add_other_slice(s);
    mask(s, j);
    probabilities<true>(s, probability);

    /* Later blocks of keys: the scores of block j are computed at the same time as O += P V of the block before it. */
    for (j += T::KEY_GROUPS; j < piece.last; j += T::KEY_GROUPS) {
      barrier_wait(shared.k_full(k_ring.stage), k_ring.parity);
      if constexpr (T::TURNS == TURNS_PRODUCTS)
        turn_begin();
      issue_scores(s);
      issue_values(probability);
      if constexpr (T::TURNS == TURNS_PRODUCTS)
        turn_end(0);
      wgmma_wait<1>();
      pin(s);
      scores_done();
      add_other_slice(s);
      mask(s, j);
      probabilities<false>(s, probability);
    }

    /* After the last block of keys only the product of its probabilities and values is left: O += P V. */
    clear_stale(j - T::KEY_GROUPS);
    issue_values(probability);
    wgmma_wait<0>();
    pin(o);
    values_done();
    /* the tensor cores give the whole sums to each of the four threads that share a row; only one may count them */
    if constexpr (T::SUMS)
      for (int r = 0; r < 2; r++)
        softmax.sum[r] = lane % 4 == 0 ? o[T::DP / 8][2 * r] : 0;
  }

  /* Adds up the results of the warpgroups that have the same rows and different keys. Returns true in the warpgroup
   * that has the sum, and false in the others, whose work is done. */
  __device__ __forceinline__ bool merge_groups() {
    if constexpr (T::KEY_GROUPS > 1) {
      constexpr int GROUP_FLOAT4S = T::PARTIAL_BYTES / 16;
      float4 *merge = reinterpret_cast<float4 *>(memory + T::MERGE_OFFSET) + row_group * GROUP_FLOAT4S;
      if (key_group > 0) {
        leave_partial<T>(merge + (key_group - 1) * T::ROW_GROUPS * GROUP_FLOAT4S, o, softmax, thread);
        barrier_arrive(shared.merge_full(row_group));
        return false;
      }
      /* 0 is the parity of the barrier's first phase. There is no other phase, because a thread block that merges
       * results has only one tile. */
      barrier_wait(shared.merge_full(row_group), 0);
      for (int g = 1; g < T::KEY_GROUPS; g++)
        add_partial<T, false>(merge + (g - 1) * T::ROW_GROUPS * GROUP_FLOAT4S, o, softmax, p.scale, thread);
    }
    return true;
  }

  /* Exchanges results between the two thread blocks (parts) that have the same rows and different keys. Each thread
   * block stores the rows of half of its warps, and receives the other's results for these rows. */
  __device__ __forceinline__ void merge_parts() {
    if constexpr (T::PARTS > 1) {
      int own = part_of_block<T>(), within = thread % T::PART_THREADS;
      uint32_t inbox = shared.part(row_group), full = shared.part_full(row_group);
      if (thread / T::PART_THREADS != own) {
        send_partial<T, T::PART_THREADS>(cluster_address(inbox, own ^ 1), cluster_address(full, own ^ 1), o, softmax,
                                         within);
      } else {
        barrier_wait(full, 0);
        add_partial<T, false, T::PART_THREADS>(reinterpret_cast<const float4 *>(memory + (inbox - shared.base)), o,
                                               softmax, p.scale, within);
      }
    }
  }

  __device__ __forceinline__ int slot(int cluster, int tile) const {
    return attn_start(&work.own, cluster) / work.blocks() != tile;
  }
  __device__ __forceinline__ float4 *partial(int cluster, int slot) const {
    int block = cluster * T::SLICES + slice_of_block<T>();
    return p.partials + ((block * 2 + slot) * T::ROW_GROUPS + row_group) * (T::PARTIAL_BYTES / 16);
  }

  /* Called if a tile was cut and this cluster has computed one piece (range of keys) of it. Stores the result in the
   * workspace, in slot 0 of this thread block if the piece is its first one, else in slot 1. The last cluster to finish
   * adds up all results in the order of the keys, and returns true. If there are only two pieces, it need not store its
   * own: a sum of two does not depend on the order. */
  __device__ __forceinline__ bool merge_pieces(const Piece &piece) {
    /* If the tile has two pieces (ranges of keys), find out whether the cluster with the other piece has finished. */
    int first = attn_cluster_of(&work.own, piece.tile * work.blocks());
    int last = attn_cluster_of(&work.own, (piece.tile + 1) * work.blocks() - 1);
    int others = last - first;
    unsigned *arrivals = p.arrivals + (first * T::SLICES + slice_of_block<T>()) * T::ROW_GROUPS + row_group;
    group_sync(); /* other threads of this consumer may not have read arrived[] yet, from the call before */
    if (thread == 0)
      arrived[consumer] = load_acquire(arrivals);
    group_sync();
    bool later_of_two = others == 1 && arrived[consumer] == 1;
    group_sync();
    /* Store the result for this piece (a range of the tile's keys) and count it. Then this cluster is done, unless all
     * other clusters have already finished their pieces of the tile. */
    if (!later_of_two) {
      leave_partial<T>(partial(work.cluster(), slot(work.cluster(), piece.tile)), o, softmax, thread);
      group_sync();
      if (thread == 0)
        arrived[consumer] = add_acquire_release(arrivals, 1);
      group_sync();
      if (arrived[consumer] != others)
        return false;
    }
    /* This cluster was the last to finish its piece (range of keys) of the tile: it adds up the results of all
     * pieces. */
    if (thread == 0)
      *arrivals = 0;
    if (others > 1)
      clear();
    for (int cluster = first; cluster <= last; cluster++)
      if (others > 1 || cluster != work.cluster())
        add_partial<T, true>(partial(cluster, slot(cluster, piece.tile)), o, softmax, p.scale, thread);
    return true;
  }

  /* Normalises o, writes it as FP16 rows to the shared memory of this warpgroup's Q, and stores the rows that this
   * thread block is responsible for. */
  __device__ __forceinline__ void store() {
    /* Normalise: divide by the row sums. */
    int warp_row = thread / 32 * 16, first_row = BY_WARP ? warp_row : 0;
    float inverse[2] = {inverse_approx(quad_sum(softmax.sum[0])), inverse_approx(quad_sum(softmax.sum[1]))};
    scale_rows<T::DP / 8>(o, inverse);
    /* Write FP16 rows to shared memory, swizzled. */
    /* number of the row (of 8 channels) in shared memory whose address this lane gives */
    int stored = warp_row + lane % 16;
    group_sync(); /* wait until all warps of this consumer have read Q, because the rows are written to its memory */
#pragma unroll
    for (int g = 0; g < T::DP / 8; g += 2) {
      int at = g + lane / 16;
      uint32_t to = shared.q(row_group) + g / 8 * T::Q_CHUNK_BYTES + stored * 128 + ((at ^ stored) % 8) * 16;
      uint32_t low = pack_result(o[g][0], o[g][1]), high = pack_result(o[g][2], o[g][3]);
      if (g + 1 < T::DP / 8)
        store_matrices(to, low, high, pack_result(o[g + 1][0], o[g + 1][1]), pack_result(o[g + 1][2], o[g + 1][3]));
      else
        store_matrices(to, low, high);
    }
    shared_fence();
    if constexpr (BY_WARP)
      __syncwarp();
    else
      group_sync();
    /* Store the rows by TMA. */
    if (leads() && thread / T::PART_THREADS == part_of_block<T>()) {
      Place at = *reinterpret_cast<const Place *>(memory + T::PLACE_OFFSET);
#pragma unroll
      for (int c = 0; c < T::CHUNKS; c++)
        tensor_store(shared.q(row_group) + c * T::Q_CHUNK_BYTES + first_row * 128, &p.o, at.channel + c * 64, at.head,
                     at.row + 64 * row_group + first_row, at.batch);
      tensor_stores_finish();
    }
  }

  __device__ __forceinline__ void clear() {
    softmax.reset();
#pragma unroll
    for (int g = 0; g < T::O_GROUPS; g++)
#pragma unroll
      for (int i = 0; i < 4; i++)
        o[g][i] = 0;
  }
};

/* Runs a consumer warpgroup over all pieces (ranges of keys of a tile) of its thread block, beginning with `piece`. */
template <class T>
__device__ __forceinline__ void consume(const params_sm90 &p, Work<T> work, Piece piece, Shared<T> shared, char *memory,
                                        int *arrived, int warpgroup) {
  Consumer<T> c = {p, work, shared, memory, arrived};
  c.row_group = warpgroup % T::ROW_GROUPS;
  c.key_group = warpgroup / T::ROW_GROUPS;
  c.consumer = warpgroup;
  c.thread = threadIdx.x % 128;
  c.lane = threadIdx.x % 32;
  c.q_rows = describe_rows(shared.q(c.row_group));
  c.k_rows = describe_rows(shared.k(0));
  c.v_columns = describe_columns(shared.v(0), T::SUMS ? T::ONES_OFFSET - T::V_OFFSET : T::CHUNK_BYTES);
  c.k_ring = c.v_ring = {c.key_group, 0};
  c.inbox_parity = 0;
  if (T::TURNS != TURNS_NONE && c.consumer == T::CONSUMERS - 1)
    c.turn_end(0); /* consumer 0 has the first turn, which the last consumer gives to it here */
  if constexpr (T::CLUSTER > 1)
    cluster_wait(); /* the cluster's other thread block must run before anything is sent to it */
  int q_parity = 0;
  for (bool more = true; more; more = work.next(piece), q_parity ^= 1) {
    c.clear();
    barrier_wait(shared.q_full(c.row_group), q_parity);
    c.attend(piece);
    if (!c.merge_groups())
      continue;
    c.merge_parts();
    if (!T::CUTS || (piece.first == 0 && piece.last == work.blocks()) || c.merge_pieces(piece))
      c.store();
    if (c.leads())
      barrier_arrive(shared.q_empty());
  }
  /* This thread block must not end while the cluster's other thread block may still write to its shared memory. */
  if constexpr (T::SLICES > 1) {
    cluster_arrive();
    cluster_wait();
  }
}

/* The Hopper kernel. With KEY_GROUPS or PARTS > 1 its grid is one cluster for each row tile, otherwise any number of
 * clusters. Some clusters may have no work if the device decides whether row tiles are cut into ranges of keys, by the
 * number of appended keys (k2 in attention.h). */
template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS) attention_sm90_kernel(const __grid_constant__ params_sm90 p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  /* Set up shared memory and barriers, and load the descriptors of the tensors. */
  extern __shared__ char unaligned[];
  /* For each consumer, how many other clusters have finished their part of its tile (merge_pieces). The array also
   * tells present_sm90 that this code was compiled: without it the kernel would have no static shared memory. */
  __shared__ int arrived[T::CONSUMERS];
  launch_dependents();
  uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(unaligned));
  /* aligned to 1024 bytes, the period of TMA's swizzle (permutation of 16-byte chunks) */
  uint32_t aligned = (address + 1023) & ~1023u;
  char *memory = unaligned + (aligned - address);
  /* makes the compiler keep the address in a register instead of calculating it again for each use */
  asm volatile("" : "+r"(aligned));
  Shared<T> shared = {aligned};
  int warpgroup = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
  bool producer = threadIdx.x == T::CONSUMERS * 128;
  if (producer) {
    *reinterpret_cast<float *>(memory + T::ZERO_OFFSET) = 0;
    shared.init_barriers();
  } else if (threadIdx.x == T::CONSUMERS * 128 + 32) {
    tensor_prefetch(&p.q);
    tensor_prefetch(&p.k);
    tensor_prefetch(&p.v);
    tensor_prefetch(&p.o);
  }
  /* The consumers need not wait for earlier kernels: only the producer reads their results, and loads them to shared
   * memory. But with keys and values of earlier frames (k2), all threads read the number of these (count2), so all must
   * wait. */
  int count2 = 0;
  if (p.count2) {
    wait_for_predecessors();
    count2 = attn_second_keys(*p.count2, p.count2_most, p.count2_rows);
  }
  /* Divide the work; then one warpgroup becomes the producer, the others consumers. */
  Work<T> work(p, count2);
  Piece piece = {};
  if (!work.next(piece) && T::CUTS)
    return; /* this cluster has no work for this number of keys, and all of its threads return here */
  if constexpr (T::CLUSTER > 1)
    cluster_arrive_relaxed();
  if (warpgroup == T::CONSUMERS) {
    /* The producer waits for no other warp: it has initialised the barriers itself, and its first loads run while the
     * others start. */
    named_arrive(BARRIER_START, T::THREADS);
    registers_give<T::PRODUCER_REGISTERS>();
    if (producer)
      produce<T>(p, work, piece, shared, memory);
  } else {
    if constexpr (T::SUMS) {
      for (int i = threadIdx.x; i < T::ONES_BYTES / 4; i += T::CONSUMERS * 128)
        reinterpret_cast<uint32_t *>(memory + T::ONES_OFFSET)[i] = pack_half2(1, 1);
      shared_fence();
    }
    named_sync(BARRIER_START, T::THREADS);
    registers_take<T::CONSUMER_REGISTERS>();
    consume<T>(p, work, piece, shared, memory, arrived, warpgroup);
  }
#endif
}

} // namespace attention

#endif
