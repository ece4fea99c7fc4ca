/* Finds out whether a container can hold a stream of sound without encoding it again. */
#ifndef APP_SINK_SOUND_FITS_H
#define APP_SINK_SOUND_FITS_H

#include <libavformat/avformat.h>

/* Adds to `output` a copy of the stream of sound `from`, whose packets are to be copied one by one. Returns NULL if
 * memory is short. */
AVStream *sound_copy_stream(AVFormatContext *output, const AVStream *from);

/* Tests whether programs can learn the sound's sample rate and channels from the output's container. Returns 1 if they
 * can; 0 if not; or an FFmpeg error code. */
int sound_fits(const AVFormatContext *output, const AVStream *sound);

#endif
