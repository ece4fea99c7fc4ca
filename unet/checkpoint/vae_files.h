/* Autoencoders in files of their own, with or without a config in the same folder. Such a file is an AutoencoderKL in
 * any of its key layouts, or a tiny autoencoder. A tiny autoencoder may also be a pair of files, as published
 * (taesd_encoder.safetensors and taesd_decoder.safetensors). */
#ifndef UNET_CHECKPOINT_VAE_FILES_H
#define UNET_CHECKPOINT_VAE_FILES_H

#include "unet/checkpoint/parts.h"

/* Returns true if `path` is a file, whatever its contents. Also returns true for a folder that has no config, but has a
 * file of a published pair of encoder and decoder. */
bool vae_files_are(const char *path);
/* Opens the files and fills in all of the autoencoder except the folder and the names of its weights. xl: true if the
 * autoencoder belongs to an SDXL model, whose scaling factor differs from that of SD; the file does not show it.
 * Returns 0, or -1 with err. */
int vae_files_open(struct autoencoder *autoencoder, const char *path, bool xl, struct error *err);

/* If the tensors of an AutoencoderKL from a diffusers folder have the names of early diffusers, replaces *files by a
 * view (tensor_view.h) in which they have the present names. */
int vae_files_rename(struct safetensors **files, struct error *err);

#endif
