/* A window of another process that shows one picture: what the audience sees while this program closes its window to be
 * started anew, until the new one has something to show. */
#ifndef APP_WINDOW_CURTAIN_H
#define APP_WINDOW_CURTAIN_H

#include <stdint.h>

#include "app/window/window.h"

/* Where the curtain's own process finds what it is: set, the program is nothing else. */
#define CURTAIN_VARIABLE "REVERIE_CURTAIN"

struct curtain_picture {
  struct window_place place;
  bool borderless;
  int width, height;
  const uint8_t *rgba; /* from the lowest row up */
};

/* Does not wait until it is there. *line: the connection to it, -1 on failure. */
int curtain_raise(int *line, const struct curtain_picture *picture, struct error *err);
/* 1: it is seen; 0: not yet; -1: it is not, and will not be. */
int curtain_look(int line);
/* It goes away. Stores -1; takes -1. */
void curtain_drop(int *line);

/* What its process does; value: of the variable. Returns the exit status. */
int curtain_main(const char *value);

#endif
