/* Sequences of ops with convolutions that one launch can do: entries of fuse.c's list of patterns, which says what such
 * functions return. Two convolutions that are one (composed_conv.h); a group norm and a convolution; the same with the
 * linear layer before them whose result is added to theirs, a residual block's shortcut. */
#ifndef CUDA_FUSE_CONVS_H
#define CUDA_FUSE_CONVS_H

#include "cuda/fuse_operands.h"

int fuse_match_composed(const struct cuda_device *device, const struct cuda_program *program, const struct op *op,
                        int left);
int fuse_prepare_composed(struct addresses *a, const struct op *op, struct launch launch[LAUNCHES_MAX]);
int fuse_match_norm_conv(const struct cuda_device *device, const struct cuda_program *program, const struct op *op,
                         int left);
int fuse_prepare_norm_conv(struct addresses *a, const struct op *op, struct launch launch[LAUNCHES_MAX]);
int fuse_match_norm_shortcut(const struct cuda_device *device, const struct cuda_program *program, const struct op *op,
                             int left);
int fuse_prepare_norm_shortcut(struct addresses *a, const struct op *op, struct launch launch[LAUNCHES_MAX]);

#endif
