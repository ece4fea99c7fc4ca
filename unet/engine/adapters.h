/* The adapters of an engine: which rows of which weights each of them changes, and how the weights on the device are
 * made from the values of controls.adapter (the weight of each adapter). A change is always added to the checkpoint's
 * values, so that with all adapters at 0 the weights are exactly the checkpoint's. The thread that submits frames calls
 * these functions, except where stated. */
#ifndef UNET_ENGINE_ADAPTERS_H
#define UNET_ENGINE_ADAPTERS_H

#include "unet/adapter/adapter.h"
#include "unet/base/controls.h"
#include "unet/plan/device.h"

/* The change that one adapter makes to rows [first, first + rows) of a resource: the place in its file that has the
 * factors. */
struct bound {
  int resource, adapter;
  size_t first, rows;
  const struct adapter_place *place;
};

/* A tensor of the checkpoint that one adapter changes, identified by its file and the offset there. */
struct changed_tensor {
  const struct weight_file *file;
  size_t offset;
  int adapter;
  const struct adapter_place *place;
};

struct adapters {
  /* Set by adapters_open; constant afterwards. */
  struct adapter *list[ADAPTERS_MAX];
  int store[ADAPTERS_MAX]; /* index in resources.list of the vector that holds each adapter's factors */
  int count;

  /* The sets of weights on the device (two, or one), and the change that is being computed. */
  /* The origin of each set: the values of controls.adapter with which it was made (NAN: unknown, so it must be made
   * again), and the number of entries of `bound`, counted from the first. A device with only one set uses the first. */
  struct adapted {
    float weights[ADAPTERS_MAX];
    int fresh;
  } sets[2];
  /* device_info.two_sets, copied because asking for it may take milliseconds */
  bool two_sets;
  int set;                   /* index of the set of weights that frames read: 0 or 1 */
  struct changing *changing; /* the change that is being computed into the other set; NULL: none */

  /* The changes that the adapters make: first as tensors of the checkpoint (found by adapters_open), then as rows of
   * the resources that plans have asked for (found whenever there are new resources). */
  struct changed_tensor *changed; /* sorted by file, offset and adapter */
  int changed_count;
  struct bound *bound; /* sorted by resource, row and adapter */
  int bound_count, bound_room;
  int seen; /* number of resources, from the first of resources.list, that were searched for changed tensors */

  const struct log *log;
  bool told; /* true once the log line about the memory that changes take was written */
};

/* Opens the files at `paths` and adds the vector of each adapter's factors to the resources. adapters_free must be
 * called afterwards, even after a failure. */
int adapters_open(struct adapters *adapters, const char *const *paths, int count, const struct checkpoint *checkpoint,
                  const struct adapter_options *options, struct resources *resources, struct error *err);
void adapters_free(struct adapters *adapters); /* takes a zeroed struct */
/* Changes the weights on the device to those for these values of controls.adapter, at once: only rows whose adapters
 * had other values are computed. The caller waits. */
int adapters_apply(struct adapters *adapters, struct device *device, const float weights[ADAPTERS_MAX],
                   struct error *err);
/* Returns true if the weights that frames read were made with these values of controls.adapter. */
bool adapters_are(const struct adapters *adapters, const struct device *device, const float weights[ADAPTERS_MAX]);

/* The same change in slices between frames, on a device with two sets (device_merge_begin). The order of calls is:
 * adapters_begin; adapters_go_on, once after each frame, until it returns 0 (1: slices are left, -1: failure);
 * adapters_made, which gives the changed weights their new versions; adapters_show, after which frames read them. After
 * a failure frames go on reading the old weights. */
int adapters_begin(struct adapters *adapters, struct device *device, const float weights[ADAPTERS_MAX],
                   struct error *err);
int adapters_go_on(struct adapters *adapters, struct device *device, bool all, struct error *err);
void adapters_made(struct adapters *adapters, struct device *device);
void adapters_show(struct adapters *adapters, struct device *device);
/* Marks (resource.adapted) the weights that adapters change among the resources that plans have asked for so far, so
 * that the device keeps them twice. Threads that make plans call this, too, before the weights are loaded. */
void adapters_mark(const struct adapters *adapters, struct resources *resources);
/* Copies the factors to the device, before any weight is loaded. A smooth engine calls it once its device is open. */
int adapters_load(struct adapters *adapters, struct device *device, struct error *err);

#endif
