/* Files that are given as weights and are none: told by their first bytes or their name. */
#ifndef UNET_CHECKPOINT_FORMAT_H
#define UNET_CHECKPOINT_FORMAT_H

#include <stdbool.h>

#include "unet/base/error.h"
#include "unet/plan/weights.h"

/* Refuses what is no safetensors file and known to be something else: a pickle (which can run code when it is loaded),
 * GGUF, a web page or a pointer in a file's place. Any other content passes. */
int format_check(const struct weight_file *file, struct error *err);
/* The same by name alone, for files whose content says nothing. */
bool format_is_pickle_name(const char *path);
int format_refuse_pickle(const char *path, struct error *err);

#endif
