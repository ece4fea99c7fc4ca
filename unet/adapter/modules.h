/* The model's modules by every name that an adapter may call them. Names with underscores in place of dots are looked
 * up among the model's own, flattened the same way; they are never taken apart, for that could be done in many ways.
 *
 * Ownership: a table owns its names, and points into the checkpoint. */
#ifndef UNET_ADAPTER_MODULES_H
#define UNET_ADAPTER_MODULES_H

#include "unet/adapter/keys.h"
#include "unet/checkpoint/checkpoint.h"

/* A module of the checkpoint with a weight. */
struct module {
  const struct component *component;
  const struct safetensor *weight, *bias; /* bias NULL: it has none */
};

struct module_name {
  char *text; /* "down_blocks.0.resnets.0.conv1", "down_blocks_0_resnets_0_conv1" */
  enum part part;
  bool original; /* as the layout of single files has it: input_blocks_1_0_in_layers_2 */
  int module;
};

struct module_table {
  struct module *modules;
  struct module_name *names; /* in order of text */
  int module_count, name_count;
};

/* Of all predictors and text encoders. modules_free must follow, also on failure. */
int modules_init(struct module_table *table, const struct checkpoint *checkpoint, struct error *err);
void modules_free(struct module_table *table);

/* The module that the key names; -1: none, or more than one. */
int modules_find(const struct module_table *table, const struct adapter_key *key, bool *original);

#endif
