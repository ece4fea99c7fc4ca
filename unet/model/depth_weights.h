/* Weights that no tensor of the file is: they are made once, on the CPU in FP32, and kept in memory for devices to
 * load. Each returns a resource; what goes wrong becomes the plan's error. */
#ifndef UNET_MODEL_DEPTH_WEIGHTS_H
#define UNET_MODEL_DEPTH_WEIGHTS_H

#include "unet/model/depth.h"
#include "unet/model/net.h"

struct depth_linear {
  struct tensor weight, bias;
};

/* A linear layer whose output is scaled by a vector, as one: keys without ".weight" and ".bias", and the vector's. */
struct depth_linear depth_scaled(const struct depth *depth, const struct net *net, const char *name, const char *scale,
                                 int in, int out);
/* The patches' convolution as a linear layer over OP_PATCHES' rows, which have `columns` values. */
struct depth_linear depth_patches(const struct depth *depth, const struct net *net, int columns);
/* What is added to each token behind it: [1 + patches, 1, 1, hidden_size]. The table of positions resized, and in the
 * first row the class token, less the bias that the layer adds. */
struct tensor depth_positions(const struct depth *depth, const struct net *net, struct depth_grid grid);
/* A transposed convolution with kernel = stride as a linear layer, for OP_UNPATCH. */
struct depth_linear depth_transposed(const struct depth *depth, const struct net *net, const char *name, int channels,
                                     int stride);

void depth_values_free(struct depth_values *values); /* takes NULL */

#endif
