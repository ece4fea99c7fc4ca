#include "app/platform/paths.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/platform/app_platform.h"

/* Writes folder/name to path. Returns false if the result does not fit; no file has so long a name. */
static bool join(char *path, const char *folder, const char *name) {
  int length = snprintf(path, PATHS_MAX, "%s/%s", folder, name);
  return length > 0 && length < PATHS_MAX;
}

static bool exists(const char *folder, const char *name, char *path) {
  return join(path, folder, name) && platform_can_read(path);
}

/* Finds the data file `name` in share/reverie of a folder above the one that contains `own`, the path of this program
 * or library. The function changes the text `own`. levels: how many folders above are searched. Returns true and fills
 * `path` if the file exists. */
static bool exists_beside(char *own, int levels, const char *name, char *path) {
  char folder[PATHS_MAX], *slash = strrchr(own, '/');
  for (int i = 0; i < levels && slash; i++) {
    *slash = 0;
    slash = strrchr(own, '/');
    if (!slash)
      return false;
    *slash = 0;
    if (join(folder, own, "share/reverie") && exists(folder, name, path))
      return true;
    *slash = '/';
  }
  return false;
}

int paths_data(char *path, const char *name, enum status status, struct error *err) {
  const char *chosen = getenv("REVERIE_DATA_DIR");
  if (chosen && *chosen) {
    if (exists(chosen, name, path))
      return 0;
    return error_set(err, status, "%s/%s: not there, where REVERIE_DATA_DIR points to", chosen, name);
  }
  char own[PATHS_MAX];
  if (platform_program_path(own, sizeof own) && exists_beside(own, 1, name, path))
    return 0;
  if (platform_library_path(own, sizeof own) && exists_beside(own, 2, name, path))
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

/* Writes the path of a folder to `path`. If the environment variable `variable` names a folder, the path is that of its
 * subfolder "reverie"; otherwise it is that of `usual` in the home folder (HOME). Returns false if neither variable
 * names a folder. */
static bool name_folder(char *path, const char *variable, const char *usual) {
  const char *chosen = getenv(variable), *home = getenv("HOME");
  return chosen && *chosen == '/' ? join(path, chosen, "reverie") : home && *home == '/' && join(path, home, usual);
}

/* Makes the folder whose path name_folder writes to `path`. Returns `path`, or NULL if this fails. */
static const char *own_folder(char *path, const char *variable, const char *usual) {
  return name_folder(path, variable, usual) && paths_make(path) ? path : NULL;
}

const char *paths_cache(char *path) {
  return own_folder(path, "XDG_CACHE_HOME", ".cache/reverie");
}

static const char config_variable[] = "XDG_CONFIG_HOME", config_usual[] = ".config/reverie";

const char *paths_config(char *path) {
  return own_folder(path, config_variable, config_usual);
}

bool paths_config_file(char *path, const char *name) {
  char folder[PATHS_MAX];
  return name_folder(folder, config_variable, config_usual) && join(path, folder, name) && platform_is_file(path);
}
