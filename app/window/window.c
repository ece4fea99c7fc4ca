#include "app/window/window_impl.h"

#include <SDL.h>
#include <stdlib.h>
#include <string.h>

#include "app/window/x11.h"

static int fail(struct error *err, const char *what) {
  return error_set(err, STATUS_OUTPUT, "no window: %s: %s; without a display, use: reverie render IN OUT", what,
                   SDL_GetError());
}

static int start_video(struct error *err) {
  SDL_SetHint(SDL_HINT_NO_SIGNAL_HANDLERS, "1");
  SDL_SetHint(SDL_HINT_APP_NAME, "reverie");
  SDL_SetHint(SDL_HINT_TOUCH_MOUSE_EVENTS, "0"); /* SDL makes no mouse events from touches, because several fingers may
                                                  * press at a time */
#ifdef SDL_HINT_SCREENSAVER_INHIBIT_ACTIVITY_NAME
  /* without this name the desktop would show "playing a game" as the reason why the screen is kept on */
  SDL_SetHint(SDL_HINT_SCREENSAVER_INHIBIT_ACTIVITY_NAME, "Showing live video");
#endif
#if SDL_VERSION_ATLEAST(2, 0, 22)
  /* without this hint SDL would cut text from an input method after ten wide characters */
  SDL_SetHint(SDL_HINT_IME_SUPPORT_EXTENDED_TEXT, "1");
#endif
  /* without this hint SDL would minimise a window in full screen, and so hide the picture, when another window gets the
   * focus */
  SDL_SetHint(SDL_HINT_VIDEO_MINIMIZE_ON_FOCUS_LOSS, "0");
  /* true: the user has chosen SDL's video driver by an environment variable */
  bool chosen = SDL_GetHint(SDL_HINT_VIDEODRIVER) != NULL;
  /* Without the variable XDG_RUNTIME_DIR there is no Wayland, whose library would print messages to standard error, so
   * SDL is told not to try Wayland. */
  if (!getenv("XDG_RUNTIME_DIR") && !chosen)
    SDL_SetHint(SDL_HINT_VIDEODRIVER, "x11,KMSDRM");
  bool failed = SDL_InitSubSystem(SDL_INIT_VIDEO) != 0;
  /* Without a display SDL chooses the driver "offscreen", which shows nothing. That driver is refused unless the user
   * has chosen it. */
  const char *driver = failed ? NULL : SDL_GetCurrentVideoDriver();
  if (driver && !strcmp(driver, "offscreen") && !chosen) {
    SDL_QuitSubSystem(SDL_INIT_VIDEO);
    failed = true;
  }
  if (!failed)
    return 0;
  const char *display = getenv("DISPLAY");
  if (!chosen && display && *display)
    SDL_SetError("%.100s cannot be reached", display);
  else if (!chosen)
    SDL_SetError("there is none");
  return fail(err, "display");
}

int window_list_displays(void (*take)(void *opaque, const struct window_display *display), void *opaque,
                         struct error *err) {
  if (start_video(err))
    return -1;
  bool on_x11 = !strcmp(SDL_GetCurrentVideoDriver(), "x11");
  for (int i = 0; i < SDL_GetNumVideoDisplays(); i++) {
    struct window_display display = {.number = i, .on_x11 = on_x11};
    SDL_Rect bounds = {0};
    SDL_DisplayMode mode = {0};
    const char *name = SDL_GetDisplayName(i);
    SDL_GetDisplayBounds(i, &bounds);
    SDL_GetCurrentDisplayMode(i, &mode);
    snprintf(display.name, sizeof display.name, "%s", name ? name : "unnamed");
    display.x = bounds.x;
    display.y = bounds.y;
    display.width = bounds.w;
    display.height = bounds.h;
    display.refresh = mode.refresh_rate;
    take(opaque, &display);
  }
  SDL_QuitSubSystem(SDL_INIT_VIDEO);
  return 0;
}

static int choose_displays(struct window *window, const char *output, bool has_operator, struct error *err) {
  int count = SDL_GetNumVideoDisplays(), *display = window->display;
  display[WINDOW_OUTPUT] = has_operator && count > 1;
  if (output && displays_find(output, &display[WINDOW_OUTPUT], err))
    return -1;
  return 0;
}

int window_create(struct window **out, const char *output, bool has_operator, struct error *err) {
  *out = NULL;
  struct window *window = calloc(1, sizeof *window);
  if (!window)
    return error_set(err, STATUS_FAILED, "no memory for the window");
  if (start_video(err)) {
    free(window);
    return -1;
  }
  *out = window;
  return choose_displays(window, output, has_operator, err);
}

void window_get_display(const struct window *window, int *width, int *height) {
  SDL_Rect bounds = {0};
  SDL_GetDisplayBounds(window->display[WINDOW_OUTPUT], &bounds);
  *width = bounds.w;
  *height = bounds.h;
}

/* Makes the output window fill its display by moving and resizing it, or moves it back. Used without a window manager:
 * a request for full screen would then change nothing but SDL's own state. */
static void fill_by_hand(struct window *window, bool fill) {
  SDL_Window *sdl = window->sdl[WINDOW_OUTPUT];
  SDL_Rect *before = &window->before;
  if (fill) {
    SDL_GetWindowPosition(sdl, &before->x, &before->y);
    SDL_GetWindowSize(sdl, &before->w, &before->h);
  }
  const SDL_Rect *rect = fill ? &window->place.bounds : before;
  SDL_SetWindowPosition(sdl, rect->x, rect->y);
  SDL_SetWindowSize(sdl, rect->w, rect->h);
}

static void fill_display(struct window *window, bool fill) {
  if (fill == window->filled)
    return;
  window->filled = fill;
  if (fill)
    window->by_hand = x11_lacks_manager(window->sdl[WINDOW_OUTPUT]);
  if (window->by_hand)
    fill_by_hand(window, fill);
  else
    SDL_SetWindowFullscreen(window->sdl[WINDOW_OUTPUT], fill ? SDL_WINDOW_FULLSCREEN_DESKTOP : 0);
}

/* Creates the output window hidden, in place of the one that it replaces. SDL can make only visible windows full
 * screen; so that the window looks right when it appears, it has no border until then. */
static SDL_Window *make_hidden(const struct window_params *params) {
  const struct window_place *place = params->place;
  Uint32 flags = SDL_WINDOW_OPENGL | SDL_WINDOW_RESIZABLE | SDL_WINDOW_ALLOW_HIGHDPI | SDL_WINDOW_HIDDEN;
  if (params->borderless || place->fullscreen)
    flags |= SDL_WINDOW_BORDERLESS;
  return SDL_CreateWindow(params->title, place->left, place->top, place->width, place->height, flags);
}

int window_open(struct window *window, const struct window_params *params, struct error *err) {
  SDL_GL_SetAttribute(SDL_GL_DOUBLEBUFFER, 1);
  window->sdl[WINDOW_OUTPUT] = params->place ? make_hidden(params) : window_make(window, WINDOW_OUTPUT, params);
  if (!window->sdl[WINDOW_OUTPUT])
    return fail(err, "display");
  window_set_icon(window->sdl[WINDOW_OUTPUT]);
  window->borderless = params->borderless;
  window->connection = x11_begin(window->sdl[WINDOW_OUTPUT], &window->lost);
  /* the new window appears on the display of the window that it replaces, which may have been moved to another
   * display */
  if (params->place)
    window->display[WINDOW_OUTPUT] = SDL_GetWindowDisplayIndex(window->sdl[WINDOW_OUTPUT]);
  display_place_begin(&window->place, window->sdl[WINDOW_OUTPUT], window->display[WINDOW_OUTPUT]);
  struct error why;
  if (context_open(&window->context, window->sdl[WINDOW_OUTPUT], &why))
    return error_set(err, STATUS_OUTPUT, "no window: %.300s; without a display, use: reverie render IN OUT",
                     why.message);
  window_set_fullscreen(window, params->fullscreen);
  window->border_waits = params->place && params->place->fullscreen && !params->borderless;
  if (params->place && params->fullscreen)
    window_resize(window, params->width, params->height);
  window->takes_text = true; /* SDL has switched text input on when it started; the next call switches text input off */
  window_take_text(window, false);
  return 0;
}

void window_show(struct window *window) {
  if (!window->lost)
    SDL_ShowWindow(window->sdl[WINDOW_OUTPUT]);
}

void window_close(struct window **pointer) {
  struct window *window = *pointer;
  if (!window)
    return;
  /* If the connection to the X server was lost, the windows are not closed, because any SDL call about a window would
   * then end the program. */
  if (!window->lost) {
    if (window->sdl[WINDOW_OPERATOR])
      SDL_DestroyWindow(window->sdl[WINDOW_OPERATOR]);
    context_close(&window->context);
    if (window->sdl[WINDOW_OUTPUT])
      SDL_DestroyWindow(window->sdl[WINDOW_OUTPUT]);
    x11_settle(window->connection);
    SDL_QuitSubSystem(SDL_INIT_VIDEO);
  }
  SDL_free(window->dropped);
  free(window);
  *pointer = NULL;
}

int window_check(const struct window *window, struct error *err) {
  if (window->lost)
    return error_set(err, STATUS_OUTPUT, "the window is gone: its display has closed the connection");
  return window->destroyed ? error_set(err, STATUS_OUTPUT, "the window is gone: another program has destroyed it") : 0;
}

/* Handles an SDL event that says that another program has destroyed one of the windows. Returns true if *event was
 * filled. */
static bool follow_windows(struct window *window, const SDL_Event *sdl, struct window_event *event) {
  window->destroyed |= x11_tells_destroyed(sdl, window->sdl[WINDOW_OUTPUT]);
  *event = (struct window_event){.type = WINDOW_CLOSE, .which = WINDOW_OPERATOR};
  return x11_tells_destroyed(sdl, window->sdl[WINDOW_OPERATOR]);
}

/* Moves the output window back to its display after that display was connected again, because a window manager may have
 * moved the output window to another one meanwhile. */
static void return_to_display(struct window *window) {
  SDL_Window *sdl = window->sdl[WINDOW_OUTPUT];
  bool fills = window->fullscreen;
  window_show_again(window);
  fill_display(window, false);
  SDL_SetWindowPosition(sdl, window->place.bounds.x, window->place.bounds.y);
  fill_display(window, fills);
}

/* Handles an SDL event about displays: detects that the output window's display was disconnected or connected again.
 * While it is disconnected and there is an operator's window, the output window is hidden, because it would cover that
 * window. Returns true if *event was filled. */
static bool follow_display(struct window *window, const SDL_Event *sdl, struct window_event *event) {
  bool may = sdl->type == SDL_DISPLAYEVENT || x11_tells_displays(sdl, window->sdl[WINDOW_OUTPUT]);
  enum display_change change = DISPLAY_SAME;
  if (may && (window->fullscreen || window->borderless))
    change = display_place_follow(&window->place, window->sdl[WINDOW_OUTPUT]);
  if (change == DISPLAY_GONE && window->sdl[WINDOW_OPERATOR]) {
    SDL_HideWindow(window->sdl[WINDOW_OUTPUT]);
    window->hidden = true;
  } else if (change == DISPLAY_CAME) {
    return_to_display(window);
  }
  *event = (struct window_event){.type = change == DISPLAY_GONE ? WINDOW_DISPLAY_GONE : WINDOW_DISPLAY_CAME,
                                 .display = window->place.name};
  return change != DISPLAY_SAME;
}

const char *window_lost_display(const struct window *window) {
  bool placed = window->fullscreen || window->borderless;
  return placed && window->place.gone ? window->place.name : NULL;
}

/* Returns the name of the output window's display. If the window fills a display, or lies in its corner, the name stays
 * that of this display even if the display has been disconnected. */
const char *window_display_name(const struct window *window) {
  if (window->fullscreen || window->borderless || window->lost)
    return window->place.name;
  int number = SDL_GetWindowDisplayIndex(window->sdl[WINDOW_OUTPUT]);
  const char *name = number < 0 ? NULL : SDL_GetDisplayName(number);
  return name ? name : window->place.name;
}

bool window_takes_events(const struct window *window) {
  const char *driver = SDL_GetCurrentVideoDriver();
  return window->lost || !driver || (strcmp(driver, "offscreen") && strcmp(driver, "dummy"));
}

bool window_has_event(const struct window *window) {
  if (!window->lost)
    SDL_PumpEvents();
  return window->lost || SDL_HasEvents(SDL_FIRSTEVENT, SDL_LASTEVENT);
}

bool window_poll(struct window *window, struct window_event *event) {
  SDL_Event sdl;
  bool means = false;
  window_follow_border(window);
  do {
    SDL_free(window->dropped);
    window->dropped = NULL;
    if (!SDL_PollEvent(&sdl))
      return false;
    means = follow_windows(window, &sdl, event) || follow_display(window, &sdl, event) ||
            window_translate(window, &sdl, event);
  } while (!means);
  return true;
}

void window_get_place(const struct window *window, struct window_place *place) {
  *place = (struct window_place){0};
  if (window->lost)
    return;
  SDL_GetWindowPosition(window->sdl[WINDOW_OUTPUT], &place->left, &place->top);
  SDL_GetWindowSize(window->sdl[WINDOW_OUTPUT], &place->width, &place->height);
  place->fullscreen = window->fullscreen;
}

void window_get_size(const struct window *window, int *width, int *height) {
  SDL_GL_GetDrawableSize(window->sdl[window->used], width, height);
}

void window_resize(struct window *window, int width, int height) {
  window->width = window->fullscreen ? width : 0;
  window->height = height;
  if (window->fullscreen)
    return;
  SDL_SetWindowSize(window->sdl[WINDOW_OUTPUT], width, height);
  window_keep_apart(window);
}

void window_set_fullscreen(struct window *window, bool fullscreen) {
  if (fullscreen == window->fullscreen)
    return;
  window->fullscreen = fullscreen;
  if (window->hidden)
    return;
  if (fullscreen && !window->borderless)
    display_place_begin(&window->place, window->sdl[WINDOW_OUTPUT],
                        SDL_GetWindowDisplayIndex(window->sdl[WINDOW_OUTPUT]));
  fill_display(window, fullscreen);
  if (!fullscreen && window->border_waits)
    SDL_SetWindowBordered(window->sdl[WINDOW_OUTPUT], SDL_TRUE);
  window->border_waits &= fullscreen;
  if (!fullscreen && window->width)
    window_resize(window, window->width, window->height);
}

/* Switches text input off: keys are then commands again, and text events still in the queue are discarded. On systems
 * other than X11, SDL still reports text, because no input method is involved there. */
static void leave_text(struct window *window) {
  SDL_StopTextInput();
  window->text_comes = !window->connection;
  if (window->text_comes)
    SDL_EventState(SDL_TEXTINPUT, SDL_ENABLE);
}

/* Switches text input on, so that SDL sends text events. Keys that are already in the queue have no text events; an
 * event of type SDL_USEREVENT in the queue marks where these keys end. */
static void ask_for_text(struct window *window) {
  SDL_Event from_here = {.user = {.type = SDL_USEREVENT, .code = window->text_turns}};
  SDL_StartTextInput();
  SDL_PushEvent(&from_here);
}

void window_take_text(struct window *window, bool taken) {
  if (window->lost || taken == window->takes_text)
    return;
  window->takes_text = taken;
  window->text_turns++;
  if (taken)
    ask_for_text(window);
  else
    leave_text(window);
}

static int from_pixels(SDL_Window *sdl, int x) {
  int width, pixels;
  SDL_GetWindowSize(sdl, &width, NULL);
  SDL_GL_GetDrawableSize(sdl, &pixels, NULL);
  return pixels > 0 ? (int)((long)x * width / pixels) : x;
}

void window_set_text_place(struct window *window, int left, int top, int width, int height) {
  SDL_Window *sdl = window->sdl[window->used];
  const SDL_Rect rect = {from_pixels(sdl, left), from_pixels(sdl, top), from_pixels(sdl, width),
                         from_pixels(sdl, height)};
  /* SDL_SetTextInputRect sends a message to the input method's process each time, so it is called only if the position
   * has changed. If only the window moves, SDL tells that process itself. */
  if (!SDL_RectEquals(&rect, &window->text_place))
    SDL_SetTextInputRect(&rect);
  window->text_place = rect;
}

int window_browse(const char *address, struct error *err) {
  if (!SDL_OpenURL(address))
    return 0;
  return error_set(err, STATUS_FAILED, "no program opens the page (%s); Q shows its address", SDL_GetError());
}

char *window_paste(struct window *window) {
  char *text = window->lost ? NULL : SDL_GetClipboardText(), *copy = text && *text ? strdup(text) : NULL;
  SDL_free(text);
  return copy;
}

void window_show_pointer(struct window *window, bool shown) {
  if (shown != window->pointer_hidden)
    return;
  window->pointer_hidden = !shown;
  window_follow_pointer(window);
}

double window_refresh_ms(const struct window *window) {
  SDL_DisplayMode mode;
  return !SDL_GetDesktopDisplayMode(window->display[WINDOW_OUTPUT], &mode) && mode.refresh_rate > 0
             ? 1000.0 / mode.refresh_rate
             : 0;
}

void window_swap(struct window *window) {
  SDL_GL_SwapWindow(window->sdl[window->used]);
}

bool window_lost_context(struct window *window, int64_t now_ns) {
  return !window->lost && context_is_lost(&window->context, now_ns);
}

/* Makes the OpenGL context current for drawing in the output window. */
static void put_context(struct window *window, const struct context *context) {
  SDL_GL_MakeCurrent(window->sdl[WINDOW_OUTPUT], context->gl);
  SDL_GL_SetSwapInterval(context->interval);
  window->used = WINDOW_OUTPUT;
}

int window_renew_context(struct window *window, int (*enter)(void *opaque, struct error *err),
                         void (*leave)(void *opaque), void *opaque, struct error *err) {
  struct context fresh;
  int status = context_open(&fresh, window->sdl[WINDOW_OUTPUT], err);
  if (!status && (status = enter(opaque, err)))
    context_close(&fresh);
  put_context(window, &window->context);
  if (status)
    return -1;
  leave(opaque);
  context_close(&window->context);
  window->context = fresh;
  put_context(window, &fresh);
  return 0;
}

bool window_is_software(const struct window *window) {
  return window->context.software;
}
