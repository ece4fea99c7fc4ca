/* The list of all ways: implementations of convolutions and linear layers, by kernels of this program or by a
 * library. */
#ifndef CUDA_WAYS_WAYS_H
#define CUDA_WAYS_WAYS_H

#include "cuda/ways/way.h"

/* The order in which candidates are timed; among equally fast ones the first is chosen. The first implementation can do
 * every product. */
enum { WAYS = 6, CANDIDATES_MAX = WAYS * WAY_CANDIDATES_MAX };
extern const struct way *const ways[WAYS];

const char *way_name(const struct way *way);
const struct way *way_find(const char *name); /* returns NULL if there is none */

#endif
