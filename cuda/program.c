#include "cuda/program.h"

#include <stdlib.h>

#include "cuda/check.h"

enum { STATE_ALIGN = 256 };

static struct element choose(enum demand demand) {
  if (demand == ELEMENT_WHOLE)
    return element_of(DTYPE_I32);
  return element_of(demand == ELEMENT_PRECISE ? DTYPE_F32 : DTYPE_F16);
}

int elements_choose(struct cuda_program *program, const struct cuda_program *owner, struct error *err) {
  const struct plan *plan = program->base.plan;
  program->base.element = program->element = malloc(((size_t)plan_places(plan) + 1) * sizeof *program->element);
  if (!program->element)
    return error_set(err, STATUS_FAILED, "out of memory");
  for (int i = 0; i < plan_places(plan); i++)
    program->element[i] = choose(plan_demand(plan, i));
  for (int i = 0; owner && i < plan->state_count; i++) {
    int index = plan_find_state(owner->base.plan, plan->states[i].name);
    if (index >= 0)
      program->element[plan->temporary_count + i] = owner->element[owner->base.plan->temporary_count + index];
  }
  return 0;
}

/* --- states: tensors that outlive a run --- */

static size_t state_bytes(const struct cuda_program *program, int index) {
  const struct plan *plan = program->base.plan;
  const struct declared_state *s = &plan->states[index];
  size_t bytes = (size_t)s->n * (size_t)s->h * (size_t)s->w * (size_t)s->c *
                 element_size(program->element[plan->temporary_count + index]);
  return (bytes + STATE_ALIGN - 1) / STATE_ALIGN * STATE_ALIGN;
}

static void *shared_state(const struct cuda_program *owner, const char *name) {
  int index = owner ? plan_find_state(owner->base.plan, name) : -1;
  return index < 0 ? NULL : owner->state[index];
}

int states_create(struct cuda_device *device, struct cuda_program *program, const struct cuda_program *owner,
                  struct error *err) {
  const struct plan *plan = program->base.plan;
  program->state = calloc((size_t)plan->state_count + 1, sizeof *program->state);
  if (!program->state)
    return error_set(err, STATUS_FAILED, "out of memory");
  size_t total = 0;
  for (int i = 0; i < plan->state_count; i++)
    if (!(program->state[i] = shared_state(owner, plan->states[i].name)))
      total += state_bytes(program, i);
  if (!total)
    return 0;
  if (cuda_alloc(device, &program->states, total, "states", err) < 0)
    return -1;
  program->states_bytes = total;
  char *next = program->states;
  for (int i = 0; i < plan->state_count; i++)
    if (!program->state[i]) {
      program->state[i] = next;
      next += state_bytes(program, i);
    }
  return cuda_check(cudaMemsetAsync(program->states, 0, total, device->preparing.queue.stream), "states", err);
}

void states_free(struct cuda_device *device, struct cuda_program *program) {
  cuda_free(device, program->states, program->states_bytes);
  free(program->state);
  free(program->element);
}

/* --- types and addresses of tensors --- */

struct element tensor_element(const struct cuda_program *program, struct tensor t) {
  if (t.space == TENSOR_RESOURCE)
    return resource_element(&program->base.plan->resources->list[t.index], ROLE_ANY);
  return program->element[plan_place(program->base.plan, t)];
}

void *tensor_data(struct cuda_device *device, const struct cuda_program *program, struct tensor t,
                  struct element *element, enum role role, struct error *err) {
  char *first;
  if (t.space == TENSOR_RESOURCE) {
    struct resource_memory *memory = resource_load(device, t.index, role, err);
    if (!memory)
      return NULL;
    memory->read = true;
    first = resource_data(memory, program ? program->set : device->set);
    *element = memory->element;
  } else {
    first = t.space == TENSOR_STATE ? program->state[t.index] : (char *)program->arena + program->offset[t.index];
    *element = tensor_element(program, t);
  }
  return first + (size_t)t.offset * element_size(*element);
}

static void *refuse(struct element element, struct error *err) {
  error_set(err, STATUS_FAILED, "no kernel takes an operand of element type %d with scale %g", (int)element.type,
            (double)element.scale);
  return NULL;
}

void *tensor_data_as(struct cuda_device *device, const struct cuda_program *program, struct tensor t, enum dtype type,
                     enum role role, struct error *err) {
  struct element element;
  void *data = tensor_data(device, program, t, &element, role, err);
  return data && !element_is(element, type) ? refuse(element, err) : data;
}

void *tensor_data_either(struct cuda_device *device, const struct cuda_program *program, struct tensor t,
                         enum dtype *type, struct error *err) {
  struct element element;
  void *data = tensor_data(device, program, t, &element, ROLE_ANY, err);
  if (!data)
    return NULL;
  *type = element.type;
  return element_is(element, DTYPE_F32) || element_is(element, DTYPE_F16) ? data : refuse(element, err);
}

/* --- the next run --- */

const struct run_params *program_next_params(const struct cuda_program *program) {
  return &program->buffer[program->base.submitted % RUNS_IN_FLIGHT].order->block.run;
}

cudaGraphExec_t program_graph(const struct cuda_program *program, int part, bool other) {
  const struct graphs *graphs = other ? &program->other_graphs : &program->graphs;
  const struct run_params *params = program_next_params(program);
  unsigned idle = run_idles(program->base.plan, params), best = 0;
  if (graphs->exact[idle][part] && run_is_exact(program->base.plan, params))
    return graphs->exact[idle][part];
  for (unsigned without = 1; without <= idle; without++)
    if (!(without & ~idle) && graphs->without[without][part] && __builtin_popcount(without) > __builtin_popcount(best))
      best = without;
  return graphs->without[best][part];
}
