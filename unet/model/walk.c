#include "unet/model/walk.h"

#include <stdio.h>
#include <stdlib.h>

/* The variables of walk_init while it lists a U-Net's layers. */
struct walker {
  struct walk *walk;
  const struct unet_config *config;
  enum unet_part part;
  char block[32]; /* name of the present block: "down_blocks.0" */
  int channels;   /* number of channels of the output of the layer that was listed last */
  int halvings;
  int skips[SKIPS_MAX], skip_count;
};

/* Appends a layer named BLOCK.WHAT.INDEX to the list. Its output has as many channels as its input; the caller may
 * change that. */
static struct unet_layer *add(struct walker *w, enum unet_layer_kind kind, const char *what, int index) {
  struct unet_layer *layer = &w->walk->layers[w->walk->count++];
  *layer = (struct unet_layer){
      .kind = kind, .part = w->part, .in = w->channels, .out = w->channels, .halvings = w->halvings};
  w->halvings += (kind == LAYER_DOWNSAMPLE) - (kind == LAYER_UPSAMPLE);
  snprintf(layer->name, sizeof layer->name, "%s.%s.%d", w->block, what, index);
  return layer;
}

static void add_res(struct walker *w, int index, int out) {
  struct unet_layer *layer = add(w, LAYER_RES, "resnets", index);
  layer->out = w->channels = out;
  layer->skip = w->part == UNET_UP ? w->skips[--w->skip_count] : 0;
  layer->time = w->walk->time_channels;
  w->walk->time_channels += out;
}

static void add_transformer(struct walker *w, int index, int level, int depth) {
  struct unet_layer *layer = add(w, LAYER_TRANSFORMER, "attentions", index);
  layer->heads = w->config->heads[level];
  layer->depth = depth;
  /* As in diffusers, the middle block has self-attention whatever mid_block_only_cross_attention says. */
  layer->only_cross_attention = w->part != UNET_MID && w->config->only_cross_attention[level];
  layer->text = w->walk->text_channels;
  layer->style = w->walk->style_channels;
  w->walk->style_channels += depth * 2 * layer->out;
  w->walk->text_channels += walk_texts(layer) * 2 * layer->out;
}

/* Records that the output of the layer listed last is a skip connection, which the up blocks read. */
static void keep(struct walker *w) {
  w->walk->layers[w->walk->count - 1].kept = true;
  w->skips[w->skip_count++] = w->channels;
}

/* Records that a T2I-Adapter's feature of this level (0 is the outermost) is added to the output of the layer listed
 * last. */
static void take_map(struct walker *w, int level) {
  w->walk->layers[w->walk->count - 1].level = 1 + level;
}

/* Lists the layers of a CrossAttnDownBlock2D or a DownBlock2D; level 0 is the outermost. As in diffusers, a
 * T2I-Adapter's feature is added before the downsampler of a CrossAttnDownBlock2D, and after the downsampler of a
 * DownBlock2D. */
static void walk_down(struct walker *w, int level) {
  const struct unet_config *config = w->config;
  snprintf(w->block, sizeof w->block, "down_blocks.%d", level);
  for (int i = 0; i < config->layers[level]; i++) {
    add_res(w, i, config->channels[level]);
    if (config->down_attention[level])
      add_transformer(w, i, level, config->down_depth[level][i]);
    keep(w);
  }
  if (config->down_attention[level])
    take_map(w, level);
  if (level < config->levels - 1) {
    add(w, LAYER_DOWNSAMPLE, "downsamplers", 0);
    keep(w);
  }
  if (!config->down_attention[level])
    take_map(w, level);
}

/* Lists the layers of a UNetMidBlock2DCrossAttn, or of a UNetMidBlock2D with one residual block. */
static void walk_mid(struct walker *w) {
  snprintf(w->block, sizeof w->block, "mid_block");
  add_res(w, 0, w->channels);
  if (w->config->mid_attention) {
    add_transformer(w, 0, w->config->levels - 1, w->config->mid_depth);
    add_res(w, 1, w->channels);
  }
  take_map(w, w->config->levels);
}

/* Lists the layers of an UpBlock2D or a CrossAttnUpBlock2D. */
static void walk_up(struct walker *w, int level) {
  const struct unet_config *config = w->config;
  snprintf(w->block, sizeof w->block, "up_blocks.%d", config->levels - 1 - level);
  for (int i = 0; i <= config->layers[level]; i++) {
    add_res(w, i, config->channels[level]);
    if (config->up_attention[level])
      add_transformer(w, i, level, config->up_depth[level][i]);
  }
  if (level > 0)
    add(w, LAYER_UPSAMPLE, "upsamplers", 0);
}

/* Returns an upper bound of the number of layers, for which memory is allocated. */
static int layers_at_most(const struct unet_config *config) {
  int count = 3;
  for (int level = 0; level < config->levels; level++)
    count += 2 * config->layers[level] + 1 + 2 * (config->layers[level] + 1) + 1;
  return count;
}

int walk_init(struct walk *walk, const struct unet_config *config, enum unet_part last) {
  struct walker w = {
      .walk = walk, .config = config, .channels = config->channels[0], .skips = {config->channels[0]}, .skip_count = 1};
  *walk = (struct walk){.layers = calloc((size_t)layers_at_most(config), sizeof *walk->layers)};
  if (!walk->layers)
    return -1;
  for (int level = 0; level < config->levels; level++)
    walk_down(&w, level);
  w.part = UNET_MID;
  if (config->mid_block)
    walk_mid(&w);
  w.part = UNET_UP;
  for (int level = config->levels - 1; last == UNET_UP && level >= 0; level--)
    walk_up(&w, level);
  return 0;
}

void walk_free(struct walk *walk) {
  free(walk->layers);
  *walk = (struct walk){0};
}

int walk_texts_per_block(const struct unet_layer *layer) {
  return layer->only_cross_attention ? 2 : 1;
}

int walk_texts(const struct unet_layer *layer) {
  return layer->depth * walk_texts_per_block(layer);
}

void walk_text_name(const struct unet_layer *layer, int index, char *name, size_t size) {
  int per_block = walk_texts_per_block(layer), block = index / per_block;
  bool last = index % per_block == per_block - 1;
  snprintf(name, size, "%s.transformer_blocks.%d.attn%d", layer->name, block, last ? 2 : 1);
}

int walk_text_channel(const struct unet_layer *layer, int index) {
  return layer->text + index * 2 * layer->out;
}
