/* Reads and writes the texts in PNG files (chunks tEXt and iTXt). Each text has a key, such as "parameters". */
#ifndef APP_CONTROL_PNG_TEXT_H
#define APP_CONTROL_PNG_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "unet/base/error.h"
#include "unet/base/frame.h"

/* Keys of the two texts in a snapshot (a picture that the live window saved): the preset as JSON, and the description
 * for other programs (picture_words.h). */
#define PRESETS_PNG_KEY "reverie"
#define WORDS_PNG_KEY "parameters"

struct png_words {
  const char *key, *text; /* key and text in UTF-8; a text that is NULL is left out */
};

/* Returns true if the file exists and begins with the PNG signature. */
bool png_text_is(const char *path);
/* Reads the text with this key from a PNG file. The caller frees *text. Returns 0, or -1 with err set if the file
 * cannot be read or has no such text. */
int png_text_read(const char *path, const char *key, char **text, struct error *err);
/* Writes an RGBA picture with its texts. The compression is low, because that is fast. The caller closes the file.
 * Returns 0, or -1 with err set; the message does not name the file. */
int png_text_write(FILE *file, const struct frame *picture, const struct png_words *texts, int count,
                   struct error *err);

#endif
