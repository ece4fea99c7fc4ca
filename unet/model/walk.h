/* The walk: a list of a U-Net's layers in the order in which they run, with their names and numbers of channels. All
 * code that needs a U-Net's layers uses this list, also to compute data that each layer has (time projections, keys and
 * values of the text). */
#ifndef UNET_MODEL_WALK_H
#define UNET_MODEL_WALK_H

#include "unet/checkpoint/checkpoint.h"

enum unet_part { UNET_DOWN, UNET_MID, UNET_UP };
enum unet_layer_kind { LAYER_RES, LAYER_TRANSFORMER, LAYER_DOWNSAMPLE, LAYER_UPSAMPLE };

struct unet_layer {
  enum unet_layer_kind kind;
  enum unet_part part;
  char name[64]; /* the layer's name in the checkpoint: "down_blocks.0.resnets.1" */
  int in;        /* number of channels of the layer's input */
  /* number of channels of the skip connection that a residual block of the up blocks concatenates to its input; 0:
   * there is none */
  int skip;
  int out;      /* number of channels of the layer's output */
  int halvings; /* how many times the latent's width and height were halved before this layer */
  /* true: the layer's output is a skip connection, which the up blocks read; false: only the next layer reads it */
  bool kept;
  int level; /* 1 + the number of the T2I-Adapter's feature that is added to the output; 0: none is added */
  int time;  /* in residual blocks: number of the layer's first channel in the time projections of all layers */
  /* The fields from heads to style are only for transformer layers. */
  /* heads: number of attention heads; depth: number of transformer blocks in the layer */
  int heads, depth;
  bool only_cross_attention; /* true: attn1 attends to the text, as attn2 does; false: attn1 is self-attention */
  /* number of the layer's first channel in the text's keys and values, a tensor that all layers share */
  int text;
  /* number of the layer's first channel in the style pictures' keys and values, a tensor that all layers share */
  int style;
};

/* The list of the layers between conv_in, whose output is the first skip connection, and conv_norm_out. */
struct walk {
  struct unet_layer *layers;
  int count;
  /* numbers of channels, each summed over all layers: of the time projections, of the text's keys and values, and of
   * the style pictures' */
  int time_channels, text_channels, style_channels;
};

/* Upper bound of the number of skip connections: conv_in's output, and those of all layers and downsamplers in down
 * blocks. */
enum { SKIPS_MAX = 1 + LEVELS_MAX * (LAYERS_MAX + 1) };

/* Lists a U-Net's layers, up to the end of the part `last`: a ControlNet's list ends with the middle block. walk_free
 * must be called, even after a failure. Returns -1 if memory runs out. */
int walk_init(struct walk *walk, const struct unet_config *config, enum unet_part last);
void walk_free(struct walk *walk); /* frees the list; accepts a zeroed walk */

/* Functions for a transformer layer's attentions to the text; layers of other kinds have none. walk_texts_per_block
 * returns the number of attentions to the text in each block (1: attn2; 2: attn1 and attn2), walk_texts that in the
 * whole layer. walk_text_name writes the checkpoint's name of one attention. walk_text_channel returns the number of
 * its first channel in the result of unet_texts: the result has, for each attention, as many channels of keys as the
 * layer has channels, followed by as many channels of values. */
int walk_texts_per_block(const struct unet_layer *layer);
int walk_texts(const struct unet_layer *layer);
void walk_text_name(const struct unet_layer *layer, int index, char *name, size_t size);
int walk_text_channel(const struct unet_layer *layer, int index);

#endif
