/* Folders that models are in: reverie's own, and what Hugging Face's programs use, as the environment names them. Each
 * returns path, which holds PATHS_MAX characters, or NULL where the environment names no such folder; whether it is
 * there is not looked at. */
#ifndef APP_MODELS_PLACES_H
#define APP_MODELS_PLACES_H

#include "app/platform/paths.h"

/* reverie/models in $XDG_DATA_HOME, else in ~/.local/share. */
const char *places_models(char *path);
/* $HF_HUB_CACHE, else $HUGGINGFACE_HUB_CACHE, else hub in $HF_HOME, else in huggingface in $XDG_CACHE_HOME, else in
 * ~/.cache. */
const char *places_hub_cache(char *path);
/* The file of the hub's token: $HF_TOKEN_PATH, else token beside that hub. */
const char *places_token(char *path);

#endif
