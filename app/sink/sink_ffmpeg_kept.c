/* When a render is resumed, copies pictures from unfinished files to the output, before the first new picture. Only
 * pictures in complete segments (pictures that can be decoded without the others) are copied. */
#include "app/sink/sink_ffmpeg_impl.h"

#include <string.h>

#include <libavutil/pixdesc.h>

#include "app/sink/kept.h"

/* Returns the output's reordering delay: the most pictures between decoding and showing. It is the largest one in the
 * `count` files of `kept` or, if larger, the one that the encoder may need (DEEPEST for H.264 and HEVC). */
static int delay_of(const struct ffmpeg_sink *to, struct kept *const kept[], int count) {
  enum { DEEPEST = 2 };
  const AVCodecContext *encoder = to->encoder.context;
  bool deep = encoder->codec_id == AV_CODEC_ID_H264 || encoder->codec_id == AV_CODEC_ID_HEVC;
  int delay = encoder->has_b_frames;
  if (deep && encoder->max_b_frames != 0 && delay < DEEPEST)
    delay = DEEPEST;
  if (!deep && encoder->max_b_frames > 0 && !delay)
    delay = 1;
  for (int i = 0; i < count; i++)
    if (kept_delay(kept[i]) > delay)
      delay = kept_delay(kept[i]);
  return delay;
}

/* Copies the packets of one unfinished file to the output, after those of the files before it. Returns 0, or -1 with
 * err. */
static int take_part(struct ffmpeg_sink *to, struct kept *kept, const struct job_record *record,
                     const struct sink_options *options, struct error *err) {
  struct recorder *recorder = &to->recorder;
  int64_t base = recorder->sent, count = kept_pictures(kept);
  int got, code = 0;
  while (code >= 0 && (got = kept_read(kept, to->packet, err))) {
    if (to->stop && atomic_load(to->stop)) {
      av_packet_unref(to->packet);
      return error_set(err, STATUS_INTERRUPTED, "interrupted: %s is not complete", to->target.name);
    }
    while (got > 0 && recorder->sent <= base + kept_segment_end(kept))
      got = recorder_resend(recorder, &record->pictures[recorder->sent - base], err) ? -1 : got;
    if (got < 0)
      return -1;
    code = ffmpeg_sink_take(to, to->packet);
    av_packet_unref(to->packet);
    if (options->copied)
      options->copied(options->opaque, (long)recorder->sent);
  }
  if (code < 0)
    return ffmpeg_sink_failed(to, code, err);
  if (!base && count)
    to->first_pts = record->pictures[0].time;
  if (count)
    to->last_pts = record->pictures[count - 1].time;
  to->sent += (long)count;
  to->kept = recorder->sent;
  kept_rest(kept);
  return 0;
}

/* True if a picture of format `is` cannot come from an encoder whose pixel format is set to `told`: their chroma has
 * different sizes, or only one has more than 8 bits. Alpha and RGB formats are not compared, because decoders report
 * some of them as other ones. */
static bool pixels_differ(enum AVPixelFormat told, enum AVPixelFormat is) {
  const AVPixFmtDescriptor *one = av_pix_fmt_desc_get(told), *other = av_pix_fmt_desc_get(is);
  if (!one || !other || (one->flags | other->flags) & AV_PIX_FMT_FLAG_RGB || one->nb_components < 3 ||
      other->nb_components < 3)
    return false;
  return one->log2_chroma_w != other->log2_chroma_w || one->log2_chroma_h != other->log2_chroma_h ||
         (one->comp[0].depth > 8) != (other->comp[0].depth > 8);
}

/* Fails if the file's pictures do not have the size and the pixel format that its manifest states. The manifest has the
 * pixel format at the end of the encoder's description. */
static int check_pictures(const struct kept *kept, const struct sink_kept *part, struct error *err) {
  const AVCodecParameters *is = kept_stream(kept)->codecpar;
  const struct job *job = &part->record->job;
  const char *comma = job->encoder ? strrchr(job->encoder, ',') : NULL,
             *told = comma ? comma + strspn(comma, ", ") : "";
  if (job->width && job->height && (is->width != job->width || is->height != job->height))
    return error_set(err, STATUS_INPUT, "%s: has %dx%d pixels, and %dx%d by its manifest; render it again", part->path,
                     is->width, is->height, job->width, job->height);
  if (pixels_differ(av_get_pix_fmt(told), is->format))
    return error_set(err, STATUS_INPUT, "%s: has pixels of %s, and of %s by its manifest; render it again", part->path,
                     av_get_pix_fmt_name(is->format), told);
  return 0;
}

/* Opens an unfinished file, whose manifest lists complete pictures, and finds how many of these pictures can be read
 * from the file. all: true: it is an error if one of them cannot be read; false: they may be fewer. Returns 0, or -1
 * with err. */
static int open_part(struct kept **kept, const struct sink_kept *part, bool all, struct error *err) {
  long long told = (long long)job_record_kept(part->record);
  if (kept_open(kept, part->path, part->record, err))
    return -1;
  long long found = (long long)kept_pictures(*kept);
  if (check_pictures(*kept, part, err))
    return -1;
  kept_rest(*kept);
  return !all || found == told
             ? 0
             : error_set(err, STATUS_INPUT, "%s: %lld of its %lld frames can be read; render it again", part->path,
                         found, told);
}

int ffmpeg_sink_take_parts(struct ffmpeg_sink *to, const struct sink_options *options, struct error *err) {
  struct kept **kept = av_calloc((size_t)options->kept_count, sizeof(struct kept *));
  int opened = 0, status = kept ? 0 : error_set(err, STATUS_FAILED, "no memory to write %s", to->target.name);
  for (; !status && opened < options->kept_count; opened++)
    status = open_part(&kept[opened], &options->kept[opened], options->joins, err);
  if (!status) {
    to->recorder.delay = delay_of(to, kept, opened);
    to->recorder.step = to->step;
  }
  for (int i = 0; !status && i < opened; i++)
    status = take_part(to, kept[i], options->kept[i].record, options, err);
  for (int i = 0; i < opened; i++)
    kept_close(&kept[i]);
  av_free(kept);
  return status;
}
