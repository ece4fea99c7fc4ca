/* The original key layout: the names that tensors have in single files, as the networks' authors published them. The
 * functions add the tensors of a network to a view, under the names that they have in a diffusers folder.
 *
 * Each function adds all tensors whose names begin with `prefix`. A tensor with an unknown name keeps its full name;
 * later it is refused as a weight that no network reads. */
#ifndef UNET_CHECKPOINT_ORIGINAL_H
#define UNET_CHECKPOINT_ORIGINAL_H

#include "unet/checkpoint/tensor_view.h"

/* Adds the tensors of a U-Net with any number of levels and layers to the view, under diffusers' names. */
int original_unet(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err);
/* Adds the tensors of a ControlNet, including the layers that read its control map, to the view, under diffusers'
 * names. */
int original_controlnet(struct safetensors *view, const struct safetensors *files, const char *prefix,
                        struct error *err);
/* Adds the tensors of a T2I-Adapter with two layers at each level to the view, under diffusers' names. */
int original_t2i(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err);
/* Adds the tensors of an AutoencoderKL, both encoder and decoder, to the view, under diffusers' names. */
int original_kl(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err);
/* Adds the tensors of a CLIP text encoder, which have transformers' names after the prefix, to the view. */
int original_clip(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err);
/* Adds the tensors of an OpenCLIP text encoder to the view, under transformers' names. They may include layers and a
 * projection that the model does not use. */
int original_open_clip(struct safetensors *view, const struct safetensors *files, const char *prefix,
                       struct error *err);

/* Calls `each` for every module of a U-Net, with the beginnings of its tensors' names: in the original layout
 * ("input_blocks.1.0.in_layers.2.") and in diffusers ("down_blocks.0.resnets.0.conv1."). layers: number of res blocks
 * at each level. Blocks are numbered without gaps. Stops at the first call that does not return 0, and returns its
 * result. */
typedef int original_name(void *opaque, const char *original, const char *name);
int original_unet_names(int levels, const int *layers, original_name *each, void *opaque);

/* Returns true if a tensor of a single file is not a weight, so that it can be left out: a constant of the training, an
 * averaged copy, a counter. */
bool original_is_harmless(const char *name);

#endif
