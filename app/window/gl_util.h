/* Helper functions for OpenGL that present.c (draws the picture) and sheet.c (draws the overlay) share. They need a
 * current OpenGL context. */
#ifndef APP_WINDOW_GL_UTIL_H
#define APP_WINDOW_GL_UTIL_H

#include <epoxy/gl.h>

#include "unet/base/error.h"

/* Compiles and links two shaders, given as GLSL 3.30 source text. name: names the shaders in the error message. Returns
 * the OpenGL program, which the caller deletes; 0 with err on failure. */
GLuint gl_program(const char *name, const char *vertex, const char *fragment, struct error *err);

/* Returns a new texture without contents, clamped at its edges; the caller deletes it. filter: GL_LINEAR or
 * GL_NEAREST. */
GLuint gl_texture(GLint filter);

/* Clears OpenGL's error flags, so that the next glGetError only reports errors of later calls. */
void gl_forget_errors(void);

#endif
