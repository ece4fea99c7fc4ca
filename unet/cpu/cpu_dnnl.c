/* Convolutions and linear layers through oneDNN (2.x C interface); no other file calls oneDNN. Primitives are made when
 * a program is prepared, weights are packed once for all programs, and a run only executes the primitives.
 *
 * Every status is checked, but not every failure has one: if memory runs out, version 2.6 often aborts the program by a
 * C++ exception (app/run/setup.c reports that), or crashes on a NULL pointer. */
#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_debug.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/base/platform.h"
#include "unet/cpu/cpu_dnnl.h"
#include "unet/cpu/cpu_conv.h"
#include "unet/cpu/cpu_fast.h"
#include "unet/cpu/cpu_memory.h"
#include "unet/cpu/cpu_weights.h"

/* The variant of a weight's copy for oneDNN (plan/derived.h): which rows of the weight the copy has, and in which
 * layout a primitive reads them. */
struct packing {
  int first, rows;
  dnnl_memory_desc_t desc;
};

struct cpu_dnnl {
  dnnl_engine_t engine;
  /* two oneDNN streams: `stream` runs primitives; `packing` packs weights, which another thread may do meanwhile */
  dnnl_stream_t stream, packing;
};

/* A oneDNN primitive with the addresses of its arguments. Addresses in the program's scratch memory are set before each
 * run. */
struct layer {
  dnnl_primitive_desc_t desc;
  dnnl_primitive_t primitive;
  dnnl_exec_arg_t args[7];
  int arg_count;
};

/* The data that an op's `prepare` makes for its `run`. Offsets are in bytes, into the program's scratch memory. */
struct state {
  struct cpu_input input;
  /* true: a norm, an activation or a second input is applied first, into scratch memory at input_at; false: the
   * primitive reads x in place */
  bool gathered;
  /* true: the sum of bias and time row (bias from the time embedding) is computed into scratch memory at vector_at, and
   * the primitive reads it as its bias */
  bool sum_vector;
  size_t input_at, work_at, vector_at, gate_at, product_at, inner_at;
  /* the op's primitive; gate: with GEGLU, the primitive for the second half of the features, which runs first */
  struct layer layer, gate;
};

static int check(dnnl_status_t status, const char *what, struct error *err) {
  return status == dnnl_success ? 0 : error_set(err, STATUS_DEVICE, "oneDNN: %s: %s", what, dnnl_status2str(status));
}

/* --- what oneDNN can compute on this processor, and closing it --- */

static bool has_isa(dnnl_cpu_isa_t isa) {
  return (dnnl_get_effective_cpu_isa() & isa) == isa;
}

bool cpu_dnnl_has_bf16(void) {
  return has_isa(dnnl_cpu_isa_avx512_core_bf16);
}

bool cpu_dnnl_has_amx(void) {
  /* some versions of oneDNN look at the processor alone, and the first instruction would end the program */
  return has_isa(dnnl_cpu_isa_avx512_core_amx) && platform_allow_amx();
}

void cpu_dnnl_close(struct cpu_device *device) {
  struct cpu_dnnl *d = device->dnnl;
  if (!d)
    return;
  dnnl_stream_destroy(d->stream);
  dnnl_stream_destroy(d->packing);
  dnnl_engine_destroy(d->engine);
  free(d);
  device->dnnl = NULL;
}

/* --- packing weights for oneDNN --- */

static int reorder(struct cpu_dnnl *d, const dnnl_memory_desc_t *from, void *from_data, const dnnl_memory_desc_t *to,
                   void *to_data, struct error *err) {
  dnnl_primitive_desc_t desc = NULL;
  dnnl_primitive_t primitive = NULL;
  dnnl_memory_t in = NULL, out = NULL;
  int status = -1;
  if (check(dnnl_memory_create(&in, from, d->engine, from_data), "weights", err) < 0 ||
      check(dnnl_memory_create(&out, to, d->engine, to_data), "weights", err) < 0 ||
      check(dnnl_reorder_primitive_desc_create(&desc, from, d->engine, to, d->engine, NULL), "reorder", err) < 0 ||
      check(dnnl_primitive_create(&primitive, desc), "reorder", err) < 0)
    goto fail;
  dnnl_exec_arg_t args[2] = {{DNNL_ARG_FROM, in}, {DNNL_ARG_TO, out}};
  status = check(dnnl_primitive_execute(primitive, d->packing, 2, args), "reorder", err);
fail:
  dnnl_primitive_destroy(primitive);
  dnnl_primitive_desc_destroy(desc);
  dnnl_memory_destroy(in);
  dnnl_memory_destroy(out);
  return status;
}

/* Packs a weight: stores its FP32 values in the layout that oneDNN computes with. Values that are not in memory are
 * read from the checkpoint, and freed afterwards. oneDNN has another order of dimensions: a matrix [rows][in] is [in,
 * rows], and a convolution's [out][kh][kw][in] is [out, in, kh, kw]. */
static int pack(struct device *base, const struct derived *copy, struct error *err) {
  struct cpu_device *device = (struct cpu_device *)base;
  const struct packing *packing = copy->detail;
  const struct resource *r = &base->resources->list[copy->resource];
  size_t row = (size_t)r->h * (size_t)r->w * (size_t)r->c;
  float *temporary = NULL;
  const float *weight = cpu_peek(device, copy->resource, &temporary, err);
  if (!weight) {
    free(temporary);
    return -1;
  }
  dnnl_memory_desc_t plain;
  bool matrix = packing->desc.ndims == 2;
  dnnl_status_t status = dnnl_memory_desc_init_by_tag(&plain, packing->desc.ndims, packing->desc.dims, dnnl_f32,
                                                      matrix ? dnnl_ba : dnnl_acdb);
  int result = check(status, "weights", err);
  if (result == 0)
    result =
        reorder(device->dnnl, &plain, (float *)weight + (size_t)packing->first * row, &packing->desc, copy->data, err);
  free(temporary);
  return result;
}

static bool same_packing(const void *a, const void *b) {
  const struct packing *p = a, *q = b;
  return p->first == q->first && p->rows == q->rows && dnnl_memory_desc_equal(&p->desc, &q->desc);
}

static const struct form packed = {.detail_bytes = sizeof(struct packing), .same = same_packing, .make = pack};

/* --- a layer: a primitive with its arguments and scratch memory --- */

static void layer_free(struct layer *layer) {
  for (int i = 0; i < layer->arg_count; i++)
    dnnl_memory_destroy(layer->args[i].memory);
  dnnl_primitive_destroy(layer->primitive);
  dnnl_primitive_desc_destroy(layer->desc);
}

static const dnnl_memory_desc_t *query(const struct layer *layer, dnnl_query_t what) {
  return dnnl_primitive_desc_query_md(layer->desc, what, 0);
}

static int add_argument(struct cpu_dnnl *d, struct layer *layer, int which, const dnnl_memory_desc_t *desc, void *data,
                        struct error *err) {
  dnnl_exec_arg_t *arg = &layer->args[layer->arg_count];
  if (check(dnnl_memory_create(&arg->memory, desc, d->engine, data ? data : DNNL_MEMORY_NONE), "argument", err) < 0)
    return -1;
  arg->arg = which;
  layer->arg_count++;
  return 0;
}

/* Sets the address of a primitive's argument for this run. If oneDNN fails, the op is stored in the program's field
 * `failed`. */
static void set_argument(const struct cpu_run *run, const struct cpu_node *node, const struct layer *layer, int which,
                         void *data) {
  for (int i = 0; i < layer->arg_count; i++)
    if (layer->args[i].arg == which && dnnl_memory_set_data_handle(layer->args[i].memory, data))
      run->program->failed = node->op;
}

static dnnl_status_t append_activation(dnnl_post_ops_t ops, enum activation act) {
  switch (act) {
  case ACT_RELU:
    return dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_relu, 0, 0);
  case ACT_SILU:
    return dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_swish, 1, 0);
  case ACT_QUICK_GELU:
    return dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_swish, 1.702f, 0);
  case ACT_GELU:
    return dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_gelu_erf, 0, 0);
  case ACT_TANH3: {
    /* 3 tanh(x / 3) is done in two steps: multiply by 1/3, then a tanh whose result is scaled by 3. With three steps
     * (linear, tanh, linear), oneDNN 2.6 would use the first linear step's factor for both. */
    dnnl_status_t status = dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_linear, 1.0f / 3, 0);
    return status == dnnl_success ? dnnl_post_ops_append_eltwise(ops, 3, dnnl_eltwise_tanh, 0, 0) : status;
  }
  default:
    return dnnl_success;
  }
}

/* What a oneDNN primitive does with the matrix product before it stores it, in this order: multiply it by the gate, add
 * the residual (before or after the activation), apply the activation. */
struct after {
  enum activation act;
  bool residual;      /* true: the residual, which is in y's memory already, is added to the product */
  bool residual_last; /* true: the residual is added after the activation; false: before it */
  /* layout of the gate (the second half of GEGLU), by which the product is multiplied first; NULL: there is no gate */
  const dnnl_memory_desc_t *gate;
};

static int make_attributes(const struct after *after, dnnl_primitive_attr_t *attr, struct error *err) {
  dnnl_post_ops_t ops = NULL;
  int status = -1;
  if (check(dnnl_primitive_attr_create(attr), "attributes", err) < 0 ||
      check(dnnl_primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user), "attributes", err) < 0 ||
      check(dnnl_post_ops_create(&ops), "attributes", err) < 0)
    goto fail;
  if (after->gate && check(dnnl_post_ops_append_binary(ops, dnnl_binary_mul, after->gate), "gate", err) < 0)
    goto fail;
  if (after->residual && !after->residual_last && check(dnnl_post_ops_append_sum(ops, 1), "residual", err) < 0)
    goto fail;
  if (check(append_activation(ops, after->act), "activation", err) < 0)
    goto fail;
  if (after->residual && after->residual_last && check(dnnl_post_ops_append_sum(ops, 1), "residual", err) < 0)
    goto fail;
  status = check(dnnl_primitive_attr_set_post_ops(*attr, ops), "attributes", err);
fail:
  dnnl_post_ops_destroy(ops);
  return status;
}

/* Creates the oneDNN primitive of a layer from an op descriptor. */
static int layer_make(struct cpu_dnnl *d, struct layer *layer, const_dnnl_op_desc_t op, const struct after *after,
                      struct error *err) {
  dnnl_primitive_attr_t attr = NULL;
  int status = make_attributes(after, &attr, err);
  if (status == 0)
    status = check(dnnl_primitive_desc_create(&layer->desc, op, attr, d->engine, NULL), "no implementation", err);
  if (status == 0)
    status = check(dnnl_primitive_create(&layer->primitive, layer->desc), "primitive", err);
  dnnl_primitive_attr_destroy(attr);
  return status;
}

/* Addresses of a layer's input, bias and output. NULL: the value is in scratch memory, and each run sets its
 * address. */
struct places {
  void *src, *bias, *dst;
  bool has_bias;
};

static int layer_bind(struct cpu_program *program, struct layer *layer, struct tensor weight, int first, int rows,
                      const struct places *at, const struct after *after, struct error *err) {
  struct cpu_device *device = program->device;
  struct cpu_dnnl *d = device->dnnl;
  const dnnl_memory_desc_t *weights = query(layer, dnnl_query_weights_md);
  const struct packing packing = {first, rows, *weights};
  void *data = cpu_derive(device, weight.index, &packed, &packing, dnnl_memory_desc_get_size(weights), err);
  if (!data || add_argument(d, layer, DNNL_ARG_WEIGHTS, weights, data, err) < 0 ||
      add_argument(d, layer, DNNL_ARG_SRC, query(layer, dnnl_query_src_md), at->src, err) < 0 ||
      add_argument(d, layer, DNNL_ARG_DST, query(layer, dnnl_query_dst_md), at->dst, err) < 0 ||
      add_argument(d, layer, DNNL_ARG_SCRATCHPAD, query(layer, dnnl_query_scratchpad_md), NULL, err) < 0)
    return -1;
  if (at->has_bias &&
      add_argument(d, layer, DNNL_ARG_BIAS, dnnl_primitive_desc_query_md(layer->desc, dnnl_query_weights_md, 1),
                   at->bias, err) < 0)
    return -1;
  if (after->gate &&
      add_argument(d, layer, DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, after->gate, NULL, err) < 0)
    return -1;
  return 0;
}

static size_t inner_bytes(const struct layer *layer) {
  return dnnl_memory_desc_get_size(query(layer, dnnl_query_scratchpad_md));
}

static void layer_run(const struct cpu_run *run, const struct cpu_node *node, const struct layer *layer) {
  const struct state *s = node->state;
  set_argument(run, node, layer, DNNL_ARG_SCRATCHPAD, (char *)run->program->scratch + s->inner_at);
  if (dnnl_primitive_execute(layer->primitive, run->program->device->dnnl->stream, layer->arg_count, layer->args))
    run->program->failed = node->op;
}

/* --- helpers of convolutions and linear layers: types, inputs, residuals --- */

static dnnl_data_type_t data_type(enum dtype dtype) {
  return dtype == DTYPE_BF16 ? dnnl_bf16 : dnnl_f32;
}

static enum dtype product_type(const struct cpu_program *program) {
  return program->bf16 ? DTYPE_BF16 : DTYPE_F32;
}

/* Decides whether oneDNN's primitive can read x in place; if not, reserves scratch memory for the input after its norm,
 * activation or concatenation. */
static void plan_input_of(const struct cpu_program *program, struct state *s, struct tensor x, struct tensor x2,
                          const struct prologue *prologue, bool upsample, size_t *total) {
  s->input = (struct cpu_input){x, x2, prologue, upsample};
  s->gathered = tensor_exists(x2) || prologue->norm != NORM_NONE || prologue->act != ACT_NONE || upsample ||
                cpu_dtype(program, x) != product_type(program);
  if (!s->gathered)
    return;
  size_t elements = tensor_rows(x) * (size_t)(x.c + x2.c) << (upsample ? 2 : 0);
  s->input_at = cpu_bump(total, elements * dtype_size(product_type(program)));
  s->work_at = cpu_bump(total, cpu_gather_scratch(&s->input));
}

static void *scratch_at(const struct cpu_run *run, size_t at) {
  return (char *)run->program->scratch + at;
}

/* If the primitive cannot read x in place, computes the primitive's input into scratch memory, and sets the input's
 * address for this run. */
static void run_input(const struct cpu_run *run, const struct cpu_node *node) {
  const struct state *s = node->state;
  if (!s->gathered)
    return;
  void *out = scratch_at(run, s->input_at);
  cpu_gather(run->program, &s->input, out, product_type(run->program), scratch_at(run, s->work_at));
  set_argument(run, node, &s->layer, DNNL_ARG_SRC, out);
}

/* Copies the residual to y, unless both have the same memory: oneDNN's primitive adds its product to what is in y. */
static void run_residual(const struct cpu_run *run, struct tensor residual, struct tensor y) {
  const struct cpu_program *p = run->program;
  if (tensor_exists(residual) && cpu_data(p, residual) != cpu_data(p, y))
    p->device->kernels->copy(cpu_data(p, residual), cpu_dtype(p, residual), cpu_data(p, y), cpu_dtype(p, y),
                             tensor_elements(y));
}

static void free_state(struct cpu_program *program, struct cpu_node *node) {
  struct state *s = node->state;
  (void)program;
  if (!s)
    return;
  layer_free(&s->layer);
  layer_free(&s->gate);
  free(s);
}

static struct state *new_state(struct cpu_node *node, struct error *err) {
  node->state = calloc(1, sizeof(struct state));
  if (!node->state)
    error_set(err, STATUS_DEVICE, "out of memory");
  return node->state;
}

/* --- convolutions (OP_CONV) --- */

static int conv_make(struct cpu_program *program, struct state *s, const struct op_conv *op, const struct after *after,
                     struct error *err) {
  dnnl_data_type_t type = data_type(product_type(program));
  int up = op->upsample, end = op->pad_end_only ? 1 : op->pad;
  dnnl_dims_t src_dims = {op->x.n, op->weight.c, op->x.h << up, op->x.w << up};
  dnnl_dims_t weight_dims = {op->weight.n, op->weight.c, op->weight.h, op->weight.w};
  dnnl_dims_t bias_dims = {op->weight.n}, dst_dims = {op->y.n, op->y.c, op->y.h, op->y.w};
  dnnl_dims_t strides = {op->stride, op->stride}, before = {op->pad, op->pad}, behind = {end, end};
  dnnl_memory_desc_t src, weights, bias, dst;
  dnnl_convolution_desc_t desc;
  bool biased = tensor_exists(op->bias) || tensor_exists(cpu_time_of_all(op));
  if (check(dnnl_memory_desc_init_by_tag(&src, 4, src_dims, type, dnnl_nhwc), "input", err) < 0 ||
      check(dnnl_memory_desc_init_by_tag(&weights, 4, weight_dims, type, dnnl_format_tag_any), "weights", err) < 0 ||
      check(dnnl_memory_desc_init_by_tag(&bias, 1, bias_dims, dnnl_f32, dnnl_a), "bias", err) < 0 ||
      check(dnnl_memory_desc_init_by_tag(&dst, 4, dst_dims, data_type(cpu_dtype(program, op->y)), dnnl_nhwc), "output",
            err) < 0 ||
      check(dnnl_convolution_forward_desc_init(&desc, dnnl_forward_inference, dnnl_convolution_direct, &src, &weights,
                                               biased ? &bias : NULL, &dst, strides, before, behind),
            "convolution", err) < 0)
    return -1;
  return layer_make(program->device->dnnl, &s->layer, &desc, after, err);
}

static int conv_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err) {
  const struct op_conv *op = &node->op->conv;
  struct state *s = new_state(node, err);
  size_t total = 0;
  struct after after = {.act = op->act, .residual = tensor_exists(op->residual)};
  if (!s || conv_make(program, s, op, &after, err) < 0)
    return -1;
  plan_input_of(program, s, op->x, op->x2, &op->prologue, op->upsample, &total);
  s->sum_vector = tensor_exists(op->bias) && tensor_exists(cpu_time_of_all(op));
  s->vector_at = cpu_bump(&total, s->sum_vector ? (size_t)op->y.c * sizeof(float) : 0);
  s->inner_at = cpu_bump(&total, inner_bytes(&s->layer));
  cpu_reserve(program, total);
  struct places at = {
      .src = s->gathered ? NULL : cpu_data(program, op->x),
      .bias = s->sum_vector ? NULL : cpu_data(program, tensor_exists(op->bias) ? op->bias : cpu_time_of_all(op)),
      .dst = cpu_data(program, op->y),
      .has_bias = tensor_exists(op->bias) || tensor_exists(cpu_time_of_all(op)),
  };
  return layer_bind(program, &s->layer, op->weight, 0, op->weight.n, &at, &after, err);
}

static void conv_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_conv *op = &node->op->conv;
  const struct state *s = node->state;
  if (s->sum_vector) {
    const float *bias = cpu_f32(run->program, op->bias), *time = cpu_f32(run->program, op->time);
    float *sum = scratch_at(run, s->vector_at);
    for (int c = 0; c < op->y.c; c++)
      sum[c] = bias[c] + time[c];
    set_argument(run, node, &s->layer, DNNL_ARG_BIAS, sum);
  }
  run_input(run, node);
  run_residual(run, op->residual, op->y);
  layer_run(run, node, &s->layer);
  cpu_add_times(run->program, op);
}

/* --- linear layers (OP_LINEAR) --- */

/* Makes a matrix product [rows, K] x [K, features] whose output has the given type. */
static int linear_make(struct cpu_program *program, struct layer *layer, const struct op_linear *op, int features,
                       enum dtype out, const struct after *after, struct error *err) {
  dnnl_data_type_t type = data_type(product_type(program));
  dnnl_dim_t rows = (dnnl_dim_t)tensor_rows(op->x);
  dnnl_dims_t src_dims = {rows, op->weight.c}, weight_dims = {op->weight.c, features};
  dnnl_dims_t bias_dims = {1, features}, dst_dims = {rows, features};
  dnnl_memory_desc_t src, weights, bias, dst;
  dnnl_matmul_desc_t desc;
  if (check(dnnl_memory_desc_init_by_tag(&src, 2, src_dims, type, dnnl_ab), "input", err) < 0 ||
      check(dnnl_memory_desc_init_by_tag(&weights, 2, weight_dims, type, dnnl_format_tag_any), "weights", err) < 0 ||
      check(dnnl_memory_desc_init_by_tag(&bias, 2, bias_dims, dnnl_f32, dnnl_ab), "bias", err) < 0 ||
      check(dnnl_memory_desc_init_by_tag(&dst, 2, dst_dims, data_type(out), dnnl_ab), "output", err) < 0 ||
      check(dnnl_matmul_desc_init(&desc, &src, &weights, tensor_exists(op->bias) ? &bias : NULL, &dst), "matmul", err) <
          0)
    return -1;
  return layer_make(program->device->dnnl, layer, &desc, after, err);
}

/* Prepares the product for the second half of GEGLU's features, the gate. Its GELU is stored in scratch memory. */
static int gate_prepare(struct cpu_program *program, struct state *s, const struct op_linear *op,
                        const struct places *at, size_t *total, struct error *err) {
  struct after after = {.act = ACT_GELU};
  struct places own = *at;
  int half = op->y.c;
  own.dst = NULL;
  own.bias = at->bias ? (float *)at->bias + half : NULL;
  if (linear_make(program, &s->gate, op, half, product_type(program), &after, err) < 0)
    return -1;
  s->gate_at = cpu_bump(total, dnnl_memory_desc_get_size(query(&s->gate, dnnl_query_dst_md)));
  return layer_bind(program, &s->gate, op->weight, half, half, &own, &after, err);
}

static int linear_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err) {
  const struct op_linear *op = &node->op->linear;
  bool gated = op->act == ACT_GEGLU;
  struct state *s = new_state(node, err);
  size_t total = 0;
  struct after after = {.residual = tensor_exists(op->residual), .residual_last = true};
  after.act = gated ? ACT_NONE : op->act;
  if (!s)
    return -1;
  plan_input_of(program, s, op->x, op->x2, &op->prologue, false, &total);
  struct places at = {
      .src = s->gathered ? NULL : cpu_data(program, op->x),
      .bias = cpu_data(program, op->bias),
      .dst = cpu_data(program, op->y),
      .has_bias = tensor_exists(op->bias),
  };
  if (gated) {
    if (gate_prepare(program, s, op, &at, &total, err) < 0)
      return -1;
    after.gate = query(&s->gate, dnnl_query_dst_md);
  }
  if (linear_make(program, &s->layer, op, op->y.c, cpu_dtype(program, op->y), &after, err) < 0 ||
      layer_bind(program, &s->layer, op->weight, 0, op->y.c, &at, &after, err) < 0)
    return -1;
  size_t inner = inner_bytes(&s->layer), gate_inner = gated ? inner_bytes(&s->gate) : 0;
  s->inner_at = cpu_bump(&total, inner > gate_inner ? inner : gate_inner);
  cpu_reserve(program, total);
  return 0;
}

static void linear_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_linear *op = &node->op->linear;
  const struct state *s = node->state;
  run_input(run, node);
  run_residual(run, op->residual, op->y);
  if (op->act == ACT_GEGLU) {
    void *gate = scratch_at(run, s->gate_at);
    if (s->gathered)
      set_argument(run, node, &s->gate, DNNL_ARG_SRC, scratch_at(run, s->input_at));
    set_argument(run, node, &s->gate, DNNL_ARG_DST, gate);
    set_argument(run, node, &s->layer, DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, gate);
    layer_run(run, node, &s->gate);
  }
  layer_run(run, node, &s->layer);
}

/* --- adding control networks' results (OP_INJECT) --- */

/* Returns the linear layer whose matrix product is that of an OP_INJECT (x W^T + bias). The product goes to scratch
 * memory; afterwards it is multiplied by each picture's factor and added to y. */
static struct op_linear product_of(const struct op_inject *op) {
  return (struct op_linear){.x = op->x, .weight = op->weight, .bias = op->bias};
}

static int inject_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err) {
  static const struct prologue none = {0};
  const struct op_linear op = product_of(&node->op->inject);
  struct after after = {.act = ACT_NONE};
  size_t total = 0;
  if (!tensor_exists(op.weight))
    return 0;
  struct state *s = new_state(node, err);
  if (!s)
    return -1;
  plan_input_of(program, s, op.x, op.x2, &none, false, &total);
  struct places at = {.src = s->gathered ? NULL : cpu_data(program, op.x),
                      .bias = cpu_data(program, op.bias),
                      .has_bias = tensor_exists(op.bias)};
  if (linear_make(program, &s->layer, &op, op.weight.n, DTYPE_F32, &after, err) < 0 ||
      layer_bind(program, &s->layer, op.weight, 0, op.weight.n, &at, &after, err) < 0)
    return -1;
  s->product_at = cpu_bump(&total, tensor_rows(op.x) * (size_t)op.weight.n * sizeof(float));
  s->inner_at = cpu_bump(&total, inner_bytes(&s->layer));
  cpu_reserve(program, total);
  return 0;
}

static void inject_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct cpu_program *p = run->program;
  const struct op_inject *op = &node->op->inject;
  const struct state *s = node->state;
  enum dtype in = s ? DTYPE_F32 : cpu_dtype(p, op->x), out = cpu_dtype(p, op->y);
  const char *more = s ? scratch_at(run, s->product_at) : cpu_data(p, op->x);
  char *y = cpu_data(p, op->y);
  size_t count = tensor_elements(op->y) / (size_t)op->y.n, step = op->x.n == 1 ? 0 : count;
  if (s) {
    run_input(run, node);
    set_argument(run, node, &s->layer, DNNL_ARG_DST, (void *)more);
    layer_run(run, node, &s->layer);
  }
  for (int n = 0; n < op->y.n; n++)
    p->device->kernels->add(more + (size_t)n * step * dtype_size(in), in,
                            inject_gain(op, run->params, run->iteration, n), y + (size_t)n * count * dtype_size(out),
                            out, count);
}

static const struct cpu_impl conv = {
    .prepare = conv_prepare, .run = conv_run, .free = free_state, .takes_bf16 = true, .packs_weight = true};
static const struct cpu_impl linear = {
    .prepare = linear_prepare, .run = linear_run, .free = free_state, .takes_bf16 = true, .packs_weight = true};
static const struct cpu_impl inject = {
    .prepare = inject_prepare, .run = inject_run, .free = free_state, .takes_bf16 = true, .packs_weight = true};

int cpu_dnnl_open(struct cpu_device *device, struct error *err) {
  struct cpu_dnnl *d = calloc(1, sizeof *d);
  if (!d)
    return error_set(err, STATUS_DEVICE, "cpu: out of memory");
  if (check(dnnl_engine_create(&d->engine, dnnl_cpu, 0), "engine", err) < 0 ||
      check(dnnl_stream_create(&d->stream, d->engine, dnnl_stream_default_flags), "stream", err) < 0 ||
      check(dnnl_stream_create(&d->packing, d->engine, dnnl_stream_default_flags), "stream", err) < 0) {
    if (d->stream)
      dnnl_stream_destroy(d->stream);
    if (d->engine)
      dnnl_engine_destroy(d->engine);
    free(d);
    return -1;
  }
  device->dnnl = d;
  device->impl[OP_CONV] = &conv;
  device->impl[OP_LINEAR] = &linear;
  device->impl[OP_INJECT] = &inject;
  const dnnl_version_t *v = dnnl_version();
  size_t used = strlen(device->detail);
  snprintf(device->detail + used, sizeof device->detail - used, ", oneDNN %d.%d.%d", v->major, v->minor, v->patch);
  return 0;
}
