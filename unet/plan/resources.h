/* Tensors that outlive a plan: weights, which are read once from the checkpoint, and states such as slots for encoded
 * prompts, which one plan writes and others read. Plans for other sizes or step counts use the same resources by their
 * names, so a device uploads each resource once.
 *
 * Ownership: struct resources owns names, shapes and lists of parts. The weights' values are in the checkpoint's files,
 * which must stay open until the device has loaded them (the engine keeps them open as long as it lives). */
#ifndef UNET_PLAN_RESOURCES_H
#define UNET_PLAN_RESOURCES_H

#include <stdint.h>

#include "unet/base/error.h"
#include "unet/plan/element.h"
#include "unet/plan/tensor.h"

enum resource_kind {
  RESOURCE_WEIGHT,
  /* a state: a tensor that all programs of the device share. It is zero at first, and ops or device_write write it */
  RESOURCE_STATE,
};

struct resource {
  char *name;
  enum resource_kind kind;
  /* shape on the device: [out, kh, kw, in] for a convolution, [out, 1, 1, in] for a matrix, [1, 1, 1, length] for a
   * vector; n is the first of these numbers */
  int n, h, w, c;
  enum demand demand;
  struct weight_part *parts;
  /* number of tensors in the file (parts) that together are the weight; they are stacked along n (matrices) or c
   * (vectors) */
  int part_count;
  /* version of a weight: 0 while it has the checkpoint's values; device_update and changes by adapters raise it */
  uint64_t version;
  /* true: adapters may change the weight; a device with two sets of weights (device_info.two_sets) stores it twice */
  bool adapted;
};

enum { RESOURCES_MAX = 1 << 14 };

struct resources {
  struct resource *list; /* array with room for RESOURCES_MAX entries, so that no entry ever moves */
  /* number of resources (weights and other tensors that plans share); another thread may append one at any moment, so
   * read the number by resources_count */
  int count;
  uint64_t version; /* the highest of all resources' versions */
};

/* resources_weight and resources_state return the tensor of the weight or state with this name, and add it if there is
 * none yet. If there is one, it must have the same shape. The list of parts is copied, not the values. For a vector, n,
 * h and w are 1. On failure the returned tensor is TENSOR_NONE and err is set. */
struct tensor resources_weight(struct resources *resources, const char *name, int n, int h, int w, int c,
                               const struct weight_part *parts, int part_count, struct error *err);
struct tensor resources_state(struct resources *resources, const char *name, int n, int h, int w, int c,
                              enum demand demand, struct error *err);
/* Returns the number of resources. All of them are complete, even if another thread is appending one. */
static inline int resources_count(const struct resources *resources) {
  return __atomic_load_n(&resources->count, __ATOMIC_ACQUIRE);
}
/* Returns the index in resources->list of the resource (weight or other tensor that plans share) with this name, or
 * -1. */
int resources_find(const struct resources *resources, const char *name);
void resources_free(struct resources *resources);

size_t resource_elements(const struct resource *resource);
/* To change a weight, the caller names rows of it. A row is all values of one output channel; in a vector, one element.
 * Rows are numbered from 0; if a weight consists of several tensors (parts), the numbers go on from one to the next.
 * resource_rows returns the number of rows, resource_row_elements the number of elements in a row. */
size_t resource_rows(const struct resource *resource);
size_t resource_row_elements(const struct resource *resource);

/* Reads a weight as FP32 in the order of struct resource's shape: a convolution, [out][in][kh][kw] in the file, becomes
 * [out][kh][kw][in]. out holds n*h*w*c values. */
int resource_read_f32(const struct resource *resource, float *out, struct error *err);
/* Reads rows `first` to `first + rows - 1` of a weight as FP32; the values are in the order of struct resource's
 * shape. */
int resource_read_rows_f32(const struct resource *resource, size_t first, size_t rows, float *out, struct error *err);
/* Fails (STATUS_MODEL) if some value of a weight is not finite in FP16. States are always accepted. */
int resource_check_f16(const struct resource *resource, struct error *err);

#endif
