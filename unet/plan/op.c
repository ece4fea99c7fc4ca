#include "unet/plan/op.h"

const char *op_type_name(enum op_type type) {
  static const char *const names[OP_TYPES] = {
      [OP_CONV] = "conv",           [OP_LINEAR] = "linear",         [OP_NORM] = "norm",
      [OP_ATTENTION] = "attention", [OP_EMBED] = "embed",           [OP_TIMESTEP] = "timestep",
      [OP_TIME_ROW] = "time row",   [OP_STORE_SLOT] = "store slot", [OP_GUIDANCE_EMBED] = "guidance embed",
      [OP_PROMPT] = "prompt",       [OP_START] = "start",           [OP_UNET_INPUT] = "unet input",
      [OP_STEP] = "step",           [OP_PIXELS_IN] = "pixels in",   [OP_PIXELS_OUT] = "pixels out",
  };
  return type < OP_TYPES ? names[type] : "unknown";
}

static int collect(const struct tensor *candidates, int count, struct tensor *list) {
  int kept = 0;
  for (int i = 0; i < count; i++)
    if (tensor_exists(candidates[i]))
      list[kept++] = candidates[i];
  return kept;
}
#define COLLECT(list, ...)                                                                                             \
  collect((struct tensor[]){__VA_ARGS__}, (int)(sizeof((struct tensor[]){__VA_ARGS__}) / sizeof(struct tensor)), list)

int op_reads(const struct op *op, struct tensor reads[OP_READS_MAX]) {
  switch (op->type) {
  case OP_CONV: {
    const struct op_conv *o = &op->conv;
    return COLLECT(reads, o->x, o->x2, o->weight, o->bias, o->prologue.gamma, o->prologue.beta, o->time, o->residual);
  }
  case OP_LINEAR: {
    const struct op_linear *o = &op->linear;
    return COLLECT(reads, o->x, o->x2, o->weight, o->bias, o->prologue.gamma, o->prologue.beta, o->residual);
  }
  case OP_NORM:
    return COLLECT(reads, op->norm.x, op->norm.prologue.gamma, op->norm.prologue.beta);
  case OP_ATTENTION:
    return COLLECT(reads, op->attention.q, op->attention.k, op->attention.v);
  case OP_EMBED:
    return COLLECT(reads, op->embed.token, op->embed.position);
  case OP_TIME_ROW:
    return COLLECT(reads, op->time_row.table);
  case OP_STORE_SLOT:
    return COLLECT(reads, op->store_slot.x);
  case OP_PROMPT:
    return COLLECT(reads, op->prompt.slots);
  case OP_START:
    return COLLECT(reads, op->start.z, op->start.noise);
  case OP_UNET_INPUT:
    return COLLECT(reads, op->unet_input.x, op->unet_input.image);
  case OP_STEP:
    return COLLECT(reads, op->step.x, op->step.model, op->step.noise);
  case OP_PIXELS_OUT:
    return COLLECT(reads, op->pixels_out.x, op->pixels_out.input);
  default: /* OP_TIMESTEP, OP_GUIDANCE_EMBED and OP_PIXELS_IN read the run's parameters only */
    return 0;
  }
}

static struct tensor result(const struct op *op) {
  switch (op->type) {
  case OP_CONV:
    return op->conv.y;
  case OP_LINEAR:
    return op->linear.y;
  case OP_NORM:
    return op->norm.y;
  case OP_ATTENTION:
    return op->attention.y;
  case OP_EMBED:
    return op->embed.y;
  case OP_TIMESTEP:
    return op->timestep.y;
  case OP_GUIDANCE_EMBED:
    return op->guidance_embed.y;
  case OP_TIME_ROW:
    return op->time_row.y;
  case OP_STORE_SLOT:
    return op->store_slot.slots;
  case OP_PROMPT:
    return op->prompt.y;
  case OP_START:
    return op->start.y;
  case OP_UNET_INPUT:
    return op->unet_input.y;
  case OP_STEP:
    return op->step.x;
  case OP_PIXELS_IN:
    return op->pixels_in.y;
  default: /* OP_PIXELS_OUT writes the run's picture, which is no tensor */
    return (struct tensor){0};
  }
}

int op_writes(const struct op *op, struct tensor writes[OP_WRITES_MAX]) {
  return COLLECT(writes, result(op));
}

double op_flops(const struct op *op) {
  switch (op->type) {
  case OP_CONV: {
    struct tensor w = op->conv.weight;
    return 2.0 * (double)tensor_elements(op->conv.y) * w.h * w.w * w.c;
  }
  case OP_LINEAR:
    return 2.0 * (double)tensor_rows(op->linear.x) * op->linear.weight.n * op->linear.weight.c;
  case OP_ATTENTION: {
    const struct op_attention *o = &op->attention;
    return 4.0 * (double)tensor_elements(o->q) * o->k.h * o->k.w;
  }
  default:
    return 0;
  }
}
