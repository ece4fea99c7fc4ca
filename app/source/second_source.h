/* A source kept in step with another: read ahead on a thread of its own, it gives for each moment its newest frame that
 * is not later. What begin within a frame of each other begin together. Its first frame stands for all moments before,
 * its last one for those behind. */
#ifndef APP_SOURCE_SECOND_SOURCE_H
#define APP_SOURCE_SECOND_SOURCE_H

#include "app/source/source.h"

struct second_source;

struct second_source_options {
  const struct source_info *first; /* whose moments are asked for; NULL: unknown */
  /* For a frame that belongs to a moment and is not decoded yet; then, and if that happens again, the newest that is
   * there stands in for it. 0: always. */
  int patience_ms;
};

enum second_source_state {
  SECOND_SOURCE_IN_STEP,
  SECOND_SOURCE_BEHIND, /* for longer than its patience: frames do not come, or not fast enough */
  SECOND_SOURCE_ENDED,  /* longer ago than a frame lasts; of a picture never */
  SECOND_SOURCE_FAILED
};

/* Takes over *source and starts the thread. */
int second_source_start(struct second_source **second_source, struct source **source,
                        const struct second_source_options *options, struct error *err);
/* *frame: the frame of this moment in seconds, which do not decrease. It belongs to the second source until the next
 * call or stop; NULL: none has come yet. err is filled where it failed. */
enum second_source_state second_source_at(struct second_source *second_source, double seconds,
                                          const struct frame **frame, struct error *err);
void second_source_stop(struct second_source **second_source); /* stores NULL; takes NULL */

#endif
