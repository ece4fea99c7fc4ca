/* Sends samples from a queue to an encoder. Used for recorded sound (live_sound.c) and for sound that is encoded again
 * (sound_encoder.c). */
#ifndef APP_SINK_SEND_SAMPLES_H
#define APP_SINK_SEND_SAMPLES_H

#include <libavcodec/avcodec.h>
#include <libavutil/audio_fifo.h>

/* Takes `count` samples from the queue, which has at least that many, and sends them to the encoder as one frame.
 * first: number of the first sample since time 0, which becomes the frame's pts. frame: an AVFrame of the caller, which
 * is empty before and after the call. Returns 0 or an FFmpeg error code. */
int send_samples(AVCodecContext *encoder, AVAudioFifo *samples, int count, int64_t first, AVFrame *frame);

#endif
