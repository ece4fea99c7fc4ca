/* Texts in PNG files (tEXt and iTXt), by their keys. */
#ifndef APP_CONTROL_PNG_TEXT_H
#define APP_CONTROL_PNG_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "unet/base/error.h"
#include "unet/base/frame.h"

/* The key that snapshots keep their preset under, and the one that other programs read. */
#define PRESETS_PNG_KEY "reverie"
#define WORDS_PNG_KEY "parameters"

struct png_words {
  const char *key, *text; /* UTF-8; a text that is NULL is left out */
};

/* Whether such a file is there. */
bool png_text_is(const char *path);
/* *text is allocated; a file without it is an error. */
int png_text_read(const char *path, const char *key, char **text, struct error *err);
/* An RGBA picture, quickly rather than small. -1: why, without the file's name. */
int png_text_write(FILE *file, const struct frame *picture, const struct png_words *texts, int count,
                   struct error *err);

#endif
