/* The few OpenGL pieces that the picture and the overlay share. A context must be current. */
#ifndef APP_WINDOW_GL_UTIL_H
#define APP_WINDOW_GL_UTIL_H

#include <epoxy/gl.h>

#include "unet/base/error.h"

/* Compiles and links; the shaders are GLSL 3.30 texts, name is for the message. Returns 0 and err on failure. */
GLuint gl_program(const char *name, const char *vertex, const char *fragment, struct error *err);

/* A texture without contents, clamped at its edges; filter GL_LINEAR or GL_NEAREST. */
GLuint gl_texture(GLint filter);

/* Those that calls so far have left behind, so that what is asked next is about the next call. */
void gl_forget_errors(void);

#endif
