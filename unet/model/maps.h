/* Maps in a plan. */
#ifndef UNET_MODEL_MAPS_H
#define UNET_MODEL_MAPS_H

#include "unet/plan/plan.h"

/* The map of a picture [1, H, W, 3], whose values are 0..1 when they are scaled and biased: [1, H, W, 3], 0..1. Its
 * parameters are those of run.control[control]. Of any kind but MAP_DEPTH, which a network makes. y: where it goes,
 * such as a state; none: it is made. */
struct tensor map_of(struct plan *plan, enum map_kind kind, int control, struct tensor picture, float scale, float bias,
                     struct tensor y);

#endif
