/* Copies of weights in a device's own forms (packed, padded, transformed): one table, keyed by resource and form. A
 * copy keeps its address as long as the table exists, so that captured graphs may contain it. Its version says which
 * version of the resource it was made from.
 *
 * Ownership: the device allocates and frees data; the table owns the rest. */
#ifndef UNET_PLAN_DERIVED_H
#define UNET_PLAN_DERIVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unet/base/error.h"
#include "unet/plan/resources.h"

struct device;
struct derived;

/* A kind of copy. Copies of one form may differ in details, which are a struct of the form's own. */
struct form {
  size_t detail_bytes;                        /* size of the details; 0: there are none */
  bool (*same)(const void *a, const void *b); /* compares details; NULL: there are none */
  /* Fills copy->data from the whole resource as the device holds it. */
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

/* Returns the copy in this form, or NULL. The pointer is valid until the next derived_add. */
struct derived *derived_find(const struct derived_table *table, int resource, const struct form *form,
                             const void *detail);
/* Adds a copy; its detail is copied. */
int derived_add(struct derived_table *table, const struct derived *copy, struct error *err);
/* Makes each copy again whose version is not its resource's. After a failure the next call makes the remaining ones. */
int derived_refresh(struct derived_table *table, struct device *device, const struct resources *resources,
                    struct error *err);
void derived_free(struct derived_table *table);

#endif
