/* Memory of a GPU imported into the OpenGL context that is current (GL_EXT_memory_object_fd), as buffers. */
#ifndef APP_WINDOW_IMPORT_GL_H
#define APP_WINDOW_IMPORT_GL_H

#include "app/window/import.h"

extern const struct import_impl import_gl; /* of no opaque pointer */

#endif
