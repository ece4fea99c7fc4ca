/* A layer of CLIP's text and vision networks (clip.c). */
#ifndef UNET_MODEL_CLIP_LAYER_H
#define UNET_MODEL_CLIP_LAYER_H

#include "unet/model/net.h"

/* Appends the layer encoder.layers.INDEX to x [n, 1, tokens, hidden_size] and returns its output. With causal, each
 * token attends only to itself and to earlier tokens. */
struct tensor clip_layer(const struct clip_config *config, const struct net *net, int index, struct tensor x,
                         bool causal);

#endif
