/* The adapters (LoRA and its kin) of an engine: which rows of which weights each of them changes, and how the weights
 * on the device are made from the values of controls.adapter (each adapter's weight, a factor). A change is always
 * added to the checkpoint's values, so that with all adapters at 0 the weights are exactly the checkpoint's. The thread
 * that submits frames calls these functions, except where stated. */
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
  /* for each adapter: index in resources.list of the vector with all matrices (factors) of the adapter */
  int store[ADAPTERS_MAX];
  int count;

  /* The fields from `sets` to `changing` describe the weights on the device and the change that is being computed. The
   * device has one or two sets of the weights that adapters change. */
  /* For each set of weights on the device: `weights`, the values of controls.adapter with which it was made (NAN:
   * unknown, so the set must be made again); `fresh`, how many entries of `bound`, from the first, it contains. For a
   * device with one set both entries are equal. */
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
  /* number of weights, from the first of resources.list, that were already searched for tensors which adapters
   * change */
  int seen;

  const struct log *log;
  bool told; /* true: the log has the line about the memory that adapters' changes take */
};

/* Opens the adapters' files at `paths`, and adds to the resources, for each adapter, a vector with all its matrices
 * (factors). adapters_free must be called afterwards, even after a failure. */
int adapters_open(struct adapters *adapters, const char *const *paths, int count, const struct checkpoint *checkpoint,
                  const struct adapter_options *options, struct resources *resources, struct error *err);
void adapters_free(struct adapters *adapters); /* frees the adapters; accepts a zeroed struct */
/* Computes the weights on the device for these values of controls.adapter, and returns when they are in use. Computes
 * only those rows that are changed by an adapter whose value has changed. On failure frames go on reading the old
 * weights. */
int adapters_apply(struct adapters *adapters, struct device *device, const float weights[ADAPTERS_MAX],
                   struct error *err);
/* Returns true if the weights of the network that frames read now were made with these strengths of the adapters
 * (controls.adapter). */
bool adapters_are(const struct adapters *adapters, const struct device *device, const float weights[ADAPTERS_MAX]);

/* Change the weights as adapters_apply does, but in slices between frames, on a device with two sets of weights
 * (device_merge_begin). The order of calls is: adapters_begin; adapters_go_on, once after each frame, until it returns
 * 0 (1: slices are left, -1: failure; with `all` it does all slices and waits for them); adapters_made, which gives the
 * changed weights their new versions; adapters_show, after which frames read them. After a failure frames go on reading
 * the old weights. */
int adapters_begin(struct adapters *adapters, struct device *device, const float weights[ADAPTERS_MAX],
                   struct error *err);
int adapters_go_on(struct adapters *adapters, struct device *device, bool all, struct error *err);
void adapters_made(struct adapters *adapters, struct device *device);
void adapters_show(struct adapters *adapters, struct device *device);
/* Sets resource.adapted of each weight that adapters change, among the weights that plans have asked for so far. A
 * device with two sets of weights then stores such a weight in both sets. Must be called after a plan was made, and
 * before it is prepared as a program, which loads the plan's weights; any thread may call it. */
void adapters_mark(const struct adapters *adapters, struct resources *resources);
/* Copies the adapters' factors to the device, and asks the device whether it has two sets of weights. An engine that
 * works in the background (smooth) calls this once its device is open and the texts are encoded. Without this call the
 * device loads the factors when they are first needed. */
int adapters_load(struct adapters *adapters, struct device *device, struct error *err);

#endif
