/* The arena (unet/plan/arena.h) of a GPU: working memory that all programs use, one run after the other. The driver
 * reserves a range of addresses, and memory is mapped to it in pieces when a program needs more than there is. */
#ifndef CUDA_ARENA_H
#define CUDA_ARENA_H

#include "cuda/cuda_device.h"

/* Opens the arena. If the driver or the GPU cannot reserve addresses, this succeeds without an arena, and each program
 * gets working memory of its own. Returns -1 if host memory for the arena's list is missing. */
int cuda_arena_open(struct cuda_device *device, struct error *err);
void cuda_arena_close(struct cuda_device *device); /* no program may be left when it is called */

#endif
