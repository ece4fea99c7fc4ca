/* Appends to a plan the op that makes a map (edges, colours, ...) of a picture, for control networks. */
#ifndef UNET_MODEL_MAPS_H
#define UNET_MODEL_MAPS_H

#include "unet/plan/plan.h"

/* Appends the op that makes a map [1, H, W, 3] with values 0..1, and returns the map. picture: [1, H, W, 3], of which x
 * * scale + bias is in 0..1. kind: any but MAP_DEPTH, which a network computes. control: run.control[control] has the
 * map's parameters. y: the tensor that the map is written to, such as a state; no tensor: a new temporary. */
struct tensor map_of(struct plan *plan, enum map_kind kind, int control, struct tensor picture, float scale, float bias,
                     struct tensor y);

#endif
