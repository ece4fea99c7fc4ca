/* The declarations that the files of unet/adapter/ share. */
#ifndef UNET_ADAPTER_ADAPTER_IMPL_H
#define UNET_ADAPTER_ADAPTER_IMPL_H

#include "unet/adapter/adapter.h"
#include "unet/adapter/modules.h"

struct cJSON;

/* The tensors that a file has for one module. */
struct group {
  struct adapter_key key; /* the name of one of the group's tensors, split into its parts */
  const struct safetensor *piece[PIECES];
  /* kind of the factors (matrices) that the tensors are; FAMILY_FULL: the tensors are no factors, but the whole change
   * of the module, which is added as it is */
  enum family family;
  int module; /* index of the module in the table of the model's modules; -1: the model has no such module */
  /* true: the module was found by the name that it has in single files; false: by its name in diffusers' layout */
  bool original;
};

/* All tensors of a file, grouped by module, and how many tensors belong to no group. */
struct groups {
  struct group *list;
  int count;
  int strange; /* number of tensors whose names are not those of an adapter */
  /* name of the first tensor whose name no kind of adapter uses; NULL: there is none */
  const char *first_strange;
  int left_out;                /* number of tensors that have no effect: alphas without factors */
  const char *first_left_out;  /* name of the first tensor that has no effect; NULL: there is none */
  enum adapter_base said;      /* the family of models that the file's metadata names */
  int embeddings;              /* number of tensors of embeddings that the file has besides its adapter */
  const char *first_embedding; /* name of the first tensor of an embedding; NULL: there is none */
};

/* Groups the file's tensors. Fails if the file is of a kind that is not supported, if a module has tensors of two
 * kinds, or if tensors are missing. groups_free must be called afterwards, even after a failure. */
int groups_init(struct groups *groups, const struct safetensors *files, struct error *err);
void groups_free(struct groups *groups);
/* Fills in the summary (kinds, ranks and so on) of an adapter's file from its groups of tensors, except for the field
 * `bytes`. */
void groups_summarise(const struct groups *groups, struct adapter_summary *summary);

/* --- base.c: for which family of models (SD 1, SDXL, ...) a file was made --- */

/* Returns the family of models for which the file was made, by names and shapes of its tensors. If these fit several
 * families, the file's metadata decides. */
enum adapter_base groups_base(const struct groups *groups);
/* Returns the family of models by names and shapes of the file's tensors alone. */
enum adapter_base groups_base_by_names(const struct groups *groups);
/* Returns the family of models that the file's metadata names. */
enum adapter_base base_said(const struct safetensors *files);
/* Returns the family to which a model belongs, from the configs of its checkpoint. */
enum adapter_base base_of_checkpoint(const struct checkpoint *checkpoint);
/* Returns false if an adapter file for models of family `base` cannot fit a model of family `own`. */
bool base_fits(enum adapter_base base, enum adapter_base own);
/* Returns a family's name in messages to users, such as "SDXL"; NULL for BASE_UNKNOWN. */
const char *base_name(enum adapter_base base);

/* --- peft.c: scales that PEFT does not store as tensors --- */

/* Scales of an adapter that PEFT saved. They are not tensors: they are in lora_adapter_metadata of the header, or in
 * adapter_config.json in the same folder. */
struct peft {
  struct cJSON *root; /* JSON object that contains the scales; NULL: there are none */
  bool prefixed;      /* true: the names of the fields in `root` begin with the name of a part of the model, as in
                       * "unet.lora_alpha" */
};
/* Reads the scales from the header of `files`, or else from PEFT's config beside the file at `path`. *peft is zeroed if
 * neither exists. Returns 0, or -1 with err; peft_close must be called in both cases. */
int peft_open(struct peft *peft, const struct safetensors *files, const char *path, struct error *err);
void peft_close(struct peft *peft);
/* Stores the scale of a module with this rank. Returns false if neither header nor config has one. */
bool peft_scale(const struct peft *peft, const struct adapter_key *key, int rank, double *scale);

/* --- factors.c: making, from the tensors of a file, the factors of the changes of weights --- */

/* The changes that a group of tensors makes to its module (layer): to the module's weight, to its bias, or to both. */
struct recipe {
  const struct group *group;
  const struct module *module;
  /* indices, in adapter->places (list of changes), of the changes to the module's weight and bias; -1: none */
  int weight, bias;
};

/* Checks the shapes of a group's tensors against its module, adds the changes of the module's weight and bias to
 * adapter->places, and reserves values for the factors in adapter->factors. *used: number of values reserved so far. */
int recipe_plan(struct recipe *recipe, const struct peft *peft, struct adapter *adapter, size_t *used,
                struct error *err);
/* Reads from the file the factors of a recipe (how a group of tensors changes its module) into adapter->factors.
 * Several threads may do this at the same time, for different recipes of one adapter. */
int recipe_fill(const struct recipe *recipe, struct adapter *adapter, struct error *err);

/* Returns the rank of the factors in a group of tensors; 0: the factors have no rank, or one greater than
 * BLEND_RANK_MAX. */
int group_rank(const struct group *group);
/* Returns true if the group of tensors has low-rank factors, but no alpha (from which their scale is computed). */
bool group_is_scaleless(const struct group *group);
/* Returns true if a tensor of an adapter's file can be read: its type is F32, F16, BF16, or F64, which some scripts
 * write. */
bool factor_is_readable(const struct safetensor *t);
/* Reads the value of a tensor that has one element, such as an alpha. */
int read_scalar(const struct safetensor *t, double *value, struct error *err);

#endif
