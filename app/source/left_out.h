/* Tells the user what the output will lack, before it is made. */
#ifndef APP_SOURCE_LEFT_OUT_H
#define APP_SOURCE_LEFT_OUT_H

#include <libavformat/avformat.h>

#include "app/source/source.h"

/* Logs one line that names all parts of the input except the video and the sound copied with it: further tracks,
 * chapters, attachments, timecodes, sound that cannot be read a second time, and transparency. Logs nothing if there
 * are none, or options do not ask for it. first: the video's first picture; NULL: unknown. Returns true if the line did
 * not name transparency and a later picture may still have it: the caller then looks, and calls
 * left_out_tell_transparency. */
bool left_out_tell(const AVFormatContext *input, const AVStream *video, const AVFrame *first, const char *spec,
                   const struct source_options *options);

/* True if a pixel of the picture is not opaque. */
bool left_out_is_transparent(const AVFrame *frame);
/* Logs that the input's transparency is left out. */
void left_out_tell_transparency(const char *spec, const struct log *log);

/* Logs a line each if video is HDR, in Dolby Vision's own colours, or interlaced; all of these are treated as ordinary
 * video. */
void left_out_tell_video(const AVStream *video, const char *spec, const struct log *log);

#endif
