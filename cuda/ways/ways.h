/* The list of all ways, the implementations of convolutions and linear layers by kernels of this program or by a
 * library. */
#ifndef CUDA_WAYS_WAYS_H
#define CUDA_WAYS_WAYS_H

#include "cuda/ways/way.h"

/* All ways, in the order in which they are timed: of equally fast ones the first is chosen. The first way (gemm) can do
 * every product. */
enum { WAYS = 8, CANDIDATES_MAX = WAYS * WAY_CANDIDATES_MAX };
extern const struct way *const ways[WAYS];

/* Returns the name of a way. It is the name of the way's kind of launch, such as "gemm". */
const char *way_name(const struct way *way);
/* Returns what follows the number of a way's candidate in texts for users: " FP16 sums" if it has those, else "". */
const char *choice_remark(const struct choice *choice);
/* Returns the way with this name, which may be way_pair. NULL: there is none. */
const struct way *way_find(const char *name);

#endif
