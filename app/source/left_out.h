/* What the output will lack of the input, said before it is made. */
#ifndef APP_SOURCE_LEFT_OUT_H
#define APP_SOURCE_LEFT_OUT_H

#include <libavformat/avformat.h>

#include "app/source/source.h"

/* One line that names everything but the video and the sound that is copied with it: further tracks, chapters,
 * attachments, timecodes, sound that cannot be read a second time, and transparency. Nothing where there is nothing of
 * it, or options do not ask. first: the video's first picture; NULL: it is not known. Returns whether a later picture's
 * transparency is to be told, since this line had none. */
bool left_out_tell(const AVFormatContext *input, const AVStream *video, const AVFrame *first, const char *spec,
                   const struct source_options *options);

/* Whether the picture has a pixel that is not opaque. */
bool left_out_is_transparent(const AVFrame *frame);
void left_out_tell_transparency(const char *spec, const struct log *log);

/* A line each for video that is HDR, in Dolby Vision's own colours or interlaced, which is taken as if it were not. */
void left_out_tell_video(const AVStream *video, const char *spec, const struct log *log);

#endif
