/* What SDL leaves undone on X11. On other systems, and where it is not built in (x11_absent.c), all answers are no. */
#ifndef APP_WINDOW_X11_H
#define APP_WINDOW_X11_H

#include <SDL.h>
#include <stdbool.h>

#include "app/window/layout.h"

/* From now on neither a server that goes nor a request that fails ends the program, as Xlib would have it; *lost is set
 * when the server is gone, and every event of X11 comes as an SDL_SYSWMEVENT. lost must last as long as SDL's video.
 * Returns the connection; NULL: there is none. */
void *x11_begin(SDL_Window *window, bool *lost);
/* All that was asked for has been answered. Before SDL's video ends: Xlib then has its own way with errors again. */
void x11_settle(void *connection);

/* No window manager is there to carry out what it is asked for. */
bool x11_lacks_manager(SDL_Window *window);

/* Before a hidden window is shown, which must not take the keyboard: returns who has that. Afterwards gives it back. */
unsigned long x11_hold_focus(SDL_Window *window);
void x11_give_focus(SDL_Window *window, unsigned long focus);

/* Whether the event says that the window exists no more, or that there are other displays now. Of one that exists no
 * more SDL can let go without waiting then. */
bool x11_tells_destroyed(const SDL_Event *event, SDL_Window *window);
bool x11_tells_displays(const SDL_Event *event, SDL_Window *window);

/* Stores what the layout in use, of several the one that the user has switched to, says of a pressed key. False, with
 * *layout as it is: the event is no key's. SDL's own event of that key comes next. */
bool x11_get_layout(const SDL_Event *event, struct layout_key *layout);
/* Stores the character of ASCII that a pressed key types by itself, whatever an input method would make of it; 0: it
 * types none. Leaves *typed as it is where the event is no key's. SDL's own event of that key comes next. */
void x11_get_typed(const SDL_Event *event, char *typed);

/* Where the display of that name is, which is never 0; of name 0: the display there, whose name is stored. SDL does not
 * follow one that is switched off or moved. */
bool x11_find_display(SDL_Window *window, unsigned long *name, SDL_Rect *bounds);

#endif
