/* Declarations that the files of the windows share. Each file calls only functions of files above it in this list:
 *
 * window_parts.c     creates a window, shows it again, and makes one of them current
 * window_operator.c  opens, places and closes the operator's window
 * window_events.c    translates the events of both windows
 * window.c           opens, moves and shows the output */
#ifndef APP_WINDOW_WINDOW_IMPL_H
#define APP_WINDOW_WINDOW_IMPL_H

#include <SDL.h>

#include "app/window/context.h"
#include "app/window/displays.h"
#include "app/window/layout.h"
#include "app/window/window.h"

struct window {
  /* The windows and the OpenGL context that they share. */
  SDL_Window *sdl[WINDOWS];
  int display[WINDOWS];   /* for each window, the number of the display that it is opened on */
  enum window_which used; /* the current window: the one that is drawn in */
  struct context context;

  /* Keys and text. SDL reports a key and the text that it types in two events, so these are kept from one to the
   * other. */
  /* the last key event was a repeat of a key held down; Ctrl was held with it */
  bool key_repeats, key_controls;
  bool key_placed; /* the last key counts by its position (layout_place), so its text event is ignored */
  bool takes_text; /* the user types a line of text, and keys are no commands */
  /* number of times that takes_text has changed, to tell keys before a change from those after it */
  int text_turns;
  bool text_comes;          /* SDL sends text events for the keys that are read now */
  struct layout_key layout; /* what X11 reports about the layout of the key whose SDL event comes next */
  bool layout_told;         /* true: `layout` is valid for the next key event */
  char typed;               /* ASCII character that this key types, as X11 reports it; 0: none */

  /* How the output is shown. */
  bool pointer_hidden;         /* the mouse pointer is hidden while it is over the output */
  bool borderless, fullscreen; /* the user wants the output without a border; in full screen */
  /* the output fills its display; it was placed so by this program, because no window manager runs */
  bool filled, by_hand;
  SDL_Rect before; /* if by_hand: position and size of the output before it filled its display */

  /* The output while it shares its display with the operator's window. */
  /* the output was moved to the display's corner, without its border, for the operator's window */
  bool made_room;
  SDL_Rect made_from; /* position and size of the output before it was moved to the corner */
  /* the output's border is being added or removed; when that is done the output is moved once more */
  bool moving;
  SDL_Point move_to; /* position to which the output is moved then */
  SDL_Rect wanted;   /* size that the operator's window gets if there is enough room */

  /* The output's size and display, and what SDL keeps for the windows. */
  int width, height;          /* size to set for the output when full screen ends; 0: none */
  struct display_place place; /* name and position of the display that the output is on */
  bool hidden;                /* the output is hidden because its display is disconnected */
  char *dropped;              /* name of the file that was dropped last, allocated by SDL; NULL: none */
  int files_dropped;          /* number of files in the current drop so far */
  void *connection;           /* connection to the X server (Display *); NULL: the system is not X11 */
  bool lost, destroyed;       /* the connection to the X server is lost; another program has destroyed the output */
  bool border_waits;          /* the output gets its border back when full screen ends */
  SDL_Rect text_place;        /* position of typed text that the input method was told last */
};

/* --- window_parts.c --- */

/* Creates window `which` on its display. Returns NULL on failure; SDL_GetError then says why. */
SDL_Window *window_make(const struct window *window, enum window_which which, const struct window_params *params);
/* Sets the program's icon for the window. window may be NULL. */
void window_set_icon(SDL_Window *window);
/* Shows the output again after it was hidden because its display was disconnected. */
void window_show_again(struct window *window);

/* --- window_operator.c --- */

/* After the window manager has added or removed the output's border, moves the output to its exact position. */
void window_follow_border(struct window *window);
/* Moves the operator's window if it overlaps the output. */
void window_keep_apart(struct window *window);

/* --- window_events.c --- */

/* Translates an SDL event to *event. Returns false if the program has no use for it. */
bool window_translate(struct window *window, const SDL_Event *sdl, struct window_event *event);
/* Shows or hides the mouse pointer, depending on the window that it is over. SDL has one setting for both windows, and
 * only over the output the pointer may be hidden. */
void window_follow_pointer(const struct window *window);

#endif
