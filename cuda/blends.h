/* Changes of weights that the device computes itself: see struct weight_change.
 *
 * The checkpoint's values lie beside a weight from its first blend on, the adapters' factors as resources of their own.
 * Blends are computed into the shadow of an update, all in one launch. */
#ifndef CUDA_BLENDS_H
#define CUDA_BLENDS_H

#include "cuda_device.h"
#include "kernels/blend.h"

struct blends {
  struct blend_task *tasks;
  const char **names; /* of their weights */
  struct blend_piece *pieces;
  int count, piece_count;
  unsigned tiles;
  bool any_plain, any_other;
};

/* Room for the blends among the changes; blends_free must follow, also on failure. */
int blends_init(struct blends *blends, const struct weight_change *changes, int count, struct error *err);
void blends_free(struct blends *blends);
/* Loads what a blend is made of and adds it. Its rows go to target, which blends_run takes for an offset in the
 * shadow. */
int blends_add(struct blends *blends, struct cuda_device *device, const struct weight_change *change, void *target,
               struct error *err);
/* Bytes of the lists in device memory. */
size_t blends_bytes(const struct blends *blends);
/* Sends the lists there on the stream of loads; args gets what launch_blend needs for all tiles. */
int blends_send(const struct blends *blends, struct cuda_device *device, void *lists, struct blend_args *args,
                struct error *err);
/* What *args.overflow has become as an error; 0: nothing. */
int blends_check(const struct blends *blends, int overflow, struct error *err);
/* Computes all of them, with their lists at such a place in the shadow. Waits for the result, for a value that is
 * not finite is an error. */
int blends_run(struct blends *blends, struct cuda_device *device, size_t lists, struct error *err);

#endif
