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

/* ControlNetModel: a U-Net without its way up, and the layers that read the map. */
struct controlnet_config {
  struct unet_config body;
  bool says_pooled; /* the config has the field that follows */
  bool pooled;      /* global_pool_conditions: what it adds is the mean over the picture, for the prompt's row alone */
  int hint_levels, hint[LEVELS_MAX]; /* conditioning_embedding_out_channels: the first of the map's size, each other of
                                        half the size before */
};

/* T2IAdapter. */
struct t2i_config {
  bool xl;         /* FullAdapterXL: of its levels the third alone is at half the size before, else all but the first */
  int in_channels; /* of the map: 3, or 1 */
  int patch;       /* downscale_factor: pixels to a sample, each way */
  int levels, channels[LEVELS_MAX];
  int layers; /* num_res_blocks of each level */
};

/* text_encoder/config.json: CLIPTextModel, CLIPTextModelWithProjection. */
struct clip_config {
  int vocab_size, hidden_size, intermediate_size, layers, heads;
  int positions;              /* max_position_embeddings */
  enum activation hidden_act; /* ACT_QUICK_GELU or ACT_GELU */
  int projection_dim, end_token;
  float layer_norm_eps;
};

/* config.json of a Depth Anything V2, and preprocessor_config.json beside it. */
enum { DEPTH_FEATURES = 4 };
struct depth_config {
  /* DINOv2 */
  int hidden_size, layers, heads, mlp; /* width inside the MLP */
  int patch;                           /* pixels, each way */
  int side;                            /* patches each way that the table of positions is for */
  float layer_norm_eps;
  bool qkv_bias;
  int feature[DEPTH_FEATURES]; /* the layers whose output the neck reads, from 1, rising */
  bool feature_norm;           /* apply_layernorm */
  /* DPT */
  int neck[DEPTH_FEATURES]; /* neck_hidden_sizes */
  int fusion, head;         /* fusion_hidden_size, head_hidden_size */
  /* of the picture that the network sees */
  int shorter_side; /* size */
  double mean[3], deviation[3];
};

/* One of the folder's parts. */
struct component {
  char *folder;       /* for messages: "sd-turbo/unet" */
  char *config;       /* path of the config.json that describes it; NULL: its family or its own tensors do */
  const char *name;   /* "unet", "vae", "text_encoder": begins the names of its resources */
  const char *prefix; /* "text_model." where the file's keys have it, else "" */
  struct safetensors *files;
};

struct text_encoder {
  struct component weights;
  struct clip_config config;
  struct tokenizer *tokenizer;
  bool penultimate; /* the U-Net attends to what a layer gives without the final norm, usually the last but one: SDXL */
  int unread;       /* layers at the end whose output it does not attend to; what is pooled goes through all of them */
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

/* Configs alone, from text of a config.json; what checkpoint_open and the fuzzer use. path is for messages. */
int unet_config_parse(struct unet_config *config, const char *text, const char *path, struct error *err);
int controlnet_config_parse(struct controlnet_config *config, const char *text, const char *path, struct error *err);
int t2i_config_parse(struct t2i_config *config, const char *text, const char *path, struct error *err);
int autoencoder_config_parse(struct autoencoder *autoencoder, const char *text, const char *path, struct error *err);
struct config;
/* What the configs of CLIP's networks, for texts and for pictures, have in common: hidden_act, and fields without
 * effect on the forward pass (config_ignore). */
enum activation clip_activation(struct config *config);
extern const char *const clip_no_matter[];
int clip_config_parse(struct clip_config *config, const char *text, const char *path, struct error *err);
int depth_config_parse(struct depth_config *depth, const char *text, const char *path, struct error *err);
/* preprocessor_config.json; text NULL: there is none. */
int depth_preprocessor_parse(struct depth_config *depth, const char *text, const char *path, struct error *err);
/* Fails, with lacks set and all else read, also where only the sampler or its spacing is not supported. */
int scheduler_config_parse(struct scheduler_config *config, const char *text, const char *path, const struct log *log,
                           struct error *err);

#endif
