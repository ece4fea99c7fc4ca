/* Where the program's own files are: the built-in model, the sample clip, the cache. */
#ifndef APP_PLATFORM_PATHS_H
#define APP_PLATFORM_PATHS_H

#include <stdbool.h>
#include <stddef.h>

#include "unet/base/error.h"

enum { PATHS_MAX = 4096 };

/* Finds name ("mini/model", "sample.mp4") in the first of: $REVERIE_DATA_DIR; share/reverie beside the folder of the
 * executable (an installed tree that was moved, or the build); the installed data folder. If it is in none, status says
 * what is missing and the message where it was looked for. path holds PATHS_MAX characters. */
int paths_data(char *path, const char *name, enum status status, struct error *err);

/* Makes and names the folder for what may be computed again: reverie in $XDG_CACHE_HOME, else in ~/.cache. Returns
 * path, or NULL where there is none to be had: nothing is cached then. path holds PATHS_MAX characters. */
const char *paths_cache(char *path);

/* Likewise for what the user has chosen: reverie in $XDG_CONFIG_HOME, else in ~/.config. */
const char *paths_config(char *path);

/* Makes the folder and those above it that are missing, for the user alone. Returns whether it is there and can be
 * written to, else with errno. */
bool paths_make(char *path);

#endif
