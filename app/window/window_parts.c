/* Functions for either window: creates one, shows the output again, and makes a window the current one. window.c and
 * window_operator.c call them. */
#include "app/window/window_impl.h"

#include "app/window/icon.h"
#include "app/window/x11.h"

int window_count_displays(const struct window *window) {
  return window->lost ? 0 : SDL_GetNumVideoDisplays();
}

/* SDL copies the pixels. If memory is too low for the icon, the window has none. */
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

/* Called when the operator's window closes, too: even if the output's display is still disconnected, a visible output
 * is better than none. The keyboard focus stays where it is. */
void window_show_again(struct window *window) {
  unsigned long focus = window->hidden ? x11_hold_focus(window->sdl[WINDOW_OUTPUT]) : 0;
  if (window->hidden && !window->lost)
    SDL_ShowWindow(window->sdl[WINDOW_OUTPUT]);
  if (window->hidden)
    x11_give_focus(window->sdl[WINDOW_OUTPUT], focus);
  window->hidden = false;
}

/* Some systems have one swap interval for all windows, so it is set whenever another window becomes the current one. */
void window_use(struct window *window, enum window_which which) {
  if (which == window->used || !window->sdl[which] || window->lost)
    return;
  window->used = which;
  SDL_GL_MakeCurrent(window->sdl[which], window->context.gl);
  SDL_GL_SetSwapInterval(which == WINDOW_OUTPUT ? window->context.interval : 0);
}
