/* A folder of Depth Anything V2 in the layout of transformers: config.json, preprocessor_config.json (which may lack),
 * model.safetensors. */
#ifndef UNET_CHECKPOINT_DEPTH_FILES_H
#define UNET_CHECKPOINT_DEPTH_FILES_H

#include <stdio.h>

#include "unet/checkpoint/parts.h"

struct depth_files {
  struct depth_config config;
  struct component weights;
};

/* Whether a folder's config.json says that it is one, or would be if it were supported. */
bool depth_files_are(const char *folder);

/* Errors are STATUS_MODEL. depth_files_close must follow, also on failure. */
int depth_files_open(struct depth_files *files, const char *folder, struct error *err);
void depth_files_close(struct depth_files *files); /* also of zeroed ones */
/* A line for people. */
void depth_files_print(const struct depth_files *files, FILE *out);

#endif
