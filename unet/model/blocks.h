/* The layers of UNet2DConditionModel's blocks. Each appends its ops to the plan and returns its output.
 *
 * Two things that layers need are computed outside the U-Net, because they depend on the timestep alone or the prompt
 * alone: the res blocks' time projections, and the keys and values of all attention to the text. Each kind comes from
 * one linear layer with the weights of all layers stacked; the walk (walk.h) says whose channels are where. */
#ifndef UNET_MODEL_BLOCKS_H
#define UNET_MODEL_BLOCKS_H

#include "unet/model/net.h"
#include "unet/model/style.h"
#include "unet/model/walk.h"

/* What the layers of one U-Net call share. */
struct unet_call {
  struct net net;
  const struct unet_config *config;
  const struct walk *walk;
  struct tensor time; /* [1, 1, 1, walk.time_channels]: this step's row */
  struct tensor text; /* [1 or rows, 1, tokens, walk.text_channels] */
  struct unet_style style;
  /* Called behind each layer of the way down and the middle, with its output; NULL: nobody is. */
  void (*behind)(const void *opaque, const struct unet_layer *layer, struct tensor x);
  const void *opaque;
};

/* Outputs of the way down, which the way up takes from the end. */
struct skips {
  struct tensor list[SKIPS_MAX];
  int count;
};

/* One layer of the walk: takes its skip connection from skips and adds its output there, where it does. */
struct tensor block_layer(const struct unet_call *call, const struct unet_layer *layer, struct tensor x,
                          struct skips *skips);

#endif
