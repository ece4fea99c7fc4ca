/* The parts of a checkpoint: their config files as typed structs, and their weights. */
#ifndef UNET_CHECKPOINT_PARTS_H
#define UNET_CHECKPOINT_PARTS_H

#include <stdbool.h>

#include "unet/base/error.h"
#include "unet/base/log.h"
#include "unet/plan/op.h"
#include "unet/checkpoint/safetensors.h"
#include "unet/sample/sampler.h"
#include "unet/text/tokenizer.h"

enum { LEVELS_MAX = 8, LAYERS_MAX = 64 /* layers_per_block */ };

/* unet/config.json: UNet2DConditionModel. Arrays are indexed by level, from the outermost (largest) to the innermost.
 * The up blocks go through them in reverse, and have one res block more than layers[]. */
struct unet_config {
  int sample_height, sample_width; /* native size of the latent */
  int in_channels, out_channels;
  int levels;
  int channels[LEVELS_MAX];        /* block_out_channels */
  int layers[LEVELS_MAX];          /* layers_per_block */
  bool down_attention[LEVELS_MAX]; /* the level has CrossAttnDownBlock2D, else DownBlock2D */
  bool up_attention[LEVELS_MAX]; /* The level has CrossAttnUpBlock2D, else UpBlock2D. up_blocks.0 is the last entry. */
  int heads[LEVELS_MAX];         /* attention_head_dim, which in these files means the number of heads */
  /* Number of transformer blocks of each attention, by level and then by res block: transformer_layers_per_block, and
   * for the up blocks reverse_transformer_layers_per_block. */
  int down_depth[LEVELS_MAX][LAYERS_MAX], mid_depth, up_depth[LEVELS_MAX][LAYERS_MAX + 1];
  bool only_cross_attention[LEVELS_MAX]; /* attn1 attends to the text, like attn2 */
  bool mid_block;                        /* there is a middle block */
  bool mid_attention; /* UNetMidBlock2DCrossAttn, with layers and heads of the innermost level; else UNetMidBlock2D */
  int cross_attention_dim;
  bool use_linear_projection; /* proj_in and proj_out are matrices, else 1x1 convolutions; the arithmetic is the same */
  bool upcast_attention;      /* softmax in FP32, as every device computes it anyway */
  int norm_num_groups;
  float norm_eps; /* epsilon of res blocks and conv_norm_out; group norms of transformers use 1e-6, layer norms 1e-5 */
  bool flip_sin_to_cos; /* the cosine comes first */
  float freq_shift;
  int time_embed_dim;     /* 4 * channels[0], unless the file has another value */
  int time_cond_proj_dim; /* width of full LCM's guidance embedding; 0: none */
  /* addition_embed_type text_time: width of the pooled text, and of the sinusoid of each of the SIZES sizes. Together
   * they go through add_embedding, and are added to the time embedding. 0: none */
  int added_text_dim, added_size_dim;
  /* "_image_scaling_factor", a field that only this program knows: the divisor by which the network sees the sampler's
   * latent of the input picture. 0: not given */
  float image_scaling_factor;
};

/* ControlNetModel: a U-Net without its up blocks, and the layers that read the map. */
struct controlnet_config {
  struct unet_config body;
  bool says_pooled; /* the config has the field global_pool_conditions */
  /* global_pool_conditions: the network adds its mean over the picture, and only to the row of the prompt */
  bool pooled;
  /* conditioning_embedding_out_channels: the first is for the map's full size, each further one for half the size
   * before */
  int hint_levels, hint[LEVELS_MAX];
};

/* Config of a T2IAdapter. */
struct t2i_config {
  bool xl;         /* FullAdapterXL: only the third level halves the size; else every level but the first does */
  int in_channels; /* channels of the map: 3, or 1 */
  int patch;       /* downscale_factor: the map's pixels for one sample, in each direction */
  int levels, channels[LEVELS_MAX];
  int layers; /* num_res_blocks of each level */
};

/* text_encoder/config.json: CLIPTextModel or CLIPTextModelWithProjection. */
struct clip_config {
  int vocab_size, hidden_size, intermediate_size, layers, heads;
  int positions;              /* max_position_embeddings */
  enum activation hidden_act; /* ACT_QUICK_GELU or ACT_GELU */
  int projection_dim, end_token;
  float layer_norm_eps;
};

/* config.json and preprocessor_config.json of a Depth Anything V2. */
enum { DEPTH_FEATURES = 4 };
struct depth_config {
  /* The backbone, DINOv2. */
  int hidden_size, layers, heads, mlp; /* mlp: width inside the MLP */
  int patch;                           /* pixels of a patch, in each direction */
  int side;                            /* patches in each direction for which there is a table of positions */
  float layer_norm_eps;
  bool qkv_bias;
  int feature[DEPTH_FEATURES]; /* layers whose output the neck reads: counted from 1, ascending */
  bool feature_norm;           /* apply_layernorm */
  /* The neck and the head, DPT. */
  int neck[DEPTH_FEATURES]; /* neck_hidden_sizes */
  int fusion, head;         /* fusion_hidden_size, head_hidden_size */
  /* The picture that the network reads. */
  int shorter_side; /* size: length of the shorter side */
  double mean[3], deviation[3];
};

/* A part of a model. */
struct component {
  char *folder;       /* folder of the part, for messages: "sd-turbo/unet" */
  char *config;       /* path of the config.json that describes it; NULL: its family or its own tensors do */
  const char *name;   /* "unet", "vae", "text_encoder": the names of its resources begin with this */
  const char *prefix; /* "text_model." if the file's keys begin with it, else "" */
  struct safetensors *files;
};

struct text_encoder {
  struct component weights;
  struct clip_config config;
  struct tokenizer *tokenizer;
  /* SDXL: the U-Net reads a layer's output without the final norm, usually that of the last layer but one */
  bool penultimate;
  int unread;  /* number of layers at the end whose output it does not read; the pooled text goes through all layers */
  bool pooled; /* CLIPTextModelWithProjection: the U-Net also reads the projection of the end token */
};

/* A network that the sampler calls: a U-Net. */
struct predictor {
  struct component weights;
  struct unet_config config;
};

/* Config of an AutoencoderTiny. */
struct tae_config {
  int levels;                             /* 4: pictures are 2^3 times as large as the latent */
  int encoder_channels, decoder_channels; /* equal at all levels, because the class supports nothing else */
  int encoder_blocks[LEVELS_MAX], decoder_blocks[LEVELS_MAX]; /* num_encoder_blocks, num_decoder_blocks */
};

/* Config of an AutoencoderKL. */
struct kl_config {
  int levels;
  int channels[LEVELS_MAX]; /* block_out_channels, from the outermost level on */
  int layers;               /* layers_per_block of the encoder; the decoder has one more */
  int groups;               /* norm_num_groups */
  bool quant_conv, post_quant_conv;
  bool mid_attention;
  bool force_upcast; /* values inside the network may exceed FP16's range */
};

/* The kinds of autoencoder: KIND, the field in struct autoencoder, and the class in diffusers. Each has a struct
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
  int scale; /* pixels for one sample of the latent, in each direction */
  int latent_channels;
  float scaling_factor, shift_factor; /* the sampler's latent is (the network's own - shift) * scaling */
  union {
    AUTOENCODER_TABLE(AUTOENCODER_CONFIG)
  };
};
#undef AUTOENCODER_CONFIG

/* These functions parse the text of a config.json alone; checkpoint_open and the fuzzer use them. path is for
 * messages. */
int unet_config_parse(struct unet_config *config, const char *text, const char *path, struct error *err);
int controlnet_config_parse(struct controlnet_config *config, const char *text, const char *path, struct error *err);
int t2i_config_parse(struct t2i_config *config, const char *text, const char *path, struct error *err);
int autoencoder_config_parse(struct autoencoder *autoencoder, const char *text, const char *path, struct error *err);
struct config;
/* Properties that the configs of CLIP's networks for texts and for pictures share: hidden_act, and a list of fields
 * that do not change the forward pass (for config_ignore). */
enum activation clip_activation(struct config *config);
extern const char *const clip_no_matter[];
int clip_config_parse(struct clip_config *config, const char *text, const char *path, struct error *err);
int depth_config_parse(struct depth_config *depth, const char *text, const char *path, struct error *err);
/* Parses preprocessor_config.json; text NULL: there is none, and defaults are used. */
int depth_preprocessor_parse(struct depth_config *depth, const char *text, const char *path, struct error *err);
/* Parses a scheduler's config. If only the sampler or its spacing is not supported, this fails too, but sets `lacks`
 * and all other fields. */
int scheduler_config_parse(struct scheduler_config *config, const char *text, const char *path, const struct log *log,
                           struct error *err);

#endif
