#include "app/window/x11.h"

void *x11_begin(SDL_Window *window, bool *lost) {
  (void)window;
  (void)lost;
  return NULL;
}

void x11_settle(void *connection) {
  (void)connection;
}

bool x11_lacks_manager(SDL_Window *window) {
  (void)window;
  return false;
}

bool x11_tells_destroyed(const SDL_Event *event, SDL_Window *window) {
  (void)event;
  (void)window;
  return false;
}

bool x11_tells_displays(const SDL_Event *event, SDL_Window *window) {
  (void)event;
  (void)window;
  return false;
}

unsigned long x11_hold_focus(SDL_Window *window) {
  (void)window;
  return 0;
}

void x11_give_focus(SDL_Window *window, unsigned long focus) {
  (void)window;
  (void)focus;
}

bool x11_get_layout(const SDL_Event *event, struct layout_key *layout) {
  (void)event;
  (void)layout;
  return false;
}

void x11_get_typed(const SDL_Event *event, char *typed) {
  (void)event;
  (void)typed;
}

bool x11_find_display(SDL_Window *window, unsigned long *name, SDL_Rect *bounds) {
  (void)window;
  (void)name;
  (void)bounds;
  return false;
}
