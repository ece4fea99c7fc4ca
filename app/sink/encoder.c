#include "app/sink/encoder_impl.h"

#include <math.h>
#include <string.h>

#include <libavutil/avstring.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>

#include "app/source/ffmpeg_util.h"
#include "app/sink/encoder_wishes.h"
#include "app/sink/palette.h"

/* Seconds between key frames. With two, players seek quickly, and a process that is killed loses little. */
static const double keyframe_seconds = 2;
static const double default_crf = 18, default_qscale = 3;
/* A frame rate that the codec allows counts as equal to the frames' rate if it differs by less than this fraction,
 * because the frame rate of a file is only an average. */
static const double rate_tolerance = 5e-3;
/* Some containers allow only one frame rate (fixed_rate). It is used if it is nearer to the frames' rate than this many
 * frames per second. About one picture in half an hour is then left out or repeated. */
static const double fixed_tolerance = 5e-4;
/* If the container stores no times, frames are shown at one of the frame rates that the codec allows. Rates above the
 * frames' own rate multiplied by this factor are not used. */
static const double rate_slack = 1.1;
/* Lowest frame rate that is used for MPEG-1. FFmpeg lists lower ones, which the standard does not have, and then
 * refuses them. */
static const double mpeg1_slowest = 23;

/* Encoders on whose quality scale a greater number is better. best: the scale's best value; usual: the value that is
 * used without --quality. */
static const struct rising_scale {
  const char *codec;
  double best, usual;
} rising_scales[] = {{"libwebp", 100, 90}, {"libwebp_anim", 100, 90}, {"libjxl", 100, 90}, {"libtheora", 10, 8}};
enum { RISING_SCALES = sizeof rising_scales / sizeof *rising_scales };
/* The largest value of --quality, which is the worst quality. */
static const double quality_worst = 63;
static const double h264_quantizer_worst = 51;

/* True for codecs of still pictures that get RGB: readers interpret YUV in such files differently, or the codec's own
 * library converts RGB best. */
static bool is_rgb_picture(enum AVCodecID codec) {
  return codec == AV_CODEC_ID_WEBP || codec == AV_CODEC_ID_JPEG2000 || codec == AV_CODEC_ID_TIFF;
}

static bool has_alpha(enum AVPixelFormat format) {
  const AVPixFmtDescriptor *known = av_pix_fmt_desc_get(format);
  return known && known->flags & AV_PIX_FMT_FLAG_ALPHA && !(known->flags & AV_PIX_FMT_FLAG_PAL);
}

/* Returns the pixel format that the user has requested or, without a request (NULL), the only one that the container
 * takes; NULL: it takes several. */
static const char *format_asked(const AVOutputFormat *container, const char *wish) {
  return wish || strcmp(container->name, "filmstrip") != 0 ? wish : "rgba";
}

/* Returns the pixel format of the encoder to which frames of format `from` are converted. wish: the pixel format that
 * the user has requested, which accepted_check_wishes has checked; NULL: none. alpha: true: the frames have alpha. */
static enum AVPixelFormat choose_format(const AVCodec *codec, enum pixel_format from, const char *wish, bool alpha) {
  bool rgb = from == PIXEL_RGBA || is_rgb_picture(codec->id);
  const enum AVPixelFormat ours = rgb                  ? AV_PIX_FMT_RGB24
                                  : from == PIXEL_P010 ? AV_PIX_FMT_YUV420P10
                                                       : AV_PIX_FMT_YUV420P;
  if (wish)
    return av_get_pix_fmt(wish);
  if (codec->id == AV_CODEC_ID_GIF)
    return AV_PIX_FMT_PAL8;
  if (!codec->pix_fmts)
    return AV_PIX_FMT_YUV420P;
  if (alpha)
    return avcodec_find_best_pix_fmt_of_list(codec->pix_fmts, AV_PIX_FMT_RGBA, 1, NULL);
  for (const enum AVPixelFormat *format = codec->pix_fmts; *format != AV_PIX_FMT_NONE; format++)
    if (*format == ours)
      return ours;
  return avcodec_find_best_pix_fmt_of_list(codec->pix_fmts, ours, 0, NULL);
}

static bool is_jpeg(const AVCodecContext *context) {
  return context->codec_id == AV_CODEC_ID_MJPEG || context->codec_id == AV_CODEC_ID_LJPEG ||
         !strncmp(av_get_pix_fmt_name(context->pix_fmt), "yuvj", 4);
}

/* True if the stream can be tagged as BT.709: the codec or container stores the tag, or the picture is so large that
 * players assume BT.709 without a tag (BT.601 for small pictures). VP8 is always BT.601, whatever its container
 * states. */
static bool can_be_bt709(const AVCodecContext *context, const AVOutputFormat *container) {
  static const enum AVCodecID tell[] = {AV_CODEC_ID_H264, AV_CODEC_ID_HEVC,       AV_CODEC_ID_VP9,
                                        AV_CODEC_ID_AV1,  AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_PRORES};
  if (context->codec_id == AV_CODEC_ID_VP8)
    return false;
  for (size_t i = 0; i < sizeof tell / sizeof *tell; i++)
    if (tell[i] == context->codec_id)
      return true;
  return av_match_name(container->name, "matroska,webm,mp4,mov,ipod,ismv") || context->width >= 1280 ||
         context->height >= 720;
}

/* Returns the transfer curve with which the stream is tagged: linear for EXR, sRGB for RGB picture files, BT.709 for
 * all others. All readers take picture files for sRGB, and a PNG with another tag would state a gamma of 1.96. */
static enum AVColorTransferCharacteristic find_curve(const AVCodecContext *context, const AVOutputFormat *container) {
  if (context->codec_id == AV_CODEC_ID_EXR)
    return AVCOL_TRC_LINEAR;
  bool picture = av_match_name(container->name, "image2,image2pipe,apng,webp");
  return picture && encoder_is_rgb(context->pix_fmt) ? AVCOL_TRC_IEC61966_2_1 : AVCOL_TRC_BT709;
}

/* Tags the stream with the colours of the pixels that the encoder gets: RGB and JPEG in full range; other YUV in
 * limited range, with each chroma sample in the middle of its pixels. */
static void tag_colors(AVCodecContext *context, const AVOutputFormat *container) {
  if (encoder_is_rgb(context->pix_fmt)) {
    context->color_range = AVCOL_RANGE_JPEG;
    context->colorspace = AVCOL_SPC_RGB;
  } else if (is_jpeg(context)) {
    context->color_range = AVCOL_RANGE_JPEG;
    context->colorspace = AVCOL_SPC_BT470BG;
  } else {
    context->color_range = AVCOL_RANGE_MPEG;
    context->colorspace = can_be_bt709(context, container) ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M;
    if (av_pix_fmt_desc_get(context->pix_fmt)->log2_chroma_w)
      context->chroma_sample_location = AVCHROMA_LOC_CENTER;
  }
  context->color_primaries = AVCOL_PRI_BT709;
  context->color_trc = find_curve(context, container);
}

/* Converts the value of --quality (0: the best, 63: the worst; negative: not given) to the codec's own scale. */
static double scale_of_codec(const AVCodec *codec, double quality) {
  for (int i = 0; i < RISING_SCALES; i++)
    if (!strcmp(codec->name, rising_scales[i].codec))
      return quality < 0 ? rising_scales[i].usual : rising_scales[i].best * (1 - quality / quality_worst);
  return quality < 0 ? default_qscale : quality;
}

/* Adds an encoder option of the program's choice, unless the user has set the same option. */
static void prefer(AVDictionary **wishes, const AVDictionary *of_user, const char *key, const char *value) {
  if (!av_dict_get(of_user, key, NULL, 0))
    av_dict_set(wishes, key, value, 0);
}

/* Sets the encoder's quality to that of --quality, or to a default if that is not given (negative). Does nothing if it
 * is not given and the user's encoder options set a quality or bit rate. */
static void set_quality(AVCodecContext *context, AVDictionary **wishes, const AVDictionary *of_user, double quality) {
  char value[32];
  const AVClass *class = context->codec->priv_class;
  bool has_crf = class && av_opt_find(&class, "crf", NULL, 0, AV_OPT_SEARCH_FAKE_OBJ);
  if (quality < 0 && encoder_wishes_say_quality(of_user))
    return;
  if (has_crf) {
    snprintf(value, sizeof value, "%g", quality >= 0 ? quality : default_crf);
    prefer(wishes, of_user, "crf", value);
  } else if (!strcmp(context->codec->name, "libopenh264")) {
    /* OpenH264 has no scale of quality. It keeps the quantizer between two bounds, which get the same value. */
    context->qmin = context->qmax = (int)fmin(lrint(quality >= 0 ? quality : default_crf), h264_quantizer_worst);
  } else {
    context->flags |= AV_CODEC_FLAG_QSCALE;
    context->global_quality = (int)lrint(scale_of_codec(context->codec, quality) * FF_QP2LAMBDA);
  }
  if (!strncmp(context->codec->name, "libvpx", 6))
    context->bit_rate = 0;
}

/* Sets encoder options for fast encoding, and for x265 one that keeps it from writing to the terminal. */
static void set_pace(const AVCodecContext *context, AVDictionary **wishes, const AVDictionary *of_user) {
  if (encoder_is_x26x(context->codec))
    prefer(wishes, of_user, "preset", "veryfast");
  if (!strcmp(context->codec->name, "libx265")) {
    char value[1024];
    const AVDictionaryEntry *asked = av_dict_get(of_user, "x265-params", NULL, 0);
    snprintf(value, sizeof value, "%s%slog-level=none", asked ? asked->value : "", asked ? ":" : "");
    av_dict_set(wishes, "x265-params", value, 0);
  }
  if (!strncmp(context->codec->name, "libvpx", 6)) {
    prefer(wishes, of_user, "deadline", "realtime");
    prefer(wishes, of_user, "cpu-used", "5");
    if (has_alpha(context->pix_fmt)) /* libvpx cannot encode alpha with alternate reference frames */
      prefer(wishes, of_user, "auto-alt-ref", "0");
  }
}

/* Returns the frames' rate; 25 if it is unknown. FFmpeg may read a rate slightly wrong: Matroska stores a picture's
 * duration in nanoseconds, so 60000/1001 becomes 19001/317. So a rate within 1e-5 (relative) of a whole number N, or of
 * N * 1000/1001, is rounded to that. */
static AVRational rate_of(const struct sink_options *options) {
  static const double hair = 1e-5;
  double fps = options->fps > 0 ? options->fps : 25, whole = round(fps), film = round(fps * 1.001);
  if (whole > 0 && fabs(fps - whole) < hair * fps)
    return (AVRational){(int)whole, 1};
  if (film > 0 && fabs(fps * 1.001 - film) < hair * fps)
    return (AVRational){(int)film * 1000, 1001};
  return av_d2q(fps, 100000);
}

static bool is_near(AVRational rate, AVRational other) {
  return fabs(av_q2d(rate) - av_q2d(other)) < rate_tolerance * av_q2d(rate);
}

/* True if the container stores a time for each picture. MPEG's program streams do so for some pictures only, and
 * elementary streams for none. */
static bool keeps_times(const AVOutputFormat *container) {
  return !(container->flags & AVFMT_NOTIMESTAMPS) && !av_match_name(container->name, "mpeg,vcd,svcd,dvd,vob");
}

/* Returns the only frame rate that GXF and DV allow for this picture height, a rate of television. num is 0 if the
 * container can have any rate. */
static AVRational fixed_rate(const AVOutputFormat *container, int height) {
  if (!av_match_name(container->name, "gxf,dv"))
    return (AVRational){0, 1};
  if (height == 480 || height == 512)
    return (AVRational){30000, 1001};
  return height == 576 || height == 608 ? (AVRational){25, 1} : (AVRational){0, 1};
}

/* Returns the frame rate for the codec: among its allowed rates, the nearest that counts as equal to the frames' rate,
 * otherwise the lowest above it. At a lower rate the output would play slower than the input. num is 0 if there is no
 * such rate. */
static AVRational known_rate(const AVCodec *codec, const AVOutputFormat *container,
                             const struct sink_options *options) {
  AVRational wanted = rate_of(options), nearest = {0, 1}, above = {0, 1};
  double limit = keeps_times(container) ? INFINITY : rate_slack * av_q2d(wanted);
  AVRational fixed = fixed_rate(container, options->height);
  if (fixed.num)
    return fabs(av_q2d(wanted) - av_q2d(fixed)) < fixed_tolerance ? fixed : nearest;
  if (!codec->supported_framerates)
    return wanted;
  for (const AVRational *rate = codec->supported_framerates; rate->num; rate++) {
    if (codec->id == AV_CODEC_ID_MPEG1VIDEO && av_q2d(*rate) < mpeg1_slowest)
      continue;
    if (is_near(wanted, *rate) && (!nearest.num || av_nearer_q(wanted, *rate, nearest) > 0))
      nearest = *rate;
    if (av_cmp_q(*rate, wanted) > 0 && av_q2d(*rate) < limit && (!above.num || av_cmp_q(*rate, above) < 0))
      above = *rate;
  }
  return nearest.num ? nearest : above;
}

/* True if the container stores a time for each frame in a time base of the program's choice. FFmpeg's flags tell that
 * only for some containers; the others are listed here. */
static bool keeps_any_clock(const AVOutputFormat *container) {
  static const char unsaid[] = "mp4,mov,ipod,psp,3gp,3g2,f4v,ismv,smoothstreaming,dash,hls,asf,asf_stream,ivf,rtp,"
                               "rtp_mpegts,rtsp,wtv";
  return container->flags & AVFMT_VARIABLE_FPS || av_match_name(container->name, unsaid);
}

/* Containers that round each time to milliseconds, so that the time base of exact_clock would be useless. */
static const char in_milliseconds[] = "matroska,webm,flv";
/* The time base that exact_clock returns has at least this many ticks per second. So frames whose times are no
 * multiples of the frame duration get accurate times. */
static const int fine_enough = 10000;

/* True if a frame at this usual rate (N or N * 1000/1001 a second) does not last a whole number of the input's ticks.
 * The input's times are then rounded: with ticks of a millisecond, a frame of 1001/24000 s lasts 42 ms. */
static bool is_rounded(AVRational rate, AVRational base) {
  bool usual = rate.den == 1001 || rate.den == 1;
  return usual && (int64_t)rate.den * base.den % ((int64_t)rate.num * base.num) != 0;
}

/* Returns a time base in which each frame of this rate lasts a whole number of ticks, and which has at least
 * fine_enough ticks a second if possible. finest: most ticks a second that the codec can store. den is 0 if there is no
 * such time base. */
static AVRational exact_clock(AVRational rate, int finest) {
  int den = rate.num;
  while (den < fine_enough && den <= finest / 10)
    den *= 10;
  return den <= finest ? (AVRational){1, den} : (AVRational){1, 0};
}

/* Returns the time base for a container that stores times. Usually it is the input's, but not finer than a microsecond.
 * If the input's times are rounded (is_rounded), and the container does not itself round to milliseconds, it is that of
 * exact_clock, if there is one. MPEG-4 has a 16-bit clock, so at most 60000 ticks a second; GIF counts hundredths of a
 * second. */
static AVRational own_clock(const AVCodec *codec, const AVOutputFormat *container, const struct sink_options *options) {
  AVRational base = {options->time_base_num, options->time_base_den}, rate = rate_of(options);
  if (codec->id == AV_CODEC_ID_GIF)
    return (AVRational){1, 100};
  int finest = codec->id == AV_CODEC_ID_MPEG4 ? 60000 : 1000000;
  bool rounded = options->fps > 0 && is_rounded(rate, base) && !av_match_name(container->name, in_milliseconds);
  AVRational exact = rounded ? exact_clock(rate, finest) : (AVRational){1, 0};
  if (exact.den)
    return exact;
  return base.den <= finest ? base : (AVRational){1, finest};
}

static void set_clock(AVCodecContext *context, const AVOutputFormat *container, const struct sink_options *options,
                      bool own) {
  AVRational rate = known_rate(context->codec, container, options);
  context->framerate = rate;
  context->time_base = own ? own_clock(context->codec, container, options) : av_inv_q(rate);
  context->gop_size = (int)lrint(fmin(fmax(keyframe_seconds * av_q2d(rate), 12), 250));
}

/* Sets encoder options with which encoders that would hold frames back give out each packet at once. */
static void set_low_delay(const AVCodecContext *context, AVDictionary **wishes, const AVDictionary *of_user) {
  if (encoder_is_x26x(context->codec))
    prefer(wishes, of_user, "tune", "zerolatency");
  if (!strncmp(context->codec->name, "libvpx", 6) || !strncmp(context->codec->name, "libaom", 6))
    prefer(wishes, of_user, "lag-in-frames", "0");
}

/* Fills the context of an encoder that is not open yet, and the options for opening it. The program's choices are set
 * first, then the user's, which override them, and last what the container needs. Returns 0 or an FFmpeg error code. */
static int describe_encoder(AVCodecContext *context, const AVOutputFormat *container,
                            const struct sink_options *options, bool low_delay, AVDictionary **wishes) {
  AVDictionary *of_user = NULL;
  if (encoder_wishes_parse(options->encoder_options, &of_user, NULL))
    return AVERROR(EINVAL);
  set_quality(context, wishes, of_user, options->quality);
  set_pace(context, wishes, of_user);
  if (low_delay)
    set_low_delay(context, wishes, of_user);
  int failed = encoder_wishes_set(context, of_user, NULL);
  av_dict_free(&of_user);
  if (container->flags & AVFMT_GLOBALHEADER)
    context->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  /* AVI and ASF store no presentation times. Their readers use decoding times instead, which come earlier with B
   * frames. */
  if (av_match_name(container->name, "avi,asf,asf_stream"))
    context->max_b_frames = 0;
  return failed ? AVERROR(EINVAL) : 0;
}

static int try_clock(struct encoder *encoder, const AVCodec *codec, const AVOutputFormat *container,
                     const struct sink_options *options, bool own_clock) {
  AVDictionary *wishes = NULL;
  AVCodecContext *context = encoder->context = avcodec_alloc_context3(codec);
  if (!context)
    return AVERROR(ENOMEM);
  context->width = options->width;
  context->height = options->height;
  context->sample_aspect_ratio = (AVRational){1, 1};
  context->pix_fmt =
      choose_format(codec, options->format, format_asked(container, options->pixel_format), options->alpha != NULL);
  tag_colors(context, container);
  set_clock(context, container, options, own_clock);
  int code = describe_encoder(context, container, options, encoder->low_delay, &wishes);
  if (code >= 0)
    code = avcodec_open2(context, codec, &wishes);
  av_dict_free(&wishes);
  if (code < 0)
    avcodec_free_context(&encoder->context);
  return code;
}

/* Opens the encoder `codec` with the time base of own_clock or, if the encoder refuses that time base, with the frame
 * rate of known_rate, because some codecs have only television's frame rates. Returns 0 or an FFmpeg error code. */
static int try_codec(struct encoder *encoder, const AVCodec *codec, const AVOutputFormat *container,
                     const struct sink_options *options) {
  bool own_clock = keeps_any_clock(container) && !codec->supported_framerates;
  if (!known_rate(codec, container, options).num)
    return AVERROR(EINVAL);
  int code = try_clock(encoder, codec, container, options, own_clock);
  return code < 0 && own_clock ? try_clock(encoder, codec, container, options, false) : code;
}

static int rate_unknown(const char *path, const AVCodec *codec, const struct sink_options *options, struct error *err) {
  return error_set(err, STATUS_USAGE, "%s: %s cannot do %.4g frames a second; try .mkv, or another --codec", path,
                   codec->name, av_q2d(rate_of(options)));
}

static const AVCodec *find_named(const char *name) {
  const AVCodec *codec = avcodec_find_encoder_by_name(name);
  /* A codec's name such as "h264" stands for its usual encoder. */
  const AVCodecDescriptor *kind = avcodec_descriptor_get_by_name(name);
  return codec || !kind ? codec : avcodec_find_encoder(kind->id);
}

int encoder_check(const char *name, struct error *err) {
  const AVCodec *codec = find_named(name);
  if (codec && codec->type == AVMEDIA_TYPE_VIDEO)
    return 0;
  return error_set(err, STATUS_USAGE, "--codec %s: FFmpeg here has no such video encoder", name);
}

int encoder_check_in(const char *name, const AVOutputFormat *container, const char *path, struct error *err) {
  if (encoder_check(name, err))
    return -1;
  const AVCodec *codec = find_named(name);
  if (avformat_query_codec(container, codec->id, FF_COMPLIANCE_EXPERIMENTAL) == 0)
    return error_set(err, STATUS_USAGE, "%s: %s does not take %s", path, container->name, codec->name);
  return 0;
}

static bool has_wishes(const struct sink_options *options) {
  return options->pixel_format || options->encoder_options;
}

/* Fills err with the reason why an encoder cannot be opened, with a better text than FFmpeg's if the encoder's hardware
 * is missing. Returns -1. */
static int say_closed(const AVCodec *codec, const char *path, const struct sink_options *options, int code,
                      struct error *err) {
  char reason[128];
  if (codec->capabilities & AV_CODEC_CAP_HARDWARE)
    return error_set(err, STATUS_DEVICE,
                     "%s: encoder %s cannot be opened: there is no such hardware here, or no driver that gives it to "
                     "programs; --codec %s is for any that works",
                     path, codec->name, avcodec_get_name(codec->id));
  const char *remedy = has_wishes(options)              ? "; with -v FFmpeg says more"
                       : codec->id == AV_CODEC_ID_DNXHD ? "; it takes few sizes and rates, and with --encoder-options "
                                                          "profile=dnxhr_hq all from 256x120 on"
                                                        : "";
  return error_set(err, code == AVERROR(ENOMEM) ? STATUS_FAILED : STATUS_USAGE,
                   "%s: encoder %s cannot be opened at %dx%d%s: %s%s", path, codec->name, options->width,
                   options->height, has_wishes(options) ? " as --encoder-options and --pixel-format ask" : "",
                   ffmpeg_reason(code, reason), remedy);
}

static int open_named(struct encoder *encoder, const AVOutputFormat *container, const char *path,
                      const struct sink_options *options, struct error *err) {
  const AVCodec *codec = find_named(options->codec);
  if (encoder_check_in(options->codec, container, path, err))
    return -1;
  if (!known_rate(codec, container, options).num)
    return rate_unknown(path, codec, options, err);
  int code = try_codec(encoder, codec, container, options);
  return code < 0 ? say_closed(codec, path, options, code, err) : 0;
}

/* Returns the container's usual codec. MPEG-1 has only eight frame rates: if it is the usual codec and the frames have
 * another rate, returns MPEG-2 instead, which the same players read. */
static enum AVCodecID own_codec(const AVOutputFormat *container, const char *path, const struct sink_options *options) {
  enum AVCodecID own = av_guess_codec(container, NULL, path, NULL, AVMEDIA_TYPE_VIDEO);
  const AVCodec *codec = avcodec_find_encoder(own);
  bool mpeg1 = codec && own == AV_CODEC_ID_MPEG1VIDEO && !strcmp(container->name, "mpeg");
  return mpeg1 && !is_near(rate_of(options), known_rate(codec, container, options)) ? AV_CODEC_ID_MPEG2VIDEO : own;
}

/* Finds the encoder of a codec. FFmpeg's first encoder of WebP joins all frames to one animated picture, which is wrong
 * if each frame gets its own file. */
static const AVCodec *find_own(const AVOutputFormat *container, enum AVCodecID codec) {
  const AVCodec *still = codec == AV_CODEC_ID_WEBP && strcmp(container->name, "webp") != 0
                             ? avcodec_find_encoder_by_name("libwebp")
                             : NULL;
  return still ? still : avcodec_find_encoder(codec);
}

/* Returns the engine's pixel format with the least loss in a conversion to this format: P010 if the format has more
 * than 8 bits; else RGBA if it has full-resolution colour; else YUV420P. */
static enum pixel_format pixels_for(enum AVPixelFormat format) {
  const AVPixFmtDescriptor *known = av_pix_fmt_desc_get(format);
  if (!known)
    return PIXEL_YUV420P;
  if (known->comp[0].depth > 8)
    return PIXEL_P010;
  bool each = known->nb_components >= 3 && !known->log2_chroma_w && !known->log2_chroma_h;
  return encoder_is_rgb(format) || each ? PIXEL_RGBA : PIXEL_YUV420P;
}

static bool container_takes_h264(const AVOutputFormat *container) {
  /* FFmpeg's muxers for streams do not report which codecs they accept, so those that accept H.264 are listed here. */
  return avformat_query_codec(container, AV_CODEC_ID_H264, FF_COMPLIANCE_NORMAL) == 1 ||
         av_match_name(container->name, "mpegts,rtp_mpegts,rtsp,rtp");
}

static bool takes(const AVOutputFormat *container, const AVCodec *codec, bool takes_h264) {
  return (takes_h264 && codec->id == AV_CODEC_ID_H264) ||
         avformat_query_codec(container, codec->id, FF_COMPLIANCE_NORMAL) == 1;
}

enum { CANDIDATES = 5 };

/* Lists the encoders that are tried for a container, best first; an encoder that is missing or does not fit is NULL.
 * own: the container's usual codec. */
static void list_candidates(const AVCodec *list[CANDIDATES], const AVOutputFormat *container, enum AVCodecID own) {
  bool takes_h264 = container_takes_h264(container);
  /* true: only the codec of the file's extension is tried, because FFmpeg's muxer image2 would write any codec into a
   * file with any extension */
  bool picture = !strcmp(container->name, "image2");
  list[0] = takes_h264 ? avcodec_find_encoder_by_name("libx264") : NULL;
  list[1] = takes_h264 ? avcodec_find_encoder_by_name("libopenh264") : NULL;
  list[2] = own != AV_CODEC_ID_NONE ? find_own(container, own) : NULL;
  list[3] = avcodec_find_encoder(AV_CODEC_ID_MPEG4);
  list[4] = avcodec_find_encoder(AV_CODEC_ID_FFV1);
  for (int i = 0; i < CANDIDATES; i++)
    if (list[i] && list[i]->id != own && (picture || !takes(container, list[i], takes_h264)))
      list[i] = NULL;
}

const AVCodec *encoder_first(const AVOutputFormat *container, const char *path, const char *codec) {
  const AVCodec *list[CANDIDATES], *first = NULL;
  if (codec)
    return find_named(codec);
  list_candidates(list, container, av_guess_codec(container, NULL, path, NULL, AVMEDIA_TYPE_VIDEO));
  for (int i = 0; i < CANDIDATES && !first; i++)
    first = list[i];
  return first;
}

enum pixel_format encoder_pixels(const AVOutputFormat *container, const char *path, const char *codec,
                                 const char *pixel_format) {
  const AVCodec *found = NULL;
  if (codec)
    found = find_named(codec);
  else if (!container_takes_h264(container))
    found = find_own(container, av_guess_codec(container, NULL, path, NULL, AVMEDIA_TYPE_VIDEO));
  const char *asked = format_asked(container, pixel_format);
  if (asked)
    return pixels_for(av_get_pix_fmt(asked));
  bool video = found && found->type == AVMEDIA_TYPE_VIDEO;
  return video ? pixels_for(choose_format(found, PIXEL_YUV420P, NULL, false)) : PIXEL_YUV420P;
}

bool encoder_keeps_alpha(const AVOutputFormat *container, const char *path, const char *codec,
                         const char *pixel_format) {
  const AVCodec *found = encoder_first(container, path, codec);
  if (!found || found->type != AVMEDIA_TYPE_VIDEO || found->id == AV_CODEC_ID_GIF)
    return false;
  return has_alpha(choose_format(found, PIXEL_RGBA, format_asked(container, pixel_format), true));
}

static int open_chosen(struct encoder *encoder, const AVOutputFormat *container, const char *path,
                       const struct sink_options *options, struct error *err) {
  enum AVCodecID own = own_codec(container, path, options);
  const AVCodec *candidates[CANDIDATES];
  list_candidates(candidates, container, own);
  bool expects_h264 = container_takes_h264(container);
  for (int i = 0; i < CANDIDATES; i++) {
    const AVCodec *codec = candidates[i];
    int code = codec ? try_codec(encoder, codec, container, options) : 0;
    if (code < 0 && has_wishes(options) && known_rate(codec, container, options).num)
      return say_closed(codec, path, options, code, err);
    if (!codec || code < 0)
      continue;
    bool expected = expects_h264 ? i == 0 : codec->id == own; /* candidate 0 is x264, the usual encoder of H.264 */
    log_line(options->log, expected ? LOG_INFO : LOG_WARNING, "%s: encoded with %s%s", path, codec->name,
             expected ? "" : ", since the usual encoder is not there");
    return 0;
  }
  const AVCodec *usual = avcodec_find_encoder(own);
  if (usual && !known_rate(usual, container, options).num)
    return rate_unknown(path, usual, options, err);
  return error_set(err, STATUS_USAGE, "%s: FFmpeg here has no encoder for %s; try another extension, such as %s", path,
                   strcmp(container->name, "image2") ? container->name : "such pictures",
                   strcmp(container->name, "image2") ? ".mkv" : ".png");
}

int encoder_open(struct encoder *encoder, const AVOutputFormat *container, const char *path, bool low_delay,
                 const struct sink_options *options, struct error *err) {
  char reason[128];
  encoder->low_delay = low_delay;
  encoder->stretched = options->stretched;
  int failed = options->codec ? open_named(encoder, container, path, options, err)
                              : open_chosen(encoder, container, path, options, err);
  if (failed)
    return -1;
  int code = encoder_open_scaler(encoder, options->format);
  if (code < 0)
    return error_set(err, STATUS_OUTPUT, "%s: %s", path, ffmpeg_reason(code, reason));
  const AVCodecContext *to = encoder->context;
  encoder->alpha = has_alpha(to->pix_fmt) ? options->alpha : NULL;
  if (to->pix_fmt == AV_PIX_FMT_PAL8 && palette_open(&encoder->palette, to->width, to->height, to->time_base, err))
    return error_prefix(err, "%s: ", path);
  return 0;
}

void encoder_free(struct encoder *encoder) {
  avcodec_free_context(&encoder->context);
  sws_freeContext(encoder->scaler);
  palette_close(&encoder->palette);
  av_frame_free(&encoder->scaled);
  av_frame_free(&encoder->fitted);
  av_frame_free(&encoder->borrowed);
  av_frame_free(&encoder->indexed);
  av_frame_free(&encoder->blended);
  *encoder = (struct encoder){0};
}
