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
  /* Each set of weights on the device: what its weights are made with, and how many of bound are in it. NAN: anything.
   * Devices with one set have the first. */
  struct adapted {
    float weights[ADAPTERS_MAX];
    int fresh;
  } sets[2];
  bool two_sets;                  /* the device has them (device_info); to ask it may take milliseconds */
  int set;                        /* that frames see */
  struct changing *changing;      /* changes of the other set that are under way; NULL: none are */
  struct changed_tensor *changed; /* by file and offset */
  int changed_count;
  struct bound *bound; /* by resource, row and adapter */
  int bound_count, bound_room;
  int seen; /* resources that were looked at */
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
/* Whether the weights that frames see are made with these. */
bool adapters_are(const struct adapters *adapters, const struct device *device, const float weights[ADAPTERS_MAX]);

/* The same change in the background, on a device with two sets (device_merge_begin): begin, go_on until it returns 0,
 * made, show. From made on the changed weights have their new versions, from show on frames see them. A failure leaves
 * frames what they see. */
int adapters_begin(struct adapters *adapters, struct device *device, const float weights[ADAPTERS_MAX],
                   struct error *err);
int adapters_go_on(struct adapters *adapters, struct device *device, bool all, struct error *err);
void adapters_made(struct adapters *adapters, struct device *device);
void adapters_show(struct adapters *adapters, struct device *device);
/* Marks the weights that they add to, of those that plans have asked for so far. From any thread that makes plans. */
void adapters_mark(const struct adapters *adapters, struct resources *resources);
/* For a smooth engine, once its device is open: brings the factors to it, ahead of the first weight. */
int adapters_load(struct adapters *adapters, struct device *device, struct error *err);

#endif
