/* Where a program's temporaries lie, and of what type they are. */
#include "unet/cpu/cpu_layout.h"
#include "unet/cpu/cpu_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Whether an op of the plan writes a resource. */
static bool writes_state(const struct plan *plan) {
  for (int i = 0; i < plan->op_count; i++) {
    struct tensor list[OPERANDS_MAX];
    int count = op_tensors(&plan->ops[i], OPERAND_WRITE, list);
    for (int j = 0; j < count; j++)
      if (list[j].space == TENSOR_RESOURCE)
        return true;
  }
  return false;
}

/* bfloat16 where every op that touches the temporary can take it; none takes it for vectors. */
static void choose_elements(struct cpu_program *program) {
  const struct plan *plan = program->plan;
  program->bf16 = program->device->bf16 && !writes_state(plan);
  for (int i = 0; i < plan->temp_count; i++)
    program->element[i] =
        element_of(program->bf16 && plan->temps[i].demand != ELEMENT_PRECISE ? DTYPE_BF16 : DTYPE_F32);
  for (int i = 0; i < plan->op_count; i++) {
    struct op_operand list[OPERANDS_MAX];
    int count = op_operands(&plan->ops[i], OPERAND_READ | OPERAND_WRITE, list);
    for (int j = 0; j < count; j++)
      if (list[j].tensor.space == TENSOR_TEMP &&
          (!program->steps[i].impl->takes_bf16 || list[j].roles & OPERAND_VECTOR))
        program->element[list[j].tensor.index] = element_of(DTYPE_F32);
  }
}

/* The addend in whose place an op may add: a temporary some op wrote, read here for the last time and for nothing else.
 */
static bool residual_ends_here(const struct plan *plan, int op_index, const bool *written,
                               struct tensor residual[OPERANDS_MAX], struct tensor y[OPERANDS_MAX]) {
  const struct op *op = &plan->ops[op_index];
  struct tensor list[OPERANDS_MAX];
  if (!op_tensors(op, OPERAND_ADDEND, residual) || !op_tensors(op, OPERAND_WRITE, y))
    return false;
  if (residual->space != TENSOR_TEMP || y->space != TENSOR_TEMP || !written[residual->index] ||
      plan->temps[residual->index].last != op_index)
    return false;
  int uses = 0, count = op_tensors(op, OPERAND_READ, list);
  for (int i = 0; i < count; i++)
    uses += list[i].space == TENSOR_TEMP && list[i].index == residual->index;
  return uses == 1;
}

/* Joins y to its residual in temps (a copy of the plan's): the first of a chain stands for all and lives as long as
 * any; home[i] is the one that temp i shares a place with. */
static void join_residuals(struct cpu_program *program, struct temp *temps, int *home, bool *written) {
  const struct plan *plan = program->plan;
  for (int i = 0; i < plan->op_count; i++) {
    struct tensor residual[OPERANDS_MAX], y[OPERANDS_MAX], list[OPERANDS_MAX];
    if (residual_ends_here(plan, i, written, residual, y) &&
        element_is(program->element[residual->index], program->element[y->index].type)) {
      struct temp *first = &temps[home[residual->index]], *own = &temps[y->index];
      home[y->index] = home[residual->index];
      first->first = first->first < own->first ? first->first : own->first;
      first->last = first->last > own->last ? first->last : own->last;
      own->n = 0;
    }
    int writes = op_tensors(&plan->ops[i], OPERAND_WRITE, list);
    for (int j = 0; j < writes; j++)
      if (list[j].space == TENSOR_TEMP)
        written[list[j].index] = true;
  }
}

int cpu_layout(struct cpu_program *program, struct error *err) {
  struct plan layout = *program->plan;
  size_t count = (size_t)layout.temp_count + 1;
  int status = -1, *home = malloc(count * sizeof *home);
  bool *written = calloc(count, sizeof *written);
  layout.temps = malloc(count * sizeof *layout.temps);
  program->arena_bytes = SIZE_MAX;
  if (home && written && layout.temps) {
    choose_elements(program);
    memcpy(layout.temps, program->plan->temps, (count - 1) * sizeof *layout.temps);
    for (int i = 0; i < layout.temp_count; i++)
      home[i] = i;
    if (!program->device->plain)
      join_residuals(program, layout.temps, home, written);
    program->arena_bytes = plan_layout(&layout, program->element, 64, program->offset);
    for (int i = 0; i < layout.temp_count; i++)
      program->offset[i] = program->offset[home[i]];
  }
  if (program->arena_bytes == SIZE_MAX) {
    program->arena_bytes = 0;
    error_set(err, STATUS_DEVICE, "cpu: out of memory");
  } else {
    program->arena = cpu_alloc(program->device, program->arena_bytes, "pictures between the layers", err);
    status = program->arena ? 0 : -1;
  }
  free(home);
  free(written);
  free(layout.temps);
  return status;
}
