/* The walk over a U-Net's blocks: a list of its layers in the order in which they run, with names and channels. All
 * code that goes through the blocks, or computes data that each layer has (time projections, keys and values of the
 * text), uses this list. */
#ifndef UNET_MODEL_WALK_H
#define UNET_MODEL_WALK_H

#include "unet/checkpoint/checkpoint.h"

enum unet_part { UNET_DOWN, UNET_MID, UNET_UP };
enum unet_layer_kind { LAYER_RES, LAYER_TRANSFORMER, LAYER_DOWNSAMPLE, LAYER_UPSAMPLE };

struct unet_layer {
  enum unet_layer_kind kind;
  enum unet_part part;
  char name[64]; /* name in the checkpoint: "down_blocks.0.resnets.1" */
  int in;        /* channels of its input */
  int skip; /* channels of the skip connection that a res block of the up blocks concatenates to its input; 0: none */
  int out;  /* channels of its output */
  int halvings; /* how often the latent's sides were halved before the layer */
  bool kept;    /* the output is a skip connection for the up blocks */
  int level;    /* 1 + index of the T2I-Adapter's feature that is added to the output; 0: none */
  int time;     /* res blocks: its first channel in the time projections of all res blocks */
  /* The following fields are for transformers. */
  /* depth: number of transformer blocks */
  int heads, depth;
  bool only_cross_attention; /* attn1 attends to the text, like attn2 */
  int text;                  /* the layer's first channel in the keys and values of all transformers */
  int style;                 /* the layer's first channel in the styles' keys and values of all transformers */
};

/* The layers between conv_in, whose output is the first skip connection, and conv_norm_out. */
struct walk {
  struct unet_layer *layers;
  int count;
  /* sums over all layers */
  int time_channels, text_channels, style_channels;
};

/* Upper bound of the number of skip connections. */
enum { SKIPS_MAX = 1 + LEVELS_MAX * (LAYERS_MAX + 1) };

/* Lists the layers up to the end of the part `last`; a ControlNet ends with the middle block. walk_free must be called.
 * Returns -1 if memory runs out. */
int walk_init(struct walk *walk, const struct unet_config *config, enum unet_part last);
void walk_free(struct walk *walk); /* takes a zeroed walk too */

/* A transformer layer's attentions to the text, in all of its blocks. walk_texts_per_block returns how many each block
 * has (1: attn2; 2: attn1 and attn2), walk_texts how many the layer has, walk_text_name the checkpoint's name of one,
 * and walk_text_channel the first channel of its keys in unet_texts. It has as many channels of keys as the layer has
 * channels, followed by as many of values. Layers that are no transformers have no attentions. */
int walk_texts_per_block(const struct unet_layer *layer);
int walk_texts(const struct unet_layer *layer);
void walk_text_name(const struct unet_layer *layer, int index, char *name, size_t size);
int walk_text_channel(const struct unet_layer *layer, int index);

#endif
