/* Computes which rectangle of a frame, of any aspect ratio, becomes visible, and which rectangle of the picture it
 * fills. */
#include "unet/engine/engine_impl.h"

static struct geometry fit_picture(enum fit fit, const struct frame *frame, const struct frame_shape *shape) {
  int width = shape->picture_width, height = shape->picture_height;
  float w = (float)frame->width, h = (float)frame->height;
  struct geometry g = {0, 0, w, h, 0, 0, width, height};
  double shown = frame_aspect(frame);
  /* by how much the frame is wider than the picture: the quotient of their aspect ratios, both as they are shown */
  float wider = (float)(shape->aspect > 0 ? shown / shape->aspect : shown * height / width);
  if (fit == FIT_CROP) {
    g.source_w = wider > 1 ? w / wider : w;
    g.source_h = wider > 1 ? h : h * wider;
    g.source_x = (w - g.source_w) / 2;
    g.source_y = (h - g.source_h) / 2;
  } else if (fit == FIT_LETTERBOX) {
    int dest_w = wider > 1 ? width : (int)((float)width * wider + 0.5f);
    int dest_h = wider > 1 ? (int)((float)height / wider + 0.5f) : height;
    g.dest_w = dest_w < 1 ? 1 : dest_w;
    g.dest_h = dest_h < 1 ? 1 : dest_h;
    g.dest_x = (width - g.dest_w) / 2;
    g.dest_y = (height - g.dest_h) / 2;
  }
  return g;
}

/* Extends the rectangles in the frame and in the picture along one axis, to all pixels that the networks compute. Those
 * are a multiple of model_size_multiple, so they may be more than the picture has; the surplus is cropped later. Only a
 * rectangle that reaches the picture's end is extended. The one in the frame grows in proportion: the surplus shows
 * more of the source, or repeats its edge. */
static void extend(float *source_size, int dest, int *dest_size, int picture, int all) {
  if (dest + *dest_size < picture)
    return;
  *source_size = (float)((double)*source_size * (all - dest) / *dest_size);
  *dest_size = all - dest;
}

struct geometry geometry_fit(enum fit fit, const struct frame *frame, const struct frame_shape *shape) {
  struct geometry g = fit_picture(fit, frame, shape);
  extend(&g.source_w, g.dest_x, &g.dest_w, shape->picture_width, shape->width);
  extend(&g.source_h, g.dest_y, &g.dest_h, shape->picture_height, shape->height);
  return g;
}
