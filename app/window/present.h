/* Draws pictures into the window: scaled to fit, with black bars if the shapes differ, and with the frame that a
 * picture was made from on the left if the view is split. Shaders convert the frame's colours, so that this costs the
 * engine no time. Only the main thread calls this. */
#ifndef APP_WINDOW_PRESENT_H
#define APP_WINDOW_PRESENT_H

#include "app/control/cover.h"
#include "app/window/import.h"
#include "unet/base/picture.h"
#include "unet/engine.h"

struct present;

struct present_view {
  int left, bottom;     /* position of the view in the drawable */
  int width, height;    /* size of the view */
  int shape_w, shape_h; /* shape of the picture, used as long as there is none; 0: the view's own shape */
  enum fit fit;         /* how the engine fits frames into pictures */
  bool split;           /* show the input on the left; must be false if the picture has no input */
  float split_at;       /* right edge of the input, 0 to 1 of the picture's width */
  /* enlarge pictures by bicubic interpolation */
  bool bicubic;
  struct cover_levels cover;
};

/* Counts of pictures that were taken, by the way in which OpenGL got their pixels. */
struct present_counts {
  long shared, uploaded; /* pictures that were read in GPU memory; pictures that were copied from the host's */
  uint64_t bytes;        /* bytes copied from the host's memory, those of input frames included */
};

/* Allocates *present. All functions here need a current context. impl imports pictures from GPU memory, and opaque is
 * passed to it; NULL: all pictures are uploaded. log may be NULL. log and impl must outlive it. */
int present_open(struct present **present, const struct import_impl *impl, void *opaque, const struct log *log,
                 struct error *err);
void present_close(struct present **present); /* stores NULL; takes NULL */

/* Returns true if pictures in this GPU's memory are read directly. If not, they are copied through the host's
 * memory. */
bool present_shares(struct present *present, const struct gpu_id *gpu);
/* Returns the counts since present_open. */
struct present_counts present_count(const struct present *present);

/* Take the pixels of a new picture (PIXEL_RGBA) or of the frame that it was made from (any format). part: how much of
 * the frame is needed, from the left; 1: all of it. Textures are created again only if format or size changes. If the
 * pixels cannot be read, the previous ones stay. */
void present_picture(struct present *present, const struct frame *picture);
void present_input(struct present *present, const struct frame *input, float part);
/* Takes the source's frame that is shown instead of pictures while the engine is bypassed. */
void present_source(struct present *present, const struct frame *source);
/* Makes the picture taken last the one that a freeze holds. */
void present_hold(struct present *present);

/* Clears the drawable and draws the view with its cover. Before the first picture only the input is shown; without
 * either the view stays black. */
void present_draw(struct present *present, const struct present_view *view);
/* Sends the drawing commands for the current window to the GPU. Swapping does not always do that: it may come later,
 * and without a screen it does nothing. */
void present_flush(void);

/* Reads `count` columns of the picture as the window shows it. x: their positions, 0 to 1. front: what was presented
 * last is read, which not every system permits; otherwise what was drawn last. rgba gets one column after the other,
 * each from bottom to top. Waits once until the drawing is done. Returns the number of pixels of a column, at most
 * `most`; 0: they cannot be read. */
int present_read_columns(const struct present *present, const struct present_view *view, bool front, const float *x,
                         int count, uint8_t *rgba, int most);

/* Reads all that was drawn last, in a drawable of this size: RGBA, rows from the bottom to the top. Returns -1 if that
 * cannot be read. */
int present_read(int width, int height, uint8_t *rgba);

/* Converts x, in pixels of the drawable, to a position on the picture in this view: 0 to 1, clamped. */
float present_locate(const struct present *present, const struct present_view *view, float x);

#endif
