/* Fonts of the system for characters that the built-in one lacks: through fontconfig, or without it (fonts_paths.c)
 * where fonts with Chinese, Japanese and Korean characters usually lie. */
#ifndef APP_WINDOW_FONTS_H
#define APP_WINDOW_FONTS_H

#include <stdbool.h>
#include <stdint.h>

struct fonts;

struct font_file {
  char path[4096];
  int index; /* of the font in the file */
};

/* NULL: there are none. */
struct fonts *fonts_open(void);
void fonts_close(struct fonts **fonts); /* stores NULL; takes NULL */
/* The font of that number, from 0, that may have this character. False: there are no more. Takes NULL. */
bool fonts_find(const struct fonts *fonts, uint32_t character, int number, struct font_file *file);

#endif
