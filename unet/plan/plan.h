/* A plan: a list of ops in order, over tensors whose shapes are known. Models append ops; a finished plan never
 * changes; devices run it. The functions that append ops return no errors: the first error is kept and plan_finish
 * reports it, so that model code reads like the paper.
 *
 * Ownership: the plan owns its ops, names, temporaries and states; it borrows the resources, which outlive it. */
#ifndef UNET_PLAN_PLAN_H
#define UNET_PLAN_PLAN_H

#include "unet/base/error.h"
#include "unet/plan/op.h"
#include "unet/plan/resources.h"

struct temporary {
  int n, h, w, c;
  enum demand demand;
  /* first and last op between which the temporary holds values that are needed: as a rule its first writer and its last
   * reader; set by plan_finish */
  int first, last;
};

/* A state of the plan: what one run leaves to later ones. Each program of the plan has its own memory for it. */
struct declared_state {
  char *name;
  int n, h, w, c;
  enum demand demand;
};

/* Ops [first, end) are executed `iterations` times in succession, all others once. Zeroed: no loop. */
struct plan_loop {
  int first, end, iterations;
};

/* The run parameter (run.h) that decides if a region is entered: the region runs unless that parameter is 0. */
enum region_kind {
  /* run.control[index].gain[step]; with several latents, one of them with a gain other than 0 is enough */
  REGION_CONTROL,
  REGION_MAP,    /* run.control[index].map: the run computes this control's map */
  REGION_STYLE,  /* run.style[index].weight */
  REGION_MOTION, /* run.motion; index is 0 */
  REGION_BANK,   /* run.bank.frames; index is 0 */
  REGION_KINDS
};
struct region_when {
  enum region_kind kind;
  int index;
  int step; /* REGION_CONTROL: number of the U-Net's call; in a loop that of the first iteration */
  /* REGION_CONTROL: number of latents in the call, each at a step of its own: latent i at step + i; 0 means 1 */
  int latents;
};

/* A region: ops [first, end) of the plan, counted from 0. They run if `when` holds. Otherwise they are skipped, and the
 * tensors that they would write keep their values. */
struct plan_region {
  int first, end;
  struct region_when when;
  /* A device may run ops [first, parallel_end) of the region at the same time as ops [parallel_with, first), which
   * stand before the region. parallel_end 0: it may run no op of the region at the same time as ops outside it. */
  int parallel_with, parallel_end;
};

struct plan {
  struct resources *resources;

  /* The ops, and the order in which they run. */
  struct op *ops;
  int op_count, op_capacity;
  /* numbers of the ops that read run parameters (op_is_told), in order; set by plan_finish */
  int *told, told_count;
  struct plan_loop loop;
  struct plan_region *regions; /* regions in the order of their ops */
  int region_count, region_capacity;

  /* The tensors that belong to the plan: tensor.index counts in these lists. */
  struct temporary *temporaries;
  int temporary_count, temporary_capacity;
  struct declared_state *states;
  int state_count, state_capacity;

  /* Used while ops are appended. */
  char scope[256]; /* prefix of the names of ops that are being appended: see plan_enter */
  struct error error;
  bool failed, finished;
};

void plan_init(struct plan *plan, struct resources *resources);
void plan_free(struct plan *plan); /* A zeroed plan may be given, too. */

/* After plan_enter("down_blocks.0") the names of appended ops begin with that text, after the prefixes entered before.
 * It returns the length of the prefix so far, to which plan_leave shortens it again. */
PRINTF_LIKE(2, 3) size_t plan_enter(struct plan *plan, const char *format, ...);
void plan_leave(struct plan *plan, size_t mark);

/* Records an error of model code ("expected 320 channels") unless there was one before; the plan stays failed. */
PRINTF_LIKE(2, 3) void plan_fail(struct plan *plan, const char *format, ...);

/* plan_conv, plan_linear, ...: each appends one op of OP_TABLE (op.h) to the plan and checks its operands and shapes.
 * name: the op's name after the prefix (plan_enter). Each returns the op's result y, which is a new temporary, or the
 * state that op.y names. Where the comment on an op says that sizes of y are given, the caller sets them in op.y. Ops
 * without a y return no tensor. */
#define PLAN_CONSTRUCTOR(TYPE, field, ...)                                                                             \
  struct tensor plan_##field(struct plan *plan, const char *name, struct op_##field op);
OP_TABLE(PLAN_CONSTRUCTOR)
#undef PLAN_CONSTRUCTOR

/* The ops that are appended between these two calls are the plan's loop. A plan has at most one, and the loop's last op
 * is an OP_STEP. An iteration gives the next one the x of this op and its earlier predictions, and nothing else. */
void plan_loop_begin(struct plan *plan, int iterations);
void plan_loop_end(struct plan *plan);
/* The ops that are appended between these two calls are a region. A region is not within another one, and is either
 * inside the loop or outside it. Temporaries that it makes are read by its own ops alone; tensors that it changes in
 * place, and states, may be read by others, who find the old values if the region was skipped. */
void plan_region_begin(struct plan *plan, struct region_when when);
void plan_region_end(struct plan *plan);
/* Declares that the ops of the open region so far share no data with the ops from number parallel_with up to the
 * region's first, so that a device may run both groups at the same time. Later ops of the region wait for both groups.
 * Op parallel_with is in no region, and is inside the loop if and only if the region is. */
void plan_region_end_parallel(struct plan *plan, int parallel_with);
/* True if op number `op` is one of those at the start of a region that may run at the same time as earlier ops. */
bool plan_is_parallel(const struct plan *plan, int op);
/* Returns the region that contains an op, or NULL. */
const struct plan_region *plan_region_of(const struct plan *plan, int op);
/* True if every run of the plan runs each op exactly once. */
static inline bool plan_is_straight(const struct plan *plan) {
  return !plan->loop.iterations && !plan->region_count;
}
/* Returns the highest version of the weights that the plan reads. States that a run has written are out of date if this
 * has grown since that run. */
uint64_t plan_weights_version(const struct plan *plan);
/* Returns the number of times that one run of the plan runs an op, if no region is skipped. */
int plan_op_runs(const struct plan *plan, int op);

/* Makes a temporary that no op of this plan writes, except in place. Loops keep values in it from one iteration to the
 * next, and tests write a device's input to it (device_write). It lives for the whole plan, and so does every temporary
 * that no op reads, so that tests can read results. */
struct tensor plan_input(struct plan *plan, int n, int h, int w, int c, enum demand demand);

/* Makes a state, which one run writes and the next run reads: latents, a flow field, a ring of keys and values. A state
 * is zero when a program is prepared and belongs to the program. Ops use it like any tensor; device_write and
 * device_read reach it too. The same name returns the same tensor; shapes must agree. A program that is prepared with
 * an owner (struct program_options) shares the states of equal names with it. */
struct tensor plan_state(struct plan *plan, const char *name, int n, int h, int w, int c, enum demand demand);
/* Returns the index of the state with this name, or -1. */
int plan_find_state(const struct plan *plan, const char *name);

/* Devices keep lists with an entry for each temporary, followed by one for each state. plan_places returns the length
 * of such a list, plan_place a tensor's index in it, and plan_demand the precision that the tensor of an entry
 * needs. */
static inline int plan_places(const struct plan *plan) {
  return plan->temporary_count + plan->state_count;
}
static inline int plan_place(const struct plan *plan, struct tensor t) {
  return t.space == TENSOR_STATE ? plan->temporary_count + t.index : t.index;
}
static inline enum demand plan_demand(const struct plan *plan, int place) {
  return place < plan->temporary_count ? plan->temporaries[place].demand
                                       : plan->states[place - plan->temporary_count].demand;
}

/* Computes the lifetimes of temporaries and checks the regions. Returns -1 with the plan's first error. */
int plan_finish(struct plan *plan, struct error *err);

/* Lays out the memory of a finished plan's temporaries: offset[i] gets the byte at which temporary i begins, with
 * elements of type element[i]; it is a multiple of align. Temporaries that hold values at the same time do not overlap.
 * Returns the bytes of the whole layout, or SIZE_MAX if memory runs out. */
size_t plan_layout(const struct plan *plan, const struct element *element, size_t align, size_t *offset);

#endif
