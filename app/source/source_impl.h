/* Declares the kinds of source for source.c. */
#ifndef APP_SOURCE_SOURCE_IMPL_H
#define APP_SOURCE_SOURCE_IMPL_H

#include "app/source/source.h"

extern const struct source_impl source_pattern, source_ffmpeg;

#endif
