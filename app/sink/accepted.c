#include "app/sink/accepted.h"

#include <stdio.h>
#include <string.h>

#include "app/sink/encoder.h"
#include "app/sink/encoder_wishes.h"

static const AVRational rates[] = {{24000, 1001}, {24, 1}, {25, 1},       {30000, 1001},
                                   {30, 1},       {50, 1}, {60000, 1001}, {60, 1}};
static const struct shape {
  int width, height;
} shapes[] = {{160, 120}, {176, 144}, {352, 288},  {640, 480},   {720, 480},
              {720, 576}, {960, 720}, {1280, 720}, {1440, 1080}, {1920, 1080}};
enum { RATES = sizeof rates / sizeof *rates, SHAPES = sizeof shapes / sizeof *shapes };

/* True if the target's container accepts the stream of this encoder, tested by writing a header into memory. No trailer
 * is written, because without packets that leaks or crashes in some muxers. */
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

/* True if the container's header can be written with the codec's first pixel format, but not with the requested one. */
static bool refuses_pixels(const struct target *target, const AVCodec *codec, enum AVPixelFormat format) {
  enum AVPixelFormat usual = codec->pix_fmts ? *codec->pix_fmts : AV_PIX_FMT_YUV420P;
  if (target->stream || target->container->flags & AVFMT_NOFILE)
    return false;
  return takes_pixels(target, codec, usual) && !takes_pixels(target, codec, format);
}

int accepted_check_wishes(const struct target *target, const char *codec, const char *pixel_format,
                          const char *encoder_options, struct error *err) {
  const AVCodec *found = encoder_first(target->container, target->url, codec);
  enum AVPixelFormat format;
  if (!pixel_format && !encoder_options)
    return 0;
  if (codec && encoder_check_in(codec, target->container, target->name, err))
    return -1;
  if (!found)
    return 0; /* a missing encoder is no error here, because encoder_open reports it */
  if (encoder_options && encoder_wishes_check(found, encoder_options, err))
    return -1;
  if (!pixel_format)
    return 0;
  if (encoder_wishes_pixels(found, pixel_format, &format, err))
    return -1;
  if (refuses_pixels(target, found, format))
    return error_set(err, STATUS_USAGE, "--pixel-format %s: %s does not take it", pixel_format,
                     target->container->name);
  return 0;
}

/* Appends ", " and the text to a list, without the comma at its beginning. */
static void append(char *list, size_t size, const char *text) {
  size_t used = strlen(list);
  snprintf(list + used, size - used, "%s%s", used ? ", " : "", text);
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

/* Lists the usual sizes for which the container accepts some usual rates, each with these rates. Returns true if there
 * are any. */
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
    error_set(err, STATUS_OUTPUT, "%s: %s does not take the sound beside these pictures; try --no-sound or .mkv", name,
              container);
  else if (list_rates(list, sizeof list, target, options, shape))
    error_set(err, STATUS_OUTPUT, "%s: %s does not take %.5g frames a second at %dx%d, but %s; %s", name, container,
              options->fps, shape.width, shape.height, list, remedy);
  else if (list_shapes(list, sizeof list, target, options))
    error_set(err, STATUS_OUTPUT, "%s: %s does not take %dx%d at %.5g frames a second; %s may be %s", name, container,
              shape.width, shape.height, options->fps, options->stretched ? "--output-size" : "--size", list);
  else if (list_pairs(list, sizeof list, target, options))
    error_set(err, STATUS_OUTPUT, "%s: %s takes neither %dx%d nor %.5g frames a second, but %s; %s", name, container,
              shape.width, shape.height, options->fps, list, remedy);
  else
    return false;
  return true;
}
