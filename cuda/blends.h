/* Changes of weights that the device calculates itself: see struct weight_change.
 *
 * From a weight's first blend on, the device also keeps the checkpoint's values. The adapters' factors are resources of
 * their own. All blends of an update are calculated in one launch, into the update's shadow buffer. */
#ifndef CUDA_BLENDS_H
#define CUDA_BLENDS_H

#include "cuda_device.h"
#include "kernels/blend.h"

struct blends {
  struct blend_task *tasks;
  const char **names; /* names of the weights, for error messages */
  struct blend_piece *pieces;
  int count, piece_count;
  unsigned tiles;
  bool any_plain, any_other;
};

/* Allocates memory for the blends among the changes. blends_free must follow, also after a failure. */
int blends_init(struct blends *blends, const struct weight_change *changes, int count, struct error *err);
void blends_free(struct blends *blends);
/* Loads the operands of a blend and adds it. target: where its rows go; for blends_run this is an offset in the shadow
 * buffer. */
int blends_add(struct blends *blends, struct cuda_device *device, const struct weight_change *change, void *target,
               struct error *err);
/* Returns the bytes of the lists in device memory. */
size_t blends_bytes(const struct blends *blends);
/* Copies the lists to the device, on the stream of loads. args gets the arguments of launch_blend for all tiles. */
int blends_send(const struct blends *blends, struct cuda_device *device, void *lists, struct blend_args *args,
                struct error *err);
/* Turns the value of *args.overflow into an error; 0 is none. */
int blends_check(const struct blends *blends, int overflow, struct error *err);
/* Calculates all blends. lists: offset of the lists in the shadow buffer. Waits for the result, because a value that is
 * not finite is an error. */
int blends_run(struct blends *blends, struct cuda_device *device, size_t lists, struct error *err);

#endif
