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

/* Chooses files of a repository: the named ones or, without names, what a model needs. Of a pipeline in diffusers'
 * layout these are configs, tokenizers and weights; of a single network in a folder, the network and its config; else
 * the only file of weights. FP16 weights are preferred to other precisions, and a whole file to shards. Returns 0, or
 * -1 with err: a part exists only as a pickle, one of several files must be named, or a name does not exist. The caller
 * calls choice_free in both cases. */
int choice_make(struct choice *choice, const struct repository_list *list, const char *const *names, int name_count,
                const char *repository, struct error *err);
/* frees what choice_make allocated; accepts a zeroed struct */
void choice_free(struct choice *choice);

/* Returns true if the name of the path is that of a file of weights in a format that reverie can read. */
bool choice_is_weights(const char *path);

#endif
