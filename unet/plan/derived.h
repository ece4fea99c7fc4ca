/* Copies of weights in forms of a device's own (packed, padded, transformed): one table, keyed by resource, version and
 * form. A copy keeps its address for as long as the table is there, so that captured graphs may name it; its version
 * says which of the resource's it holds.
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

/* A kind of copy. Copies of one kind may differ in details, which are a struct of the kind's own. */
struct form {
  size_t detail_bytes;                        /* 0: there are none */
  bool (*same)(const void *a, const void *b); /* details; NULL where there are none */
  /* Fills data from all of the resource as the device holds it. */
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

/* The copy in this form, or NULL. The pointer is good until the next derived_add. */
struct derived *derived_find(const struct derived_table *table, int resource, const struct form *form,
                             const void *detail);
/* Adds a copy; its detail is copied. */
int derived_add(struct derived_table *table, const struct derived *copy, struct error *err);
/* Makes each copy again whose version is not its resource's. After a failure the next call makes the rest. */
int derived_refresh(struct derived_table *table, struct device *device, const struct resources *resources,
                    struct error *err);
void derived_free(struct derived_table *table);

#endif
