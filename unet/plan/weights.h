/* Reading weights from a checkpoint's files. They are read some rows at a time, and a value that is not finite is an
 * error. Files are read, not mapped: a mapped file that shrinks (because a download starts again, or on a network file
 * system) would end the program with SIGBUS.
 *
 * Threads: several threads may read an open file at the same time. */
#ifndef UNET_PLAN_WEIGHTS_H
#define UNET_PLAN_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unet/base/error.h"
#include "unet/base/platform.h"

/* No weight is of type DTYPE_I32: a plan asks for it by ELEMENT_WHOLE (element.h). */
enum dtype { DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_I32 };

static inline size_t dtype_size(enum dtype dtype) {
  return dtype == DTYPE_F32 || dtype == DTYPE_I32 ? 4 : 2;
}

/* An open file. */
struct weight_file {
  char *path;
  struct platform_file opened;
  size_t size; /* bytes, when the file was opened */
};

/* Opens a regular file. weight_file_close must follow, also on failure. Errors are STATUS_MODEL. */
int weight_file_open(struct weight_file *file, const char *path, struct error *err);
void weight_file_close(struct weight_file *file);
/* Reads size bytes from offset on into out. Every failure is STATUS_MODEL; one is that the file ends before. */
int weight_file_read(const struct weight_file *file, size_t offset, void *out, size_t size, struct error *err);

/* A tensor of a checkpoint, or some of its rows. A convolution is [rows = out][in][kh][kw], a matrix [rows = out][in],
 * a vector [rows]. */
struct weight_part {
  const void *data; /* little endian, any alignment; NULL: the data is in file */
  enum dtype dtype;
  int rows;
  const struct weight_file *file; /* borrowed; NULL: `data` is used */
  size_t offset;                  /* offset of the first row in the file */
  const char *name;               /* name of the tensor in the file, for messages; borrowed */
  int columns;  /* columns of a matrix that is stored as [columns][rows]; 0: stored as [rows][columns] */
  int exponent; /* values are the stored numbers times 2 to this power */
};

/* Reads elements [first, first + count) of a part into out, in the type in which they are stored. Fails (STATUS_MODEL,
 * with the tensor's name) if a value is not finite. With f16 it also fails if a value is infinite in FP16 after it was
 * multiplied by 2^exponent. */
int weight_part_read(const struct weight_part *part, size_t first, size_t count, bool f16, void *out,
                     struct error *err);

/* Converts count stored elements, all of them finite, to FP32. */
void weights_to_f32(enum dtype dtype, const void *stored, size_t count, float *out);

float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value); /* rounds to nearest even */
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value); /* rounds to nearest even */

#endif
