/* Shows the progress of a render. For people: a bar that is redrawn in place on a terminal, or one line per minute if
 * standard error is something else. For programs (schedulers of render farms): percent, JSON, or the lines of the Open
 * Job Description standard. */
#ifndef APP_RUN_PROGRESS_H
#define APP_RUN_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "app/options/options.h"
#include "unet/base/error.h"

enum { PROGRESS_TEXT_MAX = 192 };

/* Position of the current input among all inputs of the command, and the percentage that was last written for all of
 * them together. */
struct progress_place {
  int input, inputs; /* input: number of the current input, from 1; inputs: how many there are */
  int percent;       /* last whole percentage that was written; -1: none */
};

struct progress {
  enum progress_kind kind;
  /* true: standard error is a terminal and the kind is PROGRESS_AUTO, so that a bar is drawn; false: lines are
   * written */
  bool terminal;
  FILE *out;  /* stream to which progress is written; not closed here */
  long total; /* number of frames to render; 0: unknown */
  /* number of frames that the output has already, from an earlier attempt; PROGRESS_JSON adds it to the frames and to
   * the total, but not to the rate */
  long before;
  bool ended; /* true: the render has ended and the last line is written; `total` is then the number of frames, even if
               * it is 0 */
  int64_t next_ns;
  /* Position of the input among the command's inputs; 1 of 1 unless the caller sets it after progress_init. Percentages
   * count over all inputs, as if each took the same time; frames and times are those of the current input. */
  struct progress_place place;
};

/* Returns the kind of progress that the options ask for. With -q (errors alone), progress for people becomes
 * PROGRESS_NONE. */
enum progress_kind progress_wanted(const struct options *options);

/* Returns the stream to which progress of this kind is written. For programs it is standard output, unless the render's
 * output goes there ("-" or "hash:-"); otherwise it is standard error. */
FILE *progress_stream(enum progress_kind kind, const char *output);

/* Starts to count the time of a render with `total` frames (0: unknown). A bar is used if the kind is PROGRESS_AUTO and
 * standard error is a terminal. */
void progress_init(struct progress *progress, enum progress_kind kind, FILE *out, long total);
/* Shows the progress if enough time has passed since it was shown last. Called for every frame. frames: finished so
 * far; seconds: time that they took. */
void progress_update(struct progress *progress, long frames, double seconds);
/* Erases the bar, so that other text begins on an empty line. whole: true: the render was successful; a program that
 * reads the progress then gets a last line with the final number of frames and, after the last input, 100 percent.
 * frames: rendered frames, without progress->before; seconds: the time that they took. */
void progress_end(struct progress *progress, bool whole, long frames, double seconds);
/* For PROGRESS_OPENJD, writes the line that tells a scheduler why the render has failed. Does nothing for other kinds,
 * since the program's own error message suffices. */
void progress_fail(enum progress_kind kind, FILE *out, const struct error *err);

/* progress_begin, progress_is_due, progress_text and progress_line do the work of progress_init and progress_update.
 * They get the time as an argument, which tests and other displays need. */
void progress_begin(struct progress *progress, enum progress_kind kind, FILE *out, long total, bool terminal,
                    int64_t now_ns);
/* Returns true if progress is to be shown now: once in each interval, whose length depends on the kind of display. */
bool progress_is_due(struct progress *progress, int64_t now_ns);
/* Writes the progress as text for people, such as "57 of 190 frames, 1.9 fps, 0:01:10 left". */
void progress_text(char text[PROGRESS_TEXT_MAX], long total, long frames, double seconds);
/* Writes the progress as a line for other programs, such as schedulers of render farms, in the format progress->kind,
 * with its line feed; "" if that format has no line to write now. */
void progress_line(const struct progress *progress, char text[PROGRESS_TEXT_MAX], long frames, double seconds);

#endif
