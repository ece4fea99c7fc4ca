/* Draws pictures into the window: scaled to fit, with black bars where the shapes differ, and beside the frame they
 * were made from. The frame's colours are converted by the GPU, so that the view costs the engine nothing. */
#ifndef APP_WINDOW_PRESENT_H
#define APP_WINDOW_PRESENT_H

#include "app/control/cover.h"
#include "unet/base/picture.h"
#include "unet/engine.h"

struct present;

struct present_view {
  int left, bottom;     /* of what is drawn in, in the drawable */
  int width, height;    /* of what is drawn in */
  int shape_w, shape_h; /* of the picture; read while there is none yet. 0: as the drawable */
  enum fit fit;         /* how the engine fits frames into pictures */
  bool split;           /* show the input on the left; false: none came with the picture */
  float split_at;       /* 0..1 of the picture's width */
  bool bicubic;
  struct cover_levels cover;
};

/* Needs a current context, as all functions here. */
int present_open(struct present **present, struct error *err);
void present_close(struct present **present); /* stores NULL; takes NULL */

/* Uploads a picture (PIXEL_RGBA) or the frame it was made from (any format). Textures are made anew only when format or
 * size changes. Pixels that cannot be read leave what is there. */
void present_picture(struct present *present, const struct frame *picture);
void present_input(struct present *present, const struct frame *input);
/* Likewise the frame that bypasses the engine. */
void present_source(struct present *present, const struct frame *source);
/* The picture uploaded last is what a cover holds from now on. */
void present_hold(struct present *present);

/* Clears the drawable and draws, with what the view's cover says over it. Before the first picture the input is shown
 * alone; without either it stays black. */
void present_draw(struct present *present, const struct present_view *view);

/* What a column of the picture, x from 0 to 1, looks like in the window: RGBA, from the lowest pixel up, of what was
 * presented last (front; not all systems let it be read) or what was drawn last. Waits until it is drawn. Returns how
 * many pixels, at most so many; 0: it cannot be read. */
int present_read_column(const struct present *present, const struct present_view *view, bool front, float x,
                        uint8_t *rgba, int most);

/* Where x, in pixels of the drawable, lies on the picture as this view has it: 0..1, clamped. */
float present_locate(const struct present *present, const struct present_view *view, float x);

#endif
