/* Safetensors files in memory for fuzz targets: "h" then a whole header, or "l" then lines "NAME SIZE,SIZE\n", a tensor
 * each. The data are zeros, as many as the header says. */
#ifndef TESTS_FUZZ_FILE_H
#define TESTS_FUZZ_FILE_H

#include <stddef.h>
#include <stdint.h>

enum { FUZZ_DATA_MAX = 1 << 16 };

/* Returns the file's descriptor, which the caller closes. size > 0. */
int fuzz_file(const uint8_t *data, size_t size);

#endif
