/* Copies of weights in the layouts that a device's kernels want (packed, padded, transformed): one table for each
 * device, with the resource and the form as key. A copy keeps its address as long as the table exists, so that captured
 * graphs may contain it. A copy is out of date if its version is not that of its resource.
 *
 * Ownership: the device allocates and frees the copies' data; the table owns the list and the details. */
#ifndef UNET_PLAN_DERIVED_H
#define UNET_PLAN_DERIVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unet/base/error.h"
#include "unet/plan/resources.h"

struct device;
struct derived;

/* A layout. If copies in it may differ (in a tile size, for example), a struct with these details is part of the
 * key. */
struct form {
  size_t detail_bytes;                        /* size of that struct; 0: there is none */
  bool (*same)(const void *a, const void *b); /* true if two such structs are equal; NULL: there are none */
  /* Fills copy->data anew from the resource's current values. Returns -1 with err set on failure. */
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

/* Returns the copy of this resource in this form with equal details, or NULL. The pointer is valid until the next
 * derived_add. */
struct derived *derived_find(const struct derived_table *table, int resource, const struct form *form,
                             const void *detail);
/* Adds a copy, whose data the caller has made; the details are copied. */
int derived_add(struct derived_table *table, const struct derived *copy, struct error *err);
/* Makes every copy again that is out of date. After a failure the next call makes the remaining ones. */
int derived_refresh(struct derived_table *table, struct device *device, const struct resources *resources,
                    struct error *err);
void derived_free(struct derived_table *table);

#endif
