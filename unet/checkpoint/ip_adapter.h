/* IP-Adapters. A file has additional attention layers for a U-Net, and a projection. The projection turns the output of
 * a CLIP vision network (the image encoder, a folder of its own) for a picture into tokens, to which these layers
 * attend. Tencent's files are supported, and are told by their keys: the linear kind, "plus" (a resampler) and "full
 * face" (an MLP).
 *
 * Ownership: struct ip_adapter owns everything it points to. Resources made from it refer to its files, as those of a
 * checkpoint do. */
#ifndef UNET_CHECKPOINT_IP_ADAPTER_H
#define UNET_CHECKPOINT_IP_ADAPTER_H

#include "unet/checkpoint/parts.h"

/* config.json of a CLIPVisionModelWithProjection. */
struct vision_config {
  int hidden_size, intermediate_size, layers, heads, projection_dim;
  int image_size, patch_size;
  enum activation hidden_act;
  float layer_norm_eps;
};

/* Parses the text of a config.json; path is for messages. */
int vision_config_parse(struct vision_config *config, const char *text, const char *path, struct error *err);
/* Returns the number of tokens that the encoder makes of a picture: one for each patch, and the class token. */
static inline int vision_tokens(const struct vision_config *config) {
  int side = config->image_size / config->patch_size;
  return side * side + 1;
}

enum ip_projection {
  IP_LINEAR,    /* projection of the picture's embedding */
  IP_RESAMPLER, /* "plus": queries that attend to all tokens of the encoder */
  IP_MLP,       /* "full face": an MLP on each token */
};

/* Sizes that follow from the shapes of the file's tensors. */
struct ip_config {
  enum ip_projection projection;
  int picture_width;               /* width of the encoder's output that the projection reads */
  int text_width;                  /* width of the tokens, equal to that of the U-Net's text */
  int tokens;                      /* number of tokens for a picture; 0 for the MLP, which has as many as the encoder */
  int width, inner, heads, layers; /* sizes of the resampler */
  int attentions;                  /* number of attention layers of the U-Net for which there are keys and values */
};

struct ip_adapter {
  struct component weights; /* tensors image_proj.* and ip_adapter.* */
  struct ip_config config;
  struct component encoder;
  struct vision_config vision;
};

/* Reads the sizes alone, for the fuzzer and `reverie info`. */
int ip_config_read(struct ip_config *config, const struct safetensors *files, struct error *err);
/* Opens an adapter and its image encoder. encoder NULL: the encoder's folder is looked for where it is published: as
 * image_encoder, ../image_encoder or ../models/image_encoder next to the file. The caller closes *adapter. */
int ip_adapter_open(struct ip_adapter **adapter, const char *path, const char *encoder, struct error *err);
void ip_adapter_close(struct ip_adapter **adapter); /* Closes the files. Stores NULL; takes NULL. */
/* Refuses an adapter that was made for another U-Net, by text width and number of attention layers. model: its name for
 * the message. */
int ip_adapter_check(const struct ip_adapter *adapter, const char *model, const struct unet_config *unet,
                     int attentions, struct error *err);
/* Returns the number of tokens of a picture to which the U-Net attends. */
int ip_adapter_tokens(const struct ip_adapter *adapter);
/* Returns the models for which it was made, for people: "SD 1", "SDXL", "another model". */
const char *ip_config_family(const struct ip_config *config);
/* Returns "linear", "plus" or "full face". */
const char *ip_config_form(const struct ip_config *config);

#endif
