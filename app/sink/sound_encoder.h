/* Sound of an input that its output's container cannot hold, or has no times for, decoded and encoded again: sample
 * after sample, from the output's time 0 on, with silence in the gaps. */
#ifndef APP_SINK_SOUND_ENCODER_H
#define APP_SINK_SOUND_ENCODER_H

#include "app/sink/muxer.h"

struct sound_encoder;

/* The codec that is usual for sound of this kind in this container; AV_CODEC_ID_NONE: it holds none, or FFmpeg here has
 * no encoder. */
enum AVCodecID sound_encoder_choose(const AVOutputFormat *container, const AVCodecParameters *from);
/* Adds a stream to output, of so many seconds at most; 0: of all. Returns 0 or an FFmpeg error code. */
int sound_encoder_open(struct sound_encoder **encoder, AVFormatContext *output, enum AVCodecID codec,
                       const AVStream *from, double duration);
AVStream *sound_encoder_stream(const struct sound_encoder *encoder);
/* Takes a packet whose times are those of the output, in the input's time base, and writes what is ready. Damaged ones
 * are passed over. Returns 0 or an FFmpeg error code of the output. */
int sound_encoder_write(struct sound_encoder *encoder, struct muxer *muxer, const AVPacket *packet);
/* Writes silence for what is missing up to so many seconds of the output. Returns likewise. */
int sound_encoder_pad(struct sound_encoder *encoder, struct muxer *muxer, double seconds);
/* Writes what is left. Samples from end on, in seconds, are left out; INFINITY: none are. The stream lasts for `least`
 * seconds then, with silence behind its sound; 0: it ends with that. Returns likewise. */
int sound_encoder_finish(struct sound_encoder *encoder, struct muxer *muxer, double end, double least);
void sound_encoder_close(struct sound_encoder **encoder); /* stores NULL; takes NULL */

#endif
