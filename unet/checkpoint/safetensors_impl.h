/* The declarations that safetensors.c and tensor_view.c share. */
#ifndef UNET_CHECKPOINT_SAFETENSORS_IMPL_H
#define UNET_CHECKPOINT_SAFETENSORS_IMPL_H

#include "unet/checkpoint/safetensors.h"

struct cJSON;

struct safetensors {
  char *path;
  struct weight_file **opened; /* each is allocated on its own, because tensors point to it */
  int opened_count;
  struct safetensor *list; /* sorted by name after opening */
  size_t count, capacity;
  struct cJSON *metadata; /* __metadata__; NULL: none */
  /* Number of owners: the caller that opened it, and views; each safetensors_close removes one, the last one frees
   * it. */
  int shares;
  struct safetensors **set; /* for a view: the sets that it is made of, of which it owns a share */
  int set_count;
};

/* Makes a set without tensors. Returns NULL with err set if memory is missing. */
struct safetensors *safetensors_make(const char *path, struct error *err);
/* Appends an empty tensor. key NULL: it equals name. Returns NULL if memory is missing. */
struct safetensor *safetensors_append(struct safetensors *files, const char *name, const char *key);
/* Sorts the tensors by name. Returns the second of two tensors with the same name, or NULL. */
const struct safetensor *safetensors_sort(struct safetensors *files);

#endif
