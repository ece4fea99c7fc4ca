/* Depth Anything V2: computes the relative inverse depth of a picture's pixels, and from it a map for control networks,
 * in which near is bright. The backbone is DINOv2; neck and head are DPT. */
#ifndef UNET_MODEL_DEPTH_H
#define UNET_MODEL_DEPTH_H

#include "unet/base/log.h"
#include "unet/checkpoint/depth_files.h"
#include "unet/plan/plan.h"

struct depth_values;

/* An open model. Resources made from it refer to its files and its memory: it must stay open until the devices that
 * have loaded them are closed. Threads: one at a time appends to plans. */
struct depth {
  struct depth_files files;
  struct depth_values **values; /* weights that are computed from several tensors of the file */
};

int depth_open(struct depth **depth, const char *folder, struct error *err);
void depth_close(struct depth **depth); /* stores NULL; takes NULL */

/* The number of patches in each direction. The picture's shorter side is resized to the model's own size (518 pixels,
 * 37 patches), the longer side in proportion, rounded to whole patches and at most four times as long. */
struct depth_grid {
  int rows, columns;
};
struct depth_grid depth_grid(const struct depth *depth, int width, int height);

/* Appends the network. Returns the relative inverse depth, at least 0, of a picture [1, H, W, 3] for which x * scale +
 * bias is in 0..1: [1, patch * rows, patch * columns, 1]. */
struct tensor depth_predict(const struct depth *depth, struct plan *plan, struct tensor picture, float scale,
                            float bias);

/* Appends the depth map [1, H, W, 3] in 0..1 of a picture as depth_predict takes it, and returns it; y, if given, is
 * the state that it is written to. The depths that become 0 and 1 follow the scene slowly: they are in the plan's state
 * "control NUMBER range" (counted from 1), and run.control[control].param[0] is their speed. */
struct tensor depth_map(const struct depth *depth, struct plan *plan, struct tensor picture, float scale, float bias,
                        int control, struct tensor y);

#endif
