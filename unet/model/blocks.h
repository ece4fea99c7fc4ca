/* The layers of the blocks of diffusers' UNet2DConditionModel. Each function appends a layer's ops to the plan and
 * returns the layer's output.
 *
 * Two inputs of layers are computed outside the U-Net: the time projections that residual blocks add, because they
 * depend on the timestep alone; and the keys and values of all attention to the text, because they depend on the prompt
 * alone. Each is the result of one linear layer, in which the weights of all layers are stacked; walk.h says which
 * channels belong to which layer. */
#ifndef UNET_MODEL_BLOCKS_H
#define UNET_MODEL_BLOCKS_H

#include "unet/model/bank.h"
#include "unet/model/net.h"
#include "unet/model/style.h"
#include "unet/model/walk.h"

/* All that the layers of one call of the U-Net need: the network and its config, the plan, and what other plans have
 * computed for them: time projections, and the keys and values of text, style pictures and earlier frames. */
struct unet_call {
  struct net net;
  const struct unet_config *config;
  const struct walk *walk;
  struct tensor time; /* time projections of all residual blocks for this call: [1, 1, 1, walk.time_channels] */
  struct tensor text; /* keys and values of the text for all layers: [1 or rows, 1, tokens, walk.text_channels] */
  struct unet_style style;
  /* keys and values of earlier frames, to which self-attention attends as well; zeroed: there are none */
  struct bank bank;
  /* Called after each layer of the down blocks and the middle block, with `opaque` and the layer's output x, to append
   * ops that change x in place. NULL: nothing is called. */
  void (*behind)(const void *opaque, const struct unet_layer *layer, struct tensor x);
  const void *opaque;
};

/* The skip connections: outputs of the down blocks' layers, in the order in which they are made. The up blocks read
 * them from the last to the first. */
struct skips {
  struct tensor list[SKIPS_MAX];
  int count;
};

/* Appends one layer of the U-Net's list of layers (walk), applied to x, to the plan. Returns its output. If the layer
 * reads a skip connection, the last entry of skips is removed. If the up blocks need the layer's output, it is appended
 * to skips. */
struct tensor block_layer(const struct unet_call *call, const struct unet_layer *layer, struct tensor x,
                          struct skips *skips);

#endif
