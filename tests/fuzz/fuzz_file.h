/* Safetensors files in memory for fuzz targets: "h" then a whole header, or "l" then lines "NAME SIZE,SIZE\n", a tensor
 * each. The data are zeros, as many as the header says. */
#ifndef TESTS_FUZZ_FILE_H
#define TESTS_FUZZ_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "unet/base/error.h"
#include "unet/checkpoint/safetensors.h"

enum { FUZZ_DATA_MAX = 1 << 16 };

/* Returns the file's descriptor, which the caller closes. size > 0. */
int fuzz_file(const uint8_t *data, size_t size);

/* What must hold: an error is one line about the model; a tensor of a view lies in its file, and its bytes are its
 * shape's. */
void fuzz_check_error(const struct error *err);
void fuzz_check_tensor(const struct safetensors *view, const struct safetensor *tensor);

#endif
