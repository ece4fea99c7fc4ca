/* The sink that writes with FFmpeg: to a file, standard output or a URL. Every half second of clip time, packets are
 * handed to the operating system (muxer_flush). So at most the last second is lost if the process is killed or the disk
 * becomes full. For this, MP4 and MOV are written in fragments, and rewritten as ordinary files at the end
 * (mp4_settle). */
#include "app/sink/sink_ffmpeg_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/avstring.h>
#include <libavutil/opt.h>

#include "app/platform/app_platform.h"
#include "app/sink/mp4.h"
#include "app/source/ffmpeg_util.h"
#include "app/source/protocols.h"
#include "unet/base/platform.h"

/* Time in ns between two checks whether the flag `stop` was set, while the sink waits. */
static const int64_t stop_check_ns = 50000000;

static bool accepts(const char *spec) {
  (void)spec;
  return true;
}

static void ffmpeg_close(struct sink *sink) {
  struct ffmpeg_sink *to = (struct ffmpeg_sink *)sink;
  recorder_close(&to->recorder);
  if (to->written && !*to->left.name && !to->spare)
    part_close(&to->part);
  else
    part_drop(&to->part);
  side_tracks_close(&to->side);
  live_sound_close(&to->live_sound);
  muxer_close(&to->muxer);
  encoder_free(&to->encoder);
  av_packet_free(&to->packet);
  av_packet_free(&to->held);
  frame_release(&to->last);
  if (to->output && !(to->output->oformat->flags & AVFMT_NOFILE))
    avio_closep(&to->output->pb);
  avformat_free_context(to->output);
  whole_files_close(&to->whole_files);
  if (to->picture_pipe >= 0)
    platform_close_descriptor(to->picture_pipe);
  if (to->pipe_unblocked)
    platform_block_again(STANDARD_OUTPUT);
  free(to);
}

/* Writes the packets that the encoder has ready, except the last one, which ffmpeg_sink_take holds back. Returns 0 or
 * an FFmpeg error code. */
static int drain(struct ffmpeg_sink *to) {
  int code;
  while ((code = avcodec_receive_packet(to->encoder.context, to->packet)) >= 0) {
    encoder_mend_time(&to->encoder, to->packet);
    code = ffmpeg_sink_take(to, to->packet);
    av_packet_unref(to->packet);
    if (code < 0)
      return code;
  }
  return code == AVERROR(EAGAIN) || code == AVERROR_EOF ? 0 : code;
}

/* Waits until the picture of this time (seconds of the output) is due. A live receiver shows pictures as they come, so
 * they must not be sent too early. */
static void wait_until_due(struct ffmpeg_sink *to, double time) {
  int64_t now = platform_now_ns(), at = (int64_t)(time * 1e9);
  if (to->last_pts == AV_NOPTS_VALUE)
    to->started_ns = now - at;
  for (; now < to->started_ns + at && !(to->stop && atomic_load(to->stop)); now = platform_now_ns()) {
    int64_t left = to->started_ns + at - now;
    platform_sleep_ns(left < stop_check_ns ? left : stop_check_ns);
  }
}

/* Converts a frame's time to the encoder's clock, and undoes rounding by the input's clock. Rounding is assumed if the
 * input's ticks are longer than the encoder's, and the usual frame duration is a whole number of the encoder's ticks. A
 * time within one input tick of a multiple of that duration, counted from to->base_pts, then becomes this multiple. */
static int64_t settle_time(struct ffmpeg_sink *to, int64_t frame_pts) {
  AVRational base = to->encoder.context->time_base, rate = to->encoder.context->framerate;
  int64_t pts = av_rescale_q(frame_pts, to->time_base, base);
  if (av_cmp_q(to->time_base, base) <= 0 || (int64_t)rate.den * base.den % rate.num)
    return pts;
  int64_t period = (int64_t)rate.den * base.den / rate.num, from = to->base_pts;
  int64_t usual = from + llrint((double)(pts - from) / (double)period) * period;
  double seconds = (double)frame_pts * av_q2d(to->time_base), usual_seconds = (double)usual * av_q2d(base);
  return fabs(seconds - usual_seconds) <= av_q2d(to->time_base) ? usual : pts;
}

/* Called if the output is a later part of a render. From now on settle_time rounds times to multiples of the usual
 * frame duration that count from the whole render's first picture, as in its other parts. first: time of that picture,
 * in units of frame.pts. */
static void settle_later(struct ffmpeg_sink *to, int64_t first) {
  to->base_pts = settle_time(to, first);
  to->is_later = true;
}

/* True if a receiver must answer within options.patience seconds. If the output is a server, it may wait for receivers
 * without limit. */
static bool has_to_answer(const struct ffmpeg_sink *to) {
  return protocols_is_network(to->target.url) && !strstr(to->target.url, "listen");
}

static int ffmpeg_open(struct sink **sink, const char *spec, const struct sink_options *options, struct error *err) {
  struct ffmpeg_sink *to = calloc(1, sizeof *to);
  if (!to)
    return error_set(err, STATUS_FAILED, "no memory to write %s", spec);
  to->sink.impl = &sink_ffmpeg;
  to->picture_pipe = -1;
  to->log = options->log;
  to->stop = options->stop;
  to->realtime = options->realtime;
  int status = target_choose(&to->target, spec, options->container, err);
  if (options->name)
    to->target.name = options->name;
  if (!status && options->patience > 0 && has_to_answer(to))
    to->answer_ns = platform_now_ns() + (int64_t)(options->patience * 1e9);
  if (status || ffmpeg_sink_prepare(to, options, err)) {
    ffmpeg_close(&to->sink);
    return -1;
  }
  if (options->is_later)
    settle_later(to, options->first);
  *sink = &to->sink;
  return 0;
}

static void keep_last(struct ffmpeg_sink *to, const struct frame *frame) {
  if (!to->repeat_step && strcmp(to->encoder.context->codec->name, "libwebp_anim"))
    return;
  frame_release(&to->last);
  to->last = frame_hold(frame);
}

/* GIF viewers show each picture for at least GIF_LEAST hundredths of a second. Returns true if a frame must be dropped
 * for that reason; otherwise stores its time in *pts. time: the frame's time in the output, in units of frame.pts.
 * Above 50 frames a second (gif_slots), only the first frame of each fiftieth of a second is kept. At lower rates, a
 * frame is dropped if it comes less than GIF_LEAST / 2 hundredths after the last one kept. */
static bool is_too_fast(struct ffmpeg_sink *to, int64_t time, int64_t *pts) {
  double hundredths = (double)time * av_q2d(to->time_base) * 100;
  bool first = to->last_pts == AV_NOPTS_VALUE;
  if (to->gif_slots)
    *pts = (int64_t)floor(hundredths / GIF_LEAST + 1e-6) * GIF_LEAST;
  bool left_out =
      !first && (to->gif_slots ? *pts <= to->last_pts : hundredths < (double)(to->last_pts + GIF_LEAST / 2));
  if (!first && *pts < to->last_pts + GIF_LEAST)
    *pts = to->last_pts + GIF_LEAST;
  to->left_out += left_out;
  return left_out;
}

/* Repeats the last picture, which is shown until `pts`: sends it to the encoder again at intervals of repeat_step, as
 * long as these times are before pts. Returns 0 or an FFmpeg error code. */
static int repeat_until(struct ffmpeg_sink *to, int64_t pts) {
  int code = 0;
  bool ends = false;
  while (to->repeat_step && to->last.picture && !ends && to->last_pts + to->repeat_step + to->step / 2 < pts) {
    to->last_pts += to->repeat_step;
    code = encoder_send(&to->encoder, &to->last, to->last_pts);
    if (code >= 0)
      code = drain(to);
    ends = code < 0 || (to->stop && atomic_load(to->stop));
  }
  return code;
}

/* In some containers (MXF, GXF, AVI and others, muxer_counts_sound) readers count samples of sound from time 0. So a
 * first picture later than time 0 is also sent for time 0; otherwise the sound would be late. Returns 0 or an FFmpeg
 * error code. */
static int begin_early(struct ffmpeg_sink *to, const struct frame *frame, int64_t pts) {
  if (to->last_pts != AV_NOPTS_VALUE || !side_tracks_have_sound(to->side) || pts < to->step ||
      !muxer_counts_sound(to->target.container))
    return 0;
  keep_last(to, frame);
  to->last_pts = 0;
  int code = encoder_send(&to->encoder, frame, 0);
  return code < 0 ? code : drain(to);
}

/* Sends a frame to the encoder, and writes the packets that are ready. The encoder gets the frame with the source's
 * pts, because the store of alpha (alpha.h) finds the input frame by this number. Returns 0, or -1 with err. */
static int ffmpeg_write(struct sink *sink, const struct frame *frame, struct error *err) {
  struct ffmpeg_sink *to = (struct ffmpeg_sink *)sink;
  int64_t time = frame->pts + to->shift; /* the frame's time in the output, in units of frame.pts */
  if (to->one_picture && to->last_pts != AV_NOPTS_VALUE) {
    to->failed = true;
    return error_set(err, STATUS_USAGE,
                     "%s: holds one picture, and there are more: name it like frame-%%04d.png, or "
                     "give --frames 1",
                     to->target.name);
  }
  if (to->target.live && !to->realtime)
    wait_until_due(to, (double)time * av_q2d(to->time_base));
  int64_t pts = settle_time(to, time);
  if (to->numbered)
    pts = frame->numbered ? frame->number : to->last_pts == AV_NOPTS_VALUE ? 1 : to->last_pts + 1;
  if (to->is_gif && is_too_fast(to, time, &pts))
    return 0;
  if (to->last_pts != AV_NOPTS_VALUE && pts <= to->last_pts)
    pts = to->last_pts + 1;
  if (recorder_send(&to->recorder, frame, time, pts, err)) {
    to->failed = true;
    return -1;
  }
  int code = live_sound_write(to->live_sound, &to->muxer);
  if (code >= 0)
    code = begin_early(to, frame, pts);
  if (code >= 0)
    code = repeat_until(to, pts);
  if (code >= 0)
    code = encoder_send(&to->encoder, frame, pts);
  if (to->last_pts == AV_NOPTS_VALUE)
    to->first_pts = pts;
  if (to->last_pts == AV_NOPTS_VALUE && !to->is_later)
    to->base_pts = pts;
  to->last_pts = pts;
  to->sent++;
  keep_last(to, frame);
  if (code >= 0)
    code = drain(to);
  return code < 0 ? ffmpeg_sink_failed(to, code, err) : 0;
}

/* Tells the muxers of GIF and APNG how long the last picture lasts. These muxers store a duration for each picture, and
 * write a picture only when the next one comes. */
static void tell_last_delay(const struct ffmpeg_sink *to) {
  char value[32];
  if (to->last_pts == AV_NOPTS_VALUE)
    return;
  AVRational base = to->encoder.context->time_base;
  int64_t stands = to->end - to->last_pts;
  if (av_match_name(to->target.container->name, "gif"))
    snprintf(value, sizeof value, "%lld", (long long)av_rescale_q(stands, base, (AVRational){1, 100}));
  else
    snprintf(value, sizeof value, "%lld/1000", (long long)av_rescale_q(stands, base, (AVRational){1, 1000}));
  if (to->end && av_match_name(to->target.container->name, "gif,apng"))
    av_opt_set(to->output->priv_data, "final_delay", value, 0);
}

/* FFmpeg's encoder of animated WebP shows the last picture for the average duration of the others. So the last picture
 * is sent again, at a time that gives the right end; viewers see both as one picture. Returns 0 or an FFmpeg error
 * code. */
static int stretch_last(struct ffmpeg_sink *to) {
  int64_t all = to->end - to->first_pts, pictures = to->sent;
  int64_t again = to->first_pts + all * pictures / (pictures + 1);
  return !to->repeat_step && to->last.picture && to->end && pictures > 1 && again > to->last_pts
             ? encoder_send(&to->encoder, &to->last, again)
             : 0;
}

static int complete(struct ffmpeg_sink *to, bool whole) {
  int64_t end_pts = to->end ? to->end : to->last_pts + to->step;
  double end = (double)end_pts * av_q2d(to->encoder.context->time_base);
  int code = to->end ? repeat_until(to, to->end) : 0;
  if (code >= 0)
    code = stretch_last(to);
  if (code >= 0 && !to->joins)
    code = encoder_send(&to->encoder, NULL, 0);
  if (code >= 0 && !to->joins)
    code = drain(to);
  if (code >= 0)
    code = ffmpeg_sink_write_held(to, true);
  if (code >= 0 && to->last_pts != AV_NOPTS_VALUE)
    code = side_tracks_finish(to->side, &to->muxer, whole ? INFINITY : end, end);
  if (code >= 0)
    code = live_sound_finish(to->live_sound, &to->muxer);
  if (code >= 0)
    code = muxer_complete(&to->muxer);
  tell_last_delay(to);
  return code;
}

static void ffmpeg_set_end(struct sink *sink, int64_t pts) {
  struct ffmpeg_sink *to = (struct ffmpeg_sink *)sink;
  int64_t end = settle_time(to, pts + to->shift);
  to->end = to->last_pts != AV_NOPTS_VALUE && end > to->last_pts ? end : 0;
}

static int ffmpeg_finish(struct sink *sink, bool whole, struct error *err) {
  struct ffmpeg_sink *to = (struct ffmpeg_sink *)sink;
  if (to->left_out)
    log_line(to->log, LOG_WARNING, "%s: GIF shows 50 pictures a second at most: %ld frames are left out",
             to->target.name, to->left_out);
  bool failed_before = to->failed;
  int code = failed_before ? 0 : complete(to, whole);
  /* The trailer is written also after a failure, because av_write_trailer writes the packets that the muxer holds back,
   * as far as there is space. */
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
  bool fragments = to->seekable && muxer_is_mp4(to->target.container);
  if (fragments && (failed_before || code < 0))
    mp4_cut(ffmpeg_sink_path(to));
  if (failed_before)
    return 0;
  if (code >= 0)
    code = ffmpeg_sink_tell_segments(to, true);
  if (code < 0)
    return ffmpeg_sink_failed(to, code, err);
  if (to->part.path && to->broken)
    return 0;
  bool any = to->last_pts != AV_NOPTS_VALUE; /* true: the output has pictures; a shard may have none */
  const struct job_end ends = {to->end ? to->end : any ? to->last_pts + to->step : 0, to->recorder.sent, whole};
  if (to->recorder.manifest && (any || to->shard) && manifest_add_end(to->recorder.manifest, &ends, err))
    return -1;
  if (fragments &&
      mp4_settle(ffmpeg_sink_path(to), to->target.name, &to->muxer, side_tracks_late(to->side), to->log, err))
    return -1;
  if (to->part.path && to->shard && to->recorder.manifest &&
      manifest_add_file(to->recorder.manifest, to->part.name, err))
    return -1;
  if (to->part.path && part_take_over(&to->part, to->shard, err))
    return -1;
  return side_tracks_check(to->side, &to->muxer, err);
}

static void ffmpeg_place_sound(struct sink *sink, int64_t source_pts, double seconds) {
  live_sound_at(((struct ffmpeg_sink *)sink)->live_sound, source_pts, seconds);
}

/* Returns how many pictures the file has; -1: unknown. After a failure the file is read to count them, because some
 * encoded pictures were still in the encoder, in the muxer, or in a container page that was not full. */
static long ffmpeg_pictures(const struct sink *sink) {
  const struct ffmpeg_sink *to = (const struct ffmpeg_sink *)sink;
  const AVCodec *codec = to->encoder.context->codec;
  if (!to->failed && codec && !strcmp(codec->name, "libwebp_anim"))
    return to->sent; /* this encoder gives all pictures in one packet, so packets cannot be counted */
  if (!to->failed || (to->output->oformat->flags & AVFMT_NOFILE))
    return to->written;
  return to->seekable ? ffmpeg_count_pictures(ffmpeg_sink_path(to)) : -1;
}

static void ffmpeg_set_broken(struct sink *sink) {
  ((struct ffmpeg_sink *)sink)->broken = true;
}

static const char *ffmpeg_part(const struct sink *sink) {
  const struct ffmpeg_sink *to = (const struct ffmpeg_sink *)sink;
  return to->part.path ? to->part.name : NULL;
}

const struct sink_impl sink_ffmpeg = {
    .name = "file",
    .accepts = accepts,
    .open = ffmpeg_open,
    .write = ffmpeg_write,
    .finish = ffmpeg_finish,
    .close = ffmpeg_close,
    .place_sound = ffmpeg_place_sound,
    .pictures = ffmpeg_pictures,
    .set_end = ffmpeg_set_end,
    .set_broken = ffmpeg_set_broken,
    .part = ffmpeg_part,
};
