/* What safetensors.c and tensor_view.c share. */
#ifndef UNET_CHECKPOINT_SAFETENSORS_IMPL_H
#define UNET_CHECKPOINT_SAFETENSORS_IMPL_H

#include "unet/checkpoint/safetensors.h"

struct cJSON;

struct safetensors {
  char *path;
  struct weight_file **opened; /* each by itself: tensors point to it */
  int opened_count;
  struct safetensor *list; /* sorted by name once open */
  size_t count, capacity;
  struct cJSON *metadata;   /* __metadata__, NULL: none */
  int shares;               /* that safetensors_close takes back, one by one */
  struct safetensors **set; /* of a view: what it is made of, a share of each */
  int set_count;
};

/* A set without tensors yet; NULL with err set. */
struct safetensors *safetensors_make(const char *path, struct error *err);
/* An empty tensor behind the last; key NULL: its name. NULL: out of memory. */
struct safetensor *safetensors_append(struct safetensors *files, const char *name, const char *key);
/* Puts them in order of name; returns one whose name the one before has, too, or NULL. */
const struct safetensor *safetensors_sort(struct safetensors *files);

#endif
