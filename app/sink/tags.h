/* What an input says about itself and its pictures in words: title, language, timecode, which track is usual. */
#ifndef APP_SINK_TAGS_H
#define APP_SINK_TAGS_H

#include <stdbool.h>

#include <libavformat/avformat.h>

#include "unet/base/log.h"

/* Copies the tags of the input to the output, and those of its video (NULL: none is known) to the output's first
 * stream. Tags that tell of the input's encoding and not of its content are not handed on. A timecode becomes that of
 * the picture that is `start` seconds into the input. */
void tags_copy(AVFormatContext *output, AVFormatContext *input, AVStream *video, double start, const struct log *log);
/* The same for the tags of one stream, without a timecode. */
void tags_copy_stream(AVStream *to, const AVStream *from);
/* True if files of this container keep a timecode that is the video's: as a tag, or as a track of its own. */
bool tags_keep_timecode(const AVOutputFormat *container);
/* True if they keep one that the input has as a tag of the whole file. */
bool tags_keep_file_timecode(const AVOutputFormat *container);

#endif
