/* Reads weights from a checkpoint's files, some rows at a time. A value that is not finite is an error. Files are read,
 * not mapped. If a mapped file became shorter, because a download starts again or on a network file system, the program
 * would end with SIGBUS.
 *
 * Threads: several threads may read an open file at the same time. */
#ifndef UNET_PLAN_WEIGHTS_H
#define UNET_PLAN_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unet/base/error.h"
#include "unet/base/platform.h"

/* Number types. DTYPE_I32 is never the type of a weight: plans ask for it by ELEMENT_WHOLE (element.h). */
enum dtype { DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_I32 };

static inline size_t dtype_size(enum dtype dtype) {
  return dtype == DTYPE_F32 || dtype == DTYPE_I32 ? 4 : 2;
}

/* A file that is open for reading weights. */
struct weight_file {
  char *path;
  struct platform_file opened;
  size_t size; /* size in bytes when the file was opened */
};

/* Opens a regular file. weight_file_close must be called afterwards, even after a failure. Errors are STATUS_MODEL, or
 * STATUS_FAILED if memory runs out. */
int weight_file_open(struct weight_file *file, const char *path, struct error *err);
void weight_file_close(struct weight_file *file);
/* Reads `size` bytes of the file, from `offset` on, into `out`. Returns -1 with STATUS_MODEL if that fails or the file
 * is too short. */
int weight_file_read(const struct weight_file *file, size_t offset, void *out, size_t size, struct error *err);

/* A tensor of a checkpoint's file, or some rows of one. Its shape is [out][in][kh][kw] for a convolution, [out][in] for
 * a matrix, and [rows] for a vector; rows are counted along the first number. */
struct weight_part {
  const void *data; /* the stored values, little endian, with any alignment; NULL: they are in `file` */
  enum dtype dtype;
  int rows;
  const struct weight_file *file; /* file with the stored values; borrowed; NULL: they are at `data` */
  size_t offset;                  /* offset of the first row in the file */
  const char *name;               /* name of the tensor in the file, for messages; borrowed */
  int columns; /* number of columns of a matrix that is stored as [columns][rows]; 0: it is stored as [rows][columns] */
  int exponent; /* the stored numbers are multiplied by 2^exponent */
};

/* Reads elements `first` to `first` + count - 1 of a part into `out`, in the type in which they are stored. Fails
 * (STATUS_MODEL, with the tensor's name) if a value is not finite. With f16 true it also fails if a value times
 * 2^exponent becomes infinite in FP16. */
int weight_part_read(const struct weight_part *part, size_t first, size_t count, bool f16, void *out,
                     struct error *err);

/* Converts count stored elements, all of them finite, to FP32. */
void weights_to_f32(enum dtype dtype, const void *stored, size_t count, float *out);

float f16_to_f32(uint16_t bits);
/* converts an FP32 number to FP16: to the nearest value, or to the even one of two equally near */
uint16_t f32_to_f16(float value);
float bf16_to_f32(uint16_t bits);
/* converts an FP32 number to BF16: to the nearest value, or to the even one of two equally near */
uint16_t f32_to_bf16(float value);

#endif
