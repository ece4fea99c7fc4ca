/* The ops (operations of a network or of its input and output). They are the interface between models, which append ops
 * to a plan (plan.h), and devices, which run them. Models and devices know nothing else of each other.
 *
 * An op is as coarse as the fastest device can fuse it. A device that cannot fuse some part of an op, such as its norm
 * or its activation, runs that part as a separate step. The CPU's plain loops (cpu_ops.c) define each op, and every
 * other implementation is compared with them.
 *
 * Each op is one row of OP_TABLE and one list of operands, OPERANDS_<TYPE> in an op_*.h. From these two, macros make
 * the op's number (enum op_type), the tensors of its struct, its constructor (plan.h), its reads, writes and lifetimes,
 * the checks that all ops share, and the devices' tables. An op that lacks one of its parts does not compile or link.
 *
 * A new op needs a row here, a list and a struct in the op_*.h of its kind, a function op_check_FIELD in the op_*.c
 * beside that header, its definition in the CPU device, an implementation in other devices, and cases in
 * tests/rigs/op_cases*.c.
 *
 * The comments on the ops give each op's formula and then its operands, one a line, with shapes in the order NHWC: n
 * pictures of h rows and w columns of c values. "FP32" is ELEMENT_PRECISE, "int32" is ELEMENT_WHOLE; operands without
 * either have the type that the device computes in. "run" stands for the run's parameters, struct run_params
 * (run.h). */
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

/* All ops. The columns of a row: the TYPE (OP_<TYPE> in enum op_type); the op's field in struct op; its name in
 * messages; NAME, for the function check_NAME of check_run.c, which checks the run parameters that the op reads
 * (`nothing`: it reads none); and the function of op.c that counts its floating-point operations (no_flops: the op has
 * no matrix product). */
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
  ROW(DETAIL, detail, "detail", detail, no_flops)                                                                      \
  ROW(PIXELS_OUT, pixels_out, "pixels out", shown, no_flops)

#define OP_TYPE(TYPE, field, ...) OP_##TYPE,
enum op_type { OP_TABLE(OP_TYPE) OP_TYPES };
#undef OP_TYPE

#define OP_FIELD(TYPE, field, ...) struct op_##field field;
struct op {
  enum op_type type;
  /* the op's name in messages and profiles, which is its path in the model ("down_blocks.0.resnets.1.conv1"); owned by
   * the plan */
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
  unsigned roles;   /* bits of enum operand_role: how the op uses the operand */
};

/* Stores in `list` those operands of an op that have any of these roles, in the order in which the op lists them.
 * Returns their number. Optional operands that were left out are stored as TENSOR_NONE. */
enum { OPERANDS_MAX = 10 };
int op_operands(const struct op *op, unsigned roles, struct op_operand list[OPERANDS_MAX]);
/* Stores in `list` the tensors of those operands that have any of these roles, without operands that were left out, and
 * returns their number. */
int op_tensors(const struct op *op, unsigned roles, struct tensor list[OPERANDS_MAX]);

/* Shape and precision of the tensor y that an op writes. op_check computes them, and the plan makes y from them. */
struct op_result {
  int n, h, w, c; /* shape of y */
  enum demand demand;
};

/* Checks the operands of an op before it is appended to a plan, and stores shape and precision of its y in *result.
 * runs: number of times that one run of the plan executes the op; above 1 only in a loop. Returns NULL if all is right,
 * else a few words that say what is wrong (static text). */
const char *op_check(const struct op *op, int runs, struct op_result *result);
/* Returns the address of the op's field y (its result). Returns NULL if the op has no such field, because it only
 * writes tensors that exist already. */
struct tensor *op_y(struct op *op);

/* Returns the number of floating-point operations in one execution of the op's matrix products, 2 for each
 * multiply-add; 0 if it has no matrix product. */
double op_flops(const struct op *op);
/* Returns true if a device must look at ops of this type in every run, not only when it prepares the plan. There are
 * three reasons: the op reads run parameters, which device_submit checks; it reads frames (OP_PIXELS_IN); or some runs
 * leave it out (OP_STYLE). plan_finish lists the ops of such types in plan.told. */
bool op_is_told(enum op_type type);

#endif
