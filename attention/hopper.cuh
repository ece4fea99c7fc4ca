/* Wrappers of Hopper's instructions: mbarriers, the tensor copy engine (TMA), wgmma, named barriers, clusters,
 * programmatic launch. They compile to machine code for sm_90a alone. */
#ifndef ATTENTION_HOPPER_CUH
#define ATTENTION_HOPPER_CUH

#include <cuda.h>
#include <stdint.h>

namespace attention {

/* ---- mbarriers: a phase ends when all expected arrivals and bytes have come --------------------------------- */

__device__ __forceinline__ void barrier_init(uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/* Makes barriers that were just initialised visible to TMA, and to the cluster's other thread blocks after the next
 * cluster_arrive_relaxed. */
__device__ __forceinline__ void barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void barrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ void barrier_expect(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

/* Waits until the barrier's phase of this parity has ended (phases have parity 0 and 1 in turn). In a fresh barrier the
 * phase of parity 1 counts as ended. */
__device__ __forceinline__ void barrier_wait(uint32_t barrier, int parity) {
  uint32_t done;
  do {
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n"
                 "}\n"
                 : "=r"(done)
                 : "r"(barrier), "r"(parity)
                 : "memory");
  } while (!done);
}

/* ---- clusters: thread blocks that run at the same time and access each other's shared memory -------------- */

/* Returns this thread block's number within its cluster. */
__device__ __forceinline__ int cluster_rank() {
  int rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/* Converts an address in this thread block's shared memory to the same place in another thread block's. rank: number of
 * that thread block within the cluster. */
__device__ __forceinline__ uint32_t cluster_address(uint32_t address, int rank) {
  uint32_t remote;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
  return remote;
}

/* Arrives at the cluster's barrier; cluster_wait then waits for all threads of the cluster that have not ended. A
 * thread may do other work between the two calls. */
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}
/* Arrives at the cluster's barrier without release semantics, which would wait for all earlier writes. This is enough
 * after barrier_init_fence, which itself makes the initialised barriers visible. */
__device__ __forceinline__ void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

/* Arrives at another thread block's barrier, to say that a buffer has been read. The arrival releases only towards this
 * thread block; a release towards the cluster would wait for all writes under way. The memory model demands the latter
 * for another thread block. But it is not needed here: a load has returned its value before this instruction is
 * issued. */
__device__ __forceinline__ void barrier_arrive_remote(uint32_t remote) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(remote) : "memory");
}

/* Writes 16 bytes to another thread block's shared memory. The barrier in that memory counts them like bytes that TMA
 * copies. */
__device__ __forceinline__ void send(uint32_t remote, const float (&x)[4], uint32_t remote_barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(remote),
      "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3]), "r"(remote_barrier)
      : "memory");
}

/* ---- counters in global memory, by which thread blocks wait for each other's results ----
 *
 * An addition releases the writes that the calling thread has made before, and those of threads with which it has met
 * at a barrier: other threads see these writes after a later addition or load. */

__device__ __forceinline__ unsigned load_acquire(const unsigned *counter) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
  return value;
}

__device__ __forceinline__ unsigned add_acquire_release(unsigned *counter, unsigned count) {
  unsigned before;
  asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], %2;" : "=r"(before) : "l"(counter), "r"(count) : "memory");
  return before;
}

/* ---- named barriers: a thread block has 16, and number 0 is that of __syncthreads --------------------------- */

__device__ __forceinline__ void named_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ __forceinline__ void named_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/* ---- TMA: the copy engine moves boxes of a tensor [batch][row][head][channel] ------------------------------- */

__device__ __forceinline__ void tensor_prefetch(const CUtensorMap *map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

__device__ __forceinline__ void tensor_load(uint32_t to, const CUtensorMap *map, uint32_t barrier, int channel,
                                            int head, int row, int batch) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
      "[%2];" ::"r"(to),
      "l"(map), "r"(barrier), "r"(channel), "r"(head), "r"(row), "r"(batch)
      : "memory");
}

__device__ __forceinline__ void tensor_store(uint32_t from, const CUtensorMap *map, int channel, int head, int row,
                                             int batch) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map),
               "r"(from), "r"(channel), "r"(head), "r"(row), "r"(batch)
               : "memory");
}

/* Ends the group of stores that this thread has given to TMA, and waits until the shared memory that they read may be
 * reused. */
__device__ __forceinline__ void tensor_stores_finish() {
  asm volatile("cp.async.bulk.commit_group;\n"
               "cp.async.bulk.wait_group.read 0;" ::
                   : "memory");
}

/* Makes this thread's writes to shared memory visible to later reads by TMA and wgmma. */
__device__ __forceinline__ void shared_fence() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* ---- registers of a warpgroup, and programmatic launches ---------------------------------------------------- */

template <int COUNT> __device__ __forceinline__ void registers_give() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}

template <int COUNT> __device__ __forceinline__ void registers_take() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}

/* Allows the next kernel in the stream to become resident before this one has ended. */
__device__ __forceinline__ void launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/* Waits until the kernels before this one in the stream are done and their writes are visible. */
__device__ __forceinline__ void wait_for_predecessors() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

/* ---- wgmma ----------------------------------------------------------------------------------------------- */

/* Make descriptors, which tell wgmma where an operand lies in shared memory. All use the 128-byte swizzle, as TMA
 * writes it: rows of 128 bytes, in groups of 8 (1024 bytes), in which chunk i of 16 bytes of row r is at position i xor
 * (r % 8). Addresses and offsets are in units of 16 bytes.
 *
 * describe_rows is for K-major operands: Q and K, whose rows of 64 channels are rows of the product. The next 16
 * channels lie 32 bytes further, within the swizzled row.
 *
 * describe_columns is for MN-major operands: V, whose rows of 64 channels are keys, the summed dimension. The next 16
 * keys lie 2048 bytes further; chunk_bytes is the distance from the tile of channels 0..63 to that of 64..127.
 *
 * The upper 32 bits are the same for all descriptors and do not change from step to step, so only the lower 32 are
 * stored. */
__device__ __forceinline__ uint32_t describe_rows(uint32_t address) {
  return 1u << 16 | (address & 0x3ffff) >> 4;
}

__device__ __forceinline__ uint32_t describe_columns(uint32_t address, uint32_t chunk_bytes) {
  return chunk_bytes >> 4 << 16 | (address & 0x3ffff) >> 4;
}

__device__ __forceinline__ uint64_t descriptor(uint32_t lower, int bytes) {
  constexpr uint32_t SWIZZLE_128 = 1u << 30, GROUP = 1024 >> 4;
  return (uint64_t)(SWIZZLE_128 | GROUP) << 32 | (lower + bytes / 16);
}

/* Orders register writes before wgmma; must be called before the first wgmma that uses registers written by other
 * instructions. */
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int PENDING> __device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

/* Keeps the compiler from moving uses of the accumulator d across this point: earlier uses stay before it, later ones
 * after it. */
template <int GROUPS> __device__ __forceinline__ void pin(float (&d)[GROUPS][4]) {
#pragma unroll
  for (int g = 0; g < GROUPS; g++)
#pragma unroll
    for (int i = 0; i < 4; i++)
      asm volatile("" : "+f"(d[g][i])::"memory");
}

/* The instruction wgmma for N columns: d (64 x N) = a (64 x 16) b (16 x N), added to the old d if accumulate is true.
 * scores() takes a and b K-major in shared memory. rows() takes a in registers and b K-major in shared memory, values()
 * a in registers and b MN-major in shared memory. */
template <int N> struct Wgmma;

#define ATTENTION_D(g) "+f"(d[g][0]), "+f"(d[g][1]), "+f"(d[g][2]), "+f"(d[g][3])
#define ATTENTION_D4(g) ATTENTION_D(g), ATTENTION_D(g + 1), ATTENTION_D(g + 2), ATTENTION_D(g + 3)
#define ATTENTION_D8(g) ATTENTION_D4(g), ATTENTION_D4(g + 4)

/* Defines Wgmma<N>. LIST: the accumulator's operands as assembly text; A to F: the numbers of the operands after
 * them. */
#define ATTENTION_WGMMA(N, LIST, A, B, C, D, E, F, ...)                                                                \
  template <> struct Wgmma<N> {                                                                                        \
    static __device__ __forceinline__ void scores(float (&d)[N / 8][4], uint64_t a, uint64_t b, int accumulate) {      \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #C ", 0;\n"                                                    \
                   "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.f16.f16 {" LIST "}, %" #A ", %" #B                  \
                   ", p, 1, 1, 0, 0;\n}\n"                                                                             \
                   : __VA_ARGS__                                                                                       \
                   : "l"(a), "l"(b), "r"(accumulate));                                                                 \
    }                                                                                                                  \
    static __device__ __forceinline__ void rows(float (&d)[N / 8][4], const uint32_t (&a)[4], uint64_t b,              \
                                                int accumulate) {                                                      \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #F ", 0;\n"                                                    \
                   "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.f16.f16 {" LIST "}, {%" #A ", %" #B ", %" #C        \
                   ", %" #D "}, %" #E ", p, 1, 1, 0;\n}\n"                                                             \
                   : __VA_ARGS__                                                                                       \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));                             \
    }                                                                                                                  \
    static __device__ __forceinline__ void values(float (&d)[N / 8][4], const uint32_t (&a)[4], uint64_t b,            \
                                                  int accumulate) {                                                    \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #F ", 0;\n"                                                    \
                   "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.f16.f16 {" LIST "}, {%" #A ", %" #B ", %" #C        \
                   ", %" #D "}, %" #E ", p, 1, 1, 1;\n}\n"                                                             \
                   : __VA_ARGS__                                                                                       \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));                             \
    }                                                                                                                  \
  }

#define ATTENTION_TEN(t)                                                                                               \
  "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t "8, %" #t "9"

ATTENTION_WGMMA(8, "%0, %1, %2, %3", 4, 5, 6, 7, 8, 9, ATTENTION_D(0));
ATTENTION_WGMMA(40, ATTENTION_TEN() ", " ATTENTION_TEN(1), 20, 21, 22, 23, 24, 25, ATTENTION_D4(0), ATTENTION_D(4));
ATTENTION_WGMMA(48, ATTENTION_TEN() ", " ATTENTION_TEN(1) ", %20, %21, %22, %23", 24, 25, 26, 27, 28, 29,
                ATTENTION_D4(0), ATTENTION_D(4), ATTENTION_D(5));
ATTENTION_WGMMA(64, ATTENTION_TEN() ", " ATTENTION_TEN(1) ", " ATTENTION_TEN(2) ", %30, %31", 32, 33, 34, 35, 36, 37,
                ATTENTION_D8(0));
ATTENTION_WGMMA(72, ATTENTION_TEN() ", " ATTENTION_TEN(1) ", " ATTENTION_TEN(2) ", %30, %31, %32, %33, %34, %35", 36,
                37, 38, 39, 40, 41, ATTENTION_D8(0), ATTENTION_D(8));
ATTENTION_WGMMA(80, ATTENTION_TEN() ", " ATTENTION_TEN(1) ", " ATTENTION_TEN(2) ", " ATTENTION_TEN(3), 40, 41, 42, 43,
                44, 45, ATTENTION_D8(0), ATTENTION_D(8), ATTENTION_D(9));
/* The arguments of these macros are laid out by hand, because clang-format 14 would indent all but the first line by a
 * hundred columns. */
// clang-format off
ATTENTION_WGMMA(128,
        ATTENTION_TEN() ", " ATTENTION_TEN(1) ", " ATTENTION_TEN(2) ", " ATTENTION_TEN(3) ", " ATTENTION_TEN(4) ", "
        ATTENTION_TEN(5)
        ", %60, %61, %62, %63",
        64, 65, 66, 67, 68, 69, ATTENTION_D8(0), ATTENTION_D8(8));
ATTENTION_WGMMA(160,
        ATTENTION_TEN() ", " ATTENTION_TEN(1) ", " ATTENTION_TEN(2) ", " ATTENTION_TEN(3) ", " ATTENTION_TEN(4) ", "
        ATTENTION_TEN(5) ", " ATTENTION_TEN(6) ", " ATTENTION_TEN(7),
        80, 81, 82, 83, 84, 85, ATTENTION_D8(0), ATTENTION_D8(8), ATTENTION_D4(16));
ATTENTION_WGMMA(184,
        ATTENTION_TEN() ", " ATTENTION_TEN(1) ", " ATTENTION_TEN(2) ", " ATTENTION_TEN(3) ", " ATTENTION_TEN(4) ", "
        ATTENTION_TEN(5) ", " ATTENTION_TEN(6) ", " ATTENTION_TEN(7) ", " ATTENTION_TEN(8)
        ", %90, %91",
        92, 93, 94, 95, 96, 97, ATTENTION_D8(0), ATTENTION_D8(8), ATTENTION_D4(16), ATTENTION_D(20), ATTENTION_D(21),
        ATTENTION_D(22));
ATTENTION_WGMMA(240,
        ATTENTION_TEN() ", " ATTENTION_TEN(1) ", " ATTENTION_TEN(2) ", " ATTENTION_TEN(3) ", " ATTENTION_TEN(4) ", "
        ATTENTION_TEN(5) ", " ATTENTION_TEN(6) ", " ATTENTION_TEN(7) ", " ATTENTION_TEN(8) ", " ATTENTION_TEN(9) ", "
        ATTENTION_TEN(10) ", " ATTENTION_TEN(11),
        120, 121, 122, 123, 124, 125, ATTENTION_D8(0), ATTENTION_D8(8), ATTENTION_D8(16), ATTENTION_D4(24),
        ATTENTION_D(28), ATTENTION_D(29));
ATTENTION_WGMMA(256,
        ATTENTION_TEN() ", " ATTENTION_TEN(1) ", " ATTENTION_TEN(2) ", " ATTENTION_TEN(3) ", " ATTENTION_TEN(4) ", "
        ATTENTION_TEN(5) ", " ATTENTION_TEN(6) ", " ATTENTION_TEN(7) ", " ATTENTION_TEN(8) ", " ATTENTION_TEN(9) ", "
        ATTENTION_TEN(10) ", " ATTENTION_TEN(11)
        ", %120, %121, %122, %123, %124, %125, %126, %127",
        128, 129, 130, 131, 132, 133, ATTENTION_D8(0), ATTENTION_D8(8), ATTENTION_D8(16), ATTENTION_D8(24));
ATTENTION_WGMMA(24,
        ATTENTION_TEN() ", %10, %11",
        12, 13, 14, 15, 16, 17, ATTENTION_D(0), ATTENTION_D(1), ATTENTION_D(2));
ATTENTION_WGMMA(104,
        ATTENTION_TEN() ", " ATTENTION_TEN(1) ", " ATTENTION_TEN(2) ", " ATTENTION_TEN(3) ", " ATTENTION_TEN(4)
        ", %50, %51",
        52, 53, 54, 55, 56, 57, ATTENTION_D8(0), ATTENTION_D4(8), ATTENTION_D(12));
ATTENTION_WGMMA(136,
        ATTENTION_TEN() ", " ATTENTION_TEN(1) ", " ATTENTION_TEN(2) ", " ATTENTION_TEN(3) ", " ATTENTION_TEN(4) ", "
        ATTENTION_TEN(5) ", %60, %61, %62, %63, %64, %65, %66, %67",
        68, 69, 70, 71, 72, 73, ATTENTION_D8(0), ATTENTION_D8(8), ATTENTION_D(16));
ATTENTION_WGMMA(144,
        ATTENTION_TEN() ", " ATTENTION_TEN(1) ", " ATTENTION_TEN(2) ", " ATTENTION_TEN(3) ", " ATTENTION_TEN(4) ", "
        ATTENTION_TEN(5) ", " ATTENTION_TEN(6) ", %70, %71",
        72, 73, 74, 75, 76, 77, ATTENTION_D8(0), ATTENTION_D8(8), ATTENTION_D(16), ATTENTION_D(17));
// clang-format on

#undef ATTENTION_D
#undef ATTENTION_D4
#undef ATTENTION_D8
#undef ATTENTION_TEN
#undef ATTENTION_WGMMA

/* Stores two or four 8x8 matrices of halves to shared memory. Lane l gives the address of row l % 8 of matrix l / 8,
 * and holds elements 2 (l % 4) and the next one of row l / 4 of each matrix. */
__device__ __forceinline__ void store_matrices(uint32_t row, uint32_t a, uint32_t b) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(row), "r"(a), "r"(b) : "memory");
}
__device__ __forceinline__ void store_matrices(uint32_t row, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(a), "r"(b), "r"(c),
               "r"(d)
               : "memory");
}

} // namespace attention

#endif
