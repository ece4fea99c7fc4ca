/* Functions that append a network's layers to a plan, with their weights from the checkpoint. An op is named like its
 * weights in the checkpoint, so model code names each layer once. */
#ifndef UNET_MODEL_NET_H
#define UNET_MODEL_NET_H

#include "unet/checkpoint/checkpoint.h"
#include "unet/plan/plan.h"

/* A network whose layers are being appended to a plan. weights: the checkpoint's component. root: the position in the
 * plan's prefix of names at which the checkpoint's keys begin. `rows`, weight_exponent and bias_exponent are usually 0;
 * for a single layer, model code sets them in a copy of the struct. */
struct net {
  struct plan *plan;
  const struct component *weights;
  size_t root;
  /* length that the plan's prefix (put before the names of its ops) had before net_begin; net_end restores it */
  size_t mark;
  int rows; /* how many rows of the file's tensors the layer uses, from the first one; 0: all */
  /* a layer uses the file's weights times 2^weight_exponent, and its biases times 2^bias_exponent */
  int weight_exponent, bias_exponent;
};

enum bias { NO_BIAS, WITH_BIAS };

/* Appends the component's name to the plan's prefix of names. Layers that are appended until net_end belong to this
 * component. */
struct net net_begin(struct plan *plan, const struct component *weights);
void net_end(const struct net *net);

/* Appends a 3x3 convolution with the weights name.weight and name.bias, and returns the result `y`. The padding is 1,
 * unless op.pad_end_only is set; op.stride 0 means 1. out: number of output channels. */
struct tensor net_conv(const struct net *net, const char *name, struct op_conv op, int out, enum bias bias);
/* Appends a linear layer, or a 1x1 convolution, with the weights name.weight and name.bias, and returns the result `y`.
 * out: number of output channels of the product; with ACT_GEGLU the result has half as many. */
struct tensor net_linear(const struct net *net, const char *name, struct op_linear op, int out, enum bias bias);
/* Appends several linear layers that read the same input as one layer, and returns the result `y`. Part i is the
 * checkpoint's layer parts[i] with outs[i] output features; the parts' outputs follow one another in y. name: name of
 * the joined layer's op. */
struct tensor net_fused(const struct net *net, const char *name, struct op_linear op, const char *const parts[],
                        const int outs[], int part_count, enum bias bias);
/* Appends OP_INJECT with the weights name.weight and name.bias, which adds the result of a control's network to the
 * tensor op.y in place. */
void net_inject(const struct net *net, const char *name, struct op_inject op);
/* net_group_norm and net_layer_norm return a prologue: a norm that an op applies to its input first, here with the
 * weights name.weight and name.bias. */
struct prologue net_group_norm(const struct net *net, const char *name, int channels, int groups, float eps,
                               enum activation act);
struct prologue net_layer_norm(const struct net *net, const char *name, int channels, float eps);
/* Returns the embedding table name.weight [rows, 1, 1, c]. */
struct tensor net_table(const struct net *net, const char *name, int rows, int c);

/* Returns true if the checkpoint has a tensor name.weight in this network. */
bool net_has(const struct net *net, const char *name);

/* Makes `err` the plan's error, unless the plan already has one. */
void net_fail(const struct net *net, const struct error *err);

#endif
