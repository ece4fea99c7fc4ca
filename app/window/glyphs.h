/* Draws text on an SDL surface with the built-in monospaced font. For a character that this font lacks, a background
 * thread searches the installed fonts, one character at a time; until a font is found, and if none is, the character is
 * drawn as a box. Only the main thread calls these functions. */
#ifndef APP_WINDOW_GLYPHS_H
#define APP_WINDOW_GLYPHS_H

#include <SDL.h>
#include <stdbool.h>
#include <stddef.h>

#include "unet/base/error.h"

struct glyphs;

/* Opens the built-in font. Returns 0, or -1 with err. The caller frees *glyphs with glyphs_close. */
int glyphs_open(struct glyphs **glyphs, struct error *err);
/* Frees the fonts and everything else. Waits up to half a second for a search that is running; if the search takes
 * longer, its thread frees the search's memory later. *glyphs becomes NULL; does nothing if it is NULL. */
void glyphs_close(struct glyphs **glyphs);
/* Sets the font's size in pixels. Called before anything is drawn. */
void glyphs_set_size(struct glyphs *glyphs, int size);
/* returns the width in pixels of a column, the space that an ordinary character takes (cells.h) */
int glyphs_advance(const struct glyphs *glyphs);
/* Draws a line of text at x, y (the left end and the top of the line, in pixels). length: number of bytes of text, in
 * UTF-8. blend true: characters are blended with what is on the surface; false: characters replace what is on the
 * surface. */
void glyphs_draw(struct glyphs *glyphs, SDL_Surface *surface, bool blend, int x, int y, SDL_Color color,
                 const char *text, size_t length);
/* Takes the result of a search for a font, if one has ended. Returns true if a font was found, so that text has to be
 * drawn again. */
bool glyphs_follow(struct glyphs *glyphs);

#endif
