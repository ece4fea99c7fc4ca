#include <libavcodec/avcodec.h>
#include <libavutil/avstring.h>
#include <libavutil/display.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/source/arrivals.h"
#include "app/source/convert.h"
#include "app/source/coverage.h"
#include "app/source/device_wishes.h"
#include "app/source/ffmpeg_util.h"
#include "app/source/frame_clock.h"
#include "app/source/left_out.h"
#include "app/source/pipe_input.h"
#include "app/source/protocols.h"
#include "app/source/sound_tap.h"
#include "app/source/source_impl.h"
#include "unet/base/platform.h"
#include "unet/base/text.h"

enum { DAMAGE_IN_A_ROW_MAX = 1000, DECODER_THREADS_MAX = 4, STAMPS = 64, LOOK_UP_MS = 100 };

/* Of a stream so much is looked at before its pictures are decoded, unless --input-options say another amount. */
enum { STREAM_PROBE_BYTES = 1 << 17, STREAM_PROBE_US = 200000, PROBE_BYTES_DEFAULT = 5000000 };

/* To connect may take so many times the silence that is allowed later. */
static const double patience_to_connect = 5;

/* Where the decoder never catches up with a stream, a picture is given out after so long all the same. */
static const int64_t starved_ns = 100000000;

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
  AVStream *sound;  /* likewise; NULL: there is none, or nobody wants it */
  struct convert convert;
  struct source_info info; /* as it was at opening */
  struct coverage coverage;
  struct arrivals *arrivals; /* of a stream; NULL: packets are read where they are decoded */
  bool watched, opened;      /* silence ends it; input belongs to the thread of arrivals where there is one */
  atomic_int silent_ms;      /* for so long, which is too long; 0: it is not */
  _Atomic int64_t heard_ns;  /* when something came last */
  int64_t heard_bytes;       /* until then, while it is opened */
  struct {
    int64_t pts, at_ns;
  } stamps[STAMPS]; /* when the packets of these times came; the newest is stamped - 1 modulo STAMPS */
  unsigned stamped;
  int64_t given_ns; /* when a frame was given out last */
  bool realtime, draining;
  bool gave_up;     /* too much damage in a row */
  bool ended_early; /* at the end of the part asked for */
  bool unsure;      /* a seek may have landed too late, and no frame has come yet to tell */
  int64_t origin;   /* of frame.pts, in the stream's time base */
  bool has_origin;
  int64_t loop_shift; /* added to timestamps, so that they go on rising when the file starts again */
  struct frame_clock clock;
  /* The frame after `frame`, decoded before its turn for the sake of its time */
  AVFrame *ahead;
  bool looked_ahead;
  int ahead_got; /* what decoding it gave; -1: ahead_err */
  struct error ahead_err;
  uint64_t serial;
  uint64_t rewound_at; /* serial when it last went back to its start */
  atomic_long damaged; /* asked for by other threads */
  int damage_in_a_row;
  int read_error; /* FFmpeg's code of what reading the input failed with; 0: nothing did */
};

static bool accepts(const char *spec) {
  (void)spec;
  return true;
}

static double silence_allowed(const struct ffmpeg_source *from) {
  double limit = from->options.read_timeout;
  if (!from->opened && !(from->input && from->input->pb))
    limit *= patience_to_connect;
  return from->info.fps > 0 ? fmax(limit, 3 / from->info.fps) : limit;
}

/* While it is opened every byte counts, then every packet of the video. */
static bool is_silent(struct ffmpeg_source *from) {
  int64_t now_ns = platform_now_ns();
  if (!from->watched)
    return false;
  if (!from->opened && from->input && from->input->pb && from->input->pb->bytes_read != from->heard_bytes) {
    from->heard_bytes = from->input->pb->bytes_read;
    from->heard_ns = now_ns;
  }
  double allowed = silence_allowed(from);
  if ((double)(now_ns - from->heard_ns) > allowed * 1e9)
    from->silent_ms = (int)lrint(allowed * 1000);
  return from->silent_ms;
}

static int say_silent(const struct ffmpeg_source *from, struct error *err) {
  return error_set(err, STATUS_INPUT, "%s: nothing came for %g s", from->spec, from->silent_ms * 1e-3);
}

static int is_interrupted(void *opaque) {
  struct ffmpeg_source *from = opaque;
  return source_interrupted(&from->source) || is_silent(from);
}

static void ffmpeg_close(struct source *source) {
  struct ffmpeg_source *from = (struct ffmpeg_source *)source;
  source_interrupt(source); /* what the thread waits for */
  arrivals_stop(&from->arrivals);
  if (from->options.tap)
    sound_tap_leave(from->options.tap, from);
  convert_free(&from->convert);
  av_frame_free(&from->frame);
  av_frame_free(&from->ahead);
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

/* Whether its packets are taken in as they come. Rendered, every one of them counts. */
static bool is_stream(const struct ffmpeg_source *from) {
  return from->options.live && (from->pipe || ffmpeg_is_stream(from->input, from->spec));
}

static bool paces_itself(const struct ffmpeg_source *from) {
  const AVInputFormat *format = from->input->iformat;
  if (!strcmp(format->name, "lavfi"))
    return strstr(from->spec, "realtime") != NULL;
  return ffmpeg_is_device(format) || is_live_url(from->spec) || is_stream(from);
}

/* Undecoded pictures of a device are memory of its driver: there is little of it, and it is gone when the device is
 * closed. Screens are grabbed into memory that lasts. */
static bool lends_few(const struct ffmpeg_source *from) {
  const AVInputFormat *format = from->input->iformat;
  return ffmpeg_is_device(format) && !av_match_name("x11grab", format->name) &&
         from->decoder->codec_id == AV_CODEC_ID_RAWVIDEO;
}

/* What is looked at before is late already. */
static void probe_little(struct ffmpeg_source *from) {
  from->input->fps_probe_size = 0;
  if (!is_stream(from))
    return;
  if (from->input->probesize == PROBE_BYTES_DEFAULT)
    from->input->probesize = STREAM_PROBE_BYTES;
  if (!from->input->max_analyze_duration)
    from->input->max_analyze_duration = STREAM_PROBE_US;
}

/* takes_over: the tap may have another source's sound, of which the frames are no longer wanted. */
static void begin_sound(struct ffmpeg_source *from, bool takes_over) {
  if (from->options.tap)
    sound_tap_begin(from->options.tap, from, takes_over, from->sound ? from->sound->codecpar : NULL,
                    from->sound ? from->sound->time_base : from->stream->time_base, av_q2d(from->stream->time_base));
}

/* Sound has positions as its frames have. */
static void put_sound(struct ffmpeg_source *from) {
  if (from->sound && from->packet->stream_index == from->sound->index && (from->has_origin || !from->realtime))
    sound_tap_put(from->options.tap, from, from->packet,
                  (double)(from->loop_shift - from->origin) * av_q2d(from->stream->time_base));
}

static int find_stream(struct ffmpeg_source *from, const AVCodec **codec, struct error *err) {
  char reason[128];
  if (from->options.live && (ffmpeg_is_device(from->input->iformat) || is_stream(from)))
    probe_little(from);
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
  bool wanted = from->options.tap && !is_stream(from); /* of a stream, packets of the pictures alone are taken in */
  int sound = wanted ? av_find_best_stream(from->input, AVMEDIA_TYPE_AUDIO, -1, index, NULL, 0) : -1;
  from->sound = sound >= 0 ? from->input->streams[sound] : NULL;
  for (unsigned i = 0; i < from->input->nb_streams; i++)
    if ((int)i != index && (int)i != sound)
      from->input->streams[i]->discard = AVDISCARD_ALL;
  return 0;
}

/* Frame threads decode faster and hold back as many frames as there are threads: right for files, wrong for live. */
static int open_decoder(struct ffmpeg_source *from, const AVCodec *codec, struct error *err) {
  char reason[128];
  from->decoder = avcodec_alloc_context3(codec);
  from->packet = av_packet_alloc();
  from->frame = av_frame_alloc();
  from->ahead = av_frame_alloc();
  if (!from->decoder || !from->packet || !from->frame || !from->ahead)
    return error_set(err, STATUS_FAILED, "no memory to decode %s", from->spec);
  int code = avcodec_parameters_to_context(from->decoder, from->stream->codecpar);
  if (code >= 0) {
    int cores = platform_processors();
    from->decoder->thread_count = cores < DECODER_THREADS_MAX ? cores : DECODER_THREADS_MAX;
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
  int64_t step = fps > 0 ? llrint(1 / (fps * av_q2d(base))) : 1;
  from->clock = (struct frame_clock){
      .last = FRAME_TIME_NONE, .step = step < 1 ? 1 : step, .second = av_rescale_q(1, (AVRational){1, 1}, base)};
  from->origin = av_rescale_q(ffmpeg_origin(from->input, from->options.start), AV_TIME_BASE_Q, base);
}

/* Width over height of a pixel as it is given out; frame NULL: as far as known before the first. */
static double sample_aspect(const struct ffmpeg_source *from, AVFrame *frame) {
  AVRational stored = av_guess_sample_aspect_ratio(from->input, from->stream, frame);
  double aspect = stored.den > 0 ? av_q2d(stored) : 0;
  if (aspect < 1 / sample_aspect_most || aspect > sample_aspect_most)
    return 1;
  return convert_swaps_sides(&from->convert) ? 1 / aspect : aspect;
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

static void settle_info(struct ffmpeg_source *from) {
  struct source_info *info = &from->info;
  bool swap = convert_swaps_sides(&from->convert);
  const char *name = text_last_part(from->spec);
  info->width = swap ? from->decoder->height : from->decoder->width;
  info->height = swap ? from->decoder->width : from->decoder->height;
  info->shape = info->height > 0 ? info->width * sample_aspect(from, NULL) / info->height : 0;
  info->fps = frame_rate(from);
  info->time_base_num = from->stream->time_base.num;
  info->time_base_den = from->stream->time_base.den;
  info->realtime = from->realtime;
  info->returns = from->realtime && !from->pipe;
  info->duration = from->realtime || from->options.loop ? 0 : length_in_seconds(from);
  bool whole = from->options.start <= 0 && from->options.duration <= 0;
  info->frames = from->options.loop                     ? 0
                 : whole && from->stream->nb_frames > 0 ? (long)from->stream->nb_frames
                                                        : lrint(info->duration * info->fps);
  snprintf(info->description, sizeof info->description, "%.90s: %s %dx%d, %.4g fps", name, from->decoder->codec->name,
           info->width, info->height, info->fps);
}

/* After going elsewhere in the input, with this outcome. */
static int land(struct ffmpeg_source *from, int code, bool unsure) {
  if (code >= 0) {
    avcodec_flush_buffers(from->decoder);
    coverage_restart(&from->coverage);
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
  if (!pipe_input_is(from->spec)) {
    from->watched = from->options.live && from->options.read_timeout > 0 && protocols_is_network(from->spec);
    return ffmpeg_open_input(&from->input, from->spec, &from->options, &interrupt, NULL, err);
  }
  if (pipe_input_open(&from->pipe, from->spec, &interrupt, err))
    return -1;
  return ffmpeg_open_input(&from->input, from->spec, &from->options, &interrupt, pipe_input_io(from->pipe), err);
}

/* A stream's first packets may not be those that tell what is in it. */
static int find_decoder(struct ffmpeg_source *from, struct error *err) {
  const AVCodec *codec = NULL;
  from->heard_ns = platform_now_ns();
  if (find_stream(from, &codec, err) == 0 && open_decoder(from, codec, err) == 0)
    return 0;
  return is_stream(from) && !from->pipe ? SOURCE_NOT_YET : -1;
}

/* From now on the input is another thread's, where it is a stream. */
static int begin_reading(struct ffmpeg_source *from, struct error *err) {
  bool stream = is_stream(from), may_return = from->info.returns && from->options.live;
  from->watched = may_return && from->options.read_timeout > 0 && strcmp(from->input->iformat->name, "lavfi") != 0;
  from->heard_ns = platform_now_ns();
  from->opened = true;
  return stream ? arrivals_start(&from->arrivals, from->input, from->stream->index, &from->heard_ns, err) : 0;
}

static int prepare(struct ffmpeg_source *from, struct error *err) {
  from->heard_ns = platform_now_ns();
  int code = open_input(from, err);
  if (!code)
    code = find_decoder(from, err);
  if (code)
    return from->silent_ms ? (say_silent(from, err), SOURCE_NOT_YET) : code;
  from->realtime = paces_itself(from);
  from->source.is_mirror = device_is_mirror(from->input);
  from->convert.copies = lends_few(from);
  from->convert.alpha = from->options.alpha;
  read_orientation(from);
  settle_clock(from);
  settle_info(from);
  coverage_begin(&from->coverage, from->input, from->stream);
  left_out_tell_video(from->stream, from->spec, from->options.log);
  left_out_tell(from->input, from->stream, from->spec, &from->options);
  if (from->options.start > 0 && (is_stream(from) || seek(from) < 0))
    log_line(from->options.log, LOG_INFO, "%s: no seeking in this input; it is read up to the start", from->spec);
  return begin_reading(from, err);
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
  int code = prepare(from, err);
  if (code) {
    ffmpeg_close(&from->source);
    return code;
  }
  begin_sound(from, false);
  *source = &from->source;
  return 0;
}

static bool is_intra_only(const struct ffmpeg_source *from) {
  const AVCodecDescriptor *about = avcodec_descriptor_get(from->decoder->codec_id);
  return about && about->props & AV_CODEC_PROP_INTRA_ONLY;
}

static void count_damage(struct ffmpeg_source *from) {
  atomic_fetch_add(&from->damaged, 1);
  bool may_wait = from->arrivals && !from->serial; /* for a stream's first key frame */
  if (++from->damage_in_a_row >= DAMAGE_IN_A_ROW_MAX && !may_wait)
    from->gave_up = true;
}

/* What the decoder failed with. 0: go on; -1. Live, newer frames matter more than this one. */
static int decoder_failed(struct ffmpeg_source *from, int code, struct error *err) {
  if (code == AVERROR(ENOMEM) && !from->options.live)
    return error_set(err, STATUS_FAILED, "%s: no memory to decode it after %llu frames", from->spec,
                     (unsigned long long)from->serial);
  count_damage(from);
  return 0;
}

/* The decoder gives out what it holds, and then the end. */
static void drain(struct ffmpeg_source *from) {
  avcodec_send_packet(from->decoder, NULL);
  from->draining = true;
}

/* What av_read_frame gave instead of a packet. 1: go on; -1. */
static int feed_nothing(struct ffmpeg_source *from, int code, bool failed, struct error *err) {
  char reason[128];
  if (code == AVERROR(EAGAIN)) {
    platform_sleep_ns(1000000);
    return 1;
  }
  if (code != AVERROR_EOF && code != AVERROR_INVALIDDATA && from->realtime)
    return error_set(err, STATUS_INPUT, "%s: %s", from->spec, ffmpeg_reason(code, reason));
  if (code != AVERROR_EOF && !failed)
    count_damage(from);
  if (code != AVERROR_INVALIDDATA || failed || from->gave_up)
    drain(from);
  return 1;
}

static void stamp_arrival(struct ffmpeg_source *from, int64_t at_ns) {
  unsigned i = from->stamped++ % STAMPS;
  from->stamps[i].pts = from->packet->pts;
  from->stamps[i].at_ns = at_ns;
  from->heard_ns = at_ns;
}

/* When the packet came that became this frame. */
static int64_t arrival_of(const struct ffmpeg_source *from, const AVFrame *frame) {
  unsigned newest = (from->stamped - 1) % STAMPS;
  for (unsigned i = 0; i < STAMPS && i < from->stamped; i++)
    if (from->stamps[i].pts == frame->pts && frame->pts != AV_NOPTS_VALUE)
      return from->stamps[i].at_ns;
  return from->stamps[newest].at_ns;
}

/* The next packet of whichever stream: 0; else FFmpeg's code. */
static int take_packet(struct ffmpeg_source *from, int *failure) {
  bool leapt = false;
  int64_t at_ns;
  int code;
  if (from->arrivals) {
    code = arrivals_take(from->arrivals, from->packet, &at_ns, &leapt, LOOK_UP_MS);
  } else {
    code = av_read_frame(from->input, from->packet);
    at_ns = platform_now_ns();
    *failure = ffmpeg_read_failure(from->input, code);
  }
  if (leapt && !is_intra_only(from))
    avcodec_flush_buffers(from->decoder);
  if (code >= 0 && from->packet->stream_index == from->stream->index)
    stamp_arrival(from, at_ns);
  return code;
}

/* Hands the decoder one packet, or the end. 1: done, or nothing came yet; 0: interrupted; -1. */
static int feed(struct ffmpeg_source *from, struct error *err) {
  int failure = 0, code = take_packet(from, &failure);
  if (source_interrupted(&from->source)) {
    av_packet_unref(from->packet);
    return 0;
  }
  if (failure)
    from->read_error = failure;
  if (code < 0)
    return from->silent_ms || (code == AVERROR(EAGAIN) && is_silent(from)) ? say_silent(from, err)
                                                                           : feed_nothing(from, code, failure, err);
  if (!from->arrivals)
    coverage_add(&from->coverage, from->packet);
  if (from->packet->stream_index == from->stream->index) {
    if (from->packet->flags & AV_PKT_FLAG_CORRUPT)
      atomic_fetch_add(&from->damaged, 1);
    code = avcodec_send_packet(from->decoder, from->packet);
    if (code < 0 && code != AVERROR(EAGAIN) && decoder_failed(from, code, err)) {
      av_packet_unref(from->packet);
      return -1;
    }
    if (from->gave_up)
      drain(from);
  }
  put_sound(from);
  av_packet_unref(from->packet);
  return 1;
}

/* The frame's own time. Where it has one, FFmpeg's best guess is no better, and one wild stamp makes it distrust all
 * that follow. */
static int64_t stamp(const struct ffmpeg_source *from, const AVFrame *frame) {
  int64_t pts = frame->pts == AV_NOPTS_VALUE || from->options.live ? frame->best_effort_timestamp : frame->pts;
  return pts == AV_NOPTS_VALUE ? FRAME_TIME_NONE : pts + from->loop_shift - from->origin;
}

/* At the end of a looping input: back to its start. */
static bool rewind_input(struct ffmpeg_source *from) {
  if (!from->options.loop || from->arrivals || from->serial == from->rewound_at || source_interrupted(&from->source))
    return false;
  if (from->gave_up || from->read_error)
    return false;
  if (seek(from) < 0) {
    log_line(from->options.log, LOG_WARNING, "%s: this input cannot be started again, so it ends here", from->spec);
    return false;
  }
  from->rewound_at = from->serial;
  from->loop_shift = from->clock.last + from->clock.step;
  return true;
}

/* Why what comes after the last frame could not be read: 0 when nothing does. */
static int check_end(const struct ffmpeg_source *from, struct error *err) {
  char reason[128];
  if (from->read_error)
    return error_set(err, STATUS_INPUT, "%s: cannot be read on after %llu frames: %s", from->spec,
                     (unsigned long long)from->serial, ffmpeg_reason(from->read_error, reason));
  if (from->gave_up)
    return error_set(err, STATUS_INPUT, "%s: given up after %llu frames: all that follows is damaged", from->spec,
                     (unsigned long long)from->serial);
  if (from->options.live || from->options.loop || from->ended_early)
    return 0;
  return coverage_check(&from->coverage, from->spec, err);
}

static void tell_missing(const struct ffmpeg_source *from) {
  long missing = coverage_missing(&from->coverage);
  if (missing && !from->options.live && !from->options.loop && !from->ended_early)
    log_line(from->options.log, LOG_WARNING, "%s: %ld of its %ld frames could not be decoded and %s missing",
             from->spec, missing, from->coverage.sent, missing == 1 ? "is" : "are");
}

static int finish(struct ffmpeg_source *from, struct error *err) {
  if (source_interrupted(&from->source))
    return 0;
  if (!from->serial && !from->read_error)
    return error_set(err, STATUS_INPUT, "%s: not one picture could be decoded%s", from->spec,
                     from->options.start > 0 ? " after --start" : "");
  if (check_end(from, err))
    return -1;
  long damaged = atomic_load(&from->damaged);
  if (damaged)
    log_line(from->options.log, LOG_WARNING, "%s: damaged in %ld place%s, patched up or skipped", from->spec, damaged,
             damaged == 1 ? "" : "s");
  tell_missing(from);
  return 0;
}

/* A seek that landed behind the frame asked for shows by the first frame's time; then all is read from the beginning.
 */
static bool landed_late(struct ffmpeg_source *from, const AVFrame *frame) {
  int64_t time = stamp(from, frame);
  bool late = from->unsure && time != FRAME_TIME_NONE && time - from->loop_shift > from->clock.step;
  from->unsure = false;
  return late && seek_beginning(from) >= 0;
}

/* What the decoder gives out next: 1 with frame filled, 0 at the end, -1. */
static int decode(struct ffmpeg_source *from, AVFrame *frame, struct error *err) {
  for (;;) {
    int code = avcodec_receive_frame(from->decoder, frame);
    if (code == AVERROR(EAGAIN)) {
      int fed = feed(from, err);
      if (fed <= 0)
        return fed;
    } else if (code == AVERROR_EOF) {
      if ((!from->unsure || seek_beginning(from) < 0) && !rewind_input(from))
        return 0;
    } else if (code < 0) {
      if (decoder_failed(from, code, err))
        return -1;
      if (from->gave_up)
        return 0;
    } else {
      from->damage_in_a_row = 0;
      if (frame->decode_error_flags || frame->flags & AV_FRAME_FLAG_CORRUPT)
        atomic_fetch_add(&from->damaged, 1);
      /* Cameras and screens stamp their frames with the time of day, or since the machine was started. */
      if (from->realtime && !from->has_origin && frame->best_effort_timestamp != AV_NOPTS_VALUE)
        from->origin = frame->best_effort_timestamp;
      from->has_origin = true;
      coverage_give(&from->coverage, frame);
      if (!landed_late(from, frame))
        return 1;
    }
  }
}

static int next_frame(struct ffmpeg_source *from, struct error *err) {
  if (!from->looked_ahead)
    return decode(from, from->frame, err);
  from->looked_ahead = false;
  av_frame_unref(from->frame);
  if (from->ahead_got > 0)
    av_frame_move_ref(from->frame, from->ahead);
  else if (from->ahead_got < 0)
    *err = from->ahead_err;
  return from->ahead_got;
}

/* Live, and where the input starts again, no frame waits for the next one. */
static int64_t next_time(struct ffmpeg_source *from) {
  if (!from->looked_ahead) {
    from->ahead_got = decode(from, from->ahead, &from->ahead_err);
    from->looked_ahead = true;
  }
  return from->ahead_got > 0 ? stamp(from, from->ahead) : FRAME_TIME_NONE;
}

/* A time for the frame that is greater than the last one's, in the stream's time base. */
static int64_t settle_time(struct ffmpeg_source *from) {
  int64_t time = stamp(from, from->frame);
  bool wait = !from->options.live && !from->options.loop && frame_clock_doubts(&from->clock, time);
  return frame_clock_settle(&from->clock, time, wait ? next_time(from) : FRAME_TIME_NONE);
}

/* Whether the frame lies between the key frame that a loop begins again at and the start. Its settled time cannot tell:
 * that only rises. */
static bool is_before_start(const struct ffmpeg_source *from) {
  int64_t time = stamp(from, from->frame);
  return from->loop_shift && from->options.start > 0 && time != FRAME_TIME_NONE && time < from->loop_shift;
}

/* A frame is not shown where a newer one can be: its packet is there already. */
static bool is_outdated(const struct ffmpeg_source *from) {
  return from->arrivals && from->given_ns && platform_now_ns() - from->given_ns < starved_ns &&
         arrivals_has_more(from->arrivals);
}

/* The next frame that belongs to the part asked for: 1 with from->frame filled, 0 at the end, -1. */
static int find_frame(struct ffmpeg_source *from, int64_t *pts, struct error *err) {
  int got;
  while ((got = next_frame(from, err)) > 0) {
    if (is_before_start(from))
      continue;
    *pts = settle_time(from);
    double seconds = (double)(*pts - from->loop_shift) * av_q2d(from->stream->time_base);
    if (from->options.duration > 0 && seconds >= from->options.duration) {
      if (rewind_input(from))
        continue;
      from->ended_early = true;
      return 0;
    }
    if ((from->options.start <= 0 || seconds >= 0) && !is_outdated(from))
      break;
  }
  return got;
}

/* What the header promises may be about the sound. Not before the first frame: to find a place in some containers, the
 * other streams must not be asked for. */
static void read_all_streams(struct ffmpeg_source *from) {
  if (from->options.live || from->options.loop || !coverage_wants_all(&from->coverage))
    return;
  for (unsigned i = 0; i < from->input->nb_streams; i++)
    from->input->streams[i]->discard = AVDISCARD_DEFAULT;
}

static int ffmpeg_read(struct source *source, struct frame *frame, struct error *err) {
  struct ffmpeg_source *from = (struct ffmpeg_source *)source;
  int64_t pts = 0;
  if (source_interrupted(&from->source))
    return 0;
  av_frame_unref(from->frame);
  int got = find_frame(from, &pts, err);
  if (got < 0)
    return -1;
  if (!got)
    return finish(from, err);
  int64_t captured_ns = arrival_of(from, from->frame);
  double aspect = sample_aspect(from, from->frame);
  if (convert_frame(&from->convert, from->frame, frame, err))
    return error_prefix(err, "%s: ", from->spec);
  from->given_ns = platform_now_ns();
  frame->captured_ns = captured_ns;
  frame->sample_aspect = (float)aspect;
  from->clock.last = pts;
  frame->pts = pts;
  frame->serial = from->serial++;
  if (frame->serial == 0)
    read_all_streams(from);
  if (frame->serial == 1)
    begin_sound(from, true);
  return 1;
}

/* The decoder is another thread's, so what was known at opening has to do. */
static void ffmpeg_info(const struct source *source, struct source_info *info) {
  const struct ffmpeg_source *from = (const struct ffmpeg_source *)source;
  *info = from->info;
  info->damaged = atomic_load(&from->damaged);
}

const struct source_impl source_ffmpeg = {"ffmpeg", accepts, ffmpeg_open, ffmpeg_read, ffmpeg_info, ffmpeg_close};
