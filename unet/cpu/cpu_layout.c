/* Chooses the type (FP32 or bfloat16) and the memory of a program's tensors: its temporaries, and its states, which
 * outlive a run. */
#include "unet/cpu/cpu_layout.h"
#include "unet/cpu/cpu_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool is_shared(const struct cpu_program *program, struct tensor t) {
  return t.space == TENSOR_STATE && program->state[t.index].data && !program->state[t.index].bytes;
}

/* Returns true if an op of the program writes a state (a tensor that outlives a run) that other programs read; then its
 * type cannot be chosen freely. */
static bool writes_for_others(const struct cpu_program *program) {
  const struct plan *plan = program->plan;
  for (int i = 0; i < plan->op_count; i++) {
    struct tensor list[OPERANDS_MAX];
    int count = op_tensors(&plan->ops[i], OPERAND_WRITE, list);
    for (int j = 0; j < count; j++)
      if (list[j].space == TENSOR_RESOURCE || is_shared(program, list[j]))
        return true;
  }
  return false;
}

void cpu_choose_precision(struct cpu_program *program) {
  program->bf16 = program->device->bf16 && !writes_for_others(program);
}

/* Returns the type that a temporary or state gets if all ops that use it accept bfloat16. place: the tensor's index in
 * program->element (plan_place). */
static struct element first_choice(const struct cpu_program *program, int place) {
  enum demand demand = plan_demand(program->plan, place);
  if (demand == ELEMENT_WHOLE)
    return element_of(DTYPE_I32);
  return element_of(program->bf16 && demand != ELEMENT_PRECISE ? DTYPE_BF16 : DTYPE_F32);
}

/* Sets the type of an operand to FP32, because its op does not accept bfloat16. Fails if the operand is a state of
 * another program (the owner) that has it as bfloat16. */
static int settle_f32(struct cpu_program *program, const struct op *op, struct tensor t, struct error *err) {
  struct element *element = &program->element[plan_place(program->plan, t)];
  if (is_shared(program, t) && !element_is(*element, DTYPE_F32))
    return error_set(err, STATUS_DEVICE, "%s: takes FP32, and the state %s is bfloat16 where it belongs", op->name,
                     program->plan->states[t.index].name);
  *element = element_of(DTYPE_F32);
  return 0;
}

/* Chooses bfloat16 for each tensor whose ops all accept it, and FP32 for the others. Operands with a value for each
 * channel (OPERAND_VECTOR) are always FP32, and whole numbers int32. States that belong to another program (the owner)
 * keep the type that they have there. */
static int choose_elements(struct cpu_program *program, struct error *err) {
  const struct plan *plan = program->plan;
  for (int i = 0; i < plan_places(plan); i++)
    if (i < plan->temporary_count || !is_shared(program, (struct tensor){TENSOR_STATE, i - plan->temporary_count}))
      program->element[i] = first_choice(program, i);
  for (int i = 0; i < plan->op_count; i++) {
    struct op_operand list[OPERANDS_MAX];
    int count = op_operands(&plan->ops[i], OPERAND_READ | OPERAND_WRITE, list);
    for (int j = 0; j < count; j++) {
      bool settled = list[j].tensor.space == TENSOR_NONE || list[j].tensor.space == TENSOR_RESOURCE ||
                     list[j].roles & OPERAND_WHOLE;
      bool takes = program->nodes[i].impl->takes_bf16 && !(list[j].roles & OPERAND_VECTOR);
      if (!settled && !takes && settle_f32(program, &plan->ops[i], list[j].tensor, err) < 0)
        return -1;
    }
  }
  return 0;
}

/* Returns true if an op may store its result y in the memory of its residual, the operand that it adds to y. The
 * residual must be a temporary that an earlier op has written and no later op reads, and must not be another operand of
 * this op as well. Stores the two tensors in *residual and *y. */
static bool residual_ends_here(const struct plan *plan, int op_index, const bool *written,
                               struct tensor residual[OPERANDS_MAX], struct tensor y[OPERANDS_MAX]) {
  const struct op *op = &plan->ops[op_index];
  struct tensor list[OPERANDS_MAX];
  if (!op_tensors(op, OPERAND_ADDEND, residual) || !op_tensors(op, OPERAND_WRITE, y))
    return false;
  if (residual->space != TENSOR_TEMPORARY || y->space != TENSOR_TEMPORARY || !written[residual->index] ||
      plan->temporaries[residual->index].last != op_index)
    return false;
  int uses = 0, count = op_tensors(op, OPERAND_READ, list);
  for (int i = 0; i < count; i++)
    uses += list[i].space == TENSOR_TEMPORARY && list[i].index == residual->index;
  return uses == 1;
}

/* Gives each op's result y the memory of the op's residual, where residual_ends_here allows it and the types are equal.
 * home[i] becomes the number of the temporary whose memory temporary i uses; chains of results may share one memory.
 * `temporaries` is a copy of the plan's list, which this function changes: the temporary that owns the memory lives as
 * long as any that uses it; those without memory of their own become empty (n is 0). */
static void join_residuals(struct cpu_program *program, struct temporary *temporaries, int *home, bool *written) {
  const struct plan *plan = program->plan;
  for (int i = 0; i < plan->op_count; i++) {
    struct tensor residual[OPERANDS_MAX], y[OPERANDS_MAX], list[OPERANDS_MAX];
    if (residual_ends_here(plan, i, written, residual, y) &&
        element_is(program->element[residual->index], program->element[y->index].type)) {
      struct temporary *first = &temporaries[home[residual->index]], *own = &temporaries[y->index];
      home[y->index] = home[residual->index];
      first->first = first->first < own->first ? first->first : own->first;
      first->last = first->last > own->last ? first->last : own->last;
      own->n = 0;
    }
    int writes = op_tensors(&plan->ops[i], OPERAND_WRITE, list);
    for (int j = 0; j < writes; j++)
      if (list[j].space == TENSOR_TEMPORARY)
        written[list[j].index] = true;
  }
}

static size_t state_bytes(const struct cpu_program *program, int index) {
  const struct declared_state *s = &program->plan->states[index];
  return (size_t)s->n * (size_t)s->h * (size_t)s->w * (size_t)s->c *
         element_size(program->element[program->plan->temporary_count + index]);
}

/* Checks that there is memory for everything that the program needs, before any is allocated. So if a program does not
 * fit, nothing has changed for programs that run. */
static int check_room(const struct cpu_program *program, struct error *err) {
  const struct arena *arena = &program->device->arena;
  bool shared = arena->base && !program->own_memory;
  size_t there = shared ? arena->mapped : 0, bytes = program->picture_bytes;
  bytes += program->arena_bytes > there ? program->arena_bytes - there : 0;
  for (int i = 0; i < program->plan->state_count; i++)
    bytes += program->state[i].data ? 0 : state_bytes(program, i);
  return cpu_check_room(program->device, bytes, "working memory and pictures of this size", err);
}

int cpu_layout(struct cpu_program *program, struct error *err) {
  struct plan layout = *program->plan;
  size_t count = (size_t)layout.temporary_count + 1;
  int status = -1, *home = malloc(count * sizeof *home);
  bool *written = calloc(count, sizeof *written);
  layout.temporaries = malloc(count * sizeof *layout.temporaries);
  program->arena_bytes = SIZE_MAX;
  if (choose_elements(program, err) < 0) {
    program->arena_bytes = 0;
    goto end;
  }
  if (home && written && layout.temporaries) {
    for (int i = 0; i < layout.temporary_count; i++) { /* A plan may have no temporaries; its list is then NULL. */
      layout.temporaries[i] = program->plan->temporaries[i];
      home[i] = i;
    }
    if (!program->device->plain)
      join_residuals(program, layout.temporaries, home, written);
    program->arena_bytes = plan_layout(&layout, program->element, 64, program->offset);
    for (int i = 0; i < layout.temporary_count; i++)
      program->offset[i] = program->offset[home[i]];
  }
  if (program->arena_bytes == SIZE_MAX) {
    program->arena_bytes = 0;
    error_set(err, STATUS_DEVICE, "cpu: out of memory");
  } else {
    status = check_room(program, err);
    if (!status)
      status =
          arena_take(&program->device->arena, &program->arena_share, program->arena_bytes, program->own_memory, err);
    program->arena = program->arena_share.data;
  }
end:
  free(home);
  free(written);
  free(layout.temporaries);
  return status;
}

/* --- states: tensors that outlive a run --- */

void cpu_states_find(struct cpu_program *program, const struct cpu_program *owner) {
  const struct plan *plan = program->plan;
  for (int i = 0; owner && i < plan->state_count; i++) {
    int index = plan_find_state(owner->plan, plan->states[i].name);
    if (index < 0)
      continue;
    program->state[i].data = owner->state[index].data;
    program->element[plan->temporary_count + i] = owner->element[owner->plan->temporary_count + index];
  }
}

int cpu_states_make(struct cpu_program *program, struct error *err) {
  const struct plan *plan = program->plan;
  for (int i = 0; i < plan->state_count; i++) {
    struct cpu_state *state = &program->state[i];
    if (state->data)
      continue;
    size_t bytes = state_bytes(program, i);
    state->data = cpu_alloc(program->device, bytes, plan->states[i].name, err);
    if (!state->data)
      return -1;
    state->bytes = bytes;
  }
  return 0;
}
