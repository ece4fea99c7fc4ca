/* Copies metadata of an input: title, language, timecode, default track and so on. */
#ifndef APP_SINK_TAGS_H
#define APP_SINK_TAGS_H

#include <stdbool.h>

#include <libavformat/avformat.h>

#include "unet/base/log.h"

/* start: time in seconds, from the input's time 0, at which the output begins. paced: true: the output has the constant
 * rate of its first stream (--fps); false: it has the same frames as the input. */
struct tags_times {
  double start;
  bool paced;
};
/* Copies the input's tags to the output, and the video's tags and disposition to the output's first stream (video NULL:
 * unknown). Tags about the input's encoding are left out. A timecode becomes that of the first picture at or after the
 * start, at the output's rate. A timecode is left out, and this is logged, if it is invalid at the video's rate or the
 * output's rate has none. */
void tags_copy(AVFormatContext *output, AVFormatContext *input, AVStream *video, const struct tags_times *times,
               const struct log *log);
/* Copies the tags of one stream, except a timecode. */
void tags_copy_stream(AVStream *to, const AVStream *from);
/* Changes a track's tags to those that the container stores. FFmpeg 5 writes no track title into MP4, so the title
 * becomes the handler's name, which players show; in other containers a handler's name becomes the title. Of two codes
 * of a language, MOV's muxer takes only one. */
void tags_fit_track(const AVOutputFormat *container, AVStream *track);

/* Numbers of tags of each kind that a container does not store. marks: tags that mark a track's purpose, such as a dub
 * or forced; defaults: tags that make a track the default although it is not the first of its kind; times: the file's
 * times of creation. */
struct tags_lost {
  int of_file, names, languages, marks, defaults, times;
};
/* Counts the tags of the output, and of its tracks, that its container does not store. */
void tags_count_lost(const AVFormatContext *output, struct tags_lost *lost);
/* True if files of this container keep the timecode of a video stream: as a tag, or as a track of its own. */
bool tags_keep_timecode(const AVOutputFormat *container);
/* True if files of this container can store a timecode as metadata of the whole file. */
bool tags_keep_file_timecode(const AVOutputFormat *container);

#endif
