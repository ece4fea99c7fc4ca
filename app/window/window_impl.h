/* Declarations that the files of the windows share. Each file calls only files above it in this list:
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
  /* The windows and their context. */
  SDL_Window *sdl[WINDOWS];
  int display[WINDOWS];   /* numbers of their displays */
  enum window_which used; /* the current one */
  struct context context;

  /* Keys and text, from one event to the next. */
  bool key_repeats, key_controls; /* the key whose text event follows is held down; Ctrl is held with it */
  bool key_placed;                /* the last key stands for its position, and its text event is ignored */
  bool takes_text;                /* the user types a line of text */
  int text_turns;                 /* number of changes of takes_text */
  bool text_comes;                /* SDL reports the text of the keys that are read now in events of its own */
  struct layout_key layout;       /* the layout of the key whose event follows, as X11 reports it */
  bool layout_told;               /* layout is valid */
  char typed;                     /* the character that this key types, as X11 reports it; 0: none */

  /* How the output is shown. */
  bool pointer_hidden;         /* the pointer is hidden over the output */
  bool borderless, fullscreen; /* the user wants the output without a border, in full screen */
  bool filled, by_hand;        /* the output fills its display; without a window manager's help */
  SDL_Rect before;             /* with by_hand: the output's place before that */

  /* The output while it shares its display with the operator's window. */
  bool made_room;     /* the output was moved, and lost its border, for the operator's window */
  SDL_Rect made_from; /* the output's place before that */
  bool moving;        /* the output has to be placed once more when its border has appeared or gone */
  SDL_Point move_to;  /* position for that placing */
  SDL_Rect wanted;    /* size of the operator's window if there is enough room */

  /* The output's size and display, and what SDL keeps for the windows. */
  int width, height;          /* size asked for during full screen, to be set when that ends; 0: none */
  struct display_place place; /* place of the output's display */
  bool hidden;                /* the output is hidden because its display is disconnected */
  char *dropped;              /* SDL's name of the file dropped last; NULL: none */
  int files_dropped;          /* number of files so far that were dropped together */
  void *connection;           /* connection to the X server; NULL: none */
  bool lost, destroyed;       /* the X server is gone; another program has destroyed the output */
  bool border_waits;          /* the output gets its border when full screen ends */
  SDL_Rect text_place;        /* place of composed text that the input method was told last */
};

/* --- window_parts.c --- */

/* Creates a window on its display. Returns NULL on failure, and SDL_GetError says why. */
SDL_Window *window_make(const struct window *window, enum window_which which, const struct window_params *params);
/* Sets the program's icon. window may be NULL. */
void window_set_icon(SDL_Window *window);
/* Shows the output again after it was hidden because its display was disconnected. */
void window_show_again(struct window *window);

/* --- window_operator.c --- */

/* Completes a move of the output once the window manager has added or removed its border. */
void window_follow_border(struct window *window);
/* Moves the operator's window if it lies over the output. */
void window_keep_apart(struct window *window);

/* --- window_events.c --- */

/* Translates an event. Returns false if the program has no use for it. */
bool window_translate(struct window *window, const SDL_Event *sdl, struct window_event *event);
/* Shows or hides the pointer, depending on the window that it is over: there is only one pointer, and only the output
 * may hide it. */
void window_follow_pointer(const struct window *window);

#endif
