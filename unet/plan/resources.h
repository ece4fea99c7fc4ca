/* Tensors that outlive a plan: weights (read once from the checkpoint) and states that plans fill and share (prompt
 * slots). Plans for other sizes or step counts name the same resources, so a device uploads each one once.
 *
 * Ownership: struct resources owns the descriptions. The weights are in the checkpoint's files, which must stay open
 * until the device has loaded them (the engine keeps them open as long as it lives). */
#ifndef UNET_PLAN_RESOURCES_H
#define UNET_PLAN_RESOURCES_H

#include <stdint.h>

#include "unet/base/error.h"
#include "unet/plan/element.h"
#include "unet/plan/tensor.h"

enum resource_kind {
  RESOURCE_WEIGHT,
  RESOURCE_STATE, /* zero at first; written by ops or by device_write. plan_state makes a state of one program */
};

struct resource {
  char *name;
  enum resource_kind kind;
  /* shape on the device: convolution [out, kh, kw, in]; matrix [out, 1, 1, in]; vector [1, 1, 1, length] */
  int n, h, w, c;
  enum demand demand;
  struct weight_part *parts;
  int part_count;   /* the parts are stacked along n (matrices) or c (vectors) */
  uint64_t version; /* version of a weight: 0 as in the checkpoint, raised by each device_update that changes it */
  bool adapted;     /* adapters may change it: see device_options.two_sets */
};

enum { RESOURCES_MAX = 1 << 14 };

struct resources {
  struct resource *list; /* has room for RESOURCES_MAX, so that no entry ever moves */
  int count;             /* resources_count reads this where another thread may append */
  uint64_t version;      /* highest version of all resources */
};

/* Returns the tensor of the resource with this name, and adds the resource if there is none yet. Parts are copied. A
 * vector is given as n = h = w = 1. If it exists it must have the same shape. On failure the returned space is
 * TENSOR_NONE and err is set. */
struct tensor resources_weight(struct resources *resources, const char *name, int n, int h, int w, int c,
                               const struct weight_part *parts, int part_count, struct error *err);
struct tensor resources_state(struct resources *resources, const char *name, int n, int h, int w, int c,
                              enum demand demand, struct error *err);
/* Returns the number of resources. All of them are complete, even if another thread is appending one. */
static inline int resources_count(const struct resources *resources) {
  return __atomic_load_n(&resources->count, __ATOMIC_ACQUIRE);
}
/* Returns the index of the resource with this name, or -1. */
int resources_find(const struct resources *resources, const char *name);
void resources_free(struct resources *resources);

size_t resource_elements(const struct resource *resource);
/* A weight as a matrix of rows: resource_rows returns the number of rows of the checkpoint's tensors (for a vector one
 * row for each element), resource_row_elements the elements of a row. */
size_t resource_rows(const struct resource *resource);
size_t resource_row_elements(const struct resource *resource);

/* Reads a weight as FP32 in device order (NHWC of struct resource; OIHW parts become OHWI). out holds n*h*w*c
 * values. */
int resource_read_f32(const struct resource *resource, float *out, struct error *err);
/* Reads rows [first, first + rows) of a weight as FP32 in device order. */
int resource_read_rows_f32(const struct resource *resource, size_t first, size_t rows, float *out, struct error *err);
/* Returns an error if FP16 cannot hold a weight: see weight_part_read. States are never refused. */
int resource_check_f16(const struct resource *resource, struct error *err);

#endif
