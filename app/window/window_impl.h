/* What the files of the windows share. Each calls only those above it:
 *
 * window_parts.c     makes a window, shows it again, and makes one of them the one that is drawn in
 * window_operator.c  the second window
 * window_events.c    reads the events of both
 * window.c           opens, moves and shows the first one */
#ifndef APP_WINDOW_WINDOW_IMPL_H
#define APP_WINDOW_WINDOW_IMPL_H

#include <SDL.h>

#include "app/window/context.h"
#include "app/window/displays.h"
#include "app/window/layout.h"
#include "app/window/window.h"

struct window {
  SDL_Window *sdl[WINDOWS];
  int display[WINDOWS]; /* numbers */
  enum window_which used;
  struct context context;
  bool key_repeats, key_controls; /* of the key whose text comes next: it is held; Ctrl is held, too */
  bool key_placed;                /* the key pressed last counts by its place: what it types is not read */
  bool takes_text;                /* a line is typed */
  int text_turns;                 /* so often that has changed */
  bool text_comes;                /* with the events that are read now: SDL says what keys type in events of its own */
  struct layout_key layout;       /* X11 says, of the key whose event comes next */
  bool layout_told;               /* it has */
  char typed;                     /* else what the key whose event comes next types, as X11 says; 0: nothing */
  bool pointer_hidden;
  bool borderless, fullscreen; /* asked for, of the output */
  bool filled, by_hand;        /* it fills its display; with no window manager's help */
  SDL_Rect before;             /* by_hand: where it was */
  /* The output while it shares its display with the operator's window */
  bool made_room;     /* it was moved and has lost its border for that */
  SDL_Rect made_from; /* where it was before */
  bool moving;        /* it is placed once more when its border has come or gone */
  SDL_Point move_to;
  SDL_Rect wanted; /* the size that the operator's window has where there is room for it */

  int width, height;          /* asked for in full screen, for the time after it; 0: nothing was */
  struct display_place place; /* of the output */
  bool hidden;                /* the output, while its display is gone */
  char *dropped;              /* SDL's name of the file dropped last; NULL: none */
  int files_dropped;          /* of those that are dropped together */
  void *connection;           /* to the X server; NULL: none */
  bool lost, destroyed;       /* the X server is gone; the output is, by another program */
  bool border_waits;          /* for the end of full screen */
  SDL_Rect text_place;        /* of what is composed, as the input method knows it */
};

/* --- window_parts.c --- */

SDL_Window *window_make(const struct window *window, enum window_which which, const struct window_params *params);
void window_set_icon(SDL_Window *window);
/* Shows an output that was hidden, as its display was gone. */
void window_show_again(struct window *window);

/* --- window_operator.c --- */

/* Looks for the border of an output that was moved for the operator's window. */
void window_follow_border(struct window *window);
/* Moves the operator's window where it has come to lie over the output. */
void window_keep_apart(struct window *window);

/* --- window_events.c --- */

/* False: the event means nothing here. */
bool window_translate(struct window *window, const SDL_Event *sdl, struct window_event *event);
/* Over the output the pointer may be hidden, and there is but one. */
void window_follow_pointer(const struct window *window);

#endif
