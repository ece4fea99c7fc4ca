/* Weights in their files, and the way from there to a device: read a piece at a time, and checked on the way. Files are
 * read, not mapped: a mapping of a file that shrinks (a download that starts anew, a network's file system) would end
 * the program with SIGBUS.
 *
 * Threads: a file that is open may be read by several. */
#ifndef UNET_PLAN_WEIGHTS_H
#define UNET_PLAN_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unet/base/error.h"
#include "unet/base/platform.h"

enum dtype { DTYPE_F32, DTYPE_F16, DTYPE_BF16 };

static inline size_t dtype_size(enum dtype dtype) {
  return dtype == DTYPE_F32 ? 4 : 2;
}

/* A file, open. */
struct weight_file {
  char *path;
  struct platform_file opened;
  size_t size; /* when it was opened */
};

/* Opens a regular file. weight_file_close must follow, also on failure. Errors are STATUS_MODEL. */
int weight_file_open(struct weight_file *file, const char *path, struct error *err);
void weight_file_close(struct weight_file *file);
/* Reads size bytes from offset on. A file that ends sooner is an error, STATUS_MODEL, as every other failure is. */
int weight_file_read(const struct weight_file *file, size_t offset, void *out, size_t size, struct error *err);

/* One checkpoint tensor, or some of its rows. A convolution's is [rows = out][in][kh][kw], a matrix' [rows = out][in],
 * a vector's [rows]. */
struct weight_part {
  const void *data; /* little endian, any alignment; NULL: in file */
  enum dtype dtype;
  int rows;
  const struct weight_file *file; /* borrowed */
  size_t offset;                  /* of the first row in the file */
  const char *name;               /* of the tensor in the file, for messages; borrowed */
  int columns;                    /* of a matrix that is stored as [columns][rows]; 0: stored as it is read */
  int exponent;                   /* values are what is stored times 2 to this power */
};

/* Elements [first, first + count) of a part, of the type that is stored, into out. A value that is not finite is an
 * error (STATUS_MODEL) that names the tensor; with f16, so is a value that becomes infinite in FP16 once it has the
 * part's exponent. */
int weight_part_read(const struct weight_part *part, size_t first, size_t count, bool f16, void *out,
                     struct error *err);

/* count stored elements, all finite, as FP32. */
void weights_to_f32(enum dtype dtype, const void *stored, size_t count, float *out);

float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value); /* round to nearest even */
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value); /* round to nearest even */

#endif
