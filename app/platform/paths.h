/* Finds the program's own files and folders: the built-in model, the sample clip, the cache, the user's settings. */
#ifndef APP_PLATFORM_PATHS_H
#define APP_PLATFORM_PATHS_H

#include <stdbool.h>
#include <stddef.h>

#include "unet/base/error.h"

enum { PATHS_MAX = 4096 };

/* Finds the data file `name` ("mini/model", "sample.mp4"). Searches these folders in order: $REVERIE_DATA_DIR;
 * share/reverie in a folder above the executable or the shared library, for the build folder and moved installations;
 * the installed data folder. path has room for PATHS_MAX characters. Returns 0, or -1 with err of status `status`,
 * whose message gives the folders. */
int paths_data(char *path, const char *name, enum status status, struct error *err);

/* Makes the folder for data that can be computed again (the cache): reverie in $XDG_CACHE_HOME, or else in ~/.cache.
 * Returns `path`, or NULL if no folder can be made; then nothing is cached. path has room for PATHS_MAX characters. */
const char *paths_cache(char *path);

/* Makes the folder for the user's settings: reverie in $XDG_CONFIG_HOME, or else in ~/.config. Returns `path`, or NULL
 * if no folder can be made. path has room for PATHS_MAX characters. */
const char *paths_config(char *path);
/* Finds the user's own file `name` in the folder for the user's settings, which is not made and need not be writable.
 * Returns true and fills `path`, which has room for PATHS_MAX characters, if there is such a file. */
bool paths_config_file(char *path, const char *name);

/* Makes the folder `path` and missing folders above it, which only the user may access. Returns true if the folder
 * exists and is writable; false with errno. */
bool paths_make(char *path);

#endif
