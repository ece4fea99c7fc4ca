/* Weights that are computed from the file's tensors: once, on the CPU, in FP32. They are kept in memory for devices to
 * load. Each function returns a resource; errors become the plan's error. */
#ifndef UNET_MODEL_DEPTH_WEIGHTS_H
#define UNET_MODEL_DEPTH_WEIGHTS_H

#include "unet/model/depth.h"
#include "unet/model/net.h"

struct depth_linear {
  struct tensor weight, bias;
};

/* Returns a linear layer whose output is scaled by a vector, as a single layer. The names are keys without ".weight"
 * and ".bias", and the vector's key. */
struct depth_linear depth_scaled(const struct depth *depth, const struct net *net, const char *name, const char *scale,
                                 int in, int out);
/* Returns the patches' convolution as a linear layer for the rows of OP_PATCHES, which have `columns` values. */
struct depth_linear depth_patches(const struct depth *depth, const struct net *net, int columns);
/* Returns the vectors that are added to the tokens after the patches' layer: [1 + patches, 1, 1, hidden_size]. They are
 * the resized table of positions; the first row also has the class token, minus the bias that the layer adds. */
struct tensor depth_positions(const struct depth *depth, const struct net *net, struct depth_grid grid);
/* Returns a transposed convolution with kernel = stride as a linear layer, for OP_UNPATCH. */
struct depth_linear depth_transposed(const struct depth *depth, const struct net *net, const char *name, int channels,
                                     int stride);

void depth_values_free(struct depth_values *values); /* takes NULL */

#endif
