/* Helpers for FFmpeg that sources and sinks share. */
#ifndef APP_SOURCE_FFMPEG_UTIL_H
#define APP_SOURCE_FFMPEG_UTIL_H

#include <libavformat/avformat.h>

#include "app/source/source.h"

/* Returns the text of an FFmpeg error code. `buffer` holds 128 characters. */
const char *ffmpeg_reason(int code, char *buffer);

/* Returns the reason why a URL could not be opened: ffmpeg_reason's text, or a better one where the code alone says
 * nothing. */
const char *ffmpeg_reason_of(const char *url, int code, char *buffer);

/* True if the input can be opened a second time and then gives the same data again; false for devices and pipes. */
bool ffmpeg_can_reopen(const char *spec, const struct source_options *options);

/* True if the input is a live stream: it has no length and cannot be sought in, so that its newest picture is to be
 * shown. Streams of complete files (HLS, DASH) are not included. */
bool ffmpeg_is_stream(const AVFormatContext *input, const char *spec);

/* Opens the demuxer of `spec`: a device as "NAME:REST" or /dev/video*, else a file or URL. Size, rate, format and
 * --input-options come from `options`. interrupt: may be NULL. io: FFmpeg context to read from, which stays the
 * caller's; NULL: `spec` is read. Returns 0; or, with err, SOURCE_NOT_YET (a live source over a network) or -1. */
int ffmpeg_open_input(AVFormatContext **input, const char *spec, const struct source_options *options,
                      const AVIOInterruptCB *interrupt, AVIOContext *io, struct error *err);

/* Returns the time in the input, in AV_TIME_BASE units, that becomes time 0 of the output. It is --start after the
 * input's first timestamp. Without --start, timestamps are kept, except in formats with an arbitrary start of time
 * (MPEG transport and program streams). */
int64_t ffmpeg_origin(const AVFormatContext *input, double start);
/* Returns the time in the input, in AV_TIME_BASE units, from which --start is counted. */
int64_t ffmpeg_clock(const AVFormatContext *input);

/* True for MPEG transport and program streams and similar formats: they have no index, so that a seek by time finds any
 * packet and not a key frame. */
bool ffmpeg_seeks_blindly(const AVFormatContext *input);
/* Seeks so far before `place` that there is probably a key frame in between. place: a time in the video's time base;
 * seconds: that time in seconds from the input's beginning. *unsure becomes true if there may be no key frame. Returns
 * a negative FFmpeg code after an error. */
int ffmpeg_seek_blindly(AVFormatContext *input, const AVStream *video, int64_t place, double seconds, bool *unsure);

/* Returns the error with which reading the input failed, after av_read_frame returned `code`; 0: none, the input has
 * ended or its contents are damaged. Some demuxers report an error as the end, and others the end as an error, so the
 * I/O context is asked. */
int ffmpeg_read_failure(AVFormatContext *input, int code);

/* Adds to `to` a chapter with the tags of the chapter `from`, and with these times in the time base of `from`. Returns
 * 0, or -1 if memory is short. */
int ffmpeg_add_chapter(AVFormatContext *to, const AVChapter *from, int64_t start, int64_t end);

/* Returns how long a decoded frame is shown, in its stream's time base; 0: unknown. */
int64_t ffmpeg_duration_of(const AVFrame *frame);

/* Returns how many packets of video can be read in a file; 0 also if the file cannot be opened. */
long ffmpeg_count_pictures(const char *file);

/* Returns the demuxer that FFmpeg chooses by the URL's name alone, as it does for pictures; NULL: FFmpeg looks at the
 * contents. */
const AVInputFormat *ffmpeg_format_by_name(const char *url);

/* True if the input is a capture device (a camera or screen, but not lavfi). */
bool ffmpeg_is_device(const AVInputFormat *format);

#endif
