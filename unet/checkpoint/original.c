/* Translates names of the original key layout to those of diffusers, network by network. */
#include "unet/checkpoint/original.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { KEY_MAX = 512, BLOCKS_MAX = 100 };

/* --- comparing and replacing parts of tensors' names --- */

/* Returns what follows `start` in a name that begins with it; NULL: the name begins otherwise. */
static const char *after(const char *name, const char *start) {
  size_t length = strlen(start);
  return strncmp(name, start, length) ? NULL : name + length;
}

/* Reads the number at the beginning of a name such as "12.conv.weight" into *number. Returns the rest of the name after
 * the dot; NULL: there is no number below BLOCKS_MAX with a dot after it. */
static const char *take_number(const char *name, int *number) {
  *number = 0;
  if (!isdigit((unsigned char)*name) || (*name == '0' && name[1] != '.'))
    return NULL;
  for (; isdigit((unsigned char)*name); name++)
    if ((*number = 10 * *number + *name - '0') >= BLOCKS_MAX)
      return NULL;
  return *name == '.' ? name + 1 : NULL;
}

struct rename {
  const char *from, *to;
};

/* Finds the first entry of the list for which the name begins with the entry's text `from`. Writes the name to key,
 * with this beginning replaced by the entry's text `to`. Returns false if there is no such entry. An empty entry ends
 * the list. */
static bool rename_start(const char *name, const struct rename *list, char key[KEY_MAX]) {
  for (; list->from; list++) {
    const char *rest = after(name, list->from);
    if (rest)
      return snprintf(key, KEY_MAX, "%s%s", list->to, rest) < KEY_MAX;
  }
  return false;
}

/* --- adding tensors to a view under other names --- */

static int add(struct safetensors *view, const struct safetensor *t, const char *key, struct error *err) {
  return view_add(view, &(struct view_tensor){.name = key, .from = t}, err);
}

/* The type of functions that write the diffusers name of a tensor into key, which has KEY_MAX bytes. They return false
 * if their network has no tensor of this name. */
typedef bool naming(const void *opaque, const char *name, char *key);

static int add_named(struct safetensors *view, const struct safetensors *files, const char *prefix, naming *named,
                     const void *opaque, struct error *err) {
  for (size_t i = 0; i < safetensors_count(files); i++) {
    const struct safetensor *t = safetensors_at(files, i);
    const char *name = after(t->name, prefix);
    char key[KEY_MAX];
    /* if the network's names have no prefix, constants of the training (original_is_harmless) lie among its tensors;
     * they are left out */
    bool beside = !*prefix && original_is_harmless(t->name);
    if (name && !beside && add(view, t, named(opaque, name, key) ? key : NULL, err))
      return -1;
  }
  return 0;
}

/* --- naming the tensors of a U-Net as diffusers does --- */

/* The meaning in diffusers of a numbered block, input_blocks.N or output_blocks.N: a res block of some level, or a
 * downsampling. Files of few blocks may lack some numbers, so the meaning is found out from the tensors in each
 * block. */
struct place {
  enum { PLACE_NONE, PLACE_RESNET, PLACE_DOWN } kind;
  int block, layer;
};

struct numbering {
  struct place in[BLOCKS_MAX], out[BLOCKS_MAX];
};

static bool has(const struct safetensors *files, const char *prefix, const char *list, int number, const char *end) {
  char name[KEY_MAX];
  snprintf(name, sizeof name, "%s%s%d.%s", prefix, list, number, end);
  return safetensors_find(files, name);
}

static void number_in(struct numbering *numbering, const struct safetensors *files, const char *prefix) {
  int block = 0, layer = 0;
  for (int i = 1; i < BLOCKS_MAX; i++) {
    if (has(files, prefix, "input_blocks.", i, "0.op.weight")) {
      numbering->in[i] = (struct place){PLACE_DOWN, block++};
      layer = 0;
    } else if (has(files, prefix, "input_blocks.", i, "0.in_layers.0.weight")) {
      numbering->in[i] = (struct place){PLACE_RESNET, block, layer++};
    }
  }
}

static void number_out(struct numbering *numbering, const struct safetensors *files, const char *prefix) {
  int block = 0, layer = 0;
  for (int i = 0; i < BLOCKS_MAX; i++) {
    if (!has(files, prefix, "output_blocks.", i, "0.in_layers.0.weight"))
      continue;
    numbering->out[i] = (struct place){PLACE_RESNET, block, layer++};
    if (has(files, prefix, "output_blocks.", i, "1.conv.weight") ||
        has(files, prefix, "output_blocks.", i, "2.conv.weight")) {
      block++;
      layer = 0;
    }
  }
}

/* Writes the diffusers name of a tensor of a res block. where: diffusers' name of the block,
 * "down_blocks.0.resnets.1.". */
static bool name_resnet(const char *name, const char *where, char *key) {
  static const struct rename parts[] = {{"in_layers.0.", "norm1."},
                                        {"in_layers.2.", "conv1."},
                                        {"emb_layers.1.", "time_emb_proj."},
                                        {"out_layers.0.", "norm2."},
                                        {"out_layers.3.", "conv2."},
                                        {"skip_connection.", "conv_shortcut."},
                                        {0}};
  char part[KEY_MAX];
  return rename_start(name, parts, part) && snprintf(key, KEY_MAX, "%s%s", where, part) < KEY_MAX;
}

/* Writes the diffusers name of a tensor in a numbered block. In the original layout such tensors have names like
 * "0.in_layers.0.weight", "1.proj_in.weight" or "1.conv.weight". */
static bool name_in_block(const char *blocks, const struct place *place, const char *name, char *key) {
  char where[64];
  const char *rest;
  snprintf(where, sizeof where, "%s.%d.", blocks, place->block);
  if (place->kind == PLACE_DOWN)
    return (rest = after(name, "0.op.")) && snprintf(key, KEY_MAX, "%sdownsamplers.0.conv.%s", where, rest) < KEY_MAX;
  if ((rest = after(name, "0."))) {
    snprintf(where, sizeof where, "%s.%d.resnets.%d.", blocks, place->block, place->layer);
    return name_resnet(rest, where, key);
  }
  if (*blocks == 'u' && ((rest = after(name, "1.conv.")) || (rest = after(name, "2.conv."))))
    return snprintf(key, KEY_MAX, "%supsamplers.0.conv.%s", where, rest) < KEY_MAX;
  return (rest = after(name, "1.")) &&
         snprintf(key, KEY_MAX, "%sattentions.%d.%s", where, place->layer, rest) < KEY_MAX;
}

static bool name_in_unet(const void *opaque, const char *name, char *key) {
  static const struct rename ends[] = {{"input_blocks.0.0.", "conv_in."},
                                       {"time_embed.0.", "time_embedding.linear_1."},
                                       {"time_embed.2.", "time_embedding.linear_2."},
                                       {"label_emb.0.0.", "add_embedding.linear_1."},
                                       {"label_emb.0.2.", "add_embedding.linear_2."},
                                       {"middle_block.1.", "mid_block.attentions.0."},
                                       {"out.0.", "conv_norm_out."},
                                       {"out.2.", "conv_out."},
                                       {0}};
  const struct numbering *numbering = opaque;
  const char *rest;
  int number;
  if (rename_start(name, ends, key))
    return true;
  if ((rest = after(name, "middle_block.0.")))
    return name_resnet(rest, "mid_block.resnets.0.", key);
  if ((rest = after(name, "middle_block.2.")))
    return name_resnet(rest, "mid_block.resnets.1.", key);
  bool in = (rest = after(name, "input_blocks."));
  if (!in && !(rest = after(name, "output_blocks.")))
    return false;
  if (!(rest = take_number(rest, &number)))
    return false;
  const struct place *place = in ? &numbering->in[number] : &numbering->out[number];
  return place->kind && name_in_block(in ? "down_blocks" : "up_blocks", place, rest, key);
}

int original_unet(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err) {
  struct numbering numbering = {0};
  number_in(&numbering, files, prefix);
  number_out(&numbering, files, prefix);
  return add_named(view, files, prefix, name_in_unet, &numbering, err);
}

/* --- naming the tensors of a ControlNet as diffusers does --- */

struct controlnet_names {
  struct numbering numbering;
  /* number N of the last convolution (input_hint_block.N) among the layers that read the map; the numbers also count
   * the activations between the convolutions */
  int last_hint;
};

static bool name_in_hint(const struct controlnet_names *names, const char *name, char *key) {
  static const char where[] = "controlnet_cond_embedding.";
  int number;
  if (!(name = take_number(name, &number)) || number % 2)
    return false;
  if (number == 0 || number == names->last_hint)
    return snprintf(key, KEY_MAX, "%s%s.%s", where, number ? "conv_out" : "conv_in", name) < KEY_MAX;
  return snprintf(key, KEY_MAX, "%sblocks.%d.%s", where, number / 2 - 1, name) < KEY_MAX;
}

static bool name_in_controlnet(const void *opaque, const char *name, char *key) {
  const struct controlnet_names *names = opaque;
  const char *rest;
  int number;
  if ((rest = after(name, "input_hint_block.")))
    return name_in_hint(names, rest, key);
  if ((rest = after(name, "middle_block_out.0.")))
    return snprintf(key, KEY_MAX, "controlnet_mid_block.%s", rest) < KEY_MAX;
  if (!(rest = after(name, "zero_convs.")))
    return name_in_unet(&names->numbering, name, key);
  return (rest = take_number(rest, &number)) && (rest = after(rest, "0.")) &&
         snprintf(key, KEY_MAX, "controlnet_down_blocks.%d.%s", number, rest) < KEY_MAX;
}

int original_controlnet(struct safetensors *view, const struct safetensors *files, const char *prefix,
                        struct error *err) {
  struct controlnet_names names = {0};
  number_in(&names.numbering, files, prefix);
  for (int i = 0; i < BLOCKS_MAX; i++)
    if (has(files, prefix, "input_hint_block.", i, "weight"))
      names.last_hint = i;
  return add_named(view, files, prefix, name_in_controlnet, &names, err);
}

/* --- naming the tensors of a T2I-Adapter as diffusers does --- */

static bool name_in_t2i(const void *opaque, const char *name, char *key) {
  const char *rest, *in;
  int number;
  (void)opaque;
  if (!(rest = after(name, "body.")))
    return after(name, "conv_in.") && snprintf(key, KEY_MAX, "adapter.%s", name) < KEY_MAX;
  if (!(rest = take_number(rest, &number)))
    return false;
  if ((in = after(rest, "in_conv.")))
    return number % 2 == 0 && snprintf(key, KEY_MAX, "adapter.body.%d.in_conv.%s", number / 2, in) < KEY_MAX;
  return snprintf(key, KEY_MAX, "adapter.body.%d.resnets.%d.%s", number / 2, number % 2, rest) < KEY_MAX;
}

int original_t2i(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err) {
  return add_named(view, files, prefix, name_in_t2i, NULL, err);
}

/* --- a list of the names of all modules of a U-Net --- */

/* Fills *numbering: for each input or output block that the original layout's names number, what it is in diffusers (a
 * resnet or a downsampler, of which block). levels: number of levels; layers: resnets of each level. */
static void number_all(struct numbering *numbering, int levels, const int *layers) {
  int in = 1, out = 0;
  for (int block = 0; block < levels; block++) {
    for (int layer = 0; layer < layers[block] && in < BLOCKS_MAX; layer++)
      numbering->in[in++] = (struct place){PLACE_RESNET, block, layer};
    if (block < levels - 1 && in < BLOCKS_MAX)
      numbering->in[in++] = (struct place){PLACE_DOWN, block};
    for (int layer = 0; layer <= layers[levels - 1 - block] && out < BLOCKS_MAX; layer++)
      numbering->out[out++] = (struct place){PLACE_RESNET, block, layer};
  }
}

static const char *const resnet_parts[] = {"in_layers.0.",  "in_layers.2.",  "emb_layers.1.",
                                           "out_layers.0.", "out_layers.3.", "skip_connection."};
enum { RESNET_PARTS = sizeof resnet_parts / sizeof *resnet_parts };

static int pass_name(const struct numbering *numbering, const char *original, original_name *each, void *opaque) {
  char key[KEY_MAX];
  return name_in_unet(numbering, original, key) ? each(opaque, original, key) : 0;
}

/* Calls `each` for every module that block number `number` of a U-Net may have. list: "input_blocks." or
 * "output_blocks.". Modules that a block of this kind cannot have are skipped. */
static int pass_block(const struct numbering *numbering, const char *list, int number, original_name *each,
                      void *opaque) {
  static const char *const others[] = {"0.op.", "1.", "1.conv.", "2.conv."};
  const struct place *place = &numbering->out[number], *next = place + (number + 1 < BLOCKS_MAX);
  /* True for the last res block of an up block, which an upsampling may follow. */
  bool last = !next->kind || next->block != place->block;
  char original[KEY_MAX];
  int result = 0;
  for (int i = 0; !result && i < RESNET_PARTS; i++) {
    snprintf(original, sizeof original, "%s%d.0.%s", list, number, resnet_parts[i]);
    result = pass_name(numbering, original, each, opaque);
  }
  for (int i = 0; !result && i < (last ? 4 : 2); i++) {
    snprintf(original, sizeof original, "%s%d.%s", list, number, others[i]);
    result = pass_name(numbering, original, each, opaque);
  }
  return result;
}

int original_unet_names(int levels, const int *layers, original_name *each, void *opaque) {
  static const char *const ends[] = {"input_blocks.0.0.", "time_embed.0.",   "time_embed.2.", "label_emb.0.0.",
                                     "label_emb.0.2.",    "middle_block.1.", "out.0.",        "out.2."};
  struct numbering numbering = {0};
  char original[KEY_MAX];
  int result = 0;
  number_all(&numbering, levels, layers);
  for (size_t i = 0; !result && i < sizeof ends / sizeof *ends; i++)
    result = pass_name(&numbering, ends[i], each, opaque);
  for (int i = 0; !result && i < 2 * RESNET_PARTS; i++) {
    snprintf(original, sizeof original, "middle_block.%d.%s", i % 2 * 2, resnet_parts[i / 2]);
    result = pass_name(&numbering, original, each, opaque);
  }
  for (int i = 0; !result && i < BLOCKS_MAX; i++) {
    result = pass_block(&numbering, "input_blocks.", i, each, opaque);
    result = result ? result : pass_block(&numbering, "output_blocks.", i, each, opaque);
  }
  return result;
}

/* --- naming the tensors of a CLIP text encoder as transformers does --- */

static bool name_in_clip(const void *opaque, const char *name, char *key) {
  (void)opaque;
  return snprintf(key, KEY_MAX, "%s", name) < KEY_MAX;
}

int original_clip(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err) {
  return add_named(view, files, prefix, name_in_clip, NULL, err);
}

/* Translates the name of a tensor in layer number `layer` of an OpenCLIP text encoder to the transformers library's
 * name, which is written to key. name: the part after the layer's number, such as "ln_1.weight". Returns false if no
 * translation is known. */
static bool name_in_layer(int layer, const char *name, char *key) {
  static const struct rename parts[] = {
      {"ln_1.", "layer_norm1."}, {"ln_2.", "layer_norm2."},   {"attn.out_proj.", "self_attn.out_proj."},
      {"mlp.c_fc.", "mlp.fc1."}, {"mlp.c_proj.", "mlp.fc2."}, {0}};
  char part[KEY_MAX];
  return rename_start(name, parts, part) &&
         snprintf(key, KEY_MAX, "text_model.encoder.layers.%d.%s", layer, part) < KEY_MAX;
}

/* Adds the three projections of an attention to the view. The file has them as one tensor: rows of q, then of k, then
 * of v. */
static int add_projections(struct safetensors *view, const struct safetensor *t, int layer, const char *kind,
                           struct error *err) {
  static const char *const parts[] = {"q", "k", "v"};
  int64_t rows = t->rank >= 1 ? t->shape[0] / 3 : 0;
  if (!rows || 3 * rows != t->shape[0])
    return add(view, t, NULL, err);
  for (int i = 0; i < 3; i++) {
    char key[KEY_MAX];
    snprintf(key, sizeof key, "text_model.encoder.layers.%d.self_attn.%s_proj.%s", layer, parts[i], kind);
    if (view_add(view, &(struct view_tensor){.name = key, .from = t, .first = i * rows, .rows = rows}, err))
      return -1;
  }
  return 0;
}

/* Adds a tensor that belongs to no layer, such as the embeddings or the final norm. */
static int add_end(struct safetensors *view, const struct safetensor *t, const char *name, struct error *err) {
  static const struct rename ends[] = {{"token_embedding.weight", "text_model.embeddings.token_embedding.weight"},
                                       {"positional_embedding", "text_model.embeddings.position_embedding.weight"},
                                       {"ln_final.", "text_model.final_layer_norm."},
                                       {"logit_scale", "logit_scale"},
                                       {0}};
  char key[KEY_MAX];
  if (!strcmp(name, "text_projection"))
    return view_add(view, &(struct view_tensor){.name = "text_projection.weight", .from = t, .transposed = true}, err);
  return add(view, t, rename_start(name, ends, key) ? key : NULL, err);
}

static int add_open_clip(struct safetensors *view, const struct safetensor *t, const char *name, struct error *err) {
  const char *rest = after(name, "transformer.resblocks.");
  char key[KEY_MAX];
  int layer;
  if (!rest)
    return add_end(view, t, name, err);
  if (!(rest = take_number(rest, &layer)))
    return add(view, t, NULL, err);
  if (!strcmp(rest, "attn.in_proj_weight"))
    return add_projections(view, t, layer, "weight", err);
  if (!strcmp(rest, "attn.in_proj_bias"))
    return add_projections(view, t, layer, "bias", err);
  return add(view, t, name_in_layer(layer, rest, key) ? key : NULL, err);
}

int original_open_clip(struct safetensors *view, const struct safetensors *files, const char *prefix,
                       struct error *err) {
  for (size_t i = 0; i < safetensors_count(files); i++) {
    const struct safetensor *t = safetensors_at(files, i);
    const char *name = after(t->name, prefix);
    if (name && add_open_clip(view, t, name, err))
      return -1;
  }
  return 0;
}

/* --- naming the tensors of an AutoencoderKL as diffusers does --- */

struct kl_levels {
  int count; /* number of levels of the autoencoder; the original names number the decoder's levels in reverse */
};

static bool name_in_attention(const char *name, const char *where, char *key) {
  static const struct rename parts[] = {
      {"norm.", "group_norm."}, {"q.", "to_q."}, {"k.", "to_k."}, {"v.", "to_v."}, {"proj_out.", "to_out.0."}, {0}};
  char part[KEY_MAX];
  return rename_start(name, parts, part) && snprintf(key, KEY_MAX, "%s%s", where, part) < KEY_MAX;
}

static bool name_in_kl_resnet(const char *name, const char *where, char *key) {
  const char *rest = after(name, "nin_shortcut.");
  return snprintf(key, KEY_MAX, "%s%s%s", where, rest ? "conv_shortcut." : "", rest ? rest : name) < KEY_MAX;
}

/* Writes the diffusers name of a tensor at one level of the encoder or decoder. In the original layout the tensor has a
 * name like "down.1.block.0.conv1.weight". */
static bool name_in_level(const struct kl_levels *levels, const char *half, bool down, const char *name, char *key) {
  char where[64];
  const char *rest;
  int level, block;
  if (!(name = take_number(name, &level)) || (!down && level >= levels->count))
    return false;
  int length = snprintf(where, sizeof where, "%s%s_blocks.%d.", half, down ? "down" : "up",
                        down ? level : levels->count - 1 - level);
  if ((rest = after(name, down ? "downsample." : "upsample.")))
    return snprintf(key, KEY_MAX, "%s%s.0.%s", where, down ? "downsamplers" : "upsamplers", rest) < KEY_MAX;
  if (!(rest = after(name, "block.")) || !(rest = take_number(rest, &block)))
    return false;
  snprintf(where + length, sizeof where - (size_t)length, "resnets.%d.", block);
  return name_in_kl_resnet(rest, where, key);
}

static bool name_in_half(const struct kl_levels *levels, const char *half, const char *name, char *key) {
  char where[64];
  const char *rest;
  if ((rest = after(name, "norm_out.")))
    return snprintf(key, KEY_MAX, "%sconv_norm_out.%s", half, rest) < KEY_MAX;
  for (int i = 0; i < 2; i++)
    if ((rest = after(name, i ? "mid.block_2." : "mid.block_1."))) {
      snprintf(where, sizeof where, "%smid_block.resnets.%d.", half, i);
      return name_in_kl_resnet(rest, where, key);
    }
  snprintf(where, sizeof where, "%smid_block.attentions.0.", half);
  if ((rest = after(name, "mid.attn_1.")))
    return name_in_attention(rest, where, key);
  if ((rest = after(name, "down.")))
    return name_in_level(levels, half, true, rest, key);
  if ((rest = after(name, "up.")))
    return name_in_level(levels, half, false, rest, key);
  return snprintf(key, KEY_MAX, "%s%s", half, name) < KEY_MAX;
}

static bool name_in_kl(const void *opaque, const char *name, char *key) {
  const char *rest;
  if ((rest = after(name, "encoder.")))
    return name_in_half(opaque, "encoder.", rest, key);
  if ((rest = after(name, "decoder.")))
    return name_in_half(opaque, "decoder.", rest, key);
  return snprintf(key, KEY_MAX, "%s", name) < KEY_MAX;
}

int original_kl(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err) {
  struct kl_levels levels = {0};
  while (levels.count < BLOCKS_MAX && has(files, prefix, "decoder.up.", levels.count, "block.0.norm1.weight"))
    levels.count++;
  return add_named(view, files, prefix, name_in_kl, &levels, err);
}

/* --- recognising tensors that are no weights, and can be ignored --- */

bool original_is_harmless(const char *name) {
  static const char *const starts[] = {"model_ema.",
                                       "betas",
                                       "alphas_cumprod",
                                       "sqrt_",
                                       "log_one_minus_",
                                       "posterior_",
                                       "loss.",
                                       "denoiser.",
                                       "lvlb_weights",
                                       "logvar",
                                       "scale_factor",
                                       "v_pred",
                                       "ztsnr",
                                       "global_step",
                                       "cond_stage_model.logit_scale",
                                       "conditioner.embedders.0.logit_scale",
                                       NULL};
  for (const char *const *start = starts; *start; start++)
    if (after(name, *start))
      return true;
  return false;
}
