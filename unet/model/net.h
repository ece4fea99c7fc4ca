/* Layers with weights, from which the models are built. A layer's weights have the name of its op, so that model code
 * names each layer once, in the checkpoint's words. */
#ifndef UNET_MODEL_NET_H
#define UNET_MODEL_NET_H

#include "unet/checkpoint/checkpoint.h"
#include "unet/plan/plan.h"

/* A network that is being appended to a plan: the component of the checkpoint with its weights, and the position in the
 * plan's scope at which the checkpoint's keys begin. rows and the exponents are 0 as a rule; for a single layer model
 * code sets them in a copy of the struct. */
struct net {
  struct plan *plan;
  const struct component *weights;
  size_t root;
  size_t mark; /* length of the plan's name prefix before net_begin, which net_end restores */
  int rows;    /* rows of the file's tensors, if a layer takes only the first of them; 0: it takes all */
  /* a layer's weights and biases are the file's values times 2 to these powers */
  int weight_exponent, bias_exponent;
};

enum bias { NO_BIAS, WITH_BIAS };

/* Enters the component's name in the plan's scope. net_end must follow; layers appended in between belong to the
 * component. */
struct net net_begin(struct plan *plan, const struct component *weights);
void net_end(const struct net *net);

/* Appends a 3x3 convolution with name.weight and name.bias: padding is 1 unless it is at the end only, and stride is as
 * given or 1. Returns y. */
struct tensor net_conv(const struct net *net, const char *name, struct op_conv op, int out, enum bias bias);
/* Appends a linear layer, or a 1x1 convolution, with name.weight and name.bias. With ACT_GEGLU, out is the number
 * before halving. */
struct tensor net_linear(const struct net *net, const char *name, struct op_linear op, int out, enum bias bias);
/* Appends several linear layers with the same input as one: layer parts[i] of the checkpoint has outs[i] features,
 * which follow one another in y. name is that of the fused layer's op. */
struct tensor net_fused(const struct net *net, const char *name, struct op_linear op, const char *const parts[],
                        const int outs[], int part_count, enum bias bias);
/* Appends OP_INJECT with name.weight and name.bias, which changes op.y in place. */
void net_inject(const struct net *net, const char *name, struct op_inject op);
/* Return a norm with name.weight and name.bias, as the prologue of an op. */
struct prologue net_group_norm(const struct net *net, const char *name, int channels, int groups, float eps,
                               enum activation act);
struct prologue net_layer_norm(const struct net *net, const char *name, int channels, float eps);
/* Returns the embedding table name.weight [rows, 1, 1, c]. */
struct tensor net_table(const struct net *net, const char *name, int rows, int c);

/* True if the checkpoint has name.weight. */
bool net_has(const struct net *net, const char *name);

/* Makes err the plan's error, unless the plan has an error already. */
void net_fail(const struct net *net, const struct error *err);

#endif
