/* Sets of tensors in files: one safetensors file, the shards that a *.safetensors.index.json lists, or a view of such
 * sets (tensor_view.h), in which tensors have other names and shapes. Files are not trusted: every name, shape, type
 * and offset is checked against the file's size before it is used.
 *
 * Ownership: struct safetensors owns its files, names and list; a view shares the sets that it is made of. All pointers
 * below are valid until safetensors_close. Threads: an open set is never changed, so any thread may read it. */
#ifndef UNET_CHECKPOINT_SAFETENSORS_H
#define UNET_CHECKPOINT_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unet/base/error.h"
#include "unet/plan/weights.h"

enum { SAFETENSOR_RANK_MAX = 5 };

struct safetensor {
  const char *name; /* the name by which safetensors_find finds the tensor */
  /* the name in the file, for messages; differs from name only in a view. No two tensors share the memory of this
   * string */
  const char *key;
  char type[12]; /* type as the file has it: "F16", "I64" */
  /* the type is F32, F16 or BF16 with at most SAFETENSOR_RANK_MAX dimensions, so that dtype and shape are valid */
  bool usable;
  enum dtype dtype; /* type of a usable tensor */
  int rank;
  int64_t shape[SAFETENSOR_RANK_MAX];
  bool transposed; /* the shape is [rows, columns], but the bytes are in the order [columns][rows] */
  const struct weight_file *file;
  size_t offset, bytes; /* position and length of the data in the file, little-endian */
};

struct safetensors;

/* Opens folder/basename.safetensors, else folder/basename.safetensors.index.json with its shards, else the files of the
 * "fp16" variant. The caller closes *files. Errors are STATUS_MODEL. */
int safetensors_open(struct safetensors **files, const char *folder, const char *basename, struct error *err);
/* Opens one file. The caller closes *files. */
int safetensors_open_file(struct safetensors **files, const char *path, struct error *err);
/* Closes the set; the files are closed with the last view that shares them. Stores NULL; takes NULL. */
void safetensors_close(struct safetensors **files);

/* Return the number of tensors in the set, and the tensor at an index from 0 to that number - 1. Tensors are sorted by
 * name. */
size_t safetensors_count(const struct safetensors *files);
const struct safetensor *safetensors_at(const struct safetensors *files, size_t index);
/* Returns the tensor of this name, which may be unusable; NULL: there is none. */
const struct safetensor *safetensors_find(const struct safetensors *files, const char *name);
/* Returns the tensor of a name that is made by printf, or NULL as safetensors_find does. */
PRINTF_LIKE(2, 3)
const struct safetensor *safetensors_find_printed(const struct safetensors *files, const char *format, ...);
/* Returns a dimension of a usable tensor if it is from 1 to `most`, else 0. t may be NULL. */
int safetensor_dimension(const struct safetensor *t, int index, int most);
/* Returns the tensor of this name. If it is missing or unusable, returns NULL with an error that names the file. */
const struct safetensor *safetensors_get(const struct safetensors *files, const char *name, struct error *err);
/* Returns a field of the header's __metadata__: the first shard's that has metadata, or of a view that of its first
 * set; NULL: there is none. */
const char *safetensors_metadata(const struct safetensors *files, const char *field);
/* Returns the bytes of all tensors. */
size_t safetensors_bytes(const struct safetensors *files);
/* Returns the path that was opened, which of a sharded set is the index, for messages. */
const char *safetensors_path(const struct safetensors *files);

#endif
