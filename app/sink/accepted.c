#include "app/sink/accepted.h"

#include <stdio.h>
#include <string.h>

#include <libavutil/avstring.h>

#include "app/sink/encoder.h"
#include "app/sink/encoder_values.h"
#include "app/sink/encoder_wishes.h"
#include "unet/base/text.h"

static const AVRational rates[] = {{24000, 1001}, {24, 1}, {25, 1},       {30000, 1001},
                                   {30, 1},       {50, 1}, {60000, 1001}, {60, 1}};
static const struct shape {
  int width, height;
} shapes[] = {{160, 120}, {176, 144}, {352, 288},  {640, 480},   {720, 480},
              {720, 576}, {960, 720}, {1280, 720}, {1440, 1080}, {1920, 1080}};
enum { RATES = sizeof rates / sizeof *rates, SHAPES = sizeof shapes / sizeof *shapes };

/* True if the target's container accepts the stream of this encoder, tested by writing a header into memory. No trailer
 * is written, because some muxers leak or crash if they write a trailer without packets. */
static bool takes_stream(const struct target *target, const AVCodecContext *encoder) {
  AVFormatContext *trial = NULL;
  uint8_t *header = NULL;
  if (avformat_alloc_output_context2(&trial, target->container, NULL, target->url) < 0)
    return false;
  AVStream *stream = avformat_new_stream(trial, NULL);
  bool taken = stream && avcodec_parameters_from_context(stream->codecpar, encoder) >= 0;
  if (taken) {
    stream->time_base = encoder->time_base;
    stream->avg_frame_rate = encoder->framerate;
    taken = avio_open_dyn_buf(&trial->pb) >= 0 && avformat_write_header(trial, NULL) >= 0;
  }
  if (trial->pb)
    avio_close_dyn_buf(trial->pb, &header);
  av_free(header);
  avformat_free_context(trial);
  return taken;
}

static bool takes(const struct target *target, const struct sink_options *options, double fps, int width, int height) {
  struct sink_options other = *options;
  struct encoder encoder = {0};
  struct error ignored;
  other.log = NULL;
  other.fps = fps;
  other.width = width;
  other.height = height;
  bool taken = !encoder_open(&encoder, target->container, target->name, false, &other, &ignored) &&
               takes_stream(target, encoder.context);
  encoder_free(&encoder);
  return taken;
}

/* True if the container's header can be written for this codec and pixel format, at a size and frame rate that nearly
 * all codecs have. The codec is not opened. */
static bool takes_pixels(const struct target *target, const AVCodec *codec, enum AVPixelFormat format) {
  AVCodecContext *context = avcodec_alloc_context3(codec);
  if (!context)
    return false;
  context->width = 1920;
  context->height = 1080;
  context->pix_fmt = format;
  context->framerate = (AVRational){25, 1};
  context->time_base = (AVRational){1, 25};
  bool taken = takes_stream(target, context);
  avcodec_free_context(&context);
  return taken;
}

static enum AVPixelFormat usual_pixels(const AVCodec *codec) {
  return codec->pix_fmts ? *codec->pix_fmts : AV_PIX_FMT_YUV420P;
}

/* True if the container's header can be written with the codec's first pixel format, but not with the requested one. */
static bool refuses_pixels(const struct target *target, const AVCodec *codec, enum AVPixelFormat format) {
  enum AVPixelFormat usual = usual_pixels(codec);
  if (target->stream || target->container->flags & AVFMT_NOFILE)
    return false;
  return takes_pixels(target, codec, usual) && !takes_pixels(target, codec, format);
}

/* Appends ", " and the text to a list, without the comma at its beginning. */
static void append(char *list, size_t size, const char *text) {
  size_t used = strlen(list);
  snprintf(list + used, size - used, "%s%s", used ? ", " : "", text);
}

/* Codecs by the names that --codec takes, in the order in which messages list them. */
static const char *const codecs[] = {"h264",       "hevc",       "av1",     "vp9",     "vp8",      "mpeg4",
                                     "mpeg2video", "mpeg1video", "prores",  "dnxhd",   "ffv1",     "mjpeg",
                                     "png",        "gif",        "apng",    "webp",    "theora",   "flv1",
                                     "wmv2",       "qtrle",      "huffyuv", "utvideo", "rawvideo", "dvvideo"};

/* True if the container holds only pictures, in one codec, without times. FFmpeg writes any codec into such a
 * container, but readers expect the container's own. */
static bool has_one_codec(const AVOutputFormat *container) {
  return container->flags & AVFMT_NOTIMESTAMPS && container->audio_codec == AV_CODEC_ID_NONE &&
         !av_match_name(container->name, "yuv4mpegpipe,null,hash,md5,framemd5,framehash,filmstrip,ico");
}

/* True if readers find the codec in a transport stream. FFmpeg writes other codecs as data that no reader
 * understands. */
static bool is_for_mpegts(enum AVCodecID id) {
  return id == AV_CODEC_ID_H264 || id == AV_CODEC_ID_HEVC || id == AV_CODEC_ID_MPEG1VIDEO ||
         id == AV_CODEC_ID_MPEG2VIDEO || id == AV_CODEC_ID_MPEG4 || id == AV_CODEC_ID_CAVS || id == AV_CODEC_ID_DIRAC ||
         id == AV_CODEC_ID_VC1;
}

/* False if it is known that the target's container does not take this encoder's codec; otherwise true. */
static bool takes_codec(const struct target *target, const AVCodec *codec) {
  const AVOutputFormat *container = target->container;
  enum AVCodecID own = av_guess_codec(container, NULL, target->url, NULL, AVMEDIA_TYPE_VIDEO);
  const AVCodec *usual = own == AV_CODEC_ID_NONE ? NULL : avcodec_find_encoder(own);
  int answer = avformat_query_codec(container, codec->id, FF_COMPLIANCE_EXPERIMENTAL);
  if (own != AV_CODEC_ID_NONE && has_one_codec(container))
    return codec->id == own;
  if (answer >= 0)
    return answer > 0 || codec->id == own;
  if (av_match_name(container->name, "mpegts,rtp_mpegts"))
    return is_for_mpegts(codec->id);
  if (own == AV_CODEC_ID_NONE || codec->id == own)
    return true;
  if (!usual || target->stream || container->flags & AVFMT_NOFILE)
    return true;
  return takes_pixels(target, codec, usual_pixels(codec)) || !takes_pixels(target, usual, usual_pixels(usual));
}

/* Checks that the container takes the codec of the encoder `name`. The error lists the codecs that it takes. Returns 0,
 * or -1 with err. */
static int check_codec(const struct target *target, const char *name, const AVCodec *codec, struct error *err) {
  char list[200] = "";
  if (takes_codec(target, codec))
    return 0;
  for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
    const AVCodecDescriptor *kind = avcodec_descriptor_get_by_name(codecs[i]);
    const AVCodec *other = kind ? avcodec_find_encoder(kind->id) : NULL;
    if (other && takes_codec(target, other))
      append(list, sizeof list, codecs[i]);
  }
  bool pictures = !strcmp(target->container->name, "image2");
  return error_set(err, STATUS_USAGE, "--codec %.40s: %.60s does not take %s%s%s", name,
                   pictures ? text_last_part(target->url) : target->container->name, avcodec_get_name(codec->id),
                   *list ? ", but " : "", list);
}

/* --- trying encoder options --- */

/* True if the encoder can be opened with these options (NULL: none) and this pixel format (NULL: its usual one), at a
 * size and frame rate that nearly all encoders have. */
static bool opens(const struct target *target, const AVCodec *codec, const char *pixel_format,
                  const char *encoder_options) {
  const struct sink_options options = {
      .format = encoder_pixels(target->container, target->url, codec->name, pixel_format),
      .time_base_num = 1,
      .time_base_den = 25,
      .fps = 25,
      .width = 1920,
      .height = 1080,
      .codec = codec->name,
      .quality = -1,
      .pixel_format = pixel_format,
      .encoder_options = encoder_options,
  };
  struct encoder encoder = {0};
  struct error ignored;
  bool opened = !encoder_open(&encoder, target->container, target->name, false, &options, &ignored);
  encoder_free(&encoder);
  return opened;
}

/* Called if the encoder cannot be opened with all options in `wishes`. Looks for an option without which the encoder
 * can be opened, and names this option in err. Returns -1 with err if there is such an option, otherwise 0. */
static int blame(const struct target *target, const AVCodec *codec, const char *pixel_format,
                 const AVDictionary *wishes, struct error *err) {
  const AVDictionaryEntry *wish = NULL;
  bool found = false;
  while (!found && (wish = av_dict_get(wishes, "", wish, AV_DICT_IGNORE_SUFFIX))) {
    AVDictionary *others = NULL;
    char *text = NULL;
    av_dict_copy(&others, wishes, 0);
    av_dict_set(&others, wish->key, NULL, 0);
    bool made = av_dict_get_string(others, &text, '=', ':') >= 0;
    found = made && opens(target, codec, pixel_format, text && *text ? text : NULL);
    if (found)
      error_set(err, STATUS_USAGE,
                "--encoder-options: the encoder %s does not take %.60s=%.100s%s%.40s; it opens without it", codec->name,
                wish->key, wish->value, pixel_format ? " with pixels of " : "", pixel_format ? pixel_format : "");
    av_dict_free(&others);
    av_free(text);
  }
  return found ? -1 : 0;
}

/* Checks the options in x264-params. FFmpeg only warns of wrong ones, but fails for wrong ones in x264opts, which takes
 * the same options. So each is tried there. wishes: all options for the encoder, which can be opened with them. Returns
 * 0, or -1 with err. */
static int check_x264_params(const struct target *target, const AVCodec *codec, const char *pixel_format,
                             const AVDictionary *wishes, struct error *err) {
  const AVDictionaryEntry *params = av_dict_get(wishes, "x264-params", NULL, 0), *param = NULL;
  AVDictionary *single = NULL;
  bool wrong = false;
  if (!params || av_dict_parse_string(&single, params->value, "=", ":", 0) < 0)
    single = NULL;
  while (!wrong && (param = av_dict_get(single, "", param, AV_DICT_IGNORE_SUFFIX))) {
    char text[256];
    bool fits = snprintf(text, sizeof text, "x264opts=%s=%s", param->key, param->value) < (int)sizeof text;
    wrong = fits && !strpbrk(param->value, ":\\'") && !opens(target, codec, pixel_format, text);
    if (wrong)
      error_set(err, STATUS_USAGE, "--encoder-options: the encoder %s does not take %.60s=%.100s of x264-params",
                codec->name, param->key, param->value);
  }
  av_dict_free(&single);
  return wrong ? -1 : 0;
}

/* Checks that the encoder can be opened with these options, as far as that does not depend on the size. Encoders of
 * hardware are not tried. Returns 0, or -1 with err, which names the option. */
static int check_options(const struct target *target, const AVCodec *codec, const char *pixel_format,
                         const char *encoder_options, struct error *err) {
  AVDictionary *wishes = NULL;
  if (encoder_wishes_check(codec, encoder_options, err))
    return -1;
  if (codec->capabilities & (AV_CODEC_CAP_HARDWARE | AV_CODEC_CAP_HYBRID))
    return 0;
  int status = encoder_wishes_parse(encoder_options, &wishes, err) ||
                       encoder_values_check_profile(codec->name, wishes, pixel_format, err)
                   ? -1
                   : 0;
  if (!status)
    status = opens(target, codec, pixel_format, encoder_options)
                 ? check_x264_params(target, codec, pixel_format, wishes, err)
                 : blame(target, codec, pixel_format, wishes, err);
  av_dict_free(&wishes);
  return status;
}

int accepted_check_wishes(const struct target *target, const struct accepted_wishes *wishes, struct error *err) {
  const char *codec = wishes->codec, *pixel_format = wishes->pixel_format, *encoder_options = wishes->encoder_options;
  const AVCodec *found = encoder_first(target->container, target->url, codec);
  enum AVPixelFormat format;
  if (codec && (encoder_check(codec, err) || check_codec(target, codec, found, err)))
    return -1;
  if (!found)
    return 0; /* a missing encoder is no error here, because encoder_open reports it */
  if (encoder_values_check_quality(found, wishes->quality, err))
    return -1;
  if (pixel_format && encoder_wishes_pixels(found, pixel_format, &format, err))
    return -1;
  if (encoder_options && check_options(target, found, pixel_format, encoder_options, err))
    return -1;
  if (pixel_format && refuses_pixels(target, found, format))
    return error_set(err, STATUS_USAGE, "--pixel-format %s: %s does not take it", pixel_format,
                     target->container->name);
  return 0;
}

static bool list_rates(char *list, size_t size, const struct target *target, const struct sink_options *options,
                       struct shape shape) {
  *list = 0;
  for (int i = 0; i < RATES; i++) {
    char text[32];
    snprintf(text, sizeof text, "%.5g", av_q2d(rates[i]));
    if (takes(target, options, av_q2d(rates[i]), shape.width, shape.height))
      append(list, size, text);
  }
  return *list;
}

static bool list_shapes(char *list, size_t size, const struct target *target, const struct sink_options *options) {
  *list = 0;
  for (int i = 0; i < SHAPES; i++) {
    char text[32];
    snprintf(text, sizeof text, "%dx%d", shapes[i].width, shapes[i].height);
    if (takes(target, options, options->fps, shapes[i].width, shapes[i].height))
      append(list, size, text);
  }
  return *list;
}

/* Lists the usual picture sizes with which the container accepts some of the usual frame rates, and these rates beside
 * each size. Returns true if the list is not empty. */
static bool list_pairs(char *list, size_t size, const struct target *target, const struct sink_options *options) {
  *list = 0;
  for (int i = 0; i < SHAPES; i++) {
    char found[128], text[192];
    if (!list_rates(found, sizeof found, target, options, shapes[i]))
      continue;
    snprintf(text, sizeof text, "%dx%d at %s", shapes[i].width, shapes[i].height, found);
    append(list, size, text);
  }
  return *list;
}

bool accepted_say(const struct target *target, const struct sink_options *options, struct error *err) {
  const struct shape shape = {options->width, options->height};
  const char *name = target->name, *remedy = options->codec ? "try another --codec" : "try .mkv or .mp4";
  char list[400], container[96];
  snprintf(container, sizeof container, "%s%s%s", target->container->name, options->codec ? " with --codec " : "",
           options->codec ? options->codec : "");
  if (target->stream || target->container->flags & AVFMT_NOFILE || options->fps <= 0 || options->encoder_options)
    return false;
  /* the container accepts the pictures without sound, so it has refused the sound */
  if (takes(target, options, options->fps, shape.width, shape.height))
    error_set(err, STATUS_USAGE, "%s: %s does not take the sound beside these pictures; try --no-sound or .mkv", name,
              container);
  else if (list_rates(list, sizeof list, target, options, shape))
    error_set(err, STATUS_USAGE, "%s: %s does not take %.5g frames a second at %dx%d, but %s; %s", name, container,
              options->fps, shape.width, shape.height, list, remedy);
  else if (list_shapes(list, sizeof list, target, options))
    error_set(err, STATUS_USAGE, "%s: %s does not take %dx%d at %.5g frames a second; %s may be %s", name, container,
              shape.width, shape.height, options->fps, options->stretched ? "--output-size" : "--size", list);
  else if (list_pairs(list, sizeof list, target, options))
    error_set(err, STATUS_USAGE, "%s: %s takes neither %dx%d nor %.5g frames a second, but %s; %s", name, container,
              shape.width, shape.height, options->fps, list, remedy);
  else
    return false;
  return true;
}
