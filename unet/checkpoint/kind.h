/* Finds out what a file of weights is (a model, a LoRA, a ControlNet, ...) from the names of its tensors. */
#ifndef UNET_CHECKPOINT_KIND_H
#define UNET_CHECKPOINT_KIND_H

#include "unet/checkpoint/safetensors.h"

enum weights_kind {
  WEIGHTS_UNKNOWN,
  WEIGHTS_MODEL, /* a whole model, or a U-Net with another part, in the original key layout */
  WEIGHTS_UNET,  /* a U-Net alone, with diffusers' names or the original ones, with or without a prefix */
  WEIGHTS_VAE,   /* an AutoencoderKL alone, in any of its key layouts */
  WEIGHTS_TINY,  /* a tiny autoencoder, whole or only its encoder or decoder */
  WEIGHTS_TEXT_ENCODER,
  WEIGHTS_LORA, /* a LoRA or a similar adapter: LoHa, LoKr, ... */
  WEIGHTS_CONTROLNET,
  WEIGHTS_CONTROL_DIFFERENCE, /* a ControlNet stored as the difference from its model's weights */
  WEIGHTS_CONTROL_LORA,       /* a ControlNet stored as a LoRA of its model's weights */
  WEIGHTS_CONTROL_LLLITE,
  WEIGHTS_CONTROL_UNION, /* one ControlNet that can read several kinds of maps */
  WEIGHTS_CONTROL_XS,
  WEIGHTS_CONTROL_TRANSFORMER, /* a ControlNet of a family without a U-Net */
  WEIGHTS_ADAPTER,             /* a T2I-Adapter whose network is diffusers' full adapter */
  WEIGHTS_ADAPTER_LIGHT,       /* a T2I-Adapter whose network is diffusers' light adapter */
  WEIGHTS_IP_ADAPTER,          /* an IP-Adapter, including the kind FaceID */
  WEIGHTS_IMAGE_ENCODER,       /* CLIP's vision network, with which an IP-Adapter reads pictures */
  WEIGHTS_DEPTH,               /* Depth Anything, with the tensor names of the transformers library */
  WEIGHTS_DEPTH_AUTHORS,       /* Depth Anything, with the tensor names of its authors */
  WEIGHTS_EMBEDDING,           /* a textual inversion */
  WEIGHTS_MOTION,              /* a motion module for video */
  WEIGHTS_UPSCALER,            /* ESRGAN, SwinIR and similar networks, which enlarge a picture */
  WEIGHTS_FACE,                /* GFPGAN, CodeFormer and similar networks, which restore faces */
  WEIGHTS_PHOTOMAKER,
  WEIGHTS_IDENTITY,    /* PuLID or InstantID, adapters that give a person in the picture a certain face */
  WEIGHTS_STYLE_MODEL, /* FLUX Redux, or the style adapter of the T2I-Adapters */
  WEIGHTS_GLIGEN,      /* GLIGEN: a U-Net that also reads boxes, each with a text, or only the layers that read boxes */
  WEIGHTS_SEGMENTER,   /* a network of Segment Anything, which finds objects in pictures */
  WEIGHTS_CASCADE,     /* a network of Stable Cascade or Wuerstchen */
  WEIGHTS_FLUX,        /* from this row on: networks of families without a U-Net, none of which is supported */
  WEIGHTS_SD3,
  WEIGHTS_WAN,
  WEIGHTS_QWEN,
  WEIGHTS_LTX,
  WEIGHTS_HUNYUAN,
  WEIGHTS_CHROMA,
  WEIGHTS_AURAFLOW,
  WEIGHTS_LUMINA,
  WEIGHTS_TRANSFORMER, /* a network without a U-Net, of none of the families above */
  WEIGHTS_T5,          /* from this row on: text encoders of families without a U-Net, none of which is supported */
  WEIGHTS_LANGUAGE
};
/* Finds out from the names of a file's tensors what kind of network, adapter or other data the file has. */
enum weights_kind weights_kind(const struct safetensors *files);
/* Finds out how a U-Net's tensors are named: *prefix comes before each name, and *original is true for the original key
 * layout, false for diffusers'. Returns false if there is no U-Net. */
bool weights_unet_layout(const struct safetensors *files, const char **prefix, bool *original);
const char *weights_kind_name(enum weights_kind kind); /* Returns the kind's name for people, such as "a ControlNet". */
/* Returns a sentence about how the file can be used: "give it with --vae beside a --model" */
const char *weights_kind_use(enum weights_kind kind);

/* Refuses a file that was given where a file of another kind is wanted, and says how to use it: "FILE: is a LoRA, not
 * WANTED; ...". wanted: WEIGHTS_MODEL, UNET, VAE, LORA, CONTROLNET, IP_ADAPTER or DEPTH. */
int weights_kind_refuse(enum weights_kind kind, const char *path, enum weights_kind wanted, struct error *err);

/* Refuses a file whose weights are quantised, such as FP8 with scales, and names the tensor that shows it. */
int weights_refuse_quantised(const struct safetensors *files, struct error *err);

#endif
