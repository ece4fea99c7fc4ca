/* Lines that were typed before, oldest first, kept in a text file with one entry in each line. Their number is bounded.
 * A file that cannot be read or written counts as empty, and no error is reported. */
#ifndef APP_CONTROL_HISTORY_H
#define APP_CONTROL_HISTORY_H

#include "app/control/line_edit.h"

enum { HISTORY_MAX = 200, HISTORY_PATH_MAX = 4096 };

/* Initialise with zeros to start without a file. */
struct history {
  char path[HISTORY_PATH_MAX]; /* "": no file */
  char *line[HISTORY_MAX];
  int count;
  int at;                    /* index of the line that is shown; count: the line that is being typed */
  char typed[LINE_EDIT_MAX]; /* what was being typed, while an older line is shown */
};

/* Reads the file; lines in it that are too long or not UTF-8 are left out. path NULL: there is no file. */
void history_open(struct history *history, const char *path);
void history_close(struct history *history);

/* Adds a line that was entered as the newest one, in memory and in the file. An equal older line is removed. An empty
 * line is ignored. */
void history_add(struct history *history, const char *line);

/* history_begin returns to the line that is being typed. history_step shows an older line (by -1) or a newer one (by 1)
 * in edit; behind the newest one comes the line that was being typed. */
void history_begin(struct history *history);
void history_step(struct history *history, struct line_edit *edit, int by);

#endif
