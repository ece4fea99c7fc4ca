/* Finds models by the names that users give. */
#ifndef APP_MODELS_NAMES_H
#define APP_MODELS_NAMES_H

#include <stdio.h>

#include "app/platform/paths.h"

/* Finds the model that a user names. First, the name may be an existing path. Then it may be the whole name of a model
 * in the list of installed models (ORG/NAME, ORG/NAME/FILE), or else the end of such a name (NAME, FILE). Names may
 * have .safetensors or not. The only file in a folder also has the folder's name. A name that begins with /, ./ or ../
 * is only a path. path holds PATHS_MAX characters. Returns 0, or -1 with err, whose status is STATUS_MODEL: several
 * models have the name (the message lists them), or none has it (the message says which folders were searched, which
 * names are similar, and how to fetch the model). */
int names_find(char *path, const char *name, struct error *err);

/* Prints all names by which a model can be found, each on a line of its own, for the completion of shells. Returns 0,
 * or -1 with err. */
int names_print(FILE *out, struct error *err);

#endif
