#include "app/source/left_out.h"

#include <libavutil/bprint.h>
#include <libavutil/pixdesc.h>

#include "app/source/ffmpeg_util.h"

/* In the order of telling. */
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

/* Some containers keep a timecode as a tag of the video. */
static bool has_timecode_tag(const AVFormatContext *input, const AVStream *video) {
  return av_dict_get(video->metadata, "timecode", NULL, 0) && !av_dict_get(input->metadata, "timecode", NULL, 0);
}

static bool has_transparency(const AVStream *video) {
  const AVPixFmtDescriptor *pixels = av_pix_fmt_desc_get((enum AVPixelFormat)video->codecpar->format);
  return pixels && pixels->flags & AV_PIX_FMT_FLAG_ALPHA;
}

void left_out_tell(const AVFormatContext *input, const AVStream *video, const char *spec,
                   const struct source_options *options) {
  int counts[THINGS] = {[CHAPTERS] = (int)input->nb_chapters, [TRANSPARENCY] = has_transparency(video)};
  AVBPrint list;
  bool read_twice = ffmpeg_can_reopen(spec, options), sound_is_copied = options->no_sound || read_twice;
  if (!options->tell_left_out)
    return;
  for (unsigned i = 0; i < input->nb_streams; i++)
    if (input->streams[i] != video)
      count_stream(counts, input->streams[i], sound_is_copied);
  if (!counts[TIMECODES] && has_timecode_tag(input, video))
    counts[TIMECODES] = 1;
  if (options->keeps_timecode && read_twice)
    counts[TIMECODES] = 0;
  av_bprint_init(&list, 0, AV_BPRINT_SIZE_AUTOMATIC);
  for (int i = 0; i < THINGS; i++)
    if (counts[i] == 1)
      av_bprintf(&list, "%s%s", list.len ? ", " : "", words[i].one);
    else if (counts[i])
      av_bprintf(&list, "%s%d %s", list.len ? ", " : "", counts[i], words[i].many);
  if (list.len)
    log_line(options->log, LOG_WARNING, "%s: left out: %s", spec, list.str);
}

void left_out_tell_video(const AVStream *video, const char *spec, const struct log *log) {
  const AVCodecParameters *parameters = video->codecpar;
  if (parameters->color_trc == AVCOL_TRC_SMPTE2084 || parameters->color_trc == AVCOL_TRC_ARIB_STD_B67)
    log_line(log, LOG_WARNING, "%s: HDR video is taken without tone mapping: its colours come out pale", spec);
  if (parameters->field_order > AV_FIELD_PROGRESSIVE)
    log_line(log, LOG_WARNING, "%s: interlaced video is taken as whole pictures: what moves has combs", spec);
}
