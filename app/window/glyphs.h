/* Glyphs on a surface: the built-in monospaced font, and of the system's fonts those that have what it lacks, which are
 * looked for when they are first needed, one character after the other. What no font has is a box, and so is what is
 * looked for. The main thread's. */
#ifndef APP_WINDOW_GLYPHS_H
#define APP_WINDOW_GLYPHS_H

#include <SDL.h>
#include <stdbool.h>
#include <stddef.h>

#include "unet/base/error.h"

struct glyphs;

int glyphs_open(struct glyphs **glyphs, struct error *err);
/* Does not wait long for fonts that are being looked for: a thread that reads them is left alone. Stores NULL; takes
 * NULL. */
void glyphs_close(struct glyphs **glyphs);
/* The size of type in pixels, before anything is drawn. */
void glyphs_set_size(struct glyphs *glyphs, int size);
int glyphs_advance(const struct glyphs *glyphs); /* pixels from column to column (cells.h) */
/* Text from x on, with its line's top at y. blend: over what is there; else in its place. */
void glyphs_draw(struct glyphs *glyphs, SDL_Surface *surface, bool blend, int x, int y, SDL_Color color,
                 const char *text, size_t length);
/* Whether it is known since the last call which font has what was looked for: text is to be drawn anew. */
bool glyphs_follow(struct glyphs *glyphs);

#endif
