/* The original key layout: tensors put into a view under the names that they have in a diffusers folder.
 *
 * Each function adds all tensors of files whose names begin with prefix. One whose name the network does not have keeps
 * it, prefix and all, so that it is refused as a weight that nobody reads. */
#ifndef UNET_CHECKPOINT_ORIGINAL_H
#define UNET_CHECKPOINT_ORIGINAL_H

#include "unet/checkpoint/tensor_view.h"

int original_unet(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err);
int original_controlnet(struct safetensors *view, const struct safetensors *files, const char *prefix,
                        struct error *err);
/* Whose levels have two layers each. */
int original_t2i(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err);
int original_kl(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err);
/* CLIP as transformers has it. */
int original_clip(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err);
/* OpenCLIP, also its layers and its projection that a model does not use. */
int original_open_clip(struct safetensors *view, const struct safetensors *files, const char *prefix,
                       struct error *err);

/* For each beginning of a module's name in a U-Net ("input_blocks.1.0.in_layers.2."), what diffusers has in its place
 * ("down_blocks.0.resnets.0.conv1."). levels have so many layers each, and blocks are numbered without gaps. Stops with
 * the first result other than 0, and returns it. */
typedef int original_name(void *opaque, const char *original, const char *name);
int original_unet_names(int levels, const int *layers, original_name *each, void *opaque);

/* Whether a tensor of a single file is no weight of a network: constants of training, averaged copies, counters. */
bool original_is_harmless(const char *name);

#endif
