/* Tensors that outlive a plan: weights, which are read once from the checkpoint, and states such as prompt slots, which
 * one plan writes and others read. Plans for other sizes or step counts name the same resources, so a device uploads
 * each one once.
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
  RESOURCE_STATE, /* zero at first; written by ops or by device_write, and shared by all programs of the device */
};

struct resource {
  char *name;
  enum resource_kind kind;
  /* shape on the device: convolution [out, kh, kw, in]; matrix [out, 1, 1, in]; vector [1, 1, 1, length] */
  int n, h, w, c;
  enum demand demand;
  struct weight_part *parts;
  int part_count;   /* number of parts (tensors of the file), which are stacked along n (matrices) or c (vectors) */
  uint64_t version; /* a weight's version: 0 while it has the checkpoint's values; device_update and merges raise it */
  bool adapted;     /* adapters may change it: a device with two sets keeps it twice (device_info.two_sets) */
};

enum { RESOURCES_MAX = 1 << 14 };

struct resources {
  struct resource *list; /* array with room for RESOURCES_MAX entries, so that no entry ever moves */
  int count;             /* changed atomically, because another thread may append: read it by resources_count */
  uint64_t version;      /* highest version of all resources */
};

/* Return the tensor of the weight or the state with this name, which is added if there is none yet; if there is one it
 * must have the same shape. The list of parts is copied, not the values. A vector is given as n = h = w = 1. On failure
 * the returned tensor is TENSOR_NONE and err is set. */
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
/* A weight as rows in the order of the checkpoint's tensors: resource_rows returns their number (a vector has a row for
 * each element), resource_row_elements the elements of one row. */
size_t resource_rows(const struct resource *resource);
size_t resource_row_elements(const struct resource *resource);

/* Reads a weight as FP32 in the order of struct resource's shape: a convolution, [out][in][kh][kw] in the file, becomes
 * [out][kh][kw][in]. out holds n*h*w*c values. */
int resource_read_f32(const struct resource *resource, float *out, struct error *err);
/* Reads rows [first, first + rows) of a weight as FP32, each in the same order. */
int resource_read_rows_f32(const struct resource *resource, size_t first, size_t rows, float *out, struct error *err);
/* Fails (STATUS_MODEL) if some value of a weight is not finite in FP16. States are always accepted. */
int resource_check_f16(const struct resource *resource, struct error *err);

#endif
