#include "unet/cpu/cpu_weights.h"

#include <stdlib.h>
#include <string.h>

#include "unet/cpu/cpu_memory.h"
#include "unet/cpu/cpu_threads.h"

static void *derive(struct cpu_device *device, int resource, const struct form *form, const void *detail, size_t bytes,
                    struct error *err) {
  const struct resource *r = &device->base.resources->list[resource];
  const struct derived *found = derived_find(&device->derived, resource, form, detail);
  if (found)
    return found->data;
  struct derived copy = {resource, r->version, form, (void *)detail, cpu_alloc(device, bytes, r->name, err), bytes};
  if (!copy.data)
    return NULL;
  if ((device->base.sizes_only || form->make(&device->base, &copy, err) == 0) &&
      derived_add(&device->derived, &copy, err) == 0)
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

/* --- changing weights between runs --- */

static size_t change_elements(const struct cpu_device *device, const struct weight_change *change) {
  return change->rows * resource_row_elements(&device->base.resources->list[change->resource]);
}

static bool all_finite(const float *values, size_t count) {
  float sum = 0; /* each value times 0 is added: the sum stays 0 while values are finite, and becomes NaN at the first
                  * that is not */
  for (size_t i = 0; i < count; i++)
    sum += 0 * values[i];
  return sum == 0;
}

/* Adds to rows of a weight, in `values`, what the adapters add (the terms of blend.h). The rows are divided among
 * threads; scratch has room for three rows for each thread. */
static void blend_all(const struct cpu_device *device, const struct blend *blend, size_t row, float *values,
                      float *scratch) {
  threads_set(device->threads);
#pragma omp parallel
  {
    size_t low, high;
    thread_share(blend->rows, &low, &high);
    blend_rows(blend, low, high - low, values + low * row, values + low * row,
               scratch + (size_t)thread_number() * 3 * row);
  }
}

/* Returns the new values of rows that adapters change, computed from the checkpoint's file. cpu_free frees them.
 * Returns NULL with err set on failure. */
static float *make_blend(struct cpu_device *device, const struct weight_change *change, struct error *err) {
  const struct resource *r = &device->base.resources->list[change->resource];
  size_t row = resource_row_elements(r), count = change_elements(device, change);
  float *values = cpu_alloc(device, count * sizeof *values, r->name, err);
  float *scratch = values ? malloc((size_t)device->threads * 3 * row * sizeof *scratch) : NULL;
  int status = !values    ? -1
               : !scratch ? error_set(err, STATUS_DEVICE, "%s: out of memory", r->name)
                          : resource_read_rows_f32(r, change->first, change->rows, values, err);
  if (status == 0) {
    blend_all(device, change->blend, row, values, scratch);
    if (!all_finite(values, count))
      status =
          error_set(err, STATUS_MODEL, "%s: with what adapters add to it, it has values that are not finite", r->name);
  }
  free(scratch);
  if (status == 0)
    return values;
  cpu_free(device, values, count * sizeof *values);
  return NULL;
}

static void commit(struct cpu_device *device, const struct weight_change *change, const float *values) {
  size_t row = resource_row_elements(&device->base.resources->list[change->resource]);
  memcpy(device->resource[change->resource].data + change->first * row, values,
         change_elements(device, change) * sizeof *values);
}

/* Whatever may fail is done before the first weight is changed, so that after a failure nothing has changed. Copies of
 * the weights in other layouts are updated before the next run. */
int cpu_update(struct device *base, const struct weight_change *changes, int count, uint64_t version,
               struct error *err) {
  struct cpu_device *device = (struct cpu_device *)base;
  float **made = calloc((size_t)count + 1, sizeof(*made));
  int status = made ? 0 : error_set(err, STATUS_FAILED, "out of memory");
  (void)version;
  for (int i = 0; status == 0 && i < count; i++) {
    status = cpu_load_held(device, changes[i].resource, err);
    if (status == 0 && changes[i].blend && !(made[i] = make_blend(device, &changes[i], err)))
      status = -1;
  }
  for (int i = 0; status == 0 && i < count; i++)
    commit(device, &changes[i], made[i] ? made[i] : changes[i].values);
  for (int i = 0; made && i < count; i++)
    cpu_free(device, made[i], change_elements(device, &changes[i]) * sizeof(float));
  free(made);
  return status;
}
