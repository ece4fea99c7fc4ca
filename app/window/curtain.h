/* The curtain: a window of another process that shows one still picture. When this program restarts, it closes its own
 * window; the audience sees the curtain until the restarted program has something to show. */
#ifndef APP_WINDOW_CURTAIN_H
#define APP_WINDOW_CURTAIN_H

#include <stdint.h>

#include "app/window/window.h"

/* Environment variable that makes a new process of this program show the curtain, a still picture that hides a
 * restart. If it is set, main only calls curtain_main with its value. */
#define CURTAIN_VARIABLE "REVERIE_CURTAIN"

struct curtain_picture {
  struct window_place place;
  bool borderless;
  int width, height;
  const uint8_t *rgba; /* RGBA pixels, rows from bottom to top */
};

/* Starts the process that shows the curtain (a window with a still picture, which hides a restart), and does not wait
 * for its window. Stores in *line the descriptor of a connection to that process, or -1 on failure, and returns 0 or
 * -1 with err. The caller ends the process with curtain_drop. */
int curtain_raise(int *line, const struct curtain_picture *picture, struct error *err);
/* Returns 1 if the curtain (the window that hides a restart of this program) is on screen, 0 if it is not yet, and -1
 * if its process has ended. line: the connection that curtain_raise has stored. */
int curtain_look(int line);
/* Ends the process whose window shows the still picture, by closing the connection to it; stores -1 in *line. Does
 * nothing if *line is -1. */
void curtain_drop(int *line);

/* Runs the curtain (the window that hides a restart of this program) in a process of its own. value: contents of
 * CURTAIN_VARIABLE. Returns the process's exit status. */
int curtain_main(const char *value);

#endif
