/* Folders that contain models: reverie's own, and those of Hugging Face's programs, as the environment names them. Each
 * function returns `path`, which holds PATHS_MAX characters, or NULL if the environment names no such folder. The
 * folder need not exist. */
#ifndef APP_MODELS_PLACES_H
#define APP_MODELS_PLACES_H

#include "app/platform/paths.h"

/* returns the folder reverie/models in $XDG_DATA_HOME, else in ~/.local/share */
const char *places_models(char *path);
/* Returns the folder $HF_HUB_CACHE, else $HUGGINGFACE_HUB_CACHE, else hub in $HF_HOME, else huggingface/hub in
 * $XDG_CACHE_HOME, else in ~/.cache. */
const char *places_hub_cache(char *path);
/* Returns the path of the file with the access token for Hugging Face's hub: $HF_TOKEN_PATH, else token in $HF_HOME,
 * else huggingface/token in $XDG_CACHE_HOME, else in ~/.cache. */
const char *places_token(char *path);

#endif
