/* Copies metadata of an input: title, language, timecode, default track and so on. */
#ifndef APP_SINK_TAGS_H
#define APP_SINK_TAGS_H

#include <stdbool.h>

#include <libavformat/avformat.h>

#include "unet/base/log.h"

/* start: time in seconds after the input's time 0 at which the output begins. paced: true: the output has the constant
 * rate of its first stream (--fps); false: it has the input's frames. */
struct tags_times {
  double start;
  bool paced;
};
/* Copies the tags of the input to the output, and those of its video (NULL: unknown) and the video's disposition to the
 * output's first stream. Tags about the input's encoding are left out. A timecode is changed to that of the first
 * picture that is not before the start, at the output's rate; a timecode that is invalid at the video's frame rate, or
 * for which the output's rate has none, is left out and logged. */
void tags_copy(AVFormatContext *output, AVFormatContext *input, AVStream *video, const struct tags_times *times,
               const struct log *log);
/* Copies the tags of one stream, except a timecode. */
void tags_copy_stream(AVStream *to, const AVStream *from);
/* Changes a track's tags to what the container stores. FFmpeg 5 writes no title of a track into MP4, so the title
 * becomes the name of the handler, which players show. In other containers a handler's name becomes the title. MOV's
 * muxer takes only one of the two codes of a language. */
void tags_fit_track(const AVOutputFormat *container, AVStream *track);

/* How many tags of each kind a container does not store. marks: tags that say what a track is, such as a dub or forced;
 * defaults: tags that make a track the default one although it is not the first of its kind; times: the file's times of
 * creation. */
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
