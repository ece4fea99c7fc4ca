/* The blocks of UNet2DConditionModel. Each appends its ops to the plan and returns its output.
 *
 * Two things every block needs are computed outside the U-Net, because they depend on the timestep alone or the prompt
 * alone: the res blocks' time projections, and the keys and values of all attention to the text. Each kind comes from
 * one linear layer with the weights of all layers stacked; struct slices says whose channels are where. */
#ifndef UNET_MODEL_BLOCKS_H
#define UNET_MODEL_BLOCKS_H

#include "unet/model/net.h"

/* Channels [first, first + count) of the stacked output belong to the layer called name. */
struct slice {
  char name[104];
  int first, count;
};

struct slices {
  struct slice *list;
  int count, capacity;
  int channels; /* of all */
};

/* Appends a slice after the last. Returns -1 when memory is short. */
__attribute__((format(printf, 3, 4))) int slices_add(struct slices *slices, int count, const char *format, ...);
void slices_finish(struct slices *slices);

/* What the blocks of one U-Net call share. */
struct unet_call {
  struct net net;
  const struct unet_config *config;
  const struct slices *times, *texts;
  struct tensor time; /* [1, 1, 1, times->channels]: this step's row */
  struct tensor text; /* [1 or rows, 1, tokens, texts->channels]: a key slice is followed by its value slice */
};

/* Outputs of the way down, which the way up takes from the end. */
struct skips {
  struct tensor list[128];
  int count;
};

/* Residual block number index of the scope. skip (optional) is concatenated to x. */
struct tensor block_res(const struct unet_call *call, int index, struct tensor x, struct tensor skip, int out);
/* Transformer2DModel number index of the scope, as the blocks of this level have it. */
struct tensor block_transformer(const struct unet_call *call, int index, struct tensor x, int level,
                                bool only_cross_attention);
/* DownBlock2D or CrossAttnDownBlock2D; level 0 is the outermost. Appends to skips. */
struct tensor block_down(const struct unet_call *call, int level, struct tensor x, struct skips *skips);
/* UNetMidBlock2DCrossAttn, or UNetMidBlock2D: one res block. */
struct tensor block_mid(const struct unet_call *call, struct tensor x);
/* UpBlock2D or CrossAttnUpBlock2D of the level. Takes from skips. */
struct tensor block_up(const struct unet_call *call, int level, struct tensor x, struct skips *skips);

#endif
