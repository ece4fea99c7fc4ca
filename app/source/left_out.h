/* What the output will lack of the input, said before it is made. */
#ifndef APP_SOURCE_LEFT_OUT_H
#define APP_SOURCE_LEFT_OUT_H

#include <libavformat/avformat.h>

#include "app/source/source.h"

/* One line that names everything but the video and the sound that is copied with it: further tracks, chapters,
 * attachments, timecodes, and sound that cannot be read a second time. Nothing where there is nothing of it. */
void left_out_tell(const AVFormatContext *input, const AVStream *video, const char *spec,
                   const struct source_options *options);

/* A line each for video that is HDR or interlaced, which is taken as if it were not. */
void left_out_tell_video(const AVStream *video, const char *spec, const struct log *log);

#endif
