/* The history of typed lines (prompts), oldest first, in memory and in a text file with one entry in each line. At most
 * HISTORY_MAX lines are kept. A file that cannot be read or written is ignored without a message. */
#ifndef APP_CONTROL_HISTORY_H
#define APP_CONTROL_HISTORY_H

#include "app/control/line_edit.h"

enum { HISTORY_MAX = 200, HISTORY_PATH_MAX = 4096 };

/* A list of typed lines, and the position of the user in it. Initialise with zeros to start without a file. */
struct history {
  char path[HISTORY_PATH_MAX]; /* path of the file; "": lines are kept in memory only */
  char *line[HISTORY_MAX];
  int count;
  int at; /* index of the line that is shown in the edit field; if equal to `count`, the user's new line is shown */
  char typed[LINE_EDIT_MAX]; /* the user's unfinished line, kept while an older line is shown */
};

/* Reads the file at `path` into the history. Lines that are too long or not UTF-8 are left out. path NULL: lines are
 * kept in memory only. */
void history_open(struct history *history, const char *path);
void history_close(struct history *history);

/* Adds a line that the user has entered as the newest one, in memory and in the file. If the history has an equal line,
 * the old one is removed. An empty line is ignored. */
void history_add(struct history *history, const char *line);

/* history_begin is called when the user begins a new line. history_step replaces the text in `edit` by the next older
 * line (by -1) or the next newer one (by 1); after the newest line comes the unfinished line that the user was
 * typing. */
void history_begin(struct history *history);
void history_step(struct history *history, struct line_edit *edit, int by);

#endif
