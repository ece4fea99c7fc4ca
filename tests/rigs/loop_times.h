/* Measures how long reads of a repeated clip take, near its beginning and elsewhere. */
#ifndef TESTS_LOOP_TIMES_H
#define TESTS_LOOP_TIMES_H

#include "app/source/source.h"

/* A round is one pass through the clip. LOOP_NEAR: number of pictures before and after the beginning of a round that
 * count as near it. LOOP_ROUNDS: number of rounds that are played; the first one is not measured. */
enum { LOOP_NEAR = 3, LOOP_ROUNDS = 10 };

/* How long reads of pictures took, in milliseconds. */
struct loop_times {
  int pictures; /* number of pictures in a round */
  double usual; /* median of all reads */
  /* slowest read of a round, as longest and median over the rounds: [0] near the round's beginning, [1] elsewhere */
  double longest[2], median[2];
};

/* Plays the clip and measures. pace_ms: milliseconds between two reads, as for a display; 0: reads follow each other at
 * once. Returns 0, or -1 with err. */
int loop_times_measure(const char *path, const struct source_options *options, double pace_ms, struct loop_times *times,
                       struct error *err);
void loop_times_print(const char *name, const char *what, const struct loop_times *times);

#endif
