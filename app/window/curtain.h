/* The curtain: a window of another process that shows one still picture. The audience sees it while this program closes
 * its window to restart, until the new program has something to show. */
#ifndef APP_WINDOW_CURTAIN_H
#define APP_WINDOW_CURTAIN_H

#include <stdint.h>

#include "app/window/window.h"

/* Environment variable that tells a new process to be the curtain: main calls curtain_main with its value, and nothing
 * else. */
#define CURTAIN_VARIABLE "REVERIE_CURTAIN"

struct curtain_picture {
  struct window_place place;
  bool borderless;
  int width, height;
  const uint8_t *rgba; /* rows from the bottom to the top */
};

/* Starts the curtain's process and does not wait for its window. Stores in *line the descriptor of a connection to it,
 * or -1 on failure. The caller closes it with curtain_drop. */
int curtain_raise(int *line, const struct curtain_picture *picture, struct error *err);
/* Returns 1 if the curtain's window is on screen, 0 if it is not yet, and -1 if its process has ended. */
int curtain_look(int line);
/* Closes the connection, on which the curtain's process ends. Stores -1; does nothing if *line is -1. */
void curtain_drop(int *line);

/* Runs the curtain in its own process. value is the variable's value. Returns the exit status. */
int curtain_main(const char *value);

#endif
