/* Reads a second source in step with a first one. A thread reads its frames in advance; for each moment, a time of the
 * first source, the caller gets the newest frame of the second one that is not later. If the two begin within one frame
 * period of each other, their first frames are aligned. Its first frame is used for earlier moments, its last one for
 * later ones. */
#ifndef APP_SOURCE_SECOND_SOURCE_H
#define APP_SOURCE_SECOND_SOURCE_H

#include "app/source/source.h"

struct second_source;

struct second_source_options {
  const struct source_info *first; /* the first source; NULL: unknown */
  /* Time to wait for the frame of a moment that is not decoded yet. After that, and as long as the source stays late,
   * the newest frame is used instead. 0: the newest frame is always used. */
  int patience_ms;
};

enum second_source_state {
  SECOND_SOURCE_IN_STEP,
  SECOND_SOURCE_BEHIND, /* frames have been late for longer than patience_ms */
  /* the moment is more than one frame period after the source's last frame; never for a single picture */
  SECOND_SOURCE_ENDED,
  SECOND_SOURCE_FAILED
};

/* Starts the thread and takes over *source. Returns 0, or -1 with err. */
int second_source_start(struct second_source **second_source, struct source **source,
                        const struct second_source_options *options, struct error *err);
/* Gets the frame of a moment, in seconds, which must not decrease. *frame belongs to the second source until the next
 * call or stop; NULL: none has come yet. err is filled if the source has failed. One thread at a time. */
enum second_source_state second_source_at(struct second_source *second_source, double seconds,
                                          const struct frame **frame, struct error *err);
void second_source_stop(struct second_source **second_source); /* stores NULL; accepts NULL */

#endif
