#include "app/source/left_out.h"

#include <string.h>

#include <libavutil/dovi_meta.h>
#include <libavutil/pixdesc.h>

#include "app/source/tone_map.h"

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

/* True if the video has transparency. VP8 and VP9 store alpha separately, where FFmpeg's own decoders do not read it.
 * For a palette format a picture (`first`) is needed, because the palette may have transparent colours. */
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

bool left_out_has_alpha(enum AVPixelFormat format, const AVFrame *first) {
  const AVPixFmtDescriptor *pixels = av_pix_fmt_desc_get(format);
  if (format == AV_PIX_FMT_PAL8)
    return first && left_out_is_transparent(first);
  return pixels && pixels->flags & AV_PIX_FMT_FLAG_ALPHA;
}

bool left_out_tell(const AVStream *video, const AVFrame *first, const char *spec, const struct log *log) {
  bool transparent = has_transparency(video, first);
  if (transparent)
    left_out_tell_transparency(spec, log);
  return !transparent;
}

void left_out_tell_transparency(const char *spec, const struct log *log) {
  log_line(log, LOG_WARNING, "%s: left out: transparency", spec);
}

int left_out_own_colours(const AVStream *video) {
  size_t size = 0;
  const AVDOVIDecoderConfigurationRecord *dolby =
      (const void *)av_stream_get_side_data(video, AV_PKT_DATA_DOVI_CONF, &size);
  if (!dolby || size < sizeof *dolby)
    return 0;
  bool own = dolby->dv_profile == 5 || (dolby->dv_profile == 10 && !dolby->dv_bl_signal_compatibility_id);
  return own ? dolby->dv_profile : 0;
}

void left_out_tell_video(const AVStream *video, const char *spec, bool mapped, const char *why, const struct log *log) {
  const AVCodecParameters *parameters = video->codecpar;
  int profile = left_out_own_colours(video);
  if (profile)
    log_line(log, LOG_WARNING,
             "%s: Dolby Vision profile %d has colours of its own, which are not converted: they come out green and "
             "violet; take a version in HDR10, HLG or SDR",
             spec, profile);
  else if (mapped)
    log_line(log, LOG_WARNING, "%s: HDR video is mapped to SDR; --tone-map no takes it as it is", spec);
  else if (tone_map_is_hdr(parameters->color_trc))
    log_line(log, LOG_WARNING, "%s: HDR video is taken without tone mapping: its colours come out pale%s%s%s", spec,
             *why ? " (" : "", why, *why ? ")" : "");
}
