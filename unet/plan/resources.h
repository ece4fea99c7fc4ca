/* What outlives a plan: weights (read once from the checkpoint) and states that plans fill and share (prompt slots).
 * Plans for other sizes or step counts name the same resources, so a device uploads each one once.
 *
 * Ownership: struct resources owns the descriptions; the weights are in the checkpoint's files, which must stay open
 * until the device has loaded them (the engine keeps them open for the engine's life). */
#ifndef UNET_PLAN_RESOURCES_H
#define UNET_PLAN_RESOURCES_H

#include <stdint.h>

#include "unet/base/error.h"
#include "unet/plan/element.h"
#include "unet/plan/tensor.h"

enum resource_kind {
  RESOURCE_WEIGHT,
  RESOURCE_STATE, /* zero at first; written by ops or by device_write. One program's own is plan_state */
};

struct resource {
  char *name;
  enum resource_kind kind;
  int n, h, w, c; /* on the device: convolution [out, kh, kw, in]; matrix [out, 1, 1, in]; vector [1, 1, 1, length] */
  enum demand demand;
  struct weight_part *parts;
  int part_count;   /* parts are stacked along n (matrices) or c (vectors) */
  uint64_t version; /* of a weight: 0 as in the checkpoint, raised by each device_update that changes it */
  bool adapted;     /* adapters add to it: see device_options.two_sets */
};

enum { RESOURCES_MAX = 1 << 14 };

struct resources {
  struct resource *list; /* has room for RESOURCES_MAX, so that none ever moves */
  int count;             /* read by resources_count where another thread may add some */
  uint64_t version;      /* the highest of theirs */
};

/* Returns the tensor of the resource called name, which is added when there is none yet. Parts are copied. A vector is
 * given as n = h = w = 1. An existing one must have the same shape. On failure the returned space is TENSOR_NONE and
 * err is set. */
struct tensor resources_weight(struct resources *resources, const char *name, int n, int h, int w, int c,
                               const struct weight_part *parts, int part_count, struct error *err);
struct tensor resources_state(struct resources *resources, const char *name, int n, int h, int w, int c,
                              enum demand demand, struct error *err);
/* How many there are: what it counts is whole. */
static inline int resources_count(const struct resources *resources) {
  return __atomic_load_n(&resources->count, __ATOMIC_ACQUIRE);
}
/* Index of a resource by name, or -1. */
int resources_find(const struct resources *resources, const char *name);
void resources_free(struct resources *resources);

size_t resource_elements(const struct resource *resource);
/* A weight as rows: as many as the checkpoint's tensors have, of a vector one for each element. */
size_t resource_rows(const struct resource *resource);
size_t resource_row_elements(const struct resource *resource);

/* Writes a weight as FP32 in device order (NHWC of struct resource; OIHW parts become OHWI). out holds n*h*w*c. */
int resource_read_f32(const struct resource *resource, float *out, struct error *err);
/* The same of rows [first, first + rows) alone. */
int resource_read_rows_f32(const struct resource *resource, size_t first, size_t rows, float *out, struct error *err);
/* Refuses a weight that FP16 cannot hold: see weight_part_read. State is never refused. */
int resource_check_f16(const struct resource *resource, struct error *err);

#endif
