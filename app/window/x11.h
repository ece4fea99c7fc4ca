/* Calls X11 directly for tasks that SDL does not do. On other systems, and in builds without X11 (x11_absent.c), all
 * functions return 0, false or NULL. Only the main thread calls them. */
#ifndef APP_WINDOW_X11_H
#define APP_WINDOW_X11_H

#include <SDL.h>
#include <stdbool.h>

#include "app/window/layout.h"

/* Replaces Xlib's error handlers, which would end the program. From now on failed requests are ignored, and *lost is
 * set when the connection to the X server is lost; `lost` must stay valid until SDL's video subsystem has ended. SDL
 * then also passes on every X11 event as SDL_SYSWMEVENT. Returns the connection; NULL: the system is not X11. */
void *x11_begin(SDL_Window *window, bool *lost);
/* Waits until the server has answered all requests. Called before SDL's video subsystem ends, because afterwards Xlib's
 * own error handlers are used again, and a late error would end the program. */
void x11_settle(void *connection);

/* Returns true if the window is on X11 and no window manager is running. */
bool x11_lacks_manager(SDL_Window *window);

/* Two functions that keep the keyboard focus where it is while a hidden window is shown: x11_hold_focus, called before,
 * returns the window that has the focus; x11_give_focus, called afterwards, gives the focus back to that window. */
unsigned long x11_hold_focus(SDL_Window *window);
void x11_give_focus(SDL_Window *window, unsigned long focus);

/* x11_tells_destroyed returns true if the event says that another program has destroyed the window; SDL_DestroyWindow
 * then does not wait. x11_tells_displays returns true if the event says that displays were connected, removed or
 * moved. */
bool x11_tells_destroyed(const SDL_Event *event, SDL_Window *window);
bool x11_tells_displays(const SDL_Event *event, SDL_Window *window);

/* Stores what the user's current keyboard layout says about a pressed key. event: the X11 event, which SDL passes on
 * before its own event for the key. Returns false, and leaves *layout unchanged, if event is no key event. */
bool x11_get_layout(const SDL_Event *event, struct layout_key *layout);
/* Stores the ASCII character that a pressed key types, before an input method changes it; 0: none. event: the X11
 * event, which SDL passes on before its own event for the key. Leaves *typed unchanged if event is no key event. */
void x11_get_typed(const SDL_Event *event, char *typed);

/* Stores position and size on the desktop of the display with this X11 name (an atom). SDL does not update these when a
 * display is switched off or moved. If *name is 0, finds the display at the position in *bounds and stores its name.
 * Returns false if there is no such display. */
bool x11_find_display(SDL_Window *window, unsigned long *name, SDL_Rect *bounds);

#endif
