/* Measures how long reads of a repeated clip take, near its beginning and elsewhere. */
#ifndef TESTS_LOOP_TIMES_H
#define TESTS_LOOP_TIMES_H

#include "app/source/source.h"

/* LOOP_NEAR: pictures before and after a round's beginning that count as near. LOOP_ROUNDS: rounds that are played; the
 * first is not counted. */
enum { LOOP_NEAR = 3, LOOP_ROUNDS = 10 };

/* Durations of reads, in milliseconds. */
struct loop_times {
  int pictures;                 /* pictures of a round */
  double usual;                 /* median of all reads */
  double longest[2], median[2]; /* the slowest read of each round: [0] near the beginning, [1] elsewhere */
};

/* pace_ms: time between two reads, as a display has it; 0: they follow each other at once. Returns 0, or -1 and err. */
int loop_times_measure(const char *path, const struct source_options *options, double pace_ms, struct loop_times *times,
                       struct error *err);
void loop_times_print(const char *name, const char *what, const struct loop_times *times);

#endif
