/* CLIP's vision network: transformers' CLIPVisionModelWithProjection (vision.c). */
#ifndef UNET_MODEL_VISION_H
#define UNET_MODEL_VISION_H

#include "unet/checkpoint/ip_adapter.h"
#include "unet/plan/plan.h"

/* Encodes patches [1, 1, patches, 3 * patch_size^2], each [3][rows][columns] of normalised values. embedding: true:
 * returns the class token's projection [1, 1, 1, projection_dim] (run.end must be 0); false: all tokens as they enter
 * the last layer, [1, 1, tokens, hidden_size]. */
struct tensor vision_encode(const struct component *weights, const struct vision_config *config, struct plan *plan,
                            struct tensor patches, bool embedding);

#endif
