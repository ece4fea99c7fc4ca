/* Tells the user which parts of the input (subtitles, chapters and so on) the output will lack, before the output is
 * made. */
#ifndef APP_SINK_SIDE_LEFT_OUT_H
#define APP_SINK_SIDE_LEFT_OUT_H

#include "unet/base/log.h"

/* Parts of an input that the output may lack, in the order in which the log line names them. */
enum side_thing {
  SIDE_SUBTITLES,
  SIDE_CHAPTERS,
  SIDE_COVERS,
  SIDE_ATTACHMENTS,
  SIDE_TIMECODES,
  SIDE_VIDEOS,
  SIDE_DATA,
  SIDE_TAGS,
  SIDE_NAMES,
  SIDE_LANGUAGES,
  SIDE_MARKS,
  SIDE_DEFAULTS,
  SIDE_TIMES,
  SIDE_THINGS
};

/* Logs one line with the number of parts of each kind that are left out; no line if all numbers are 0. input: the
 * input's name. */
void side_left_out_tell(const int counts[SIDE_THINGS], const char *input, const struct log *log);

#endif
