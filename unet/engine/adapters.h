/* Adapters of an engine: which rows of which weights each of them changes, and the weights as the controls ask for
 * them. The checkpoint's values are what is added to, so that with all adapters at 0 the weights are the checkpoint's
 * to the bit. */
#ifndef UNET_ENGINE_ADAPTERS_H
#define UNET_ENGINE_ADAPTERS_H

#include "unet/adapter/adapter.h"
#include "unet/base/controls.h"
#include "unet/plan/device.h"

/* What one adapter adds to some rows of a weight on the device. */
struct bound {
  int resource, adapter;
  size_t first, rows;
  const struct adapter_place *place;
};

/* A tensor of the checkpoint that an adapter changes. */
struct changed_tensor {
  const struct weight_file *file;
  size_t offset;
  int adapter;
  const struct adapter_place *place;
};

struct adapters {
  struct adapter *list[ADAPTERS_MAX];
  int store[ADAPTERS_MAX]; /* each one's factors as a resource */
  int count;
  float applied[ADAPTERS_MAX];    /* the weights that the device's are made with */
  struct changed_tensor *changed; /* by file and offset */
  int changed_count;
  struct bound *bound; /* by resource, row and adapter */
  int bound_count, bound_room;
  int seen;  /* resources that were looked at */
  int fresh; /* bound from here on: not on the device yet */
  const struct log *log;
  bool told; /* what changing weights takes */
};

/* Opens files and makes their factors resources. adapters_free must follow, also on failure. */
int adapters_open(struct adapters *adapters, const char *const *paths, int count, const struct checkpoint *checkpoint,
                  const struct adapter_options *options, struct resources *resources, struct error *err);
void adapters_free(struct adapters *adapters); /* also of a zeroed one */
/* Changes weights on the device, all at once, where their adapters' weights are others than they were made with. On the
 * thread that submits. */
int adapters_apply(struct adapters *adapters, struct device *device, const float weights[ADAPTERS_MAX],
                   struct error *err);

#endif
