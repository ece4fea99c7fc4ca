/* Declarations that the files which implement the windows share. Each file calls only functions of files above it in
 * this list:
 *
 * window_parts.c     creates a window, shows it again, and makes one of them current
 * window_operator.c  opens, places and closes the operator's window
 * window_events.c    translates the events of both windows
 * window.c           opens, moves and shows the output window */
#ifndef APP_WINDOW_WINDOW_IMPL_H
#define APP_WINDOW_WINDOW_IMPL_H

#include <SDL.h>

#include "app/window/context.h"
#include "app/window/displays.h"
#include "app/window/layout.h"
#include "app/window/window.h"

struct window {
  /* The fields from here down to `context` are the windows and the OpenGL context that they share. */
  SDL_Window *sdl[WINDOWS];
  int display[WINDOWS];   /* for each window, the number of the display that it is opened on */
  enum window_which used; /* the window to which drawing goes */
  struct context context;

  /* The fields from here down to `typed` are about keys and text. SDL reports a key and the text that it types in two
   * events, so these fields are kept from the first event to the second. */
  /* key_repeats: the last key event was a repetition of a key held down; key_controls: Ctrl was held with it */
  bool key_repeats, key_controls;
  bool key_placed; /* true: the last key is recognised by its position (layout_place), so its text event is ignored */
  bool takes_text; /* true: the user types a line of text, and keys are no commands */
  /* number of times that text input (takes_text) was switched on or off. The mark that is put into the event queue when
   * it is switched on has this number; SDL sends no text events for keys before the mark. */
  int text_turns;
  bool text_comes;          /* true: SDL sends a text event after each key event that types something */
  struct layout_key layout; /* what X11 reports about the layout of the key whose SDL event comes next */
  bool layout_told;         /* true: `layout` (what X11 reports about the key) is valid for the next key event */
  char typed;               /* ASCII character that the key types, as X11 reports it; 0: none */

  /* The fields from here down to `before` tell how the output window is shown. */
  bool pointer_hidden; /* true: the mouse pointer is hidden while it is over the output window */
  /* what the user wants: borderless: an output window without a border; fullscreen: an output window that fills its
   * display */
  bool borderless, fullscreen;
  /* filled: the output window fills its display; by_hand: this program itself has moved and resized the output window
   * so that it fills the display, because no window manager runs */
  bool filled, by_hand;
  SDL_Rect before; /* if `by_hand` is true: position and size of the output window before it filled its display */

  /* The fields from here down to `wanted` describe the output window while it shares its display with the operator's
   * window. */
  /* true: the output window was moved to the display's corner, without its border, to make room for the operator's
   * window */
  bool made_room;
  SDL_Rect made_from; /* if `made_room` is true: position and size of the output window before it was moved to the
                       * display's corner */
  /* true: the output window's border is being added or removed; this may shift the window, so it is moved to move_to
   * when the window manager is done */
  bool moving;
  SDL_Point move_to; /* position to which the output window is moved when its border has been added or removed (when
                      * `moving` ends) */
  SDL_Rect wanted;   /* size that the operator's window gets if there is enough room */

  /* The remaining fields: the output window's size and display, and what SDL keeps for the windows. */
  int width, height;          /* size to set for the output window when full screen ends; 0: none */
  struct display_place place; /* name and position of the display that the output window is on */
  bool hidden;                /* true: the output window is hidden because its display is disconnected */
  char *dropped;              /* name of the file that was dropped last, allocated by SDL; NULL: none */
  /* number of files so far in the present drop, which may have several */
  int files_dropped;
  void *connection; /* connection to the X server (Display *); NULL: the system is not X11 */
  /* lost: the connection to the X server has ended; destroyed: another program has destroyed the output window */
  bool lost, destroyed;
  bool border_waits;   /* true: the output window gets its border back when full screen ends */
  SDL_Rect text_place; /* where in the window text is typed, as the input method was last told */
};

/* --- window_parts.c: functions for both windows --- */

/* Creates window `which` on its display. Returns NULL on failure; SDL_GetError then says why. */
SDL_Window *window_make(const struct window *window, enum window_which which, const struct window_params *params);
/* Sets the program's icon for the window. window may be NULL. */
void window_set_icon(SDL_Window *window);
/* Shows the output window again after it was hidden because its display was disconnected. */
void window_show_again(struct window *window);

/* --- window_operator.c: the operator's window beside the output window --- */

/* Moves the output window to its exact position after the window manager has added or removed the output window's
 * border. */
void window_follow_border(struct window *window);
/* Moves the operator's window if it overlaps the output window. */
void window_keep_apart(struct window *window);

/* --- window_events.c: translating SDL's events --- */

/* Translates an SDL event to *event. Returns false if the program has no use for it. */
bool window_translate(struct window *window, const SDL_Event *sdl, struct window_event *event);
/* Shows or hides the mouse pointer, depending on the window that it is over. SDL has one setting for both windows, and
 * only over the output window the pointer may be hidden. */
void window_follow_pointer(const struct window *window);

#endif
