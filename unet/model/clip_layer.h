/* One transformer layer, which CLIP's text and vision networks have in common (clip.c). */
#ifndef UNET_MODEL_CLIP_LAYER_H
#define UNET_MODEL_CLIP_LAYER_H

#include "unet/model/net.h"

/* Appends layer number `index` of the network (encoder.layers.INDEX), applied to x [n, 1, tokens, hidden_size], and
 * returns its output. causal: true: each token attends only to itself and to earlier tokens; false: to all. */
struct tensor clip_layer(const struct clip_config *config, const struct net *net, int index, struct tensor x,
                         bool causal);

#endif
