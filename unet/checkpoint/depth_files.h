/* A folder of Depth Anything V2 in transformers' layout: config.json, preprocessor_config.json (which may be missing)
 * and model.safetensors. */
#ifndef UNET_CHECKPOINT_DEPTH_FILES_H
#define UNET_CHECKPOINT_DEPTH_FILES_H

#include <stdio.h>

#include "unet/checkpoint/parts.h"

struct depth_files {
  struct depth_config config;
  struct component weights;
};

/* Returns true if the folder's config.json is that of a depth model, even of one that is not supported. */
bool depth_files_are(const char *folder);

/* Opens the folder. depth_files_close must be called afterwards, even after a failure. Errors are STATUS_MODEL. */
int depth_files_open(struct depth_files *files, const char *folder, struct error *err);
void depth_files_close(struct depth_files *files); /* takes a zeroed struct */
/* Prints a line for people. */
void depth_files_print(const struct depth_files *files, FILE *out);

#endif
