/* A view of sets of weights: a struct safetensors like any other, whose tensors are those of files that are open, whole
 * or some of their rows, under other names and in other shapes. For files whose keys are not those of a diffusers
 * folder.
 *
 *   view_open(&view, &files, 1, err);
 *   view_add(view, &(struct view_tensor){.name = "conv_in.weight", .from = t}, err);      for each tensor
 *   view_finish(view, err);                                                               then the view is open
 *   safetensors_close(&files);                                                            the view has its share
 *
 * Messages about a tensor of a view name it as its file does. A tensor of a set that no view has is nobody's: who makes
 * the views decides whether that is an error. */
#ifndef UNET_CHECKPOINT_TENSOR_VIEW_H
#define UNET_CHECKPOINT_TENSOR_VIEW_H

#include "unet/checkpoint/safetensors.h"

struct view_tensor {
  const char *name;                   /* in the view; NULL: as in the file */
  const struct safetensor *from;      /* of one of the view's sets */
  int64_t first, rows;                /* of from's first dimension; rows 0: all of them */
  int rank;                           /* 0: from's shape, with these rows */
  int64_t shape[SAFETENSOR_RANK_MAX]; /* else this one, of as many elements in the same order */
  bool transposed;                    /* turns a matrix, whole, into [columns, rows]; rank 0 */
};

/* A view without tensors yet, which keeps a share of each set; another view may be among them. On failure, here and
 * below, close the view as any other set. */
int view_open(struct safetensors **view, struct safetensors *const *sets, int count, struct error *err);
/* Rows and shapes that the tensor does not have are an error. */
int view_add(struct safetensors *view, const struct view_tensor *tensor, struct error *err);
/* Two tensors of one name, or of the same bytes, are an error. Before this, nothing can be found in the view. */
int view_finish(struct safetensors *view, struct error *err);

#endif
