#include "unet/cpu/cpu_weights.h"

#include <string.h>

#include "unet/cpu/cpu_memory.h"

static void *derive(struct cpu_device *device, int resource, const struct form *form, const void *detail, size_t bytes,
                    struct error *err) {
  const struct resource *r = &device->base.resources->list[resource];
  const struct derived *found = derived_find(&device->derived, resource, form, detail);
  if (found)
    return found->data;
  struct derived copy = {resource, r->version, form, (void *)detail, cpu_alloc(device, bytes, r->name, err), bytes};
  if (!copy.data)
    return NULL;
  if (form->make(&device->base, &copy, err) == 0 && derived_add(&device->derived, &copy, err) == 0)
    return copy.data;
  cpu_free(device, copy.data, bytes);
  return NULL;
}

void *cpu_derive(struct cpu_device *device, int resource, const struct form *form, const void *detail, size_t bytes,
                 struct error *err) {
  pthread_mutex_lock(&device->base.weights);
  void *data = derive(device, resource, form, detail, bytes, err);
  pthread_mutex_unlock(&device->base.weights);
  return data;
}

void cpu_derived_free(struct cpu_device *device) {
  for (int i = 0; i < device->derived.count; i++)
    cpu_free(device, device->derived.list[i].data, device->derived.list[i].bytes);
  derived_free(&device->derived);
}

int cpu_refresh(struct cpu_device *device, struct error *err) {
  const struct resources *resources = device->base.resources;
  if (device->derived_version == resources->version)
    return 0;
  pthread_mutex_lock(&device->base.weights);
  int status = derived_refresh(&device->derived, &device->base, resources, err);
  pthread_mutex_unlock(&device->base.weights);
  if (status < 0)
    return -1;
  device->derived_version = resources->version;
  return 0;
}

/* What may fail comes first. Copies follow before the next run. */
int cpu_update(struct device *base, const struct weight_change *changes, int count, uint64_t version,
               struct error *err) {
  struct cpu_device *device = (struct cpu_device *)base;
  (void)version;
  for (int i = 0; i < count; i++)
    if (cpu_load_held(device, changes[i].resource, err) < 0)
      return -1;
  for (int i = 0; i < count; i++) {
    const struct weight_change *change = &changes[i];
    size_t row = resource_row_elements(&base->resources->list[change->resource]);
    memcpy(device->resource[change->resource].data + change->first * row, change->values,
           change->rows * row * sizeof(float));
  }
  return 0;
}
