#include "app/source/mono.h"

#include <libswresample/swresample.h>

int mono_init(struct mono *mono, struct error *err) {
  *mono = (struct mono){.mixer = swr_alloc(), .mixed = av_frame_alloc()};
  if (mono->mixer && mono->mixed)
    return 0;
  mono_free(mono);
  return error_set(err, STATUS_FAILED, "no memory for sound");
}

void mono_free(struct mono *mono) {
  swr_free(&mono->mixer);
  av_frame_free(&mono->mixed);
}

int mono_mix(struct mono *mono, const AVFrame *frame, const float **samples, int *rate) {
  AVFrame *mixed = mono->mixed;
  av_frame_unref(mixed);
  mixed->format = AV_SAMPLE_FMT_FLT;
  mixed->sample_rate = frame->sample_rate;
  mixed->ch_layout = (AVChannelLayout)AV_CHANNEL_LAYOUT_MONO;
  int code = swr_convert_frame(mono->mixer, mixed, frame);
  /* the sound format has changed within the stream, so the mixer must be set up for the new one */
  if (code == AVERROR_INPUT_CHANGED || code == AVERROR_OUTPUT_CHANGED) {
    swr_close(mono->mixer);
    code = swr_convert_frame(mono->mixer, mixed, frame);
  }
  *samples = (const float *)(const void *)mixed->data[0];
  *rate = mixed->sample_rate;
  return code < 0 ? code : mixed->nb_samples;
}
