/* A source kept in step with another: read ahead on a thread of its own, it gives for each moment its newest frame that
 * is not later. What begin within a frame of each other begin together. Its first frame stands for all moments before,
 * its last one for those behind. */
#ifndef APP_SOURCE_SECOND_SOURCE_H
#define APP_SOURCE_SECOND_SOURCE_H

#include "app/source/source.h"

struct follower;

struct follower_options {
  const struct source_info *first; /* whose moments are asked for; NULL: unknown */
  /* For a frame that belongs to a moment and is not decoded yet; then, and if that happens again, the newest that is
   * there stands in for it. 0: always. */
  int patience_ms;
};

enum follower_state {
  FOLLOWER_IN_STEP,
  FOLLOWER_BEHIND, /* for longer than its patience: frames do not come, or not fast enough */
  FOLLOWER_ENDED,  /* longer ago than a frame lasts; of a picture never */
  FOLLOWER_FAILED
};

/* Takes over *source and starts the thread. */
int follower_start(struct follower **follower, struct source **source, const struct follower_options *options,
                   struct error *err);
/* *frame: the one that belongs to this moment in seconds, which do not decrease; the follower's, until the next call or
 * stop; NULL: none has come yet. err is filled where it failed. */
enum follower_state follower_at(struct follower *follower, double seconds, const struct frame **frame,
                                struct error *err);
void follower_stop(struct follower **follower); /* stores NULL; takes NULL */

#endif
