/* Lists the models on this machine: those in reverie's own folder of models, and those in the cache of Hugging Face's
 * programs. Only names are read; no file of weights is opened.
 *
 * In reverie's folder a model has the name of its folder, or of its file without .safetensors. A file in a model's
 * folder that does not belong to the model is named ORG/NAME/FILE. In the cache the name is ORG/NAME, or
 * ORG/NAME@REVISION if the revision is not main; slashes in a revision become dashes. */
#ifndef APP_MODELS_CATALOG_H
#define APP_MODELS_CATALOG_H

#include <stdbool.h>

#include "app/platform/paths.h"

/* name of an empty file in each folder that `reverie fetch` has not completed */
#define CATALOG_UNFINISHED ".unfinished"
#define CATALOG_WEIGHTS ".safetensors"

struct catalog_entry {
  char *name, *path;
  bool file;       /* true: the model is a single file; false: it is a folder */
  bool loose;      /* true: the entry is a file in a model's folder that is no part of the model */
  bool cached;     /* true: the model is in the cache of Hugging Face's programs; false: in reverie's folder of
                    * models */
  bool unfinished; /* true: `reverie fetch` has not completed the folder yet */
};

struct catalog {
  /* The entries, sorted by name. Of entries with equal names, those in reverie's folder come first, and folders before
   * files. */
  struct catalog_entry *entry;
  int count;
  /* the two folders in which models were searched; "": the environment names no such folder, and none was searched */
  char models[PATHS_MAX], cache[PATHS_MAX];
};

/* Replaces the slashes in the revision of a name ORG/NAME@REVISION by dashes, as the catalogue of models writes
 * names. */
void catalog_name_revision(char *name);

/* Fills the catalogue with the models on this machine. Files and folders that cannot be read are left out. Returns 0,
 * or -1 with err if memory is short; the caller calls catalog_free in both cases. */
int catalog_read(struct catalog *catalog, struct error *err);
/* Frees the catalogue's entries. Accepts a zeroed struct. */
void catalog_free(struct catalog *catalog);

#endif
