/* The sink that writes with FFmpeg: to a file, standard output or a URL. Packets reach the disk within half a second of
 * clip time (muxer_flush), so that after a kill or on a full disk all but the last second is playable. For this, MP4
 * and MOV are written in fragments and rewritten as ordinary files at the end (mp4_settle). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/avstring.h>
#include <libavutil/opt.h>

#include "app/platform/app_platform.h"
#include "app/sink/accepted.h"
#include "app/sink/encoder.h"
#include "app/source/ffmpeg_util.h"
#include "app/sink/live_sound.h"
#include "app/sink/mp4.h"
#include "app/sink/muxer.h"
#include "app/sink/replacement.h"
#include "app/sink/whole_files.h"
#include "app/sink/sound.h"
#include "unet/base/platform.h"
#include "app/sink/target.h"
#include "app/source/protocols.h"

/* PIPE_CHECK_MS: milliseconds between two checks for a named pipe's reader. CHECKS_UNTIL_TOLD: after this many checks a
 * log line says that a reader is waited for. */
enum { PIPE_CHECK_MS = 100, CHECKS_UNTIL_TOLD = 10 };
enum {
  GIF_LEAST = 2,         /* least hundredths of a second between two pictures */
  AVI_EMPTY_MOST = 50000 /* pictures in a row that FFmpeg's AVI muxer can skip */
};

struct ffmpeg_sink {
  struct sink sink;
  /* The target, and when waiting for it ends. The sink's thread alone uses the struct; other threads may set *stop.
   * Times are those of platform_now_ns. */
  struct target target;
  AVRational time_base; /* unit of frame.pts in seconds */
  const atomic_bool *stop;
  int64_t stopped_ns; /* when `stop` was first seen to be set; 0: not yet */
  int64_t answer_ns;  /* time until which a receiver must answer; 0: no limit */
  bool unanswered;    /* the receiver has not answered in time */
  int64_t started_ns; /* when time 0 of the output is shown, if frames are sent no faster than they are shown */
  const struct log *log;
  /* What encodes the frames and writes the packets. */
  AVFormatContext *output;
  AVStream *stream;
  AVPacket *packet;
  /* the newest packet of video; it is written when the next one comes, because the last of all gets another duration */
  AVPacket *held;
  struct encoder encoder;
  struct muxer muxer;
  struct whole_files *whole_files; /* NULL: the output is no sequence of picture files */
  struct sound *sound;
  struct live_sound *live_sound;
  /* Times of pictures, in the encoder's time base. */
  int64_t first_pts, last_pts, step; /* times of the first and the newest picture; usual time between two pictures */
  int64_t end;                       /* end of the last picture; 0: it lasts for step */
  int64_t delay;                     /* pts minus dts of the first packet */
  /* The newest picture. It is held where a container cannot store how long a picture lasts, to be sent again. */
  struct frame last;
  long sent, written; /* pictures sent to the encoder, packets written to the file */
  /* How the container stores pictures; set at opening, except left_out. */
  bool one_picture; /* an image file whose name has no place for a number */
  /* descriptor that keeps a named pipe open to which an image file is written; -1: the output is none */
  int picture_pipe;
  bool numbered; /* the output is image files whose names contain the picture's time as a number */
  /* a picture that lasts longer than this, in the encoder's time base, is sent again after it; 0: never */
  int64_t repeat_step;
  bool is_gif, gif_slots; /* gif_slots: the frames are more than 50 a second, more than GIF can store */
  long left_out;          /* frames that were dropped because they are too fast for GIF */
  /* The state of the output. */
  bool realtime, seekable, header, failed;
  bool pipe_unblocked; /* standard output was set to non-blocking, until the sink is closed */
};

/* After an interruption (`stop`), sending the rest to a network may take this many nanoseconds. */
static const int64_t network_flush_ns = 2000000000;
/* Time in nanoseconds between two checks of `stop`. */
static const int64_t stop_check_ns = 50000000;
/* Muxers that must seek back and change their output, but write a stream anyway, which cannot be read. Others of the
 * kind refuse. */
static const char unreadable_streams[] = "film_cpk,wtv";

static bool accepts(const char *spec) {
  (void)spec;
  return true;
}

/* Returns 1 to abort a call of FFmpeg, which asks before it writes and while it waits for a network. Writing to a file
 * is never aborted, even if the disk is slow: without its last pages it may not play. */
static int should_abort(void *opaque) {
  struct ffmpeg_sink *to = opaque;
  to->unanswered |= to->answer_ns && !to->header && platform_now_ns() > to->answer_ns;
  if (to->unanswered)
    return 1;
  if (to->seekable || !to->stop || !atomic_load(to->stop))
    return 0;
  int64_t now = platform_now_ns();
  if (!to->stopped_ns)
    to->stopped_ns = now;
  return !to->header || now - to->stopped_ns > network_flush_ns;
}

static int output_failed(struct ffmpeg_sink *to, int code, struct error *err) {
  char reason[128];
  to->failed = true;
  /* should_abort has aborted the write, because the sink was told to stop */
  if (code == AVERROR_EXIT && to->stopped_ns)
    return error_set(err, STATUS_INTERRUPTED, "interrupted: not all was sent to %s", to->target.name);
  return error_set(err, STATUS_OUTPUT, "%s: cannot be written: %s", to->target.name,
                   to->unanswered ? "nobody answers" : ffmpeg_reason_of(to->target.url, code, reason));
}

static void ffmpeg_close(struct sink *sink) {
  struct ffmpeg_sink *to = (struct ffmpeg_sink *)sink;
  sound_close(&to->sound);
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

static int add_video(struct ffmpeg_sink *to, const struct sink_options *options, struct error *err) {
  bool low_delay = to->target.live || (to->target.stream && options->realtime);
  if (encoder_open(&to->encoder, to->target.container, to->target.name, low_delay, options, err)) {
    accepted_say(&to->target, options, err);
    return -1;
  }
  const AVCodecContext *encoder = to->encoder.context;
  to->stream = avformat_new_stream(to->output, NULL);
  if (!to->stream || avcodec_parameters_from_context(to->stream->codecpar, encoder) < 0)
    return error_set(err, STATUS_FAILED, "no memory to write %s", to->target.name);
  /* Apple's players accept HEVC only under this name. */
  if (encoder->codec_id == AV_CODEC_ID_HEVC && muxer_is_mp4(to->target.container))
    to->stream->codecpar->codec_tag = MKTAG('h', 'v', 'c', '1');
  to->stream->time_base = encoder->time_base;
  to->stream->avg_frame_rate = encoder->framerate;
  to->stream->sample_aspect_ratio = encoder->sample_aspect_ratio;
  to->time_base = (AVRational){options->time_base_num, options->time_base_den};
  to->step = llrint(1 / (av_q2d(encoder->framerate) * av_q2d(encoder->time_base)));
  if (encoder->codec_id == AV_CODEC_ID_GIF && to->step < GIF_LEAST)
    to->step = GIF_LEAST;
  if (muxer_counts_pictures(to->target.container))
    to->repeat_step = to->step;
  else if (av_match_name(to->target.container->name, "avi"))
    to->repeat_step = AVI_EMPTY_MOST * to->step;
  to->last_pts = to->delay = AV_NOPTS_VALUE;
  return 0;
}

/* Waits until a named pipe has a reader. Opening the pipe for writing would wait as well, but an interruption by the
 * user could not end that wait. Returns a descriptor that keeps the pipe open, or -1 if the path is no named pipe.
 * *code < 0: the wait was aborted. */
static int await_reader(struct ffmpeg_sink *to, int *code) {
  const AVIOInterruptCB *ended = &to->output->interrupt_callback;
  *code = 0;
  for (int looks = 1; target_is_named_pipe(to->target.url); looks++) {
    int held = platform_open_pipe_to_write(file_path(to->target.url));
    if (held >= 0 || errno != ENXIO)
      return held;
    if (looks == CHECKS_UNTIL_TOLD)
      log_line(to->log, LOG_WARNING, "%s: waiting for it to be read", to->target.name);
    if (ended->callback && ended->callback(ended->opaque)) {
      *code = AVERROR_EXIT;
      return -1;
    }
    platform_sleep_ns(PIPE_CHECK_MS * INT64_C(1000000));
  }
  return -1;
}

static int open_io(struct ffmpeg_sink *to) {
  AVFormatContext *output = to->output;
  int held, code;
  if (to->whole_files && protocols_is_file(to->target.url))
    replacement_clean(file_path(to->target.url), to->log);
  if (output->oformat->flags & AVFMT_NOFILE && !to->one_picture)
    return 0;
  held = await_reader(to, &code);
  if (to->one_picture) { /* FFmpeg's muxer of pictures opens the file itself when the picture comes */
    to->picture_pipe = held;
    return code;
  }
  if (code < 0)
    return code;
  /* A datagram is made to hold seven whole packets of a transport stream, as receivers expect. */
  AVDictionary *wishes = NULL;
  if (!strcmp(output->oformat->name, "mpegts"))
    av_dict_set(&wishes, "pkt_size", "1316", 0);
  code = avio_open2(&output->pb, to->target.url, AVIO_FLAG_WRITE, &output->interrupt_callback, &wishes);
  av_dict_free(&wishes);
  if (held >= 0)
    platform_close_descriptor(held);
  /* If a reader has stopped reading, an interruption must still work: where a write would block, FFmpeg instead calls
   * should_abort again and again. */
  to->pipe_unblocked = target_is_standard_output(to->target.url) && platform_stop_blocking(STANDARD_OUTPUT);
  to->seekable = code >= 0 && output->pb->seekable & AVIO_SEEKABLE_NORMAL;
  if (to->seekable)
    replacement_clean(file_path(to->target.url), to->log);
  return code;
}

static int refuse_stream(const struct ffmpeg_sink *to, struct error *err) {
  return error_set(err, STATUS_OUTPUT, "%s: %s does not work as a stream here; try --output-format matroska or mpegts",
                   to->target.name, to->target.container->name);
}

/* Writes the header and flushes it, so that a full or forbidden disk is reported at once and not after minutes. */
static int write_header(struct ffmpeg_sink *to, const struct sink_options *options, struct error *err) {
  AVDictionary *wishes = NULL;
  int code = open_io(to);
  if (code < 0)
    return output_failed(to, code, err);
  bool streamed = to->output->pb && !to->seekable;
  if (streamed && av_match_name(to->target.container->name, unreadable_streams))
    return refuse_stream(to, err);
  if (muxer_is_mp4(to->target.container))
    mp4_wishes(&wishes);
  /* without this option, Matroska's muxer collects packets and writes them once a second */
  if (to->target.stream && options->realtime)
    av_dict_set(&wishes, "cluster_time_limit", "1", 0);
  /* By default FFmpeg's HLS playlist names the last five segments only. */
  if (!options->realtime && av_match_name(to->target.container->name, "hls"))
    av_dict_set(&wishes, "hls_list_size", "0", 0);
  if (av_match_name(to->target.container->name, "webp,apng")) /* FFmpeg's default plays these once, but GIF for ever */
    av_dict_set(&wishes, av_match_name(to->target.container->name, "webp") ? "loop" : "plays", "0", 0);
  code = avformat_write_header(to->output, &wishes);
  av_dict_free(&wishes);
  if (code == AVERROR(EINVAL) && streamed && !to->output->pb->error)
    return refuse_stream(to, err);
  if (code < 0) {
    output_failed(to, code, err);
    if (!to->output->pb || !to->output->pb->error)
      accepted_say(&to->target, options, err);
    return -1;
  }
  to->header = true;
  /* Writing MP4 in fragments clears this flag. Without it, AAC in a transport stream fails at its first packet. */
  to->output->flags |= AVFMT_FLAG_AUTO_BSF;
  if (to->output->pb) {
    avio_flush(to->output->pb);
    code = to->output->pb->error;
  }
  return code < 0 ? output_failed(to, code, err) : 0;
}

static int prepare(struct ffmpeg_sink *to, const struct sink_options *options, struct error *err) {
  const AVOutputFormat *container = to->target.container;
  to->packet = av_packet_alloc();
  to->held = av_packet_alloc();
  if (!to->packet || !to->held || avformat_alloc_output_context2(&to->output, container, NULL, to->target.url) < 0)
    return error_set(err, STATUS_FAILED, "no memory to write %s", to->target.name);
  to->output->interrupt_callback = (AVIOInterruptCB){should_abort, to};
  if (!strcmp(container->name, "image2") && !(to->whole_files = whole_files_open(to->output)))
    return error_set(err, STATUS_FAILED, "no memory to write %s", to->target.name);
  to->one_picture = !strcmp(container->name, "image2") && !av_filename_number_test(to->target.url);
  if (to->one_picture)
    av_opt_set_int(to->output->priv_data, "update", 1, 0);
  to->numbered = !strcmp(container->name, "image2") && !to->one_picture;
  to->is_gif = !strcmp(container->name, "gif");
  to->gif_slots = options->fps > 100.0 / GIF_LEAST + 0.01;
  if (to->numbered)
    av_opt_set_int(to->output->priv_data, "frame_pts", 1, 0);
  if (add_video(to, options, err))
    return -1;
  if (sound_open(&to->sound, to->output, options, err) ||
      live_sound_open(&to->live_sound, to->output, options->tap, options->tap_by_clock, options->log, err))
    return -1;
  if (muxer_open(&to->muxer, to->output) < 0)
    return error_set(err, STATUS_FAILED, "no memory to write %s", to->target.name);
  return write_header(to, options, err);
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
  if (status || prepare(to, options, err)) {
    ffmpeg_close(&to->sink);
    return -1;
  }
  *sink = &to->sink;
  return 0;
}

/* Calls muxer_flush if it is due before this packet of video. Sound that begins late writes its first packet first, so
 * that MP4's index lists its track. */
static int flush_when_due(struct ffmpeg_sink *to, const AVPacket *packet) {
  if (!muxer_is_due(&to->muxer, packet))
    return 0;
  int code = sound_send_ahead(to->sound, &to->muxer);
  return code < 0 ? code : muxer_flush(&to->muxer, packet, to->live_sound || sound_has_more(to->sound));
}

/* Writes a packet of video, and the sound before it. */
static int write_packet(struct ffmpeg_sink *to, AVPacket *packet) {
  av_packet_rescale_ts(packet, to->encoder.context->time_base, to->stream->time_base);
  int code = sound_write_until(to->sound, &to->muxer, (double)packet->dts * av_q2d(to->stream->time_base));
  if (code >= 0)
    code = flush_when_due(to, packet);
  if (code >= 0)
    code = muxer_write(&to->muxer, packet);
  if (code >= 0)
    code = whole_files_failure(to->whole_files);
  to->written += code >= 0;
  return code;
}

/* Sets a packet's duration so that the file ends when the last picture does: in the packet that is shown last, and for
 * containers that add up durations also in the one that is decoded last. */
static void settle_durations(const struct ffmpeg_sink *to, AVPacket *packet, bool last) {
  packet->duration = to->step;
  if (!to->end)
    return;
  if (packet->pts == to->last_pts)
    packet->duration = to->end - packet->pts;
  else if (last && packet->dts != AV_NOPTS_VALUE)
    packet->duration = to->end - to->delay - packet->dts;
  if (packet->duration < 1)
    packet->duration = 1;
}

static int write_held(struct ffmpeg_sink *to, bool last) {
  if (!to->held->data)
    return 0;
  settle_durations(to, to->held, last);
  int code = write_packet(to, to->held);
  av_packet_unref(to->held);
  return code;
}

/* Takes over a packet of video: holds it in to->held, and writes the packet that was held before. For a live output the
 * new packet is written at once, too. */
static int take_packet(struct ffmpeg_sink *to, AVPacket *packet) {
  int code = write_held(to, false);
  packet->stream_index = to->stream->index;
  if (to->delay == AV_NOPTS_VALUE)
    to->delay = packet->dts != AV_NOPTS_VALUE && packet->pts != AV_NOPTS_VALUE ? packet->pts - packet->dts : 0;
  av_packet_move_ref(to->held, packet);
  return code >= 0 && (to->realtime || to->target.live) ? write_held(to, false) : code;
}

/* Writes the packets that the encoder has ready, except the last one, which take_packet holds back. */
static int drain(struct ffmpeg_sink *to) {
  int code;
  while ((code = avcodec_receive_packet(to->encoder.context, to->packet)) >= 0) {
    code = take_packet(to, to->packet);
    av_packet_unref(to->packet);
    if (code < 0)
      return code;
  }
  return code == AVERROR(EAGAIN) || code == AVERROR_EOF ? 0 : code;
}

/* Waits until a picture's time. A live receiver shows pictures as they come, so that they must not be sent too fast. */
static void wait_until_due(struct ffmpeg_sink *to, double time) {
  int64_t now = platform_now_ns(), at = (int64_t)(time * 1e9);
  if (to->last_pts == AV_NOPTS_VALUE)
    to->started_ns = now - at;
  for (; now < to->started_ns + at && !(to->stop && atomic_load(to->stop)); now = platform_now_ns()) {
    int64_t left = to->started_ns + at - now;
    platform_sleep_ns(left < stop_check_ns ? left : stop_check_ns);
  }
}

/* Converts a frame's time to the encoder's clock. If that clock has a whole number of ticks for a frame at the usual
 * rate, and the input's clock does not, the frame's time was rounded: a time that is within one tick of the input's
 * clock of a multiple of the usual duration becomes that multiple. */
static int64_t settle_time(struct ffmpeg_sink *to, int64_t frame_pts) {
  AVRational base = to->encoder.context->time_base, rate = to->encoder.context->framerate;
  int64_t pts = av_rescale_q(frame_pts, to->time_base, base);
  if (av_cmp_q(to->time_base, base) <= 0 || (int64_t)rate.den * base.den % rate.num)
    return pts;
  int64_t period = (int64_t)rate.den * base.den / rate.num, from = to->last_pts == AV_NOPTS_VALUE ? 0 : to->first_pts;
  int64_t usual = from + llrint((double)(pts - from) / (double)period) * period;
  double seconds = (double)frame_pts * av_q2d(to->time_base), usual_seconds = (double)usual * av_q2d(base);
  return fabs(seconds - usual_seconds) <= av_q2d(to->time_base) ? usual : pts;
}

static void keep_last(struct ffmpeg_sink *to, const struct frame *frame) {
  if (!to->repeat_step && strcmp(to->encoder.context->codec->name, "libwebp_anim"))
    return;
  frame_release(&to->last);
  to->last = frame_hold(frame);
}

/* True if a frame must be dropped for GIF, whose viewers show each picture for at least two hundredths of a second.
 * Else stores its time in *pts. If the frames are faster throughout (gif_slots), the first frame of each fiftieth of a
 * second is kept; otherwise each that is not too near to the one before. */
static bool is_too_fast(struct ffmpeg_sink *to, const struct frame *frame, int64_t *pts) {
  double hundredths = (double)frame->pts * av_q2d(to->time_base) * 100;
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

/* Sends the last picture again at each repeat_step before pts, since it is still shown then. */
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

/* MXF and GXF store no times: their readers count pictures and sound from time 0. If the first picture comes later,
 * shows it from time 0 on. Otherwise the sound would be late. */
static int begin_early(struct ffmpeg_sink *to, const struct frame *frame, int64_t pts) {
  if (to->last_pts != AV_NOPTS_VALUE || !to->sound || pts < to->step || !muxer_counts_sound(to->target.container))
    return 0;
  keep_last(to, frame);
  to->last_pts = 0;
  int code = encoder_send(&to->encoder, frame, 0);
  return code < 0 ? code : drain(to);
}

static int ffmpeg_write(struct sink *sink, const struct frame *frame, struct error *err) {
  struct ffmpeg_sink *to = (struct ffmpeg_sink *)sink;
  if (to->one_picture && to->last_pts != AV_NOPTS_VALUE) {
    to->failed = true;
    return error_set(err, STATUS_OUTPUT,
                     "%s: holds one picture, and there are more: name it like frame-%%04d.png, or "
                     "give --frames 1",
                     to->target.name);
  }
  if (to->target.live && !to->realtime)
    wait_until_due(to, (double)frame->pts * av_q2d(to->time_base));
  int64_t pts = settle_time(to, frame->pts);
  if (to->numbered)
    pts = frame->numbered ? frame->number : to->last_pts == AV_NOPTS_VALUE ? 1 : to->last_pts + 1;
  if (to->is_gif && is_too_fast(to, frame, &pts))
    return 0;
  if (to->last_pts != AV_NOPTS_VALUE && pts <= to->last_pts)
    pts = to->last_pts + 1;
  int code = live_sound_write(to->live_sound, &to->muxer);
  if (code >= 0)
    code = begin_early(to, frame, pts);
  if (code >= 0)
    code = repeat_until(to, pts);
  if (code >= 0)
    code = encoder_send(&to->encoder, frame, pts);
  if (to->last_pts == AV_NOPTS_VALUE)
    to->first_pts = pts;
  to->last_pts = pts;
  to->sent++;
  keep_last(to, frame);
  if (code >= 0)
    code = drain(to);
  return code < 0 ? output_failed(to, code, err) : 0;
}

/* Tells the muxers of GIF and APNG how long the last picture lasts. They store that for each picture, and write a
 * picture when the next one comes. */
static void tell_last_delay(const struct ffmpeg_sink *to) {
  char value[32];
  AVRational base = to->encoder.context->time_base;
  int64_t stands = to->end - to->last_pts;
  if (av_match_name(to->target.container->name, "gif"))
    snprintf(value, sizeof value, "%lld", (long long)av_rescale_q(stands, base, (AVRational){1, 100}));
  else
    snprintf(value, sizeof value, "%lld/1000", (long long)av_rescale_q(stands, base, (AVRational){1, 1000}));
  if (to->end && av_match_name(to->target.container->name, "gif,apng"))
    av_opt_set(to->output->priv_data, "final_delay", value, 0);
}

/* FFmpeg's encoder of animated WebP shows the last picture for the average duration of the others. So the picture is
 * sent once more at the time for which that average leads to the right end. The two are seen as one picture. */
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
  if (code >= 0)
    code = encoder_send(&to->encoder, NULL, 0);
  if (code >= 0)
    code = drain(to);
  if (code >= 0)
    code = write_held(to, true);
  if (code >= 0 && to->last_pts != AV_NOPTS_VALUE)
    code = sound_write_until(to->sound, &to->muxer, whole ? INFINITY : end);
  if (code >= 0)
    code = sound_finish(to->sound, &to->muxer, whole ? INFINITY : end, end);
  if (code >= 0)
    code = live_sound_finish(to->live_sound, &to->muxer);
  if (code >= 0)
    code = muxer_complete(&to->muxer);
  tell_last_delay(to);
  return code;
}

static void ffmpeg_set_end(struct sink *sink, int64_t pts) {
  struct ffmpeg_sink *to = (struct ffmpeg_sink *)sink;
  int64_t end = settle_time(to, pts);
  to->end = end > to->last_pts ? end : 0;
}

static int ffmpeg_finish(struct sink *sink, bool whole, struct error *err) {
  struct ffmpeg_sink *to = (struct ffmpeg_sink *)sink;
  if (to->left_out)
    log_line(to->log, LOG_WARNING, "%s: GIF shows 50 pictures a second at most: %ld frames are left out",
             to->target.name, to->left_out);
  bool failed_before = to->failed;
  int code = failed_before ? 0 : complete(to, whole);
  /* The trailer is written also after a failure, because that writes what the muxer holds back, as far as there is
   * space. */
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
    mp4_cut(file_path(to->target.url));
  if (failed_before)
    return 0;
  if (code < 0)
    return output_failed(to, code, err);
  if (fragments && mp4_settle(file_path(to->target.url), &to->muxer, to->log, err))
    return -1;
  return sound_check(to->sound, to->muxer.refused, err);
}

static void ffmpeg_place_sound(struct sink *sink, int64_t source_pts, double seconds) {
  live_sound_at(((struct ffmpeg_sink *)sink)->live_sound, source_pts, seconds);
}

/* Returns how many pictures the file has. After a failure the file is read to count them: some were still in the
 * encoder, the muxer or the last page. */
static long ffmpeg_pictures(const struct sink *sink) {
  const struct ffmpeg_sink *to = (const struct ffmpeg_sink *)sink;
  if (!to->failed || (to->output->oformat->flags & AVFMT_NOFILE))
    return to->written;
  return to->seekable ? ffmpeg_count_pictures(to->target.url) : -1;
}

const struct sink_impl sink_ffmpeg = {"file",        accepts,      ffmpeg_open,        ffmpeg_write,
                                      ffmpeg_finish, ffmpeg_close, ffmpeg_place_sound, ffmpeg_pictures,
                                      ffmpeg_set_end};
