/* The model's modules under every name that an adapter may use for them. Names are compared with underscores instead of
 * dots, because many files have them so. They are never split at underscores, which could be done in several ways.
 *
 * Ownership: a table owns its names, and points into the checkpoint. */
#ifndef UNET_ADAPTER_MODULES_H
#define UNET_ADAPTER_MODULES_H

#include "unet/adapter/tensor_names.h"
#include "unet/checkpoint/checkpoint.h"

/* A layer of the checkpoint that has a weight. */
struct module {
  const struct component *component;
  const struct safetensor *weight, *bias; /* the layer's weight and bias; `bias` is NULL if the layer has none */
};

struct module_name {
  char *text; /* the module's path with underscores instead of dots: "down_blocks_0_resnets_0_conv1" */
  enum part part;
  /* true: `text` is the name in the layout of single files, such as input_blocks_1_0_in_layers_2; false: in diffusers'
   * layout */
  bool original;
  int module;
};

struct module_table {
  struct module *modules;
  struct module_name *names; /* the names of all modules, sorted by their field `text` */
  int module_count, name_count;
};

/* Lists the modules of all U-Nets (predictors) and text encoders. modules_free must be called afterwards, even after a
 * failure. */
int modules_init(struct module_table *table, const struct checkpoint *checkpoint, struct error *err);
void modules_free(struct module_table *table);

/* Returns the index in table->modules of the module that the key names; -1: there is none, or there are several.
 * *original: true if the module was found by its name in the single-file layout. */
int modules_find(const struct module_table *table, const struct adapter_key *key, bool *original);
/* Returns true if the original text encoder has this module, but this model leaves it out because no picture depends on
 * it: a projection that is not read, or a layer after the last one that is read. */
bool modules_leave_out(const struct module_table *table, const struct adapter_key *key);

#endif
