#include "app/sink/encoder_wishes.h"

#include <stdio.h>
#include <string.h>

#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>

#include "app/sink/encoder_values.h"

/* Encoder options that users may not set, because they could contradict the colours of the pixels that the encoder gets
 * from the program. */
static const char *const of_pixels[] = {"color_primaries", "color_trc", "colorspace", "color_range",
                                        "chroma_sample_location"};
static const char *const of_quality[] = {"b", "crf", "qp", "cq", "rc", "q", "global_quality", "lossless"};

static bool is_usable(const AVPixFmtDescriptor *format) {
  return format && !(format->flags & AV_PIX_FMT_FLAG_HWACCEL);
}

/* Lists the pixel formats that an encoder takes, as far as `list` has room. */
static void list_formats(const AVCodec *codec, char *list, size_t size) {
  *list = 0;
  for (const enum AVPixelFormat *format = codec->pix_fmts; *format != AV_PIX_FMT_NONE; format++) {
    const AVPixFmtDescriptor *known = av_pix_fmt_desc_get(*format);
    size_t used = strlen(list);
    if (is_usable(known) && used + strlen(known->name) + 3 < size)
      snprintf(list + used, size - used, "%s%s", used ? ", " : "", known->name);
  }
}

int encoder_wishes_pixels(const AVCodec *codec, const char *name, enum AVPixelFormat *format, struct error *err) {
  char list[300];
  *format = av_get_pix_fmt(name);
  if (!is_usable(av_pix_fmt_desc_get(*format)))
    return error_set(err, STATUS_USAGE, "--pixel-format %.40s: FFmpeg here has no such pixels; %s is one", name,
                     "yuv420p10le");
  if (!codec->pix_fmts)
    return 0;
  for (const enum AVPixelFormat *taken = codec->pix_fmts; *taken != AV_PIX_FMT_NONE; taken++)
    if (*taken == *format)
      return 0;
  list_formats(codec, list, sizeof list);
  return error_set(err, STATUS_USAGE, "--pixel-format %.40s: the encoder %s does not take it, but %s", name,
                   codec->name, list);
}

int encoder_wishes_parse(const char *text, AVDictionary **wishes, struct error *err) {
  if (!text || av_dict_parse_string(wishes, text, "=", ":", 0) >= 0)
    return 0;
  return error_set(err, STATUS_USAGE,
                   "--encoder-options: KEY=VALUE:KEY=VALUE is needed, with \\ before a ':' in a value");
}

static bool is_in(const char *key, const char *const *list, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!strcmp(key, list[i]))
      return true;
  return false;
}

/* Sets the option of this name in the encoder's own options or, if it has none of this name, in the options that all
 * encoders have. Returns 0, or -1 with err. */
static int set_one(AVCodecContext *context, const AVDictionaryEntry *wish, struct error *err) {
  const char *encoder = context->codec->name;
  const AVOption *own = context->codec->priv_class ? av_opt_find(context->priv_data, wish->key, NULL, 0, 0) : NULL;
  const AVOption *option = own ? own : av_opt_find(context, wish->key, NULL, 0, 0);
  void *object = own ? context->priv_data : context;
  char list[300];
  if (!option || !(option->flags & AV_OPT_FLAG_ENCODING_PARAM))
    return error_set(err, STATUS_USAGE, "--encoder-options: the encoder %s has no option %.60s", encoder, wish->key);
  if (encoder_values_known(encoder, wish->key, wish->value) && encoder_values_within(encoder, option, wish->value) &&
      av_opt_set(object, wish->key, wish->value, 0) >= 0)
    return 0;
  encoder_values_list(list, sizeof list, encoder, object, option);
  return error_set(err, STATUS_USAGE, "--encoder-options: the encoder %s does not take %.60s=%.100s%s%s", encoder,
                   wish->key, wish->value, *list ? ", but " : "", list);
}

int encoder_wishes_set(AVCodecContext *context, const AVDictionary *wishes, struct error *err) {
  const AVDictionaryEntry *wish = NULL;
  while ((wish = av_dict_get(wishes, "", wish, AV_DICT_IGNORE_SUFFIX))) {
    if (is_in(wish->key, of_pixels, sizeof of_pixels / sizeof *of_pixels))
      return error_set(err, STATUS_USAGE, "--encoder-options: %.60s: the colours are marked as the pixels are",
                       wish->key);
    if (set_one(context, wish, err))
      return -1;
  }
  return 0;
}

int encoder_wishes_check(const AVCodec *codec, const char *text, struct error *err) {
  AVDictionary *wishes = NULL;
  AVCodecContext *context = avcodec_alloc_context3(codec);
  int status = context ? 0 : error_set(err, STATUS_FAILED, "no memory for the encoder %s", codec->name);
  if (!status && (encoder_wishes_parse(text, &wishes, err) || encoder_wishes_set(context, wishes, err)))
    status = -1;
  av_dict_free(&wishes);
  avcodec_free_context(&context);
  return status;
}

bool encoder_wishes_say_quality(const AVDictionary *wishes) {
  for (size_t i = 0; i < sizeof of_quality / sizeof *of_quality; i++)
    if (av_dict_get(wishes, of_quality[i], NULL, 0))
      return true;
  return false;
}
