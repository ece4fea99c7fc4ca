/* Chooses the implementation (way) of a convolution or linear layer: the one that the tuning file names for its shape,
 * or else the fastest of those that are timed. */
#ifndef CUDA_WAYS_CHOOSE_H
#define CUDA_WAYS_CHOOSE_H

#include "cuda/ways/way.h"

/* Stores in bytes[] how many bytes of each scratch area (way.h) a convolution or linear layer needs: for each area the
 * most that any implementation needs. bytes[] must be zeroed. */
void product_scratch(const struct cuda_device *device, const struct cuda_program *program, const struct op *op,
                     size_t bytes[SCRATCH_AREAS]);
/* Returns the implementation with which a filled product is done: one that a test forces, that of the tuning file, or
 * else the fastest of those that are now timed. */
struct choice product_choose(struct cuda_device *device, const struct cuda_program *program,
                             const struct product *product);
/* Records the choice for op number `index`, which the launches for the second set of weights use again. */
int product_keep(const struct cuda_device *device, struct cuda_program *program, int index, const struct choice *choice,
                 struct error *err);
/* Appends to program->launches a filled product of op number `index`, but not its prologue. */
int product_append(struct cuda_device *device, struct cuda_program *program, int index, const struct product *product,
                   struct error *err);
/* Makes copies for timing of `count` products, which follow each other in the plan: trials[i] is that of products[i],
 * with operands of its own. Returns -1 if there is not enough memory; nothing is timed then. */
int product_trials(struct cuda_device *device, const struct cuda_program *program, const struct product *products,
                   int count, struct product *trials);
/* Appends the kernel that runs before timed launches of a trial. */
int product_space(const struct product *trial, struct launches *launches, struct error *err);
/* Returns how many seconds launches of trials take; negative: they failed. least, *disturbed: as for launches_time. The
 * caller holds the mutex base.weights, which is unlocked meanwhile. */
double product_time(struct cuda_device *device, const struct launches *launches, double least, bool *disturbed);
/* Returns true if nothing more may be timed for the program, or for any. */
bool product_untimed(const struct cuda_device *device, const struct cuda_program *program);
/* Appends the launches of op number `index`, an OP_CONV, OP_LINEAR or OP_INJECT, to program->launches. */
int product_prepare(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
                    struct error *err);
/* Appends the launches of a linear layer, op number `index`, and of the attention behind it, whose queries are the
 * layer's result and which nothing else reads (FUSED_QUERY). attention: the attention's own launch, which needs no
 * workspace; it is appended unless the fastest way does the attention within the product. */
int query_prepare(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
                  const struct launch *attention, struct error *err);

#endif
