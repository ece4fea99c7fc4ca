/* Adapters from the inside: what the files of unet/adapter/ share. */
#ifndef UNET_ADAPTER_ADAPTER_IMPL_H
#define UNET_ADAPTER_ADAPTER_IMPL_H

#include "unet/adapter/adapter.h"
#include "unet/adapter/modules.h"

struct cJSON;

/* A module's tensors in the file. */
struct group {
  struct adapter_key key; /* of one of them */
  const struct safetensor *piece[PIECES];
  enum family family; /* FAMILY_FULL: a difference alone */
  int module;         /* of the model's table */
  bool original;      /* found by the name that single files have for it */
};

/* A file's tensors by module, and those that are none of an adapter's. */
struct groups {
  struct group *list;
  int count;
  int strange;                 /* tensors */
  const char *first_strange;   /* NULL: none */
  int left_out;                /* tensors that act on nothing: scales without factors */
  const char *first_left_out;  /* NULL: none */
  enum adapter_base said;      /* what the file's metadata says that it is for */
  int embeddings;              /* tensors of embeddings that the file brings with it */
  const char *first_embedding; /* NULL: none */
};

/* groups_free must follow, also on failure. A kind that is refused, tensors of two kinds for one module and tensors
 * that are missing are errors. */
int groups_init(struct groups *groups, const struct safetensors *files, struct error *err);
void groups_free(struct groups *groups);
/* All of the summary but the file's bytes. */
void groups_summarise(const struct groups *groups, struct adapter_summary *summary);

/* --- base.c --- */

/* What the file's names and shapes say of the model that it is for, and its metadata where those leave a choice. */
enum adapter_base groups_base(const struct groups *groups);
/* What its names and shapes alone say. */
enum adapter_base groups_base_by_names(const struct groups *groups);
/* What its metadata alone says. */
enum adapter_base base_said(const struct safetensors *files);
/* What a model is, as far as its config says. */
enum adapter_base base_of_checkpoint(const struct checkpoint *checkpoint);
/* False if a file for the one family cannot be for a model of the other. */
bool base_fits(enum adapter_base base, enum adapter_base own);
/* "SDXL"; NULL for BASE_UNKNOWN. */
const char *base_name(enum adapter_base base);

/* --- peft.c --- */

/* Scales that tensors do not have: the header's lora_adapter_metadata, or the adapter_config.json beside the file. */
struct peft {
  struct cJSON *root; /* NULL: there are none */
  bool prefixed;      /* its fields begin with the part's name: "unet.lora_alpha" */
};
int peft_open(struct peft *peft, const struct safetensors *files, const char *path, struct error *err);
void peft_close(struct peft *peft);
/* Of a module of this rank; false: nothing is said. */
bool peft_scale(const struct peft *peft, const struct adapter_key *key, int rank, double *scale);

/* --- factors.c --- */

/* What becomes of a group: a term of the weight, one of the bias, or both. */
struct recipe {
  const struct group *group;
  const struct module *module;
  int weight, bias; /* places in the adapter; -1: none */
};

/* Shapes are checked against the module, the places' terms and sizes settled; *used grows by the factors' elements. */
int recipe_plan(struct recipe *recipe, const struct peft *peft, struct adapter *adapter, size_t *used,
                struct error *err);
/* The factors themselves, into adapter->factors. Several recipes of one adapter may be filled at once. */
int recipe_fill(const struct recipe *recipe, struct adapter *adapter, struct error *err);

/* The rank of a group; 0: it has none. */
int group_rank(const struct group *group);
/* True for a group with factors of a rank, and no alpha. */
bool group_is_scaleless(const struct group *group);
/* A one-element tensor's value. */
int read_scalar(const struct safetensor *t, double *value, struct error *err);

#endif
