/* Functions that both windows need: one creates a window, one shows the output window again after it was hidden because
 * its display was disconnected, and one makes a window's OpenGL context current. window.c and window_operator.c call
 * them. */
#include "app/window/window_impl.h"

#include "app/window/icon.h"
#include "app/window/x11.h"

int window_count_displays(const struct window *window) {
  return window->lost ? 0 : SDL_GetNumVideoDisplays();
}

/* Sets the window's icon, whose pixels SDL copies. If memory is short, the window gets no icon. */
void window_set_icon(SDL_Window *window) {
  uint8_t rgba[ICON_SIDE * ICON_SIDE * 4];
  icon_draw(rgba);
  SDL_Surface *icon =
      SDL_CreateRGBSurfaceWithFormatFrom(rgba, ICON_SIDE, ICON_SIDE, 32, ICON_SIDE * 4, SDL_PIXELFORMAT_RGBA32);
  if (window && icon)
    SDL_SetWindowIcon(window, icon);
  SDL_FreeSurface(icon);
}

SDL_Window *window_make(const struct window *window, enum window_which which, const struct window_params *params) {
  int display = window->display[which], left = (int)SDL_WINDOWPOS_CENTERED_DISPLAY(display), top = left;
  SDL_Rect bounds = {0, 0, params->width, params->height};
  Uint32 flags = SDL_WINDOW_OPENGL | SDL_WINDOW_RESIZABLE | SDL_WINDOW_ALLOW_HIGHDPI;
  if (params->borderless && !SDL_GetDisplayBounds(display, &bounds)) {
    left = bounds.x;
    top = bounds.y;
    flags |= SDL_WINDOW_BORDERLESS;
  }
  return SDL_CreateWindow(params->title, left, top, params->width ? params->width : bounds.w,
                          params->height ? params->height : bounds.h, flags);
}

/* Shows the output window after it was hidden. This function is also called when the operator's window closes: even if
 * the output window's display is still disconnected, a visible output is better than none. The keyboard focus is not
 * changed. */
void window_show_again(struct window *window) {
  unsigned long focus = window->hidden ? x11_hold_focus(window->sdl[WINDOW_OUTPUT]) : 0;
  if (window->hidden && !window->lost)
    SDL_ShowWindow(window->sdl[WINDOW_OUTPUT]);
  if (window->hidden)
    x11_give_focus(window->sdl[WINDOW_OUTPUT], focus);
  window->hidden = false;
}

/* Makes a window the current one, in which later calls draw. Some systems have one swap interval (synchronisation with
 * the display) for all windows, so the interval is set each time. */
void window_use(struct window *window, enum window_which which) {
  if (which == window->used || !window->sdl[which] || window->lost)
    return;
  window->used = which;
  SDL_GL_MakeCurrent(window->sdl[which], window->context.gl);
  SDL_GL_SetSwapInterval(which == WINDOW_OUTPUT ? window->context.interval : 0);
}
