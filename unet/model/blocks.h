/* The layers of UNet2DConditionModel's blocks. Each function appends a layer's ops to the plan and returns the layer's
 * output.
 *
 * Two inputs of layers are computed outside the U-Net, because they depend on the timestep alone or on the prompt
 * alone: the time projections that res blocks add, and the keys and values of all attention to the text. One linear
 * layer with the stacked weights of all layers computes each of the two; walk.h says which channels belong to which
 * layer. */
#ifndef UNET_MODEL_BLOCKS_H
#define UNET_MODEL_BLOCKS_H

#include "unet/model/bank.h"
#include "unet/model/net.h"
#include "unet/model/style.h"
#include "unet/model/walk.h"

/* The inputs that all layers of one U-Net call share: network, plan, and the two inputs from outside. */
struct unet_call {
  struct net net;
  const struct unet_config *config;
  const struct walk *walk;
  struct tensor time; /* [1, 1, 1, walk.time_channels]: the row of this step */
  struct tensor text; /* [1 or rows, 1, tokens, walk.text_channels] */
  struct unet_style style;
  struct bank bank; /* earlier frames to which self-attention attends as well; zeroed: none */
  /* Called after each layer of the down blocks and the middle block, with the layer's output x; may append ops that
   * change x in place. NULL: not called. */
  void (*behind)(const void *opaque, const struct unet_layer *layer, struct tensor x);
  const void *opaque;
};

/* Outputs of the down blocks' layers, in order. The up blocks take them from the last to the first. */
struct skips {
  struct tensor list[SKIPS_MAX];
  int count;
};

/* Appends one layer of the walk to x and returns its output. If the layer has a skip connection as a second input, the
 * last entry of skips is taken; if its output is kept for the up blocks, it is added to skips. */
struct tensor block_layer(const struct unet_call *call, const struct unet_layer *layer, struct tensor x,
                          struct skips *skips);

#endif
