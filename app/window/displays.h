/* The displays of the system: finds one by its number or name, and follows where it is when it is unplugged, plugged in
 * again or moved. */
#ifndef APP_WINDOW_DISPLAYS_H
#define APP_WINDOW_DISPLAYS_H

#include <SDL.h>
#include <stdbool.h>

#include "unet/base/error.h"

/* Stores the number of the display that words names: by its number, its name, or a part of its name that no other
 * display has. Returns -1 and STATUS_USAGE if there is no such display. */
int displays_find(const char *words, int *number, struct error *err);

struct display_place {
  char name[96];
  unsigned long x11_name; /* the monitor's atom on X11; 0: the system is not X11 */
  SDL_Rect bounds;        /* position and size when it was last connected */
  /* the display is disconnected */
  bool gone;
};

enum display_change { DISPLAY_SAME, DISPLAY_GONE, DISPLAY_CAME };

/* Describes the display of that number. window is any window of the program. */
void display_place_begin(struct display_place *place, SDL_Window *window, int number);
/* Looks for the display again. Returns DISPLAY_GONE when it has been disconnected, and DISPLAY_CAME when it is back or
 * was moved. */
enum display_change display_place_follow(struct display_place *place, SDL_Window *window);

#endif
