/* The tile shapes of the two attention kernels (the generic one and that for Hopper), and the choice of the fastest
 * shape for given sizes. A shape is a type with all its sizes as constants. The functions that choose depend on their
 * arguments alone; their comments give the reasons. */
#ifndef ATTENTION_TILES_H
#define ATTENTION_TILES_H

#include "attention.h"
#include "cuts.h"

#include <cuda.h>
#include <math_constants.h>

#include <float.h>

namespace attention {

/* Returns scale * log2(e), by which scores become exponents of 2. It is limited to finite values, because a score of 0
 * times infinity would be NaN. */
__host__ __device__ inline float scale_of(const attn_args &a) {
  return fminf(a.scale * CUDART_L2E_F, FLT_MAX);
}

/* Returns the number of row tiles in all heads and batch rows together, if a tile has this many rows. */
inline long tiles_of(const attn_args &a, int rows) {
  return (a.Tq + rows - 1L) / rows * a.H * a.B;
}

/* Head dims are padded to one of a few sizes. The padding is zeros, which the copy to shared memory writes. */

/* ---- generic kernel: tile shapes ---------------------------------------------------------------------------- */

/* Where chunks of 8 channels (16 bytes) lie in rows of shared memory: chunk i of row r is stored as chunk
 * i ^ swizzle(r), so that the same chunk of 8 rows that follow each other lies in 8 different groups of 4 banks. Each
 * row begins at a multiple of 32 bytes: in rows that are padded by 16 bytes instead, each 32 bytes of global memory
 * would be divided between two such units of shared memory, and cp.async would read them twice. */
template <int DP> struct SharedRows {
  static constexpr int CHUNKS = DP / 8, BYTES = DP * 2;
  /* chunks among which a row's number exchanges places: as many as the rows' beginnings leave out of 8 */
  static constexpr int GROUP = CHUNKS % 8 == 0 ? 8 : CHUNKS % 4 == 0 ? 4 : 2;
  static_assert(CHUNKS % 2 == 0, "rows begin at multiples of 32 bytes");

  /* The swizzle of row + 8 is that of row. */
  static __device__ __forceinline__ int swizzle(int row) {
    return row / (8 / GROUP) % GROUP;
  }
  /* Returns the offset of a chunk from the beginning of row 0, in bytes. */
  static __device__ __forceinline__ int at(int row, int chunk) {
    return row * BYTES + (chunk ^ swizzle(row)) * 16;
  }
  /* Returns the address of chunk 0 or 1 of a row, given as `first`, moved on by an even number of chunks that the
   * compiler knows: one instruction at most, where at() takes several. Row 0 must be at a multiple of 16 * GROUP. */
  static __device__ __forceinline__ uint32_t further(uint32_t first, int chunks) {
    return (first ^ chunks % GROUP * 16) + chunks / GROUP * GROUP * 16;
  }
};

template <int DP_, int ROW_WARPS_, int KEY_GROUPS_, int BN_, int SLICES_ = 1> struct TileSm80 {
  static constexpr int DP = DP_;               /* head dim, padded to 16 */
  static constexpr int ROW_WARPS = ROW_WARPS_; /* number of warps, with 16 rows each, that use the same keys */
  /* number of groups of warps that have the same rows but split the keys */
  static constexpr int KEY_GROUPS = KEY_GROUPS_;
  /* number of warps that have the same rows and keys but split the channels */
  static constexpr int SLICES = SLICES_;
  static constexpr int BN = BN_; /* number of keys in a block */
  static constexpr int BM = 16 * ROW_WARPS;
  static constexpr int GROUP_THREADS = 32 * ROW_WARPS * SLICES; /* number of threads that use the same block of keys */
  static constexpr int THREADS = GROUP_THREADS * KEY_GROUPS;
  static constexpr int SLICE = DP / SLICES; /* number of channels that one warp computes */
  using Rows = SharedRows<DP>;              /* rows of Q, K and V in shared memory */
  static constexpr int Q_BYTES = BM * Rows::BYTES;
  static constexpr int TILE_BYTES = BN * Rows::BYTES;
  static constexpr int STAGE_BYTES = 2 * TILE_BYTES;
  static constexpr int SHARED_BYTES = Q_BYTES + KEY_GROUPS * 2 * STAGE_BYTES;
  static_assert(ROW_WARPS == 1 || KEY_GROUPS == 1, "a group is a warp, or the whole thread block");
  static_assert(SLICE % 16 == 0 && BN % 16 == 0, "the shape of mma.m16n8k16");
  static_assert(SLICE / 8 % Rows::GROUP == 0 || SLICES == 1, "a warp's first chunk has no part in the swizzle");
  static_assert(SLICES == 1 || ROW_WARPS * SLICES * BN * 16 * 4 <= Q_BYTES, "room to exchange scores in");
  static_assert(SHARED_BYTES <= 99 * 1024, "the limit of compute capability 8.6 and 8.9");
  static_assert(KEY_GROUPS == 1 || KEY_GROUPS * 16 * (DP + 6) * 4 <= SHARED_BYTES, "room to merge in");
};

/* Returns the largest number of keys, up to 64, for which two blocks of keys and values fit into 99 KB of shared
 * memory. With more than 64, scores would not fit into registers. */
constexpr int tile_keys_sm80(int dp) {
  return dp <= 96 ? 64 : 32;
}
constexpr int tile_keys_sm80_wide(int dp) {
  return dp <= 80 ? 32 : 16;
}

/* Largest head dim that one warp computes alone. Larger ones are split between warps, and have no wide shape (warps
 * that have the same rows and split the keys). */
constexpr int UNSPLIT_DIM_MAX = 160;

/* The long shape (long_sm80.cuh): 4 warps with 32 rows each, for head dims up to LONG_DIM_MAX. With one half it is the
 * shape "ahead": 16 rows each, in tiles that are not cut. */
template <int DP_, int HALVES_> struct TileLongSm80 {
  static constexpr int DP = DP_, BN = 32, THREADS = 128, GROUP_THREADS = THREADS;
  static constexpr int HALVES = HALVES_; /* number of groups of 16 rows that a warp has */
  static constexpr int WARP_ROWS = 16 * HALVES, BM = 4 * WARP_ROWS;
  static constexpr bool CUTS = HALVES > 1; /* true: tiles are cut */
  static constexpr int BLOCKS = 2;         /* number of thread blocks that run on a multiprocessor at a time */
  static constexpr int SLICE = DP;         /* a warp computes all channels */
  static constexpr int O_GROUPS = DP / 8;  /* groups of 8 columns of O */
  using Rows = SharedRows<DP>;             /* rows of Q, K and V in shared memory */
  static constexpr int STAGES = 4;         /* blocks of keys and values in shared memory */
  static constexpr int Q_BYTES = BM * Rows::BYTES, TILE_BYTES = BN * Rows::BYTES;
  /* The flag lies behind all else: a variable of its own would lie ahead, and move all rows by 16 bytes. */
  static constexpr int FLAG_OFFSET = Q_BYTES + 2 * STAGES * TILE_BYTES, SHARED_BYTES = FLAG_OFFSET + 16;
  /* bytes of the partial results (O, maxima and sums) of one thread block for a tile that is cut */
  static constexpr int PARTIAL_BYTES = HALVES * (O_GROUPS + 1) * THREADS * 16;
  static_assert(BLOCKS * (SHARED_BYTES + 1024) <= 100 * 1024, "room on compute capability 8.6 and 8.9");
};
constexpr int LONG_DIM_MAX = 64;

/* The short shape: as tall, with one block for all keys of a prompt of 77 tokens; for head dims up to SHORT_DIM_MAX. */
constexpr int SHORT_KEYS = 80, SHORT_DIM_MAX = 80;

enum shape_sm80 { SM80_TALL, SM80_WIDE, SM80_LONG, SM80_SHORT, SM80_AHEAD, SHAPES_SM80 };

/* Returns true if the long shape can do this, and "ahead": it counts units of work (pairs of a row tile and a block of
 * keys) in int. */
inline bool fits_long(const attn_args &a) {
  long tiles = tiles_of(a, 128), blocks = (a.Tk + (a.k2 ? (long)a.Tk2 : 0)) / 32 + 2;
  return !a.causal && a.D <= LONG_DIM_MAX && tiles < 1l << 30 && tiles * blocks < 1l << 30;
}

/* Chooses the fastest shape of the generic kernel, by the number of keys in k alone: keys in k2, of which none may be
 * used, must not change it. The wide shape reads all keys for every 16 rows, so it pays only where tall tiles would
 * leave half of the chip idle, or a third of it during many keys. The long one needs enough keys: its tiles are cut,
 * and the parts are added up. "Ahead" is better than tall while two thread blocks a multiprocessor are enough, as many
 * as its registers allow. Measured on 132 multiprocessors with head dim 64, us: 5 heads of 1024 rows and keys, tall
 * 16.8, wide 14.8; 20 heads of 256, 5.9 and 6.0; 10 heads of 1024, tall 21.4, long 21.6; 20 heads of 1024, 30.4 and
 * 27.6; 5 heads of 4096 rows and 1024 keys 30.0 and 28.9. */
inline shape_sm80 choose_sm80(const attn_device &device, const attn_args &a) {
  constexpr int LONG_KEYS = 2048, LONG_KEYS_IF_FULL = 1024, WIDE_KEYS = 512, AHEAD_KEYS = 256;
  long tiles = tiles_of(a, 64);
  bool few = 2 * tiles <= device.sms, full = tiles > 2 * device.sms;
  if (a.D > UNSPLIT_DIM_MAX)
    return SM80_TALL;
  if (few || (3 * tiles <= 2 * device.sms && a.Tk >= WIDE_KEYS && a.D <= LONG_DIM_MAX))
    return SM80_WIDE;
  if (a.Tk > tile_keys_sm80(a.D) && a.Tk <= SHORT_KEYS && a.D <= SHORT_DIM_MAX)
    return SM80_SHORT;
  if (fits_long(a) && a.Tk >= (full ? LONG_KEYS_IF_FULL : LONG_KEYS))
    return SM80_LONG;
  return fits_long(a) && a.Tk >= AHEAD_KEYS && !full ? SM80_AHEAD : SM80_TALL;
}

template <int DP> cudaError_t launch_sm80(const attn_args &a, shape_sm80 shape, cudaStream_t stream);

/* Launches the long shape (HALVES 2) or "ahead" (1). arrivals: a counter for each thread block, zero between launches;
 * partials: for each thread block two partial results of TileLongSm80::PARTIAL_BYTES; "ahead" uses neither. */
template <int DP, int HALVES>
cudaError_t launch_long_sm80(const attn_args &a, const attn_cuts &cuts, void *arrivals, void *partials,
                             cudaStream_t stream);

/* ---- Hopper kernel: tile shapes ----------------------------------------------------------------------------- */

enum turns_sm90 { TURNS_NONE, TURNS_PRODUCTS, TURNS_EXPONENTIALS };

template <int DP_, int ROW_GROUPS_, int KEY_GROUPS_, int BN_, int STAGES_, int BLOCKS_ = 1, int SLICES_ = 1,
          int PARTS_ = 1>
struct TileSm90 {
  /* head dim, padded to 8; if two thread blocks split the channels, each one's number of channels */
  static constexpr int DP = DP_;
  static constexpr int ROW_GROUPS = ROW_GROUPS_; /* number of warpgroups, with 64 rows each, that use the same keys */
  static constexpr int KEY_GROUPS = KEY_GROUPS_; /* number of warpgroups that have the same rows but split the keys */
  static constexpr int BN = BN_;                 /* number of keys in a block */
  static constexpr int STAGES = STAGES_;         /* number of blocks of keys and values that shared memory holds */
  static constexpr int BLOCKS = BLOCKS_;         /* number of thread blocks that run on a multiprocessor at a time */
  /* number of thread blocks that have the same rows and keys but split the channels */
  static constexpr int SLICES = SLICES_;
  static constexpr int PARTS = PARTS_; /* number of thread blocks that have the same rows but split the keys */
  static constexpr int CLUSTER = SLICES * PARTS; /* number of thread blocks that work on one tile */
  static constexpr int BM = 64 * ROW_GROUPS;
  static constexpr int CONSUMERS = ROW_GROUPS * KEY_GROUPS;
  /* true: a launch may divide this shape's tiles between clusters as ranges of keys (cuts.h); false: the kernel is
   * compiled without the code for that */
  static constexpr bool CUTS = ROW_GROUPS > 1 && PARTS == 1;
  /* The producer adds one warpgroup. Each quarter of a multiprocessor runs one warp of each warpgroup and has 512
   * registers a lane for them; the producer gives most of its share to the consumers. */
  static constexpr int WARPGROUPS = CONSUMERS + 1;
  static constexpr int THREADS = 128 * WARPGROUPS;
  static constexpr int LAUNCH_REGISTERS = 512 / (WARPGROUPS * BLOCKS) / 8 * 8;
  static constexpr int PRODUCER_REGISTERS = 24;
  static constexpr int SPARE_REGISTERS = (LAUNCH_REGISTERS * WARPGROUPS - PRODUCER_REGISTERS) / CONSUMERS / 8 * 8;
  static constexpr int CONSUMER_REGISTERS = SPARE_REGISTERS < 240 ? SPARE_REGISTERS : 240;
  /* number of chunks of 64 channels in a row; a chunk has 128 bytes, which is one swizzled row */
  static constexpr int CHUNKS = (DP + 63) / 64;
  static constexpr int CHUNK_BYTES = BN * 128;
  static constexpr int TILE_BYTES = CHUNKS * CHUNK_BYTES; /* bytes of K, or of V, for one block of keys */
  static constexpr int Q_CHUNK_BYTES = 64 * 128;
  static constexpr int Q_GROUP_BYTES = CHUNKS * Q_CHUNK_BYTES;
  static constexpr int Q_BYTES = ROW_GROUPS * Q_GROUP_BYTES;
  /* Bytes of a partial result. Each of 128 threads has DP / 8 float4 of O (DP: padded head dim), and one float4 of
   * maxima and sums. */
  static constexpr int PARTIAL_BYTES = (DP / 8 + 1) * 128 * 16;
  static constexpr int K_OFFSET = Q_BYTES, V_OFFSET = K_OFFSET + STAGES * TILE_BYTES;
  /* true: the tensor cores add up each row of P, the softmax's numerators: V gets 8 more columns, all ones (stored
   * once, for 16 keys), and the output O gets 8 more columns for the sums; false: each thread adds up its own columns
   * of P */
  static constexpr bool SUMS = DP == 64;
  static constexpr int O_GROUPS = DP / 8 + SUMS;
  static constexpr int ONES_OFFSET = V_OFFSET + STAGES * TILE_BYTES, ONES_BYTES = SUMS ? 2048 : 0;
  static constexpr int MERGE_OFFSET = ONES_OFFSET + ONES_BYTES;
  /* Buffer for the scores that the other thread block sends, if two thread blocks split the channels. INBOX_OFFSET: its
   * offset in shared memory; INBOX_WARP_BYTES: its size for each warp. */
  static constexpr int INBOX_OFFSET = MERGE_OFFSET + (KEY_GROUPS - 1) * ROW_GROUPS * PARTIAL_BYTES;
  static constexpr int INBOX_WARP_BYTES = SLICES > 1 ? 16 * BN * 4 : 0;
  /* Buffer for the other thread block's results, if two thread blocks split the keys of a tile: each thread block adds
   * up and stores half of the rows of each row group, and gets the other's results for that half. */
  static constexpr int PART_THREADS = 128 / PARTS;
  static constexpr int PART_OFFSET = INBOX_OFFSET + 4 * CONSUMERS * INBOX_WARP_BYTES;
  static constexpr int PART_GROUP_BYTES = PARTS > 1 ? PARTIAL_BYTES / 2 : 0;
  /* Number of rows that one store by TMA writes: 64 (a row group); or 16 (a warp), if two thread blocks each store half
   * of a row group. */
  static constexpr int STORE_ROWS = PARTS > 1 ? 16 : 64;
  /* offset of the coordinates of the current tile (a struct Place of 16 bytes) */
  static constexpr int PLACE_OFFSET = PART_OFFSET + ROW_GROUPS * PART_GROUP_BYTES;
  static constexpr int BARRIER_OFFSET = PLACE_OFFSET + 16;
  static constexpr int SLICE_BARRIERS = SLICES > 1 ? 2 * 4 * CONSUMERS : 0, PART_BARRIERS = PARTS > 1 ? ROW_GROUPS : 0;
  static constexpr int MERGE_BARRIERS = KEY_GROUPS > 1 ? ROW_GROUPS : 0;
  /* true: the producer loads the first keys before Q, and each row group waits only for its own part of Q, so that with
   * many row groups the first one begins early; false: Q comes first */
  static constexpr bool KEYS_FIRST = ROW_GROUPS > 2;
  static constexpr int Q_FULLS = KEYS_FIRST ? ROW_GROUPS : 1, Q_FULL_BYTES = Q_BYTES / Q_FULLS;
  static constexpr int Q_BARRIERS = Q_FULLS + 1, TILE_BARRIERS = Q_BARRIERS + 4 * STAGES;
  static constexpr int BARRIERS = TILE_BARRIERS + SLICE_BARRIERS + PART_BARRIERS + MERGE_BARRIERS;
  /* offset of a float that is always 0; consumers read it to keep the compiler from moving exponentials
   * (`probabilities` in kernel_sm90.cuh) */
  static constexpr int ZERO_OFFSET = BARRIER_OFFSET + BARRIERS * 8;
  /* 1024 bytes more than are used, so that the beginning of the used part can be aligned to 1024 bytes */
  static constexpr int SHARED_BYTES = ZERO_OFFSET + 8 + 1024;
  /* In which step of the loop the warpgroups of a thread block take turns. Two groups with small heads: the
   * exponentials, so that each group has the special function units to itself. Three or four groups would wait too long
   * for that turn. With large heads the matrix products take most of the time. */
  static constexpr turns_sm90 TURNS = CONSUMERS == 1                                    ? TURNS_NONE
                                      : CONSUMERS == 2 && (DP <= 80 || KEY_GROUPS == 2) ? TURNS_EXPONENTIALS
                                      : KEY_GROUPS == 1                                 ? TURNS_PRODUCTS
                                                                                        : TURNS_NONE;
  static_assert(CONSUMERS <= 4 && KEY_GROUPS <= STAGES, "named barriers; a stage for each group");
  static_assert(SLICES == 1 || (SLICES == 2 && KEY_GROUPS == 1), "one other slice to exchange scores with");
  static_assert(SLICES == 1 || CUTS, "choose_sm90 balances them");
  static_assert(!CUTS || BLOCKS == 1, "the workspace has a slot for each multiprocessor");
  static_assert(PARTS == 1 || (PARTS == 2 && SLICES == 1 && KEY_GROUPS == 1),
                "one other part to exchange results with; what else splits keys or channels has its own");
  static_assert(DP % 8 == 0 && BN % 16 == 0 && DP <= 256 && BN <= 256, "the shapes of wgmma and of a TMA box");
  static_assert(BLOCKS * (SHARED_BYTES + 1024) <= 228 * 1024, "the shared memory of a multiprocessor");
};

/* The tile shapes of the Hopper kernel, with the attentions that each is meant for. Some head dims have only some of
 * these shapes. */
enum shape_sm90 {
  /* for long sequences: as many query rows as a thread block can hold, so that each block of keys is read once for all
   * these rows */
  SHAPE_LONG,
  SHAPE_PAIR, /* two warpgroups of a thread block have 64 query rows each */
  /* for attentions with so few tiles that less than half of the multiprocessors would work: as SHAPE_LONG or
   * SHAPE_PAIR, but two thread blocks work on a tile, each with one half of the keys */
  SHAPE_HALVES,
  SHAPE_SPLIT, /* 64 query rows, for which two warpgroups of a thread block split the keys */
  /* for few keys: one warpgroup with 64 query rows and blocks of 80 keys; several thread blocks run on a
   * multiprocessor */
  SHAPE_FEW,
  SHAPE_SHORT, /* for few keys, as SHAPE_FEW: one warpgroup with 64 query rows, but blocks of 64 keys */
  SHAPES_SM90
};

template <int DP, shape_sm90 SHAPE> struct tile_of { using type = void; };
#define ATTENTION_TILE(DP, SHAPE, ...)                                                                                 \
  template <> struct tile_of<DP, SHAPE> { using type = TileSm90<DP, __VA_ARGS__>; }
/* ATTENTION_TILE defines a tile. Its arguments: head dim, shape, row groups, key groups, keys in a block, stages
 * (buffers in shared memory), thread blocks on a multiprocessor, slices, parts. */
ATTENTION_TILE(40, SHAPE_LONG, 4, 1, 80, 4);
ATTENTION_TILE(40, SHAPE_SPLIT, 1, 2, 128, 6);
ATTENTION_TILE(40, SHAPE_FEW, 1, 1, 80, 2, 3);
ATTENTION_TILE(64, SHAPE_LONG, 3, 1, 128, 3);
ATTENTION_TILE(64, SHAPE_PAIR, 2, 1, 128, 3);
ATTENTION_TILE(64, SHAPE_HALVES, 3, 1, 128, 3, 1, 1, 2);
ATTENTION_TILE(64, SHAPE_SPLIT, 1, 2, 128, 6);
ATTENTION_TILE(64, SHAPE_FEW, 1, 1, 80, 2, 3);
ATTENTION_TILE(64, SHAPE_SHORT, 1, 1, 64, 2, 3);
ATTENTION_TILE(80, SHAPE_PAIR, 2, 1, 128, 2);
ATTENTION_TILE(80, SHAPE_HALVES, 2, 1, 128, 2, 1, 1, 2);
ATTENTION_TILE(80, SHAPE_SPLIT, 1, 2, 64, 4);
ATTENTION_TILE(80, SHAPE_FEW, 1, 1, 80, 2, 2);
ATTENTION_TILE(128, SHAPE_PAIR, 2, 1, 128, 2);
ATTENTION_TILE(128, SHAPE_SPLIT, 1, 2, 64, 4);
ATTENTION_TILE(128, SHAPE_FEW, 1, 1, 80, 2);
ATTENTION_TILE(160, SHAPE_PAIR, 2, 1, 80, 2);
ATTENTION_TILE(160, SHAPE_HALVES, 2, 1, 80, 2, 1, 1, 2);
ATTENTION_TILE(160, SHAPE_SPLIT, 1, 2, 64, 3);
ATTENTION_TILE(160, SHAPE_FEW, 1, 1, 80, 2);
/* Head dim 512 runs as two thread blocks with 256 channels each. */
template <> struct tile_of<512, SHAPE_PAIR> { using type = TileSm90<256, 2, 1, 64, 2, 1, 2>; };
#undef ATTENTION_TILE

constexpr int pad_sm90(int d) {
  return d <= 40 ? 40 : d <= 64 ? 64 : d <= 80 ? 80 : d <= 128 ? 128 : d <= 160 ? 160 : 512;
}

/* The sizes of a tile of one shape (enum shape_sm90) for one head dim. rows 0: the kernel was not compiled with
 * this shape for this head dim. */
struct shape_info {
  int rows, keys, row_groups, key_groups;
  /* slices: number of thread blocks that split a tile's channels; parts: number of thread blocks that split its keys */
  int slices, parts;
  int store_rows;       /* number of rows that one store by TMA writes */
  bool cuts;            /* true: tiles of this shape can be divided between clusters as ranges of keys */
  int blocks;           /* number of thread blocks that run on a multiprocessor at a time */
  size_t partial_bytes; /* bytes that a partial result of one row group takes */
};

struct choice_sm90 {
  shape_sm90 shape;
  attn_cutting cutting;
};

/* A divisor that the host knows. Dividing by it takes a thread some hundred cycles, so the kernel multiplies: x / d is
 * x * magic >> shift for all x below 2^31 (Granlund and Montgomery, Division by Invariant Integers using
 * Multiplication, 1994). 2^(shift - 31) is the least power of two that is at least d; magic is 2^shift / d, rounded
 * up. */
struct divisor {
  unsigned magic;
  int shift;
};

/* The parameters with which the Hopper kernel is launched. */
struct params_sm90 {
  CUtensorMap q, k, v, k2, v2, o;
  int row_tiles; /* number of row tiles of one head */
  int heads;
  divisor by_row_tiles, by_heads;
  attn_cuts cuts;
  int Tk; /* number of keys in k, at least 1 */
  /* device address of the number of groups of keys in use in k2 (appended to k and v); NULL: there is no k2 */
  const int *count2;
  /* count2_rows: number of keys in each group of k2; count2_most: largest number of groups, to which *count2 is
   * clamped */
  int count2_rows, count2_most;
  /* true: each batch row has keys (values) of its own; false: all batch rows use the ones of batch row 0 */
  bool k_batched, v_batched;
  bool k2_batched, v2_batched;
  float scale; /* factor of the scores, times log2(e), because the exponentials are powers of 2 */
  /* counters for tiles whose keys are divided among several clusters: how many clusters have finished their part of the
   * tile. [thread blocks][row groups]; zero between launches. A tile uses the counter of the cluster that has its first
   * keys */
  unsigned *arrivals;
  /* partial results of tiles whose keys are divided among several clusters: [thread blocks][2][row groups][DP / 8 +
   * 1][128] float4. The 2 is there because a cluster may have parts of two such tiles */
  float4 *partials;
};

shape_info describe_sm90(int dp, shape_sm90 shape);
choice_sm90 choose_sm90(const attn_device &device, const attn_args &a);
size_t workspace_sm90(const attn_device &device, const attn_args &a, choice_sm90 choice);

/* Launches the variant of the Hopper kernel that `choice` names. Returns cudaErrorNotSupported if the kernel was
 * not compiled for this head dim with the tile shape in `choice`. */
cudaError_t run_sm90(const attn_device &device, const attn_args &a, choice_sm90 choice, void *workspace,
                     cudaStream_t stream);

/* Returns true if the program was built with Hopper kernels that run on the current device. */
bool present_sm90();

/* Launches the Hopper kernel for DP, one of the sizes to which head dims are padded. */
template <int DP>
cudaError_t launch_sm90(const params_sm90 &p, shape_sm90 shape, int grid, bool overlap, cudaStream_t stream);

} // namespace attention

#endif
