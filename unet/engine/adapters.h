/* The adapters (LoRA and its kin) of an engine: which rows of which weights each adapter changes, and how the changed
 * weights are made on the device. controls.adapter has a factor for each adapter. Changes are always added to the
 * checkpoint's values, so if all factors are 0, the weights are exactly the checkpoint's. The thread that submits
 * frames calls these functions, except where stated. */
#ifndef UNET_ENGINE_ADAPTERS_H
#define UNET_ENGINE_ADAPTERS_H

#include "unet/adapter/adapter.h"
#include "unet/base/controls.h"
#include "unet/plan/device.h"

/* One change that an adapter makes to rows `first` to `first + rows - 1` of a weight (a resource). place: the element
 * of the adapter's list of changes (struct adapter_place) that has the factors of this change. */
struct bound {
  int resource, adapter;
  size_t first, rows;
  const struct adapter_place *place;
};

/* A tensor of the checkpoint that one adapter changes. The tensor is identified by its file and its offset in the
 * file. */
struct changed_tensor {
  const struct weight_file *file;
  size_t offset;
  int adapter;
  const struct adapter_place *place;
};

struct adapters {
  /* The following fields are set by adapters_open and constant afterwards. */
  struct adapter *list[ADAPTERS_MAX];
  /* for each adapter: its matrices (factors) are in one vector, a resource; this is the vector's index in
   * resources.list */
  int store[ADAPTERS_MAX];
  int count;

  /* The fields from `sets` to `changing` describe the weights on the device and the change that is being computed. The
   * device has one or two sets of the weights that adapters change. */
  /* For each set of weights on the device. weights: the values of controls.adapter with which the set was made (NAN:
   * unknown, so the set must be made again). fresh: number of entries of `bound`, counted from the first, whose changes
   * the set contains. If the device has one set, both entries are equal. */
  struct adapted {
    float weights[ADAPTERS_MAX];
    int fresh;
  } sets[2];
  /* true: the device has two sets of weights; copied from device_info.two_sets, because asking for that may take
   * milliseconds */
  bool two_sets;
  int set; /* index of the set of weights that frames read: 0 or 1 */
  /* the change that is being computed into the set of weights that frames do not read; NULL: there is none */
  struct changing *changing;

  /* The fields from `changed` to `seen` list all that the adapters change, in two forms. `changed` lists tensors of the
   * checkpoint; adapters_open fills it. `bound` lists rows of the weight matrices that plans have asked for; it is
   * extended when plans ask for further ones. */
  struct changed_tensor *changed; /* the changed tensors, sorted by file, offset and adapter */
  int changed_count;
  struct bound *bound; /* the changed rows of the plans' weights, sorted by weight, row and adapter */
  int bound_count, bound_room;
  /* how many weights of resources.list, from the first, were already searched for tensors that adapters change */
  int seen;

  const struct log *log;
  bool told; /* true: the log has the line about the memory that adapters' changes take */
};

/* Opens the adapters' files at `paths`, and adds to the resources, for each adapter, a vector with all its matrices
 * (factors). adapters_free must be called afterwards, even after a failure. */
int adapters_open(struct adapters *adapters, const char *const *paths, int count, const struct checkpoint *checkpoint,
                  const struct adapter_options *options, struct resources *resources, struct error *err);
void adapters_free(struct adapters *adapters); /* frees the adapters; accepts a zeroed struct */
/* Computes the weights on the device for these values of controls.adapter, and returns when they are in use. Only rows
 * are computed for which the value of one of their adapters has changed. On failure frames go on reading the old
 * weights. */
int adapters_apply(struct adapters *adapters, struct device *device, const float weights[ADAPTERS_MAX],
                   struct error *err);
/* Returns true if the weights that frames read now were made with these strengths of the adapters
 * (controls.adapter). */
bool adapters_are(const struct adapters *adapters, const struct device *device, const float weights[ADAPTERS_MAX]);

/* These functions change the weights as adapters_apply does, but in slices between frames, on a device with two sets of
 * weights (device_merge_begin). They are called in this order: adapters_begin starts the change. adapters_go_on does a
 * slice, once after each frame; with `all` it does all slices and waits for them. It returns 1 if slices are left, 0 if
 * none is, -1 on failure. adapters_made gives the changed weights their new versions. adapters_show makes frames read
 * them. After a failure frames go on reading the old weights. */
int adapters_begin(struct adapters *adapters, struct device *device, const float weights[ADAPTERS_MAX],
                   struct error *err);
int adapters_go_on(struct adapters *adapters, struct device *device, bool all, struct error *err);
void adapters_made(struct adapters *adapters, struct device *device);
void adapters_show(struct adapters *adapters, struct device *device);
/* Sets resource.adapted of each weight that adapters change, among the weights that plans have asked for so far. A
 * device with two sets of weights then stores such a weight in both. Must be called after a plan was made and before it
 * is prepared as a program, because that loads the weights. Any thread may call it. */
void adapters_mark(const struct adapters *adapters, struct resources *resources);
/* Copies the adapters' factors to the device, and asks the device whether it has two sets of weights. An engine that
 * works in the background (smooth) calls this once its device is open and the texts are encoded. Without this call the
 * device loads the factors when they are first needed. */
int adapters_load(struct adapters *adapters, struct device *device, struct error *err);

#endif
