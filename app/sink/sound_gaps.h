/* Gaps in the sound of an input, looked for before it is copied into a container that has no times for them. */
#ifndef APP_SINK_SOUND_GAPS_H
#define APP_SINK_SOUND_GAPS_H

#include <stdatomic.h>
#include <stdbool.h>

#include <libavformat/avformat.h>

/* The part of the input that is looked at. */
struct sound_part {
  int64_t origin;          /* in AV_TIME_BASE units */
  double start, duration;  /* in seconds; duration 0: to the end */
  const atomic_bool *stop; /* ends the search; may be NULL */
};

/* Reads the input to the end of the part. gaps has room for each stream: true where it is sound that begins late or
 * does not last as long as its times say. Returns 0, or -1 without memory. */
int sound_gaps_find(AVFormatContext *input, const struct sound_part *part, bool *gaps);

#endif
