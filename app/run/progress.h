/* Shows the progress of a render: a bar that is redrawn in place on a terminal, or a line every few seconds if standard
 * error is something else. */
#ifndef APP_RUN_PROGRESS_H
#define APP_RUN_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

enum { PROGRESS_TEXT_MAX = 96 };

struct progress {
  bool quiet, terminal;
  long total; /* number of frames to render; 0: unknown */
  int64_t next_ns;
};

/* Starts to count the time of a render with `total` frames (0: unknown). A bar is used if standard error is a terminal,
 * otherwise lines. quiet: nothing is shown. */
void progress_init(struct progress *progress, long total, bool quiet);
/* Shows the progress if enough time has passed since it was shown last. Called for every frame. frames: finished so
 * far; seconds: time that they took. */
void progress_update(struct progress *progress, long frames, double seconds);
/* Erases the bar, so that other output begins on an empty line. */
void progress_clear(struct progress *progress);

/* These do the work of progress_init and progress_update with the time as an argument, for tests and other displays. */
void progress_begin(struct progress *progress, long total, bool terminal, bool quiet, int64_t now_ns);
bool progress_is_due(struct progress *progress, int64_t now_ns); /* true at most once per interval of display */
void progress_text(char text[PROGRESS_TEXT_MAX], long total, long frames, double seconds);

#endif
