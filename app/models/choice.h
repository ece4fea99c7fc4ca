/* Chooses the files of a repository that reverie needs. */
#ifndef APP_MODELS_CHOICE_H
#define APP_MODELS_CHOICE_H

#include "app/models/repository.h"

struct choice {
  bool *wanted; /* an element for each file of the list: true if it is chosen */
  int count;    /* number of chosen files, and below the sum of their sizes */
  int64_t bytes;
  /* Numbers of files that were not chosen: pickles, weights that were chosen in another form, and all others. */
  int pickles, doubles, others;
  int64_t double_bytes;
};

/* Chooses files. Without names: of a pipeline in diffusers' layout its configs, tokenizers and weights; of a single
 * network in a folder the network and its config; else the only file of weights. If weights are there in several forms,
 * those in FP16 are chosen, else the plain ones; shards only if there is no whole file. With names: the files of these
 * names. Returns 0, or -1 with err: a part exists as a pickle only, one of several files must be named, or a name does
 * not exist. choice_free is due in both cases. */
int choice_make(struct choice *choice, const struct repository_list *list, const char *const *names, int name_count,
                const char *repository, struct error *err);
/* Frees what choice_make allocated. Accepts zeros. */
void choice_free(struct choice *choice);

/* True if the path is that of a file of weights that can be read. */
bool choice_is_weights(const char *path);

#endif
