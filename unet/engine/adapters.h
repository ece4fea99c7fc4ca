/* The adapters of an engine: which rows of which weights each of them changes, and how the weights on the device are
 * made from the adapters' weights in the controls. Changes are always added to the checkpoint's values, so that with
 * all adapters at 0 the weights are exactly the checkpoint's. The thread that submits calls these functions, except
 * where stated. */
#ifndef UNET_ENGINE_ADAPTERS_H
#define UNET_ENGINE_ADAPTERS_H

#include "unet/adapter/adapter.h"
#include "unet/base/controls.h"
#include "unet/plan/device.h"

/* The change that one adapter makes to rows first to first + rows - 1 of a resource. */
struct bound {
  int resource, adapter;
  size_t first, rows;
  const struct adapter_place *place;
};

/* A tensor of the checkpoint that one adapter changes. */
struct changed_tensor {
  const struct weight_file *file;
  size_t offset;
  int adapter;
  const struct adapter_place *place;
};

struct adapters {
  /* Set by adapters_open. */
  struct adapter *list[ADAPTERS_MAX];
  int store[ADAPTERS_MAX]; /* index of the resource that holds each adapter's factors */
  int count;

  /* The sets of weights on the device, and the change that is under way. */
  /* State of each set of weights on the device: the adapters' weights with which it was made, and how many entries of
   * `bound` it includes. NAN: unknown. A device with only one set uses the first. */
  struct adapted {
    float weights[ADAPTERS_MAX];
    int fresh;
  } sets[2];
  /* the device keeps two sets of the changed weights; copied from device_info, because to ask may take milliseconds */
  bool two_sets;
  int set;                   /* index of the set that frames read */
  struct changing *changing; /* the change of the other set that is under way; NULL: none */

  /* The changes: to tensors of the checkpoint, found by adapters_open, and to rows of resources, found later. */
  struct changed_tensor *changed; /* sorted by file, offset and adapter */
  int changed_count;
  struct bound *bound; /* sorted by resource, row and adapter */
  int bound_count, bound_room;
  int seen; /* number of resources that were searched for changed tensors */

  const struct log *log;
  bool told; /* the log line about the memory that changes take was written */
};

/* Opens the files and makes their factors resources. adapters_free must be called afterwards, even after a failure. */
int adapters_open(struct adapters *adapters, const char *const *paths, int count, const struct checkpoint *checkpoint,
                  const struct adapter_options *options, struct resources *resources, struct error *err);
void adapters_free(struct adapters *adapters); /* takes a zeroed struct */
/* Changes the weights on the device at once, wherever they were made with other weights of adapters than these. */
int adapters_apply(struct adapters *adapters, struct device *device, const float weights[ADAPTERS_MAX],
                   struct error *err);
/* Returns true if the weights that frames read were made with these weights of adapters. */
bool adapters_are(const struct adapters *adapters, const struct device *device, const float weights[ADAPTERS_MAX]);

/* The same change in steps, in the background, on a device with two sets (device_merge_begin). The order is:
 * adapters_begin, adapters_go_on until it returns 0, adapters_made, adapters_show. adapters_made gives the changed
 * weights their new versions, and after adapters_show frames read them. After a failure frames go on reading the old
 * weights. */
int adapters_begin(struct adapters *adapters, struct device *device, const float weights[ADAPTERS_MAX],
                   struct error *err);
int adapters_go_on(struct adapters *adapters, struct device *device, bool all, struct error *err);
void adapters_made(struct adapters *adapters, struct device *device);
void adapters_show(struct adapters *adapters, struct device *device);
/* Marks those weights among the plans' resources so far that adapters change. Threads that make plans call this,
 * too. */
void adapters_mark(const struct adapters *adapters, struct resources *resources);
/* For a smooth engine, once its device is open: copies the factors to the device, before any weight is loaded. */
int adapters_load(struct adapters *adapters, struct device *device, struct error *err);

#endif
