#include "app/window/gl_util.h"

static GLuint compile(GLenum type, const char *name, const char *text, struct error *err) {
  GLuint shader = glCreateShader(type);
  glShaderSource(shader, 1, &text, NULL);
  glCompileShader(shader);
  GLint done = 0;
  glGetShaderiv(shader, GL_COMPILE_STATUS, &done);
  if (done)
    return shader;
  char reason[400] = "";
  glGetShaderInfoLog(shader, sizeof reason, NULL, reason);
  glDeleteShader(shader);
  error_set(err, STATUS_OUTPUT, "the graphics driver refuses the shader %s: %s", name, reason);
  return 0;
}

GLuint gl_program(const char *name, const char *vertex, const char *fragment, struct error *err) {
  GLuint program = 0;
  GLuint vert = compile(GL_VERTEX_SHADER, name, vertex, err);
  GLuint frag = vert ? compile(GL_FRAGMENT_SHADER, name, fragment, err) : 0;
  if (frag) {
    program = glCreateProgram();
    glAttachShader(program, vert);
    glAttachShader(program, frag);
    glLinkProgram(program);
    GLint done = 0;
    glGetProgramiv(program, GL_LINK_STATUS, &done);
    if (!done) {
      char reason[400] = "";
      glGetProgramInfoLog(program, sizeof reason, NULL, reason);
      error_set(err, STATUS_OUTPUT, "the graphics driver cannot link the shader %s: %s", name, reason);
      glDeleteProgram(program);
      program = 0;
    }
  }
  glDeleteShader(frag);
  glDeleteShader(vert);
  return program;
}

GLuint gl_texture(GLint filter) {
  GLuint texture = 0;
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, filter);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, filter);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  return texture;
}

/* Reads OpenGL's error flags until none is set. OpenGL has at most one flag for each kind of error; the number of reads
 * is limited because some drivers report an error for ever once the context is lost. */
void gl_forget_errors(void) {
  enum { KINDS = 10 };
  for (int i = 0; i < KINDS && glGetError() != GL_NO_ERROR; i++)
    ;
}
