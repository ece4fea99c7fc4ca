/* The ops: the whole contract between models, which append them to a plan, and devices, which run them. Both know this
 * file and nothing of each other.
 *
 * Ops are as coarse as the fastest device fuses. A field a device cannot fuse it runs before or after; the CPU's plain
 * loops (cpu_ops.c) are the definition of each op and what every other implementation is compared with.
 *
 * Each op is one row of OP_TABLE and one list of operands. From these come its type, its struct's tensors, its
 * constructor (plan.h), reads, writes and lifetimes, the checks that all ops share, and the devices' tables: an op that
 * lacks one of its parts does not compile or link. To add an op: a row here, a list and a struct in the op_*.h of its
 * kind, its rule in the op_*.c beside that, its definition in the CPU device, its way on other devices, its cases in
 * tests/rigs/op_cases*.c.
 *
 * Tensors are NHWC. Those called precise are ELEMENT_PRECISE. */
#ifndef UNET_PLAN_OP_H
#define UNET_PLAN_OP_H

#include "unet/plan/op_layers.h"
#include "unet/plan/op_pixels.h"
#include "unet/plan/op_prompts.h"
#include "unet/plan/op_steps.h"

/* All ops: TYPE, its field in struct op, its name for people, which of the run's parameters device_submit checks for it
 * (check_run.c), and the function that counts its floating-point operations (op.c). */
#define OP_TABLE(ROW)                                                                                                  \
  ROW(CONV, conv, "conv", nothing, conv_flops)                                                                         \
  ROW(LINEAR, linear, "linear", nothing, linear_flops)                                                                 \
  ROW(INJECT, inject, "inject", gains, inject_flops)                                                                   \
  ROW(NORM, norm, "norm", nothing, no_flops)                                                                           \
  ROW(AFFINE, affine, "affine", nothing, no_flops)                                                                     \
  ROW(BLOCKS, blocks, "blocks", nothing, no_flops)                                                                     \
  ROW(ATTENTION, attention, "attention", nothing, attention_flops)                                                     \
  ROW(STYLE, style, "style", styles, style_flops)                                                                      \
  ROW(JOIN, join, "join", nothing, no_flops)                                                                           \
  ROW(EMBED, embed, "embed", tokens, no_flops)                                                                         \
  ROW(TIMESTEP, timestep, "timestep", timesteps, no_flops)                                                             \
  ROW(GUIDANCE_EMBED, guidance_embed, "guidance embed", nothing, no_flops)                                             \
  ROW(TIME_ROW, time_row, "time row", nothing, no_flops)                                                               \
  ROW(STORE_SLOT, store_slot, "store slot", slot, no_flops)                                                            \
  ROW(SHIFT, shift, "shift", nothing, no_flops)                                                                        \
  ROW(PROMPT, prompt, "prompt", prompts, no_flops)                                                                     \
  ROW(END_TOKEN, end_token, "end token", end, no_flops)                                                                \
  ROW(EMPHASIS, emphasis, "emphasis", emphasis, no_flops)                                                              \
  ROW(BETWEEN, between, "between", nothing, no_flops)                                                                  \
  ROW(START, start, "start", nothing, no_flops)                                                                        \
  ROW(MASK, mask, "mask", nothing, no_flops)                                                                           \
  ROW(UNET_INPUT, unet_input, "unet input", nothing, no_flops)                                                         \
  ROW(GUIDE, guide, "guide", nothing, no_flops)                                                                        \
  ROW(STEP, step, "step", coefficients, no_flops)                                                                      \
  ROW(PIXELS_IN, pixels_in, "pixels in", geometry, no_flops)                                                           \
  ROW(PATCHES, patches, "patches", nothing, no_flops)                                                                  \
  ROW(UNPATCH, unpatch, "unpatch", nothing, no_flops)                                                                  \
  ROW(RESIZE, resize, "resize", nothing, no_flops)                                                                     \
  ROW(RANGE, range, "range", speed, no_flops)                                                                          \
  ROW(SPREAD, spread, "spread", nothing, no_flops)                                                                     \
  ROW(MAP, map, "map", map, no_flops)                                                                                  \
  ROW(PIXELS_OUT, pixels_out, "pixels out", shown, no_flops)

#define OP_TYPE(TYPE, field, ...) OP_##TYPE,
enum op_type { OP_TABLE(OP_TYPE) OP_TYPES };
#undef OP_TYPE

#define OP_FIELD(TYPE, field, ...) struct op_##field field;
struct op {
  enum op_type type;
  const char *name; /* where it is in the model ("down_blocks.0.resnets.1.conv1"); owned by the plan */
  union {
    OP_TABLE(OP_FIELD)
  };
};
#undef OP_FIELD

const char *op_type_name(enum op_type type);

struct op_operand {
  struct tensor tensor;
  const char *name; /* "x2", "prologue.gamma" */
  unsigned roles;   /* of enum operand_role */
};

/* The operands that have any of these roles, those left out left out, in the order of the op's list; the number of
 * them. */
enum { OPERANDS_MAX = 10 };
int op_operands(const struct op *op, unsigned roles, struct op_operand list[OPERANDS_MAX]);
/* The same without names. */
int op_tensors(const struct op *op, unsigned roles, struct tensor list[OPERANDS_MAX]);

/* What an op makes. */
struct op_result {
  int n, h, w, c; /* of y */
  enum demand demand;
};

/* Checks an op before it joins a plan in which it runs so many times in a row, and gives the shape of its y, where that
 * is to be made. Returns what is wrong with it in a few words; NULL: nothing. */
const char *op_check(const struct op *op, int runs, struct op_result *result);
/* The y of an op; NULL: it has none, and what it writes was there before. */
struct tensor *op_y(struct op *op);

/* Floating-point operations of the op's matrix products (2 per multiply-add); 0 for ops that have none. */
double op_flops(const struct op *op);
/* Whether device_submit checks arguments of the run for it. It is so of OP_PIXELS_IN, whose frames are checked, and of
 * OP_STYLE, which a run may do without: what is done with each run looks at such ops alone. */
bool op_is_told(enum op_type type);

#endif
