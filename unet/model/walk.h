/* The walk over a U-Net's blocks, written once: its layers in the order they run, with names and shapes. Code that
 * computes with the blocks, or with something that each of them has (time projections, keys and values of the text),
 * goes through this list. */
#ifndef UNET_MODEL_WALK_H
#define UNET_MODEL_WALK_H

#include "unet/checkpoint/checkpoint.h"

enum unet_part { UNET_DOWN, UNET_MID, UNET_UP };
enum unet_layer_kind { LAYER_RES, LAYER_TRANSFORMER, LAYER_DOWNSAMPLE, LAYER_UPSAMPLE };

struct unet_layer {
  enum unet_layer_kind kind;
  enum unet_part part;
  char name[64]; /* as in the checkpoint: "down_blocks.0.resnets.1" */
  int in;        /* channels of its input */
  int skip;      /* and of the skip connection that a res block of the way up takes beside it; else 0 */
  int out;       /* channels of its output */
  bool kept;     /* the output is a skip connection for the way up */
  int level;     /* of a T2I-Adapter's maps: 1 + the one that is added to the output; 0: none is */
  int time;      /* of res blocks: its first channel in the time projections of all of them */
  /* Of transformers: */
  int heads, depth;          /* depth: transformer blocks */
  bool only_cross_attention; /* attn1 attends to the text as well */
  int text;                  /* its first channel in the keys and values of all of them */
  int style;                 /* likewise of style pictures */
};

/* Behind conv_in, whose output is the first skip connection, to conv_norm_out. */
struct walk {
  struct unet_layer *layers;
  int count;
  int time_channels, text_channels, style_channels; /* of all layers */
};

/* The most skip connections there can be. */
enum { SKIPS_MAX = 1 + LEVELS_MAX * (LAYERS_MAX + 1) };

/* Up to the end of this part: a ControlNet has no way up. Returns -1 when memory is short. */
int walk_init(struct walk *walk, const struct unet_config *config, enum unet_part last);
void walk_free(struct walk *walk); /* also of a zeroed one */

/* A transformer's attentions to the text, counted over all of its blocks: how many each block has (attn2, or attn1 and
 * attn2) and how many there are; the name of one; and the first channel of its keys, which are as many as the layer has
 * channels and which its values follow. Other layers have none. */
int walk_texts_per_block(const struct unet_layer *layer);
int walk_texts(const struct unet_layer *layer);
void walk_text_name(const struct unet_layer *layer, int index, char *name, size_t size);
int walk_text_channel(const struct unet_layer *layer, int index);

#endif
