/* Finds a display of the system by its number or name, and notices when it is unplugged, plugged in again or moved.
 * Only the main thread calls these functions. */
#ifndef APP_WINDOW_DISPLAYS_H
#define APP_WINDOW_DISPLAYS_H

#include <SDL.h>
#include <stdbool.h>

#include "unet/base/error.h"

/* Stores the number of the display that `words` names: by the display's number from 0, by its name, or by a part of its
 * name that occurs in no other display's name. Returns 0, or -1 with err and STATUS_USAGE if there is no such
 * display. */
int displays_find(const char *words, int *number, struct error *err);

struct display_place {
  char name[96];
  unsigned long x11_name; /* X11's name of the monitor, an atom; 0: the system is not X11 */
  /* position and size on the desktop, in window coordinates, when the display was last connected */
  SDL_Rect bounds;
  /* true: the display is disconnected at the moment */
  bool gone;
};

enum display_change { DISPLAY_SAME, DISPLAY_GONE, DISPLAY_CAME };

/* Stores name and position of display `number`, for display_place_follow. window: any window of the program. */
void display_place_begin(struct display_place *place, SDL_Window *window, int number);
/* Looks for the display of *place again. Returns DISPLAY_GONE once when the display was disconnected, DISPLAY_CAME once
 * when it was connected again or moved, otherwise DISPLAY_SAME. */
enum display_change display_place_follow(struct display_place *place, SDL_Window *window);

#endif
