/* The declarations that the files of unet/adapter/ share. */
#ifndef UNET_ADAPTER_ADAPTER_IMPL_H
#define UNET_ADAPTER_ADAPTER_IMPL_H

#include "unet/adapter/adapter.h"
#include "unet/adapter/modules.h"

struct cJSON;

/* The tensors that a file has for one module. */
struct group {
  struct adapter_key key; /* key of one of the tensors */
  const struct safetensor *piece[PIECES];
  enum family family; /* the kind of change; FAMILY_FULL: a difference that is added as it is, without factors */
  int module;         /* index in the table of the model's modules; -1: the model has no such module */
  /* True: the module was found by its name in the layout of single files; false: by that of diffusers. */
  bool original;
};

/* All tensors of a file, grouped by module, and counts of those that belong to no group. */
struct groups {
  struct group *list;
  int count;
  int strange;                 /* number of tensors whose names are not those of an adapter */
  const char *first_strange;   /* NULL: none */
  int left_out;                /* number of tensors that have no effect: alphas without factors */
  const char *first_left_out;  /* NULL: none */
  enum adapter_base said;      /* the family that the file's metadata names */
  int embeddings;              /* number of tensors of embeddings that the file has besides its adapter */
  const char *first_embedding; /* NULL: none */
};

/* Groups the file's tensors. Fails if the file is of a kind that is refused, if a module has tensors of two kinds, or
 * if tensors are missing. groups_free must be called afterwards, even after a failure. */
int groups_init(struct groups *groups, const struct safetensors *files, struct error *err);
void groups_free(struct groups *groups);
/* Fills in all of the summary except `bytes`. */
void groups_summarise(const struct groups *groups, struct adapter_summary *summary);

/* --- base.c --- */

/* Returns the family for which the file is, by names and shapes of its tensors. Metadata decides where these fit
 * several families. */
enum adapter_base groups_base(const struct groups *groups);
/* Returns the family by names and shapes alone. */
enum adapter_base groups_base_by_names(const struct groups *groups);
/* Returns the family by metadata alone. */
enum adapter_base base_said(const struct safetensors *files);
/* Returns the family of a model by its config. */
enum adapter_base base_of_checkpoint(const struct checkpoint *checkpoint);
/* Returns false if a file for one family cannot fit a model of the other. */
bool base_fits(enum adapter_base base, enum adapter_base own);
/* Returns the name for people, such as "SDXL"; NULL for BASE_UNKNOWN. */
const char *base_name(enum adapter_base base);

/* --- peft.c --- */

/* Scales that are not stored as tensors: from lora_adapter_metadata in the header, or from adapter_config.json in the
 * same folder. */
struct peft {
  struct cJSON *root; /* JSON object that contains them; NULL: there are no such scales */
  bool prefixed;      /* the names of fields begin with the part: "unet.lora_alpha" */
};
/* Reads the scales for the file at `path`. peft_close must be called afterwards, even after a failure. */
int peft_open(struct peft *peft, const struct safetensors *files, const char *path, struct error *err);
void peft_close(struct peft *peft);
/* Stores the scale of a module with this rank. Returns false if neither header nor config has one. */
bool peft_scale(const struct peft *peft, const struct adapter_key *key, int rank, double *scale);

/* --- factors.c --- */

/* The use of a group's tensors: they change the module's weight, its bias, or both. */
struct recipe {
  const struct group *group;
  const struct module *module;
  int weight, bias; /* indices, in adapter->places, of the changes to the module's weight and bias; -1: none */
};

/* Checks the tensors' shapes against the module, adds its weight and bias to adapter->places, and reserves values for
 * the factors in adapter->factors. *used: number of values reserved so far. */
int recipe_plan(struct recipe *recipe, const struct peft *peft, struct adapter *adapter, size_t *used,
                struct error *err);
/* Reads the factors into adapter->factors. Several threads may do this for different recipes of one adapter. */
int recipe_fill(const struct recipe *recipe, struct adapter *adapter, struct error *err);

/* Returns the rank of a group; 0: it has none. */
int group_rank(const struct group *group);
/* Returns true if the group has factors with a rank, but no alpha. */
bool group_is_scaleless(const struct group *group);
/* Returns true if an adapter's tensor can be read: F32, F16, BF16, or F64, which some scripts write. */
bool factor_is_readable(const struct safetensor *t);
/* Reads the value of a tensor with one element. */
int read_scalar(const struct safetensor *t, double *value, struct error *err);

#endif
