#include "unet/plan/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/base/frame.h"
#include "unet/plan/plan.h"

static const double rgba_bytes = 4; /* bytes of a pixel of an output picture, which is taken to be RGBA */

int profile_init(struct profile *profile, int count) {
  *profile = (struct profile){.rows = calloc((size_t)count + 1, sizeof *profile->rows), .count = count};
  return profile->rows ? 0 : -1;
}

void profile_free(struct profile *profile) {
  free(profile->rows);
  *profile = (struct profile){0};
}

/* --- bytes that an op must move --- */

static bool reads_whole(const struct op *op) {
  return op->type == OP_CONV || op->type == OP_LINEAR || op->type == OP_INJECT || op->type == OP_NORM ||
         op->type == OP_ATTENTION;
}

/* Returns how many elements of t an op reads: all of them, or, of a table, of prompt slots and of noise samples, only
 * as many as its result has. */
static double elements_read(const struct op *op, struct tensor t, struct tensor y) {
  size_t elements = tensor_elements(t);
  if (t.space != TENSOR_TEMPORARY && !reads_whole(op) && tensor_elements(y) < elements)
    elements = tensor_elements(y);
  return (double)elements;
}

static double elements_written(const struct op *op, struct tensor t) {
  return (double)tensor_elements(op->type == OP_STORE_SLOT ? op->store_slot.x : t);
}

void profile_bytes(const struct plan *plan, const struct element *elements, int index, int element, double *weights,
                   double *activations) {
  const struct op *op = &plan->ops[index];
  struct tensor reads[OPERANDS_MAX], writes[OPERANDS_MAX] = {0};
  int read_count = op_tensors(op, OPERAND_READ, reads), write_count = op_tensors(op, OPERAND_WRITE, writes);
  *weights = *activations = 0;
  for (int i = 0; i < read_count; i++) {
    double count = elements_read(op, reads[i], writes[0]);
    if (reads[i].space == TENSOR_RESOURCE)
      *weights += count * element;
    else
      *activations += count * (double)element_size(elements[plan_place(plan, reads[i])]);
  }
  for (int i = 0; i < write_count; i++) {
    bool resource = writes[i].space == TENSOR_RESOURCE;
    double size = resource ? element : (double)element_size(elements[plan_place(plan, writes[i])]);
    *activations += elements_written(op, writes[i]) * size;
  }
  /* The bytes that OP_PIXELS_IN reads depend on the frame; this is an estimate, which profile_describe_source
   * corrects. */
  if (op->type == OP_PIXELS_IN)
    *activations += rgba_bytes * (double)tensor_rows(op->pixels_in.y);
  if (op->type == OP_PIXELS_OUT)
    *activations += rgba_bytes * op->pixels_out.x.n * pixels_out_w(&op->pixels_out) * pixels_out_h(&op->pixels_out);
}

/* --- names of ops for people --- */

static const char *kind_of(const struct op *op) {
  if (op->type == OP_CONV)
    return op->conv.weight.h == 3 ? "conv3x3" : "conv1x1";
  return op_type_name(op->type);
}

static struct tensor made_by(const struct op *op) {
  struct tensor writes[OPERANDS_MAX];
  return op_tensors(op, OPERAND_WRITE, writes) ? writes[0]
         : op->type == OP_PIXELS_OUT           ? op->pixels_out.x
                                               : (struct tensor){0};
}

static const char *norm_word(const struct prologue *p) {
  return p->norm == NORM_GROUP ? "group norm, " : p->norm == NORM_LAYER ? "layer norm, " : "";
}

static void describe_conv(const struct op_conv *o, char *out, size_t size) {
  char second[16] = "";
  if (tensor_exists(o->x2))
    snprintf(second, sizeof second, "+%d", o->x2.c);
  snprintf(out, size, "%s%dx%dx%d%s to %d%s%s%s%s", norm_word(&o->prologue), o->x.h, o->x.w, o->x.c, second, o->y.c,
           o->upsample ? ", up 2" : "", o->stride == 2 ? ", stride 2" : "", tensor_exists(o->time) ? ", time" : "",
           tensor_exists(o->residual) ? ", residual" : "");
}

static void describe_linear(const struct op_linear *o, char *out, size_t size) {
  snprintf(out, size, "%s%zu x %d to %d%s%s", norm_word(&o->prologue), tensor_rows(o->x), o->x.c + o->x2.c, o->weight.n,
           o->act == ACT_GEGLU ? ", GEGLU" : "", tensor_exists(o->residual) ? ", residual" : "");
}

static void describe_inject(const struct op_inject *o, char *out, size_t size) {
  snprintf(out, size, "%zu x %d to %d", tensor_rows(o->y), o->x.c, o->y.c);
}

static void describe_shape(const struct op *op, char *out, size_t size) {
  struct tensor y = made_by(op);
  if (op->type == OP_CONV)
    describe_conv(&op->conv, out, size);
  else if (op->type == OP_LINEAR)
    describe_linear(&op->linear, out, size);
  else if (op->type == OP_INJECT)
    describe_inject(&op->inject, out, size);
  else if (op->type == OP_ATTENTION)
    snprintf(out, size, "%d heads of %d, %d x %d", op->attention.heads, op->attention.q.c / op->attention.heads,
             op->attention.q.h * op->attention.q.w, op->attention.k.h * op->attention.k.w);
  else
    snprintf(out, size, "%dx%dx%dx%d", y.n, y.h, y.w, y.c);
}

static double at_rate(double amount, double rate) {
  return rate > 0 ? amount / rate * 1e6 : 0;
}

static double floor_of(const struct profile_row *row, const struct profile_roof *roof) {
  return fmax(at_rate(row->flops, roof->flops),
              fmax(at_rate(row->weight_bytes, roof->memory), at_rate(row->activation_bytes, roof->cache)));
}

void profile_describe(struct profile *profile, const struct plan *plan, const struct element *elements) {
  const struct profile_roof *roof = &profile->roof;
  for (int i = 0; i < profile->count; i++) {
    const struct op *op = &plan->ops[i];
    struct profile_row *row = &profile->rows[i];
    struct tensor y = made_by(op);
    const char *dot = strchr(op->name, '.');
    snprintf(row->name, sizeof row->name, "%s", op->name);
    snprintf(row->part, sizeof row->part, "%.*s", dot ? (int)(dot - op->name) : 5, dot ? op->name : "frame");
    row->kind = kind_of(op);
    describe_shape(op, row->shape, sizeof row->shape);
    row->level = y.h * y.w;
    row->runs = plan_op_runs(plan, i);
    row->flops = op_flops(op);
    profile_bytes(plan, elements, i, roof->element, &row->weight_bytes, &row->activation_bytes);
    row->floor_us = floor_of(row, roof);
  }
}

void profile_describe_source(struct profile *profile, const struct plan *plan, int op, const struct frame *frame,
                             double part) {
  struct profile_row *row = &profile->rows[op];
  struct tensor y = plan->ops[op].pixels_in.y;
  snprintf(row->shape, sizeof row->shape, "%dx%d %s to %dx%d", frame->width, frame->height,
           frame_format_name(frame->format), y.w, y.h);
  row->activation_bytes += y.n * part * (double)frame_bytes(frame) - rgba_bytes * (double)tensor_rows(y);
  row->floor_us = floor_of(row, &profile->roof);
}

/* --- means of measured times, and the standard errors of these means --- */

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

double profile_middle(double *values, int count, double *spread) {
  double sum = 0;
  int first = count / 4, end = count - first;
  if (spread)
    *spread = 0;
  if (count < 1)
    return 0;
  qsort(values, (size_t)count, sizeof *values, by_value);
  for (int i = first; i < end; i++)
    sum += values[i];
  if (spread)
    *spread = (values[end - 1] - values[first]) / sqrt(count);
  return sum / (end - first);
}
