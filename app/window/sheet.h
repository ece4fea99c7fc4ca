/* Sheets of text and rectangles: drawn by the CPU with SDL_ttf when what they say changes, shown by OpenGL. A context
 * must be current for all but what draws on a sheet. */
#ifndef APP_WINDOW_SHEET_H
#define APP_WINDOW_SHEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/window/hud_text.h"
#include "unet/base/error.h"

/* The type, which is monospaced, and what shows sheets. */
struct typeface;

int typeface_open(struct typeface **face, struct error *err);
void typeface_close(struct typeface **face); /* stores NULL; takes NULL */
/* The size of type that suits a drawable of this height. Returns whether it changed. */
bool typeface_fit(struct typeface *face, int height);
/* Whether sheets would look different by now, because of fonts that were looked for. */
bool typeface_follow(struct typeface *face);
/* In pixels. */
int typeface_size(const struct typeface *face);
int typeface_advance(const struct typeface *face); /* from character to character */
int typeface_line(const struct typeface *face);    /* from line to line */
int typeface_width(const struct typeface *face, const char *text, size_t length);

struct color {
  uint8_t red, green, blue, alpha;
};

/* Zero-initialise to start. */
struct sheet {
  unsigned texture;
  int width, height;           /* 0: nothing to show */
  struct SDL_Surface *surface; /* while it is drawn on */
  bool filled;                 /* with a ground */
};

void sheet_close(struct sheet *sheet);
/* Begins anew; ground alpha 0: glyphs alone. False, with an empty sheet: there is no memory. */
bool sheet_begin(struct sheet *sheet, int width, int height, struct color ground);
void sheet_fill(struct sheet *sheet, int x, int y, int width, int height, struct color color);
/* Text of at most so many columns; what is longer ends in an ellipsis. Returns how many columns it takes. */
int sheet_text(struct sheet *sheet, const struct typeface *face, int x, int y, int columns, enum tone tone,
               const char *text, size_t length);
void sheet_end(struct sheet *sheet);

/* shade: how dark the panel under glyphs without ground is. */
struct sheet_place {
  int left, top;
  float shade, radius;
};
void sheet_show(const struct sheet *sheet, const struct typeface *face, const struct sheet_place *place,
                int drawable_width, int drawable_height);

#endif
