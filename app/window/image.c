#include "app/window/image.h"

/* Format of a texture that holds one of a frame's planes. */
struct texture_format {
  int plane;
  GLint internal;
  GLenum format, type;
  int texel_bytes;
  /* the texture's width and height are those of the frame, divided by these numbers and rounded up */
  int divide_x, divide_y;
};

struct pixel_layout {
  enum plane_layout layout;
  int textures;
  struct texture_format texture[3];
};

/* How the planes of each pixel format become textures. YUYV's one plane fills two textures, so that luma and chroma can
 * both be interpolated. A texel of the luma texture is Y and the Cb or Cr after it; a texel of the chroma texture is
 * Y0, Cb, Y1, Cr. */
static const struct pixel_layout layouts[PIXEL_FORMATS] = {
    [PIXEL_NV12] = {LAYOUT_Y_CBCR,
                    2,
                    {{0, GL_R8, GL_RED, GL_UNSIGNED_BYTE, 1, 1, 1}, {1, GL_RG8, GL_RG, GL_UNSIGNED_BYTE, 2, 2, 2}}},
    [PIXEL_P010] = {LAYOUT_Y_CBCR,
                    2,
                    {{0, GL_R16, GL_RED, GL_UNSIGNED_SHORT, 2, 1, 1}, {1, GL_RG16, GL_RG, GL_UNSIGNED_SHORT, 4, 2, 2}}},
    [PIXEL_YUV420P] = {LAYOUT_Y_CB_CR,
                       3,
                       {{0, GL_R8, GL_RED, GL_UNSIGNED_BYTE, 1, 1, 1},
                        {1, GL_R8, GL_RED, GL_UNSIGNED_BYTE, 1, 2, 2},
                        {2, GL_R8, GL_RED, GL_UNSIGNED_BYTE, 1, 2, 2}}},
    [PIXEL_YUYV] = {LAYOUT_YUYV,
                    2,
                    {{0, GL_RG8, GL_RG, GL_UNSIGNED_BYTE, 2, 1, 1}, {0, GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE, 4, 2, 1}}},
    [PIXEL_BGRA] = {LAYOUT_RGB, 1, {{0, GL_RGBA8, GL_BGRA, GL_UNSIGNED_BYTE, 4, 1, 1}}},
    [PIXEL_RGBA] = {LAYOUT_RGB, 1, {{0, GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE, 4, 1, 1}}},
};

/* Returns true if the textures exist and have the format and size of this frame. */
static bool suits(const struct image *image, const struct frame *frame) {
  return image->filled && image->frame.format == frame->format && image->frame.width == frame->width &&
         image->frame.height == frame->height;
}

/* Sets the distance between rows (pitch) in texels for the next upload, unless *told, the value that was set last, is
 * equal. */
static void tell_pitch(int pitch, int width, int *told) {
  int wanted = pitch == width ? 0 : pitch;
  if (wanted != *told)
    glPixelStorei(GL_UNPACK_ROW_LENGTH, wanted);
  *told = wanted;
}

/* Fills the textures with the left `columns` columns of the frame. from: addresses of the planes in host memory, or
 * their offsets in the OpenGL buffer that is bound. */
static void fill(struct image *image, const struct frame *frame, int columns, const uint8_t *const from[]) {
  const struct pixel_layout *layout = &layouts[frame->format];
  bool same = suits(image, frame);
  int pitch = 0;
  for (int i = 0; i < layout->textures; i++) {
    const struct texture_format *t = &layout->texture[i];
    int width = (frame->width + t->divide_x - 1) / t->divide_x, some = (columns + t->divide_x - 1) / t->divide_x;
    int height = (frame->height + t->divide_y - 1) / t->divide_y;
    const uint8_t *pixels = from[t->plane];
    glBindTexture(GL_TEXTURE_2D, image->texture[i]);
    tell_pitch(frame->pitch[t->plane] / t->texel_bytes, some, &pitch);
    if (!same)
      glTexImage2D(GL_TEXTURE_2D, 0, t->internal, width, height, 0, t->format, t->type, some == width ? pixels : NULL);
    if (same || some < width)
      glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, some, height, t->format, t->type, pixels);
  }
  tell_pitch(0, 0, &pitch);
  image->frame = *frame;
  image->filled = true;
}

/* Fills the textures with the left `columns` columns of a frame from host memory. Returns false if the frame has no
 * pixels in host memory. */
bool image_upload(struct image *image, const struct frame *frame, int columns, uint64_t *bytes) {
  if (frame_wait(frame, MEMORY_HOST, NULL) < 0)
    return false;
  const uint8_t *const from[3] = {frame->plane[0], frame->plane[1], frame->plane[2]};
  fill(image, frame, columns, from);
  for (int plane = 0; plane < frame_planes(frame->format); plane++)
    *bytes += (uint64_t)frame_row_bytes(frame->format, plane, columns) *
              (uint64_t)frame_rows(frame->format, plane, frame->height);
  return true;
}

/* Lets the GPU fill the textures from the frame's GPU memory. The first time all columns are filled, because textures
 * cannot be created without contents while a buffer is bound: NULL then means offset 0. Returns false if the GPU cannot
 * read the frame. */
bool image_share(struct import *import, struct image *image, const struct frame *frame, int columns) {
  if (!import)
    return false;
  import_follow(import);
  unsigned buffer = import_take(import, frame);
  if (!buffer)
    return false;
  uint8_t *const *planes = (uint8_t *const *)frame->picture->device_plane;
  const uint8_t *from[3] = {0};
  for (int plane = 1; plane < frame_planes(frame->format); plane++)
    from[plane] = (const uint8_t *)(uintptr_t)(planes[plane] - planes[0]);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer);
  fill(image, frame, suits(image, frame) ? columns : frame->width, from);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  import_told(import, frame);
  return true;
}

enum plane_layout image_bind(const struct image *image) {
  const struct pixel_layout *layout = &layouts[image->frame.format];
  for (int i = layout->textures - 1; i >= 0; i--) {
    glActiveTexture(GL_TEXTURE0 + (GLenum)i);
    glBindTexture(GL_TEXTURE_2D, image->texture[i]);
  }
  return layout->layout;
}
