/* Imports GPU memory into the current OpenGL context as buffers, with the extension GL_EXT_memory_object_fd. */
#ifndef APP_WINDOW_IMPORT_GL_H
#define APP_WINDOW_IMPORT_GL_H

#include "app/window/import.h"

/* the functions for import_open; the pointer `opaque` that they get may be NULL */
extern const struct import_impl import_gl;

#endif
