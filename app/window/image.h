/* A frame or picture as OpenGL has it: textures for its planes, filled from host memory or from GPU memory. Only the
 * main thread calls these functions; they need a current OpenGL context. */
#ifndef APP_WINDOW_IMAGE_H
#define APP_WINDOW_IMAGE_H

#include <epoxy/gl.h>
#include <stdbool.h>
#include <stdint.h>

#include "app/window/import.h"
#include "unet/base/picture.h"

/* The arrangements of a frame's samples in its planes, for which the shader input.frag computes colours in different
 * ways; the shader gets the number. */
enum plane_layout { LAYOUT_RGB, LAYOUT_Y_CBCR, LAYOUT_Y_CB_CR, LAYOUT_YUYV };

/* One frame or picture as OpenGL has it: up to three textures, one for each plane. */
struct image {
  GLuint texture[3];
  bool filled;
  /* format, size and colour space of the frame in the textures; its pointers to planes are not valid */
  struct frame frame;
};

/* Fills the textures with the left `columns` columns of a frame from host memory, and adds to *bytes how many bytes
 * were copied. Textures are created again only if format or size changes. Returns false, with the textures as they
 * were, if the frame has no pixels in host memory. */
bool image_upload(struct image *image, const struct frame *frame, int columns, uint64_t *bytes);
/* Lets the GPU fill the textures with the left `columns` columns of a frame from the frame's own GPU memory.
 * Returns false if import is NULL or the GPU cannot read the frame. */
bool image_share(struct import *import, struct image *image, const struct frame *frame, int columns);
/* Binds the textures of a filled image to texture units 0, 1 and 2. Returns how the components of colours (such as luma
 * and chroma) are arranged in the textures. */
enum plane_layout image_bind(const struct image *image);

#endif
