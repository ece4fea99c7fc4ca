/* A plan: a list of ops (operations, op.h) in order, over tensors whose shapes are known. Models append ops; devices
 * run the finished plan, which never changes. The functions that append ops return no errors, so that model code reads
 * like a paper's formulas: the plan stores the first error, and plan_finish reports it.
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
  /* numbers of the first and the last op between which the temporary's values are needed: usually its first writer and
   * its last reader; set by plan_finish */
  int first, last;
};

/* A state: a tensor of the plan whose values one run leaves to later runs. Each program (a plan that a device has
 * prepared) has its own memory for it. */
struct declared_state {
  char *name;
  int n, h, w, c;
  enum demand demand;
};

/* The plan's loop: a run executes ops `first` to `end - 1` `iterations` times in succession, and all other ops once.
 * Zeroed: there is no loop. */
struct plan_loop {
  int first, end, iterations;
};

/* Which run parameter (run.h) decides whether a run executes a region (a group of ops that may be skipped). A run skips
 * the region if the parameter is 0 or false. */
enum region_kind {
  /* The parameter is run.control[index].gain[step], the strength of a control in this call of the U-Net. If the call
   * has several latents, the region runs if one of them has a gain other than 0. */
  REGION_CONTROL,
  REGION_MAP,    /* the parameter is run.control[index].map, which is true if the run computes this control's map */
  REGION_STYLE,  /* the parameter is run.style[index].weight, the weight of the style picture that these ops read */
  REGION_MOTION, /* the parameter is run.motion, which is true if the run measures motion; `index` is 0 */
  REGION_BANK,   /* the parameter is run.bank.frames, the number of earlier frames to whose keys and values the ops
                  * attend; `index` is 0 */
  REGION_KINDS
};
struct region_when {
  enum region_kind kind;
  int index;
  int step; /* REGION_CONTROL: number of the U-Net's call; if the region is in the loop, number of the call in the first
             * iteration */
  /* REGION_CONTROL: number of latents in the call, each at a step of its own: latent i at step + i; 0 means 1 */
  int latents;
};

/* A region, a group of ops that a run may skip: ops `first` to `end - 1` of the plan, counted from 0. A run executes
 * them if the condition `when` holds. Otherwise the tensors that they would write keep their values. */
struct plan_region {
  int first, end;
  struct region_when when;
  /* Which ops a device may run at the same time: on the one hand the beginning of this region (ops that a run may
   * skip), ops `first` to parallel_end - 1; on the other hand ops parallel_with to `first` - 1, which precede the
   * region. parallel_end 0: no op of the region may run at the same time as ops outside it; parallel_end `end`: all
   * may. */
  int parallel_with, parallel_end;
};

struct plan {
  struct resources *resources;

  /* The following fields hold the plan's ops in their order, its loop (ops that are repeated), and its regions (ops
   * that a run may skip). */
  struct op *ops;
  int op_count, op_capacity;
  /* numbers of the ops that a device must look at in every run, for example because they read run parameters
   * (op_is_told); ascending; set by plan_finish */
  int *told, told_count;
  struct plan_loop loop;
  struct plan_region *regions; /* the regions (ops that a run may skip), in the order of their ops */
  int region_count, region_capacity;

  /* The following fields list the tensors that belong to the plan; tensor.index is an index into one of these lists. */
  struct temporary *temporaries;
  int temporary_count, temporary_capacity;
  struct declared_state *states;
  int state_count, state_capacity;

  /* The following fields are used only while ops are appended. */
  char scope[256]; /* prefix for the names of the ops that are appended (plan_enter) */
  struct error error;
  bool failed, finished;
};

void plan_init(struct plan *plan, struct resources *resources);
void plan_free(struct plan *plan); /* Frees the plan's memory; accepts a zeroed plan. */

/* plan_enter appends a text, such as "down_blocks.0", to the prefix with which the names of all ops appended afterwards
 * begin. It returns the prefix's old length, to which plan_leave shortens the prefix again. */
PRINTF_LIKE(2, 3) size_t plan_enter(struct plan *plan, const char *format, ...);
void plan_leave(struct plan *plan, size_t mark);

/* Records an error of model code ("expected 320 channels"). Later errors are ignored: the plan keeps the first one, and
 * no more ops are appended. */
PRINTF_LIKE(2, 3) void plan_fail(struct plan *plan, const char *format, ...);

/* plan_conv, plan_linear and so on, one function for each row of OP_TABLE (op.h): checks an op's operands and shapes,
 * and appends the op to the plan. name: the op's name after the prefix (plan_enter). Returns the op's result y: a new
 * temporary, or the state that the caller has named in op.y. Where an op's comment says that the caller gives sizes of
 * y, they are set in op.y. Returns TENSOR_NONE after a failure, and for ops without a y. */
#define PLAN_CONSTRUCTOR(TYPE, field, ...)                                                                             \
  struct tensor plan_##field(struct plan *plan, const char *name, struct op_##field op);
OP_TABLE(PLAN_CONSTRUCTOR)
#undef PLAN_CONSTRUCTOR

/* plan_loop_begin and plan_loop_end enclose the ops of the plan's loop: ops that are appended between these calls are
 * repeated. A plan has at most one loop, whose last op is an OP_STEP. Only two tensors carry values from one iteration
 * to the next: the x of that OP_STEP and its earlier predictions. */
void plan_loop_begin(struct plan *plan, int iterations);
void plan_loop_end(struct plan *plan);
/* plan_region_begin and plan_region_end enclose a region: ops that runs may skip. Regions do not contain each other,
 * and each is wholly inside the loop or outside it. Only the region's own ops may read a temporary that is made in it.
 * Other ops may read states, and tensors that the region changes in place; after a run that skips the region, these
 * have their old values. */
void plan_region_begin(struct plan *plan, struct region_when when);
void plan_region_end(struct plan *plan);
/* Called between plan_region_begin and plan_region_end. Declares that two groups of ops share no data, so that a device
 * may run them at the same time: the ops of the region so far, and the ops from number parallel_with up to the one
 * before the region. Ops that are appended later, to the region or behind it, wait for both groups. Op parallel_with
 * must be in no region. It must be inside the plan's loop if the region is, and outside if the region is outside. */
void plan_region_end_parallel(struct plan *plan, int parallel_with);
/* Returns true if op number `op` is in a region (ops that a run may skip) and may run at the same time as ops outside,
 * before the region. */
bool plan_is_parallel(const struct plan *plan, int op);
/* Returns the region (ops that a run may skip) that contains an op, or NULL. */
const struct plan_region *plan_region_of(const struct plan *plan, int op);
/* Returns the number of the op before which a sequence that begins with op number `op` must end, so that a run executes
 * all of it or nothing: neither the loop, nor a region (ops that a run may skip), nor ops that may run at the same time
 * as others begin or end within it. */
int plan_sequence_end(const struct plan *plan, int op);
/* Returns true if every run of the plan runs each op exactly once: it has no loop and no regions (ops that a run may
 * skip). */
static inline bool plan_is_straight(const struct plan *plan) {
  return !plan->loop.iterations && !plan->region_count;
}
/* Returns the highest version of the weights that the plan reads. If it has grown since a run, the values that this run
 * has stored in states are out of date. */
uint64_t plan_weights_version(const struct plan *plan);
/* Returns how often one run of the plan executes an op: as often as the loop is repeated, or once outside the loop. It
 * is assumed that no region (ops that a run may skip) is skipped. */
int plan_op_runs(const struct plan *plan, int op);

/* Makes an input: a temporary that no op of this plan writes, except in place. Loops keep values in it from one
 * iteration to the next, and tests write a device's input to it (device_write). No other temporary shares its memory.
 * The same holds for temporaries that no op reads, so that tests can read results from them. */
struct tensor plan_input(struct plan *plan, int n, int h, int w, int c, enum demand demand);

/* Makes a state, which one run writes and the next run reads: latents, a flow field, a ring buffer of keys and values.
 * It belongs to the program and is all zeros when a device has prepared the plan. Ops use it like any tensor;
 * device_write and device_read accept it, too. A second call with the same name returns the same tensor; shapes must
 * agree. A program that is prepared with an owner (struct program_options) uses the owner's states of the same
 * names. */
struct tensor plan_state(struct plan *plan, const char *name, int n, int h, int w, int c, enum demand demand);
/* Returns the index of the plan's state (a tensor that outlives a run) with this name, or -1. */
int plan_find_state(const struct plan *plan, const char *name);

/* For lists that have an entry for each temporary of a plan, followed by one for each state. plan_places returns the
 * length of such a list, plan_place a tensor's index in it. plan_demand returns the precision that the tensor at an
 * index needs. */
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

/* Completes the plan: computes the lifetimes of temporaries and checks the regions (ops that a run may skip). Returns
 * -1 with err set to the plan's first error, if there was one. */
int plan_finish(struct plan *plan, struct error *err);

/* Lays out the memory of a finished plan's temporaries: offset[i] gets the byte at which temporary i begins, with
 * elements of type element[i]; it is a multiple of align. Temporaries that hold values at the same time do not overlap.
 * Returns the bytes of the whole layout, or SIZE_MAX if memory runs out. */
size_t plan_layout(const struct plan *plan, const struct element *element, size_t align, size_t *offset);

#endif
