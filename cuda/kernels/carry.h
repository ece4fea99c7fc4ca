/* carry.cu: how a run's parameters, and pixels where they do not travel beside other runs, come to the GPU and leave
 * it, and how the host learns that it has ended: all in page-locked memory, which the GPU reads and writes itself. */
#ifndef CUDA_KERNELS_CARRY_H
#define CUDA_KERNELS_CARRY_H

#include "cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows on their way between host and device: addresses, pitches and bytes are multiples of CARRY_UNIT. */
enum { CARRY_UNIT = 16 };
struct carry {
  const uint8_t *from;
  uint8_t *to;
  int from_pitch, to_pitch, bytes, rows; /* bytes: of a row */
} __attribute__((aligned(CARRY_UNIT)));
enum { CARRIES_UP = 3 * SOURCES_MAX, CARRIES_DOWN = BATCH_MAX };

/* That a run has ended, and when it had come how far, by the GPU's clock, in units of RUN_END_NS since its beginning;
 * page-locked. One write brings it all. */
enum { RUN_END_NS = 64 };
struct run_end {
  uint32_t number;                /* the run's */
  uint32_t there, computed, done; /* what is carried up is there, ...; what is carried down is there */
} __attribute__((aligned(16)));

/* What the first launch of a run reads, page-locked; the device has a copy for the others. */
struct run_order {
  struct run_block block; /* first, for launches find it where the order is */
  struct carry up[CARRIES_UP], down[CARRIES_DOWN];
  int ups, downs;
  struct run_end *end;             /* where the last launch writes */
  uint32_t number;                 /* not 0 */
  uint64_t begun, there, computed; /* the device's alone: its clock, ns */
} __attribute__((aligned(CARRY_UNIT)));

/* The orders of two runs and whose turn it is: graphs are captured once, so the order of this run is found on the
 * device. arrived is 0 between launches. */
struct run_ring {
  const struct run_order *order[2];
  unsigned turn, arrived;
};

/* Copies the order whose turn it is to *order, passes the turn on, and carries up what the order says: the first two
 * nodes of every run. */
enum { BEGIN_LAUNCHES = 2 };
cudaError_t launch_begin(const struct launch_queue *queue, struct run_ring *ring, struct run_order *order);
/* Carries down what the order says, and tells the run's end: the last node of every run. */
cudaError_t launch_end(const struct launch_queue *queue, struct run_ring *ring, struct run_order *order);

#ifdef __cplusplus
}
#endif

#endif
