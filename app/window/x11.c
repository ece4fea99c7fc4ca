#include "app/window/x11.h"

#include <SDL_syswm.h>
#include <X11/XKBlib.h>
#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <X11/extensions/Xrandr.h>
#include <dlfcn.h>

/* Stores SDL's X11 connection and the X11 window in *info. Returns false if SDL does not use X11. */
static bool get_info(SDL_Window *window, SDL_SysWMinfo *info) {
  SDL_VERSION(&info->version);
  return SDL_GetWindowWMInfo(window, info) && info->subsystem == SDL_SYSWM_X11;
}

static int on_connection_broken(Display *display) {
  (void)display;
  /* Xlib calls this function when the connection to the X server is lost. It does nothing, because Xlib's own handler
   * would end the program. */
  return 0;
}

static void on_server_gone(Display *display, void *opaque) {
  (void)display;
  *(bool *)opaque = true;
}

/* Mesa's software renderer with GLX asks XGetGeometry how many pixels to draw, and does not check if that failed. If
 * the window or its X server is gone, Xlib leaves the size undefined, and Mesa writes outside its buffers. So the
 * program defines a function of this name, which the dynamic linker finds before Xlib's, for Mesa as well. It calls
 * Xlib's function, and returns a size of 1 x 1 if that fails.
 *
 * Other means do not work. An error handler runs inside Xlib and cannot reach Mesa's variables; locks (XInitThreads) do
 * not help if the server has ended. With EGL (SDL's hint SDL_VIDEO_X11_FORCE_EGL) Mesa does not call XGetGeometry. But
 * every graphics card would then be used through EGL, and settings for GLX, such as the choice between two cards, would
 * have no effect. */
Status XGetGeometry(Display *display, Drawable drawable, Window *root, int *x, int *y, unsigned *width,
                    unsigned *height, unsigned *border, unsigned *depth) {
  Status (*ask)(Display *, Drawable, Window *, int *, int *, unsigned *, unsigned *, unsigned *, unsigned *);
  *(void **)&ask = dlsym(RTLD_NEXT, "XGetGeometry");
  if (ask && ask(display, drawable, root, x, y, width, height, border, depth))
    return True;
  *root = None;
  *x = *y = 0;
  *width = *height = 1;
  *border = *depth = 0;
  return False;
}

/* Xlib's handler for failed requests. Failed requests are ignored, for example those about windows that other programs
 * have destroyed. */
static int on_error(Display *display, XErrorEvent *event) {
  (void)display;
  (void)event;
  return 0;
}

/* Asks the X server for events about outputs and about the positions of displays (RandR). SDL has asked only for events
 * about outputs, and some servers ignore a second request unless the first was cancelled before. */
static void select_displays(Display *display) {
  Window root = DefaultRootWindow(display);
  int first, errors;
  if (!XRRQueryExtension(display, &first, &errors))
    return;
  XRRSelectInput(display, root, 0);
  XRRSelectInput(display, root, RROutputChangeNotifyMask | RRCrtcChangeNotifyMask);
}

void *x11_begin(SDL_Window *window, bool *lost) {
  SDL_SysWMinfo info;
  if (!get_info(window, &info))
    return NULL;
  XSetIOErrorExitHandler(info.info.x11.display, on_server_gone, lost);
  XSetIOErrorHandler(on_connection_broken);
  XSetErrorHandler(on_error);
  select_displays(info.info.x11.display);
  SDL_EventState(SDL_SYSWMEVENT, SDL_ENABLE);
  return info.info.x11.display;
}

void x11_settle(void *connection) {
  if (connection)
    XSync(connection, False);
}

/* Returns the window that the property _NET_SUPPORTING_WM_CHECK of `window` names, by which a window manager shows that
 * it is running; 0: there is none. */
static Window get_manager(Display *display, Window window) {
  Atom check = XInternAtom(display, "_NET_SUPPORTING_WM_CHECK", False), type;
  int format;
  unsigned long count = 0, left;
  unsigned char *value = NULL;
  if (XGetWindowProperty(display, window, check, 0, 1, False, XA_WINDOW, &type, &format, &count, &left, &value))
    return 0;
  Window manager = count && format == 32 ? *(unsigned long *)(void *)value : 0;
  if (value)
    XFree(value);
  return manager;
}

/* Returns true if no window manager is running. A window manager that has ended leaves the property on the root window,
 * but the window that the property names no longer exists. */
bool x11_lacks_manager(SDL_Window *window) {
  SDL_SysWMinfo info;
  if (!get_info(window, &info))
    return false;
  Display *display = info.info.x11.display;
  Window manager = get_manager(display, DefaultRootWindow(display));
  return !manager || get_manager(display, manager) != manager;
}

unsigned long x11_hold_focus(SDL_Window *window) {
  static const unsigned long never = 0; /* a creation time of 0 tells window managers not to focus the window */
  SDL_SysWMinfo info;
  Window focus = None;
  int revert;
  if (!get_info(window, &info))
    return 0;
  Display *display = info.info.x11.display;
  XChangeProperty(display, info.info.x11.window, XInternAtom(display, "_NET_WM_USER_TIME", False), XA_CARDINAL, 32,
                  PropModeReplace, (const unsigned char *)&never, 1);
  XGetInputFocus(display, &focus, &revert);
  return focus;
}

/* Gives the keyboard focus back to the window that had it: without a window manager SDL focuses the window that it
 * shows. */
void x11_give_focus(SDL_Window *window, unsigned long focus) {
  SDL_SysWMinfo info;
  if (focus > PointerRoot && get_info(window, &info) && focus != info.info.x11.window)
    XSetInputFocus(info.info.x11.display, focus, RevertToPointerRoot, CurrentTime);
}

static const XEvent *get_event(const SDL_Event *event) {
  return event->type == SDL_SYSWMEVENT && event->syswm.msg->subsystem == SDL_SYSWM_X11
             ? &event->syswm.msg->msg.x11.event
             : NULL;
}

/* Puts an event "the window was hidden" into X11's queue. SDL hides a window before it destroys it, and waits for this
 * event without limit; for a window that another program has destroyed, the event would never come. */
static void tell_hidden(Display *display, Window window) {
  XEvent event = {.xunmap = {.type = UnmapNotify, .display = display, .event = window, .window = window}};
  XPutBackEvent(display, &event);
}

bool x11_tells_destroyed(const SDL_Event *event, SDL_Window *window) {
  SDL_SysWMinfo info;
  const XEvent *own = get_event(event);
  bool told = own && own->type == DestroyNotify && window && get_info(window, &info) &&
              own->xdestroywindow.window == info.info.x11.window;
  if (told)
    tell_hidden(info.info.x11.display, info.info.x11.window);
  return told;
}

bool x11_tells_displays(const SDL_Event *event, SDL_Window *window) {
  SDL_SysWMinfo info;
  int first, errors;
  const XEvent *own = get_event(event);
  return own && own->type >= LASTEvent && get_info(window, &info) &&
         XRRQueryExtension(info.info.x11.display, &first, &errors) && own->type == first + RRNotify;
}

/* Returns the character of an X11 key symbol; 0: none is known. The old key symbols of non-Latin scripts have numbers
 * that are not Unicode. The same Cyrillic letter is returned for all of them, because callers only need to know that
 * the character is not Latin. */
static SDL_Keycode get_character(KeySym symbol) {
  /* Blocks of 256 old key symbols: bit i is set if the symbols from i * 256 on are of a non-Latin script */
  static const unsigned foreign_blocks = 1u << 0x04 | 1u << 0x05 | 1u << 0x06 | 1u << 0x07 | 1u << 0x0c | 1u << 0x0d |
                                         1u << 0x0e | 1u << 0x14 | 1u << 0x15;
  const SDL_Keycode any_letter = 0x0430;
  if (symbol >= 0x20 && symbol < 0x100)
    return (SDL_Keycode)symbol;
  if (symbol > 0x1000100 && symbol <= 0x110ffff)
    return (SDL_Keycode)(symbol - 0x1000000);
  return symbol < 0x2000 && foreign_blocks >> (symbol >> 8) & 1 ? any_letter : 0;
}

/* Returns the character that a key (X11 key code) types without Shift. group: index of the user's layout that is
 * switched on, from a key event's state. */
static SDL_Keycode get_plain(Display *display, unsigned key, unsigned group) {
  KeySym symbol = NoSymbol;
  XkbLookupKeySym(display, (KeyCode)key, group, NULL, &symbol);
  return get_character(symbol);
}

/* Returns true if this keyboard layout is for a non-Latin script: more than 13 of its keys, and more than those that
 * type a to z, type letters of other scripts. One key is not enough to tell, because some keys of such a layout type
 * ASCII. */
static bool is_foreign_layout(Display *display, unsigned group) {
  int first, last, foreign = 0, latin = 0;
  XDisplayKeycodes(display, &first, &last);
  for (int key = first; key <= last; key++) {
    SDL_Keycode plain = get_plain(display, (unsigned)key, group);
    foreign += layout_is_foreign(plain);
    latin += plain >= 'a' && plain <= 'z';
  }
  return foreign > latin && foreign > 26 / 2;
}

bool x11_get_layout(const SDL_Event *event, struct layout_key *layout) {
  const XEvent *own = get_event(event);
  if (!own || own->type != KeyPress)
    return false;
  unsigned group = own->xkey.state & (3u << 13);
  layout->plain = get_plain(own->xkey.display, own->xkey.keycode, group);
  layout->foreign = is_foreign_layout(own->xkey.display, group);
  return true;
}

void x11_get_typed(const SDL_Event *event, char *typed) {
  const XEvent *own = get_event(event);
  char text[8] = "";
  if (!own || own->type != KeyPress)
    return;
  XKeyEvent key = own->xkey;
  int length = XLookupString(&key, text, sizeof text, NULL, NULL);
  *typed = length == 1 && text[0] >= ' ' && text[0] <= '~' ? text[0] : 0;
}

bool x11_find_display(SDL_Window *window, unsigned long *name, SDL_Rect *bounds) {
  SDL_SysWMinfo info;
  int count = 0, at = 0;
  if (!get_info(window, &info))
    return false;
  Display *display = info.info.x11.display;
  XRRMonitorInfo *monitors = XRRGetMonitors(display, DefaultRootWindow(display), True, &count);
  while (at < count &&
         (*name ? monitors[at].name != *name : monitors[at].x != bounds->x || monitors[at].y != bounds->y))
    at++;
  bool found = at < count;
  if (found) {
    *name = monitors[at].name;
    *bounds = (SDL_Rect){monitors[at].x, monitors[at].y, monitors[at].width, monitors[at].height};
  }
  if (monitors)
    XRRFreeMonitors(monitors);
  return found;
}
