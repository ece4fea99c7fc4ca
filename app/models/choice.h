/* Chooses those files of a model's repository that reverie needs. */
#ifndef APP_MODELS_CHOICE_H
#define APP_MODELS_CHOICE_H

#include "app/models/repository.h"

struct choice {
  bool *wanted; /* one element for each file of the repository's list; true: the file is chosen */
  int count;    /* number of chosen files; `bytes` is the sum of their sizes */
  int64_t bytes;
  /* Numbers of files that were not chosen. pickles: weights as Python pickles; doubles: weights of which another form
   * was chosen (double_bytes: the sum of their sizes); others: all other files. */
  int pickles, doubles, others;
  int64_t double_bytes;
};

/* Chooses files of a repository. If names are given, these files are chosen. Otherwise the choice depends on what the
 * repository has: from a pipeline in diffusers' layout, the configs, tokenizers and weights; from a single network in a
 * folder, the network and its config; else the only file of weights. If the same weights exist in several forms, FP16
 * is preferred to the plain form, and a whole file to shards. Returns 0, or -1 with err: a part exists as a pickle
 * only, the user must name one of several files, or a name does not exist. The caller calls choice_free in both
 * cases. */
int choice_make(struct choice *choice, const struct repository_list *list, const char *const *names, int name_count,
                const char *repository, struct error *err);
/* frees what choice_make allocated; accepts a zeroed struct */
void choice_free(struct choice *choice);

/* Returns true if the name of the path is that of a file of weights in a format that reverie can read. */
bool choice_is_weights(const char *path);

#endif
