/* A diffusers folder: its config files as typed structs, its weight files open, its tokenizer. A field of a config that
 * the network here does not have is refused by name and value, never ignored.
 *
 * Ownership: struct checkpoint owns everything it points to. Resources made from it (checkpoint_matrix and the like)
 * refer to its files: keep it open until the device has loaded them.
 * Threads: read-only once open, but for the tokenizer (one thread at a time). */
#ifndef UNET_CHECKPOINT_CHECKPOINT_H
#define UNET_CHECKPOINT_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "unet/base/error.h"
#include "unet/base/log.h"
#include "unet/plan/op.h"
#include "unet/plan/resources.h"
#include "unet/checkpoint/safetensors.h"
#include "unet/sample/sampler.h"
#include "unet/text/styles.h"
#include "unet/text/tokenizer.h"

enum { LEVELS_MAX = 8, LAYERS_MAX = 64 /* layers_per_block */ };

/* unet/config.json: UNet2DConditionModel. Per-level arrays run from the outermost (largest) level inwards; the up
 * blocks use them backwards, with one res block more than layers[]. */
struct unet_config {
  int sample_height, sample_width; /* native latent size */
  int in_channels, out_channels;
  int levels;
  int channels[LEVELS_MAX];        /* block_out_channels */
  int layers[LEVELS_MAX];          /* layers_per_block */
  bool down_attention[LEVELS_MAX]; /* CrossAttnDownBlock2D, else DownBlock2D */
  bool up_attention[LEVELS_MAX]; /* CrossAttnUpBlock2D, else UpBlock2D; indexed by level, so up_blocks.0 is the last */
  int heads[LEVELS_MAX];         /* attention_head_dim, which in these files is the number of heads */
  int transformer_layers[LEVELS_MAX];    /* transformer_layers_per_block */
  bool only_cross_attention[LEVELS_MAX]; /* attn1 attends to the text as well */
  bool mid_block;                        /* there is one */
  bool mid_attention; /* UNetMidBlock2DCrossAttn, with the innermost level's layers and heads; else UNetMidBlock2D */
  int cross_attention_dim;
  bool use_linear_projection; /* proj_in and proj_out are matrices, else 1x1 convolutions: the same arithmetic */
  bool upcast_attention;      /* softmax in FP32: every device does that anyway */
  int norm_num_groups;
  float norm_eps;       /* of res blocks and conv_norm_out; transformer group norms have 1e-6, layer norms 1e-5 */
  bool flip_sin_to_cos; /* cos first */
  float freq_shift;
  int time_embed_dim;     /* 4 * channels[0] unless the file says otherwise */
  int time_cond_proj_dim; /* w-embedding of full LCM; 0: none */
};

/* vae/config.json: AutoencoderTiny. */
struct tae_config {
  int levels;                                     /* 4: pictures are 2^3 times the latent */
  int in_channels, out_channels, latent_channels; /* pictures have 3 */
  int encoder_channels, decoder_channels;         /* the same at every level: the class allows nothing else */
  int encoder_blocks[LEVELS_MAX], decoder_blocks[LEVELS_MAX]; /* num_encoder_blocks, num_decoder_blocks */
};

/* Pixels to a latent sample, each way. */
static inline int tae_scale(const struct tae_config *config) {
  return 1 << (config->levels - 1);
}

/* text_encoder/config.json: CLIPTextModel. */
struct clip_config {
  int vocab_size, hidden_size, intermediate_size, layers, heads;
  int positions;              /* max_position_embeddings */
  enum activation hidden_act; /* ACT_QUICK_GELU or ACT_GELU */
  float layer_norm_eps;
};

/* One of the folder's networks. */
struct component {
  char *folder;       /* for messages: "sd-turbo/unet" */
  const char *name;   /* "unet", "vae", "text_encoder": begins the names of its resources */
  const char *prefix; /* "text_model." where the file's keys have it, else "" */
  struct safetensors *files;
};

struct checkpoint {
  char *name;           /* of the folder, for people */
  bool image_condition; /* the U-Net's input is [latent | picture latent]: InstructPix2Pix, mini */
  struct unet_config unet;
  struct tae_config vae;
  struct clip_config text;
  struct scheduler_config scheduler;
  struct component unet_weights, vae_weights, text_weights;
  struct tokenizer *tokenizer;
  struct styles *styles; /* NULL: the folder has no styles.json */
};

/* Opens folder. vae (may be NULL) is an autoencoder's folder that replaces the model's own, which is then not opened.
 * The networks are checked against each other (channels, text width, vocabulary). Errors are STATUS_MODEL. */
int checkpoint_open(struct checkpoint **checkpoint, const char *folder, const char *vae, const struct log *log,
                    struct error *err);
void checkpoint_close(struct checkpoint **checkpoint); /* stores NULL; takes NULL */

/* Bytes of the weights on disk. */
size_t checkpoint_bytes(const struct checkpoint *checkpoint);
/* Lines for people: classes, sizes, element types, bytes; with tensors, also each tensor. */
void checkpoint_print(const struct checkpoint *checkpoint, bool tensors, FILE *out);

/* Configs alone, from text of a config.json; what checkpoint_open and the fuzzer use. path is for messages. */
int unet_config_parse(struct unet_config *config, const char *text, const char *path, struct error *err);
int tae_config_parse(struct tae_config *config, const char *text, const char *path, struct error *err);
int clip_config_parse(struct clip_config *config, const char *text, const char *path, struct error *err);
int scheduler_config_parse(struct scheduler_config *config, const char *text, const char *path, const struct log *log,
                           struct error *err);

/* Weights as resources. name is the key without the component's prefix ("conv_in.weight"); the resource is called
 * "unet/conv_in.weight". A missing tensor or another shape is an error that names file, key and both shapes; the
 * returned space is then TENSOR_NONE. */
/* [out][in][kernel][kernel] on disk, [out, kernel, kernel, in] as resource. */
struct tensor checkpoint_conv(const struct component *from, struct resources *to, const char *name, int out, int in,
                              int kernel, struct error *err);
/* [rows][columns], or a 1x1 convolution's [rows][columns][1][1]. */
struct tensor checkpoint_matrix(const struct component *from, struct resources *to, const char *name, int rows,
                                int columns, struct error *err);
struct tensor checkpoint_vector(const struct component *from, struct resources *to, const char *name, int length,
                                struct error *err);
struct stack_part {
  const char *name;
  int rows;
};
/* Several matrices stacked by rows, or with columns 0 vectors end to end, as one resource called name: fused
 * projections, all time projections of a U-Net. */
struct tensor checkpoint_stack(const struct component *from, struct resources *to, const char *name,
                               const struct stack_part *parts, int part_count, int columns, struct error *err);
/* Whether there is a tensor of this name. */
bool checkpoint_has(const struct component *from, const char *name);

#endif
