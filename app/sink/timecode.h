/* Changes the timecode that an output takes over from its input to that of the output's first picture. */
#ifndef APP_SINK_TIMECODE_H
#define APP_SINK_TIMECODE_H

#include <stdbool.h>

#include <libavutil/dict.h>
#include <libavutil/rational.h>

#include "unet/base/log.h"

/* The name of the tag that has the timecode, in the metadata of files and of video streams. */
extern const char timecode_tag[];

struct timecode_change {
  /* input: frames a second of the input's video; num 0: unknown. output: the constant rate of --fps to which the
   * timecode is converted; num 0: the output has the input's frames. */
  AVRational input, output;
  double passed; /* number of frames, also a fraction, from the input's first picture to the output's beginning */
};

/* Changes a timecode in *tags to that of the output's first picture. At another rate, it is the nearest one of the same
 * time of day. The timecode is removed and a line logged if it is invalid at the input's rate or the output's rate has
 * no timecodes, because a muxer would refuse it or leave it out. */
void timecode_settle(AVDictionary **tags, const struct timecode_change *change, const struct log *log);

#endif
