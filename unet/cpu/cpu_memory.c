#include "unet/cpu/cpu_memory.h"

#include <stdlib.h>
#include <string.h>

#include "unet/base/platform.h"

void *cpu_alloc(struct cpu_device *device, size_t bytes, const char *what, struct error *err) {
  struct device_counters *counters = &device->counters;
  if (device->memory_limit && bytes > device->memory_limit - counters->bytes) {
    error_set(err, STATUS_DEVICE, "%s: %zu MB wanted, and %zu of the %zu MB allowed are in use", what, bytes >> 20,
              counters->bytes >> 20, device->memory_limit >> 20);
    return NULL;
  }
  void *data = bytes > SIZE_MAX / 2 ? NULL : platform_alloc(CPU_ALIGN, bytes);
  if (!data) {
    error_set(err, STATUS_DEVICE, "%s: no memory for %zu MB", what, bytes >> 20);
    return NULL;
  }
  memset(data, 0, bytes);
  counters->allocations++;
  counters->bytes += bytes;
  if (counters->bytes > counters->peak_bytes)
    counters->peak_bytes = counters->bytes;
  return data;
}

void cpu_free(struct cpu_device *device, void *data, size_t bytes) {
  if (data)
    device->counters.bytes -= bytes;
  platform_free(data);
}

/* --- tensors --- */

struct element cpu_element(const struct cpu_program *program, struct tensor t) {
  bool chosen = t.space == TENSOR_TEMP || t.space == TENSOR_STATE;
  return chosen ? program->element[plan_place(program->plan, t)] : element_of(DTYPE_F32);
}

enum dtype cpu_dtype(const struct cpu_program *program, struct tensor t) {
  return cpu_element(program, t).type;
}

void *cpu_data(const struct cpu_program *program, struct tensor t) {
  if (t.space == TENSOR_RESOURCE)
    return program->device->resource[t.index].data + t.offset;
  if (t.space == TENSOR_NONE)
    return NULL;
  unsigned char *first =
      t.space == TENSOR_STATE ? program->state[t.index].data : program->arena + program->offset[t.index];
  return first + (size_t)t.offset * element_size(cpu_element(program, t));
}

float *cpu_f32(const struct cpu_program *program, struct tensor t) {
  return cpu_data(program, t);
}

int cpu_know_resources(struct cpu_device *device, struct error *err) {
  int count = device->base.resources->count;
  if (count <= device->resource_count)
    return 0;
  struct cpu_resource *list = realloc(device->resource, (size_t)count * sizeof *list);
  if (!list)
    return error_set(err, STATUS_DEVICE, "no memory for %d resources", count);
  memset(list + device->resource_count, 0, (size_t)(count - device->resource_count) * sizeof *list);
  device->resource = list;
  device->resource_count = count;
  return 0;
}

int cpu_load(struct cpu_device *device, struct tensor t, struct error *err) {
  if (cpu_know_resources(device, err) < 0)
    return -1;
  const struct resource *source = &device->base.resources->list[t.index];
  struct cpu_resource *r = &device->resource[t.index];
  if (r->data)
    return 0;
  size_t bytes = (size_t)source->n * (size_t)source->h * (size_t)source->w * (size_t)source->c * sizeof(float);
  r->data = cpu_alloc(device, bytes, source->name, err);
  if (!r->data)
    return -1;
  r->bytes = bytes;
  if (source->kind != RESOURCE_WEIGHT || !resource_read_f32(source, r->data, err))
    return 0;
  cpu_free(device, r->data, bytes);
  r->data = NULL;
  return -1;
}

const float *cpu_peek(struct cpu_device *device, int resource, float **temporary, struct error *err) {
  const struct resource *r = &device->base.resources->list[resource];
  if (device->resource[resource].data)
    return device->resource[resource].data;
  *temporary = malloc((size_t)r->n * (size_t)r->h * (size_t)r->w * (size_t)r->c * sizeof(float));
  if (!*temporary)
    error_set(err, STATUS_DEVICE, "%s: out of memory", r->name);
  else if (!resource_read_f32(r, *temporary, err))
    return *temporary;
  return NULL;
}

/* --- scratch --- */

void cpu_reserve(struct cpu_program *program, size_t bytes) {
  if (bytes > program->scratch_bytes)
    program->scratch_bytes = bytes;
}

size_t cpu_bump(size_t *total, size_t bytes) {
  size_t at = *total;
  *total = (at + bytes + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
  return at;
}
