/* Opens and closes the operator's window, and places it beside the output window. */
#include "app/window/window_impl.h"

/* Assumed height of a window's title bar and width of its borders in pixels, which the window manager adds. */
enum { TITLE = 32, EDGE = 4 };
/* Smallest width and height in pixels of a free part of the display in which the operator's window (values and panels,
 * beside the output window) is placed. */
enum { USEFUL_WIDTH = 300, USEFUL_HEIGHT = 200 };

static int lesser(int a, int b) {
  return a < b ? a : b;
}

/* Stores `part` of the display in *found as the operator's window's place, if it is large enough and larger than *found
 * was. *found becomes no larger than `wanted`. There is room for the window's frame on all sides, because some window
 * managers place windows by their frame, others by their contents. */
static void try_part(const SDL_Rect *part, const SDL_Rect *wanted, SDL_Rect *found) {
  const SDL_Rect inside = {part->x + EDGE, part->y + TITLE, lesser(wanted->w, part->w - 3 * EDGE),
                           lesser(wanted->h, part->h - 2 * TITLE - EDGE)};
  if (inside.w >= USEFUL_WIDTH && inside.h >= USEFUL_HEIGHT && inside.w * inside.h > found->w * found->h)
    *found = inside;
}

/* Finds the largest free rectangle for the operator's window beside, below or above the output window. Returns false if
 * none is large enough. */
static bool find_place(SDL_Window *output, int display, const SDL_Rect *wanted, SDL_Rect *found) {
  SDL_Rect all, own;
  *found = (SDL_Rect){0};
  if (SDL_GetDisplayUsableBounds(display, &all))
    return false;
  SDL_GetWindowPosition(output, &own.x, &own.y);
  SDL_GetWindowSize(output, &own.w, &own.h);
  int right = all.x + all.w, bottom = all.y + all.h;
  try_part(&(SDL_Rect){own.x + own.w, all.y, right - own.x - own.w, all.h}, wanted, found);
  try_part(&(SDL_Rect){all.x, own.y + own.h, all.w, bottom - own.y - own.h}, wanted, found);
  try_part(&(SDL_Rect){all.x, all.y, own.x - all.x, all.h}, wanted, found);
  try_part(&(SDL_Rect){all.x, all.y, all.w, own.y - all.y}, wanted, found);
  return found->w > 0;
}

/* Moves the output window, with or without a border. SDL takes the border into account when it places a window, but
 * learns the border's width from the window manager only later; therefore window_follow_border moves the output window
 * once more. */
static void move_output(struct window *window, bool bordered, int left, int top) {
  SDL_Window *sdl = window->sdl[WINDOW_OUTPUT];
  /* a minimised or hidden output is not moved, because SDL would wait until it becomes visible */
  if (SDL_GetWindowFlags(sdl) & (SDL_WINDOW_MINIMIZED | SDL_WINDOW_HIDDEN))
    return;
  SDL_SetWindowBordered(sdl, bordered ? SDL_TRUE : SDL_FALSE);
  SDL_SetWindowPosition(sdl, left, top);
  window->moving = true;
  window->move_to = (SDL_Point){left, top};
}

void window_follow_border(struct window *window) {
  int title = 0;
  if (!window->moving || window->lost)
    return;
  SDL_GetWindowBordersSize(window->sdl[WINDOW_OUTPUT], &title, NULL, NULL, NULL);
  if (window->made_room != (title == 0))
    return;
  SDL_SetWindowPosition(window->sdl[WINDOW_OUTPUT], window->move_to.x, window->move_to.y);
  window->moving = false;
}

/* Moves the output window to the display's upper left corner and removes its border, so that the audience sees only the
 * picture. Does nothing if the output window has no border anyway. */
static void make_room(struct window *window) {
  SDL_Window *sdl = window->sdl[WINDOW_OUTPUT];
  SDL_Rect bounds;
  if (window->fullscreen || window->borderless || SDL_GetDisplayBounds(window->display[WINDOW_OPERATOR], &bounds))
    return;
  SDL_GetWindowPosition(sdl, &window->made_from.x, &window->made_from.y);
  window->made_room = true;
  move_output(window, false, bounds.x, bounds.y);
}

static void take_room_back(struct window *window) {
  if (!window->made_room || window->lost)
    return;
  window->made_room = false;
  move_output(window, true, window->made_from.x, window->made_from.y);
}

/* Returns the size with which the operator's window is opened: two thirds of the display's width and height, so that
 * its texts can be read on a large display, too, but at least the size in params. */
static SDL_Rect wish_size(int display, const struct window_params *params) {
  SDL_Rect wish = {.w = params->width, .h = params->height}, all;
  if (SDL_GetDisplayUsableBounds(display, &all))
    return wish;
  wish.w = all.w * 2 / 3 > wish.w ? all.w * 2 / 3 : wish.w;
  wish.h = all.h * 2 / 3 > wish.h ? all.h * 2 / 3 : wish.h;
  return wish;
}

/* Creates the operator's window. If it is on the output window's display and there is room beside the output window,
 * the window is placed so that it covers nothing of the output window. */
static SDL_Window *make_operator(struct window *window, const struct window_params *params) {
  SDL_Window *output = window->sdl[WINDOW_OUTPUT];
  int display = window->display[WINDOW_OPERATOR];
  SDL_Rect place;
  struct window_params sized = *params;
  window->wanted = wish_size(display, params);
  sized.width = window->wanted.w;
  sized.height = window->wanted.h;
  if (display != SDL_GetWindowDisplayIndex(output))
    return window_make(window, WINDOW_OPERATOR, &sized);
  make_room(window);
  if (!find_place(output, display, &window->wanted, &place))
    return window_make(window, WINDOW_OPERATOR, &sized);
  return SDL_CreateWindow(params->title, place.x, place.y, place.w, place.h,
                          SDL_WINDOW_OPENGL | SDL_WINDOW_RESIZABLE | SDL_WINDOW_ALLOW_HIGHDPI);
}

void window_keep_apart(struct window *window) {
  SDL_Window *output = window->sdl[WINDOW_OUTPUT], *operator= window->sdl[WINDOW_OPERATOR];
  SDL_Rect own, its, place;
  if (!operator|| window->fullscreen || SDL_GetWindowDisplayIndex(output) != SDL_GetWindowDisplayIndex(operator))
    return;
  SDL_GetWindowPosition(output, &own.x, &own.y);
  SDL_GetWindowSize(output, &own.w, &own.h);
  SDL_GetWindowPosition(operator, & its.x, &its.y);
  SDL_GetWindowSize(operator, & its.w, &its.h);
  if (!SDL_HasIntersection(&own, &its) ||
      !find_place(output, SDL_GetWindowDisplayIndex(operator), &window->wanted, &place))
    return;
  SDL_SetWindowPosition(operator, place.x, place.y);
  SDL_SetWindowSize(operator, place.w, place.h);
}

/* Opens the operator's window. Returns false if nothing can be drawn in it: separate screens of one X server cannot
 * share an OpenGL context. */
static bool try_operator(struct window *window, const struct window_params *params) {
  SDL_Window *sdl = window->lost ? NULL : make_operator(window, params);
  window->sdl[WINDOW_OPERATOR] = sdl;
  window_set_icon(sdl);
  bool drawable = sdl && !SDL_GL_MakeCurrent(sdl, window->context.gl);
  window->used = drawable ? WINDOW_OPERATOR : window->used;
  if (!drawable)
    window_close_operator(window);
  return drawable;
}

/* Returns the number of the first display that the output window is not on; if there is only one display, returns the
 * number of that display. */
static int other_display(const struct window *window) {
  int own = window->lost ? 0 : SDL_GetWindowDisplayIndex(window->sdl[WINDOW_OUTPUT]);
  return own == 0 && window_count_displays(window) > 1;
}

int window_open_operator(struct window *window, const struct window_params *params, struct error *err) {
  window->display[WINDOW_OPERATOR] = other_display(window);
  bool opened = try_operator(window, params);
  if (!opened) {
    window->display[WINDOW_OPERATOR] = window->display[WINDOW_OUTPUT];
    opened = try_operator(window, params);
  }
  return opened ? 0 : error_set(err, STATUS_OUTPUT, "no operator's window: %s", SDL_GetError());
}

void window_close_operator(struct window *window) {
  window->used = WINDOW_OPERATOR;
  window_use(window, WINDOW_OUTPUT);
  if (window->sdl[WINDOW_OPERATOR] && !window->lost)
    SDL_DestroyWindow(window->sdl[WINDOW_OPERATOR]);
  window->sdl[WINDOW_OPERATOR] = NULL;
  take_room_back(window);
  window_show_again(window);
}

bool window_has_operator(const struct window *window) {
  return window->sdl[WINDOW_OPERATOR] != NULL;
}
