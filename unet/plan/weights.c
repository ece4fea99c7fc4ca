#include "unet/plan/weights.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- opening and reading files of weights --- */

int weight_file_open(struct weight_file *file, const char *path, struct error *err) {
  file->path = strdup(path);
  file->size = 0;
  if (platform_open(&file->opened, path))
    return error_set(err, STATUS_MODEL, "%s: cannot be read: %s", path, strerror(errno));
  if (!file->path)
    return error_set(err, STATUS_FAILED, "%s: out of memory", path);
  if (!file->opened.regular)
    return error_set(err, STATUS_MODEL, "%s: is not a regular file", path);
  file->size = (size_t)file->opened.size;
  return 0;
}

void weight_file_close(struct weight_file *file) {
  platform_close(&file->opened);
  free(file->path);
  file->path = NULL;
}

int weight_file_read(const struct weight_file *file, size_t offset, void *out, size_t size, struct error *err) {
  int64_t got = platform_read(&file->opened, offset, out, size);
  if (got < 0)
    return error_set(err, STATUS_MODEL, "%s: cannot be read: %s", file->path, strerror(errno));
  if ((size_t)got < size)
    return error_set(err, STATUS_MODEL,
                     "%s: ends at byte %zu and had %zu when it was opened: is it still being written? Start again "
                     "when it is whole",
                     file->path, offset + (size_t)got, file->size);
  return 0;
}

/* --- checking and converting values of weights --- */

static float stored_value(enum dtype dtype, const void *stored, size_t i) {
  if (dtype == DTYPE_F32) {
    float value;
    memcpy(&value, (const char *)stored + 4 * i, 4);
    return value;
  }
  uint16_t bits;
  memcpy(&bits, (const char *)stored + 2 * i, 2);
  return dtype == DTYPE_F16 ? f16_to_f32(bits) : bf16_to_f32(bits);
}

/* Returns the bit pattern of the smallest magnitude that is refused: infinity, or with f16 the smallest number that
 * FP16 rounds to infinity. */
static uint32_t refused_from(const struct weight_part *part, bool f16) {
  int32_t raised = part->exponent;
  switch (part->dtype) {
  case DTYPE_F32:
    return f16 ? (uint32_t)(0x477ff000 - raised * (1 << 23)) : 0x7f800000;
  case DTYPE_BF16:
    return f16 ? (uint32_t)(0x4780 - raised * (1 << 7)) : 0x7f80;
  default:
    return 0x7c00;
  }
}

/* reaches_32 and reaches_16 return true if the magnitude of one of the values reaches a limit. Magnitudes are compared
 * as integers, which have the same order. The loops have no early exit, so that the compiler can vectorise them. */
static bool reaches_32(const unsigned char *stored, size_t count, uint32_t limit) {
  uint32_t most = 0;
  for (size_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, stored + 4 * i, 4);
    bits &= 0x7fffffff;
    most = bits > most ? bits : most;
  }
  return most >= limit;
}

static bool reaches_16(const unsigned char *stored, size_t count, uint16_t limit) {
  uint16_t most = 0;
  for (size_t i = 0; i < count; i++) {
    uint16_t bits;
    memcpy(&bits, stored + 2 * i, 2);
    bits &= 0x7fff;
    most = bits > most ? bits : most;
  }
  return most >= limit;
}

static bool reaches(enum dtype dtype, const void *stored, size_t count, uint32_t limit) {
  return dtype == DTYPE_F32 ? reaches_32(stored, count, limit) : reaches_16(stored, count, (uint16_t)limit);
}

/* Sets err to a message about the first value whose magnitude reaches the limit; there must be one. */
static int refuse(const struct weight_part *part, const void *stored, size_t first, uint32_t limit, struct error *err) {
  size_t i = 0;
  while (!reaches(part->dtype, (const char *)stored + i * dtype_size(part->dtype), 1, limit))
    i++;
  double value = (double)stored_value(part->dtype, stored, i);
  const char *path = part->file ? part->file->path : "memory", *name = part->name ? part->name : "";
  if (value - value == 0)
    return error_set(err, STATUS_MODEL,
                     "%s: tensor %s: value %zu is %g, beyond FP16's 65504, in which this device computes; --device cpu "
                     "has FP32",
                     path, name, first + i, value);
  return error_set(err, STATUS_MODEL, "%s: tensor %s: value %zu is %s; the file is damaged or its training failed",
                   path, name, first + i, value != value ? "not a number" : "infinite");
}

/* Reads elements in the type in which they are stored, from memory or from the file. */
static int read_stored(const struct weight_part *part, size_t first, size_t count, void *out, struct error *err) {
  size_t size = dtype_size(part->dtype);
  if (part->data)
    memcpy(out, (const char *)part->data + first * size, count * size);
  else if (weight_file_read(part->file, part->offset + first * size, out, count * size, err))
    return error_prefix(err, "tensor %s: ", part->name);
  return 0;
}

/* Reads elements of a matrix that the file stores by columns: the needed rows of each column are read, and each value
 * is copied to where it belongs in out. */
static int read_turned(const struct weight_part *part, size_t first, size_t count, void *out, struct error *err) {
  size_t size = dtype_size(part->dtype), columns = (size_t)part->columns;
  size_t top = first / columns, rows = (first + count - 1) / columns + 1 - top;
  char *column = malloc(rows * size);
  if (!column)
    return error_set(err, STATUS_FAILED, "%s: out of memory", part->name);
  int result = 0;
  for (size_t c = 0; !result && c < columns; c++) {
    result = read_stored(part, c * (size_t)part->rows + top, rows, column, err);
    for (size_t r = 0; !result && r < rows; r++) {
      size_t at = (top + r) * columns + c;
      if (at >= first && at < first + count)
        memcpy((char *)out + (at - first) * size, column + r * size, size);
    }
  }
  free(column);
  return result;
}

int weight_part_read(const struct weight_part *part, size_t first, size_t count, bool f16, void *out,
                     struct error *err) {
  bool turned = part->columns && count;
  if (turned ? read_turned(part, first, count, out, err) : read_stored(part, first, count, out, err))
    return -1;
  uint32_t limit = refused_from(part, f16);
  return reaches(part->dtype, out, count, limit) ? refuse(part, out, first, limit, err) : 0;
}

/* If the exponent and mantissa of an FP16 number are moved to the bits where FP32 has exponent and mantissa, the result
 * is the number times 2^-112. This also holds for subnormal numbers. */
static void f16_row(const unsigned char *stored, size_t count, float *out) {
  for (size_t i = 0; i < count; i++) {
    uint16_t bits;
    memcpy(&bits, stored + 2 * i, 2);
    uint32_t bits32 = (uint32_t)(bits & 0x7fff) << 13;
    float magnitude;
    memcpy(&magnitude, &bits32, 4);
    magnitude *= 0x1p112f;
    memcpy(&bits32, &magnitude, 4);
    bits32 |= (uint32_t)(bits & 0x8000) << 16;
    memcpy(out + i, &bits32, 4);
  }
}

void weights_to_f32(enum dtype dtype, const void *stored, size_t count, float *out) {
  if (dtype == DTYPE_F32)
    memcpy(out, stored, 4 * count);
  else if (dtype == DTYPE_F16)
    f16_row(stored, count, out);
  else
    for (size_t i = 0; i < count; i++)
      out[i] = stored_value(dtype, stored, i);
}

float bf16_to_f32(uint16_t bits) {
  uint32_t bits32 = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &bits32, 4);
  return value;
}

uint16_t f32_to_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  if ((bits & 0x7fffffff) > 0x7f800000)
    /* The set bit keeps a NaN a NaN: without it, cutting the low bits could leave infinity. */
    return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float f16_to_f32(uint16_t bits) {
  uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 1023, bits32;
  if (exponent == 31) {
    bits32 = sign | 0x7f800000 | mantissa << 13;
  } else if (exponent) {
    bits32 = sign | (exponent + 112) << 23 | mantissa << 13;
  } else { /* a subnormal number: mantissa * 2^-24, which is exact in FP32 */
    float value = (float)mantissa * 0x1p-24f;
    return sign ? -value : value;
  }
  float value;
  memcpy(&value, &bits32, 4);
  return value;
}

uint16_t f32_to_f16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
  bits &= 0x7fffffff;
  if (bits > 0x7f800000)
    return sign | 0x7e00;
  if (bits >= 0x477ff000) /* the value would round to 65536 or more, so it becomes infinity */
    return sign | 0x7c00;
  /* Below 2^-14 FP16 has steps of 2^-24. FP32 has the same steps at 0.5, so adding 0.5 rounds the value to these
   * steps */
  if (bits < 0x38800000) {
    float magnitude;
    memcpy(&magnitude, &bits, 4);
    magnitude += 0.5f;
    memcpy(&bits, &magnitude, 4);
    return sign | (uint16_t)(bits & 0x7ff);
  }
  return sign | (uint16_t)((bits + 0xfff + (bits >> 13 & 1) - 0x38000000) >> 13);
}
