/* Finds models by the names that users give. */
#ifndef APP_MODELS_NAMES_H
#define APP_MODELS_NAMES_H

#include <stdio.h>

#include "app/platform/paths.h"

/* Finds the model that a user names. These are tried in order: an existing path; the whole name of an installed model
 * (ORG/NAME, ORG/NAME/FILE); the end of such a name (NAME, FILE). The extension .safetensors may be left out, and the
 * only file in a folder also has the folder's name. A name that begins with /, ./ or ../ is only a path.
 *
 * path holds PATHS_MAX characters. Returns 0, or -1 with err of status STATUS_MODEL. If several models have the name,
 * the message lists them; if none has it, the message gives the folders that were searched, similar names, and how to
 * fetch the model. */
int names_find(char *path, const char *name, struct error *err);

/* Prints all names by which a model can be found, each on a line of its own, for the completion of shells. Returns 0,
 * or -1 with err. */
int names_print(FILE *out, struct error *err);

#endif
