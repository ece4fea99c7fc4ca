/* Lists the models on this machine: in reverie's own folder of models, and in the cache that Hugging Face's programs
 * fill. It goes by names and files only, and opens none.
 *
 * The name of a model is its folder or file in the folder of models, without .safetensors. In the cache it is ORG/NAME,
 * or ORG/NAME@REVISION for another revision than main, whose slashes become dashes. A file in such a folder that is no
 * part of a model has the name ORG/NAME/FILE. */
#ifndef APP_MODELS_CATALOG_H
#define APP_MODELS_CATALOG_H

#include <stdbool.h>

#include "app/platform/paths.h"

/* An empty file in each folder that `reverie fetch` has not completed. */
#define CATALOG_UNFINISHED ".unfinished"
#define CATALOG_WEIGHTS ".safetensors"

struct catalog_entry {
  char *name, *path;
  bool file;       /* false: it is a folder */
  bool loose;      /* a file in a model's folder that is no part of the model */
  bool cached;     /* the entry is in the cache */
  bool unfinished; /* a folder that is not complete yet */
};

struct catalog {
  /* Sorted by name. Of the same name, those in the folder of models come first, and folders come before files. */
  struct catalog_entry *entry;
  int count;
  /* The folders that were searched; "": none, because the environment names no such folder. */
  char models[PATHS_MAX], cache[PATHS_MAX];
};

/* Changes ORG/NAME@REVISION to the name of a model. */
void catalog_name_revision(char *name);

/* Fills catalog. Entries that cannot be read are left out. Returns 0, or -1 with err if memory is short; catalog_free
 * is due in both cases. */
int catalog_read(struct catalog *catalog, struct error *err);
/* Frees the entries. Accepts zeros. */
void catalog_free(struct catalog *catalog);

#endif
