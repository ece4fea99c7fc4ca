#include "cuda/program.h"

struct element temp_element(const struct temp *temp) {
  return element_of(temp->demand == ELEMENT_PRECISE ? DTYPE_F32 : DTYPE_F16);
}

struct element tensor_element(const struct cuda_program *program, struct tensor t) {
  if (t.space == TENSOR_RESOURCE)
    return resource_element(&program->base.plan->resources->list[t.index], ROLE_ANY);
  return program->element[t.index];
}

void *tensor_data(struct cuda_device *device, const struct cuda_program *program, struct tensor t,
                  struct element *element, enum role role, struct error *err) {
  char *first;
  if (t.space == TENSOR_RESOURCE) {
    const struct resource_memory *memory = resource_load(device, t.index, role, err);
    if (!memory)
      return NULL;
    first = memory->data;
    *element = memory->element;
  } else {
    first = (char *)program->arena + program->offset[t.index];
    *element = program->element[t.index];
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
