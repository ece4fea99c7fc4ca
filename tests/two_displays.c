/* A shim before SDL: the screen's left 1280 columns are one display, the rest of its 1920 another. SDL itself knows
 * one, so that nothing is to be said to it about full screen, for which there is no window manager either. */
#include <SDL.h>
#include <string.h>

enum { LEFT = 1280, RIGHT = 640, HEIGHT = 800 };

int SDL_GetNumVideoDisplays(void) {
  return 2;
}

const char *SDL_GetDisplayName(int display) {
  return display ? "Beamer 2" : "Laptop";
}

int SDL_GetDisplayBounds(int display, SDL_Rect *bounds) {
  *bounds = display ? (SDL_Rect){LEFT, 0, RIGHT, HEIGHT} : (SDL_Rect){0, 0, LEFT, HEIGHT};
  return 0;
}

int SDL_SetWindowFullscreen(SDL_Window *window, Uint32 flags) {
  (void)window;
  (void)flags;
  return 0;
}
