#include "unet/plan/derived.h"

#include <stdlib.h>
#include <string.h>

struct derived *derived_find(const struct derived_table *table, int resource, const struct form *form,
                             const void *detail) {
  for (int i = 0; i < table->count; i++) {
    struct derived *copy = &table->list[i];
    if (copy->resource == resource && copy->form == form && (!form->same || form->same(copy->detail, detail)))
      return copy;
  }
  return NULL;
}

static int grow(struct derived_table *table) {
  int capacity = table->capacity ? 2 * table->capacity : 256;
  struct derived *list = realloc(table->list, (size_t)capacity * sizeof *list);
  if (!list)
    return -1;
  table->list = list;
  table->capacity = capacity;
  return 0;
}

int derived_add(struct derived_table *table, const struct derived *copy, struct error *err) {
  size_t bytes = copy->form->detail_bytes;
  void *detail = bytes ? malloc(bytes) : NULL;
  if ((bytes && !detail) || (table->count == table->capacity && grow(table) < 0)) {
    free(detail);
    return error_set(err, STATUS_FAILED, "weights: out of memory");
  }
  if (bytes)
    memcpy(detail, copy->detail, bytes);
  struct derived *added = &table->list[table->count++];
  *added = *copy;
  added->detail = detail;
  return 0;
}

int derived_refresh(struct derived_table *table, struct device *device, const struct resources *resources,
                    struct error *err) {
  for (int i = 0; i < table->count; i++) {
    struct derived *copy = &table->list[i];
    uint64_t version = resources->list[copy->resource].version;
    if (copy->version == version)
      continue;
    if (copy->form->make(device, copy, err) < 0)
      return -1;
    copy->version = version;
  }
  return 0;
}

void derived_free(struct derived_table *table) {
  for (int i = 0; i < table->count; i++)
    free(table->list[i].detail);
  free(table->list);
  *table = (struct derived_table){0};
}
