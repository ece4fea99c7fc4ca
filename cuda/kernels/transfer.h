/* Copies a run's parameters to the GPU, copies the result back, and tells the host that the run has ended
 * (transfer.cu). Input pixels are copied as well, if no other picture is in flight. The GPU itself reads and writes the
 * host's page-locked memory. */
#ifndef CUDA_KERNELS_TRANSFER_H
#define CUDA_KERNELS_TRANSFER_H

#include "cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A copy of rows of bytes between host and device. Addresses, pitches and numbers of bytes are multiples of
 * TRANSFER_UNIT. */
enum { TRANSFER_UNIT = 16 };
struct transfer {
  const uint8_t *from;
  uint8_t *to;
  /* from_pitch, to_pitch: number of bytes from one row to the next; bytes: how many bytes of each row are copied; rows:
   * number of rows */
  int from_pitch, to_pitch, bytes, rows;
} __attribute__((aligned(TRANSFER_UNIT)));
enum { TRANSFERS_UP = 3 * SOURCES_MAX, TRANSFERS_DOWN = BATCH_MAX };

/* The report of a run's last kernel to the host: that the run has ended, and when its stages (copies to the GPU,
 * computing, copies to the host) ended. Times are by the GPU's clock, in units of RUN_END_NS nanoseconds from the
 * beginning of the run. The report is in page-locked memory; the GPU writes it with one store of 16 bytes. */
enum { RUN_END_NS = 64 };
struct run_end {
  uint32_t number; /* number of the run that has ended */
  /* times since the beginning of the run, in units of RUN_END_NS ns. there: the input was copied to the GPU; computed:
   * the result was calculated; done: the result was copied to the host */
  uint32_t there, computed, done;
} __attribute__((aligned(16)));

/* A run's order to the GPU: parameters, addresses, and copies to make. The host writes it to page-locked memory. The
 * run's first kernel copies it to device memory, where the run's other kernels read it. */
struct run_order {
  /* parameters and addresses; must be the first field, because kernels get the address of struct run_order and read a
   * struct run_block there */
  struct run_block block;
  struct transfer up[TRANSFERS_UP], down[TRANSFERS_DOWN];
  int ups, downs;
  struct run_end *end; /* page-locked memory to which the run's last kernel writes that the run has ended */
  uint32_t number;     /* number of the run, which the GPU copies to end->number; never 0 */
  /* written by the GPU, only in the copy of this struct in device memory: the times, in ns of the GPU's clock, at
   * which the run began, its input was copied, and its result was calculated */
  uint64_t begun, there, computed;
} __attribute__((aligned(TRANSFER_UNIT)));

/* Device memory with the addresses of the two orders (struct run_order) of a program's runs. Runs use them in turn: run
 * number `turn` reads order[turn % 2]. Captured graphs contain only the address of this struct, so they need no changes
 * between runs. arrived: number of thread blocks of the present launch that are done; 0 between launches. */
struct run_ring {
  const struct run_order *order[2];
  unsigned turn, arrived;
};

/* Enqueues the first two kernels of a run. They copy the order (parameters, addresses, and copies to make) of run
 * number ring->turn from page-locked memory to *order, increment ring->turn, and make the copies of input pixels that
 * the order lists. */
enum { BEGIN_LAUNCHES = 2 };
cudaError_t launch_begin(const struct launch_queue *queue, struct run_ring *ring, struct run_order *order);
/* Enqueues the last kernel of a run. It makes those copies of the result that *order lists, and writes to order->end
 * that the run has ended. */
cudaError_t launch_end(const struct launch_queue *queue, struct run_ring *ring, struct run_order *order);

#ifdef __cplusplus
}
#endif

#endif
