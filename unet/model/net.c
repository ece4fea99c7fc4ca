#include "unet/model/net.h"

#include <string.h>

enum { KEY_MAX = 512, PARTS_MAX = 4 };

struct net net_begin(struct plan *plan, const struct component *weights) {
  size_t mark = plan_enter(plan, "%s", weights->name);
  return (struct net){plan, weights, strlen(plan->scope), mark};
}

void net_end(const struct net *net) {
  plan_leave(net->plan, net->mark);
}

/* The checkpoint's name of what the plan's scope is in ("down_blocks.0.resnets.1"); "" at the root. */
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

/* The checkpoint's key of a weight in the scope: path.name.suffix. */
static const char *key(const struct net *net, char out[KEY_MAX], const char *name, const char *suffix) {
  const char *path = scope_path(net);
  snprintf(out, KEY_MAX, "%s%s%s.%s", path, *path ? "." : "", name, suffix);
  return out;
}

static struct tensor vector(const struct net *net, const char *name, const char *suffix, int length) {
  char text[KEY_MAX];
  struct error err = {0};
  struct tensor t = checkpoint_vector(net->weights, net->plan->resources, key(net, text, name, suffix), length, &err);
  if (!tensor_exists(t))
    net_fail(net, &err);
  return t;
}

static struct tensor matrix(const struct net *net, const char *name, int rows, int columns) {
  char text[KEY_MAX];
  struct error err = {0};
  struct tensor t =
      checkpoint_matrix(net->weights, net->plan->resources, key(net, text, name, "weight"), rows, columns, &err);
  if (!tensor_exists(t))
    net_fail(net, &err);
  return t;
}

struct tensor net_conv(const struct net *net, const char *name, struct op_conv op, int out, enum bias bias) {
  if (net->plan->failed)
    return (struct tensor){0};
  char text[KEY_MAX];
  struct error err = {0};
  op.weight = checkpoint_conv(net->weights, net->plan->resources, key(net, text, name, "weight"), out, op.x.c + op.x2.c,
                              3, &err);
  if (!tensor_exists(op.weight))
    net_fail(net, &err);
  if (bias)
    op.bias = vector(net, name, "bias", out);
  op.stride = op.stride ? op.stride : 1;
  op.pad = 1;
  return plan_conv(net->plan, name, op);
}

struct tensor net_linear(const struct net *net, const char *name, struct op_linear op, int out, enum bias bias) {
  if (net->plan->failed)
    return (struct tensor){0};
  op.weight = matrix(net, name, out, op.x.c + op.x2.c);
  if (bias)
    op.bias = vector(net, name, "bias", out);
  return plan_linear(net->plan, name, op);
}

/* Stacks suffix ("weight", "bias") of the parts as one resource. */
static struct tensor stack(const struct net *net, const char *name, const char *suffix, const char *const parts[],
                           const int outs[], int part_count, int columns) {
  char names[PARTS_MAX][KEY_MAX], fused[KEY_MAX];
  struct stack_part list[PARTS_MAX];
  for (int i = 0; i < part_count; i++)
    list[i] = (struct stack_part){key(net, names[i], parts[i], suffix), outs[i]};
  struct error err = {0};
  struct tensor t = checkpoint_stack(net->weights, net->plan->resources, key(net, fused, name, suffix), list,
                                     part_count, columns, &err);
  if (!tensor_exists(t))
    net_fail(net, &err);
  return t;
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

struct tensor net_table(const struct net *net, const char *name, int rows, int c) {
  return net->plan->failed ? (struct tensor){0} : matrix(net, name, rows, c);
}
