/* What the pictures of a looping clip take, where it starts again and elsewhere. */
#ifndef TESTS_LOOP_TIMES_H
#define TESTS_LOOP_TIMES_H

#include "app/source/source.h"

/* Pictures before and after a round begins that count as near, and rounds that are played; the first is not counted. */
enum { LOOP_NEAR = 3, LOOP_ROUNDS = 10 };

/* How long reads take, in milliseconds. */
struct loop_times {
  int pictures;                 /* of a round */
  double usual;                 /* the median */
  double longest[2], median[2]; /* of the slowest read in each round: [0] near its begin, [1] elsewhere */
};

/* pace_ms: a picture is asked for so often, like a screen does; 0: at once. 0; -1. */
int loop_times_measure(const char *path, const struct source_options *options, double pace_ms, struct loop_times *times,
                       struct error *err);
void loop_times_print(const char *name, const char *what, const struct loop_times *times);

#endif
