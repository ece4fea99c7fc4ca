#include "app/sink/send_samples.h"

int send_samples(AVCodecContext *encoder, AVAudioFifo *samples, int count, int64_t first, AVFrame *frame) {
  frame->nb_samples = count;
  frame->format = encoder->sample_fmt;
  frame->sample_rate = encoder->sample_rate;
  frame->pts = first;
  int code = av_channel_layout_copy(&frame->ch_layout, &encoder->ch_layout);
  if (code >= 0)
    code = av_frame_get_buffer(frame, 0);
  if (code >= 0)
    code = av_audio_fifo_read(samples, (void **)frame->data, count);
  if (code >= 0)
    code = avcodec_send_frame(encoder, frame);
  av_frame_unref(frame);
  return code < 0 ? code : 0;
}
