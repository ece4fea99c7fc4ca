/* Reads a second source (a mask, or frames for ControlNets) in step with a first one. A thread reads its frames in
 * advance. For each time of the first source, the caller gets the second source's newest frame that is not later. Its
 * first frame is also used for earlier times, its last one for later times. If the sources begin within one frame
 * period of each other, their first frames are aligned. */
#ifndef APP_SOURCE_SECOND_SOURCE_H
#define APP_SOURCE_SECOND_SOURCE_H

#include "app/source/source.h"

struct second_source;

struct second_source_options {
  const struct source_info *first; /* info of the first source, whose frame times select the second source's frames;
                                    * NULL: unknown */
  /* Longest time in ms for which second_source_at waits for a frame that is not decoded yet. After that, and as long as
   * the source stays late, the newest frame is used instead. 0: it never waits. */
  int patience_ms;
};

enum second_source_state {
  SECOND_SOURCE_IN_STEP,
  SECOND_SOURCE_BEHIND, /* frames have been late for longer than patience_ms or, if that is 0, for 2 s */
  /* the requested time is at least one frame period after the source's last frame; a source that is a single picture
   * never ends */
  SECOND_SOURCE_ENDED,
  SECOND_SOURCE_FAILED
};

/* Starts the thread that reads *source, and takes ownership of it. Returns 0, or -1 with err: if memory was short,
 * *source still belongs to the caller; otherwise it is closed and NULL. */
int second_source_start(struct second_source **second_source, struct source **source,
                        const struct second_source_options *options, struct error *err);
/* Gets the second source's frame for a moment (a time of the first source in seconds), which must not decrease from
 * call to call. *frame belongs to the second source until the next call of this function or of second_source_stop;
 * NULL: no frame has come yet. err is filled if the source has failed. One thread at a time may call this function. */
enum second_source_state second_source_at(struct second_source *second_source, double seconds,
                                          const struct frame **frame, struct error *err);
/* Ends the thread and frees the second source; *second_source becomes NULL; does nothing if it is NULL. */
void second_source_stop(struct second_source **second_source);

#endif
