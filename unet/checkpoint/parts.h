/* The parts of a checkpoint: structs with the fields of their config files, and with their weights. */
#ifndef UNET_CHECKPOINT_PARTS_H
#define UNET_CHECKPOINT_PARTS_H

#include <stdbool.h>

#include "unet/base/error.h"
#include "unet/base/log.h"
#include "unet/plan/op.h"
#include "unet/checkpoint/safetensors.h"
#include "unet/sample/sampler.h"
#include "unet/text/tokenizer.h"

enum { LEVELS_MAX = 8, LAYERS_MAX = 64 /* largest number of res blocks of a level (layers_per_block) */ };

/* The fields of unet/config.json (UNet2DConditionModel) that are used. Arrays are indexed by level, from the outermost
 * (largest) to the innermost. The up blocks go through the levels in reverse, and have one res block more than
 * layers[]. */
struct unet_config {
  int sample_height, sample_width; /* height and width of the latent at the model's native size */
  int in_channels, out_channels;
  int levels;
  int channels[LEVELS_MAX];        /* block_out_channels in the config: number of channels of each level */
  int layers[LEVELS_MAX];          /* layers_per_block in the config: number of res blocks of each level */
  bool down_attention[LEVELS_MAX]; /* for each level: true: it has CrossAttnDownBlock2D, false: DownBlock2D */
  /* for each level: true: its up block is CrossAttnUpBlock2D, false: UpBlock2D. Levels are counted from the outermost,
   * so the last entry is up_blocks.0 */
  bool up_attention[LEVELS_MAX];
  int heads[LEVELS_MAX]; /* number of attention heads; the config's name for it is attention_head_dim */
  /* Number of transformer blocks of each attention, by level and then by res block: transformer_layers_per_block, and
   * for the up blocks reverse_transformer_layers_per_block. */
  int down_depth[LEVELS_MAX][LAYERS_MAX], mid_depth, up_depth[LEVELS_MAX][LAYERS_MAX + 1];
  /* for each level: true: attn1 (its blocks' first attention) attends to the text like attn2; false: to the picture */
  bool only_cross_attention[LEVELS_MAX];
  bool mid_block; /* true: there is a middle block */
  /* true: the middle block is UNetMidBlock2DCrossAttn, with layers and heads of the innermost level; false:
   * UNetMidBlock2D */
  bool mid_attention;
  int cross_attention_dim;
  /* true: proj_in and proj_out are matrices; false: they are 1x1 convolutions, whose arithmetic is the same */
  bool use_linear_projection;
  bool upcast_attention; /* true: the config asks for softmax in FP32; ignored, because every device computes it so */
  int norm_num_groups;
  /* epsilon of the group norms of res blocks and conv_norm_out. The other norms have fixed values: 1e-6 for group norms
   * of transformers, 1e-5 for layer norms */
  float norm_eps;
  bool flip_sin_to_cos; /* true: cosines come before sines in the time embedding */
  float freq_shift;
  int time_embed_dim;     /* width of the time embedding: 4 * channels[0], unless the file has another value */
  int time_cond_proj_dim; /* width of the guidance embedding, which full LCM models have; 0: none */
  /* For addition_embed_type text_time (SDXL): width of the pooled text, and width of the sinusoidal embedding of each
   * of the SIZES numbers (original size, crop, target size). The layers add_embedding map all of these together to a
   * vector that is added to the time embedding. 0: none */
  int added_text_dim, added_size_dim;
  /* for networks that read the latent of the input picture: in training, this latent (after multiplication by the
   * autoencoder's scaling factor) was divided by this number. Only this program knows the field
   * "_image_scaling_factor". 0: not given */
  float image_scaling_factor;
};

/* ControlNetModel: a U-Net without its up blocks, and the layers that read the map. */
struct controlnet_config {
  struct unet_config body;
  bool says_pooled; /* true: the config has the field global_pool_conditions */
  /* global_pool_conditions in the config: true: the network's output is averaged over the picture, and added only to
   * the prediction for the prompt, not to that for the negative prompt */
  bool pooled;
  /* channels of the layers that read the map (conditioning_embedding_out_channels): the first is for the map's full
   * size, each further one for half the size of the previous one; hint_levels is their number */
  int hint_levels, hint[LEVELS_MAX];
};

/* The fields of a T2I-Adapter's config that are used. */
struct t2i_config {
  /* true: FullAdapterXL, in which only the third level halves the size; false: every level but the first does */
  bool xl;
  int in_channels; /* number of channels of the map: 3 or 1 */
  /* downscale_factor in the config: side, in pixels of the map, of a square; the values of a square become the channels
   * of one position */
  int patch;
  int levels, channels[LEVELS_MAX];
  int layers; /* num_res_blocks: number of res blocks at each level */
};

/* The fields of text_encoder/config.json (CLIPTextModel or CLIPTextModelWithProjection) that are used. */
struct clip_config {
  int vocab_size, hidden_size, intermediate_size, layers, heads;
  int positions;              /* largest number of tokens: max_position_embeddings in the config */
  enum activation hidden_act; /* activation between the two layers of an MLP: ACT_QUICK_GELU or ACT_GELU */
  int projection_dim, end_token;
  float layer_norm_eps;
};

/* The fields of config.json and preprocessor_config.json of a Depth Anything V2 that are used. */
enum { DEPTH_FEATURES = 4 };
struct depth_config {
  /* The following fields describe the backbone, DINOv2. */
  /* width of tokens, number of layers, number of attention heads, width inside the MLP */
  int hidden_size, layers, heads, mlp;
  int patch; /* width and height of a patch in pixels */
  int side;  /* number of patches along each side of the pictures for which the file has a table of positions */
  float layer_norm_eps;
  bool qkv_bias;
  /* numbers of the backbone's layers whose output the neck reads: counted from 1, ascending */
  int feature[DEPTH_FEATURES];
  bool feature_norm; /* apply_layernorm in the config: true: a norm is applied to the feature maps */
  /* The fields from `neck` to `head` describe the last part of the network, which is a DPT. */
  int neck[DEPTH_FEATURES]; /* number of the neck's channels for each of the backbone's feature maps (neck_hidden_sizes
                             * in the config) */
  /* numbers of channels of the fusion layers and of the head (fusion_hidden_size and head_hidden_size in the config) */
  int fusion, head;
  /* The following fields say how a picture is scaled and normalised before the network reads it. */
  int shorter_side; /* length in pixels of the picture's shorter side */
  double mean[3], deviation[3];
};

/* A part of a model (a network): its weights, and the names under which it is found. */
struct component {
  char *folder; /* folder of the part, as messages name it: "sd-turbo/unet" */
  char *config; /* path of the part's config.json; NULL: its sizes come from its family, or from its tensors */
  /* name of the part, with which the names of its resources (constant tensors) begin: "unet", "vae", "text_encoder" */
  const char *name;
  const char *prefix; /* beginning of the tensors' names in the file: "text_model.", or "" */
  struct safetensors *files;
};

struct text_encoder {
  struct component weights;
  struct clip_config config;
  struct tokenizer *tokenizer;
  /* which output the U-Net reads: true: that of a layer before the last one (usually the last but one, as in SDXL),
   * without the final norm; false: that of the last layer, with the norm */
  bool penultimate;
  /* number of layers at the end whose output the U-Net does not read; only the pooled text goes through all layers */
  int unread;
  bool pooled; /* true: the U-Net also reads the projection of the end token (CLIPTextModelWithProjection) */
};

/* A network that the sampler calls in each step: a U-Net. */
struct predictor {
  struct component weights;
  struct unet_config config;
};

/* The fields of an AutoencoderTiny's config that are used. */
struct tae_config {
  int levels; /* number of levels; 4 means that pictures are 2^3 times as wide and high as the latent */
  /* numbers of channels, equal at all levels, because the class supports nothing else */
  int encoder_channels, decoder_channels;
  /* numbers of blocks at each level (num_encoder_blocks and num_decoder_blocks in the config) */
  int encoder_blocks[LEVELS_MAX], decoder_blocks[LEVELS_MAX];
};

/* The fields of an AutoencoderKL's config that are used. */
struct kl_config {
  int levels;
  int channels[LEVELS_MAX]; /* number of channels of each level (block_out_channels), outermost level first */
  int layers; /* layers_per_block: number of res blocks at each level of the encoder; the decoder has one more */
  int groups; /* norm_num_groups: groups of each group norm */
  bool quant_conv, post_quant_conv;
  bool mid_attention;
  bool force_upcast; /* true: values inside the network may exceed FP16's range */
};

/* The kinds of autoencoder. Each row has three columns: KIND, the name in enum autoencoder_type; FIELD, the field in
 * struct autoencoder; and the class in diffusers. For each kind there are a struct FIELD_config in this file,
 * FIELD_config_read and FIELD_print in autoencoders.h, and FIELD_kind in unet/model/autoencoder.h. */
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
  int scale; /* side, in pixels of the picture, of the square that becomes one sample of the latent */
  int latent_channels;
  /* factors that convert the autoencoder's own latent: the sampler's latent is (own - shift) * scaling */
  float scaling_factor, shift_factor;
  union {
    AUTOENCODER_TABLE(AUTOENCODER_CONFIG)
  };
};
#undef AUTOENCODER_CONFIG

/* The following functions parse the text of a config.json; path is for messages. They return 0, or -1 with err. */
int unet_config_parse(struct unet_config *config, const char *text, const char *path, struct error *err);
int controlnet_config_parse(struct controlnet_config *config, const char *text, const char *path, struct error *err);
int t2i_config_parse(struct t2i_config *config, const char *text, const char *path, struct error *err);
int autoencoder_config_parse(struct autoencoder *autoencoder, const char *text, const char *path, struct error *err);
struct config;
/* For the config readers of CLIP's text and vision networks: clip_activation reads the field hidden_act; clip_no_matter
 * lists fields that do not change the forward pass, for config_ignore. */
enum activation clip_activation(struct config *config);
extern const char *const clip_no_matter[];
int clip_config_parse(struct clip_config *config, const char *text, const char *path, struct error *err);
int depth_config_parse(struct depth_config *depth, const char *text, const char *path, struct error *err);
/* Parses preprocessor_config.json; text NULL: there is none, and defaults are used. */
int depth_preprocessor_parse(struct depth_config *depth, const char *text, const char *path, struct error *err);
/* Parses a scheduler's config. Also fails if only the sampler or its spacing is not supported, but then sets `lacks`
 * and all other fields. */
int scheduler_config_parse(struct scheduler_config *config, const char *text, const char *path, const struct log *log,
                           struct error *err);

#endif
