#include "unet/plan/plan.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void plan_init(struct plan *plan, struct resources *resources) {
  *plan = (struct plan){.resources = resources};
}

void plan_free(struct plan *plan) {
  for (int i = 0; i < plan->op_count; i++)
    free((char *)plan->ops[i].name);
  for (int i = 0; i < plan->state_count; i++)
    free(plan->states[i].name);
  free(plan->ops);
  free(plan->told);
  free(plan->regions);
  free(plan->temporaries);
  free(plan->states);
  *plan = (struct plan){0};
}

size_t plan_enter(struct plan *plan, const char *format, ...) {
  size_t mark = strlen(plan->scope), room = sizeof plan->scope - mark;
  char name[128];
  va_list args;
  va_start(args, format);
  vsnprintf(name, sizeof name, format, args);
  va_end(args);
  snprintf(plan->scope + mark, room, mark ? ".%s" : "%s", name);
  return mark;
}

void plan_leave(struct plan *plan, size_t mark) {
  plan->scope[mark] = 0;
}

void plan_fail(struct plan *plan, const char *format, ...) {
  if (plan->failed)
    return;
  plan->failed = true;
  char text[256];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  error_set(&plan->error, STATUS_MODEL, plan->scope[0] ? "%s: %s" : "%s%s", plan->scope, text);
}

static bool check_shape(struct plan *plan, int n, int h, int w, int c) {
  if (n < 1 || h < 1 || w < 1 || c < 1)
    plan_fail(plan, "a tensor of shape [%d, %d, %d, %d]", n, h, w, c);
  return !plan->failed;
}

static struct tensor temporary_append(struct plan *plan, int n, int h, int w, int c, enum demand demand) {
  if (!check_shape(plan, n, h, w, c))
    return (struct tensor){0};
  if (plan->temporary_count == plan->temporary_capacity) {
    int capacity = plan->temporary_capacity ? 2 * plan->temporary_capacity : 256;
    struct temporary *temporaries = realloc(plan->temporaries, (size_t)capacity * sizeof *temporaries);
    if (!temporaries) {
      plan_fail(plan, "out of memory");
      return (struct tensor){0};
    }
    plan->temporaries = temporaries;
    plan->temporary_capacity = capacity;
  }
  plan->temporaries[plan->temporary_count] = (struct temporary){n, h, w, c, demand, -1, -1};
  return (struct tensor){TENSOR_TEMPORARY, plan->temporary_count++, n, h, w, c, 0, c};
}

static void op_append(struct plan *plan, const char *name, struct op op) {
  if (plan->failed)
    return;
  if (plan->op_count == plan->op_capacity) {
    int capacity = plan->op_capacity ? 2 * plan->op_capacity : 256;
    struct op *ops = realloc(plan->ops, (size_t)capacity * sizeof *ops);
    if (!ops) {
      plan_fail(plan, "out of memory");
      return;
    }
    plan->ops = ops;
    plan->op_capacity = capacity;
  }
  char full[sizeof plan->scope + 128];
  snprintf(full, sizeof full, "%s%s%s", plan->scope, plan->scope[0] && name[0] ? "." : "", name);
  op.name = strdup(full);
  if (!op.name) {
    plan_fail(plan, "out of memory");
    return;
  }
  plan->ops[plan->op_count++] = op;
}

static bool check(struct plan *plan, const char *name, bool right, const char *what) {
  if (!right)
    plan_fail(plan, "%s: %s", name, what);
  return right && !plan->failed;
}

/* --- the plan's loop: ops that a run repeats --- */

static bool loop_is_open(const struct plan *plan) {
  return plan->loop.iterations > 0 && plan->loop.end == 0;
}

static bool region_is_open(const struct plan *plan) {
  return plan->region_count > 0 && plan->regions[plan->region_count - 1].end == 0;
}

void plan_loop_begin(struct plan *plan, int iterations) {
  if (check(plan, "loop", plan->loop.iterations == 0, "a plan has one loop at most") &&
      check(plan, "loop", !region_is_open(plan), "it begins in a region") &&
      check(plan, "loop", iterations >= 1 && iterations <= CALLS_MAX, "no such number of iterations"))
    plan->loop = (struct plan_loop){.first = plan->op_count, .iterations = iterations};
}

void plan_loop_end(struct plan *plan) {
  int count = plan->op_count;
  if (check(plan, "loop", loop_is_open(plan), "its end has no beginning") &&
      check(plan, "loop", !region_is_open(plan), "it ends in a region") &&
      check(plan, "loop", count > plan->loop.first && plan->ops[count - 1].type == OP_STEP, "ends with no step"))
    plan->loop.end = count;
}

uint64_t plan_weights_version(const struct plan *plan) {
  uint64_t version = 0;
  for (int i = 0; i < plan->op_count; i++) {
    struct op_operand list[OPERANDS_MAX];
    int count = op_operands(&plan->ops[i], OPERAND_READ, list);
    for (int j = 0; j < count; j++) {
      struct tensor t = list[j].tensor;
      if (t.space == TENSOR_RESOURCE && plan->resources->list[t.index].version > version)
        version = plan->resources->list[t.index].version;
    }
  }
  return version;
}

int plan_op_runs(const struct plan *plan, int op) {
  return op >= plan->loop.first && op < plan->loop.end ? plan->loop.iterations : 1;
}

/* --- regions: ops that a run may skip --- */

/* Returns in words what is wrong with the condition of a region (ops that a run may skip), or NULL. runs: number of
 * successive U-Net calls for which a run evaluates the condition; above 1 in a loop. */
static const char *misfit_when(const struct region_when *when, int runs) {
  int latents = when->latents ? when->latents : 1;
  static const int indices[REGION_KINDS] = {CONTROLS_MAX, CONTROLS_MAX, STYLES_MAX, 1, 1};
  if (when->kind >= REGION_KINDS || when->index < 0 || when->index >= indices[when->kind])
    return "there is no such region";
  if (when->kind != REGION_CONTROL)
    return NULL;
  bool steps = latents > 0 && latents <= CALLS_MAX && when->step >= 0 && when->step < CALLS_MAX &&
               when->step + runs + latents - 1 <= CALLS_MAX;
  return steps ? NULL : "there is no such step";
}

static bool regions_grow(struct plan *plan) {
  int capacity = plan->region_capacity ? 2 * plan->region_capacity : 8;
  if (plan->region_count < plan->region_capacity)
    return true;
  struct plan_region *regions = realloc(plan->regions, (size_t)capacity * sizeof *regions);
  if (!check(plan, "region", regions != NULL, "out of memory"))
    return false;
  plan->regions = regions;
  plan->region_capacity = capacity;
  return true;
}

void plan_region_begin(struct plan *plan, struct region_when when) {
  const char *wrong = misfit_when(&when, loop_is_open(plan) ? plan->loop.iterations : 1);
  if (check(plan, "region", !region_is_open(plan), "it begins in another one") &&
      check(plan, "region", !wrong, wrong) && regions_grow(plan))
    plan->regions[plan->region_count++] = (struct plan_region){.first = plan->op_count, .when = when};
}

void plan_region_end(struct plan *plan) {
  if (!check(plan, "region", region_is_open(plan), "its end has no beginning"))
    return;
  struct plan_region *region = &plan->regions[plan->region_count - 1];
  if (check(plan, "region", plan->op_count > region->first, "it has no ops"))
    region->end = plan->op_count;
}

void plan_region_end_parallel(struct plan *plan, int parallel_with) {
  if (!check(plan, "region", region_is_open(plan), "it meets others before it begins"))
    return;
  struct plan_region *region = &plan->regions[plan->region_count - 1];
  int least = loop_is_open(plan) ? plan->loop.first : plan->loop.end;
  if (check(plan, "region", region->parallel_end == 0 && plan->op_count > region->first,
            "it has no ops that meet others") &&
      check(plan, "region",
            parallel_with >= least && parallel_with < region->first && !plan_region_of(plan, parallel_with),
            "it cannot run beside these ops")) {
    region->parallel_with = parallel_with;
    region->parallel_end = plan->op_count;
  }
}

bool plan_is_parallel(const struct plan *plan, int op) {
  const struct plan_region *region = plan_region_of(plan, op);
  return region && op < region->parallel_end;
}

const struct plan_region *plan_region_of(const struct plan *plan, int op) {
  for (int i = 0; i < plan->region_count; i++)
    if (op >= plan->regions[i].first && op < plan->regions[i].end)
      return &plan->regions[i];
  return NULL;
}

/* Returns where ops `first` to `end - 1` begin or end next behind op number `op`, if that is before `limit`. */
static int limit_to(int limit, int op, int first, int end) {
  int next = op < first ? first : op < end ? end : limit;
  return next < limit ? next : limit;
}

int plan_sequence_end(const struct plan *plan, int op) {
  int limit = limit_to(plan->op_count, op, plan->loop.first, plan->loop.end);
  for (int i = 0; i < plan->region_count; i++) {
    const struct plan_region *region = &plan->regions[i];
    limit = limit_to(limit, op, region->first, region->end);
    limit = region->parallel_end ? limit_to(limit, op, region->parallel_with, region->parallel_end) : limit;
  }
  return limit;
}

/* Stores in maker[i] the number of the first op that writes temporary i. op_count: no op writes it. -1: it is an input,
 * that is, some op reads it before any op has written it. */
static void find_makers(const struct plan *plan, int *maker) {
  struct tensor list[OPERANDS_MAX];
  for (int i = 0; i < plan->temporary_count; i++)
    maker[i] = plan->op_count;
  for (int i = 0; i < plan->op_count; i++) {
    int reads = op_tensors(&plan->ops[i], OPERAND_READ, list);
    for (int j = 0; j < reads; j++)
      if (list[j].space == TENSOR_TEMPORARY && maker[list[j].index] == plan->op_count)
        maker[list[j].index] = -1;
    int writes = op_tensors(&plan->ops[i], OPERAND_WRITE, list);
    for (int j = 0; j < writes; j++)
      if (list[j].space == TENSOR_TEMPORARY && maker[list[j].index] == plan->op_count)
        maker[list[j].index] = i;
  }
}

/* Fails if op number `index`, from outside a region (ops that a run may skip), reads or changes a temporary that is
 * made in the region. If a run skipped the region, this temporary would have no defined values. */
static void check_reach(struct plan *plan, int index, const int *maker) {
  const struct op *op = &plan->ops[index];
  const struct plan_region *region = plan_region_of(plan, index);
  struct op_operand list[OPERANDS_MAX];
  int count = op_operands(op, OPERAND_READ | OPERAND_WRITE, list);
  for (int i = 0; i < count; i++) {
    const struct plan_region *made =
        list[i].tensor.space == TENSOR_TEMPORARY ? plan_region_of(plan, maker[list[i].tensor.index]) : NULL;
    if (made && made != region)
      plan_fail(plan, "%s: %s is made in a region that may be skipped", op->name, list[i].name);
  }
}

static bool is_one(struct tensor a, struct tensor b) {
  return a.space == b.space && a.index == b.index;
}

/* Returns true if the two ops cannot run at the same time: one of them writes a tensor that the other reads or
 * writes. */
static bool collide(const struct op *a, const struct op *b) {
  struct op_operand of_a[OPERANDS_MAX], of_b[OPERANDS_MAX];
  int count_a = op_operands(a, OPERAND_READ | OPERAND_WRITE, of_a),
      count_b = op_operands(b, OPERAND_READ | OPERAND_WRITE, of_b);
  for (int i = 0; i < count_a; i++)
    for (int j = 0; j < count_b; j++)
      if (tensor_exists(of_a[i].tensor) && is_one(of_a[i].tensor, of_b[j].tensor) &&
          (of_a[i].roles | of_b[j].roles) & OPERAND_WRITE)
        return true;
  return false;
}

static void check_parallel(struct plan *plan, const struct plan_region *region) {
  for (int i = region->first; i < region->parallel_end; i++)
    for (int j = region->parallel_with; j < region->first && !plan->failed; j++)
      if (collide(&plan->ops[i], &plan->ops[j]))
        plan_fail(plan, "%s: it cannot run beside %s", plan->ops[i].name, plan->ops[j].name);
}

static void check_regions(struct plan *plan) {
  int *maker = malloc(((size_t)plan->temporary_count + 1) * sizeof *maker);
  if (!check(plan, "region", maker != NULL, "out of memory")) {
    free(maker);
    return;
  }
  find_makers(plan, maker);
  for (int i = 0; i < plan->op_count; i++) {
    check_reach(plan, i, maker);
    if (plan->ops[i].type == OP_PIXELS_OUT && plan_region_of(plan, i))
      plan_fail(plan, "%s: each run makes its picture, and a region may be skipped", plan->ops[i].name);
  }
  for (int i = 0; i < plan->region_count; i++)
    check_parallel(plan, &plan->regions[i]);
  free(maker);
}

/* --- appending and checking ops --- */

static bool is_whole(struct tensor t) {
  return t.offset == 0 && t.pitch == t.c;
}

/* Returns true if a tensor contains whole numbers (ELEMENT_WHOLE). */
static bool holds_whole(const struct plan *plan, struct tensor t) {
  return t.space != TENSOR_RESOURCE && plan_demand(plan, plan_place(plan, t)) == ELEMENT_WHOLE;
}

/* Returns what is wrong with an operand's tensor for its roles (enum operand_role), or NULL. An operand that is only
 * written need not exist yet, because the plan makes it. */
static const char *misfit(const struct plan *plan, const struct op_operand *operand) {
  struct tensor t = operand->tensor;
  if (!tensor_exists(t))
    return operand->roles & OPERAND_OPTIONAL || (operand->roles & ~OPERAND_WHOLE) == OPERAND_WRITE ? NULL
                                                                                                   : "is missing";
  if (holds_whole(plan, t) != !!(operand->roles & OPERAND_WHOLE))
    return operand->roles & OPERAND_WHOLE ? "does not hold whole numbers" : "holds whole numbers";
  bool vector = operand->roles & OPERAND_VECTOR && !(operand->roles & OPERAND_VIEW);
  if (operand->roles & OPERAND_STATE && t.space == TENSOR_TEMPORARY)
    return "is no state";
  if (!(operand->roles & OPERAND_STATE) && (operand->roles & OPERAND_MATRIX || vector) && t.space != TENSOR_RESOURCE)
    return "is no weight";
  return operand->roles & OPERAND_VIEW || is_whole(t) ? NULL : "is a slice";
}

static bool check_operands(struct plan *plan, const char *name, const struct op *op) {
  struct op_operand list[OPERANDS_MAX];
  int count = op_operands(op, ~0u, list);
  for (int i = 0; i < count && !plan->failed; i++) {
    const char *wrong = misfit(plan, &list[i]);
    if (wrong)
      plan_fail(plan, "%s: %s %s", name, list[i].name, wrong);
  }
  return !plan->failed;
}

/* Returns true if the op reads y, the tensor that the model has named for the op's result, as an operand. This is
 * refused: one thread of a kernel would write values that another thread still has to read. */
static bool writes_what_it_reads(const struct op *op, struct tensor y) {
  struct tensor list[OPERANDS_MAX];
  int count = op_tensors(op, OPERAND_READ, list);
  for (int i = 0; i < count; i++)
    if (list[i].space == y.space && list[i].index == y.index)
      return true;
  return false;
}

/* Makes the op's result y, a temporary of this shape. If the model has named a tensor as y, it is used instead; it must
 * have as many rows and channels. Returns false after a failure. */
static bool settle_result(struct plan *plan, const char *name, struct tensor *y, const struct op_result *shape) {
  if (tensor_exists(*y)) {
    size_t rows = (size_t)shape->n * (size_t)shape->h * (size_t)shape->w;
    return check(plan, name, tensor_rows(*y) == rows && y->c == shape->c,
                 "the destination's shape differs from the output's");
  }
  *y = temporary_append(plan, shape->n, shape->h, shape->w, shape->c, shape->demand);
  return !plan->failed;
}

static struct tensor append(struct plan *plan, const char *name, struct op op) {
  struct op_result shape;
  if (!check_operands(plan, name, &op))
    return (struct tensor){0};
  const char *wrong = op_check(&op, loop_is_open(plan) ? plan->loop.iterations : 1, &shape);
  if (!check(plan, name, !wrong, wrong))
    return (struct tensor){0};
  struct tensor *y = op_y(&op);
  if (y && tensor_exists(*y) && !check(plan, name, !writes_what_it_reads(&op, *y), "the destination is read as well"))
    return (struct tensor){0};
  if (y && !settle_result(plan, name, y, &shape))
    return (struct tensor){0};
  op_append(plan, name, op);
  return y ? *y : (struct tensor){0};
}

#define PLAN_CONSTRUCTOR(TYPE, field, ...)                                                                             \
  struct tensor plan_##field(struct plan *plan, const char *name, struct op_##field op) {                              \
    return append(plan, name, (struct op){.type = OP_##TYPE, .field = op});                                            \
  }
OP_TABLE(PLAN_CONSTRUCTOR)
#undef PLAN_CONSTRUCTOR

struct tensor plan_input(struct plan *plan, int n, int h, int w, int c, enum demand demand) {
  return temporary_append(plan, n, h, w, c, demand);
}

int plan_find_state(const struct plan *plan, const char *name) {
  for (int i = 0; i < plan->state_count; i++)
    if (!strcmp(plan->states[i].name, name))
      return i;
  return -1;
}

static int state_append(struct plan *plan, const char *name) {
  if (plan->state_count == plan->state_capacity) {
    int capacity = plan->state_capacity ? 2 * plan->state_capacity : 8;
    struct declared_state *states = realloc(plan->states, (size_t)capacity * sizeof *states);
    if (!states)
      return -1;
    plan->states = states;
    plan->state_capacity = capacity;
  }
  char *own = strdup(name);
  if (!own)
    return -1;
  plan->states[plan->state_count] = (struct declared_state){.name = own};
  return plan->state_count++;
}

struct tensor plan_state(struct plan *plan, const char *name, int n, int h, int w, int c, enum demand demand) {
  const struct tensor none = {0};
  if (!check_shape(plan, n, h, w, c))
    return none;
  int index = plan_find_state(plan, name);
  bool known = index >= 0;
  if (!known)
    index = state_append(plan, name);
  if (!check(plan, name, index >= 0, "out of memory"))
    return none;
  struct declared_state *s = &plan->states[index];
  if (!known)
    s->n = n, s->h = h, s->w = w, s->c = c, s->demand = demand;
  bool same = s->n == n && s->h == h && s->w == w && s->c == c && s->demand == demand;
  return check(plan, name, same, "a state of two shapes") ? (struct tensor){TENSOR_STATE, index, n, h, w, c, 0, c}
                                                          : none;
}

/* Computes between which ops each temporary is needed: from the first op that writes it to the last that reads it. An
 * input, which is read before it is written, is needed throughout the run. */
static void settle_lifetimes(struct plan *plan) {
  struct tensor list[OPERANDS_MAX];
  for (int i = 0; i < plan->op_count; i++) {
    int reads = op_tensors(&plan->ops[i], OPERAND_READ, list);
    for (int j = 0; j < reads; j++)
      if (list[j].space == TENSOR_TEMPORARY)
        plan->temporaries[list[j].index].last = i;
    int writes = op_tensors(&plan->ops[i], OPERAND_WRITE, list);
    for (int j = 0; j < writes; j++)
      if (list[j].space == TENSOR_TEMPORARY && plan->temporaries[list[j].index].first < 0 &&
          plan->temporaries[list[j].index].last < 0)
        plan->temporaries[list[j].index].first = i;
  }
  const struct plan_loop *loop = &plan->loop;
  for (int i = 0; i < plan->temporary_count; i++) {
    struct temporary *t = &plan->temporaries[i];
    /* inputs, and results that only tests read, keep their memory throughout the run */
    if (t->first < 0 || t->last < 0)
      t->first = 0, t->last = plan->op_count - 1;
    else if (t->first < loop->first && t->last >= loop->first &&
             /* the next iteration of the loop reads the temporary as well, so it must last until the loop's end */
             t->last < loop->end)
      t->last = loop->end - 1;
  }
}

/* Lists in plan->told the ops that devices must look at in every run (op_is_told), because they read run parameters or
 * frames, or are left out in some runs. So devices need not go through all ops in each run. Returns -1 if memory runs
 * out. */
static int list_told(struct plan *plan) {
  free(plan->told);
  plan->told = malloc((size_t)plan->op_count * sizeof *plan->told + 1);
  plan->told_count = 0;
  for (int i = 0; plan->told && i < plan->op_count; i++)
    if (op_is_told(plan->ops[i].type))
      plan->told[plan->told_count++] = i;
  return plan->told ? 0 : -1;
}

int plan_finish(struct plan *plan, struct error *err) {
  check(plan, "loop", !loop_is_open(plan), "it has no end");
  check(plan, "region", !region_is_open(plan), "it has no end");
  if (!plan->failed && plan->region_count)
    check_regions(plan);
  if (plan->failed) {
    *err = plan->error;
    return -1;
  }
  if (list_told(plan))
    return error_set(err, STATUS_FAILED, "out of memory");
  settle_lifetimes(plan);
  plan->finished = true;
  return 0;
}

struct placed {
  int temporary;
  size_t size;
};

static int larger_first(const void *a, const void *b) {
  const struct placed *p = a, *q = b;
  if (p->size != q->size)
    return p->size < q->size ? 1 : -1;
  /* Temporaries of equal size are ordered by their numbers, so that the memory layout is the same on every machine. */
  return p->temporary - q->temporary;
}

/* Returns the lowest offset at which the temporary placed[count] fits among the `count` temporaries that have an offset
 * already. Temporaries whose lifetimes do not overlap may overlap in memory. */
static size_t lowest_gap(const struct plan *plan, const struct placed *placed, int count, size_t size,
                         const size_t *offset) {
  const struct temporary *t = &plan->temporaries[placed[count].temporary];
  size_t at = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (int j = 0; j < count; j++) {
      const struct temporary *u = &plan->temporaries[placed[j].temporary];
      size_t start = offset[placed[j].temporary], end = start + placed[j].size;
      if (u->first <= t->last && t->first <= u->last && at < end && start < at + size) {
        at = end;
        moved = true;
      }
    }
  }
  return at;
}

size_t plan_layout(const struct plan *plan, const struct element *element, size_t align, size_t *offset) {
  struct placed *placed = malloc(((size_t)plan->temporary_count + 1) * sizeof *placed);
  if (!placed)
    return SIZE_MAX;
  for (int i = 0; i < plan->temporary_count; i++) {
    const struct temporary *t = &plan->temporaries[i];
    size_t bytes = (size_t)t->n * (size_t)t->h * (size_t)t->w * (size_t)t->c * element_size(element[i]);
    placed[i] = (struct placed){i, (bytes + align - 1) / align * align};
  }
  qsort(placed, (size_t)plan->temporary_count, sizeof *placed, larger_first);
  size_t total = 0;
  for (int i = 0; i < plan->temporary_count; i++) {
    size_t at = lowest_gap(plan, placed, i, placed[i].size, offset);
    offset[placed[i].temporary] = at;
    if (at + placed[i].size > total)
      total = at + placed[i].size;
  }
  free(placed);
  return total;
}
