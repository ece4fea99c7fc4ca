#include "tests/bench/interop.h"

#include <stdio.h>
#include <string.h>

static SDL_Window *window;
GLuint texture, buffer_texture;
static GLuint target, framebuffer, arrays[2], program, buffer_program;
bool from_buffer;
static int context_now;
EGLDisplay display;
static EGLSurface surface;
EGLContext contexts[2];

static GLuint compile(GLenum kind, const char *text) {
  GLuint shader = glCreateShader(kind);
  GLint good;
  char words[400] = "";
  glShaderSource(shader, 1, &text, NULL);
  glCompileShader(shader);
  glGetShaderiv(shader, GL_COMPILE_STATUS, &good);
  glGetShaderInfoLog(shader, sizeof words, NULL, words);
  if (!good)
    printf("shader: %s\n", words);
  return shader;
}

static GLuint link_program(const char *fragment) {
  static const char vertex[] = "#version 330 core\nout vec2 at;\nvoid main() {\n"
                               "  at = vec2(gl_VertexID & 1, gl_VertexID >> 1);\n"
                               "  gl_Position = vec4(at * 2 - 1, 0, 1);\n}\n";
  GLuint made = glCreateProgram();
  glAttachShader(made, compile(GL_VERTEX_SHADER, vertex));
  glAttachShader(made, compile(GL_FRAGMENT_SHADER, fragment));
  glLinkProgram(made);
  return made;
}

void make_texture(void) {
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAX_LEVEL, 0);
}

void make_plain_texture(void) {
  make_texture();
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, SIDE, SIDE, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
}

/* Makes a framebuffer in the current context: contexts do not share framebuffers or vertex arrays. */
static GLuint make_framebuffer(void) {
  GLuint made;
  glGenFramebuffers(1, &made);
  glBindFramebuffer(GL_FRAMEBUFFER, made);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, target, 0);
  glBindFramebuffer(GL_FRAMEBUFFER, 0);
  return made;
}

static GLuint framebuffers[2];

void use_context(int i) {
  if (context_now != i && contexts[i] && !eglMakeCurrent(display, surface, surface, contexts[i]))
    printf("context %d cannot be current: EGL error 0x%x\n", i, eglGetError());
  context_now = i;
  glBindVertexArray(arrays[i]);
  framebuffer = framebuffers[i];
}

static void open_high(void) {
  display = eglGetCurrentDisplay();
  surface = eglGetCurrentSurface(EGL_DRAW);
  contexts[0] = eglGetCurrentContext();
  if (!contexts[0]) {
    printf("no EGL context: no high priority\n");
    return;
  }
  const char *extensions = eglQueryString(display, EGL_EXTENSIONS);
  printf("EGL %s, context_priority %s, realtime %s\n", eglQueryString(display, EGL_VERSION),
         strstr(extensions, "EGL_IMG_context_priority") ? "yes" : "no",
         strstr(extensions, "EGL_NV_context_priority_realtime") ? "yes" : "no");
  EGLint id, count, level = 0;
  EGLConfig config;
  eglQueryContext(display, contexts[0], EGL_CONTEXT_PRIORITY_LEVEL_IMG, &level);
  printf("priority of SDL's context 0x%x\n", level);
  eglQueryContext(display, contexts[0], EGL_CONFIG_ID, &id);
  eglChooseConfig(display, (EGLint[]){EGL_CONFIG_ID, id, EGL_NONE}, &config, 1, &count);
  contexts[1] = eglCreateContext(display, config, contexts[0],
                                 (EGLint[]){EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 3,
                                            EGL_CONTEXT_OPENGL_PROFILE_MASK, EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                                            EGL_CONTEXT_PRIORITY_LEVEL_IMG, EGL_CONTEXT_PRIORITY_HIGH_IMG, EGL_NONE});
  if (!contexts[1]) {
    printf("no context of high priority: EGL error 0x%x\n", eglGetError());
    return;
  }
  eglQueryContext(display, contexts[1], EGL_CONTEXT_PRIORITY_LEVEL_IMG, &level);
  printf("priority of a context that asks for high: 0x%x (high is 0x%x)\n", level, EGL_CONTEXT_PRIORITY_HIGH_IMG);
  if (!eglMakeCurrent(display, surface, surface, contexts[1])) {
    printf("high context cannot be current: EGL error 0x%x\n", eglGetError());
    contexts[1] = NULL;
    return;
  }
  context_now = 1;
  glGenVertexArrays(1, &arrays[1]);
  framebuffers[1] = make_framebuffer();
  use_context(0);
}

bool open_gl(void) {
  if (SDL_Init(SDL_INIT_VIDEO)) {
    printf("SDL: %s\n", SDL_GetError());
    return false;
  }
  SDL_GL_SetAttribute(SDL_GL_CONTEXT_MAJOR_VERSION, 3);
  SDL_GL_SetAttribute(SDL_GL_CONTEXT_MINOR_VERSION, 3);
  SDL_GL_SetAttribute(SDL_GL_CONTEXT_PROFILE_MASK, SDL_GL_CONTEXT_PROFILE_CORE);
  window = SDL_CreateWindow("interop", 0, 0, WINDOW_W, WINDOW_H, SDL_WINDOW_OPENGL);
  if (!window || !SDL_GL_CreateContext(window)) {
    printf("SDL: %s\n", SDL_GetError());
    return false;
  }
  SDL_GL_SetSwapInterval(0);
  printf("OpenGL %s, %s, SDL driver %s\n", glGetString(GL_VERSION), glGetString(GL_RENDERER),
         SDL_GetCurrentVideoDriver());
  static const char *const wanted[] = {"GL_EXT_memory_object", "GL_EXT_memory_object_fd", "GL_EXT_semaphore",
                                       "GL_EXT_semaphore_fd",  "GL_ARB_buffer_storage",   "GL_ARB_direct_state_access",
                                       "GL_OES_EGL_image",     "GL_NV_bindless_texture",  "GL_ARB_sync"};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    printf("%s %s; ", wanted[i], epoxy_has_gl_extension(wanted[i]) ? "yes" : "no");
  printf("\n");
  if (epoxy_has_gl_extension("GL_EXT_memory_object")) {
    GLint devices = 0;
    GLubyte uuid[16] = {0};
    glGetIntegerv(GL_NUM_DEVICE_UUIDS_EXT, &devices);
    glGetUnsignedBytei_vEXT(GL_DEVICE_UUID_EXT, 0, uuid);
    printf("GL uuid   ");
    for (int i = 0; i < 16; i++)
      printf("%02x", uuid[i]);
    printf(" (of %d)\n", devices);
  }
  program = link_program("#version 330 core\nin vec2 at;\nout vec4 color;\nuniform sampler2D from;\n"
                         "void main() { color = texture(from, at); }\n");
  buffer_program =
      link_program("#version 330 core\nin vec2 at;\nout vec4 color;\nuniform samplerBuffer from;\n"
                   "void main() { ivec2 p = ivec2(at * 512); color = texelFetch(from, p.y * 512 + p.x); }\n");
  glGenTextures(1, &target);
  glBindTexture(GL_TEXTURE_2D, target);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, SIDE, SIDE, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
  glGenVertexArrays(1, &arrays[0]);
  framebuffers[0] = make_framebuffer();
  use_context(0);
  open_high();
  return gl_ok("opening");
}

void draw(bool to_window) {
  glBindFramebuffer(GL_FRAMEBUFFER, to_window ? 0 : framebuffer);
  if (to_window)
    glViewport(0, 0, WINDOW_W, WINDOW_H);
  else
    glViewport(0, 0, SIDE, SIDE);
  glUseProgram(from_buffer ? buffer_program : program);
  if (from_buffer)
    glBindTexture(GL_TEXTURE_BUFFER, buffer_texture);
  else
    glBindTexture(GL_TEXTURE_2D, texture);
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
}

void swap(void) {
  if (context_now)
    eglSwapBuffers(display, surface);
  else
    SDL_GL_SwapWindow(window);
}

bool is_right(uint32_t seed) {
  static uint32_t read[PIXELS];
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, read);
  for (uint32_t i = 0; i < PIXELS; i++)
    if (read[i] != i * 0x9E3779B1u + seed)
      return false;
  return true;
}
