/* Small helpers around FFmpeg that source and sink share. */
#ifndef APP_SOURCE_FFMPEG_UTIL_H
#define APP_SOURCE_FFMPEG_UTIL_H

#include <libavformat/avformat.h>

#include "app/source/source.h"

/* Text of an FFmpeg error code; buffer holds 128 characters. */
const char *ffmpeg_reason(int code, char *buffer);

/* The same of a URL that was to be opened, where the code alone says nothing. */
const char *ffmpeg_reason_of(const char *url, int code, char *buffer);

/* Whether there is a second way in: captured and piped input cannot be read twice. */
bool ffmpeg_can_reopen(const char *spec, const struct source_options *options);

/* Whether the input is a stream: it has no length and cannot be sought, so that its newest picture is the one to be
 * shown. What is cut into files that come whole (HLS, DASH) is none. */
bool ffmpeg_is_stream(const AVFormatContext *input, const char *spec);

/* 0, SOURCE_NOT_YET (live, over a network) or -1. Opens spec's demuxer: devices as "NAME:REST" or /dev/video*, else a
 * file or URL. size, rate, format and
 * --input-options as in options. interrupt may be NULL. io: where the bytes come from, instead of what spec names;
 * stays the caller's; NULL: spec. */
int ffmpeg_open_input(AVFormatContext **input, const char *spec, const struct source_options *options,
                      const AVIOInterruptCB *interrupt, AVIOContext *io, struct error *err);

/* Where time 0 of the output lies in the input, in AV_TIME_BASE units: --start behind its first timestamp. Without
 * --start timestamps are kept, but for the clock's arbitrary origin in formats that have one (MPEG transport and
 * program streams). */
int64_t ffmpeg_origin(const AVFormatContext *input, double start);

/* True for MPEG's transport and program streams and their kin: they have no index, and a search by time finds some
 * packet and not a key frame. */
bool ffmpeg_seeks_blindly(const AVFormatContext *input);
/* Goes to a place (in the video's time base) that lies so many seconds behind the beginning, and early enough for a key
 * frame to come before it. *unsure: whether there may be none. Returns FFmpeg's code. */
int ffmpeg_seek_blindly(AVFormatContext *input, const AVStream *video, int64_t place, double seconds, bool *unsure);

/* What reading the input failed with, after av_read_frame gave `code`; 0: nothing new, it ended or its contents are
 * damaged. Some demuxers take a failure for the end, others call the end a failure: what they read from knows. */
int ffmpeg_read_failure(AVFormatContext *input, int code);

/* How long a decoded frame is shown, in its stream's time base; 0: that is unknown. */
int64_t ffmpeg_duration_of(const AVFrame *frame);

/* Packets of video that can be read in a file. */
long ffmpeg_count_pictures(const char *file);

/* What FFmpeg knows an input to be by its name alone, such as pictures; NULL: its contents tell. */
const AVInputFormat *ffmpeg_format_by_name(const char *url);

/* Whether the input is a capture device (a camera, a screen; not lavfi). */
bool ffmpeg_is_device(const AVInputFormat *format);

#endif
