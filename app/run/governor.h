/* Keeps frames within a time budget. From the handle that the user asked for down to cheaper ones (the rungs of a
 * ladder), it chooses the best one whose predicted time fits the budget. It moves down after a few late frames, and up
 * if a better rung is predicted to leave headroom, after a pause that doubles with each failed attempt. It reads no
 * clock and calls no engine: a plain value, which one thread uses. */
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
  int multiple;     /* the engine's sides are multiples of this */
  int floor_pixels; /* least number of pixels of a picture, except for the wish itself; 0: a quarter of the wish's */
};

/* Fills the rungs: the wish and up to three cheaper ones, each with clearly less work than the one before. Pictures
 * become smaller with the same aspect ratio as far as floor_pixels allows, and then the steps become fewer. Returns the
 * number of rungs, at least 1. */
int governor_ladder(const struct governor_wish *wish, struct governor_rung rungs[GOVERNOR_RUNGS]);

/* Zero-initialise to start. */
struct governor {
  double budget_ms;
  int count, rung; /* rung: the one in use; 0 is the wish */
  bool absent[GOVERNOR_RUNGS];
  double work[GOVERNOR_RUNGS];
  double relative[GOVERNOR_RUNGS]; /* time of a frame relative to rung 0: first estimated by its work, then measured */
  double recent[GOVERNOR_WINDOW];  /* times of the last frames of this rung, in ms */
  /* frames measured on this rung; the first frames of a rung, which are slower and therefore skipped */
  long measured, skipped;
  int left;           /* the previous rung */
  double left_ms;     /* time of a frame on the previous rung; 0: unknown, or already used */
  double ms_by_work;  /* time per unit of work, as measured last; 0: unknown */
  int64_t since_ns;   /* when this rung was chosen */
  int64_t climbed_ns; /* when the last move up was made, while it may still fail; 0: none */
  double pause_s;     /* seconds before the next move up */
};

/* Begins with another ladder. The first rung is chosen by earlier measurements. */
void governor_begin(struct governor *governor, double budget_ms, const struct governor_rung *rungs, int count,
                    int64_t now_ns);

/* Reports the time of a frame of a rung. Frames of rungs that are not in use are ignored. */
void governor_measure(struct governor *governor, int rung, double frame_ms);

/* Moves to another rung if necessary and if its handle is ready (a bit for each rung). Returns the rung whose handle is
 * needed first: the one in use, or the one to which it wants to move. */
int governor_choose(struct governor *governor, unsigned ready, int64_t now_ns);

/* Reports that a rung's handle cannot be made. If it is in use, a cheaper rung replaces it, or else a better one. */
void governor_refuse(struct governor *governor, int rung, int64_t now_ns);
/* Returns the time of a frame of the rung in use, in ms; 0: unknown. */
double governor_frame_ms(const struct governor *governor);
/* True if enough frames were measured. Only then should handles of other rungs be prepared, because that disturbs
 * times. */
bool governor_is_settled(const struct governor *governor);

#endif
