#include "app/window/context.h"

#include <epoxy/gl.h>
#include <string.h>

static const int64_t look_ns = 100000000;

static bool tells_resets(void) {
  return epoxy_gl_version() >= 45 || epoxy_has_gl_extension("GL_KHR_robustness") ||
         epoxy_has_gl_extension("GL_ARB_robustness");
}

static SDL_GLContext create(SDL_Window *window) {
  SDL_GL_SetAttribute(SDL_GL_CONTEXT_MAJOR_VERSION, 3);
  SDL_GL_SetAttribute(SDL_GL_CONTEXT_MINOR_VERSION, 3);
  SDL_GL_SetAttribute(SDL_GL_CONTEXT_PROFILE_MASK, SDL_GL_CONTEXT_PROFILE_CORE);
  SDL_GL_SetAttribute(SDL_GL_CONTEXT_RESET_NOTIFICATION, SDL_GL_CONTEXT_RESET_LOSE_CONTEXT);
  SDL_GLContext gl = SDL_GL_CreateContext(window);
  if (gl)
    return gl;
  SDL_GL_SetAttribute(SDL_GL_CONTEXT_RESET_NOTIFICATION, SDL_GL_CONTEXT_RESET_NO_NOTIFICATION);
  return SDL_GL_CreateContext(window);
}

int context_open(struct context *context, SDL_Window *window, struct error *err) {
  *context = (struct context){.gl = create(window)};
  if (!context->gl)
    return error_set(err, STATUS_OUTPUT, "OpenGL 3.3: %s", SDL_GetError());
  if (epoxy_gl_version() < 33) {
    error_set(err, STATUS_OUTPUT, "it needs OpenGL 3.3, and here is %s", (const char *)glGetString(GL_VERSION));
    context_close(context);
    return -1;
  }
  /* Adaptive synchronisation (-1) is preferred: a frame that misses a refresh is shown at once, torn, and not at the
   * next refresh. Drivers without it use ordinary synchronisation (1). */
  context->interval = SDL_GL_SetSwapInterval(-1) ? 1 : -1;
  SDL_GL_SetSwapInterval(context->interval);
  const char *renderer = (const char *)glGetString(GL_RENDERER);
  context->software = renderer && (strstr(renderer, "llvmpipe") || strstr(renderer, "softpipe"));
  context->resets = tells_resets();
  return 0;
}

void context_close(struct context *context) {
  if (context->gl)
    SDL_GL_DeleteContext(context->gl);
  context->gl = NULL;
}

bool context_is_lost(struct context *context, int64_t now_ns) {
  if (!context->resets || now_ns - context->looked_ns < look_ns)
    return false;
  context->looked_ns = now_ns;
  return glGetGraphicsResetStatus() != GL_NO_ERROR;
}
