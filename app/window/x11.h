/* Things that SDL does not do on X11. On other systems, and in builds without X11 (x11_absent.c), all functions return
 * 0, false or NULL. */
#ifndef APP_WINDOW_X11_H
#define APP_WINDOW_X11_H

#include <SDL.h>
#include <stdbool.h>

#include "app/window/layout.h"

/* Replaces Xlib's error handlers, which would end the program: a failed request is ignored, and *lost is set when the X
 * server is gone. From then on SDL passes every X11 event on as SDL_SYSWMEVENT. lost must stay valid as long as SDL's
 * video. Returns the connection; NULL: the system is not X11. */
void *x11_begin(SDL_Window *window, bool *lost);
/* Waits until the server has answered all requests. Must be called before SDL's video ends, because after that Xlib's
 * own error handlers are in force again. */
void x11_settle(void *connection);

/* Returns true if no window manager is running. */
bool x11_lacks_manager(SDL_Window *window);

/* x11_hold_focus is called before a hidden window is shown that must not take the keyboard focus: it returns the window
 * that has the focus. x11_give_focus gives it back afterwards. */
unsigned long x11_hold_focus(SDL_Window *window);
void x11_give_focus(SDL_Window *window, unsigned long focus);

/* x11_tells_destroyed is true if the event says that another program has destroyed the window; SDL_DestroyWindow can be
 * called without a wait then. x11_tells_displays is true if displays were connected, removed or moved. */
bool x11_tells_destroyed(const SDL_Event *event, SDL_Window *window);
bool x11_tells_displays(const SDL_Event *event, SDL_Window *window);

/* Stores what the current layout says about a pressed key; if the user has several layouts, the one switched to counts.
 * Returns false and leaves *layout if the event is not a key's. SDL's own event for this key follows. */
bool x11_get_layout(const SDL_Event *event, struct layout_key *layout);
/* Stores the ASCII character that a pressed key types, before any input method changes it; 0: it types none. Leaves
 * *typed if the event is not a key's. SDL's own event for this key follows. */
void x11_get_typed(const SDL_Event *event, char *typed);

/* Stores position and size of the display with this X11 name (an atom). If *name is 0, the display at the position in
 * *bounds is meant, and its name is stored. SDL does not notice if a display is switched off or moved. Returns false if
 * there is no such display. */
bool x11_find_display(SDL_Window *window, unsigned long *name, SDL_Rect *bounds);

#endif
