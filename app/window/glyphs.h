/* Draws text on a surface with the built-in monospaced font. For a character that this font lacks, a font of the system
 * is searched for on another thread, one character at a time. Until one is found, and if none is, the character is
 * drawn as a box. Only the main thread calls this. */
#ifndef APP_WINDOW_GLYPHS_H
#define APP_WINDOW_GLYPHS_H

#include <SDL.h>
#include <stdbool.h>
#include <stddef.h>

#include "unet/base/error.h"

struct glyphs;

/* Opens the built-in font. Returns -1 and err on failure. The caller frees *glyphs with glyphs_close. */
int glyphs_open(struct glyphs **glyphs, struct error *err);
/* Frees everything. A search that is still running half a second later is abandoned: its thread frees its own memory.
 * Stores NULL; takes NULL. */
void glyphs_close(struct glyphs **glyphs);
/* Sets the font's size in pixels. Must be called before anything is drawn. */
void glyphs_set_size(struct glyphs *glyphs, int size);
int glyphs_advance(const struct glyphs *glyphs); /* pixels from one column (cells.h) to the next */
/* Draws text that begins at x, in a line whose top is at y. blend: the glyphs are blended with what the surface has;
 * otherwise they replace it. */
void glyphs_draw(struct glyphs *glyphs, SDL_Surface *surface, bool blend, int x, int y, SDL_Color color,
                 const char *text, size_t length);
/* Takes the result of a search that has ended. Returns true if text has to be drawn again because of it. */
bool glyphs_follow(struct glyphs *glyphs);

#endif
