#include "app/source/ffmpeg_source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/source/device_wishes.h"
#include "app/source/left_out.h"
#include "app/source/surfaces.h"
#include "unet/base/address.h"
#include "unet/base/platform.h"

/* Pictures of a live stream are skipped while a newer packet waits. After this many nanoseconds without a picture, the
 * next one is given out anyway, because the decoder may be too slow to catch up. */
static const int64_t starved_ns = 100000000;

static bool accepts(const char *spec) {
  (void)spec;
  return true;
}

static void ffmpeg_close(struct source *source) {
  struct ffmpeg_source *from = (struct ffmpeg_source *)source;
  atomic_store(&source->interrupted, true); /* ends a read that may block the reading thread (from->arrivals) */
  arrivals_stop(&from->arrivals);
  if (from->options.tap)
    sound_tap_leave(from->options.tap, from);
  convert_free(&from->convert);
  av_frame_free(&from->frame);
  av_frame_free(&from->ahead);
  av_packet_free(&from->packet);
  deinterlacer_close(&from->deinterlacer);
  decoder_close(&from->decoder);
  avformat_close_input(&from->input);
  pipe_input_close(&from->pipe);
  source_pictures_close(&from->pictures);
  list_cuts_free(&from->cuts);
  free(from->spec);
  free(from);
}

/* Makes options.tap (a buffer of the newest sound) keep this source's packets of sound from now on. takes_over: true:
 * this source replaces another one, whose packets the tap kept and whose frames are no longer shown. */
static void begin_sound(struct ffmpeg_source *from, bool takes_over) {
  const AVStream *sound = from->sound;
  const struct shown name = address_name(from->spec);
  const struct sound_origin origin = {.owner = from,
                                      .name = name.text,
                                      .codec = sound ? sound->codecpar : NULL,
                                      .time_base = sound ? sound->time_base : from->stream->time_base,
                                      .tick = av_q2d(from->stream->time_base)};
  if (from->options.tap)
    sound_tap_begin(from->options.tap, &origin, takes_over);
}

/* Finds the video and opens its decoder. Returns 0; SOURCE_NOT_YET for a stream whose first packets do not show what it
 * contains; or -1 with err. */
static int find_decoder(struct ffmpeg_source *from, struct error *err) {
  const AVCodec *codec = NULL;
  from->heard_ns = platform_now_ns();
  if (input_find_stream(from, &codec, err) == 0) {
    about_orientation(from, NULL);
    if (decode_open(from, codec, err) == 0)
      return 0;
    /* the required hardware cannot decode the video, so trying again later would be useless */
    if (from->options.hardware_must)
      return -1;
  }
  return input_is_stream(from) && !from->pipe ? SOURCE_NOT_YET : -1;
}

/* Marks the input as opened and, for a live stream, starts the thread that reads its packets (arrivals.h); from now on
 * only that thread uses the input. Returns 0, or -1 with err. */
static int begin_reading(struct ffmpeg_source *from, struct error *err) {
  bool stream = input_is_stream(from), may_return = from->info.returns && from->options.live;
  from->watched = may_return && from->options.read_timeout > 0 && strcmp(from->input->iformat->name, "lavfi") != 0;
  from->heard_ns = platform_now_ns();
  from->opened = true;
  int sound = from->sound ? from->sound->index : -1;
  return stream ? arrivals_start(&from->arrivals, from->input, from->stream->index, sound, &from->heard_ns, err) : 0;
}

/* Result of `prepare` if a seek fails after FFmpeg has dropped the packets read before: the input must be opened
 * again. */
enum { PLACE_LOST = 1 };

static int go_to_start(struct ffmpeg_source *from) {
  bool reads_up = from->reads_up || from->realtime || from->pipe || input_is_stream(from);
  if (from->options.start + from->options.resume <= 0 || (!reads_up && seek_resume(from) >= 0))
    return 0;
  if (!reads_up)
    return PLACE_LOST;
  log_line(from->options.log, LOG_INFO, "%s: no seeking in this input; it is read up to the start", from->spec);
  return 0;
}

/* Opens the conversion of HDR to SDR if the options ask for it, and logs whether HDR is converted. */
static void prepare_filters(struct ffmpeg_source *from) {
  const struct source_options *options = &from->options;
  struct error why = {0};
  bool maps = options->tone_map && tone_map_is_hdr(from->stream->codecpar->color_trc) && !options->alpha &&
              !left_out_own_colours(from->stream);
  if (maps && tone_map_open(&from->convert.tone_map, options->tone_map_side, &why))
    tone_map_close(&from->convert.tone_map);
  left_out_tell_video(from->stream, from->spec, from->convert.tone_map, why.message, options->log);
}

static int prepare(struct ffmpeg_source *from, struct error *err) {
  from->heard_ns = platform_now_ns();
  from->heard_bytes = -1;
  rounds_reset(&from->rounds);
  int code = input_open(from, err);
  if (!code)
    code = find_decoder(from, err);
  if (code)
    return from->silent_ms ? (input_say_silent(from, err), SOURCE_NOT_YET) : code;
  from->realtime = input_paces_itself(from);
  from->source.is_mirror = device_is_mirror(from->input);
  from->convert.copies = input_lends_few(from);
  from->convert.alpha = from->options.alpha;
  from->convert.keeps_alpha = from->options.keeps_alpha;
  from->convert.gpu = from->options.gpu;
  from->convert.to_host = from->options.to_host;
  if (list_cuts_read(&from->cuts, from->input))
    return error_set(err, STATUS_FAILED, "no memory to open %s", from->spec);
  about_settle(from);
  if (go_to_start(from))
    return PLACE_LOST;
  completeness_begin(&from->completeness, from->input, from->stream);
  prepare_filters(from);
  return begin_reading(from, err);
}

/* Decodes the frame after from->frame in advance into from->ahead, and returns its time; FRAME_TIME_NONE: it
 * is unknown, or there is no such frame. */
static int64_t next_time(struct ffmpeg_source *from) {
  if (!from->looked_ahead) {
    from->ahead_got = decode_next(from, from->ahead, &from->ahead_err);
    from->looked_ahead = true;
  }
  return from->ahead_got > 0 ? about_time(from, from->ahead) : FRAME_TIME_NONE;
}

/* True for codecs whose first picture must be decoded before an engine is opened, because the container does not say
 * all: each picture may have an orientation of its own, or only some pictures have transparency. */
static bool is_looked_at(enum AVCodecID codec) {
  static const enum AVCodecID may[] = {AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_MJPEG, AV_CODEC_ID_PNG,
                                       AV_CODEC_ID_WEBP, AV_CODEC_ID_TIFF, AV_CODEC_ID_GIF};
  for (size_t i = 0; i < sizeof may / sizeof *may; i++)
    if (may[i] == codec)
      return true;
  return false;
}

/* Decodes the first picture in advance: its size and aspect ratio must be known before an engine is opened, and a log
 * line says whether it has transparency. Not done for realtime sources, for which this function would have to wait. */
static void look_at_first(struct ffmpeg_source *from) {
  if (from->realtime || input_is_stream(from) || !is_looked_at(from->stream->codecpar->codec_id))
    return;
  next_time(from);
  if (from->ahead_got <= 0)
    return;
  about_orientation(from, from->ahead);
  about_shape(from);
}

/* Opens the input. reads_up: true: the input cannot seek, so it is read from its beginning up to options->start.
 * Returns 0. After a failure *result is NULL, and the function returns PLACE_LOST (the caller must open the input again
 * with reads_up), SOURCE_NOT_YET, or -1 with err. */
static int open_once(struct ffmpeg_source **result, const char *spec, const struct source_options *options,
                     bool reads_up, struct error *err) {
  struct ffmpeg_source *from = calloc(1, sizeof *from);
  *result = NULL;
  if (!from || !(from->spec = strdup(spec))) {
    free(from);
    return error_set(err, STATUS_FAILED, "no memory to open %s", spec);
  }
  from->source.impl = &source_ffmpeg;
  from->source.stop = options->stop;
  from->source.cancel = options->cancel;
  from->options = *options;
  from->reads_up = reads_up;
  int code = prepare(from, err);
  if (code)
    ffmpeg_close(&from->source);
  else
    *result = from;
  return code;
}

static int ffmpeg_open(struct source **source, const char *spec, const struct source_options *options,
                       struct error *err) {
  struct ffmpeg_source *from;
  int code = open_once(&from, spec, options, false, err);
  if (code == PLACE_LOST)
    code = open_once(&from, spec, options, true, err);
  if (code)
    return code;
  begin_sound(from, false);
  look_at_first(from);
  const AVFrame *first = from->looked_ahead && from->ahead_got > 0 ? from->ahead : NULL;
  const AVCodecContext *decoder = decoder_context(from->decoder);
  /* If the decoder is libvpx, the video has alpha, because libvpx decodes no other video here. The pixel format cannot
   * tell: libvpx does not know it before the first frame. */
  bool alpha = !strncmp(decoder->codec->name, "libvpx", 6) || left_out_has_alpha(decoder->pix_fmt, first);
  from->info.alpha = from->options.keeps_alpha && alpha;
  from->untold = from->options.tell_transparency && !from->info.alpha &&
                 left_out_tell(from->stream, first, from->spec, from->options.log);
  *source = &from->source;
  return 0;
}

/* Checks a sequence for missing pictures. For a live source, a mask or a control source they are no error, because the
 * picture before is used instead. */
static int check_pictures(const struct ffmpeg_source *from, int64_t end, bool ended, struct error *err) {
  struct error missing;
  bool is_error = !from->options.live && !from->options.secondary;
  if (!from->pictures || from->options.loop ||
      !pictures_check(from->pictures, from->origin, end, ended, is_error ? err : &missing))
    return 0;
  if (is_error)
    return -1;
  log_line(from->options.log, LOG_WARNING, "%s", missing.message);
  return 0;
}

/* Checks that all pictures of a sequence, up to the last one that was given out, existed and were decoded. Returns 0,
 * or -1 with err. */
static int ffmpeg_check(const struct source *source, struct error *err) {
  const struct ffmpeg_source *from = (const struct ffmpeg_source *)source;
  return from->pictures ? check_pictures(from, from->number_time + 1, false, err) : 0;
}

/* Called when the input has ended. Returns 0, or -1 with err if the input should have given more frames. */
static int check_end(const struct ffmpeg_source *from, struct error *err) {
  char reason[128];
  if (from->read_error)
    return error_set(err, STATUS_INPUT, "%s: cannot be read on after %llu frames: %s", from->spec,
                     (unsigned long long)from->serial, ffmpeg_reason(from->read_error, reason));
  if (from->gave_up)
    return error_set(err, STATUS_INPUT, "%s: given up after %llu frames: all that follows is damaged", from->spec,
                     (unsigned long long)from->serial);
  if (from->pictures)
    return check_pictures(from, pictures_end_of_part(from->origin, from->options.duration, from->stream->time_base),
                          !from->ended_early, err);
  if (from->options.live || from->options.loop || from->ended_early)
    return 0;
  return completeness_check(&from->completeness, from->spec, err);
}

static void tell_missing(const struct ffmpeg_source *from) {
  long missing = completeness_missing(&from->completeness);
  if (missing && !from->pictures && !from->options.live && !from->options.loop && !from->ended_early)
    log_line(from->options.log, LOG_WARNING, "%s: %ld of its %ld frames could not be decoded and %s missing",
             from->spec, missing, from->completeness.sent, missing == 1 ? "is" : "are");
}

static int finish(struct ffmpeg_source *from, struct error *err) {
  if (source_interrupted(&from->source))
    return 0;
  if (!from->serial && !from->read_error && from->animated_webp)
    return error_set(err, STATUS_INPUT,
                     "%s: animated WebP is not decoded by FFmpeg here; make a GIF, APNG or video of it first",
                     from->spec);
  if (!from->serial && !from->read_error)
    return error_set(err, STATUS_INPUT, "%s: not one picture could be decoded%s", from->spec,
                     from->options.start > 0 ? " after --start" : "");
  if (check_end(from, err))
    return -1;
  long damaged = atomic_load(&from->damaged);
  if (damaged && !from->pictures)
    log_line(from->options.log, LOG_WARNING, "%s: damaged in %ld place%s, patched up or skipped", from->spec, damaged,
             damaged == 1 ? "" : "s");
  tell_missing(from);
  return 0;
}

static int next_frame(struct ffmpeg_source *from, struct error *err) {
  if (!from->looked_ahead)
    return decode_next(from, from->frame, err);
  from->looked_ahead = false;
  av_frame_unref(from->frame);
  if (from->ahead_got > 0)
    av_frame_move_ref(from->frame, from->ahead);
  else if (from->ahead_got < 0)
    *err = from->ahead_err;
  return from->ahead_got;
}

/* Returns a time for from->frame, in the stream's time base, that is greater than the time of the frame before. If the
 * frame's timestamp may be wrong, the next frame's time is needed to decide that. So the next frame is decoded in
 * advance, unless the source is live or loops. */
static int64_t settle_time(struct ffmpeg_source *from) {
  int64_t time = about_time(from, from->frame);
  bool wait = !from->options.live && !from->options.loop && frame_clock_doubts(&from->clock, time);
  return frame_clock_settle(&from->clock, time, wait ? next_time(from) : FRAME_TIME_NONE);
}

/* True if a frame of a looping input is before options.start and must be dropped: each pass begins at a key frame
 * before options.start. The test does not use the frame's final time, which rises from one pass to the next. */
static bool is_before_start(const struct ffmpeg_source *from) {
  int64_t time = about_time(from, from->frame);
  return from->loop_shift && from->options.start > 0 && time != FRAME_TIME_NONE && time < from->loop_shift;
}

/* True if a frame is earlier than the requested start, because reading began at a key frame before that start. seconds:
 * the frame's time. */
static bool is_too_early(const struct ffmpeg_source *from, double seconds) {
  double first = from->loop_shift ? 0 : from->options.resume;
  return from->options.start + first > 0 && seconds < first;
}

/* True if a stream's frame need not be shown, because a packet of a newer frame has arrived already. */
static bool is_outdated(const struct ffmpeg_source *from) {
  return from->arrivals && from->given_ns && platform_now_ns() - from->given_ns < starved_ns &&
         arrivals_has_more(from->arrivals);
}

/* Decodes frames until one lies in the part that the options ask for. Returns 1 with from->frame filled, 0 at the end,
 * or -1 with err. */
static int find_frame(struct ffmpeg_source *from, int64_t *pts, struct error *err) {
  int64_t end = llrint(from->options.duration / av_q2d(from->stream->time_base));
  int got;
  while ((got = next_frame(from, err)) > 0) {
    if (is_before_start(from))
      continue;
    *pts = settle_time(from);
    double seconds = (double)(*pts - from->loop_shift) * av_q2d(from->stream->time_base);
    if (from->options.duration > 0 && *pts - from->loop_shift >= end) {
      if (ffmpeg_loop_cut_off(from) || ffmpeg_loop_again(from))
        continue;
      from->ended_early = true;
      decode_feed_rest(from, from->options.duration);
      return 0;
    }
    if (!is_too_early(from, seconds) && !is_outdated(from))
      break;
    /* A frame without a timestamp gets its time from the frame before, so the time of this frame, which is left out, is
     * stored for the next one. */
    if (about_time(from, from->frame) == FRAME_TIME_NONE)
      from->clock.last = *pts;
  }
  return got;
}

/* Makes the demuxer give the packets of all streams, because the header's duration may be that of the sound. Called
 * after the first frame, because seeking in some containers works only if other streams are discarded. */
static void read_all_streams(struct ffmpeg_source *from) {
  if (from->options.live || from->options.loop || !completeness_wants_all(&from->completeness))
    return;
  for (unsigned i = 0; i < from->input->nb_streams; i++)
    from->input->streams[i]->discard = AVDISCARD_DEFAULT;
}

static void tell_transparency(struct ffmpeg_source *from) {
  if (!from->untold || !left_out_is_transparent(from->frame))
    return;
  left_out_tell_transparency(from->spec, from->options.log);
  from->untold = false;
}

/* Converts from->frame. Returns 1 with the picture in frame; 0 if it is left out; or -1 with err. If a live source's
 * hardware surface is unusable, later pictures are decoded by software; if the GPU itself has failed, the engine will
 * report that. */
static int take_picture(struct ffmpeg_source *from, struct frame *frame, struct error *err) {
  int64_t captured_ns = decode_arrival(from, from->frame);
  about_orientation(from, from->frame);
  tell_transparency(from);
  double aspect = about_aspect(from, from->frame);
  bool surface = surfaces_is_one(from->frame);
  int64_t time = from->frame->pts;
  if (convert_frame(&from->convert, from->frame, frame, err)) {
    bool goes_on = surface && from->options.live && decoder_leave_hardware(from->decoder, err->message) >= 0;
    return goes_on ? 0 : error_prefix(err, "%s: ", from->spec);
  }
  frame->captured_ns = captured_ns;
  frame->sample_aspect = (float)(frame->sample_aspect > 0 ? aspect * (double)frame->sample_aspect : aspect);
  from->number_time = time;
  frame->numbered = from->pictures && pictures_number(from->pictures, time, &frame->number);
  return 1;
}

/* Returns for how long the frame is shown, in the stream's time base: as long as the input states, but not beyond the
 * end of the requested part. A single field counts as a whole frame. */
static int64_t settle_duration(const struct ffmpeg_source *from, int64_t pts) {
  int64_t duration = ffmpeg_duration_of(from->frame);
  if (duration > 0 && duration < from->clock.step && from->frame->interlaced_frame)
    duration = from->clock.step;
  int64_t end = llrint(from->options.duration / av_q2d(from->stream->time_base)) + from->loop_shift;
  bool cut = from->options.duration > 0 && duration > 0 && pts + duration > end;
  return cut ? end - pts : duration;
}

static int ffmpeg_read(struct source *source, struct frame *frame, struct error *err) {
  struct ffmpeg_source *from = (struct ffmpeg_source *)source;
  int64_t pts = 0, duration = 0;
  int got, taken = 0;
  if (source_interrupted(&from->source))
    return 0;
  if (from->serial == 1) /* the first frame is shown by now, so this source's sound takes over */
    begin_sound(from, true);
  do {
    av_frame_unref(from->frame);
    got = find_frame(from, &pts, err);
    duration = got > 0 ? settle_duration(from, pts) : 0;
    if (got > 0)
      taken = take_picture(from, frame, err);
  } while (got > 0 && !taken);
  if (got < 0 || taken < 0)
    return -1;
  if (!got)
    return finish(from, err);
  from->given_ns = platform_now_ns();
  from->clock.last = pts;
  frame->pts = pts;
  frame->duration = duration;
  frame->serial = from->serial++;
  frame->stretch = from->returns;
  if (frame->serial == 0) {
    read_all_streams(from);
    side_feed_begin(from->options.feed, av_rescale_q(from->origin, from->stream->time_base, AV_TIME_BASE_Q));
  }
  return 1;
}

/* Copies the info that was known at opening, and updates two of its fields: hardware and damaged. No others are read
 * from the decoder, because another thread may be using it. */
static void ffmpeg_info(const struct source *source, struct source_info *info) {
  const struct ffmpeg_source *from = (const struct ffmpeg_source *)source;
  *info = from->info;
  info->hardware = decoder_hardware(from->decoder);
  info->damaged = atomic_load(&from->damaged);
}

const struct source_impl source_ffmpeg = {.name = "ffmpeg",
                                          .accepts = accepts,
                                          .open = ffmpeg_open,
                                          .read = ffmpeg_read,
                                          .check = ffmpeg_check,
                                          .info = ffmpeg_info,
                                          .close = ffmpeg_close};
