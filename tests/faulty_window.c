/* What makes the program's window faulty: while there is a file of the name in REVERIE_FAULT_GL, the driver says that
 * the OpenGL context was lost, and makes no other.
 *
 * And what tells of it: in the file of the name in REVERIE_TOLD_TEXT is whether keys go to input methods now. */
#include <SDL.h>
#include <epoxy/gl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

SDL_GLContext __real_SDL_GL_CreateContext(SDL_Window *window);
SDL_GLContext __wrap_SDL_GL_CreateContext(SDL_Window *window);

void __real_SDL_StartTextInput(void);
void __wrap_SDL_StartTextInput(void);
void __real_SDL_StopTextInput(void);
void __wrap_SDL_StopTextInput(void);

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

static void tell_text(const char *words) {
  const char *path = getenv("REVERIE_TOLD_TEXT");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (!file)
    return;
  fputs(words, file);
  fclose(file);
}

void __wrap_SDL_StartTextInput(void) {
  __real_SDL_StartTextInput();
  tell_text("on");
}

void __wrap_SDL_StopTextInput(void) {
  __real_SDL_StopTextInput();
  tell_text("off");
}

/* libepoxy calls OpenGL by pointers, which it fills when they are used first. */
__attribute__((constructor)) static void put_status(void) {
  epoxy_glGetGraphicsResetStatus = status;
}
