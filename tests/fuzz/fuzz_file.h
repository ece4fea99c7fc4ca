/* Safetensors files in memory for fuzz targets: "h" then a whole header, or "l" then lines "NAME SIZE,SIZE\n", a tensor
 * each. The data are zeros, as many as the header says. */
#ifndef TESTS_FUZZ_FILE_H
#define TESTS_FUZZ_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "unet/base/error.h"
#include "unet/checkpoint/safetensors.h"

enum { FUZZ_DATA_MAX = 1 << 16 };

/* Writes such a file and returns its descriptor, which the caller closes. size is above 0. */
int fuzz_file(const uint8_t *data, size_t size);

/* fuzz_check_error checks that an error is one line with the status for a bad model; fuzz_check_view that each tensor
 * lies within its file and has as many bytes as its shape says. */
void fuzz_check_error(const struct error *err);
void fuzz_check_tensor(const struct safetensors *view, const struct safetensor *tensor);

#endif
