/* Copies metadata of an input: title, language, timecode, default track and so on. */
#ifndef APP_SINK_TAGS_H
#define APP_SINK_TAGS_H

#include <stdbool.h>

#include <libavformat/avformat.h>

#include "unet/base/log.h"

/* Copies the tags of the input to the output, and those of its video (NULL: unknown) and the video's disposition to the
 * output's first stream. Tags about the input's encoding are left out. A timecode is changed to that of the first
 * picture that is not before `start`, in seconds after the input's time 0; a timecode that is invalid at the video's
 * frame rate is left out and logged. */
void tags_copy(AVFormatContext *output, AVFormatContext *input, AVStream *video, double start, const struct log *log);
/* Copies the tags of one stream, except a timecode. */
void tags_copy_stream(AVStream *to, const AVStream *from);
/* Stores a track's title where players of MP4 and MOV look for it. Does nothing for other containers. */
void tags_name_track(const AVOutputFormat *container, AVStream *track);
/* True if files of this container keep the timecode of a video stream: as a tag, or as a track of its own. */
bool tags_keep_timecode(const AVOutputFormat *container);
/* True if files of this container can store a timecode as metadata of the whole file. */
bool tags_keep_file_timecode(const AVOutputFormat *container);

#endif
