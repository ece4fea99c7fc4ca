/* A sheet is a texture with text and rectangles, for one panel of the overlay. The processor draws a sheet with SDL_ttf
 * when the panel's contents change, and OpenGL shows the sheet. All functions need a current OpenGL context, except
 * sheet_begin, sheet_clip, sheet_fill and sheet_text. */
#ifndef APP_WINDOW_SHEET_H
#define APP_WINDOW_SHEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/window/hud_text.h"
#include "app/window/lettering.h"
#include "unet/base/error.h"

/* The monospaced and the proportional font, and the shader that shows sheets (textures with text). */
struct typeface;

/* Opens font and shader. Returns 0, or -1 with err. The caller frees *face with typeface_close. */
int typeface_open(struct typeface **face, struct error *err);
void typeface_close(struct typeface **face); /* frees font and shader; *face becomes NULL; does nothing if it is NULL */
/* Sets the font size in pixels. Returns true if it has changed. */
bool typeface_set_size(struct typeface *face, int size);
/* Returns the proportional font, for measuring. It lives as long as the typeface. */
const struct lettering *typeface_lettering(const struct typeface *face);
/* Returns true if sheets have to be drawn again, because an installed font was found for a character that the built-in
 * font lacks (glyphs_follow). */
bool typeface_follow(struct typeface *face);
/* Four functions that return lengths in pixels: the font's size, the width of a character column, the distance between
 * lines, and the width of a text. */
int typeface_size(const struct typeface *face);
int typeface_advance(const struct typeface *face); /* Returns the width in pixels of a character column. */
/* Returns the distance in pixels from one line of text to the next. */
int typeface_line(const struct typeface *face);
int typeface_width(const struct typeface *face, const char *text, size_t length);

struct color {
  uint8_t red, green, blue, alpha;
};

enum { SHEET_PARTS = 4 };

/* A rectangle in pixels from a sheet's top left corner, to_x and to_y excluded. */
struct sheet_part {
  int from_x, from_y, to_x, to_y;
};

/* A texture with text for one panel of the overlay. Zero-initialise to start. */
struct sheet {
  unsigned texture;
  int width, height; /* size in pixels; 0: the sheet is empty */
  int texture_width, texture_height;
  long drawn;                  /* number of times that the sheet was drawn */
  struct SDL_Surface *surface; /* memory in which the sheet is drawn; kept for the next time */
  bool filled;                 /* true: the sheet has a background colour; false: it is transparent */
  /* the parts that were drawn since sheet_begin or sheet_resume */
  struct sheet_part part[SHEET_PARTS];
  int parts;
};

/* Frees the sheet's texture; the sheet is empty then. */
void sheet_close(struct sheet *sheet);
/* Starts to draw the sheet's new contents. ground: background colour; alpha 0: transparent. Returns false, and leaves
 * the sheet empty, if the size is 0 or no memory is left. */
bool sheet_begin(struct sheet *sheet, int width, int height, struct color ground);
/* Starts to draw parts of the sheet again, over its present contents; the caller reports each part with sheet_touch.
 * Returns false if the sheet is empty or has another size, so that sheet_begin is needed. */
bool sheet_resume(struct sheet *sheet, int width, int height);
/* Marks this rectangle (in pixels from the sheet's top left corner) as newly drawn, after sheet_begin or sheet_resume.
 * After sheet_resume only such rectangles are copied to the texture. Rectangles that meet become one part of the sheet,
 * and those for which there is no part left are added to the last one. */
void sheet_touch(struct sheet *sheet, int x, int y, int width, int height);
/* Limits all drawing, up to the next call of this function, sheet_begin or sheet_resume, to this part of the sheet. If
 * there are not so many parts, nothing is drawn. */
void sheet_clip(struct sheet *sheet, int part);
/* Fills a rectangle of the sheet with the colour, in pixels from the top left corner, without blending. */
void sheet_fill(struct sheet *sheet, int x, int y, int width, int height, struct color color);
/* Draws text at x, y (pixels from the sheet's top left corner), at most `columns` character columns; longer text is cut
 * and ends with an ellipsis. length: number of bytes of text, in UTF-8. Returns how many columns were drawn. */
int sheet_text(struct sheet *sheet, const struct typeface *face, int x, int y, int columns, enum tone tone,
               const char *text, size_t length);
/* Draws text in the proportional font at x, y, at most `width` pixels wide; longer text is cut and ends with an
 * ellipsis. Only for sheets with a background colour. Returns the width of what was drawn. */
int sheet_letters(struct sheet *sheet, const struct typeface *face, int x, int y, int width, enum letter_size size,
                  struct color color, const char *text, size_t length);
/* Ends drawing: copies the drawn contents to the sheet's texture. */
void sheet_end(struct sheet *sheet);

/* Where and how a sheet (texture with a panel of text) is shown. left, top: position in pixels from the drawable's top
 * left corner; shade: how much the picture under a transparent sheet is darkened, 0 to 1; radius: radius of the
 * sheet's corners, in pixels. */
struct sheet_place {
  int left, top;
  float shade, radius;
};
/* Draw sheets (textures with text) in the current window: sheets_begin, with the size of the window's drawable in
 * pixels; then sheets_put for each sheet, which covers the sheets drawn before and does nothing if the sheet is empty;
 * then sheets_end. */
void sheets_begin(const struct typeface *face, int drawable_width, int drawable_height);
void sheets_put(const struct sheet *sheet, const struct typeface *face, const struct sheet_place *place);
void sheets_end(void);

#endif
