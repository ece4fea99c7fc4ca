/* Calculates the weights that adapters change, on the device: the checkpoint's values plus a sum of terms (struct
 * weight_change in unet/plan/device.h). From the first such change on, the device keeps the checkpoint's values of that
 * weight as well. The adapters' factors are resources, like weights. One launch calculates all weights of an update. It
 * writes them to the update's shadow buffer, from which they are copied to their places later. */
#ifndef CUDA_BLENDS_H
#define CUDA_BLENDS_H

#include "cuda_device.h"
#include "kernels/blend.h"

struct blends {
  struct blend_task *tasks;
  const char **names; /* for each changed weight: its name, for error messages; the strings are not owned */
  struct blend_piece *pieces;
  int count, piece_count;
  unsigned tiles;
  bool any_plain, any_other;
};

/* Allocates host memory for the lists of changed weights and of adapters' terms. Changes without such terms
 * (weight_change.blend NULL) are not in these lists. The caller must call blends_free afterwards, even after a
 * failure. */
int blends_init(struct blends *blends, const struct weight_change *changes, int count, struct error *err);
void blends_free(struct blends *blends); /* frees the lists; accepts a zeroed struct */
/* Loads to the device what a change needs: the checkpoint's values of the weight, and the adapters' factors. Appends
 * the change to the lists. target: device address of the first changed row; if blends_run follows, the row's offset in
 * bytes in the shadow buffer (device memory for results). */
int blends_add(struct blends *blends, struct cuda_device *device, const struct weight_change *change, void *target,
               struct error *err);
/* Returns how many bytes of device memory the lists of changed weights, and of the adapters' terms that are added to
 * them, need. */
size_t blends_bytes(const struct blends *blends);
/* Starts to copy two lists to device memory at `lists`: the changed weights, and the adapters' terms that are added to
 * them. The copies run on the CUDA stream on which weights are loaded. Fills *args with the arguments with which
 * launch_blend calculates all changed weights. */
int blends_send(const struct blends *blends, struct cuda_device *device, void *lists, struct blend_args *args,
                struct error *err);
/* Returns 0 if all calculated values are finite, else -1 with an error that names the weight with such a value.
 * overflow: the number that the kernel has left in *args.overflow; 0: all are finite. */
int blends_check(const struct blends *blends, int overflow, struct error *err);
/* Calculates all changed weights, stores them in the shadow buffer (device memory for results), and waits until that is
 * done. lists: offset in bytes, in this buffer, at which the lists of weights and terms are put. Fails if a value is
 * not finite. */
int blends_run(struct blends *blends, struct cuda_device *device, size_t lists, struct error *err);

#endif
