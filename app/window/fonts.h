/* Finds fonts of the system for characters that the built-in font lacks. fonts_fontconfig.c asks fontconfig;
 * fonts_paths.c, for builds without it, tries files that usually have Chinese, Japanese and Korean characters. */
#ifndef APP_WINDOW_FONTS_H
#define APP_WINDOW_FONTS_H

#include <stdbool.h>
#include <stdint.h>

struct fonts;

struct font_file {
  char path[4096];
  int index; /* number of the font within the file */
};

/* Reads the list of fonts, which may take seconds. Returns NULL on failure. The caller frees it with fonts_close. */
struct fonts *fonts_open(void);
void fonts_close(struct fonts **fonts); /* stores NULL; takes NULL */
/* Stores font `number` (from 0) of those that may have this character. Returns false if there are no more. Takes
 * NULL. */
bool fonts_find(const struct fonts *fonts, uint32_t character, int number, struct font_file *file);

#endif
