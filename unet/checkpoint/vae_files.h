/* Autoencoders as files of their own, without a config, or with one beside them: an AutoencoderKL in any of its key
 * layouts, a tiny autoencoder whole, or as the pair of files in which it is published (taesd_encoder.safetensors,
 * taesd_decoder.safetensors). */
#ifndef UNET_CHECKPOINT_VAE_FILES_H
#define UNET_CHECKPOINT_VAE_FILES_H

#include "unet/checkpoint/parts.h"

/* Whether path is such: a file, or a folder that holds a pair and no config. */
bool vae_files_are(const char *path);
/* Fills all of autoencoder but its weights' folder and names. xl: it belongs to an SDXL model, whose scaling factor is
 * another than SD's; the file does not say. */
int vae_files_open(struct autoencoder *autoencoder, const char *path, bool xl, struct error *err);

/* Gives the tensors of an AutoencoderKL in a diffusers folder the names of today, where they have older ones: a view in
 * *files' place. */
int vae_files_rename(struct safetensors **files, struct error *err);

#endif
