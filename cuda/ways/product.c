#include "cuda/ways/product.h"

/* --- describing an op as a matrix product --- */

/* The operands that convolutions, linear layers and injections have in common, as their ops name them. */
struct operands {
  struct tensor x, x2, weight, bias, time, residual, y;
  struct prologue prologue;
};

static struct operands get_operands(const struct op *op) {
  if (op->type == OP_CONV) {
    const struct op_conv *o = &op->conv;
    struct operands all = {o->x, o->x2, o->weight, o->bias, o->time, o->residual, o->y, o->prologue};
    /* if each picture has its own bias from the time embedding, another launch adds these biases after the product */
    if (o->time.n > 1)
      all.time = (struct tensor){0};
    return all;
  }
  if (op->type == OP_INJECT) { /* the product is added to y in place, so y is also the residual */
    const struct op_inject *o = &op->inject;
    return (struct operands){.x = o->x, .weight = o->weight, .bias = o->bias, .residual = o->y, .y = o->y};
  }
  const struct op_linear *o = &op->linear;
  return (struct operands){.x = o->x,
                           .x2 = o->x2,
                           .weight = o->weight,
                           .bias = o->bias,
                           .residual = o->residual,
                           .y = o->y,
                           .prologue = o->prologue};
}

static int pad8(int channels) {
  return (channels + 7) / 8 * 8;
}

/* Returns true if another launch must make the product's input first: the op has a norm or an activation before the
 * product, or the input is not FP16 with a multiple of 8 channels. */
static bool needs_prologue(const struct cuda_program *program, const struct operands *o) {
  return o->prologue.norm != NORM_NONE || o->prologue.act != ACT_NONE || o->x.c % 8 || o->x2.c % 8 ||
         !element_is(tensor_element(program, o->x), DTYPE_F16);
}

static void fill_shape(struct gemm_args *args, const struct op *op, const struct operands *o) {
  *args = (struct gemm_args){.n = o->x.n,
                             .h = o->x.h,
                             .w = o->x.w,
                             .c = o->x.c,
                             .c2 = o->x2.c,
                             .out_h = o->y.h,
                             .out_w = o->y.w,
                             .kernel = o->weight.h,
                             .stride = 1,
                             .columns = o->weight.n,
                             .splits = 1};
  if (op->type == OP_CONV) {
    args->stride = op->conv.stride;
    args->pad = op->conv.pad;
    args->upsample = op->conv.upsample;
    args->act = op->conv.act;
  } else if (op->type == OP_INJECT) {
    const struct op_inject *i = &op->inject;
    args->gain = (struct product_gain){.there = true,
                                       .control = i->control,
                                       .step = i->step,
                                       .guess = inject_guess(i),
                                       .rows = guidance_rows(i->first, i->rows, i->y.n)};
  } else { /* a linear layer reads x as rows; y may be a state of another shape, with as many rows */
    args->n = 1;
    args->h = args->out_h = 1;
    args->w = args->out_w = (int)tensor_rows(o->x);
    args->act = op->linear.act;
    args->residual_last = true;
  }
}

size_t product_shape(const struct cuda_program *program, const struct op *op, struct gemm_args *shape) {
  struct operands o = get_operands(op);
  fill_shape(shape, op, &o);
  if (!needs_prologue(program, &o))
    return 0;
  shape->c = pad8(shape->c + shape->c2);
  shape->c2 = 0;
  return tensor_rows(o.x) * (size_t)shape->c * sizeof(half_t);
}

/* Returns the device address of an operand, or NULL if the op has no such operand, which is no failure. *ok becomes
 * false after a failure. */
static void *optional(struct cuda_device *device, const struct cuda_program *program, struct tensor t, enum role role,
                      bool *ok, struct error *err) {
  if (!tensor_exists(t))
    return NULL;
  void *data = tensor_data_as(device, program, t, role == ROLE_VECTOR ? DTYPE_F32 : DTYPE_F16, role, err);
  *ok = *ok && data;
  return data;
}

static void set_prologue(const struct lane *lane, struct product *product, const struct operands *o, bool x_f32,
                         const float *gamma, const float *beta) {
  struct gemm_args *args = &product->args;
  const struct prologue *p = &o->prologue;
  int pitch = pad8(args->c + args->c2);
  struct launch *launch = &product->prologue;
  *launch = (struct launch){.kind = p->norm == NORM_NONE ? LAUNCH_GATHER : LAUNCH_NORM, .op = launch->op};
  if (p->norm == NORM_NONE)
    launch->gather = (struct gather_args){.x = args->x,
                                          .x2 = args->x2,
                                          .x_f32 = x_f32,
                                          .y = product->scratch[SCRATCH_PROLOGUE],
                                          .n = args->n,
                                          .h = args->h,
                                          .w = args->w,
                                          .c = args->c,
                                          .c2 = args->c2,
                                          .pitch = pitch,
                                          .act = p->act};
  else
    launch->norm = (struct norm_args){.x = args->x,
                                      .x2 = args->x2,
                                      .x_f32 = x_f32,
                                      .gamma = gamma,
                                      .beta = beta,
                                      .y = product->scratch[SCRATCH_PROLOGUE],
                                      .n = o->x.n,
                                      .pixels = o->x.h * o->x.w,
                                      .c = args->c,
                                      .c2 = args->c2,
                                      .pitch = pitch,
                                      .groups = p->norm == NORM_GROUP ? p->groups : 0,
                                      .eps = p->eps,
                                      .act = p->act,
                                      .partial = lane->norm_partial};
  if (launch->kind == LAUNCH_NORM)
    launch->beside = (struct norm_beside){0};
  product->has_prologue = product->input_ends = true;
  args->x = product->scratch[SCRATCH_PROLOGUE];
  args->x2 = NULL;
  args->c = pitch;
  args->c2 = 0;
}

/* Returns true if the weight is loaded only when a way is chosen that reads it as it is (product_load). */
static bool may_wait(const struct gemm_args *args, const struct operands *o) {
  return product_in_quarters(args) && o->weight.space == TENSOR_RESOURCE && !o->weight.offset &&
         (o->x.c + o->x2.c) % 8 == 0;
}

int product_load(struct cuda_device *device, struct product *product, struct error *err) {
  struct resource_memory *memory =
      product->args.weight ? NULL : resource_load(device, product->weight, ROLE_MATRIX, err);
  if (memory)
    product->args.weight = resource_data(memory, product->set);
  return product->args.weight ? 0 : -1;
}

int product_fill(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
                 struct product *product, struct error *err) {
  const struct op *op = &plan->ops[index];
  struct operands o = get_operands(op);
  struct gemm_args *args = &product->args;
  enum dtype type = DTYPE_F16;
  bool ok = true;
  *product = (struct product){.prologue = {.op = index},
                              .weight = o.weight.index,
                              .bias = tensor_exists(o.bias) ? o.bias.index : -1,
                              .set = program->set,
                              .workspace = device->lane[program->lane].workspace,
                              .arrivals = device->lane[program->lane].arrivals};
  for (int i = 0; i < SCRATCH_AREAS; i++)
    product->scratch[i] = program_scratch(program, i);
  product->follows = index > 0 && plan_sequence_end(plan, index - 1) > index;
  product->input_ends = o.x.space == TENSOR_TEMPORARY && plan->temporaries[o.x.index].last <= index;
  fill_shape(args, op, &o);
  args->gain.block = program->block;
  args->x = tensor_data_either(device, program, o.x, &type, err);
  ok = args->x != NULL;
  args->x2 = optional(device, program, o.x2, ROLE_ANY, &ok, err);
  args->bias = optional(device, program, o.bias, ROLE_VECTOR, &ok, err);
  args->time = optional(device, program, o.time, ROLE_ANY, &ok, err);
  args->residual = optional(device, program, o.residual, ROLE_ANY, &ok, err);
  if (!may_wait(args, &o))
    args->weight = optional(device, program, o.weight, ROLE_MATRIX, &ok, err);
  args->y = optional(device, program, o.y, ROLE_ANY, &ok, err);
  const float *gamma = optional(device, program, o.prologue.gamma, ROLE_VECTOR, &ok, err);
  const float *beta = optional(device, program, o.prologue.beta, ROLE_VECTOR, &ok, err);
  if (ok && (o.x.c + o.x2.c) % 8)
    ok = (args->weight = resource_padded(device, o.weight.index, program->set, err)) != NULL;
  if (!ok)
    return -1;
  if (needs_prologue(program, &o))
    set_prologue(&device->lane[program->lane], product, &o, type == DTYPE_F32, gamma, beta);
  return 0;
}

bool product_in_quarters(const struct gemm_args *args) {
  enum { ROWS_LEAST = 128, ROWS_LEAST_OF_FEW = 64, FEW = 192 /* channels: their weights take little time to read */ };
  bool few = args->c + args->c2 <= FEW && args->columns <= FEW;
  return args->upsample && args->kernel == 3 && args->stride == 1 && args->pad == 1 && !args->residual &&
         args->n * args->h * args->w >= (few ? ROWS_LEAST_OF_FEW : ROWS_LEAST);
}

/* --- two linear layers as one product --- */

void product_fold_shape(const struct op *op, struct gemm_args *shape) {
  const struct op_linear *inner = &op[0].linear, *outer = &op[1].linear;
  int rows = (int)tensor_rows(inner->x);
  *shape = (struct gemm_args){.n = 1,
                              .h = 1,
                              .w = rows,
                              .c = inner->x.c,
                              .c2 = outer->x.c,
                              .out_h = 1,
                              .out_w = rows,
                              .kernel = 1,
                              .stride = 1,
                              .residual_last = true,
                              .act = ACT_NONE,
                              .columns = outer->weight.n,
                              .splits = 1};
}

static int index_of(struct tensor t) {
  return tensor_exists(t) ? t.index : -1;
}

int product_fold(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
                 struct product *product, struct error *err) {
  const struct op *op = &plan->ops[index];
  const struct op_linear *inner = &op[0].linear, *outer = &op[1].linear;
  const struct folded_layers layers = {inner->weight.index, index_of(inner->bias), index_of(outer->bias), inner->x.c};
  struct gemm_args *args = &product->args;
  float *bias;
  bool ok = true;
  *product = (struct product){.prologue = {.op = index},
                              .only = &way_sm90,
                              .weight = outer->weight.index,
                              .bias = layers.bias,
                              .set = program->set,
                              .workspace = device->lane[program->lane].workspace,
                              .arrivals = device->lane[program->lane].arrivals};
  for (int i = 0; i < SCRATCH_AREAS; i++)
    product->scratch[i] = program_scratch(program, i);
  product_fold_shape(op, args);
  args->x = optional(device, program, inner->x, ROLE_ANY, &ok, err);
  args->x2 = optional(device, program, inner->residual, ROLE_ANY, &ok, err);
  args->residual = optional(device, program, outer->residual, ROLE_ANY, &ok, err);
  args->y = optional(device, program, outer->y, ROLE_ANY, &ok, err);
  if (!ok)
    return -1;
  args->weight = resource_folded(device, product->weight, layers, product->set, &bias, err);
  args->bias = bias;
  return args->weight ? 0 : -1;
}

/* --- a convolution with a second product --- */

void product_add_shape(const struct cuda_program *program, const struct op *op, struct gemm_args *shape) {
  product_shape(program, &op[1], shape);
  shape->more.c = op->linear.x.c;
  shape->more.c2 = op->linear.x2.c;
}

int product_add(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
                struct product *product, struct error *err) {
  const struct op_linear *o = &plan->ops[index].linear;
  struct gemm_args *args = &product->args;
  bool ok = true;
  if (product_fill(device, program, plan, index + 1, product, err) < 0)
    return -1;
  product->only = &way_sm90;
  args->residual = NULL;
  args->more = (struct product_more){.x = optional(device, program, o->x, ROLE_ANY, &ok, err),
                                     .x2 = optional(device, program, o->x2, ROLE_ANY, &ok, err),
                                     .weight = optional(device, program, o->weight, ROLE_MATRIX, &ok, err),
                                     .c = o->x.c,
                                     .c2 = o->x2.c};
  /* the second product's bias is added where a row of the time embedding would be */
  if (ok && tensor_exists(o->bias))
    ok = (args->time = resource_f16(device, o->bias.index, program->set, err)) != NULL;
  return ok ? 0 : -1;
}

/* --- the launches of this program's kernels before and after a library's matrix product --- */

/* Lets the norm of the op before, if it reads the same two inputs as this product, concatenate them. Returns false if
 * it cannot. */
static bool append_to_norm(const struct cuda_device *device, const struct product *product,
                           const struct launches *launches) {
  const struct gemm_args *args = &product->args;
  int op = product->prologue.op - 1, last = launches->count - 1;
  while (last >= 0 && launches->list[last].op == op && launches->list[last].kind != LAUNCH_NORM &&
         launches->list[last].kind != LAUNCH_GATHER)
    last--;
  struct launch *launch = last >= 0 ? &launches->list[last] : NULL;
  if (!product->follows || args->upsample || !launch || launch->op != op || launch->kind != LAUNCH_NORM)
    return false;
  const struct norm_args *norm = &launch->norm;
  if (norm->x != args->x || norm->x2 != args->x2 || norm->c != args->c || norm->c2 != args->c2 ||
      norm->n * norm->pixels != args->n * args->h * args->w || !norm_has_beside(&device->queue, norm))
    return false;
  launch->beside.joined = product->scratch[SCRATCH_DENSE];
  return true;
}

int product_append_dense(const struct cuda_device *device, const struct product *product, struct gemm_args *args,
                         struct launches *launches, struct error *err) {
  if (!args->x2 && !args->upsample)
    return 0;
  bool joined = append_to_norm(device, product, launches);
  struct launch launch = {.kind = LAUNCH_GATHER, .op = product->prologue.op};
  launch.gather = (struct gather_args){.x = args->x,
                                       .x2 = args->x2,
                                       .y = product->scratch[SCRATCH_DENSE],
                                       .n = args->n,
                                       .h = args->h,
                                       .w = args->w,
                                       .c = args->c,
                                       .c2 = args->c2,
                                       .pitch = args->c + args->c2,
                                       .upsample = args->upsample};
  args->x = product->scratch[SCRATCH_DENSE];
  args->x2 = NULL;
  args->c += args->c2;
  args->c2 = 0;
  args->h <<= args->upsample;
  args->w <<= args->upsample;
  args->upsample = false;
  return joined ? 0 : launches_append(launches, &launch, err);
}

int product_append_epilogue(const struct product *product, const half_t *x, struct launches *launches,
                            struct error *err) {
  const struct gemm_args *args = &product->args;
  struct launch launch = {.kind = LAUNCH_EPILOGUE, .op = product->prologue.op};
  launch.epilogue = (struct epilogue_args){.x = x,
                                           .bias = args->bias,
                                           .time = args->time,
                                           .residual = args->residual,
                                           .y = args->y,
                                           .rows = (size_t)args->n * (size_t)args->out_h * (size_t)args->out_w,
                                           .columns = args->columns,
                                           .residual_last = args->residual_last,
                                           .act = args->act,
                                           .gain = args->gain,
                                           .pixels = args->out_h * args->out_w};
  launch.joined = (struct gates_beside){0};
  return launches_append(launches, &launch, err);
}
