/* Sheets of text and rectangles. The CPU draws them with SDL_ttf when their contents change, and OpenGL shows them as
 * textures. All functions but those that draw on a sheet (sheet_begin, sheet_fill, sheet_text) need a current
 * context. */
#ifndef APP_WINDOW_SHEET_H
#define APP_WINDOW_SHEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/window/hud_text.h"
#include "unet/base/error.h"

/* The monospaced font, and the shader that shows sheets. */
struct typeface;

/* Opens the font and the shader. Returns -1 and err on failure. */
int typeface_open(struct typeface **face, struct error *err);
void typeface_close(struct typeface **face); /* stores NULL; takes NULL */
/* Sets the font size that suits a drawable of this height. Returns true if it changed. */
bool typeface_fit(struct typeface *face, int height);
/* Returns true if sheets have to be drawn again because a font was found for a character that had none
 * (glyphs_follow). */
bool typeface_follow(struct typeface *face);
/* All in pixels: the font's size, and the distances and widths of text in it. */
int typeface_size(const struct typeface *face);
int typeface_advance(const struct typeface *face); /* from one column to the next */
int typeface_line(const struct typeface *face);    /* from one line to the next */
int typeface_width(const struct typeface *face, const char *text, size_t length);

struct color {
  uint8_t red, green, blue, alpha;
};

/* Zero-initialise to start. */
struct sheet {
  unsigned texture;
  int width, height;           /* 0: the sheet is empty */
  struct SDL_Surface *surface; /* valid from sheet_begin to sheet_end */
  bool filled;                 /* the sheet has a background colour */
};

/* Frees the texture. */
void sheet_close(struct sheet *sheet);
/* Starts to draw a new sheet. ground is the background; with alpha 0 there is none. Returns false, with an empty sheet,
 * if the size is 0 or no memory is left. */
bool sheet_begin(struct sheet *sheet, int width, int height, struct color ground);
/* Fills a rectangle of the sheet, without blending. */
void sheet_fill(struct sheet *sheet, int x, int y, int width, int height, struct color color);
/* Draws text of at most this many columns; longer text is cut and ends with an ellipsis. Returns how many columns it
 * takes. */
int sheet_text(struct sheet *sheet, const struct typeface *face, int x, int y, int columns, enum tone tone,
               const char *text, size_t length);
/* Ends the drawing: copies the sheet to its texture. */
void sheet_end(struct sheet *sheet);

/* Position of a sheet. shade: how dark the area under a sheet without background becomes; radius: of its corners. */
struct sheet_place {
  int left, top;
  float shade, radius;
};
/* Draws the sheet in a drawable of this size. Does nothing if it is empty. */
void sheet_show(const struct sheet *sheet, const struct typeface *face, const struct sheet_place *place,
                int drawable_width, int drawable_height);

#endif
