/* Helpers for OpenGL that the picture and the overlay share. They need a current context. */
#ifndef APP_WINDOW_GL_UTIL_H
#define APP_WINDOW_GL_UTIL_H

#include <epoxy/gl.h>

#include "unet/base/error.h"

/* Compiles and links two shaders, which are GLSL 3.30 texts. name is for the error message. Returns the program, or 0
 * and err on failure. */
GLuint gl_program(const char *name, const char *vertex, const char *fragment, struct error *err);

/* Returns a new texture without contents, clamped at its edges. filter is GL_LINEAR or GL_NEAREST. */
GLuint gl_texture(GLint filter);

/* Clears OpenGL's error flags, so that glGetError tells of the next call only. */
void gl_forget_errors(void);

#endif
