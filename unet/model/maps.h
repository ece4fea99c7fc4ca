/* Appends to a plan the ops that make a map. */
#ifndef UNET_MODEL_MAPS_H
#define UNET_MODEL_MAPS_H

#include "unet/plan/plan.h"

/* Appends the map of a picture [1, H, W, 3], for which x * scale + bias is in 0..1, and returns it: [1, H, W, 3] in
 * 0..1. Its parameters are those of run.control[control]. kind is any but MAP_DEPTH, which a network computes. y is the
 * destination, such as a state; without one a temporary is made. */
struct tensor map_of(struct plan *plan, enum map_kind kind, int control, struct tensor picture, float scale, float bias,
                     struct tensor y);

#endif
