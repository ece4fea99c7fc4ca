/* A bar on the terminal, rewritten in place. */
#ifndef APP_PROGRESS_H
#define APP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
  bool shown; /* standard error is a terminal and nobody asked for quiet */
  long total; /* frames; 0 unknown */
  int64_t drawn_ns;
};

void progress_init(struct progress *progress, long total, bool quiet);
/* Draws at most ten times a second. */
void progress_update(struct progress *progress, long frames, double seconds);
/* Takes the bar away, so that what follows begins on a clean line. */
void progress_clear(struct progress *progress);

#endif
