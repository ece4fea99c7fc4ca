/* IP-Adapter: a file of attention layers that a U-Net has beside its own, and a projection that turns what a CLIP
 * vision network (an image encoder's folder) says of a picture into the tokens they attend to. Tencent's files, told by
 * their keys: the linear one, "plus" (a resampler) and "full face" (an MLP).
 *
 * Ownership: struct ip_adapter owns everything it points to; resources made from it refer to its files, as those of a
 * checkpoint do. */
#ifndef UNET_CHECKPOINT_IP_ADAPTER_H
#define UNET_CHECKPOINT_IP_ADAPTER_H

#include "unet/checkpoint/parts.h"

/* config.json: CLIPVisionModelWithProjection. */
struct vision_config {
  int hidden_size, intermediate_size, layers, heads, projection_dim;
  int image_size, patch_size;
  enum activation hidden_act;
  float layer_norm_eps;
};

/* text is that of a config.json; path is for messages. */
int vision_config_parse(struct vision_config *config, const char *text, const char *path, struct error *err);
/* Tokens that it makes of a picture: one for each patch, and the class. */
static inline int vision_tokens(const struct vision_config *config) {
  int side = config->image_size / config->patch_size;
  return side * side + 1;
}

enum ip_projection {
  IP_LINEAR,    /* of the picture's embedding */
  IP_RESAMPLER, /* queries that attend to all of the encoder's tokens, "plus" */
  IP_MLP,       /* of each token, "full face" */
};

/* What the file's tensors say of its sizes. */
struct ip_config {
  enum ip_projection projection;
  int picture_width;               /* of what it reads of the encoder */
  int text_width;                  /* of its tokens: that of the U-Net's text */
  int tokens;                      /* it makes of a picture; of the MLP 0: the encoder's */
  int width, inner, heads, layers; /* of the resampler */
  int attentions;                  /* that it has keys and values for */
};

struct ip_adapter {
  struct component weights; /* image_proj.*, ip_adapter.* */
  struct ip_config config;
  struct component encoder;
  struct vision_config vision;
};

/* Reads the sizes alone: what the fuzzer and `reverie info` use. */
int ip_config_read(struct ip_config *config, const struct safetensors *files, struct error *err);
/* encoder: NULL looks for the folder beside the file, as they are published: image_encoder, ../image_encoder and
 * ../models/image_encoder. */
int ip_adapter_open(struct ip_adapter **adapter, const char *path, const char *encoder, struct error *err);
void ip_adapter_close(struct ip_adapter **adapter); /* stores NULL; takes NULL */
/* Refuses a model that it was not made for: its U-Net, with so many attentions to the text. */
int ip_adapter_check(const struct ip_adapter *adapter, const char *model, const struct unet_config *unet,
                     int attentions, struct error *err);
/* Tokens of a picture that the U-Net attends to. */
int ip_adapter_tokens(const struct ip_adapter *adapter);
/* The models that it is for, for people: "SD 1", "SDXL", "another model". */
const char *ip_config_family(const struct ip_config *config);
/* "linear", "plus", "full face" */
const char *ip_config_form(const struct ip_config *config);

#endif
