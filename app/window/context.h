/* Creates a window's OpenGL context, and notices when the context is lost. Only the main thread calls these
 * functions. */
#ifndef APP_WINDOW_CONTEXT_H
#define APP_WINDOW_CONTEXT_H

#include <SDL.h>
#include <stdbool.h>
#include <stdint.h>

#include "unet/base/error.h"

struct context {
  SDL_GLContext gl;
  /* argument for SDL_GL_SetSwapInterval: -1 adaptive, 1 ordinary synchronisation with the display */
  int interval;
  bool software; /* true: OpenGL draws on the processor, as Mesa's llvmpipe does */
  bool resets;   /* true: the driver can report that the context was lost */
  /* when the driver was last asked whether the context is lost (platform_now_ns) */
  int64_t looked_ns;
};

/* Creates an OpenGL context and makes it current, with vertical synchronisation if the driver has it. Returns 0, or -1
 * with err, and then there is nothing to close. */
int context_open(struct context *context, SDL_Window *window, struct error *err);
/* Frees the context, even if it is lost. Does nothing if there is none. */
void context_close(struct context *context);
/* Returns true if the current context was lost, for example because the GPU was reset. The driver is asked only once in
 * 100 ms, because asking may take long; in between the answer is false. */
bool context_is_lost(struct context *context, int64_t now_ns);

#endif
