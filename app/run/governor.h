/* Keeps frames within a budget of time: of a few handles, from the one that was wished for down to cheaper ones, it
 * chooses the best that measured times have room for. It goes down after a few late frames, and up where a better one
 * is foretold to have headroom, after a pause that grows with each way up that did not last. No clock, no engine: a
 * plain value, of one thread. */
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
  int multiple;     /* of sides, that the engine has */
  int floor_pixels; /* a picture never has fewer, but for the wish itself; 0: a quarter of the wish's */
};

/* The wish and up to three cheaper ones, each of clearly less work than the one before: smaller and of the same shape,
 * as far as the floor lets them, then of fewer steps. Returns how many, at least 1. */
int governor_ladder(const struct governor_wish *wish, struct governor_rung rungs[GOVERNOR_RUNGS]);

/* Zero-initialise to start. */
struct governor {
  double budget_ms;
  int count, rung; /* rung: in use, 0 the wish */
  bool absent[GOVERNOR_RUNGS];
  double work[GOVERNOR_RUNGS];
  double relative[GOVERNOR_RUNGS]; /* a frame's time against the first rung's: by its work, then as measured */
  double recent[GOVERNOR_WINDOW];  /* frames of this rung, in ms */
  long measured, skipped;          /* frames of this rung; the first ones, which are slower, are not looked at */
  int left;                        /* the rung before */
  double left_ms;                  /* a frame's time there; 0: not known, or made use of */
  double ms_by_work;               /* of whatever was measured last; 0: nothing yet */
  int64_t since_ns;                /* on this rung */
  int64_t climbed_ns;              /* the last way up, as long as it may still prove wrong; 0: there is none */
  double pause_s;                  /* before the next */
};

/* Another ladder. It begins where times measured before have room. */
void governor_begin(struct governor *governor, double budget_ms, const struct governor_rung *rungs, int count,
                    int64_t now_ns);

/* A frame of that rung took so long. Frames of other rungs than the one in use tell nothing. */
void governor_measure(struct governor *governor, int rung, double frame_ms);

/* Moves to another rung where that is due and the rung is ready (bits). Returns the one to be made ready first: the one
 * in use, or the one that it waits for. */
int governor_choose(struct governor *governor, unsigned ready, int64_t now_ns);

/* There can be no such handle. In the place of the one in use comes a cheaper one, or else a better one. */
void governor_refuse(struct governor *governor, int rung, int64_t now_ns);
/* A frame of the rung in use, in ms; 0: not known yet. */
double governor_frame_ms(const struct governor *governor);
/* Enough is measured for other rungs to be prepared meanwhile, which disturbs. */
bool governor_is_settled(const struct governor *governor);

#endif
