/* The values on a device: changing its weights, and writing and reading tensors. */
#include <math.h>

#include "unet/plan/device.h"

/* --- changing weights on a device --- */

static int check_values(const struct resource *r, const struct weight_change *change, struct error *err) {
  size_t count = change->rows * resource_row_elements(r);
  for (size_t i = 0; i < count; i++)
    if (change->values[i] - change->values[i] != 0)
      return error_set(err, STATUS_FAILED, "%s: value %zu of row %zu is not finite", r->name,
                       i % resource_row_elements(r), change->first + i / resource_row_elements(r));
  return 0;
}

/* Checks that what adapters add to a weight (the terms in change->blend) fits its shape. The factors' values are
 * checked later, when the device loads the vector of factors, as for any weight. */
static int check_blend(const struct device *device, const struct resource *r, const struct weight_change *change,
                       struct error *err) {
  const struct blend *blend = change->blend;
  const struct resources *resources = device->resources;
  bool fits = blend->rows == change->rows && blend->taps > 0 && blend->channels > 0 &&
              (size_t)blend->taps * (size_t)blend->channels == resource_row_elements(r);
  for (int i = 0; fits && i < blend->count; i++) {
    const struct blend_term *t = &blend->terms[i];
    fits = t->store >= 0 && t->store < resources_count(resources) && isfinite(t->weight * t->scale) &&
           blend_term_fits(t, blend, (size_t)resources->list[t->store].c);
  }
  return fits ? 0 : error_set(err, STATUS_FAILED, "update: %s: what is added does not fit it", r->name);
}

static int check_change(const struct device *device, const struct weight_change *change, struct error *err) {
  const struct resources *resources = device->resources;
  if (change->resource < 0 || change->resource >= resources_count(resources) ||
      resources->list[change->resource].kind != RESOURCE_WEIGHT)
    return error_set(err, STATUS_FAILED, "update: there is no weight %d on this device", change->resource);
  const struct resource *r = &resources->list[change->resource];
  size_t rows = resource_rows(r);
  if (change->first > rows || change->rows > rows - change->first)
    return error_set(err, STATUS_FAILED, "update: rows %zu to %zu of %s, which has %zu", change->first,
                     change->first + change->rows, r->name, rows);
  return change->blend ? check_blend(device, r, change, err) : check_values(r, change, err);
}

static bool overlap(const struct weight_change *a, const struct weight_change *b) {
  return a->resource == b->resource && a->first < b->first + b->rows && b->first < a->first + a->rows;
}

static int check_changes(const struct device *device, const struct weight_change *changes, int count,
                         struct error *err) {
  for (int i = 0; i < count; i++) {
    if (check_change(device, &changes[i], err) < 0)
      return -1;
    for (int j = 0; j < i; j++)
      if (overlap(&changes[i], &changes[j]))
        return error_set(err, STATUS_FAILED, "update: two changes of the same rows of %s",
                         device->resources->list[changes[i].resource].name);
  }
  return 0;
}

static int update(struct device *device, const struct weight_change *changes, int count, struct error *err) {
  struct resources *resources = device->resources;
  uint64_t version = resources->version + 1;
  if (device->impl->update(device, changes, count, version, err) < 0)
    return -1;
  for (int i = 0; i < count; i++)
    resources->list[changes[i].resource].version = version;
  resources->version = version;
  return 0;
}

int device_update(struct device *device, const struct weight_change *changes, int count, struct error *err) {
  if (device_check_weights(device, "update", err) < 0 || check_changes(device, changes, count, err) < 0)
    return -1;
  pthread_mutex_lock(&device->weights);
  int status = update(device, changes, count, err);
  pthread_mutex_unlock(&device->weights);
  device_count_change(device);
  return status;
}

int device_merge_begin(struct device *device, const struct weight_change *changes, int count, struct error *err) {
  if (device_check_weights(device, "update", err) < 0 || check_changes(device, changes, count, err) < 0)
    return -1;
  pthread_mutex_lock(&device->weights);
  int status = device->impl->merge_begin(device, changes, count, err);
  pthread_mutex_unlock(&device->weights);
  return status;
}

int device_merge_go_on(struct device *device, bool all, struct error *err) {
  pthread_mutex_lock(&device->weights);
  int status = device->impl->merge_go_on(device, all, err);
  pthread_mutex_unlock(&device->weights);
  return status;
}

void device_merge_made(struct device *device, const struct weight_change *changes, int count) {
  struct resources *resources = device->resources;
  pthread_mutex_lock(&device->weights);
  resources->version++;
  for (int i = 0; i < count; i++)
    resources->list[changes[i].resource].version = resources->version;
  pthread_mutex_unlock(&device->weights);
}

void device_merge_show(struct device *device) {
  pthread_mutex_lock(&device->weights);
  device->impl->merge_show(device);
  pthread_mutex_unlock(&device->weights);
  device_count_change(device);
}

/* --- writing and reading tensors --- */

static int check_tensor(const struct device *device, const struct program *program, struct tensor t, size_t first,
                        size_t count, struct error *err) {
  int count_of[] = {[TENSOR_NONE] = 0,
                    [TENSOR_TEMPORARY] = program ? program->plan->temporary_count : 0,
                    [TENSOR_STATE] = program ? program->plan->state_count : 0,
                    [TENSOR_RESOURCE] = resources_count(device->resources)};
  if (t.space > TENSOR_RESOURCE || t.index < 0 || t.index >= count_of[t.space])
    return error_set(err, STATUS_FAILED, "there is no such tensor on this device");
  if (first > tensor_elements(t) || count > tensor_elements(t) - first)
    return error_set(err, STATUS_FAILED, "elements %zu to %zu of a tensor of %zu", first, first + count,
                     tensor_elements(t));
  return 0;
}

int device_write(struct device *device, struct program *program, struct tensor tensor, size_t first, const float *data,
                 size_t count, struct error *err) {
  if (device_check_weights(device, "write", err) < 0 || check_tensor(device, program, tensor, first, count, err) < 0)
    return -1;
  if (tensor.space == TENSOR_RESOURCE && device->resources->list[tensor.index].kind == RESOURCE_WEIGHT)
    return error_set(err, STATUS_FAILED, "write: %s is a weight: weights are updated",
                     device->resources->list[tensor.index].name);
  int status = device->impl->write(device, program, tensor, first, data, count, err);
  device_count_change(device);
  return status;
}

int device_read(struct device *device, struct program *program, struct tensor tensor, size_t first, float *data,
                size_t count, struct error *err) {
  if ((count && device_check_weights(device, "read", err) < 0) ||
      check_tensor(device, program, tensor, first, count, err) < 0)
    return -1;
  return device->impl->read(device, program, tensor, first, data, count, err);
}

int device_poison(struct device *device, struct program *program, struct error *err) {
  if (device_check_weights(device, "poison", err) < 0)
    return -1;
  int status = device->impl->poison(device, program, err);
  device_count_change(device);
  return status;
}
