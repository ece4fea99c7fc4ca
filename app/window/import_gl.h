/* Imports GPU memory into the current OpenGL context as buffers, with the extension GL_EXT_memory_object_fd. */
#ifndef APP_WINDOW_IMPORT_GL_H
#define APP_WINDOW_IMPORT_GL_H

#include "app/window/import.h"

extern const struct import_impl import_gl; /* the functions for import_open; their opaque may be NULL */

#endif
