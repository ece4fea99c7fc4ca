/* Recognises files that are given as weights but are in another format, by their first bytes or by their name. */
#ifndef UNET_CHECKPOINT_FORMAT_H
#define UNET_CHECKPOINT_FORMAT_H

#include <stdbool.h>

#include "unet/base/error.h"
#include "unet/plan/weights.h"

/* Refuses a file that is known to be something else than safetensors: a pickle (which can run code when it is loaded),
 * GGUF, a web page, or a pointer to a file that was not downloaded. Any other content is accepted. */
int format_check(const struct weight_file *file, struct error *err);
/* Returns true if the name alone is that of a pickle, for files whose content does not tell. */
bool format_is_pickle_name(const char *path);
/* Writes the error about a pickle. Returns -1. */
int format_refuse_pickle(const char *path, struct error *err);

#endif
