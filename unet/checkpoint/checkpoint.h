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

#include "unet/base/controls.h"
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
  /* Transformer blocks of each attention, where there is one: transformer_layers_per_block, and for the way up
   * reverse_transformer_layers_per_block. Indexed by level, then by res block. */
  int down_depth[LEVELS_MAX][LAYERS_MAX], mid_depth, up_depth[LEVELS_MAX][LAYERS_MAX + 1];
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
  /* addition_embed_type text_time: the width of the pooled text and of the sinusoid of each of SIZES sizes, which
   * together go through add_embedding to the time embedding; 0: none */
  int added_text_dim, added_size_dim;
  /* "_image_scaling_factor", a field of ours: what the sampler's latent of the input picture is divided by where the
   * network sees it. 0: nothing is said */
  float image_scaling_factor;
};

/* text_encoder/config.json: CLIPTextModel, CLIPTextModelWithProjection. */
struct clip_config {
  int vocab_size, hidden_size, intermediate_size, layers, heads;
  int positions;              /* max_position_embeddings */
  enum activation hidden_act; /* ACT_QUICK_GELU or ACT_GELU */
  int projection_dim, end_token;
  float layer_norm_eps;
};

/* One of the folder's parts. */
struct component {
  char *folder;       /* for messages: "sd-turbo/unet" */
  const char *name;   /* "unet", "vae", "text_encoder": begins the names of its resources */
  const char *prefix; /* "text_model." where the file's keys have it, else "" */
  struct safetensors *files;
};

struct text_encoder {
  struct component weights;
  struct clip_config config;
  struct tokenizer *tokenizer;
  bool penultimate; /* the U-Net attends to what the last layer but one gives, without the final norm: SDXL */
  bool pooled;      /* CLIPTextModelWithProjection, whose projection of the end token the U-Net is told as well */
};

/* A network that the sampler asks: a U-Net. */
struct predictor {
  struct component weights;
  struct unet_config config;
};

/* AutoencoderTiny. */
struct tae_config {
  int levels;                             /* 4: pictures are 2^3 times the latent */
  int encoder_channels, decoder_channels; /* the same at every level: the class allows nothing else */
  int encoder_blocks[LEVELS_MAX], decoder_blocks[LEVELS_MAX]; /* num_encoder_blocks, num_decoder_blocks */
};

/* AutoencoderKL. */
struct kl_config {
  int levels;
  int channels[LEVELS_MAX]; /* block_out_channels, the outermost level first */
  int layers;               /* layers_per_block of the encoder; the decoder has one more */
  int groups;               /* norm_num_groups */
  bool quant_conv, post_quant_conv;
  bool mid_attention;
  bool force_upcast; /* its inner values may leave FP16's range */
};

/* The kinds of autoencoder: KIND, its field in struct autoencoder, its class in diffusers. For each there are a struct
 * FIELD_config, FIELD_config_read and FIELD_print here, and FIELD_kind in unet/model/autoencoder.h. */
#define AUTOENCODER_TABLE(ROW)                                                                                         \
  ROW(TAE, tae, "AutoencoderTiny")                                                                                     \
  ROW(KL, kl, "AutoencoderKL")

#define AUTOENCODER_TYPE(KIND, field, class) AUTOENCODER_##KIND,
enum autoencoder_type { AUTOENCODER_TABLE(AUTOENCODER_TYPE) AUTOENCODER_TYPES };
#undef AUTOENCODER_TYPE

#define AUTOENCODER_CONFIG(KIND, field, class) struct field##_config field;
struct autoencoder {
  struct component weights;
  enum autoencoder_type type;
  int scale; /* pixels to a latent sample, each way */
  int latent_channels;
  float scaling_factor, shift_factor; /* the sampler's latent is (the network's own - shift) * scaling */
  union {
    AUTOENCODER_TABLE(AUTOENCODER_CONFIG)
  };
};
#undef AUTOENCODER_CONFIG

enum { TEXT_ENCODERS_MAX = 2, PREDICTORS_MAX = 2 };

/* The folder as lists. Each predictor reads the texts of all text encoders. */
struct checkpoint {
  char *name;            /* of the folder or file, for people */
  struct single *single; /* the one file that it was opened from; NULL: a folder */
  bool zero_negative;    /* the empty negative prompt is zeros, not its encoding: force_zeros_for_empty_prompt */
  bool image_condition;  /* the predictors' input is [latent | picture latent]: InstructPix2Pix, mini */
  float image_scale;     /* that picture latent is this times the autoencoder's own */
  bool one_timestep;     /* the predictor was trained at the noisiest alone: SDXS */
  bool inpainting;       /* it is [latent | mask | latent of what the mask leaves of the picture] */
  struct text_encoder text_encoders[TEXT_ENCODERS_MAX];
  struct predictor predictors[PREDICTORS_MAX];
  struct component adapters[ADAPTERS_MAX]; /* what changes the others or adds to them: none, as no kind is supported */
  int text_encoder_count, predictor_count, adapter_count;
  struct autoencoder autoencoder;
  struct scheduler_config scheduler;
  struct styles *styles; /* NULL: the folder has no styles.json */
};

enum prediction_choice { PREDICTION_AUTO, PREDICTION_EPSILON, PREDICTION_V, PREDICTION_SAMPLE };

/* What a model is made of. All but model may be NULL. */
struct checkpoint_sources {
  const char *model; /* a diffusers folder, or one .safetensors file in the original key layout */
  const char *vae;   /* an autoencoder's folder, in the place of the model's own, which is then not opened */
  const char *unet;  /* a U-Net's file, in the place of the model's own weights: the config stays the model's */
  /* For a model that is one file: */
  const char *config;     /* a diffusers folder whose configs and tokenizers it has; NULL: those of its family */
  const char *vocabulary; /* CLIP's merges (gzip), for the tokenizer of a family */
  /* What the network predicts, where the scheduler's config or the family are not to say it. */
  enum prediction_choice prediction;
};

/* Stores the one that was chosen, if one was. */
bool checkpoint_prediction(const struct checkpoint_sources *sources, enum prediction *prediction);

/* The networks are checked against each other (channels, text width, vocabulary). Errors are STATUS_MODEL. */
int checkpoint_open(struct checkpoint **checkpoint, const struct checkpoint_sources *sources, const struct log *log,
                    struct error *err);
void checkpoint_close(struct checkpoint **checkpoint); /* stores NULL; takes NULL */

/* Part number index of all lists: predictors, autoencoder, text encoders, adapters. NULL behind the last. */
const struct component *checkpoint_component(const struct checkpoint *checkpoint, int index);
/* Bytes of the weights on disk. */
size_t checkpoint_bytes(const struct checkpoint *checkpoint);
/* Elements of the weights on disk. */
size_t checkpoint_parameters(const struct checkpoint *checkpoint);
/* Lines for people: family, classes, sizes, parameters, element types, bytes; with tensors, also each tensor. */
void checkpoint_print(const struct checkpoint *checkpoint, bool tensors, FILE *out);
/* The same of a file that is no model. */
void weights_print(const struct safetensors *files, bool tensors, FILE *out);

/* Configs alone, from text of a config.json; what checkpoint_open and the fuzzer use. path is for messages. */
int unet_config_parse(struct unet_config *config, const char *text, const char *path, struct error *err);
int autoencoder_config_parse(struct autoencoder *autoencoder, const char *text, const char *path, struct error *err);
int clip_config_parse(struct clip_config *config, const char *text, const char *path, struct error *err);
int scheduler_config_parse(struct scheduler_config *config, const char *text, const char *path, const struct log *log,
                           struct error *err);

/* Weights as resources. name is the key without the component's prefix ("conv_in.weight"); the resource is called
 * "unet/conv_in.weight". A missing tensor or another shape is an error that names file, key and both shapes; the
 * returned space is then TENSOR_NONE. */
/* Whether there is such a tensor. */
bool checkpoint_has(const struct component *from, const char *name);
/* A tensor, or its first rows. */
struct stack_part {
  const char *name;
  int rows;
  int of;       /* rows that the file's tensor has; 0: no more */
  int exponent; /* values are the file's times 2 to this power */
};
/* [rows][in][kernel][kernel] on disk, [rows, kernel, kernel, in] as resource. */
struct tensor checkpoint_conv(const struct component *from, struct resources *to, const struct stack_part *part, int in,
                              int kernel, struct error *err);
/* [rows][columns], or a 1x1 convolution's [rows][columns][1][1]. */
struct tensor checkpoint_matrix(const struct component *from, struct resources *to, const char *name, int rows,
                                int columns, struct error *err);
struct tensor checkpoint_vector(const struct component *from, struct resources *to, const char *name, int length,
                                struct error *err);
/* Several matrices stacked by rows, or with columns 0 vectors end to end, as one resource called name: fused
 * projections, all time projections of a U-Net. */
struct tensor checkpoint_stack(const struct component *from, struct resources *to, const char *name,
                               const struct stack_part *parts, int part_count, int columns, struct error *err);

#endif
