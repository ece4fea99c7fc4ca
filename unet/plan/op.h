/* The ops are the whole contract between models, which append them to a plan, and devices, which run them. Both know
 * this file and nothing of each other.
 *
 * An op is as coarse as the fastest device can fuse it. A device that cannot fuse some part of an op, such as its norm
 * or its activation, runs that part as a separate step. The CPU's plain loops (cpu_ops.c) define each op, and every
 * other implementation is compared with them.
 *
 * Each op is one row of OP_TABLE and one list of operands. Its type, the tensors of its struct, its constructor
 * (plan.h), its reads, writes and lifetimes, the checks that all ops share, and the devices' tables are made from these
 * two. An op that lacks one of its parts does not compile or link. A new op needs a row here, a list and a struct in
 * the op_*.h of its kind, its rule in the op_*.c next to that, its definition in the CPU device, an implementation in
 * other devices, and cases in tests/rigs/op_cases*.c.
 *
 * Tensors are NHWC. "Precise" tensors are ELEMENT_PRECISE. */
#ifndef UNET_PLAN_OP_H
#define UNET_PLAN_OP_H

#include "unet/plan/op_canvas.h"
#include "unet/plan/op_carry.h"
#include "unet/plan/op_layers.h"
#include "unet/plan/op_memory.h"
#include "unet/plan/op_motion.h"
#include "unet/plan/op_pixels.h"
#include "unet/plan/op_prompts.h"
#include "unet/plan/op_steps.h"

/* All ops. A row has: the TYPE (of OP_TYPE); the field in struct op; the name in messages; the check of the run
 * parameters that the op reads, a function check_NAME of check_run.c (`nothing`: it reads none); and the function of
 * op.c that counts its floating-point operations (no_flops: it has no matrix product). */
#define OP_TABLE(ROW)                                                                                                  \
  ROW(CONV, conv, "conv", nothing, conv_flops)                                                                         \
  ROW(LINEAR, linear, "linear", nothing, linear_flops)                                                                 \
  ROW(INJECT, inject, "inject", gains, inject_flops)                                                                   \
  ROW(NORM, norm, "norm", nothing, no_flops)                                                                           \
  ROW(AFFINE, affine, "affine", nothing, no_flops)                                                                     \
  ROW(BLOCKS, blocks, "blocks", nothing, no_flops)                                                                     \
  ROW(ATTENTION, attention, "attention", nothing, attention_flops)                                                     \
  ROW(STYLE, style, "style", styles, style_flops)                                                                      \
  ROW(RECALL, recall, "recall", bank, no_flops)                                                                        \
  ROW(REMEMBER, remember, "remember", nothing, no_flops)                                                               \
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
  ROW(ADVECT, advect, "advect", nothing, no_flops)                                                                     \
  ROW(CARRIED_NOISE, carried_noise, "carried noise", nothing, no_flops)                                                \
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
  ROW(CANVAS_PLACE, canvas_place, "canvas place", nothing, no_flops)                                                   \
  ROW(CANVAS_DRAW, canvas_draw, "canvas draw", nothing, no_flops)                                                      \
  ROW(CANVAS_NOISE, canvas_noise, "canvas noise", nothing, no_flops)                                                   \
  ROW(PYRAMID, pyramid, "pyramid", nothing, no_flops)                                                                  \
  ROW(MATCH, match, "match", nothing, no_flops)                                                                        \
  ROW(FIT, fit, "fit", nothing, no_flops)                                                                              \
  ROW(FLOW, flow, "flow", nothing, no_flops)                                                                           \
  ROW(PIXELS_OUT, pixels_out, "pixels out", shown, no_flops)

#define OP_TYPE(TYPE, field, ...) OP_##TYPE,
enum op_type { OP_TABLE(OP_TYPE) OP_TYPES };
#undef OP_TYPE

#define OP_FIELD(TYPE, field, ...) struct op_##field field;
struct op {
  enum op_type type;
  /* place in the model, for messages and profiles ("down_blocks.0.resnets.1.conv1"); owned by the plan */
  const char *name;
  union {
    OP_TABLE(OP_FIELD)
  };
};
#undef OP_FIELD

const char *op_type_name(enum op_type type);

struct op_operand {
  struct tensor tensor;
  const char *name; /* name of the field in the op's struct: "x2", "prologue.gamma" */
  unsigned roles;   /* bits of enum operand_role */
};

/* Lists the operands that have any of these roles, in the order of the op's list, and returns their number. Optional
 * operands that were left out are listed too, with TENSOR_NONE. */
enum { OPERANDS_MAX = 10 };
int op_operands(const struct op *op, unsigned roles, struct op_operand list[OPERANDS_MAX]);
/* Lists the tensors of the operands that have any of these roles, without those that were left out, and returns their
 * number. */
int op_tensors(const struct op *op, unsigned roles, struct tensor list[OPERANDS_MAX]);

/* The shape and precision of the tensor y that an op writes. op_check computes them, and the plan makes the tensor. */
struct op_result {
  int n, h, w, c; /* shape of y */
  enum demand demand;
};

/* Checks an op before it is appended to a plan, by the rule of its type. runs: how often one run of the plan executes
 * it, more than 1 in a loop. Stores in *result the shape and precision of its y. Returns the fault in a few words
 * (static text), or NULL if there is none. */
const char *op_check(const struct op *op, int runs, struct op_result *result);
/* Returns the address of the op's field y, or NULL if the op has no such field and only writes tensors that exist
 * already. */
struct tensor *op_y(struct op *op);

/* Returns the floating-point operations of one execution of the op's matrix products (2 per multiply-add); 0 if it has
 * none. */
double op_flops(const struct op *op);
/* True if ops of this type have to be visited in every run: they read run parameters that device_submit checks, or are
 * OP_PIXELS_IN, whose frames are checked, or OP_STYLE, which adds nothing in some runs. plan_finish lists such ops
 * (plan.told). */
bool op_is_told(enum op_type type);

#endif
