#include "app/source/ffmpeg_source.h"

#include <math.h>
#include <string.h>

#include "app/source/exif.h"
#include "unet/base/platform.h"

enum { DAMAGE_IN_A_ROW_MAX = 1000, CHECK_MS = 100 };

int decode_open(struct ffmpeg_source *from, const AVCodec *codec, struct error *err) {
  const struct source_options *options = &from->options;
  const AVCodecParameters *video = from->stream->codecpar;
  const bool filtered = (options->deinterlace && video->field_order > AV_FIELD_PROGRESSIVE) ||
                        (options->tone_map && tone_map_is_hdr(video->color_trc));
  const bool read_here = options->alpha || filtered || convert_turns(&from->convert) ||
                         gamut_is_wide(video->color_primaries, video->color_trc);
  from->packet = av_packet_alloc();
  from->frame = av_frame_alloc();
  from->ahead = av_frame_alloc();
  if (!from->packet || !from->frame || !from->ahead)
    return error_set(err, STATUS_FAILED, "no memory to decode %s", from->spec);
  const struct decoder_params params = {.spec = from->spec,
                                        .codec = codec,
                                        .video = from->stream->codecpar,
                                        .time_base = from->stream->time_base,
                                        .live = options->live,
                                        .whole = from->pictures,
                                        .hardware = read_here && !options->hardware_must ? NULL : options->hardware,
                                        .must = options->hardware_must,
                                        .gpu = options->gpu,
                                        .log = options->log};
  return decoder_open(&from->decoder, &params, err);
}

/* Gives a packet of the wanted sound to the tap (sound_tap.h), with its position on the clock of frame.pts. Does
 * nothing for packets of other streams. */
static void put_sound(struct ffmpeg_source *from, const AVPacket *packet) {
  if (from->sound && packet->stream_index == from->sound->index && (from->has_origin || !from->realtime))
    sound_tap_put(from->options.tap, from, packet,
                  (double)(ffmpeg_loop_reading_shift(from) - from->origin) * av_q2d(from->stream->time_base));
}

/* Puts packets of sound into the sound tap (sound_tap.h). These are packets that the reading thread of from->arrivals
 * has read. Does nothing before the first frame, because that frame sets time 0 of frame.pts. */
static void put_arrived_sound(struct ffmpeg_source *from) {
  if (!from->arrivals || !from->has_origin || !from->sound)
    return;
  AVPacket *packet = av_packet_alloc();
  while (packet && arrivals_take_sound(from->arrivals, packet)) {
    put_sound(from, packet);
    av_packet_unref(packet);
  }
  av_packet_free(&packet);
}

static bool is_intra_only(const struct ffmpeg_source *from) {
  const AVCodecDescriptor *about = avcodec_descriptor_get(from->stream->codecpar->codec_id);
  return about && about->props & AV_CODEC_PROP_INTRA_ONLY;
}

static void count_damage(struct ffmpeg_source *from) {
  atomic_fetch_add(&from->damaged, 1);
  /* the first key frame of a stream may take long to come, so damaged packets before it do not end reading */
  bool may_wait = from->arrivals && !from->serial;
  if (++from->damage_in_a_row >= DAMAGE_IN_A_ROW_MAX && !may_wait)
    from->gave_up = true;
}

/* Handles an error of the decoder. Returns 0 to continue, or -1 with err. A live source continues even if memory is
 * short, because newer frames matter more than the lost one. */
static int decoder_failed(struct ffmpeg_source *from, int code, struct error *err) {
  if (decoder_refused(from->decoder, err))
    return -1;
  if (code == AVERROR(ENOMEM) && !from->options.live)
    return error_set(err, STATUS_FAILED, "%s: no memory to decode it after %llu frames", from->spec,
                     (unsigned long long)from->serial);
  count_damage(from);
  return 0;
}

/* Tells the decoder that no packet follows, so that it returns its remaining frames. */
static void drain(struct ffmpeg_source *from) {
  decoder_send(from->decoder, NULL);
  from->draining = true;
}

/* Handles a read that gave no packet. code: what av_read_frame returned; failed: reading has ended with an error.
 * Returns 1 to go on, or -1 with err. */
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

int64_t decode_arrival(const struct ffmpeg_source *from, const AVFrame *frame) {
  unsigned newest = (from->stamped - 1) % STAMPS;
  for (unsigned i = 0; i < STAMPS && i < from->stamped; i++)
    if (from->stamps[i].pts == frame->pts && frame->pts != AV_NOPTS_VALUE)
      return from->stamps[i].at_ns;
  return from->stamps[newest].at_ns;
}

static int read_packet(struct ffmpeg_source *from, int *failure) {
  if (from->pictures)
    return pictures_read(from->pictures, from->packet);
  int code = av_read_frame(from->input, from->packet);
  if (code >= 0) {
    list_cuts_mark(&from->cuts, from->input, from->packet);
    side_feed_put(from->options.feed, from->packet);
  }
  *failure = ffmpeg_read_failure(from->input, code);
  return code;
}

/* Looks for a join (a timestamp discontinuity, joins.h) at a packet of video, and shifts the packet's times so that
 * they rise over all joins. In an MPEG transport stream, the packets' counter also begins again at a join, and FFmpeg's
 * demuxer marks one of the last packets before it as damaged; `damaged` no longer counts that packet. */
static void note_time(struct ffmpeg_source *from) {
  /* a packet marked as damaged at most this many packets before a join (where timestamps begin again) is damaged only
   * because of the join */
  enum { NEAR = 3 };
  int part = from->joins.newest;
  joins_note(&from->joins, from->packet);
  if (from->joins.newest != part && from->damage_near > 0 && atomic_load(&from->damaged) > 0) {
    atomic_fetch_sub(&from->damaged, 1);
    from->damage_near = 0;
  }
  from->damage_near = from->packet->flags & AV_PKT_FLAG_CORRUPT ? NEAR : from->damage_near - (from->damage_near > 0);
  joins_shift(&from->joins, from->packet);
}

/* Reads the next packet into from->packet: of any stream or, if the thread of from->arrivals reads the input, of the
 * video. Returns 0 or an FFmpeg code. *failure must be 0 before; it gets the code of an error that ended reading. It
 * stays 0 for a picture sequence, and if that thread reads. */
static int take_packet(struct ffmpeg_source *from, int *failure) {
  bool leapt = false;
  int64_t at_ns;
  int code;
  if (from->arrivals) {
    code = arrivals_take(from->arrivals, from->packet, &at_ns, &leapt, CHECK_MS);
  } else {
    code = read_packet(from, failure);
    at_ns = platform_now_ns();
  }
  if (leapt && !is_intra_only(from))
    decoder_flush(from->decoder);
  if (code >= 0 && from->packet->stream_index == from->stream->index) {
    note_time(from);
    stamp_arrival(from, at_ns);
  }
  return code;
}

/* True if the packet is a WebP file whose header says that it is animated. */
static bool is_animated_webp(enum AVCodecID codec, const AVPacket *packet) {
  return codec == AV_CODEC_ID_WEBP && packet->size > 20 && !memcmp(packet->data + 8, "WEBPVP8X", 8) &&
         packet->data[20] & 2;
}

/* Sends from->packet, a packet of video, to the decoder. Returns 0, or -1 with err. */
static int send_packet(struct ffmpeg_source *from, struct error *err) {
  if (!ffmpeg_loop_take_packet(from, from->packet)) {
    drain(from);
    return 0;
  }
  if (from->packet->flags & AV_PKT_FLAG_CORRUPT)
    atomic_fetch_add(&from->damaged, 1);
  enum AVCodecID codec = from->pictures ? pictures_codec(from->pictures) : from->stream->codecpar->codec_id;
  if (from->pictures)
    decoder_expect(from->decoder, codec);
  from->animated_webp |= is_animated_webp(codec, from->packet);
  int code = exif_attach(codec, from->packet);
  if (code >= 0)
    code = decoder_send(from->decoder, from->packet);
  av_packet_unref(from->packet);
  if (code < 0 && code != AVERROR(EAGAIN) && decoder_failed(from, code, err))
    return -1;
  if (from->gave_up)
    drain(from);
  return 0;
}

/* Reads one packet and sends it to the decoder, or tells the decoder that the input has ended. Returns 1, also if no
 * packet has come yet; 0: reading was interrupted; or -1 with err. */
static int feed(struct ffmpeg_source *from, struct error *err) {
  int failure = 0, code = take_packet(from, &failure);
  if (source_interrupted(&from->source)) {
    av_packet_unref(from->packet);
    return 0;
  }
  if (failure)
    from->read_error = failure;
  if (code == AVERROR_EOF && !failure && ffmpeg_loop_go_on(from))
    return 1;
  if (code < 0)
    return from->silent_ms || (code == AVERROR(EAGAIN) && input_is_silent(from))
               ? input_say_silent(from, err)
               : feed_nothing(from, code, failure, err);
  if (!from->arrivals)
    completeness_add(&from->completeness, from->packet);
  if (from->packet->stream_index == from->stream->index)
    return send_packet(from, err) ? -1 : 1;
  put_sound(from, from->packet);
  av_packet_unref(from->packet);
  return 1;
}

void decode_feed_rest(struct ffmpeg_source *from, double seconds) {
  /* in the file, sound may come up to this many seconds after the pictures of the same time */
  static const double late_seconds = 5;
  int64_t end = llrint(seconds * AV_TIME_BASE) + av_rescale_q(from->origin, from->stream->time_base, AV_TIME_BASE_Q);
  int64_t most = end + llrint(late_seconds * AV_TIME_BASE), at = INT64_MIN;
  int failure = 0;
  while (at < most && side_feed_lacks(from->options.feed, end) && !source_interrupted(&from->source)) {
    if (read_packet(from, &failure) < 0)
      break;
    if (from->packet->stream_index == from->stream->index && from->packet->dts != AV_NOPTS_VALUE)
      at = av_rescale_q(from->packet->dts, from->stream->time_base, AV_TIME_BASE_Q);
    av_packet_unref(from->packet);
  }
}

/* Sends the packet that was held back (rounds.held) to the decoder, which is now empty. It is the first packet of the
 * next pass through a looping input. Returns 0, or -1 with err. */
static int send_held(struct ffmpeg_source *from, struct error *err) {
  ffmpeg_loop_flush(from);
  return send_packet(from, err);
}

/* Handles a frame that the decoder gave: counts damage, and sets the frame's times. Returns false if the frame is to be
 * dropped. */
static bool take_frame(struct ffmpeg_source *from, AVFrame *frame) {
  from->damage_in_a_row = 0;
  if (frame->decode_error_flags || frame->flags & AV_FRAME_FLAG_CORRUPT)
    atomic_fetch_add(&from->damaged, 1);
  ffmpeg_loop_take_frame(from, frame);
  /* frame.pts counts from the first frame, because cameras and screens give the time of day, or the time since the
   * machine was started */
  if (from->realtime && !from->has_origin && frame->best_effort_timestamp != AV_NOPTS_VALUE)
    from->origin = frame->best_effort_timestamp;
  from->has_origin = true;
  completeness_give(&from->completeness, frame);
  if (from->pictures)
    pictures_note_given(from->pictures, frame->pts);
  return !seek_landed_late(from, frame);
}

/* Gives the next frame of the decoder, as decode_next does, but does not deinterlace it. */
static int decode_frame(struct ffmpeg_source *from, AVFrame *frame, struct error *err) {
  for (;;) {
    put_arrived_sound(from);
    int code = decoder_receive(from->decoder, frame);
    if (from->rounds.held && (code == AVERROR_EOF || code == AVERROR(EAGAIN))) {
      if (send_held(from, err))
        return -1;
    } else if (code == AVERROR(EAGAIN)) {
      int fed = feed(from, err);
      if (fed <= 0)
        return fed;
    } else if (code == AVERROR_EOF) {
      if ((!from->unsure || seek_beginning(from) < 0) && !ffmpeg_loop_again(from))
        return 0;
    } else if (code < 0) {
      if (decoder_failed(from, code, err))
        return -1;
      if (from->gave_up)
        return 0;
    } else if (take_frame(from, frame)) {
      return 1;
    }
  }
}

/* Called at the first interlaced frame: opens the deinterlacer if the options ask for it, and logs whether interlaced
 * frames are deinterlaced. If FFmpeg lacks the filter bwdif, interlaced frames are used as they are. */
static void meet_fields(struct ffmpeg_source *from) {
  struct error why = {0};
  from->met_fields = true;
  if (from->options.deinterlace && !deinterlacer_open(&from->deinterlacer, &why)) {
    log_line(from->options.log, LOG_WARNING, "%s: interlaced video is deinterlaced; --deinterlace no takes it as it is",
             from->spec);
    return;
  }
  deinterlacer_close(&from->deinterlacer);
  log_line(from->options.log, LOG_WARNING,
           "%s: interlaced video is taken as whole pictures: what moves has combs%s%s%s", from->spec,
           *why.message ? " (" : "", why.message, *why.message ? ")" : "");
}

/* Gives the next frame to the deinterlacer or, if `got` is 0, tells it that there are no more frames. Returns 0, or -1
 * with err. */
static int deinterlace(struct ffmpeg_source *from, AVFrame *frame, int got, struct error *err) {
  char reason[128];
  if (got > 0 && surfaces_is_one(frame) && surfaces_bring_down(&from->convert.surfaces, &from->options.gpu, frame, err))
    return -1;
  int code = deinterlacer_send(from->deinterlacer, got ? frame : NULL);
  return code >= 0 ? 0
                   : error_set(err, STATUS_INPUT, "%s: cannot be deinterlaced: %s; --deinterlace no takes it as it is",
                               from->spec, ffmpeg_reason(code, reason));
}

int decode_next(struct ffmpeg_source *from, AVFrame *frame, struct error *err) {
  char reason[128];
  for (;;) {
    int code = from->deinterlacer ? deinterlacer_receive(from->deinterlacer, frame) : AVERROR(EAGAIN);
    if (code >= 0 || code == AVERROR_EOF)
      return code >= 0;
    if (code != AVERROR(EAGAIN))
      return error_set(err, STATUS_INPUT, "%s: cannot be deinterlaced: %s", from->spec, ffmpeg_reason(code, reason));
    int got = decode_frame(from, frame, err);
    if (got > 0 && frame->interlaced_frame && !from->met_fields)
      meet_fields(from);
    if (got < 0 || !from->deinterlacer)
      return got;
    if (deinterlace(from, frame, got, err))
      return -1;
  }
}
