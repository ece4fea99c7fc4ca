/* Sets of tensors in files: one safetensors file, the shards that a *.safetensors.index.json lists, or a view of such
 * sets (tensor_view.h), which gives the tensors other names and shapes. Files are not trusted: every name, shape, type
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
  /* name of the tensor in its file, for messages; in a view it may differ from `name`. No two tensors share the memory
   * of this string */
  const char *key;
  char type[12]; /* element type as the file names it: "F16", "I64" */
  /* true: dtype and shape are valid, because the type is F32, F16 or BF16 and there are at most SAFETENSOR_RANK_MAX
   * dimensions */
  bool usable;
  enum dtype dtype; /* type of a usable tensor */
  int rank;
  int64_t shape[SAFETENSOR_RANK_MAX];
  bool transposed; /* true: the shape is [rows, columns], but the values are stored in the order [columns][rows] */
  const struct weight_file *file;
  size_t offset, bytes; /* position of the data in the file and its length, in bytes; the values are little-endian */
};

struct safetensors;

/* Opens folder/basename.safetensors, else folder/basename.safetensors.index.json with its shards, else the files of the
 * "fp16" variant. The caller closes *files. Returns 0, or -1 with err of STATUS_MODEL, or of STATUS_FAILED if memory is
 * short. */
int safetensors_open(struct safetensors **files, const char *folder, const char *basename, struct error *err);
/* Opens one file. The caller closes *files. Returns 0, or -1 with err, as safetensors_open does. */
int safetensors_open_file(struct safetensors **files, const char *path, struct error *err);
/* Closes the set of tensors. Its files stay open until all views (tensor_view.h) that contain tensors of the set are
 * closed as well. *files becomes NULL; does nothing if it is NULL. */
void safetensors_close(struct safetensors **files);

/* safetensors_count returns the number of tensors in the set; safetensors_at returns the tensor at an index from 0 to
 * that number - 1. Tensors are sorted by name. */
size_t safetensors_count(const struct safetensors *files);
const struct safetensor *safetensors_at(const struct safetensors *files, size_t index);
/* Returns the tensor of this name, which may have a type that is not supported (usable false); NULL: there is none. */
const struct safetensor *safetensors_find(const struct safetensors *files, const char *name);
/* Finds a tensor as safetensors_find does, by a name that is made by printf. */
PRINTF_LIKE(2, 3)
const struct safetensor *safetensors_find_printed(const struct safetensors *files, const char *format, ...);
/* Returns a dimension of a usable tensor if it is from 1 to `most`, else 0. t may be NULL. */
int safetensor_dimension(const struct safetensor *t, int index, int most);
/* Returns the tensor of this name. If it is missing or unusable, returns NULL with an error that names the file. */
const struct safetensor *safetensors_get(const struct safetensors *files, const char *name, struct error *err);
/* Returns a field of the header's __metadata__; NULL: there is none. With several shards, the first one that has
 * metadata counts; in a view (tensors of other sets under other names), the first of these sets. */
const char *safetensors_metadata(const struct safetensors *files, const char *field);
/* Returns how many bytes all tensors of the set take. */
size_t safetensors_bytes(const struct safetensors *files);
/* Returns the path that was opened, for messages. For a set of shards this is the path of the index. */
const char *safetensors_path(const struct safetensors *files);

#endif
