/* Paths of the program's own files: the built-in model, the sample clip, the cache, the user's settings. */
#ifndef APP_PLATFORM_PATHS_H
#define APP_PLATFORM_PATHS_H

#include <stdbool.h>
#include <stddef.h>

#include "unet/base/error.h"

enum { PATHS_MAX = 4096 };

/* Finds the data file `name` ("mini/model", "sample.mp4") in the first of: $REVERIE_DATA_DIR; share/reverie next to the
 * folder of the executable (an installed tree that was moved, or the build); the installed data folder. If it is in
 * none, err gets `status`, and the message says where it was looked for. path has room for PATHS_MAX characters. */
int paths_data(char *path, const char *name, enum status status, struct error *err);

/* Makes the folder for data that can be computed again: reverie in $XDG_CACHE_HOME, or else in ~/.cache. Returns path,
 * or NULL if no folder can be made; then nothing is cached. path has room for PATHS_MAX characters. */
const char *paths_cache(char *path);

/* Makes the folder for the user's settings: reverie in $XDG_CONFIG_HOME, or else in ~/.config. Returns path, or NULL if
 * no folder can be made. path has room for PATHS_MAX characters. */
const char *paths_config(char *path);

/* Makes the folder and missing ones above it, with access for the user alone. Returns true if it exists and is
 * writable; false with errno. */
bool paths_make(char *path);

#endif
