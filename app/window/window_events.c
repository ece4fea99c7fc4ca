/* Translates SDL's events to struct window_event: keys, texts, positions of the pointer and dropped files. */
#include "app/control/keys.h"
#include "app/window/window_impl.h"
#include "app/window/x11.h"

static int special_key(SDL_Keycode code) {
  switch (code) {
  case SDLK_ESCAPE:
    return KEY_ESCAPE;
  case SDLK_UP:
    return KEY_UP;
  case SDLK_DOWN:
    return KEY_DOWN;
  case SDLK_LEFT:
    return KEY_LEFT;
  case SDLK_RIGHT:
    return KEY_RIGHT;
  case SDLK_HOME:
    return KEY_HOME;
  case SDLK_END:
    return KEY_END;
  case SDLK_PAGEUP:
    return KEY_PAGE_UP;
  case SDLK_PAGEDOWN:
    return KEY_PAGE_DOWN;
  case SDLK_RETURN:
  case SDLK_KP_ENTER:
    return KEY_ENTER;
  case SDLK_TAB:
    return KEY_TAB;
  case SDLK_BACKSPACE:
    return KEY_BACKSPACE;
  case SDLK_DELETE:
    return KEY_DELETE;
  case SDLK_F1:
    return KEY_F1;
  case SDLK_F11:
    return KEY_F11;
  default:
    return KEY_NONE;
  }
}

/* Returns true if Ctrl is held. Some systems report AltGr, which types characters, as Ctrl together with Alt; this
 * combination does not count as Ctrl. */
static bool holds_control(const SDL_Keysym *key) {
  return (key->mod & KMOD_CTRL) && !(key->mod & (KMOD_ALT | KMOD_MODE));
}

/* Returns the key (enum key) of a press while Ctrl is held. Digit keys are recognised by their position in any layout.
 * Letter keys are recognised by the letter that they type, if it is Latin. */
static int control_key(const SDL_Keysym *key, const struct layout_key *layout) {
  if (key->scancode >= SDL_SCANCODE_1 && key->scancode <= SDL_SCANCODE_9)
    return KEY_CONTROL + '1' + (int)key->scancode - SDL_SCANCODE_1;
  char letter = layout_letter(key, layout);
  return letter ? KEY_CONTROL + letter : KEY_NONE;
}

/* Converts window coordinates to pixels of the drawable. The two differ on displays of high pixel density. */
static float to_pixels(SDL_Window *sdl, int x) {
  int width, pixels;
  SDL_GetWindowSize(sdl, &width, NULL);
  SDL_GL_GetDrawableSize(sdl, &pixels, NULL);
  return width > 0 ? (float)x * (float)pixels / (float)width : 0;
}

static bool translate_key(struct window *window, const SDL_KeyboardEvent *sdl, struct window_event *event) {
  window->key_repeats = sdl->repeat;
  window->key_controls = holds_control(&sdl->keysym);
  window->key_placed = false;
  *event = (struct window_event){.type = WINDOW_KEY, .key = special_key(sdl->keysym.sym), .repeat = sdl->repeat != 0};
  const struct layout_key layout = window->layout_told ? window->layout : layout_ask(&sdl->keysym);
  char typed = window->typed;
  window->typed = 0;
  window->layout_told = false;
  if (event->key != KEY_NONE)
    return true;
  char place = window->takes_text ? 0 : layout_place(&sdl->keysym, &layout);
  if (window->key_controls)
    event->key = control_key(&sdl->keysym, &layout);
  else if (place)
    event->key = place;
  else if (!window->text_comes)
    event->key = typed;
  window->key_placed = place && !window->key_controls;
  if (!window->key_controls && !window->text_comes)
    event->text[0] = typed;
  return event->key != KEY_NONE;
}

static bool translate_text(const struct window *window, const char *text, struct window_event *event) {
  /* the text event is ignored: some systems report text even for Ctrl with a digit, or for a key that was already
   * recognised by its position on the keyboard */
  if (window->key_controls || window->key_placed || !window->text_comes)
    return false;
  *event = (struct window_event){.type = WINDOW_KEY, .repeat = window->key_repeats};
  SDL_utf8strlcpy(event->text, text, sizeof event->text);
  if ((unsigned char)text[0] < 128 && !text[1])
    event->key = text[0];
  return true;
}

static bool translate_composed(const char *text, struct window_event *event) {
  *event = (struct window_event){.type = WINDOW_COMPOSE};
  SDL_utf8strlcpy(event->text, text ? text : "", sizeof event->text);
  return true;
}

static enum window_which which_of(const struct window *window, Uint32 id) {
  return window->sdl[WINDOW_OPERATOR] && SDL_GetWindowID(window->sdl[WINDOW_OPERATOR]) == id ? WINDOW_OPERATOR
                                                                                             : WINDOW_OUTPUT;
}

static struct window_event point(const struct window *window, enum window_event_type type, Uint32 id, int x, int y) {
  enum window_which which = which_of(window, id);
  SDL_Window *sdl = window->sdl[which];
  return (struct window_event){.type = type, .which = which, .x = to_pixels(sdl, x), .y = to_pixels(sdl, y)};
}

/* SDL gives a finger's position as fractions of the window's width and height. */
static bool translate_finger(const struct window *window, const SDL_TouchFingerEvent *sdl, struct window_event *event) {
  enum window_which which = which_of(window, sdl->windowID);
  int width, height;
  SDL_GL_GetDrawableSize(window->sdl[which], &width, &height);
  *event = (struct window_event){.type = sdl->type == SDL_FINGERUP ? WINDOW_RELEASE : WINDOW_POINT,
                                 .which = which,
                                 .pressed = sdl->type == SDL_FINGERDOWN,
                                 .finger = 1 + (int64_t)sdl->fingerId,
                                 .x = sdl->x * (float)width,
                                 .y = sdl->y * (float)height};
  return true;
}

static bool translate_wheel(const struct window *window, const SDL_MouseWheelEvent *sdl, struct window_event *event) {
  int x, y;
  SDL_GetMouseState(&x, &y);
  *event = point(window, WINDOW_WHEEL, sdl->windowID, x, y);
  event->turns = sdl->preciseY;
  return event->turns != 0;
}

void window_follow_pointer(const struct window *window) {
  bool elsewhere = window->sdl[WINDOW_OPERATOR] && SDL_GetMouseFocus() == window->sdl[WINDOW_OPERATOR];
  SDL_ShowCursor(window->pointer_hidden && !elsewhere ? SDL_DISABLE : SDL_ENABLE);
}

static bool translate_window(const struct window *window, const SDL_WindowEvent *sdl, struct window_event *event) {
  bool closes = sdl->event == SDL_WINDOWEVENT_CLOSE;
  *event = (struct window_event){.type = closes ? WINDOW_CLOSE : WINDOW_DRAW, .which = which_of(window, sdl->windowID)};
  if (sdl->event == SDL_WINDOWEVENT_ENTER || sdl->event == SDL_WINDOWEVENT_LEAVE)
    window_follow_pointer(window);
  return closes || sdl->event == SDL_WINDOWEVENT_EXPOSED || sdl->event == SDL_WINDOWEVENT_SIZE_CHANGED;
}

/* SDL reports a drop as a begin event, one event per file or text, and a complete event. For a dropped URL that names
 * no file there is nothing in between, so such a drop is noticed at the complete event. */
static bool translate_drop(struct window *window, const SDL_DropEvent *sdl, struct window_event *event) {
  window->dropped = sdl->file;
  bool is_file = sdl->type == SDL_DROPFILE && sdl->file, ends = sdl->type == SDL_DROPCOMPLETE;
  *event = (struct window_event){
      .type = WINDOW_DROP, .file = is_file ? sdl->file : NULL, .follows = is_file && window->files_dropped};
  if (sdl->type == SDL_DROPBEGIN)
    window->files_dropped = 0;
  window->files_dropped += is_file;
  return is_file || (ends && !window->files_dropped);
}

bool window_translate(struct window *window, const SDL_Event *sdl, struct window_event *event) {
  switch (sdl->type) {
  case SDL_QUIT:
    *event = (struct window_event){.type = WINDOW_CLOSE};
    return true;
  case SDL_KEYDOWN:
    return translate_key(window, &sdl->key, event);
  case SDL_SYSWMEVENT:
    x11_get_typed(sdl, &window->typed);
    window->layout_told |= x11_get_layout(sdl, &window->layout);
    return false;
  /* a mark that ask_for_text (window.c) puts into the queue when it switches text input on: only keys after it have
   * text events */
  case SDL_USEREVENT:
    window->text_comes |= window->takes_text && sdl->user.code == window->text_turns;
    return false;
  /* the next text event will be text that an input method has composed, without a key press before it */
  case SDL_KEYUP:
    window->key_repeats = false;
    window->key_controls = holds_control(&sdl->key.keysym);
    return false;
  case SDL_TEXTINPUT:
    return translate_text(window, sdl->text.text, event);
  case SDL_TEXTEDITING:
    return translate_composed(sdl->edit.text, event);
#if SDL_VERSION_ATLEAST(2, 0, 22)
  case SDL_TEXTEDITING_EXT:
    translate_composed(sdl->editExt.text, event);
    SDL_free(sdl->editExt.text);
    return true;
#endif
  case SDL_MOUSEBUTTONDOWN:
    *event = point(window, WINDOW_POINT, sdl->button.windowID, sdl->button.x, sdl->button.y);
    event->pressed = true;
    return sdl->button.button == SDL_BUTTON_LEFT;
  case SDL_MOUSEBUTTONUP:
    *event = point(window, WINDOW_RELEASE, sdl->button.windowID, sdl->button.x, sdl->button.y);
    return sdl->button.button == SDL_BUTTON_LEFT;
  case SDL_MOUSEMOTION:
    *event = point(window, WINDOW_POINT, sdl->motion.windowID, sdl->motion.x, sdl->motion.y);
    return (sdl->motion.state & SDL_BUTTON_LMASK) != 0;
  case SDL_FINGERDOWN:
  case SDL_FINGERMOTION:
  case SDL_FINGERUP:
    return translate_finger(window, &sdl->tfinger, event);
  case SDL_MOUSEWHEEL:
    return translate_wheel(window, &sdl->wheel, event);
  case SDL_DROPFILE:
  case SDL_DROPTEXT:
  case SDL_DROPBEGIN:
  case SDL_DROPCOMPLETE:
    return translate_drop(window, &sdl->drop, event);
  case SDL_WINDOWEVENT:
    return translate_window(window, &sdl->window, event);
  default:
    return false;
  }
}
