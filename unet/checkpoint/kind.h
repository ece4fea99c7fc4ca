/* What a file of weights is: told by the names of its tensors. */
#ifndef UNET_CHECKPOINT_KIND_H
#define UNET_CHECKPOINT_KIND_H

#include "unet/checkpoint/safetensors.h"

enum weights_kind {
  WEIGHTS_UNKNOWN,
  WEIGHTS_MODEL, /* a whole model, or the U-Net and another part, in the original key layout */
  WEIGHTS_UNET,  /* a U-Net alone: diffusers' names, or the original ones with or without prefix */
  WEIGHTS_VAE,   /* an AutoencoderKL alone, any of its key layouts */
  WEIGHTS_TINY,  /* a tiny autoencoder, whole or one half */
  WEIGHTS_TEXT_ENCODER,
  WEIGHTS_LORA, /* and its kin: LoHa, LoKr, ... */
  WEIGHTS_CONTROLNET,
  WEIGHTS_CONTROL_DIFFERENCE, /* a ControlNet as what it adds to its model's weights */
  WEIGHTS_CONTROL_LORA,       /* the same as a LoRA */
  WEIGHTS_CONTROL_LLLITE,
  WEIGHTS_CONTROL_UNION, /* one ControlNet for several kinds of maps */
  WEIGHTS_CONTROL_XS,
  WEIGHTS_CONTROL_TRANSFORMER, /* of a family without a U-Net */
  WEIGHTS_ADAPTER,             /* T2I-Adapter */
  WEIGHTS_ADAPTER_LIGHT,       /* of another network: light_adapter */
  WEIGHTS_IP_ADAPTER,          /* also FaceID */
  WEIGHTS_IMAGE_ENCODER,       /* CLIP's vision network, which an IP-Adapter reads pictures with */
  WEIGHTS_DEPTH,               /* Depth Anything, as transformers has it */
  WEIGHTS_DEPTH_AUTHORS,       /* as its authors have it */
  WEIGHTS_EMBEDDING,           /* textual inversion */
  WEIGHTS_MOTION,              /* a motion module for video */
  WEIGHTS_FLUX,                /* networks of other families, from here on without a U-Net */
  WEIGHTS_SD3,
  WEIGHTS_WAN,
  WEIGHTS_QWEN,
  WEIGHTS_LTX,
  WEIGHTS_HUNYUAN,
  WEIGHTS_CHROMA,
  WEIGHTS_AURAFLOW,
  WEIGHTS_LUMINA,
  WEIGHTS_TRANSFORMER, /* another of them */
  WEIGHTS_T5,          /* text encoders of theirs */
  WEIGHTS_LANGUAGE
};
enum weights_kind weights_kind(const struct safetensors *files);
/* Finds how a U-Net's tensors are named: what stands before each name, and the original key layout or diffusers' own.
 * False: there is no U-Net. */
bool weights_unet_layout(const struct safetensors *files, const char **prefix, bool *original);
const char *weights_kind_name(enum weights_kind kind); /* "a ControlNet" */
const char *weights_kind_use(enum weights_kind kind);  /* what to do with it: "give it with --vae beside a --model" */

/* Refuses a file given where another kind is wanted: "FILE: is a LoRA, not WANTED; ...", with what to do instead.
 * wanted: WEIGHTS_MODEL, UNET, VAE, LORA, CONTROLNET, IP_ADAPTER or DEPTH. */
int weights_kind_refuse(enum weights_kind kind, const char *path, enum weights_kind wanted, struct error *err);

/* Refuses a file whose weights are quantised: FP8 with scales and the like, by the tensor that shows it. */
int weights_refuse_quantised(const struct safetensors *files, struct error *err);

#endif
