/* Draws pictures into the window: scaled to fit, with black bars where the shapes differ, and beside the frame they
 * were made from. The frame's colours are converted by the GPU, so that the view costs the engine nothing. */
#ifndef APP_WINDOW_PRESENT_H
#define APP_WINDOW_PRESENT_H

#include "app/control/cover.h"
#include "app/window/import.h"
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

/* What came to be drawn, and by which way. */
struct present_counts {
  long shared, uploaded; /* pictures: read where they lay; copied from the host's memory */
  uint64_t bytes;        /* copied from there, frames beside pictures too */
};

/* Needs a current context, as all functions here. impl: what imports pictures from a GPU's memory; NULL: nothing does,
 * and all are uploaded. opaque is its own. log may be NULL; it and impl must last. */
int present_open(struct present **present, const struct import_impl *impl, void *opaque, const struct log *log,
                 struct error *err);
void present_close(struct present **present); /* stores NULL; takes NULL */

/* Whether pictures in this GPU's memory are read there. If not, they come through the host's. */
bool present_shares(struct present *present, const struct gpu_id *gpu);
struct present_counts present_count(const struct present *present);

/* Takes a picture (PIXEL_RGBA) over or the frame it was made from (any format), of which the left part may be enough:
 * 1 is all of its width. Textures are made anew only when format or size changes. Pixels that cannot be read leave what
 * is there. */
void present_picture(struct present *present, const struct frame *picture);
void present_input(struct present *present, const struct frame *input, float part);
/* Likewise the frame that bypasses the engine. */
void present_source(struct present *present, const struct frame *source);
/* The picture uploaded last is what a cover holds from now on. */
void present_hold(struct present *present);

/* Clears the drawable and draws, with what the view's cover says over it. Before the first picture the input is shown
 * alone; without either it stays black. */
void present_draw(struct present *present, const struct present_view *view);
/* Gives the GPU what was drawn in the window in use: a swap may come later, or do nothing where there is no screen. */
void present_flush(void);

/* What columns of the picture, x from 0 to 1, look like in the window: RGBA, from the lowest pixel up, one column
 * behind the other, of what was presented last (front; not all systems let it be read) or what was drawn last. Waits
 * until it is drawn, once. Returns how many pixels a column has, at most so many; 0: they cannot be read. */
int present_read_columns(const struct present *present, const struct present_view *view, bool front, const float *x,
                         int count, uint8_t *rgba, int most);

/* What was drawn last, all of a drawable of this size: RGBA, from the lowest row up. -1: it cannot be read. */
int present_read(int width, int height, uint8_t *rgba);

/* Where x, in pixels of the drawable, lies on the picture as this view has it: 0..1, clamped. */
float present_locate(const struct present *present, const struct present_view *view, float x);

#endif
