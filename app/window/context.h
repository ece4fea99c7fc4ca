/* A window's OpenGL context: how it is created, and how its loss is noticed. Only the main thread uses it. */
#ifndef APP_WINDOW_CONTEXT_H
#define APP_WINDOW_CONTEXT_H

#include <SDL.h>
#include <stdbool.h>
#include <stdint.h>

#include "unet/base/error.h"

struct context {
  SDL_GLContext gl;
  int interval;  /* swap interval, as SDL_GL_SetSwapInterval takes it */
  bool software; /* true if the CPU draws, as Mesa's llvmpipe does */
  bool resets;   /* true if the driver can tell that the context was lost */
  /* when the driver was asked last */
  int64_t looked_ns;
};

/* Creates a context, which is then the current one, with vertical synchronisation if the driver has it. Returns -1 and
 * err on failure; nothing needs to be closed then. */
int context_open(struct context *context, SDL_Window *window, struct error *err);
/* Frees the context, which may be lost. Does nothing if there is none. */
void context_close(struct context *context);
/* Returns true if the current context was lost, because the GPU was reset for instance. Asks the driver only once in
 * 100 ms, because the question may take long. */
bool context_is_lost(struct context *context, int64_t now_ns);

#endif
