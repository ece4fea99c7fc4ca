#include "cuda/fuse_convs.h"

/* --- an autoencoder's first two convolutions as one --- */

/* Returns true for a 3x3 convolution with this stride that nothing precedes, follows or is added to. */
static bool is_plain_conv(const struct op *op, int stride) {
  const struct op_conv *o = &op->conv;
  return op->type == OP_CONV && o->weight.h == 3 && o->stride == stride && o->pad == 1 && !o->upsample &&
         !o->pad_end_only && o->act == ACT_NONE && o->prologue.norm == NORM_NONE && o->prologue.act == ACT_NONE &&
         !tensor_exists(o->x2) && !tensor_exists(o->time) && !tensor_exists(o->residual);
}

static bool is_resource(struct tensor t) {
  return t.space == TENSOR_RESOURCE && !t.offset;
}

static struct composed_args shape_composed(const struct op *op) {
  struct tensor x = op->conv.x;
  return (struct composed_args){.n = x.n, .h = x.h, .w = x.w};
}

int fuse_match_composed(const struct cuda_device *device, const struct cuda_program *program, const struct op *op,
                        int left) {
  const struct op_conv *inner = &op[0].conv, *outer = &op[1].conv;
  (void)device;
  if (left < 2 || !is_plain_conv(&op[0], 1) || !is_plain_conv(&op[1], 2) || !is_same(inner->y, outer->x) ||
      inner->x.c != COMPOSED_IN || inner->x.pitch != COMPOSED_IN || inner->x.offset ||
      !element_is(tensor_element(program, inner->x), DTYPE_F16) || outer->weight.n != COMPOSED_OUT ||
      !is_dense(program, outer->y) || !is_resource(inner->weight) || !is_resource(outer->weight) ||
      (tensor_exists(inner->bias) && !is_resource(inner->bias)) ||
      (tensor_exists(outer->bias) && !is_resource(outer->bias)))
    return 0;
  struct composed_args args = shape_composed(op);
  return is_inner(program, inner->y, (int)(op - program->base.plan->ops) + 1) && composed_supported(&args) ? 2 : 0;
}

int fuse_prepare_composed(struct addresses *a, const struct op *op, struct launch launch[LAUNCHES_MAX]) {
  const struct op_conv *inner = &op[0].conv, *outer = &op[1].conv;
  const struct folded_layers layers = {.inner = inner->weight.index,
                                       .inner_bias = tensor_exists(inner->bias) ? inner->bias.index : -1,
                                       .bias = tensor_exists(outer->bias) ? outer->bias.index : -1};
  float *bias;
  launch->kind = LAUNCH_COMPOSED;
  launch->composed = shape_composed(op);
  launch->composed.x = address(a, inner->x, ROLE_ANY);
  launch->composed.y = address(a, outer->y, ROLE_ANY);
  launch->composed.weight = resource_composed(a->device, outer->weight.index, layers, a->program->set, &bias, a->err);
  launch->composed.bias = bias;
  a->ok = a->ok && bias;
  return 1;
}

/* --- fusing a group norm with the convolution after it --- */

static struct norm_conv_args shape_norm_conv(const struct op *op) {
  const struct op_conv *o = &op->conv;
  return (struct norm_conv_args){.c = o->x.c,
                                 .c2 = o->x2.c,
                                 .groups = o->prologue.groups,
                                 .eps = o->prologue.eps,
                                 .act = o->prologue.act,
                                 .n = o->x.n,
                                 .h = o->x.h,
                                 .w = o->x.w,
                                 .columns = o->weight.n};
}

int fuse_match_norm_conv(const struct cuda_device *device, const struct cuda_program *program, const struct op *op,
                         int left) {
  const struct op_conv *o = &op->conv;
  (void)left;
  if (op->type != OP_CONV || o->prologue.norm != NORM_GROUP || o->weight.h != 3 || o->stride != 1 || o->pad != 1 ||
      o->upsample || o->pad_end_only || o->act != ACT_NONE || o->time.n > 1 || !has_rows(program, o->x) ||
      (tensor_exists(o->x2) && !has_rows(program, o->x2)) || !has_rows(program, o->y))
    return 0;
  struct norm_conv_args args = shape_norm_conv(op);
  return norm_conv_supported(&device->queue, &args) ? 1 : 0;
}

int fuse_prepare_norm_conv(struct addresses *a, const struct op *op, struct launch launch[LAUNCHES_MAX]) {
  const struct op_conv *o = &op->conv;
  launch->kind = LAUNCH_NORM_CONV;
  launch->norm_conv = shape_norm_conv(op);
  launch->norm_conv.x = address(a, o->x, ROLE_ANY);
  launch->norm_conv.x2 = address(a, o->x2, ROLE_ANY);
  launch->norm_conv.gamma = address(a, o->prologue.gamma, ROLE_VECTOR);
  launch->norm_conv.beta = address(a, o->prologue.beta, ROLE_VECTOR);
  launch->norm_conv.weight = address(a, o->weight, ROLE_MATRIX);
  launch->norm_conv.bias = address(a, o->bias, ROLE_VECTOR);
  launch->norm_conv.time = address(a, o->time, ROLE_ANY);
  launch->norm_conv.residual = address(a, o->residual, ROLE_ANY);
  launch->norm_conv.y = address(a, o->y, ROLE_ANY);
  return 1;
}

/* --- the same with a residual block's shortcut --- */

static struct norm_conv_args shape_norm_shortcut(const struct op *op) {
  struct norm_conv_args args = shape_norm_conv(&op[1]);
  args.more.c = op->linear.x.c;
  args.more.c2 = op->linear.x2.c;
  return args;
}

int fuse_match_norm_shortcut(const struct cuda_device *device, const struct cuda_program *program, const struct op *op,
                             int left) {
  const struct op_linear *shortcut = &op[0].linear;
  const struct op_conv *o = &op[1].conv;
  if (left < 2 || op[0].type != OP_LINEAR || shortcut->prologue.norm != NORM_NONE ||
      shortcut->prologue.act != ACT_NONE || shortcut->act != ACT_NONE || tensor_exists(shortcut->residual) ||
      !fuse_match_norm_conv(device, program, &op[1], 1) || !tensor_exists(o->residual) ||
      !is_same(shortcut->y, o->residual) || !is_dense(program, shortcut->x) ||
      (tensor_exists(shortcut->x2) && !is_dense(program, shortcut->x2)) || !is_dense(program, o->y))
    return 0;
  struct norm_conv_args args = shape_norm_shortcut(op);
  int end = (int)(op - program->base.plan->ops) + 1;
  return is_inner(program, shortcut->y, end) && norm_conv_supported(&device->queue, &args) ? 2 : 0;
}

int fuse_prepare_norm_shortcut(struct addresses *a, const struct op *op, struct launch launch[LAUNCHES_MAX]) {
  const struct op_linear *o = &op->linear;
  fuse_prepare_norm_conv(a, &op[1], launch);
  launch->norm_conv.residual = NULL;
  launch->norm_conv.more = (struct norm_conv_more){.x = address(a, o->x, ROLE_ANY),
                                                   .x2 = address(a, o->x2, ROLE_ANY),
                                                   .weight = address(a, o->weight, ROLE_MATRIX),
                                                   .bias = address(a, o->bias, ROLE_VECTOR),
                                                   .c = o->x.c,
                                                   .c2 = o->x2.c};
  return 1;
}
