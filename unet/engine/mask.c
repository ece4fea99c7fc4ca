/* The region that inpainting models repaint: a mask of any size and pixel format becomes one value for each pixel of a
 * picture. */
#include <stdlib.h>
#include <string.h>

#include "unet/base/picture.h"
#include "unet/engine/engine_impl.h"

/* Returns the brightness of a pixel: 0 to 1, or slightly outside for YUV of limited range. */
static float brightness(const struct frame *f, int x, int y) {
  const uint8_t *row = f->plane[0] + (ptrdiff_t)y * f->pitch[0], *p = row + (size_t)x * 4;
  bool full = f->range == RANGE_FULL;
  float luma;
  switch (f->format) {
  case PIXEL_RGBA:
    return (0.299f * p[0] + 0.587f * p[1] + 0.114f * p[2]) / 255;
  case PIXEL_BGRA:
    return (0.114f * p[0] + 0.587f * p[1] + 0.299f * p[2]) / 255;
  case PIXEL_P010:
    p = row + (size_t)x * 2;
    luma = (float)((p[0] | p[1] << 8) >> 6) / 4;
    return full ? luma * 4 / 1023 : (luma - 16) / 219;
  case PIXEL_YUYV:
    luma = row[(size_t)x * 2];
    break;
  default:
    luma = row[x];
  }
  return full ? luma / 255 : (luma - 16) / 219;
}

static bool has_alpha(const struct frame *f) {
  return f->format == PIXEL_RGBA || f->format == PIXEL_BGRA;
}

static bool is_kept(const struct frame *f, enum mask_channel channel, int x, int y) {
  if (channel == MASK_TRANSPARENT)
    return f->plane[0][(ptrdiff_t)y * f->pitch[0] + (ptrdiff_t)x * 4 + 3] >= 128;
  return brightness(f, x, y) < 0.5f;
}

static int copy_mask(struct mask *mask, const struct frame *frame, enum mask_channel channel, struct error *err) {
  size_t count = (size_t)frame->width * (size_t)frame->height;
  uint8_t *kept = realloc(mask->kept, count);
  if (!kept)
    return error_set(err, STATUS_FAILED, "out of memory");
  mask->kept = kept;
  mask->width = frame->width;
  mask->height = frame->height;
  mask->sample_aspect = frame->sample_aspect;
  for (int y = 0; y < frame->height; y++)
    for (int x = 0; x < frame->width; x++)
      *kept++ = is_kept(frame, channel, x, y);
  return 0;
}

int engine_set_mask(struct engine *engine, const struct frame *frame, enum mask_channel channel, struct error *err) {
  if (!engine->checkpoint->inpainting)
    return error_set(err, STATUS_USAGE, "%s: this model takes no mask: inpainting models do", engine->model_path);
  if (frame && (frame->width < 1 || frame->height < 1 || !frame->plane[0]))
    return error_set(err, STATUS_INPUT, "the mask has no pixels");
  if (frame && channel == MASK_TRANSPARENT && !has_alpha(frame))
    return error_set(err, STATUS_INPUT, "the mask has no alpha: its pixels are %s", frame_format_name(frame->format));
  if (frame && frame_wait(frame, MEMORY_HOST, err) < 0)
    return -1;
  if (frame && copy_mask(&engine->mask, frame, channel, err) < 0)
    return -1;
  if (!frame) {
    free(engine->mask.kept);
    engine->mask.kept = NULL;
  }
  engine->mask.version++;
  return 0;
}

/* Draws the mask into the destination rectangle of `out`, whose rows have `width` values. Each pixel takes the nearest
 * pixel of the source rectangle. */
static void resize(const struct mask *mask, const struct geometry *g, int width, float *out) {
  for (int y = 0; y < g->dest_h; y++) {
    int from_y = (int)(g->source_y + ((float)y + 0.5f) * g->source_h / (float)g->dest_h);
    const uint8_t *row = mask->kept + (size_t)(from_y < mask->height ? from_y : mask->height - 1) * (size_t)mask->width;
    for (int x = 0; x < g->dest_w; x++) {
      int from_x = (int)(g->source_x + ((float)x + 0.5f) * g->source_w / (float)g->dest_w);
      out[(size_t)(g->dest_y + y) * (size_t)width + (size_t)(g->dest_x + x)] =
          row[from_x < mask->width ? from_x : mask->width - 1];
    }
  }
}

int mask_write(struct engine *engine, struct prepared *prepared, struct error *err) {
  const struct mask *mask = &engine->mask;
  if (!prepared->kept || prepared->mask_version == mask->version)
    return 0;
  struct tensor to = prepared->noise.kept;
  size_t count = tensor_elements(to);
  for (size_t i = 0; i < count; i++)
    prepared->kept[i] = mask->kept ? 1 : 0;
  if (mask->kept) {
    const struct frame shape = {.width = mask->width, .height = mask->height, .sample_aspect = mask->sample_aspect};
    const struct geometry g = geometry_fit(engine->fit, &shape, &prepared->shape);
    resize(mask, &g, to.w, prepared->kept);
  }
  if (device_write(engine->device, prepared->program, to, 0, prepared->kept, count, err) < 0)
    return -1;
  prepared->mask_version = mask->version;
  return 0;
}
