/* Weights on disk: one safetensors file, the shards that a *.safetensors.index.json lists, or a view of such sets
 * (tensor_view.h), in which tensors have other names and shapes. Files are untrusted: every name, shape, type and
 * offset is checked against the file's size before it is handed out.
 *
 * Ownership: struct safetensors owns files, names and the list, a view a share of the sets that it is made of; all
 * pointers below stay valid until safetensors_close. Threads: read-only once open. */
#ifndef UNET_CHECKPOINT_SAFETENSORS_H
#define UNET_CHECKPOINT_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unet/base/error.h"
#include "unet/plan/weights.h"

enum { SAFETENSOR_RANK_MAX = 5 };

struct safetensor {
  const char *name; /* what the tensor is found by */
  const char *key;  /* its name in the file, for messages: name itself, but in a view. No two tensors share it */
  char type[12];    /* as the file says: "F16", "I64" */
  bool usable;      /* F32, F16 or BF16, at most SAFETENSOR_RANK_MAX dimensions: dtype and shape hold */
  enum dtype dtype; /* of a usable tensor */
  int rank;
  int64_t shape[SAFETENSOR_RANK_MAX];
  bool transposed; /* a matrix whose shape is [rows, columns] and whose bytes are [columns][rows] */
  const struct weight_file *file;
  size_t offset, bytes; /* in the file, little endian */
};

struct safetensors;

/* Opens folder/basename.safetensors, else folder/basename.safetensors.index.json and its shards, else the files of
 * the "fp16" variant. Errors are STATUS_MODEL. */
int safetensors_open(struct safetensors **files, const char *folder, const char *basename, struct error *err);
/* Opens one file. */
int safetensors_open_file(struct safetensors **files, const char *path, struct error *err);
void safetensors_close(struct safetensors **files); /* stores NULL; takes NULL */

/* Tensors sorted by name. */
size_t safetensors_count(const struct safetensors *files);
const struct safetensor *safetensors_at(const struct safetensors *files, size_t index);
/* By name; NULL if there is none. The tensor may be unusable. */
const struct safetensor *safetensors_find(const struct safetensors *files, const char *name);
PRINTF_LIKE(2, 3)
const struct safetensor *safetensors_find_printed(const struct safetensors *files, const char *format, ...);
/* A dimension of a usable tensor, where it is 1 to most; else, and of no tensor (NULL), 0. */
int safetensor_dimension(const struct safetensor *t, int index, int most);
/* By name; a missing or unusable tensor is an error that names the file, and NULL. */
const struct safetensor *safetensors_get(const struct safetensors *files, const char *name, struct error *err);
/* A field of the header's __metadata__; NULL if there is none. Of shards the first that has it, of a view its first
 * set's. */
const char *safetensors_metadata(const struct safetensors *files, const char *field);
/* Bytes of all tensors. */
size_t safetensors_bytes(const struct safetensors *files);
/* File that was opened (the index of a sharded set), for messages. */
const char *safetensors_path(const struct safetensors *files);

#endif
