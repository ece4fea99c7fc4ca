/* Lists the models on this machine, in reverie's own folder of models and in the cache of Hugging Face's programs. It
 * looks only at names of files and folders, and opens no file of weights.
 *
 * In reverie's folder the name of a model is that of its folder, or of its file without .safetensors. In the cache it
 * is ORG/NAME, or ORG/NAME@REVISION for another revision than main, in which slashes are replaced by dashes. A file in
 * such a folder that does not belong to the folder's model is named ORG/NAME/FILE. */
#ifndef APP_MODELS_CATALOG_H
#define APP_MODELS_CATALOG_H

#include <stdbool.h>

#include "app/platform/paths.h"

/* An empty file in each folder that `reverie fetch` has not completed. */
#define CATALOG_UNFINISHED ".unfinished"
#define CATALOG_WEIGHTS ".safetensors"

struct catalog_entry {
  char *name, *path;
  bool file;       /* the model is a single file; false: a folder */
  bool loose;      /* a file in a model's folder that is no part of the model */
  bool cached;     /* the model is in the hub's cache; false: in reverie's folder of models */
  bool unfinished; /* a folder that is not complete yet */
};

struct catalog {
  /* Sorted by name. Of entries with equal names, those in reverie's folder come first, and folders before files. */
  struct catalog_entry *entry;
  int count;
  /* The folders that were searched; "": the environment names no such folder, and it was not searched. */
  char models[PATHS_MAX], cache[PATHS_MAX];
};

/* Replaces the slashes in the revision of ORG/NAME@REVISION by dashes, as in the names of the catalogue. */
void catalog_name_revision(char *name);

/* Fills catalog. Entries that cannot be read are left out. Returns 0, or -1 with err if memory is short; catalog_free
 * is due in both cases. */
int catalog_read(struct catalog *catalog, struct error *err);
/* Frees the entries. Accepts zeros. */
void catalog_free(struct catalog *catalog);

#endif
