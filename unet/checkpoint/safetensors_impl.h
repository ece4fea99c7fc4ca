/* The declarations that safetensors.c and tensor_view.c share. */
#ifndef UNET_CHECKPOINT_SAFETENSORS_IMPL_H
#define UNET_CHECKPOINT_SAFETENSORS_IMPL_H

#include "unet/checkpoint/safetensors.h"

struct cJSON;

struct safetensors {
  char *path;
  struct weight_file **opened; /* the open files; each is allocated on its own, because tensors point to it */
  int opened_count;
  struct safetensor *list; /* the tensors, sorted by name once the set is open */
  size_t count, capacity;
  struct cJSON *metadata; /* the field __metadata__ of the file's header; NULL: there is none */
  /* Number of owners: the caller that opened the set, and each view (a set made of other sets' tensors) that has
   * tensors of this one. Each safetensors_close removes one owner, and the last one frees the set. */
  int shares;
  struct safetensors **set; /* for a view (tensors of other sets under other names): the sets that it is made of; the
                             * view is one of their owners */
  int set_count;
};

/* Makes a set without tensors. Returns NULL with err set if memory is missing. */
struct safetensors *safetensors_make(const char *path, struct error *err);
/* Appends a tensor without type and shape, and returns it. key NULL: the key is the same as the name. Returns NULL if
 * memory is missing. */
struct safetensor *safetensors_append(struct safetensors *files, const char *name, const char *key);
/* Sorts the tensors by name. Returns the second of two tensors with the same name, or NULL. */
const struct safetensor *safetensors_sort(struct safetensors *files);

#endif
