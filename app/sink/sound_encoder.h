/* Sound of an input that its output's container cannot hold, decoded and encoded again: sample after sample, from the
 * output's time 0 on. */
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
/* Writes what is left. Samples from so many seconds on are left out; INFINITY: none are. Returns likewise. */
int sound_encoder_finish(struct sound_encoder *encoder, struct muxer *muxer, double end);
void sound_encoder_close(struct sound_encoder **encoder); /* stores NULL; takes NULL */

#endif
