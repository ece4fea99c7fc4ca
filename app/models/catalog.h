/* The models that are here: in reverie's own folder of models, and in the cache that Hugging Face's programs fill.
 * Names and files alone are looked at, nothing is opened.
 *
 * A model's folder or file is called as it is in that folder, without .safetensors; in the cache ORG/NAME, and
 * ORG/NAME@REVISION for another than the main revision, whose slashes are dashes. Files beside a model's folders, or in
 * a folder that is no model, go on behind it: ORG/NAME/FILE. */
#ifndef APP_MODELS_CATALOG_H
#define APP_MODELS_CATALOG_H

#include <stdbool.h>

#include "app/platform/paths.h"

/* A file in each folder that `reverie fetch` has not completed. */
#define CATALOG_UNFINISHED ".unfinished"
#define CATALOG_WEIGHTS ".safetensors"

struct catalog_entry {
  char *name, *path;
  bool file;       /* else a folder */
  bool beside;     /* a file in the folder of a model that it is no part of */
  bool cached;     /* it is in the cache */
  bool unfinished; /* a folder that is not all there yet */
};

struct catalog {
  struct catalog_entry
      *entry; /* sorted by name; of one name the own folder's before the cache's, folders before files */
  int count;
  char models[PATHS_MAX], cache[PATHS_MAX]; /* where was looked; "": nowhere, for the environment names no folder */
};

/* ORG/NAME@REVISION as a model is called. */
void catalog_name_revision(char *name);

/* What cannot be read is left out. catalog_free must follow, also on failure, which is that memory is short. */
int catalog_read(struct catalog *catalog, struct error *err);
void catalog_free(struct catalog *catalog);

#endif
