/* Views of sets of weights. A view is a struct safetensors whose tensors are those of open files, or some of their
 * rows, under other names and in other shapes. Views are used for files whose keys are not those of a diffusers folder.
 *
 *   view_open(&view, &files, 1, err);
 *   view_add(view, &(struct view_tensor){.name = "conv_in.weight", .from = t}, err);      for each tensor
 *   view_finish(view, err);                                                               then the view is open
 *   safetensors_close(&files);                                                            the view keeps a share
 *
 * Messages about a tensor of a view name it as its file does. A tensor of a set may be in no view; the code that makes
 * the views decides whether that is an error. */
#ifndef UNET_CHECKPOINT_TENSOR_VIEW_H
#define UNET_CHECKPOINT_TENSOR_VIEW_H

#include "unet/checkpoint/safetensors.h"

struct view_tensor {
  const char *name;                   /* name in the view; NULL: the same as in the file */
  const struct safetensor *from;      /* a tensor of one of the view's sets */
  int64_t first, rows;                /* range in the first dimension of `from`; rows 0: all rows */
  int rank;                           /* 0: the shape of `from`, with these rows */
  int64_t shape[SAFETENSOR_RANK_MAX]; /* shape if rank is not 0; it has as many elements, in the same order */
  bool transposed;                    /* the whole matrix is transposed to [columns, rows]; rank must be 0 */
};

/* Makes a view without tensors, which keeps a share of each set; sets may be views. After a failure of this or the
 * following functions, the view is closed with safetensors_close. */
int view_open(struct safetensors **view, struct safetensors *const *sets, int count, struct error *err);
/* Adds a tensor. Fails if `from` has no such rows or cannot have this shape. */
int view_add(struct safetensors *view, const struct view_tensor *tensor, struct error *err);
/* Completes the view; no tensor can be found in it before. Fails if two tensors have the same name or share bytes. */
int view_finish(struct safetensors *view, struct error *err);

#endif
