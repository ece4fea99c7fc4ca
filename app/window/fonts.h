/* Finds installed fonts for characters that the built-in font lacks. fonts_fontconfig.c asks the library fontconfig;
 * builds without it use fonts_paths.c, which tries files that usually have Chinese, Japanese and Korean characters. */
#ifndef APP_WINDOW_FONTS_H
#define APP_WINDOW_FONTS_H

#include <stdbool.h>
#include <stdint.h>

struct fonts;

struct font_file {
  char path[4096];
  int index; /* index of the font in the file, from 0 */
};

/* Reads the list of installed fonts, which may take seconds; any thread may call it. Returns NULL on failure. The
 * caller frees it with fonts_close. */
struct fonts *fonts_open(void);
void fonts_close(struct fonts **fonts); /* frees the list; *fonts becomes NULL; does nothing if it is NULL */
/* Stores the file of an installed font that may contain this character. number: which candidate, from 0, the best
 * first. Returns false if there are no more candidates. fonts may be NULL. */
bool fonts_find(const struct fonts *fonts, uint32_t character, int number, struct font_file *file);

#endif
