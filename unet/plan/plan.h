/* A plan: ops in order over tensors whose shapes are settled. Models append; a finished plan never changes; devices run
 * it. Appending does not return errors: the first one sticks and plan_finish reports it, so that model code reads like
 * the paper.
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
  int first, last; /* ops between which it holds something: as a rule those that write it first and read it last; set
                      by plan_finish */
};

/* What runs leave to later ones; each program of the plan has memory of its own for it. */
struct declared_state {
  char *name;
  int n, h, w, c;
  enum demand demand;
};

/* Ops [first, end) run `iterations` times in a row, the others once. All 0: none do. */
struct plan_loop {
  int first, end, iterations;
};

/* What decides whether a region runs: a value of the run's parameters (device.h), which is not 0 where it does. */
enum region_kind {
  REGION_CONTROL, /* run.control[index].gain at the step; of several latents, at any of theirs */
  REGION_MAP,     /* run.control[index].map */
  REGION_STYLE,   /* run.style[index].weight */
};
struct region_when {
  enum region_kind kind;
  int index;
  int step;    /* REGION_CONTROL: as OP_TIME_ROW's */
  int latents; /* REGION_CONTROL: latent i is at step + i; 0: 1 */
};

/* Ops [first, end) run where `when` says so; elsewhere they are skipped, and what they would have written stays as it
 * is. Those before `meet` may run beside ops [beside, first). */
struct plan_region {
  int first, end;
  struct region_when when;
  int beside, meet; /* meet 0: none may */
};

struct plan {
  struct resources *resources;
  struct op *ops;
  int op_count, op_capacity;
  int *told, told_count; /* of a finished plan: the few ops that have arguments of the run (op_is_told), in order */
  struct plan_loop loop;
  struct plan_region *regions; /* in the order of their ops */
  int region_count, region_capacity;
  struct temporary *temporaries;
  int temporary_count, temporary_capacity;
  struct declared_state *states;
  int state_count, state_capacity;
  char scope[256]; /* name prefix of ops being appended: see plan_enter */
  struct error error;
  bool failed, finished;
};

void plan_init(struct plan *plan, struct resources *resources);
void plan_free(struct plan *plan); /* also of a zeroed plan */

/* Names: plan_enter("down_blocks.0") makes later ops' names begin with it; returns what plan_leave restores. */
PRINTF_LIKE(2, 3) size_t plan_enter(struct plan *plan, const char *format, ...);
void plan_leave(struct plan *plan, size_t mark);

/* Records the first error of model code ("expected 320 channels"); the plan then stays failed. */
PRINTF_LIKE(2, 3) void plan_fail(struct plan *plan, const char *format, ...);

/* plan_conv, plan_linear, ...: append one op of the table. Operands and shapes are checked. Its y is made here, from
 * the sizes in op.y where op.h says that they are given, or is the state that op.y names; returned is y, or no tensor
 * for ops without one. name is the part after the scope. */
#define PLAN_CONSTRUCTOR(TYPE, field, ...)                                                                             \
  struct tensor plan_##field(struct plan *plan, const char *name, struct op_##field op);
OP_TABLE(PLAN_CONSTRUCTOR)
#undef PLAN_CONSTRUCTOR

/* The ops appended between the two are the plan's loop: there is one at most, and its last op is an OP_STEP, whose x is
 * all that an iteration hands on to the next, beside the earlier predictions that it keeps. */
void plan_loop_begin(struct plan *plan, int iterations);
void plan_loop_end(struct plan *plan);
/* The ops appended between the two are a region: beside others, inside the loop or outside it. What it makes it alone
 * reads, unless that is a state; what it changes for others to read, they find there also where it was skipped. */
void plan_region_begin(struct plan *plan, struct region_when when);
void plan_region_end(struct plan *plan);
/* The open region's ops so far take nothing from ops [beside, its first), nor the other way round: a device may run
 * both at the same time. Its later ops come after both. Op `beside` is in no region, and in the loop where the region
 * is. */
void plan_region_meet(struct plan *plan, int beside);
/* Whether an op is one of those. */
bool plan_is_beside(const struct plan *plan, int op);
/* The region that an op is in, or NULL. */
const struct plan_region *plan_region_of(const struct plan *plan, int op);
/* Whether every run of the plan runs each op once. */
static inline bool plan_is_straight(const struct plan *plan) {
  return !plan->loop.iterations && !plan->region_count;
}
/* The highest version of the weights that the plan reads. State that a run has left is out of date when this has grown
 * since. */
uint64_t plan_weights_version(const struct plan *plan);
/* How often one run of the plan runs an op. */
int plan_op_runs(const struct plan *plan, int op);

/* A temporary that no op of this plan writes, except in place. It holds what a loop's iterations hand on;
 * tests give a device its input in one (device_write). It and every temporary that is never read live for the whole
 * plan, so tests can read results. */
struct tensor plan_input(struct plan *plan, int n, int h, int w, int c, enum demand demand);

/* State that a run reads and writes and the next run reads again: latents, a flow field, a ring of keys and values. It
 * is zero when a program is prepared, belongs to the program, and is reached by ops as any tensor is and by
 * device_write and device_read. The same name gives the same tensor; shapes must agree. A program that is prepared
 * with an owner (struct program_options) shares the states of equal names with it. */
struct tensor plan_state(struct plan *plan, const char *name, int n, int h, int w, int c, enum demand demand);
/* Index of a state by name, or -1. */
int plan_find_state(const struct plan *plan, const char *name);

/* What devices keep for each temporary and each state is one list, the temporaries first: its length, and a tensor's
 * place in it. */
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

/* Settles lifetimes. Returns -1 with the first error of the plan. */
int plan_finish(struct plan *plan, struct error *err);

/* Arena layout of a finished plan: offset[i] for temporary i, made of element[i], such that temporaries alive together
 * do not overlap. Offsets are multiples of align. Returns the arena's bytes; SIZE_MAX: out of memory. */
size_t plan_layout(const struct plan *plan, const struct element *element, size_t align, size_t *offset);

#endif
