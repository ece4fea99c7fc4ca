/* The model's modules by every name that an adapter may call them. All names are compared with underscores in place of
 * dots, as many files have them; they are never taken apart, for that could be done in many ways.
 *
 * Ownership: a table owns its names, and points into the checkpoint. */
#ifndef UNET_ADAPTER_MODULES_H
#define UNET_ADAPTER_MODULES_H

#include "unet/adapter/tensor_names.h"
#include "unet/checkpoint/checkpoint.h"

/* A module of the checkpoint with a weight. */
struct module {
  const struct component *component;
  const struct safetensor *weight, *bias; /* bias NULL: it has none */
};

struct module_name {
  char *text; /* "down_blocks_0_resnets_0_conv1" */
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
/* True if the key names a module that is none of the model's, but of the text encoder that the model has: its
 * projection where that is not read, or the layer behind the last one that is. What a file adds to it changes no
 * picture. */
bool modules_leave_out(const struct module_table *table, const struct adapter_key *key);

#endif
