/* IP-Adapters. Such a file has additional attention layers for a U-Net, and a projection. A CLIP vision network (the
 * image encoder, in a folder of its own) reads a picture; the projection turns its output into tokens, to which the
 * layers attend. Three kinds, published by Tencent, are supported: the linear kind, "plus" (a resampler) and "full
 * face" (an MLP). They are recognised by the names of their tensors.
 *
 * Ownership: struct ip_adapter owns everything it points to. Weights that plans use refer to its files, as those of a
 * checkpoint do. */
#ifndef UNET_CHECKPOINT_IP_ADAPTER_H
#define UNET_CHECKPOINT_IP_ADAPTER_H

#include "unet/checkpoint/parts.h"

/* The fields of a CLIP image encoder's config.json (CLIPVisionModelWithProjection) that are used. */
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
  IP_LINEAR,    /* one matrix that projects the picture's embedding to a few tokens */
  IP_RESAMPLER, /* "plus": learned queries that attend to all tokens of the encoder (a resampler) */
  IP_MLP,       /* "full face": an MLP that is applied to each token of the encoder */
};

/* Sizes of an IP-Adapter, which are read from the shapes of the file's tensors. */
struct ip_config {
  enum ip_projection projection;
  int picture_width; /* number of channels that the projection reads from the image encoder's output */
  int text_width;    /* number of channels of a token, equal to that of the U-Net's text */
  /* number of tokens that the projection makes of a picture; 0 with IP_MLP, where each token of the image encoder
   * becomes one token */
  int tokens;
  /* sizes of the resampler: channels of its tokens, channels of its attention, attention heads, layers */
  int width, inner, heads, layers;
  int attentions; /* number of attention layers of the U-Net for which there are keys and values */
};

struct ip_adapter {
  /* the file's tensors: those of the projection (image_proj.*) and of the attention layers (ip_adapter.*) */
  struct component weights;
  struct ip_config config;
  struct component encoder;
  struct vision_config vision;
};

/* Reads an IP-Adapter's sizes from the shapes of its tensors, without opening an image encoder. */
int ip_config_read(struct ip_config *config, const struct safetensors *files, struct error *err);
/* Opens an adapter and its image encoder. encoder: folder of the image encoder; NULL: it is looked for where it is
 * usually published: in the folders image_encoder and models/image_encoder next to the file or one folder above, and in
 * sdxl_models/image_encoder one folder above. The caller closes *adapter. Returns 0, or -1 with err; *adapter is then
 * NULL. */
int ip_adapter_open(struct ip_adapter **adapter, const char *path, const char *encoder, struct error *err);
/* ip_adapter_is_in returns true if a model's folder has an IP-Adapter of its own: ip_adapter.safetensors, with its
 * image encoder in the folder image_encoder beside it. ip_adapter_open_own opens it, as ip_adapter_open does. */
bool ip_adapter_is_in(const char *model);
int ip_adapter_open_own(struct ip_adapter **adapter, const char *model, struct error *err);
/* Closes the files. *adapter becomes NULL; does nothing if it is NULL. */
void ip_adapter_close(struct ip_adapter **adapter);
/* Refuses an adapter that was made for another U-Net: one with another text width or another number of attention
 * layers. model: the model's name for the message. */
int ip_adapter_check(const struct ip_adapter *adapter, const char *model, const struct unet_config *unet,
                     int attentions, struct error *err);
/* Returns the number of tokens of a picture to which the U-Net attends. */
int ip_adapter_tokens(const struct ip_adapter *adapter);
/* Returns the names, for people, of the models that the adapter was made for: "SD 1", "SDXL", "another model". */
const char *ip_config_family(const struct ip_config *config);
/* Returns the kind of the adapter for people: "linear", "plus (resampler)" or "full face (MLP)". */
const char *ip_config_form(const struct ip_config *config);

#endif
