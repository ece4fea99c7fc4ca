/* Weights that adapters change, calculated by the device: the checkpoint's values plus a sum of terms (struct
 * weight_change in unet/plan/device.h).
 *
 * From the first such change of a weight on, the device also keeps the checkpoint's values. The adapters' factors are
 * resources. All changed weights of an update are calculated in one launch, into a buffer from which they are copied to
 * their places later (the update's shadow buffer). */
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

/* Allocates host memory for those changes that have a blend, out of all `count`. blends_free must be called afterwards,
 * even after a failure. */
int blends_init(struct blends *blends, const struct weight_change *changes, int count, struct error *err);
void blends_free(struct blends *blends);
/* Loads the checkpoint's values and the factors of a change, and appends the change to the lists. target: device
 * address of the first changed row; for blends_run, its offset in the shadow buffer instead. */
int blends_add(struct blends *blends, struct cuda_device *device, const struct weight_change *change, void *target,
               struct error *err);
/* Returns the bytes that the lists of weights and terms take in device memory. */
size_t blends_bytes(const struct blends *blends);
/* Starts to copy the lists to `lists` in device memory, on the stream of loads. *args becomes the arguments of
 * launch_blend for all tiles. */
int blends_send(const struct blends *blends, struct cuda_device *device, void *lists, struct blend_args *args,
                struct error *err);
/* Checks the value that the kernel has left in *args.overflow. 0: all values are finite. Otherwise returns -1 with an
 * error that names the weight. */
int blends_check(const struct blends *blends, int overflow, struct error *err);
/* Calculates all changes into the shadow buffer, in which `lists` is the offset of the lists. Waits for the result, and
 * fails if a value is not finite. */
int blends_run(struct blends *blends, struct cuda_device *device, size_t lists, struct error *err);

#endif
