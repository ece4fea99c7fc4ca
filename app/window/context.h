/* A window's OpenGL context: made, found lost, and made again. */
#ifndef APP_WINDOW_CONTEXT_H
#define APP_WINDOW_CONTEXT_H

#include <SDL.h>
#include <stdbool.h>
#include <stdint.h>

#include "unet/base/error.h"

struct context {
  SDL_GLContext gl;
  int interval;  /* of the window's swaps */
  bool software; /* the CPU draws */
  bool resets;   /* the driver says when it was lost */
  int64_t looked_ns;
};

/* Current afterwards, with vertical synchronisation where it can be had. On failure nothing is left of it. */
int context_open(struct context *context, SDL_Window *window, struct error *err);
void context_close(struct context *context);
/* Whether the one that is current was lost. The driver is asked now and then, as it may take its time. */
bool context_is_lost(struct context *context, int64_t now_ns);

#endif
