#include <libavcodec/avcodec.h>
#include <libavutil/display.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app/convert.h"
#include "app/ffmpeg_util.h"
#include "app/left_out.h"
#include "app/pipe_input.h"
#include "app/protocols.h"
#include "app/source_impl.h"
#include "app/stats.h"

enum { DAMAGE_IN_A_ROW_MAX = 1000, DECODER_THREADS_MAX = 4 };

/* MPEG's transport and program streams have no index: a search by time finds some packet and not a key frame. So much
 * earlier there is one, most likely. */
static const double key_frame_search_seconds = 12;

/* Pixels said to be so many times as wide as high, or as high as wide, are a mistake of the file. */
static const double sample_aspect_most = 16;

struct ffmpeg_source {
  struct source source;
  struct source_options options;
  char *spec;
  AVFormatContext *input;
  struct pipe_input *pipe; /* that input reads from; NULL: none */
  AVCodecContext *decoder;
  AVPacket *packet;
  AVFrame *frame;
  AVStream *stream; /* belongs to input */
  struct convert convert;
  bool realtime, draining;
  bool unsure;        /* a seek may have landed too late, and no frame has come yet to tell */
  int64_t origin;     /* of frame.pts, in the stream's time base */
  int64_t loop_shift; /* added to timestamps, so that they go on rising when the file starts again */
  int64_t last_pts;   /* of the frame given out last; AV_NOPTS_VALUE before the first */
  int64_t frame_step; /* nominal time between frames, at least 1 */
  uint64_t serial;
  uint64_t rewound_at; /* serial when it last went back to its start */
  long damaged;
  int damage_in_a_row;
};

static bool accepts(const char *spec) {
  (void)spec;
  return true;
}

static int is_interrupted(void *opaque) {
  const struct ffmpeg_source *from = opaque;
  return source_interrupted(&from->source);
}

static void ffmpeg_close(struct source *source) {
  struct ffmpeg_source *from = (struct ffmpeg_source *)source;
  convert_finish(&from->convert);
  av_frame_free(&from->frame);
  av_packet_free(&from->packet);
  avcodec_free_context(&from->decoder);
  avformat_close_input(&from->input);
  pipe_input_close(&from->pipe);
  free(from->spec);
  free(from);
}

static bool is_live_url(const char *url) {
  static const char *const schemes[] = {"rtsp:", "rtp:", "udp:", "srt:", "rtmp:", "tcp:", "sdp:"};
  for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
    if (!strncmp(url, schemes[i], strlen(schemes[i])))
      return true;
  return false;
}

static bool paces_itself(const struct ffmpeg_source *from) {
  const AVInputFormat *format = from->input->iformat;
  if (!strcmp(format->name, "lavfi"))
    return strstr(from->spec, "realtime") != NULL;
  return ffmpeg_is_device(format) || is_live_url(from->spec);
}

static int find_stream(struct ffmpeg_source *from, const AVCodec **codec, struct error *err) {
  char reason[128];
  if (from->options.live && ffmpeg_is_device(from->input->iformat))
    from->input->fps_probe_size = 0;
  int code = avformat_find_stream_info(from->input, NULL);
  if (code < 0)
    return error_set(err, STATUS_INPUT, "%s: %s", from->spec, ffmpeg_reason(code, reason));
  int index = av_find_best_stream(from->input, AVMEDIA_TYPE_VIDEO, -1, -1, codec, 0);
  if (index == AVERROR_DECODER_NOT_FOUND)
    return error_set(err, STATUS_INPUT, "%s: FFmpeg here has no decoder for its video", from->spec);
  if (index < 0)
    return error_set(err, STATUS_INPUT, "%s: there is no video in it%s", from->spec,
                     protocols_hint(from->input->iformat));
  from->stream = from->input->streams[index];
  if (from->stream->disposition & AV_DISPOSITION_ATTACHED_PIC)
    return error_set(err, STATUS_INPUT, "%s: there is no video in it, only a cover picture", from->spec);
  for (unsigned i = 0; i < from->input->nb_streams; i++)
    if ((int)i != index)
      from->input->streams[i]->discard = AVDISCARD_ALL;
  return 0;
}

/* Frame threads decode faster and hold back as many frames as there are threads: right for files, wrong for live. */
static int open_decoder(struct ffmpeg_source *from, const AVCodec *codec, struct error *err) {
  char reason[128];
  from->decoder = avcodec_alloc_context3(codec);
  from->packet = av_packet_alloc();
  from->frame = av_frame_alloc();
  if (!from->decoder || !from->packet || !from->frame)
    return error_set(err, STATUS_FAILED, "no memory to decode %s", from->spec);
  int code = avcodec_parameters_to_context(from->decoder, from->stream->codecpar);
  if (code >= 0) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    from->decoder->thread_count = cores < 1 ? 1 : cores < DECODER_THREADS_MAX ? (int)cores : DECODER_THREADS_MAX;
    from->decoder->thread_type = from->options.live ? FF_THREAD_SLICE : FF_THREAD_FRAME | FF_THREAD_SLICE;
    if (from->options.live)
      from->decoder->flags |= AV_CODEC_FLAG_LOW_DELAY;
    from->decoder->pkt_timebase = from->stream->time_base;
    code = avcodec_open2(from->decoder, codec, NULL);
  }
  if (code < 0)
    return error_set(err, STATUS_INPUT, "%s: its %s video cannot be decoded: %s", from->spec, codec->name,
                     ffmpeg_reason(code, reason));
  return 0;
}

static double frame_rate(const struct ffmpeg_source *from) {
  AVRational rate = av_guess_frame_rate(from->input, from->stream, NULL);
  double fps = rate.num > 0 && rate.den > 0 ? av_q2d(rate) : 0;
  if (fps <= 0 && from->stream->time_base.num > 0)
    fps = 1 / av_q2d(from->stream->time_base);
  return fps <= 1000 ? fps : 0;
}

static void read_orientation(struct ffmpeg_source *from) {
  const uint8_t *matrix = av_stream_get_side_data(from->stream, AV_PKT_DATA_DISPLAYMATRIX, NULL);
  if (matrix && !convert_orient(&from->convert, (const int32_t *)matrix))
    log_line(from->options.log, LOG_WARNING,
             "%s: it asks to be shown turned by %.0f degrees; only quarter turns are done, so it stays as stored",
             from->spec, -av_display_rotation_get((const int32_t *)matrix));
}

static void settle_clock(struct ffmpeg_source *from) {
  AVRational base = from->stream->time_base;
  double fps = frame_rate(from);
  from->frame_step = fps > 0 ? llrint(1 / (fps * av_q2d(base))) : 1;
  if (from->frame_step < 1)
    from->frame_step = 1;
  from->origin = av_rescale_q(ffmpeg_origin(from->input, from->options.start), AV_TIME_BASE_Q, base);
  from->last_pts = AV_NOPTS_VALUE;
}

/* After going elsewhere in the input, with this outcome. */
static int land(struct ffmpeg_source *from, int code, bool unsure) {
  if (code >= 0) {
    avcodec_flush_buffers(from->decoder);
    from->draining = false;
    from->unsure = unsure;
  }
  return code;
}

static int seek_beginning(struct ffmpeg_source *from) {
  return land(from, av_seek_frame(from->input, -1, 0, AVSEEK_FLAG_BYTE), false);
}

/* To the first frame asked for or before it. */
static int seek(struct ffmpeg_source *from) {
  int flags = from->input->iformat->flags;
  bool blind = flags & AVFMT_TS_DISCONT && !(flags & AVFMT_GENERIC_INDEX), whole = from->options.start <= 0;
  if (from->pipe) /* FFmpeg would seek in what it happens to have in its buffer */
    return AVERROR(ESPIPE);
  if (blind && from->options.start < key_frame_search_seconds && seek_beginning(from) >= 0)
    return 0;
  int64_t early = blind && !whole ? llrint(key_frame_search_seconds / av_q2d(from->stream->time_base)) : 0;
  int code = av_seek_frame(from->input, from->stream->index, from->origin - early, AVSEEK_FLAG_BACKWARD);
  return code < 0 && whole ? seek_beginning(from) : land(from, code, blind && !whole);
}

static int open_input(struct ffmpeg_source *from, struct error *err) {
  const AVIOInterruptCB interrupt = {is_interrupted, from};
  if (!pipe_input_is(from->spec))
    return ffmpeg_open_input(&from->input, from->spec, &from->options, &interrupt, NULL, err);
  if (pipe_input_open(&from->pipe, from->spec, &interrupt, err))
    return -1;
  return ffmpeg_open_input(&from->input, from->spec, &from->options, &interrupt, pipe_input_io(from->pipe), err);
}

static int prepare(struct ffmpeg_source *from, struct error *err) {
  const AVCodec *codec = NULL;
  if (open_input(from, err) || find_stream(from, &codec, err) || open_decoder(from, codec, err))
    return -1;
  from->realtime = paces_itself(from);
  read_orientation(from);
  settle_clock(from);
  left_out_tell_video(from->stream, from->spec, from->options.log);
  left_out_tell(from->input, from->stream, from->spec, &from->options);
  if (from->options.start > 0 && seek(from) < 0)
    log_line(from->options.log, LOG_INFO, "%s: no seeking in this input; it is read up to the start", from->spec);
  return 0;
}

static int ffmpeg_open(struct source **source, const char *spec, const struct source_options *options,
                       struct error *err) {
  struct ffmpeg_source *from = calloc(1, sizeof *from);
  if (!from || !(from->spec = strdup(spec))) {
    free(from);
    return error_set(err, STATUS_FAILED, "no memory to open %s", spec);
  }
  from->source.impl = &source_ffmpeg;
  from->source.stop = options->stop;
  from->options = *options;
  if (prepare(from, err)) {
    ffmpeg_close(&from->source);
    return -1;
  }
  *source = &from->source;
  return 0;
}

static void count_damage(struct ffmpeg_source *from) {
  from->damaged++;
  from->damage_in_a_row++;
}

/* Hands the decoder one packet. 1: done, or nothing came yet; 0: the input is finished or unreadable from here on; -1.
 */
static int feed(struct ffmpeg_source *from, struct error *err) {
  char reason[128];
  int code = av_read_frame(from->input, from->packet);
  if (source_interrupted(&from->source)) {
    av_packet_unref(from->packet);
    return 0;
  }
  if (code == AVERROR(EAGAIN)) {
    nanosleep(&(struct timespec){0, 1000000}, NULL);
    return 1;
  }
  if (code == AVERROR_INVALIDDATA && from->damage_in_a_row < DAMAGE_IN_A_ROW_MAX) {
    count_damage(from);
    return 1;
  }
  if (code < 0 && code != AVERROR_EOF && from->realtime)
    return error_set(err, STATUS_INPUT, "%s: %s", from->spec, ffmpeg_reason(code, reason));
  if (code < 0 && code != AVERROR_EOF)
    count_damage(from);
  if (code < 0) {
    avcodec_send_packet(from->decoder, NULL);
    from->draining = true;
    return 1;
  }
  if (from->packet->stream_index == from->stream->index) {
    if (from->packet->flags & AV_PKT_FLAG_CORRUPT)
      from->damaged++;
    code = avcodec_send_packet(from->decoder, from->packet);
    if (code < 0 && code != AVERROR(EAGAIN))
      count_damage(from);
  }
  av_packet_unref(from->packet);
  return from->damage_in_a_row < DAMAGE_IN_A_ROW_MAX;
}

/* A time for the frame just decoded that is greater than the last one's, in the stream's time base. */
static int64_t settle_pts(struct ffmpeg_source *from) {
  int64_t pts = from->frame->best_effort_timestamp;
  bool first = from->last_pts == AV_NOPTS_VALUE;
  if (pts == AV_NOPTS_VALUE)
    return first ? 0 : from->last_pts + from->frame_step;
  /* Cameras and screens stamp their frames with the time of day, or since the machine was started. */
  if (first && from->realtime)
    from->origin = pts;
  pts += from->loop_shift - from->origin;
  if (!first && pts <= from->last_pts)
    return from->last_pts + from->frame_step;
  return pts;
}

/* At the end of a looping input: back to its start. */
static bool rewind_input(struct ffmpeg_source *from) {
  if (!from->options.loop || from->serial == from->rewound_at || source_interrupted(&from->source))
    return false;
  if (from->damage_in_a_row >= DAMAGE_IN_A_ROW_MAX)
    return false;
  if (seek(from) < 0) {
    log_line(from->options.log, LOG_WARNING, "%s: this input cannot be started again, so it ends here", from->spec);
    return false;
  }
  from->rewound_at = from->serial;
  from->loop_shift = from->last_pts + from->frame_step;
  return true;
}

static int finish(struct ffmpeg_source *from, struct error *err) {
  if (source_interrupted(&from->source))
    return 0;
  if (!from->serial)
    return error_set(err, STATUS_INPUT, "%s: not one picture could be decoded%s", from->spec,
                     from->options.start > 0 ? " after --start" : "");
  if (from->damaged)
    log_line(from->options.log, LOG_WARNING, "%s: damaged in %ld place%s, patched up or skipped", from->spec,
             from->damaged, from->damaged == 1 ? "" : "s");
  return 0;
}

/* The next frame that belongs to the part asked for: 1 with from->frame filled, 0 at the end, -1. */
static int decode(struct ffmpeg_source *from, int64_t *pts, struct error *err) {
  for (;;) {
    int code = avcodec_receive_frame(from->decoder, from->frame);
    if (code == AVERROR(EAGAIN)) {
      int fed = feed(from, err);
      if (fed < 0)
        return -1;
      if (!fed)
        return 0;
      continue;
    }
    if (code == AVERROR_EOF) {
      if ((from->unsure && seek_beginning(from) >= 0) || rewind_input(from))
        continue;
      return 0;
    }
    if (code < 0) {
      count_damage(from);
      if (from->damage_in_a_row >= DAMAGE_IN_A_ROW_MAX)
        return 0;
      continue;
    }
    from->damage_in_a_row = 0;
    if (from->frame->decode_error_flags || from->frame->flags & AV_FRAME_FLAG_CORRUPT)
      from->damaged++;
    *pts = settle_pts(from);
    double seconds = (double)(*pts - from->loop_shift) * av_q2d(from->stream->time_base);
    bool late = from->unsure && *pts - from->loop_shift > from->frame_step;
    from->unsure = false;
    if (late && seek_beginning(from) >= 0)
      continue;
    if (from->options.start > 0 && seconds < 0)
      continue;
    if (from->options.duration > 0 && seconds >= from->options.duration) {
      if (rewind_input(from))
        continue;
      return 0;
    }
    return 1;
  }
}

/* Width over height of a pixel as it is given out; frame NULL: as far as known before the first. */
static double sample_aspect(const struct ffmpeg_source *from, AVFrame *frame) {
  AVRational stored = av_guess_sample_aspect_ratio(from->input, from->stream, frame);
  double aspect = stored.den > 0 ? av_q2d(stored) : 0;
  if (aspect < 1 / sample_aspect_most || aspect > sample_aspect_most)
    return 1;
  return convert_swaps_sides(&from->convert) ? 1 / aspect : aspect;
}

static int ffmpeg_read(struct source *source, struct frame *frame, struct error *err) {
  struct ffmpeg_source *from = (struct ffmpeg_source *)source;
  int64_t pts = 0;
  if (source_interrupted(&from->source))
    return 0;
  av_frame_unref(from->frame);
  int got = decode(from, &pts, err);
  if (got < 0)
    return -1;
  if (!got)
    return finish(from, err);
  frame->captured_ns = clock_now_ns();
  if (convert_frame(&from->convert, from->frame, frame, err))
    return error_prefix(err, "%s: ", from->spec);
  frame->sample_aspect = (float)sample_aspect(from, from->frame);
  from->last_pts = pts;
  frame->pts = pts;
  frame->serial = from->serial++;
  return 1;
}

static double length_in_seconds(const struct ffmpeg_source *from) {
  double length = 0;
  if (from->stream->duration > 0)
    length = (double)from->stream->duration * av_q2d(from->stream->time_base);
  else if (from->input->duration > 0)
    length = (double)from->input->duration / AV_TIME_BASE;
  length = fmax(length - from->options.start, 0);
  if (from->options.duration > 0 && (length <= 0 || length > from->options.duration))
    length = from->options.duration;
  return length;
}

static void ffmpeg_info(const struct source *source, struct source_info *info) {
  const struct ffmpeg_source *from = (const struct ffmpeg_source *)source;
  bool swap = convert_swaps_sides(&from->convert);
  const char *slash = strrchr(from->spec, '/'), *name = slash && slash[1] ? slash + 1 : from->spec;
  info->width = swap ? from->decoder->height : from->decoder->width;
  info->height = swap ? from->decoder->width : from->decoder->height;
  info->shape = info->height > 0 ? info->width * sample_aspect(from, NULL) / info->height : 0;
  info->fps = frame_rate(from);
  info->time_base_num = from->stream->time_base.num;
  info->time_base_den = from->stream->time_base.den;
  info->realtime = from->realtime;
  info->duration = from->realtime || from->options.loop ? 0 : length_in_seconds(from);
  bool whole = from->options.start <= 0 && from->options.duration <= 0;
  info->frames = from->options.loop                     ? 0
                 : whole && from->stream->nb_frames > 0 ? (long)from->stream->nb_frames
                                                        : lrint(info->duration * info->fps);
  info->damaged = from->damaged;
  snprintf(info->description, sizeof info->description, "%.90s: %s %dx%d, %.4g fps", name, from->decoder->codec->name,
           info->width, info->height, info->fps);
}

const struct source_impl source_ffmpeg = {"ffmpeg", accepts, ffmpeg_open, ffmpeg_read, ffmpeg_info, ffmpeg_close};
