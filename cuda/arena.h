/* A GPU's arena (unet/plan/arena.h): working memory that all programs (prepared plans) of the device share, because
 * only one of them runs at a time. The driver reserves a range of addresses once. Device memory is mapped to its
 * beginning, block by block, as soon as a program needs more than is mapped already. */
#ifndef CUDA_ARENA_H
#define CUDA_ARENA_H

#include "cuda/cuda_device.h"

/* Opens the arena, the working memory that all programs (prepared plans) share. If the driver or the GPU cannot reserve
 * addresses, there is no arena: the call succeeds, and each program gets working memory of its own. Returns -1 if host
 * memory runs out. */
int cuda_arena_open(struct cuda_device *device, struct error *err);
void cuda_arena_close(struct cuda_device *device); /* closes the arena, once no program uses it any more */

#endif
