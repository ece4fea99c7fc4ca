/* Recognises what a file of weights is by the names of its tensors. */
#ifndef UNET_CHECKPOINT_KIND_H
#define UNET_CHECKPOINT_KIND_H

#include "unet/checkpoint/safetensors.h"

enum weights_kind {
  WEIGHTS_UNKNOWN,
  WEIGHTS_MODEL, /* a whole model, or a U-Net with another part, in the original key layout */
  WEIGHTS_UNET,  /* a U-Net alone, with diffusers' names or the original ones, with or without a prefix */
  WEIGHTS_VAE,   /* an AutoencoderKL alone, in any of its key layouts */
  WEIGHTS_TINY,  /* a tiny autoencoder: whole, or one half */
  WEIGHTS_TEXT_ENCODER,
  WEIGHTS_LORA, /* LoRA and similar adapters: LoHa, LoKr, ... */
  WEIGHTS_CONTROLNET,
  WEIGHTS_CONTROL_DIFFERENCE, /* a ControlNet stored as the difference from its model's weights */
  WEIGHTS_CONTROL_LORA,       /* a ControlNet stored as a LoRA of its model's weights */
  WEIGHTS_CONTROL_LLLITE,
  WEIGHTS_CONTROL_UNION, /* a single ControlNet for several kinds of maps */
  WEIGHTS_CONTROL_XS,
  WEIGHTS_CONTROL_TRANSFORMER, /* a ControlNet of a family without a U-Net */
  WEIGHTS_ADAPTER,             /* a full T2I-Adapter */
  WEIGHTS_ADAPTER_LIGHT,       /* a T2I-Adapter with another network: light_adapter */
  WEIGHTS_IP_ADAPTER,          /* includes FaceID */
  WEIGHTS_IMAGE_ENCODER,       /* CLIP's vision network, with which an IP-Adapter reads pictures */
  WEIGHTS_DEPTH,               /* Depth Anything in transformers' layout */
  WEIGHTS_DEPTH_AUTHORS,       /* Depth Anything in its authors' layout */
  WEIGHTS_EMBEDDING,           /* a textual inversion */
  WEIGHTS_MOTION,              /* a motion module for video */
  WEIGHTS_UPSCALER,            /* ESRGAN, SwinIR and similar networks, which enlarge a picture */
  WEIGHTS_FACE,                /* GFPGAN, CodeFormer and similar networks, which restore faces */
  WEIGHTS_PHOTOMAKER,
  WEIGHTS_IDENTITY,    /* PuLID and InstantID, which read a face */
  WEIGHTS_STYLE_MODEL, /* FLUX Redux, the style adapter of T2I */
  WEIGHTS_GLIGEN,      /* a U-Net or its layers that take boxes */
  WEIGHTS_SEGMENTER,   /* Segment Anything */
  WEIGHTS_CASCADE,     /* Stable Cascade, Wuerstchen */
  WEIGHTS_FLUX,        /* from here on: networks of families without a U-Net */
  WEIGHTS_SD3,
  WEIGHTS_WAN,
  WEIGHTS_QWEN,
  WEIGHTS_LTX,
  WEIGHTS_HUNYUAN,
  WEIGHTS_CHROMA,
  WEIGHTS_AURAFLOW,
  WEIGHTS_LUMINA,
  WEIGHTS_TRANSFORMER, /* a network without a U-Net, of none of the families above */
  WEIGHTS_T5,          /* from here on: text encoders of families without a U-Net */
  WEIGHTS_LANGUAGE
};
/* Returns the kind of a file. */
enum weights_kind weights_kind(const struct safetensors *files);
/* Finds out how a U-Net's tensors are named: *prefix comes before each name, and *original is true for the original key
 * layout, false for diffusers'. Returns false if there is no U-Net. */
bool weights_unet_layout(const struct safetensors *files, const char **prefix, bool *original);
const char *weights_kind_name(enum weights_kind kind); /* Returns a name for people: "a ControlNet" */
/* Returns how the file is used: "give it with --vae beside a --model" */
const char *weights_kind_use(enum weights_kind kind);

/* Refuses a file that was given where another kind is wanted: "FILE: is a LoRA, not WANTED; ...", and says how to use
 * it. wanted: WEIGHTS_MODEL, UNET, VAE, LORA, CONTROLNET, IP_ADAPTER or DEPTH. */
int weights_kind_refuse(enum weights_kind kind, const char *path, enum weights_kind wanted, struct error *err);

/* Refuses a file whose weights are quantised, such as FP8 with scales, and names the tensor that shows it. */
int weights_refuse_quantised(const struct safetensors *files, struct error *err);

#endif
