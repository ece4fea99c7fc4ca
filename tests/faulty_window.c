/* What makes the program's window faulty: while there is a file of the name in REVERIE_FAULT_GL, the driver says that
 * the OpenGL context was lost, and makes no other. */
#include <SDL.h>
#include <epoxy/gl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

SDL_GLContext __real_SDL_GL_CreateContext(SDL_Window *window);
SDL_GLContext __wrap_SDL_GL_CreateContext(SDL_Window *window);

static bool is_lost(void) {
  const char *path = getenv("REVERIE_FAULT_GL");
  return path && !access(path, F_OK);
}

static GLenum status(void) {
  return is_lost() ? GL_UNKNOWN_CONTEXT_RESET : GL_NO_ERROR;
}

SDL_GLContext __wrap_SDL_GL_CreateContext(SDL_Window *window) {
  if (!is_lost())
    return __real_SDL_GL_CreateContext(window);
  SDL_SetError("refused, as it was told to");
  return NULL;
}

/* libepoxy calls OpenGL by pointers, which it fills when they are used first. */
__attribute__((constructor)) static void put_status(void) {
  epoxy_glGetGraphicsResetStatus = status;
}
