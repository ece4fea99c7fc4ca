/* Declares the kinds of source (structs of functions) among which source.c chooses. */
#ifndef APP_SOURCE_SOURCE_IMPL_H
#define APP_SOURCE_SOURCE_IMPL_H

#include "app/source/source.h"

extern const struct source_impl source_pattern, source_pipewire, source_ffmpeg;

#endif
