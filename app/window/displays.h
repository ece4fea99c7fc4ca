/* The system's displays: which one is meant, and where it is, also after it went and came back. */
#ifndef APP_WINDOW_DISPLAYS_H
#define APP_WINDOW_DISPLAYS_H

#include <SDL.h>
#include <stdbool.h>

#include "unet/base/error.h"

/* The number of the display of that number, name or part of a name, which no other may have. STATUS_USAGE: none has. */
int displays_find(const char *words, int *number, struct error *err);

struct display_place {
  char name[96];
  unsigned long x11_name; /* 0: it is not one of X11's */
  SDL_Rect bounds;        /* when it was there last */
  bool gone;
};

enum display_change { DISPLAY_SAME, DISPLAY_GONE, DISPLAY_CAME };

/* The place of the display of that number. window: any. */
void display_place_begin(struct display_place *place, SDL_Window *window, int number);
/* What became of it since. CAME: it was gone, or is elsewhere now. */
enum display_change display_place_follow(struct display_place *place, SDL_Window *window);

#endif
