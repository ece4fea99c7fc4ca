/* The arena (unet/plan/arena.h) of a GPU. The driver reserves addresses, and memory is mapped to them in pieces. */
#ifndef CUDA_ARENA_H
#define CUDA_ARENA_H

#include "cuda/cuda_device.h"

/* Opens the arena. Where the driver or the GPU cannot reserve addresses, programs get memory of their own. Fails if
 * there is no memory for the arena's own data. */
int cuda_arena_open(struct cuda_device *device, struct error *err);
void cuda_arena_close(struct cuda_device *device); /* must be called when no program is left */

#endif
