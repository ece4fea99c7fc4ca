/* The original key layout, that of single files. The functions add the tensors of a network to a view, under the names
 * that they have in a diffusers folder.
 *
 * Each function adds all tensors whose names begin with prefix. A tensor whose name the network does not have keeps its
 * full name, so that it is refused later as a weight that no network reads. */
#ifndef UNET_CHECKPOINT_ORIGINAL_H
#define UNET_CHECKPOINT_ORIGINAL_H

#include "unet/checkpoint/tensor_view.h"

/* Adds a U-Net with any number of levels and layers. */
int original_unet(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err);
/* Adds a ControlNet, including the layers that read the map. */
int original_controlnet(struct safetensors *view, const struct safetensors *files, const char *prefix,
                        struct error *err);
/* Adds a T2I-Adapter with two layers at each level. */
int original_t2i(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err);
/* Adds both halves of an AutoencoderKL. */
int original_kl(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err);
/* Adds a CLIP text encoder whose tensors have the names of transformers. */
int original_clip(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err);
/* Adds an OpenCLIP text encoder. This includes layers and a projection that a model may not use. */
int original_open_clip(struct safetensors *view, const struct safetensors *files, const char *prefix,
                       struct error *err);

/* Calls `each` for every module of a U-Net, with the beginning of its tensors' names in the original layout
 * ("input_blocks.1.0.in_layers.2.") and in diffusers ("down_blocks.0.resnets.0.conv1."). layers: number of layers at
 * each of the levels. Blocks are numbered without gaps. Stops at the first call that does not return 0, and returns its
 * result. */
typedef int original_name(void *opaque, const char *original, const char *name);
int original_unet_names(int levels, const int *layers, original_name *each, void *opaque);

/* Returns true if a tensor of a single file is no weight of a network and can be left out: a constant of the training,
 * an averaged copy, a counter. */
bool original_is_harmless(const char *name);

#endif
