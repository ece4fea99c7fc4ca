/* A table of the copies of weights that a device makes in the layouts of its kernels (packed, padded, transformed).
 * Each device has one such table.
 *
 * A copy is found by its resource (the weight) and its layout. Its address stays the same as long as the table exists,
 * so that captured graphs may contain the address. A copy is out of date if its version is not that of its resource.
 *
 * Ownership: the device allocates and frees the copies' data; the table owns the list of copies and their details. */
#ifndef UNET_PLAN_DERIVED_H
#define UNET_PLAN_DERIVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unet/base/error.h"
#include "unet/plan/resources.h"

struct device;
struct derived;

/* A layout in which weights are copied, and the function that makes such a copy. A layout may have variants (tile
 * sizes, for example), described by a struct of the device; a weight then has a copy for each variant. */
struct form {
  /* size in bytes of the struct that describes the variant (details); 0: the layout has no variants */
  size_t detail_bytes;
  /* returns true if two descriptions of variants are equal; NULL: the layout has no variants */
  bool (*same)(const void *a, const void *b);
  /* Computes copy->data again from the current values of the resource (a weight or another tensor that plans share).
   * Returns -1 with err set on failure. */
  int (*make)(struct device *device, const struct derived *copy, struct error *err);
};

struct derived {
  int resource;
  uint64_t version;
  const struct form *form;
  void *detail;
  void *data;
  size_t bytes;
};

struct derived_table {
  struct derived *list;
  int count, capacity;
};

/* Returns the copy of this resource (a weight or another tensor that plans share) in this layout and variant, or NULL.
 * The pointer is valid until the next derived_add. */
struct derived *derived_find(const struct derived_table *table, int resource, const struct form *form,
                             const void *detail);
/* Adds a copy, whose data the caller has made, to the table. The description of the variant (details) is copied.
 * Returns -1 with err set if memory runs out. */
int derived_add(struct derived_table *table, const struct derived *copy, struct error *err);
/* Makes those copies of weights (in other layouts) again whose weights have changed after the copy was made. After a
 * failure the next call makes the copies that are still out of date. */
int derived_refresh(struct derived_table *table, struct device *device, const struct resources *resources,
                    struct error *err);
void derived_free(struct derived_table *table);

#endif
