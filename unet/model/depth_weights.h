/* Weights of the depth network that are computed from the file's tensors: once, on the CPU, in FP32. They stay in
 * memory for devices to load. Each function returns a resource; errors become the plan's error. */
#ifndef UNET_MODEL_DEPTH_WEIGHTS_H
#define UNET_MODEL_DEPTH_WEIGHTS_H

#include "unet/model/depth.h"
#include "unet/model/net.h"

struct depth_linear {
  struct tensor weight, bias;
};

/* Returns one linear layer that does the work of two steps: a linear layer of the file, and the multiplication of its
 * output by a vector. name: the layer's key in the file, without ".weight" and ".bias"; scale: the vector's key. */
struct depth_linear depth_scaled(const struct depth *depth, const struct net *net, const char *name, const char *scale,
                                 int in, int out);
/* Returns a linear layer that replaces the convolution which reads patches: applied to the output of OP_PATCHES, it
 * gives the convolution's result. columns: number of values in a row of that output. */
struct depth_linear depth_patches(const struct depth *depth, const struct net *net, int columns);
/* Returns the vectors that are added to the tokens after the patches' layer: [1 + patches, 1, 1, hidden_size], the
 * resized table of position embeddings. The first row is for the class token: the token itself is added to it, and the
 * bias that the layer adds is subtracted. */
struct tensor depth_positions(const struct depth *depth, const struct net *net, struct depth_grid grid);
/* Returns a linear layer that, with OP_UNPATCH after it, does the work of a transposed convolution of the file. That
 * convolution's stride must equal the size of its kernel. name: the convolution's key, without ".weight" and
 * ".bias". */
struct depth_linear depth_transposed(const struct depth *depth, const struct net *net, const char *name, int channels,
                                     int stride);

void depth_values_free(struct depth_values *values); /* frees a list of computed weights; accepts NULL */

#endif
