/* carry.cu: copies a run's parameters (and its pixels, if no other picture is in flight) to the GPU, copies the result
 * back, and tells the host that the run has ended. All of it goes through page-locked memory, which the GPU reads and
 * writes itself. */
#ifndef CUDA_KERNELS_CARRY_H
#define CUDA_KERNELS_CARRY_H

#include "cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows to copy between host and device. Addresses, pitches and bytes are multiples of CARRY_UNIT. */
enum { CARRY_UNIT = 16 };
struct carry {
  const uint8_t *from;
  uint8_t *to;
  int from_pitch, to_pitch, bytes, rows; /* bytes: bytes of one row */
} __attribute__((aligned(CARRY_UNIT)));
enum { CARRIES_UP = 3 * SOURCES_MAX, CARRIES_DOWN = BATCH_MAX };

/* Tells the host that a run has ended, and when its stages ended: by the GPU's clock, in units of RUN_END_NS since the
 * run began. It is in page-locked memory, and one write of 16 bytes sets it. */
enum { RUN_END_NS = 64 };
struct run_end {
  uint32_t number; /* number of the run */
  /* times at which the input was copied, the result was calculated, and the result was copied */
  uint32_t there, computed, done;
} __attribute__((aligned(16)));

/* A run's orders to the GPU: parameters, addresses, and copies to make. The host writes it to page-locked memory. The
 * first kernel of the run copies it to device memory, where the run's other kernels read it. */
struct run_order {
  struct run_block block; /* must be the first field: kernels use the address of the order as that of the block */
  struct carry up[CARRIES_UP], down[CARRIES_DOWN];
  int ups, downs;
  struct run_end *end; /* page-locked memory where the run's last kernel writes that the run has ended */
  uint32_t number;     /* number of the run, which the GPU writes to end->number; never 0 */
  /* Written by the device in its own copy: the GPU's clock in ns when the run began, its input was copied, its result
   * was calculated. */
  uint64_t begun, there, computed;
} __attribute__((aligned(CARRY_UNIT)));

/* The addresses of the orders of two runs, in device memory. Runs use them in turn: run number `turn` reads order[turn
 * % 2]. Captured graphs contain only the address of this struct, so that they never change. arrived counts thread
 * blocks of one launch, and is 0 between launches. */
struct run_ring {
  const struct run_order *order[2];
  unsigned turn, arrived;
};

/* launch_begin copies the order whose turn it is to *order, advances ring->turn, and copies the input as the order
 * says. These are the first two nodes of every run. */
enum { BEGIN_LAUNCHES = 2 };
cudaError_t launch_begin(const struct launch_queue *queue, struct run_ring *ring, struct run_order *order);
/* Copies the result as `order` says, and writes to order->end that the run has ended. This is the last node of every
 * run. */
cudaError_t launch_end(const struct launch_queue *queue, struct run_ring *ring, struct run_order *order);

#ifdef __cplusplus
}
#endif

#endif
