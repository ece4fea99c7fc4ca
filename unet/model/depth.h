/* Depth Anything V2: from a picture the relative inverse depth of its pixels, and from that a map for control networks,
 * in which near is bright. DINOv2 as backbone, DPT as neck and head. */
#ifndef UNET_MODEL_DEPTH_H
#define UNET_MODEL_DEPTH_H

#include "unet/base/log.h"
#include "unet/checkpoint/depth_files.h"
#include "unet/plan/plan.h"

struct depth_values;

/* An open model. Resources made from it refer to its files and its memory: keep it open until devices that have loaded
 * them are closed. Threads: one at a time appends to plans. */
struct depth {
  struct depth_files files;
  struct depth_values **values; /* weights that are made from several of the file's */
};

int depth_open(struct depth **depth, const char *folder, struct error *err);
void depth_close(struct depth **depth); /* stores NULL; takes NULL */

/* Patches each way that the network sees of a picture: its shorter side becomes the model's own (518 pixels, 37
 * patches), the longer one in proportion to the nearest patch, and at most four times as much. */
struct depth_grid {
  int rows, columns;
};
struct depth_grid depth_grid(const struct depth *depth, int width, int height);

/* The relative inverse depth, at least 0, of a picture [1, H, W, 3] in which x * scale + bias is 0..1:
 * [1, patch * rows, patch * columns, 1]. */
struct tensor depth_predict(const struct depth *depth, struct plan *plan, struct tensor picture, float scale,
                            float bias);

/* The map [1, H, W, 3] in 0..1 of such a picture, in y where that is given, a state. Its range follows the scene in the
 * plan's state "control NUMBER range", from 1, by map parameter 0 of that control. */
struct tensor depth_map(const struct depth *depth, struct plan *plan, struct tensor picture, float scale, float bias,
                        int control, struct tensor y);

#endif
