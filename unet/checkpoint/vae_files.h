/* Autoencoders in files of their own, with or without a config in the same folder: an AutoencoderKL in any of its key
 * layouts, a tiny autoencoder as a whole, or the pair of files in which tiny ones are published
 * (taesd_encoder.safetensors and taesd_decoder.safetensors). */
#ifndef UNET_CHECKPOINT_VAE_FILES_H
#define UNET_CHECKPOINT_VAE_FILES_H

#include "unet/checkpoint/parts.h"

/* Returns true if path is a file of an autoencoder, or a folder that holds an encoder's and a decoder's file and no
 * config. */
bool vae_files_are(const char *path);
/* Opens the files and fills in all of the autoencoder except folder and names of its weights. xl: it belongs to an SDXL
 * model, whose scaling factor differs from SD's, which the file does not show. */
int vae_files_open(struct autoencoder *autoencoder, const char *path, bool xl, struct error *err);

/* Renames the tensors of an AutoencoderKL from a diffusers folder, if they have the older names: *files is replaced by
 * a view. */
int vae_files_rename(struct safetensors **files, struct error *err);

#endif
