/* A layer of CLIP's text and vision networks (clip.c). */
#ifndef UNET_MODEL_CLIP_LAYER_H
#define UNET_MODEL_CLIP_LAYER_H

#include "unet/model/net.h"

/* encoder.layers.index; causal: each token sees those before it alone. */
struct tensor clip_layer(const struct clip_config *config, const struct net *net, int index, struct tensor x,
                         bool causal);

#endif
