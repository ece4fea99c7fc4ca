/* Views of sets of weights. A view is a struct safetensors whose tensors are those of open files, or some of their
 * rows, under other names and in other shapes. Views are used for files whose keys are not those of a diffusers folder.
 *
 *   view_open(&view, &files, 1, err);
 *   view_add(view, &(struct view_tensor){.name = "conv_in.weight", .from = t}, err);      for each tensor
 *   view_finish(view, err);                                                               then the view is open
 *   safetensors_close(&files);                                                            the view keeps the files open
 *
 * Messages about a tensor of a view name it as its file does. A tensor of a set may be in no view; the code that makes
 * the views decides whether that is an error. */
#ifndef UNET_CHECKPOINT_TENSOR_VIEW_H
#define UNET_CHECKPOINT_TENSOR_VIEW_H

#include "unet/checkpoint/safetensors.h"

struct view_tensor {
  const char *name;              /* name in the view; NULL: the same name as in the file */
  const struct safetensor *from; /* the tensor, which must belong to one of the view's sets */
  /* the view has rows `first` to `first` + rows - 1 of `from`, counted in its first dimension; rows 0: all rows */
  int64_t first, rows;
  /* number of dimensions in the view; 0: the tensor keeps the shape of `from`, except for its number of rows */
  int rank;
  /* shape in the view, if `rank` is not 0. It has as many elements as the chosen rows; their order is unchanged */
  int64_t shape[SAFETENSOR_RANK_MAX];
  bool transposed; /* true: the whole matrix is transposed to [columns, rows]; rank must be 0 */
};

/* Makes a view that has no tensors yet, for tensors of these sets, which may be views themselves. The sets stay open
 * as long as the view. If this function or one of the following fails, the caller closes the view with
 * safetensors_close. */
int view_open(struct safetensors **view, struct safetensors *const *sets, int count, struct error *err);
/* Adds a tensor to the view. Fails if `from` does not have the requested rows, or has another number of elements than
 * the shape. */
int view_add(struct safetensors *view, const struct view_tensor *tensor, struct error *err);
/* Completes the view, after all tensors were added; until then no tensor can be found in the view. Fails if two of its
 * tensors have the same name or share bytes. */
int view_finish(struct safetensors *view, struct error *err);

#endif
