/* Layers with weights: what the model files append. A layer's weights are found under its op's name, so that model code
 * names each layer once, as the checkpoint does. */
#ifndef UNET_MODEL_NET_H
#define UNET_MODEL_NET_H

#include "unet/checkpoint/checkpoint.h"
#include "unet/plan/plan.h"

/* A network while it is appended to a plan: its checkpoint component, and where the checkpoint's keys begin in the
 * plan's scope. The last three fields, as a rule 0, are for the layers of a copy in which they are set. */
struct net {
  struct plan *plan;
  const struct component *weights;
  size_t root;
  size_t mark;                        /* of the plan's scope: for net_end */
  int rows;                           /* that the file's tensors have, where a layer takes their first ones alone */
  int weight_exponent, bias_exponent; /* a layer's values are the file's times 2 to these powers */
};

enum bias { NO_BIAS, WITH_BIAS };

/* Enters the component's name; layers appended until net_end belong to it. */
struct net net_begin(struct plan *plan, const struct component *weights);
void net_end(const struct net *net);

/* 3x3 convolution name.weight, name.bias: padding 1 unless it is at the end only, stride as given or 1. Returns y. */
struct tensor net_conv(const struct net *net, const char *name, struct op_conv op, int out, enum bias bias);
/* Linear layer, or a 1x1 convolution, name.weight, name.bias. With ACT_GEGLU, out counts before halving. */
struct tensor net_linear(const struct net *net, const char *name, struct op_linear op, int out, enum bias bias);
/* Linear layers that read the same input as one: parts[i] has outs[i] features, in this order in y. name is the fused
 * layer's own. */
struct tensor net_fused(const struct net *net, const char *name, struct op_linear op, const char *const parts[],
                        const int outs[], int part_count, enum bias bias);
/* Adds g * (x name.weight + name.bias) to op.y, in place. */
void net_inject(const struct net *net, const char *name, struct op_inject op);
/* Norms as prologues. */
struct prologue net_group_norm(const struct net *net, const char *name, int channels, int groups, float eps,
                               enum activation act);
struct prologue net_layer_norm(const struct net *net, const char *name, int channels, float eps);
/* An embedding table name.weight [rows, 1, 1, c]. */
struct tensor net_table(const struct net *net, const char *name, int rows, int c);

/* Whether the checkpoint has name.weight. */
bool net_has(const struct net *net, const char *name);

/* Makes err the plan's error, if it has none yet. */
void net_fail(const struct net *net, const struct error *err);

#endif
