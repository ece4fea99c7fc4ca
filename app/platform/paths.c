#include "app/platform/paths.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/platform/app_platform.h"

/* Writes folder/name to path. Returns false if it does not fit; the file cannot exist then. */
static bool join(char *path, const char *folder, const char *name) {
  int length = snprintf(path, PATHS_MAX, "%s/%s", folder, name);
  return length > 0 && length < PATHS_MAX;
}

static bool exists(const char *folder, const char *name, char *path) {
  return join(path, folder, name) && platform_can_read(path);
}

/* Stores PREFIX/share/reverie if the executable is PREFIX/bin/reverie. */
static bool relative_folder(char *folder) {
  char executable[PATHS_MAX];
  if (!platform_program_path(executable, sizeof executable))
    return false;
  for (int i = 0; i < 2; i++) {
    char *slash = strrchr(executable, '/');
    if (!slash)
      return false;
    *slash = 0;
  }
  return join(folder, executable, "share/reverie");
}

int paths_data(char *path, const char *name, enum status status, struct error *err) {
  const char *chosen = getenv("REVERIE_DATA_DIR");
  if (chosen && *chosen) {
    if (exists(chosen, name, path))
      return 0;
    return error_set(err, status, "%s/%s: not there, where REVERIE_DATA_DIR points to", chosen, name);
  }
  char relative[PATHS_MAX];
  if (relative_folder(relative) && exists(relative, name, path))
    return 0;
  if (exists(REVERIE_DATA, name, path))
    return 0;
  return error_set(err, status,
                   "%s: neither in ../share/reverie beside the program nor in %s; set REVERIE_DATA_DIR to "
                   "the folder that holds it",
                   name, REVERIE_DATA);
}

bool paths_make(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    bool made = !platform_make_folder(path);
    *slash = '/';
    if (!made)
      return false;
  }
  return !platform_make_folder(path) && platform_can_write(path);
}

/* Makes "reverie" in the folder that the variable names, or else `usual` in the home folder. */
static const char *own_folder(char *path, const char *variable, const char *usual) {
  const char *chosen = getenv(variable), *home = getenv("HOME");
  bool named =
      chosen && *chosen == '/' ? join(path, chosen, "reverie") : home && *home == '/' && join(path, home, usual);
  return named && paths_make(path) ? path : NULL;
}

const char *paths_cache(char *path) {
  return own_folder(path, "XDG_CACHE_HOME", ".cache/reverie");
}

const char *paths_config(char *path) {
  return own_folder(path, "XDG_CONFIG_HOME", ".config/reverie");
}
