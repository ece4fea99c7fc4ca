/* The layers of UNet2DConditionModel's blocks. Each function appends a layer's ops to the plan and returns its output.
 *
 * Two inputs of layers are computed outside the U-Net, because they depend on the timestep alone or on the prompt
 * alone: the res blocks' time projections, and the keys and values of all attention to the text. Each comes from one
 * linear layer with the stacked weights of all layers; the walk (walk.h) says which channels belong to which layer. */
#ifndef UNET_MODEL_BLOCKS_H
#define UNET_MODEL_BLOCKS_H

#include "unet/model/net.h"
#include "unet/model/style.h"
#include "unet/model/walk.h"

/* The data that all layers of one U-Net call share. */
struct unet_call {
  struct net net;
  const struct unet_config *config;
  const struct walk *walk;
  struct tensor time; /* [1, 1, 1, walk.time_channels]: the row of this step */
  struct tensor text; /* [1 or rows, 1, tokens, walk.text_channels] */
  struct unet_style style;
  /* Called after each layer of the down blocks and the middle block, with its output. May be NULL. */
  void (*behind)(const void *opaque, const struct unet_layer *layer, struct tensor x);
  const void *opaque;
};

/* Outputs of the down blocks, which the up blocks take in reverse order. */
struct skips {
  struct tensor list[SKIPS_MAX];
  int count;
};

/* Appends one layer of the walk. It takes a skip connection from skips, or adds its output there, if the layer says
 * so. */
struct tensor block_layer(const struct unet_call *call, const struct unet_layer *layer, struct tensor x,
                          struct skips *skips);

#endif
