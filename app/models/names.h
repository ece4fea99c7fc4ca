/* Models by name. */
#ifndef APP_MODELS_NAMES_H
#define APP_MODELS_NAMES_H

#include <stdio.h>

#include "app/platform/paths.h"

/* Where the model is that a user names: a path that is there; else a model of the catalogue by its whole name
 * (ORG/NAME, ORG/NAME/FILE), else by the end of it (NAME, FILE), with or without .safetensors; a file alone in a folder
 * has the folder's name as well. A name that starts with /, ./ or ../ is a path and nothing else. path holds PATHS_MAX
 * characters. Errors are STATUS_MODEL: a name that several have, with those; one that none has, with where it was
 * looked for, what is near and how it is fetched. */
int names_find(char *path, const char *name, struct error *err);

/* Every name that finds a model, a line each: what shells complete. */
int names_print(FILE *out, struct error *err);

#endif
