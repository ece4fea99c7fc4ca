/* Measures and draws text in the built-in proportional font, on one line and in three sizes. Characters that this font
 * lacks are drawn by glyphs.h. Only the main thread calls these functions; they need no OpenGL. */
#ifndef APP_WINDOW_LETTERING_H
#define APP_WINDOW_LETTERING_H

#include <SDL.h>
#include <stddef.h>

#include "app/window/glyphs.h"
#include "unet/base/error.h"

/* LETTERS_SMALL: for explanations; LETTERS_USUAL: for all else; LETTERS_LARGE: for what must be read from afar. */
enum letter_size { LETTERS_SMALL, LETTERS_USUAL, LETTERS_LARGE, LETTER_SIZES };

struct lettering;

/* Opens the font in all sizes. glyphs is borrowed and must outlive *lettering. Returns 0, or -1 with err. The caller
 * frees *lettering with lettering_close. */
int lettering_open(struct lettering **lettering, struct glyphs *glyphs, struct error *err);
void lettering_close(struct lettering **lettering); /* frees the fonts; *lettering becomes NULL; does nothing if it is
                                                     * NULL */
/* Sets the height in pixels of the font LETTERS_USUAL; the fonts of the other sizes change in proportion. */
void lettering_set_size(struct lettering *lettering, int size);
/* Returns the size in pixels of the font for this enum letter_size. */
int lettering_size(const struct lettering *lettering, enum letter_size size);
/* Returns the distance in pixels from the top to the bottom of a line in this font. */
int lettering_line(const struct lettering *lettering, enum letter_size size);
/* Returns the width of the text in pixels. length: number of bytes of text, in UTF-8. */
int lettering_width(const struct lettering *lettering, enum letter_size size, const char *text, size_t length);
/* Returns how many bytes from the beginning of the text, in whole characters, fit into `width` pixels. */
size_t lettering_fit(const struct lettering *lettering, enum letter_size size, const char *text, size_t length,
                     int width);
/* Draws the text on the surface, blended with what is there; the surface has 4 bytes a pixel and is opaque. x, y: left
 * end, and top of the line, in pixels. */
void lettering_draw(struct lettering *lettering, SDL_Surface *surface, int x, int y, enum letter_size size,
                    SDL_Color color, const char *text, size_t length);

#endif
