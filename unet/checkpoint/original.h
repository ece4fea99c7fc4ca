/* The original key layout, that of single files. The functions add the tensors of a network to a view, under the names
 * that they have in a diffusers folder.
 *
 * Each function adds all tensors whose names begin with prefix. A tensor whose name the network does not have keeps its
 * full name, so that it is refused later as a weight that no network reads. */
#ifndef UNET_CHECKPOINT_ORIGINAL_H
#define UNET_CHECKPOINT_ORIGINAL_H

#include "unet/checkpoint/tensor_view.h"

/* U-Nets, of any number of levels and layers. */
int original_unet(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err);
/* ControlNets, including the layers that read the map. */
int original_controlnet(struct safetensors *view, const struct safetensors *files, const char *prefix,
                        struct error *err);
/* T2I-Adapters with two layers at each level. */
int original_t2i(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err);
/* Both halves of an AutoencoderKL. */
int original_kl(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err);
/* CLIP with the names of transformers. */
int original_clip(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err);
/* OpenCLIP, including the layers and the projection that a model does not use. */
int original_open_clip(struct safetensors *view, const struct safetensors *files, const char *prefix,
                       struct error *err);

/* Calls `each` for the beginning of every module's name in a U-Net, "input_blocks.1.0.in_layers.2.", with diffusers'
 * name for it, "down_blocks.0.resnets.0.conv1.". layers: number of layers at each of the levels; blocks are numbered
 * without gaps. Stops at the first result other than 0, and returns it. */
typedef int original_name(void *opaque, const char *original, const char *name);
int original_unet_names(int levels, const int *layers, original_name *each, void *opaque);

/* Returns true if a tensor of a single file is not a weight of a network: constants of the training, averaged copies,
 * counters. */
bool original_is_harmless(const char *name);

#endif
