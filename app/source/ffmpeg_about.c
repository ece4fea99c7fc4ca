#include "app/source/ffmpeg_source.h"

#include <libavutil/avstring.h>
#include <libavutil/display.h>
#include <libavutil/parseutils.h>
#include <math.h>
#include <string.h>

#include "unet/base/address.h"

/* A pixel aspect ratio above this number, or below 1 divided by this number, counts as an error of the file. */
static const double sample_aspect_most = 16;

static double frame_rate(const struct ffmpeg_source *from) {
  AVRational rate = av_guess_frame_rate(from->input, from->stream, NULL);
  double fps = rate.num > 0 && rate.den > 0 ? av_q2d(rate) : 0;
  if (fps <= 0 && from->stream->time_base.num > 0)
    fps = 1 / av_q2d(from->stream->time_base);
  return fps <= 1000 ? fps : 0;
}

void about_orientation(struct ffmpeg_source *from, const AVFrame *frame) {
  static const int32_t upright[9] = {1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30};
  const AVFrameSideData *own = frame ? av_frame_get_side_data(frame, AV_FRAME_DATA_DISPLAYMATRIX) : NULL;
  const void *matrix = own ? own->data : av_stream_get_side_data(from->stream, AV_PKT_DATA_DISPLAYMATRIX, NULL);
  if (!matrix)
    matrix = upright;
  if (!memcmp(matrix, from->matrix, sizeof from->matrix))
    return;
  memcpy(from->matrix, matrix, sizeof from->matrix);
  if (convert_orient(&from->convert, from->matrix))
    return;
  convert_orient(&from->convert, upright);
  log_line(from->options.log, LOG_WARNING,
           "%s: it asks to be shown turned by %.0f degrees; only quarter turns are done, so it stays as stored",
           from->spec, -av_display_rotation_get(from->matrix));
}

static void settle_clock(struct ffmpeg_source *from) {
  AVRational base = from->stream->time_base;
  double fps = frame_rate(from);
  int64_t step = fps > 0 ? llrint(1 / (fps * av_q2d(base))) : 1;
  from->clock = (struct frame_clock){.last = FRAME_TIME_NONE,
                                     .begin = from->reads_up ? -llrint(from->options.start / av_q2d(base)) : 0,
                                     .step = step < 1 ? 1 : step,
                                     .second = av_rescale_q(1, (AVRational){1, 1}, base)};
  from->origin = av_rescale_q(ffmpeg_origin(from->input, from->options.start), AV_TIME_BASE_Q, base);
}

double about_aspect(const struct ffmpeg_source *from, AVFrame *frame) {
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

void about_shape(struct ffmpeg_source *from) {
  struct source_info *info = &from->info;
  const AVCodecContext *decoder = decoder_context(from->decoder);
  bool swap = convert_swaps_sides(&from->convert);
  const struct shown name = address_name(from->spec);
  info->width = swap ? decoder->height : decoder->width;
  info->height = swap ? decoder->width : decoder->height;
  info->shape = info->height > 0 ? info->width * about_aspect(from, NULL) / info->height : 0;
  snprintf(info->name, sizeof info->name, "%.90s: %.30s", name.text, decoder->codec->name);
  source_describe(info);
}

/* Returns the time at which the pictures end according to the container, in the stream's time base; 0: unknown. MP4 and
 * MOV store a duration for each track, Matroska has a tag for each track. */
static int64_t told_end(const struct ffmpeg_source *from) {
  const AVStream *stream = from->stream;
  const AVDictionaryEntry *tag = av_dict_get(stream->metadata, "DURATION", NULL, AV_DICT_IGNORE_SUFFIX);
  int64_t us;
  if (av_match_name("mp4", from->input->iformat->name) && stream->nb_frames > 0 && stream->duration > 0)
    return stream->duration + (stream->start_time == AV_NOPTS_VALUE ? 0 : stream->start_time);
  if (!tag || !av_match_name("matroska", from->input->iformat->name) || av_parse_time(&us, tag->value, 1) < 0)
    return 0;
  return us <= from->input->duration ? av_rescale_q(us, AV_TIME_BASE_Q, stream->time_base) : 0;
}

static int64_t find_end(const struct ffmpeg_source *from) {
  int64_t told = told_end(from), end = told - from->origin;
  int64_t part = llrint(from->options.duration / av_q2d(from->stream->time_base));
  if (!told)
    return 0;
  return part && part < end ? part : end;
}

/* Returns the number of pictures in the index that are shown; others are hidden by an edit list. */
static long count_shown(const AVStream *stream) {
  /* the cast is for FFmpeg's functions, which take no const pointer but change nothing */
  AVStream *asked = (AVStream *)(uintptr_t)stream;
  int entries = avformat_index_get_entries_count(asked);
  long shown = 0;
  for (int i = 0; i < entries; i++)
    shown += !(avformat_index_get_entry(asked, i)->flags & AVINDEX_DISCARD_FRAME);
  return shown;
}

/* Returns the number of frames that the file's header states; 0: unknown. */
static long told_frames(const struct ffmpeg_source *from) {
  bool indexed = from->stream->nb_frames > 0 && av_match_name("mp4", from->input->iformat->name);
  long shown = indexed ? count_shown(from->stream) : 0;
  return shown ? shown : (long)from->stream->nb_frames;
}

static void settle_info(struct ffmpeg_source *from) {
  struct source_info *info = &from->info;
  info->fps = frame_rate(from);
  info->time_base_num = from->stream->time_base.num;
  info->time_base_den = from->stream->time_base.den;
  info->realtime = from->realtime;
  info->returns = from->realtime && !from->pipe;
  info->length = from->realtime ? 0 : length_in_seconds(from);
  info->passes = from->pipe && !(from->input->iformat->flags & (AVFMT_TS_DISCONT | AVFMT_NOTIMESTAMPS));
  info->duration = from->realtime || from->options.loop ? 0 : info->length;
  info->end = from->options.loop ? 0 : find_end(from);
  bool whole = from->options.start <= 0 && from->options.duration <= 0;
  info->frames = from->options.loop               ? 0
                 : whole && told_frames(from) > 0 ? told_frames(from)
                                                  : lrint(info->duration * info->fps);
  if (from->pictures && from->options.step > 1)
    info->frames = (info->frames + from->options.step - 1) / from->options.step;
}

void about_settle(struct ffmpeg_source *from) {
  joins_begin(&from->joins, from->input, from->stream);
  from->joins.watches &= !from->realtime;
  settle_clock(from);
  settle_info(from);
  about_shape(from);
}

/* Returns a frame's time. Outside live mode the frame's own time is preferred to FFmpeg's best guess, because after a
 * single wrong time FFmpeg distrusts all later ones. */
int64_t about_time(const struct ffmpeg_source *from, const AVFrame *frame) {
  int64_t pts = frame->pts == AV_NOPTS_VALUE || from->options.live ? frame->best_effort_timestamp : frame->pts;
  return pts == AV_NOPTS_VALUE ? FRAME_TIME_NONE : pts + from->loop_shift - from->origin;
}
