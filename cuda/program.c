#include "cuda/program.h"

void *tensor_data(struct cuda_device *device, const struct cuda_program *program, struct tensor t, bool *wide,
                  enum role role, struct error *err) {
  char *first;
  bool is_wide;
  if (t.space == TENSOR_RESOURCE) {
    struct resource_memory *memory = resource_load(device, t.index, role, err);
    if (!memory)
      return NULL;
    first = memory->data;
    is_wide = memory->wide;
  } else {
    first = (char *)program->arena + program->offset[t.index];
    is_wide = program->base.plan->temps[t.index].wide;
  }
  if (wide)
    *wide = is_wide;
  return first + (size_t)t.offset * (is_wide ? 4 : 2);
}
