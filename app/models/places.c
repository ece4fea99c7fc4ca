#include "app/models/places.h"

#include <stdio.h>
#include <stdlib.h>

/* Writes `folder`, followed by `name`, to `path`; `name` begins with a slash or is empty. Returns `path`; NULL: the
 * result does not fit into `path`. */
static const char *join(char *path, const char *folder, const char *name) {
  int length = snprintf(path, PATHS_MAX, "%s%s", folder, name);
  return length > 0 && length < PATHS_MAX ? path : NULL;
}

static const char *in_home(char *path, const char *name) {
  const char *home = getenv("HOME");
  return home && *home == '/' ? join(path, home, name) : NULL;
}

/* Stores in `path` the XDG base directory followed by `name`, which begins with a slash. The base directory is the one
 * that the environment variable names, or else `usual` in the home folder. A relative path in the variable is ignored,
 * as the XDG specification demands. Returns `path`, or NULL. */
static const char *base_folder(char *path, const char *variable, const char *usual, const char *name) {
  const char *base = getenv(variable);
  char folder[PATHS_MAX];
  if (!base || *base != '/')
    base = in_home(folder, usual);
  return base ? join(path, base, name) : NULL;
}

/* Writes to `path` the folder that the environment variable names, followed by `name`, which begins with a slash. A
 * leading ~/ in the variable stands for the home folder, as in configuration files. Returns `path`; NULL: the variable
 * names no folder. */
static const char *named(char *path, const char *variable, const char *name) {
  const char *folder = getenv(variable);
  char home[PATHS_MAX];
  if (folder && folder[0] == '~' && folder[1] == '/')
    folder = in_home(home, folder + 1);
  return folder && *folder ? join(path, folder, name) : NULL;
}

const char *places_models(char *path) {
  return base_folder(path, "XDG_DATA_HOME", "/.local/share", "/reverie/models");
}

static const char *in_hub_home(char *path, const char *name) {
  char whole[64];
  snprintf(whole, sizeof whole, "/huggingface%s", name);
  return named(path, "HF_HOME", name) ? path : base_folder(path, "XDG_CACHE_HOME", "/.cache", whole);
}

const char *places_hub_cache(char *path) {
  if (named(path, "HF_HUB_CACHE", "") || named(path, "HUGGINGFACE_HUB_CACHE", ""))
    return path;
  return in_hub_home(path, "/hub");
}

const char *places_token(char *path) {
  return named(path, "HF_TOKEN_PATH", "") ? path : in_hub_home(path, "/token");
}
