/* What window.c, which opens, moves and shows windows, and window_events.c, which reads their events, share. */
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
  int width, height;           /* asked for in full screen, for the time after it; 0: nothing was */
  struct display_place place;  /* of the output */
  bool hidden;                 /* the output, while its display is gone */
  char *dropped;               /* SDL's name of the file dropped last; NULL: none */
  int files_dropped;           /* of those that are dropped together */
  void *connection;            /* to the X server; NULL: none */
  bool lost, destroyed;        /* the X server is gone; the output is, by another program */
  bool border_waits;           /* for the end of full screen */
  SDL_Rect text_place;         /* of what is composed, as the input method knows it */
};

/* False: the event means nothing here. */
bool window_translate(struct window *window, const SDL_Event *sdl, struct window_event *event);
/* Over the output the pointer may be hidden, and there is but one. */
void window_follow_pointer(const struct window *window);

#endif
