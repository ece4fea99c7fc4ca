/* The arena (unet/plan/arena.h) of a GPU: addresses reserved by the driver, behind which memory is put in pieces. */
#ifndef CUDA_ARENA_H
#define CUDA_ARENA_H

#include "cuda/cuda_device.h"

/* Where the driver or the GPU cannot reserve addresses, programs have memory of their own. On failure there is no
 * memory for the arena itself. */
int cuda_arena_open(struct cuda_device *device, struct error *err);
void cuda_arena_close(struct cuda_device *device); /* no program is left */

#endif
