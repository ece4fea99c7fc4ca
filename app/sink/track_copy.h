/* Adds copies of single tracks of the input to an output. */
#ifndef APP_SINK_TRACK_COPY_H
#define APP_SINK_TRACK_COPY_H

#include <libavformat/avformat.h>

/* Adds a copy of a stream, which is to be copied packet by packet, to output: its codec, clock, tags and disposition.
 * Returns NULL if memory is short. */
AVStream *track_copy(AVFormatContext *output, const AVStream *from);

/* Tests whether a header can be written for all of the output's streams and `stream`. Returns 1: it can; 0: the
 * container does not take the stream; or an FFmpeg error code. */
int track_fits(const AVFormatContext *output, const AVStream *stream);

#endif
