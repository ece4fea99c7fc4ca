/* Keeps frames within a time budget by choosing among up to four settings of the engine, the rungs: rung 0 is the size
 * and number of steps that the user asked for (the wish), and each further rung has fewer pixels or steps. The governor
 * uses the first rung whose predicted frame time fits the budget. It moves to a cheaper rung after a few late frames,
 * and to a better one if that is predicted to need at most 85 % of the budget, after a pause that doubles with each
 * move that had to be undone. It reads no clock and calls no engine: struct governor is a plain value, which one thread
 * uses. */
#ifndef APP_RUN_GOVERNOR_H
#define APP_RUN_GOVERNOR_H

#include <stdbool.h>
#include <stdint.h>

enum { GOVERNOR_RUNGS = 4, GOVERNOR_WINDOW = 16 };

struct governor_rung {
  int width, height, steps;
};

struct governor_wish {
  int width, height, steps;
  int multiple;     /* width and height must be multiples of this */
  int floor_pixels; /* least number of pixels of a cheaper rung; 0: a quarter of the requested number */
};

/* Fills the rungs: the wish and up to three cheaper ones with clearly less work (pixels times steps) than the one
 * before. Pictures become smaller with the same aspect ratio as far as floor_pixels allows, and then the steps become
 * fewer. Returns the number of rungs, at least 1. */
int governor_ladder(const struct governor_wish *wish, struct governor_rung rungs[GOVERNOR_RUNGS]);

/* Zero-initialise to start. */
struct governor {
  double budget_ms;
  /* count: number of rungs; rung: index of the one in use, where 0 has the size and steps that the user asked for */
  int count, rung;
  bool absent[GOVERNOR_RUNGS];
  double work[GOVERNOR_RUNGS];
  /* frame time relative to rung 0: at first the ratio of their work, later measured */
  double relative[GOVERNOR_RUNGS];
  double recent[GOVERNOR_WINDOW]; /* ring of the last measured frame times of the rung in use, in ms */
  /* Frames of the rung in use since it was chosen: number measured, and number seen, of which the first few are not
   * measured because they are slower. */
  long measured, skipped;
  int left; /* index of the rung that was in use before this one */
  /* median frame time, in ms, of the rung in use before this one (index `left`); 0: it is unknown, or was already used
   * to correct `relative`, the ratios of the rungs' frame times */
  double left_ms;
  /* last measured frame time in ms divided by the rung's work (pixels times steps); 0: unknown */
  double ms_by_work;
  int64_t since_ns; /* time when the rung in use was chosen */
  /* time of the last move to a better rung, until it has lasted for a minute or was undone; 0: none */
  int64_t climbed_ns;
  double pause_s; /* seconds to stay on a rung before a better one is tried */
};

/* Starts anew with other rungs. The time per unit of work that was measured before, if any, decides which rung is used
 * first; otherwise it is rung 0. */
void governor_begin(struct governor *governor, double budget_ms, const struct governor_rung *rungs, int count,
                    int64_t now_ns);

/* Reports how long a frame took that was made with the size and steps of this rung. Ignored if another rung is in use
 * by now. */
void governor_measure(struct governor *governor, int rung, double frame_ms);

/* Moves to another rung if that is necessary and the rung's handle is ready. ready: bit i is set if rung i is ready.
 * Returns the rung whose handle the caller should prepare first: the one that the governor wants to use, which is the
 * rung in use if no move is wanted. */
int governor_choose(struct governor *governor, unsigned ready, int64_t now_ns);

/* Reports that a rung's handle cannot be prepared. If that rung is in use, the governor moves to the next cheaper one,
 * or if there is none to a better one. */
void governor_refuse(struct governor *governor, int rung, int64_t now_ns);
/* Returns the median time of a frame of the rung in use, in ms; 0: fewer than eight frames were measured. */
double governor_frame_ms(const struct governor *governor);
/* Returns true if eight frames were measured on the rung in use. Before that, handles of other rungs should not be
 * prepared, because the preparation would make the measured frames slower. */
bool governor_is_settled(const struct governor *governor);

#endif
