#include "unet/model/net.h"

#include <string.h>

enum { KEY_MAX = 512, PARTS_MAX = 4 };

struct net net_begin(struct plan *plan, const struct component *weights) {
  size_t mark = plan_enter(plan, "%s", weights->name);
  return (struct net){.plan = plan, .weights = weights, .root = strlen(plan->scope), .mark = mark};
}

void net_end(const struct net *net) {
  plan_leave(net->plan, net->mark);
}

/* Returns the plan's scope (the prefix of ops' names) as a path in the checkpoint ("down_blocks.0.resnets.1"); "" for
 * the network itself. */
static const char *scope_path(const struct net *net) {
  const char *path = net->plan->scope + net->root;
  return *path == '.' ? path + 1 : path;
}

void net_fail(const struct net *net, const struct error *err) {
  if (net->plan->failed)
    return;
  net->plan->failed = true;
  net->plan->error = *err;
}

/* Writes the name that a weight has in the checkpoint, PATH.NAME.SUFFIX, to `out`, and returns `out`. PATH is the
 * plan's scope (scope_path); without a scope the result is NAME.SUFFIX. */
static const char *key(const struct net *net, char out[KEY_MAX], const char *name, const char *suffix) {
  const char *path = scope_path(net);
  snprintf(out, KEY_MAX, "%s%s%s.%s", path, *path ? "." : "", name, suffix);
  return out;
}

/* Returns the tensor t. If t is no tensor, because the weight was not found, the plan fails with the error err. */
static struct tensor found(const struct net *net, struct tensor t, const struct error *err) {
  if (!tensor_exists(t))
    net_fail(net, err);
  return t;
}

/* Returns the vector name.suffix of a norm: its weight or its bias. */
static struct tensor vector(const struct net *net, const char *name, const char *suffix, int length) {
  char text[KEY_MAX];
  struct error err = {0};
  key(net, text, name, suffix);
  return found(net, checkpoint_vector(net->weights, net->plan->resources, text, length, &err), &err);
}

static struct tensor bias_of(const struct net *net, const char *name, int out) {
  char text[KEY_MAX];
  struct error err = {0};
  struct stack_part part = {key(net, text, name, "bias"), out, net->rows, net->bias_exponent};
  return found(net, checkpoint_stack(net->weights, net->plan->resources, text, &part, 1, 0, &err), &err);
}

static struct tensor matrix(const struct net *net, const char *name, int rows, int columns) {
  char text[KEY_MAX];
  struct error err = {0};
  struct stack_part part = {key(net, text, name, "weight"), rows, net->rows, net->weight_exponent};
  return found(net, checkpoint_stack(net->weights, net->plan->resources, text, &part, 1, columns, &err), &err);
}

struct tensor net_conv(const struct net *net, const char *name, struct op_conv op, int out, enum bias bias) {
  if (net->plan->failed)
    return (struct tensor){0};
  char text[KEY_MAX];
  struct error err = {0};
  struct stack_part part = {key(net, text, name, "weight"), out, net->rows, net->weight_exponent};
  op.weight = found(net, checkpoint_conv(net->weights, net->plan->resources, &part, op.x.c + op.x2.c, 3, &err), &err);
  if (bias)
    op.bias = bias_of(net, name, out);
  op.stride = op.stride ? op.stride : 1;
  op.pad = op.pad_end_only ? 0 : 1;
  return plan_conv(net->plan, name, op);
}

struct tensor net_linear(const struct net *net, const char *name, struct op_linear op, int out, enum bias bias) {
  if (net->plan->failed)
    return (struct tensor){0};
  op.weight = matrix(net, name, out, op.x.c + op.x2.c);
  if (bias)
    op.bias = bias_of(net, name, out);
  return plan_linear(net->plan, name, op);
}

/* Stacks the tensors of all parts (layers of the checkpoint) with this suffix ("weight", "bias") into one weight. */
static struct tensor stack(const struct net *net, const char *name, const char *suffix, const char *const parts[],
                           const int outs[], int part_count, int columns) {
  char names[PARTS_MAX][KEY_MAX], fused[KEY_MAX];
  struct stack_part list[PARTS_MAX];
  for (int i = 0; i < part_count; i++)
    list[i] = (struct stack_part){.name = key(net, names[i], parts[i], suffix), .rows = outs[i]};
  struct error err = {0};
  key(net, fused, name, suffix);
  return found(net, checkpoint_stack(net->weights, net->plan->resources, fused, list, part_count, columns, &err), &err);
}

struct tensor net_fused(const struct net *net, const char *name, struct op_linear op, const char *const parts[],
                        const int outs[], int part_count, enum bias bias) {
  if (net->plan->failed)
    return (struct tensor){0};
  op.weight = stack(net, name, "weight", parts, outs, part_count, op.x.c + op.x2.c);
  if (bias)
    op.bias = stack(net, name, "bias", parts, outs, part_count, 0);
  return plan_linear(net->plan, name, op);
}

void net_inject(const struct net *net, const char *name, struct op_inject op) {
  if (net->plan->failed)
    return;
  op.weight = matrix(net, name, op.y.c, op.x.c);
  op.bias = bias_of(net, name, op.y.c);
  plan_inject(net->plan, name, op);
}

static struct prologue norm(const struct net *net, const char *name, int channels) {
  if (net->plan->failed)
    return (struct prologue){0};
  return (struct prologue){.gamma = vector(net, name, "weight", channels), .beta = vector(net, name, "bias", channels)};
}

struct prologue net_group_norm(const struct net *net, const char *name, int channels, int groups, float eps,
                               enum activation act) {
  struct prologue p = norm(net, name, channels);
  p.norm = NORM_GROUP;
  p.groups = groups;
  p.eps = eps;
  p.act = act;
  return p;
}

struct prologue net_layer_norm(const struct net *net, const char *name, int channels, float eps) {
  struct prologue p = norm(net, name, channels);
  p.norm = NORM_LAYER;
  p.eps = eps;
  return p;
}

bool net_has(const struct net *net, const char *name) {
  char text[KEY_MAX];
  return !net->plan->failed && checkpoint_has(net->weights, key(net, text, name, "weight"));
}

struct tensor net_table(const struct net *net, const char *name, int rows, int c) {
  return net->plan->failed ? (struct tensor){0} : matrix(net, name, rows, c);
}
