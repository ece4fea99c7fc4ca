/* Samples from a queue to an encoder: what recorded sound and sound that is encoded again have in common. */
#ifndef APP_SINK_SEND_SAMPLES_H
#define APP_SINK_SEND_SAMPLES_H

#include <libavcodec/avcodec.h>
#include <libavutil/audio_fifo.h>

/* Takes `count` samples, of which there are as many, from the queue and sends them to the encoder as one frame, whose
 * first sample is number `first`. frame is the caller's and empty before and after. Returns 0 or an FFmpeg code. */
int send_samples(AVCodecContext *encoder, AVAudioFifo *samples, int count, int64_t first, AVFrame *frame);

#endif
