/* Recognises files that were given as weights but are in another format than safetensors, by their first bytes or by
 * their name. */
#ifndef UNET_CHECKPOINT_FORMAT_H
#define UNET_CHECKPOINT_FORMAT_H

#include <stdbool.h>

#include "unet/base/error.h"
#include "unet/plan/weights.h"

/* Refuses a file that is known to be no safetensors file: a pickle (which can run code when it is loaded), GGUF, HDF5,
 * a network of TensorRT, ONNX or the like, a web page, or a pointer to a file that was not downloaded. Any other
 * content is accepted. Returns 0, or -1 with err, also if the file cannot be read. */
int format_check(const struct weight_file *file, struct error *err);
/* Returns true if the file's name has the ending of a pickle; used for files whose content does not tell what they
 * are. */
bool format_is_pickle_name(const char *path);
/* Sets the error that a file is a pickle, which is not supported. Returns -1. */
int format_refuse_pickle(const char *path, struct error *err);

#endif
