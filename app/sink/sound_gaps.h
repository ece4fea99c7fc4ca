/* Finds gaps in the sound of an input, before it is copied into a container that cannot store them. */
#ifndef APP_SINK_SOUND_GAPS_H
#define APP_SINK_SOUND_GAPS_H

#include <stdatomic.h>
#include <stdbool.h>

#include <libavformat/avformat.h>

/* The part of the input that is searched for gaps in the sound. */
struct sound_part {
  int64_t origin;          /* time in the input that becomes time 0 of the output, in AV_TIME_BASE units */
  double duration;         /* seconds of the input, from `origin` on, that are searched; 0: to the input's end */
  const atomic_bool *stop; /* a flag that ends the search when it is set; may be NULL */
};

/* Reads the input, positioned at the start of the part, to the end of the part. gaps has an element for each stream:
 * true if the stream is sound that begins late or early, has a gap, or has more samples than its times allow. Returns
 * 0, or -1 if memory is short. */
int sound_gaps_find(AVFormatContext *input, const struct sound_part *part, bool *gaps);

#endif
