#include "app/source/left_out.h"

#include <string.h>

#include <libavutil/bprint.h>
#include <libavutil/dovi_meta.h>
#include <libavutil/pixdesc.h>

#include "app/source/ffmpeg_util.h"

/* Parts of an input that the output may lack, in the order in which the log line names them. */
enum thing { SUBTITLES, CHAPTERS, COVERS, ATTACHMENTS, TIMECODES, VIDEOS, DATA, SOUNDS, TRANSPARENCY, THINGS };

static const struct {
  const char *one, *many;
} words[THINGS] = {
    [SUBTITLES] = {"a subtitle track", "subtitle tracks"},
    [CHAPTERS] = {"a chapter mark", "chapter marks"},
    [COVERS] = {"a cover picture", "cover pictures"},
    [ATTACHMENTS] = {"an attachment", "attachments"},
    [TIMECODES] = {"a timecode", "timecodes"},
    [VIDEOS] = {"another video track", "other video tracks"},
    [DATA] = {"a data track", "data tracks"},
    [SOUNDS] = {"the sound, which is copied from files only", "tracks of sound, which are copied from files only"},
    [TRANSPARENCY] = {"transparency"},
};

static bool is_timecode(const AVStream *stream) {
  return stream->codecpar->codec_type == AVMEDIA_TYPE_DATA && stream->codecpar->codec_tag == MKTAG('t', 'm', 'c', 'd');
}

static void count_stream(int counts[THINGS], const AVStream *stream, bool sound_is_copied) {
  bool cover = stream->disposition & (AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_TIMED_THUMBNAILS);
  switch (stream->codecpar->codec_type) {
  case AVMEDIA_TYPE_VIDEO:
    counts[cover ? COVERS : VIDEOS]++;
    break;
  case AVMEDIA_TYPE_AUDIO:
    counts[SOUNDS] += !sound_is_copied;
    break;
  case AVMEDIA_TYPE_SUBTITLE:
    counts[SUBTITLES]++;
    break;
  case AVMEDIA_TYPE_ATTACHMENT:
    counts[ATTACHMENTS]++;
    break;
  default:
    counts[is_timecode(stream) ? TIMECODES : DATA]++;
  }
}

static bool has_timecode_tag(const AVDictionary *tags) {
  return av_dict_get(tags, "timecode", NULL, 0) != NULL;
}

/* Returns how many timecodes the output will lack. tracks: number of timecode tracks. Some containers store a timecode
 * as a tag of the video or of the file instead. */
static int count_timecodes(const AVFormatContext *input, const AVStream *video, int tracks, bool read_twice,
                           const struct source_options *options) {
  bool of_file = has_timecode_tag(input->metadata), of_video = tracks || has_timecode_tag(video->metadata);
  bool kept = (of_video && options->keeps_timecode) || (of_file && options->keeps_file_timecode);
  if ((!of_file && !of_video) || (kept && read_twice))
    return 0;
  return tracks ? tracks : 1;
}

static bool is_palette_transparent(const AVFrame *frame) {
  const uint32_t *palette = (const uint32_t *)(const void *)frame->data[1];
  for (int i = 0; i < AVPALETTE_COUNT; i++)
    if (palette[i] >> 24 != 255)
      return true;
  return false;
}

/* True if a pixel of the row is not opaque. Opaque is the greatest value, and 1 for floating-point numbers. */
static bool is_row_transparent(const uint8_t *row, const AVComponentDescriptor *alpha, int width) {
  for (int x = 0; x < width; x++, row += alpha->step)
    if (alpha->depth == 8    ? *row != 255
        : alpha->depth <= 16 ? ((*(const uint16_t *)(const void *)row >> alpha->shift) + 1) & ((1 << alpha->depth) - 1)
                             : *(const float *)(const void *)row < 1)
      return true;
  return false;
}

bool left_out_is_transparent(const AVFrame *frame) {
  const AVPixFmtDescriptor *pixels = av_pix_fmt_desc_get(frame->format);
  if (frame->format == AV_PIX_FMT_PAL8)
    return is_palette_transparent(frame);
  if (!pixels || !(pixels->flags & AV_PIX_FMT_FLAG_ALPHA))
    return false;
  if (pixels->flags & (AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_BITSTREAM))
    return true;
  const AVComponentDescriptor *alpha = &pixels->comp[pixels->nb_components - 1];
  for (int y = 0; y < frame->height; y++)
    if (is_row_transparent(frame->data[alpha->plane] + (ptrdiff_t)y * frame->linesize[alpha->plane] + alpha->offset,
                           alpha, frame->width))
      return true;
  return false;
}

/* True if the video has transparency. VP8 and VP9 store it apart from their pictures, where FFmpeg's own decoders do
 * not look. Palettes say nothing without a picture, because any of them could have transparent colours. */
static bool has_transparency(const AVStream *video, const AVFrame *first) {
  enum AVPixelFormat format = (enum AVPixelFormat)video->codecpar->format;
  const AVPixFmtDescriptor *pixels = av_pix_fmt_desc_get(format);
  const AVDictionaryEntry *mode = av_dict_get(video->metadata, "alpha_mode", NULL, 0);
  if (mode && !strcmp(mode->value, "1"))
    return true;
  if (first)
    return left_out_is_transparent(first);
  return pixels && pixels->flags & AV_PIX_FMT_FLAG_ALPHA && format != AV_PIX_FMT_PAL8;
}

static void count_tracks(int counts[THINGS], const AVFormatContext *input, const AVStream *video, const char *spec,
                         const struct source_options *options) {
  bool read_twice = ffmpeg_can_reopen(spec, options), sound_is_copied = options->no_sound || read_twice;
  counts[CHAPTERS] = (int)input->nb_chapters;
  for (unsigned i = 0; i < input->nb_streams; i++)
    if (input->streams[i] != video)
      count_stream(counts, input->streams[i], sound_is_copied);
  counts[TIMECODES] = count_timecodes(input, video, counts[TIMECODES], read_twice, options);
}

bool left_out_tell(const AVFormatContext *input, const AVStream *video, const AVFrame *first, const char *spec,
                   const struct source_options *options) {
  int counts[THINGS] = {[TRANSPARENCY] = options->tell_transparency && has_transparency(video, first)};
  AVBPrint list;
  if (options->tell_left_out)
    count_tracks(counts, input, video, spec, options);
  av_bprint_init(&list, 0, AV_BPRINT_SIZE_AUTOMATIC);
  for (int i = 0; i < THINGS; i++)
    if (counts[i] == 1)
      av_bprintf(&list, "%s%s", list.len ? ", " : "", words[i].one);
    else if (counts[i])
      av_bprintf(&list, "%s%d %s", list.len ? ", " : "", counts[i], words[i].many);
  if (list.len)
    log_line(options->log, LOG_WARNING, "%s: left out: %s", spec, list.str);
  return options->tell_transparency && !counts[TRANSPARENCY];
}

void left_out_tell_transparency(const char *spec, const struct log *log) {
  log_line(log, LOG_WARNING, "%s: left out: %s", spec, words[TRANSPARENCY].one);
}

/* Returns the video's Dolby Vision profile if its pictures are in Dolby Vision's own colours, which ordinary decoders
 * show wrong; else 0. */
static int own_colours_profile(const AVStream *video) {
  size_t size = 0;
  const AVDOVIDecoderConfigurationRecord *dolby =
      (const void *)av_stream_get_side_data(video, AV_PKT_DATA_DOVI_CONF, &size);
  if (!dolby || size < sizeof *dolby)
    return 0;
  bool own = dolby->dv_profile == 5 || (dolby->dv_profile == 10 && !dolby->dv_bl_signal_compatibility_id);
  return own ? dolby->dv_profile : 0;
}

void left_out_tell_video(const AVStream *video, const char *spec, const struct log *log) {
  const AVCodecParameters *parameters = video->codecpar;
  int profile = own_colours_profile(video);
  if (profile)
    log_line(log, LOG_WARNING,
             "%s: Dolby Vision profile %d has colours of its own, which are not converted: they come out green and "
             "violet; take a version in HDR10, HLG or SDR",
             spec, profile);
  else if (parameters->color_trc == AVCOL_TRC_SMPTE2084 || parameters->color_trc == AVCOL_TRC_ARIB_STD_B67)
    log_line(log, LOG_WARNING, "%s: HDR video is taken without tone mapping: its colours come out pale", spec);
  if (parameters->field_order > AV_FIELD_PROGRESSIVE)
    log_line(log, LOG_WARNING, "%s: interlaced video is taken as whole pictures: what moves has combs", spec);
}
