/* The files of a Depth Anything V2 network: a folder in the layout of the transformers library, with config.json,
 * preprocessor_config.json (which may be missing) and model.safetensors. */
#ifndef UNET_CHECKPOINT_DEPTH_FILES_H
#define UNET_CHECKPOINT_DEPTH_FILES_H

#include <stdio.h>

#include "unet/checkpoint/parts.h"

struct depth_files {
  struct depth_config config;
  struct component weights;
};

/* Returns true if the folder's config.json describes a depth network, even one that is not supported. */
bool depth_files_are(const char *folder);

/* Opens the folder. depth_files_close must be called afterwards, even after a failure. Returns 0, or -1 with err of
 * STATUS_MODEL, or of STATUS_FAILED if memory is short. A file in place of a folder is refused. */
int depth_files_open(struct depth_files *files, const char *folder, struct error *err);
void depth_files_close(struct depth_files *files); /* Closes the files; accepts a zeroed struct. */
/* Prints one line that describes the network, for people. */
void depth_files_print(const struct depth_files *files, FILE *out);

#endif
