/* Keeps frames within a time budget by choosing among up to four settings of the engine, called rungs. Rung 0 has the
 * size and number of steps that the user asked for; each further rung has fewer pixels or steps. The first rung whose
 * predicted frame time fits the budget is used.
 *
 * A few late frames cause a move to a cheaper rung. After a pause, the governor moves to a better rung that is
 * predicted to need at most 85 % of the budget; the pause doubles with each such move that had to be undone. The
 * governor reads no clock and calls no engine: struct governor is a plain value, which one thread uses. */
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
  int multiple; /* the picture's width and height must be multiples of this number */
  /* least number of pixels to which the governor may reduce the picture to save time; 0: a quarter of the number that
   * the user asked for */
  int floor_pixels;
};

/* Fills the rungs (settings of size and steps): first what the user asked for, then up to three cheaper ones, each with
 * clearly less work (pixels times steps). The size is reduced first, with the same aspect ratio, down to floor_pixels;
 * then the steps. Returns the number of rungs, at least 1. */
int governor_ladder(const struct governor_wish *wish, struct governor_rung rungs[GOVERNOR_RUNGS]);

/* State of the governor, which keeps frames within a time budget. Zero-initialise to start. */
struct governor {
  double budget_ms;
  /* number of rungs (settings of size and steps), and index of the rung in use; rung 0 is what the user asked for */
  int count, rung;
  bool absent[GOVERNOR_RUNGS];
  double work[GOVERNOR_RUNGS];
  /* frame time with each rung (setting of size and steps), divided by that with rung 0: at first the ratio of their
   * work, later a measured ratio */
  double relative[GOVERNOR_RUNGS];
  double recent[GOVERNOR_WINDOW]; /* ring buffer of the last frame times measured with the setting in use, in ms */
  /* Numbers of frames since the rung (setting of size and steps) in use was chosen. measured: frames whose time was
   * recorded; skipped: the first few, whose time was ignored because they are slower. */
  long measured, skipped;
  int left; /* index of the setting of size and steps (rung) that was in use before the present one */
  /* median frame time in ms with the former rung (index `left`), until it is used to correct relative[]; 0: unknown or
   * already used */
  double left_ms;
  /* last measured median frame time, in ms, divided by the work (pixels times steps) of the setting it was measured
   * with; 0: unknown */
  double ms_by_work;
  int64_t since_ns; /* time when the setting of size and steps in use was chosen, on the clock of the caller's now_ns */
  /* time of the last move to a better setting (more pixels or steps); 0: there was no such move, or the better setting
   * was kept for a minute, or the move was undone */
  int64_t climbed_ns;
  double pause_s; /* seconds to keep a setting of size and steps before a better one is tried */
};

/* Starts with a new list of rungs (settings of size and steps). If the time per unit of work (pixels times steps) is
 * known from earlier rungs, begins with the first rung that is predicted to fit the budget, or with the last one;
 * otherwise with rung 0. */
void governor_begin(struct governor *governor, double budget_ms, const struct governor_rung *rungs, int count,
                    int64_t now_ns);

/* Records how long, in ms, a frame took that was made with this rung (setting of size and steps). Does nothing if
 * another rung is in use by now, and for the first two frames of a rung, which are slower. */
void governor_measure(struct governor *governor, int rung, double frame_ms);

/* Moves to another rung (setting of size and steps) if the frame times ask for it and its handle is prepared. ready:
 * bit i is set if rung i has a handle. Returns the rung whose handle to prepare next; the one in use if no other is
 * wanted. */
int governor_choose(struct governor *governor, unsigned ready, int64_t now_ns);

/* Reports that the handle of a rung (setting of size and steps) cannot be prepared. If that rung is in use, the
 * governor moves to the next cheaper rung or, if there is none, to a better one. */
void governor_refuse(struct governor *governor, int rung, int64_t now_ns);
/* Returns the median frame time in ms with the rung (setting of size and steps) in use; 0: fewer than eight frames were
 * measured. */
double governor_frame_ms(const struct governor *governor);
/* Returns true if at least eight frames were measured with the rung (setting of size and steps) in use. Until then,
 * handles of other rungs should not be prepared, because the preparation would make the measured frames slower. */
bool governor_is_settled(const struct governor *governor);

#endif
