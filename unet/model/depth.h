/* Depth Anything V2: computes the relative inverse depth of a picture's pixels, and from it a map for control networks,
 * in which near is bright. The backbone is DINOv2; neck and head are DPT. */
#ifndef UNET_MODEL_DEPTH_H
#define UNET_MODEL_DEPTH_H

#include "unet/base/log.h"
#include "unet/checkpoint/depth_files.h"
#include "unet/plan/plan.h"

struct depth_values;

/* A depth model whose files are open. The weights of plans made from it refer to its files and its memory: it must stay
 * open until the devices that have loaded them are closed. Threads: one at a time appends to plans. */
struct depth {
  struct depth_files files;
  /* weights that were computed from several tensors of the file (depth_weights.h) */
  struct depth_values **values;
};

int depth_open(struct depth **depth, const char *folder, struct error *err);
void depth_close(struct depth **depth); /* closes the model; *depth becomes NULL; does nothing if it is NULL */

/* The picture's size for the network, in patches along each side. A picture is first resized: its shorter side to the
 * model's own size (518 pixels, 37 patches), its longer side in proportion, rounded to whole patches, but at most four
 * times the shorter one. */
struct depth_grid {
  int rows, columns;
};
struct depth_grid depth_grid(const struct depth *depth, int width, int height);

/* Appends the depth network for a picture [1, H, W, 3] of which x * scale + bias is in 0..1. Returns the relative
 * inverse depth, [1, patch * rows, patch * columns, 1]: at least 0, and larger for what is nearer. */
struct tensor depth_predict(const struct depth *depth, struct plan *plan, struct tensor picture, float scale,
                            float bias);

/* Appends the ops for the depth map [1, H, W, 3] in 0..1 of a picture (see depth_predict), and returns the map. y: the
 * state that it is written to; no tensor: a temporary.
 *
 * The depths that become 0 and 1 follow the scene slowly, at the speed run.control[control].param[0]. They are stored
 * in the plan's state "control NUMBER range" (counted from 1). */
struct tensor depth_map(const struct depth *depth, struct plan *plan, struct tensor picture, float scale, float bias,
                        int control, struct tensor y);

#endif
