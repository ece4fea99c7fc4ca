/* A file that FFmpeg writes. MP4 and MOV are written in fragments, so that a killed process or a full disk leaves all
 * but the last seconds playable, and are turned into ordinary files at the end (mp4_settle). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/opt.h>

#include "app/encoder.h"
#include "app/ffmpeg_util.h"
#include "app/mp4.h"
#include "app/sound.h"

struct ffmpeg_sink {
  struct sink sink;
  const char *path;
  AVRational time_base; /* of the frames that come */
  const struct log *log;
  AVFormatContext *output;
  AVStream *stream;
  AVPacket *packet;
  struct encoder encoder;
  struct sound *sound;
  int64_t last_pts, step; /* in the encoder's time base; step: nominal time of a frame */
  long written;
  bool one_picture; /* an image file whose name has no place for a number */
  bool header, failed;
};

static bool accepts(const char *spec) {
  (void)spec;
  return true;
}

static int output_failed(struct ffmpeg_sink *to, int code, struct error *err) {
  char reason[128];
  to->failed = true;
  return error_set(err, STATUS_OUTPUT, "%s: cannot be written: %s", to->path, ffmpeg_reason(code, reason));
}

static void ffmpeg_close(struct sink *sink) {
  struct ffmpeg_sink *to = (struct ffmpeg_sink *)sink;
  sound_close(&to->sound);
  encoder_finish(&to->encoder);
  av_packet_free(&to->packet);
  if (to->output && !(to->output->oformat->flags & AVFMT_NOFILE))
    avio_closep(&to->output->pb);
  avformat_free_context(to->output);
  free(to);
}

static int add_video(struct ffmpeg_sink *to, const struct sink_options *options, struct error *err) {
  if (encoder_open(&to->encoder, to->output->oformat, to->path, options, err))
    return -1;
  const AVCodecContext *encoder = to->encoder.context;
  to->stream = avformat_new_stream(to->output, NULL);
  if (!to->stream || avcodec_parameters_from_context(to->stream->codecpar, encoder) < 0)
    return error_set(err, STATUS_FAILED, "no memory to write %s", to->path);
  to->stream->time_base = encoder->time_base;
  to->stream->avg_frame_rate = encoder->framerate;
  to->stream->sample_aspect_ratio = encoder->sample_aspect_ratio;
  to->time_base = (AVRational){options->time_base_num, options->time_base_den};
  to->step = llrint(1 / (av_q2d(encoder->framerate) * av_q2d(encoder->time_base)));
  to->last_pts = AV_NOPTS_VALUE;
  return 0;
}

/* The header is flushed, so that a full or forbidden place shows now and not after minutes. */
static int write_header(struct ffmpeg_sink *to, struct error *err) {
  int code = 0;
  AVDictionary *wishes = NULL;
  if (!(to->output->oformat->flags & AVFMT_NOFILE))
    code = avio_open(&to->output->pb, to->path, AVIO_FLAG_WRITE);
  if (code >= 0) {
    if (mp4_is(to->output->oformat))
      mp4_wishes(&wishes);
    code = avformat_write_header(to->output, &wishes);
    av_dict_free(&wishes);
  }
  if (code >= 0) {
    to->header = true;
    /* Fragments turn it off, and the AAC of transport streams then ends the render at its first packet. */
    to->output->flags |= AVFMT_FLAG_AUTO_BSF;
    if (to->output->pb) {
      avio_flush(to->output->pb);
      code = to->output->pb->error;
    }
  }
  return code < 0 ? output_failed(to, code, err) : 0;
}

static int prepare(struct ffmpeg_sink *to, const struct sink_options *options, struct error *err) {
  avformat_alloc_output_context2(&to->output, NULL, NULL, to->path);
  if (!to->output)
    return error_set(err, STATUS_OUTPUT, "%s: no container is known by this extension; try .mp4 or .mkv", to->path);
  const AVOutputFormat *container = to->output->oformat;
  bool covers = container->video_codec == AV_CODEC_ID_PNG && container->audio_codec != AV_CODEC_ID_NONE; /* of albums */
  if (container->video_codec == AV_CODEC_ID_NONE || covers)
    return error_set(err, STATUS_OUTPUT, "%s: %s holds no video; try .mp4 or .mkv", to->path, container->name);
  to->one_picture = !strcmp(container->name, "image2") && !av_filename_number_test(to->path);
  if (to->one_picture)
    av_opt_set_int(to->output->priv_data, "update", 1, 0);
  to->packet = av_packet_alloc();
  if (!to->packet)
    return error_set(err, STATUS_FAILED, "no memory to write %s", to->path);
  if (add_video(to, options, err))
    return -1;
  sound_open(&to->sound, to->output, options);
  return write_header(to, err);
}

static int ffmpeg_open(struct sink **sink, const char *spec, const struct sink_options *options, struct error *err) {
  struct ffmpeg_sink *to = calloc(1, sizeof *to);
  if (!to)
    return error_set(err, STATUS_FAILED, "no memory to write %s", spec);
  to->sink.impl = &sink_ffmpeg;
  to->path = spec;
  to->log = options->log;
  if (prepare(to, options, err)) {
    ffmpeg_close(&to->sink);
    return -1;
  }
  *sink = &to->sink;
  return 0;
}

/* Writes the packets the encoder has ready. */
static int drain(struct ffmpeg_sink *to) {
  const AVCodecContext *encoder = to->encoder.context;
  int code;
  while ((code = avcodec_receive_packet(to->encoder.context, to->packet)) >= 0) {
    to->packet->stream_index = to->stream->index;
    to->packet->duration = to->step;
    av_packet_rescale_ts(to->packet, encoder->time_base, to->stream->time_base);
    code = av_interleaved_write_frame(to->output, to->packet);
    if (code >= 0 && to->output->pb)
      code = to->output->pb->error;
    if (code < 0)
      return code;
    to->written++;
  }
  return code == AVERROR(EAGAIN) || code == AVERROR_EOF ? 0 : code;
}

static int ffmpeg_write(struct sink *sink, const struct frame *frame, struct error *err) {
  struct ffmpeg_sink *to = (struct ffmpeg_sink *)sink;
  if (to->one_picture && to->last_pts != AV_NOPTS_VALUE) {
    to->failed = true;
    return error_set(err, STATUS_OUTPUT,
                     "%s: holds one picture, and there are more: name it like frame-%%04d.png, or "
                     "give --frames 1",
                     to->path);
  }
  int64_t pts = av_rescale_q(frame->pts, to->time_base, to->encoder.context->time_base);
  if (to->last_pts != AV_NOPTS_VALUE && pts <= to->last_pts)
    pts = to->last_pts + 1;
  int code = encoder_send(&to->encoder, frame, pts);
  to->last_pts = pts;
  if (code >= 0)
    code = drain(to);
  if (code >= 0)
    code = sound_write_until(to->sound, (double)frame->pts * av_q2d(to->time_base));
  return code < 0 ? output_failed(to, code, err) : 0;
}

static int complete(struct ffmpeg_sink *to, bool whole) {
  double end = (double)(to->last_pts + to->step) * av_q2d(to->encoder.context->time_base);
  int code = encoder_send(&to->encoder, NULL, 0);
  if (code >= 0)
    code = drain(to);
  if (code >= 0 && to->last_pts != AV_NOPTS_VALUE)
    code = sound_write_until(to->sound, whole ? INFINITY : end);
  return code;
}

static int ffmpeg_finish(struct sink *sink, bool whole, struct error *err) {
  struct ffmpeg_sink *to = (struct ffmpeg_sink *)sink;
  bool failed_before = to->failed;
  int code = failed_before ? 0 : complete(to, whole);
  /* Also after a failure: it writes out what is still held back, as far as there is room. */
  int trailer = to->header ? av_write_trailer(to->output) : 0;
  if (code >= 0)
    code = trailer;
  if (code >= 0 && to->output->pb)
    code = to->output->pb->error;
  if (!(to->output->oformat->flags & AVFMT_NOFILE)) {
    int closed = avio_closep(&to->output->pb);
    if (code >= 0)
      code = closed;
  }
  if ((failed_before || code < 0) && mp4_is(to->output->oformat))
    mp4_cut(to->path);
  if (failed_before)
    return 0;
  if (code < 0)
    return output_failed(to, code, err);
  if (mp4_is(to->output->oformat))
    mp4_settle(to->path, to->log);
  return 0;
}

const struct sink_impl sink_ffmpeg = {"file", accepts, ffmpeg_open, ffmpeg_write, ffmpeg_finish, ffmpeg_close};
