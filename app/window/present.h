/* Draws pictures into the window, scaled to fit, with black bars if the aspect ratios differ. A split view shows the
 * source's frame of the picture on the left. Shaders convert the frame's colours, so this takes none of the engine's
 * time. Only the main thread calls these functions; they need a current OpenGL context. */
#ifndef APP_WINDOW_PRESENT_H
#define APP_WINDOW_PRESENT_H

#include "app/control/cover.h"
#include "app/window/import.h"
#include "app/control/placement.h"
#include "unet/base/picture.h"
#include "unet/engine.h"

struct present;

struct present_view {
  int left, bottom;  /* position of the lower left corner of the view (rectangle in which a picture is shown) in the
                      * drawable, in pixels */
  int width, height; /* size of the view (rectangle in which a picture is shown) in pixels */
  /* width and height whose ratio is used as aspect ratio until there is a picture; 0: the aspect ratio of the view */
  int shape_w, shape_h;
  enum fit fit; /* how the engine fits frames into pictures: crop, bars or stretch */
  bool split;   /* true: the input frame is shown left of the split; must be false if the picture has no input frame */
  float split_at; /* position of the split, as a fraction of the picture's width from the left: 0 to 1 */
  /* true: pictures are enlarged by bicubic interpolation; false: bilinear */
  bool bicubic;
  /* Where the picture is shown in the view, such as a rotated part of it; borrowed. If it is not NULL, the view must
   * cover the whole window. NULL: the whole picture is shown in the middle of the view. */
  const struct placement *placement;
  float card; /* opacity of the test card over the picture, 0 to 1 */
  struct cover_levels cover;
};

/* Numbers of pictures by how OpenGL got their pixels, and the number of copied bytes. */
struct present_counts {
  /* shared: number of pictures read directly in GPU memory; uploaded: number of pictures copied from host memory */
  long shared, uploaded;
  uint64_t bytes; /* number of bytes copied from host memory, including input frames */
};

/* Allocates *present; the caller frees it with present_close. impl: functions that import pictures from GPU memory,
 * called with opaque; NULL: all pictures are uploaded. log may be NULL. log and impl must outlive *present. Returns 0,
 * or -1 with err. */
int present_open(struct present **present, const struct import_impl *impl, void *opaque, const struct log *log,
                 struct error *err);
void present_close(struct present **present); /* frees everything; *present becomes NULL; does nothing if it is NULL */

/* Returns true if OpenGL reads pictures in this GPU's memory directly; false: they are copied through host memory. */
bool present_shares(struct present *present, const struct gpu_id *gpu);
/* Returns the counts of pictures since present_open. */
struct present_counts present_count(const struct present *present);

/* Two functions that upload pixels to OpenGL, to be drawn later. present_picture uploads a new picture (PIXEL_RGBA),
 * and present_input the source's frame from which it was made (any format). part: fraction of the frame, from its left
 * edge, that is needed. Textures are created again only if format or size changes. If the pixels cannot be read, the
 * textures stay. */
void present_picture(struct present *present, const struct frame *picture);
void present_input(struct present *present, const struct frame *input, float part);
/* Uploads the source's frame that is drawn in place of pictures during a bypass (the source is shown, not the engine's
 * pictures). */
void present_source(struct present *present, const struct frame *source);
/* Uploads the test card (PIXEL_RGBA), which a view (rectangle in which a picture is shown) shows if its member card is
 * above 0. */
void present_card(struct present *present, const struct frame *card);
/* Keeps the textures of the picture that was uploaded last, to draw that picture during a freeze. */
void present_hold(struct present *present);

/* Clears the drawable, and draws the view (the window's rectangle for a picture). The frozen picture, the source
 * (bypass) and black (blackout) are mixed in as view->cover says. Before the first picture only the input frame is
 * drawn; if there is none, the view is black. */
void present_draw(struct present *present, const struct present_view *view);
/* Sends the drawing commands so far to the GPU (glFlush). Swapping buffers does not always send them at once, and does
 * nothing without a screen. */
void present_flush(void);

/* Reads `count` columns of the picture's pixels from the window. x: the columns' positions, 0 to 1 of the picture's
 * width. front: true: what was presented last (the front buffer), which not every system permits; false: what was drawn
 * last. rgba gets the columns one after the other, each from bottom to top. Waits for the GPU once. Returns the pixels
 * per column, at most `most`; 0: they cannot be read. */
int present_read_columns(const struct present *present, const struct present_view *view, bool front, const float *x,
                         int count, uint8_t *rgba, int most);

/* Reads the pixels that were drawn last in a drawable of this size: RGBA, rows from bottom to top. Returns 0, or -1 if
 * they cannot be read. */
int present_read(int width, int height, uint8_t *rgba);

/* Converts a point, in pixels of the drawable from its top left corner, to a position on the picture: 0 (left edge) to
 * 1 (right edge), clamped. y matters only if the user has moved or rotated the picture (view->placement). */
float present_locate(const struct present *present, const struct present_view *view, float x, float y);

#endif
