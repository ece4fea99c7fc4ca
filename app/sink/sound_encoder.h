/* Decodes an input's sound and encodes it again, if the output's container does not support its codec or gaps in its
 * sound. The output's sound begins at time 0 and has silence in the gaps. The sink's thread makes all calls. */
#ifndef APP_SINK_SOUND_ENCODER_H
#define APP_SINK_SOUND_ENCODER_H

#include "app/sink/muxer.h"

struct sound_encoder;

/* Returns the codec that this container usually holds for sound like this; AV_CODEC_ID_NONE: the container holds no
 * sound, or this FFmpeg has no encoder for the codec. */
enum AVCodecID sound_encoder_choose(const AVOutputFormat *container, const AVCodecParameters *from);
/* Adds a stream to `output`. from: the input's stream. duration: greatest length of the output's sound in seconds; 0:
 * no limit. Returns 0, or an FFmpeg error code with *encoder NULL. */
int sound_encoder_open(struct sound_encoder **encoder, AVFormatContext *output, enum AVCodecID codec,
                       const AVStream *from, double duration);
AVStream *sound_encoder_stream(const struct sound_encoder *encoder);
/* Decodes a packet, encodes its samples, and writes the packets that are ready. The packet's times count from the
 * output's beginning, in units of the input's time base. Damaged packets are skipped. Like the next two functions,
 * returns 0 or the FFmpeg error code of a failed output. */
int sound_encoder_write(struct sound_encoder *encoder, struct muxer *muxer, const AVPacket *packet);
/* If the sound that was written so far ends before `seconds` (time in the output), writes silence up to that time. */
int sound_encoder_pad(struct sound_encoder *encoder, struct muxer *muxer, double seconds);
/* Writes the samples that are still queued, and the packets that the encoder still holds. Samples from `end` on (in
 * seconds; INFINITY: no limit) are left out. If the sound is shorter than `least` seconds, silence follows up to that
 * length; 0: no silence follows. */
int sound_encoder_finish(struct sound_encoder *encoder, struct muxer *muxer, double end, double least);
/* Frees the encoder; *encoder becomes NULL; does nothing if it is NULL. */
void sound_encoder_close(struct sound_encoder **encoder);

#endif
