/* Which files of a repository reverie reads. */
#ifndef APP_MODELS_CHOICE_H
#define APP_MODELS_CHOICE_H

#include "app/models/repository.h"

struct choice {
  bool *wanted; /* of each file of the list */
  int count;    /* of those wanted */
  int64_t bytes;
  /* What is left out of the list: pickles, weights that are there in another form as well, the rest. */
  int pickles, doubles, others;
  int64_t double_bytes;
};

/* Without names: of a pipeline in diffusers' layout its configs, tokenizers and weights; of one network in a folder
 * that and its config; else the one file of weights that there is. Of weights in several forms the FP16 variant is
 * taken, else the plain one, in shards where there is no whole file. With names: those files. Errors, with one line: a
 * part that is there as a pickle alone, several files of which one has to be named, a name that is not there.
 * choice_free must follow, also on failure. */
int choice_make(struct choice *choice, const struct repository_list *list, const char *const *names, int name_count,
                const char *repository, struct error *err);
void choice_free(struct choice *choice);

/* Whether a file holds weights that can be read. */
bool choice_is_weights(const char *path);

#endif
