/* Imports GPU memory into the current OpenGL context as buffers, with the extension GL_EXT_memory_object_fd. */
#ifndef APP_WINDOW_IMPORT_GL_H
#define APP_WINDOW_IMPORT_GL_H

#include "app/window/import.h"

/* The calls of OpenGL that import_open needs. Their argument `opaque` is not used and may be NULL. */
extern const struct import_impl import_gl;

#endif
