/* What was typed into a line before, oldest first, in a file of one line each: bounded, and never in the way. A file
 * that cannot be read or written is as none. */
#ifndef APP_CONTROL_HISTORY_H
#define APP_CONTROL_HISTORY_H

#include "app/control/line_edit.h"

enum { HISTORY_MAX = 200, HISTORY_PATH_MAX = 4096 };

/* Zero-initialise to start without a file. */
struct history {
  char path[HISTORY_PATH_MAX]; /* "": none */
  char *line[HISTORY_MAX];
  int count;
  int at;                    /* the line that is seen; count: the one that is being typed */
  char typed[LINE_EDIT_MAX]; /* while an older one is seen */
};

/* Reads the file; what is no UTF-8 or too long in it is left out. path NULL: without a file. */
void history_open(struct history *history, const char *path);
void history_close(struct history *history);

/* A line that was entered comes last, in the memory and the file; an equal one before it goes. "" is none. */
void history_add(struct history *history, const char *line);

/* Steps through them: by -1 to older, by 1 to newer lines, and behind the newest is what was being typed. */
void history_begin(struct history *history);
void history_step(struct history *history, struct line_edit *edit, int by);

#endif
