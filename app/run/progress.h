/* How far a render is: a bar on the terminal, rewritten in place, or a line every few seconds where standard error is
 * something else. */
#ifndef APP_RUN_PROGRESS_H
#define APP_RUN_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

enum { PROGRESS_TEXT_MAX = 96 };

struct progress {
  bool quiet, terminal;
  long total; /* frames; 0 unknown */
  int64_t next_ns;
};

void progress_init(struct progress *progress, long total, bool quiet);
/* Call it for every frame: most calls do nothing. */
void progress_update(struct progress *progress, long frames, double seconds);
/* Takes the bar away, so that what follows begins on a clean line. */
void progress_clear(struct progress *progress);

/* What these are made of, with the clock's time given. */
void progress_begin(struct progress *progress, long total, bool terminal, bool quiet, int64_t now_ns);
bool progress_is_due(struct progress *progress, int64_t now_ns); /* and then not again for a while */
void progress_text(char text[PROGRESS_TEXT_MAX], long total, long frames, double seconds);

#endif
