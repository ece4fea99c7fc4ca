#include "app/source/ffmpeg_source.h"

#include <libavutil/avstring.h>
#include <math.h>
#include <string.h>

#include "app/source/protocols.h"
#include "unet/base/platform.h"

/* Before a live stream is decoded, at most this many bytes and microseconds of it are analysed, unless --input-options
 * say otherwise. PROBE_BYTES_DEFAULT: FFmpeg's own limit; an option with this value counts as not set. */
enum { STREAM_PROBE_BYTES = 1 << 17, STREAM_PROBE_US = 200000, PROBE_BYTES_DEFAULT = 5000000 };

/* Longest time for connecting to a stream, as a multiple of options.read_timeout. */
static const double patience_to_connect = 5;

static double silence_allowed(const struct ffmpeg_source *from) {
  double limit = from->options.read_timeout;
  if (!from->opened && !(from->input && from->input->pb))
    limit *= patience_to_connect;
  return from->info.fps > 0 ? fmax(limit, 3 / from->info.fps) : limit;
}

/* Returns the number of bytes received from the input so far; -1: it is not connected yet. */
static int64_t bytes_heard(const struct ffmpeg_source *from) {
  return from->input && from->input->pb ? from->input->pb->bytes_read : -1;
}

/* True if the input has sent nothing for too long. While it is being opened, being connected and each byte count; after
 * that, only packets of video. */
bool input_is_silent(struct ffmpeg_source *from) {
  int64_t now_ns = platform_now_ns();
  if (!from->watched)
    return false;
  if (!from->opened && bytes_heard(from) != from->heard_bytes) {
    from->heard_bytes = bytes_heard(from);
    from->heard_ns = now_ns;
  }
  double allowed = silence_allowed(from);
  if ((double)(now_ns - from->heard_ns) > allowed * 1e9)
    from->silent_ms = (int)lrint(allowed * 1000);
  return from->silent_ms;
}

int input_say_silent(const struct ffmpeg_source *from, struct error *err) {
  return error_set(err, STATUS_INPUT, "%s: nothing came for %g s", from->spec, from->silent_ms * 1e-3);
}

static int is_interrupted(void *opaque) {
  struct ffmpeg_source *from = opaque;
  return source_interrupted(&from->source) || input_is_silent(from);
}

static bool is_live_url(const char *url) {
  static const char *const schemes[] = {"rtsp:", "rtp:", "udp:", "srt:", "rtmp:", "tcp:", "sdp:"};
  for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
    if (!strncmp(url, schemes[i], strlen(schemes[i])))
      return true;
  return false;
}

/* True for a stream or a pipe whose packets arrivals.h reads as they arrive. That is done in live mode only, because
 * arrivals.h may drop packets, which must not happen when a video is rendered. */
bool input_is_stream(const struct ffmpeg_source *from) {
  return from->options.live && (from->pipe || ffmpeg_is_stream(from->input, from->spec));
}

bool input_paces_itself(const struct ffmpeg_source *from) {
  const AVInputFormat *format = from->input->iformat;
  if (!strcmp(format->name, "lavfi"))
    return strstr(from->spec, "realtime") != NULL;
  return ffmpeg_is_device(format) || is_live_url(from->spec) || input_is_stream(from);
}

/* True if the input's pictures are uncompressed and in a device driver's buffers. The driver has only few, and frees
 * them when the device is closed. (A screen's pictures are in ordinary memory.) */
bool input_lends_few(const struct ffmpeg_source *from) {
  const AVInputFormat *format = from->input->iformat;
  return ffmpeg_is_device(format) && !av_match_name("x11grab", format->name) &&
         decoder_context(from->decoder)->codec_id == AV_CODEC_ID_RAWVIDEO;
}

/* Limits how much is read to analyse the input, because pictures that a live stream sends during the analysis are shown
 * late. */
static void probe_little(struct ffmpeg_source *from) {
  from->input->fps_probe_size = 0;
  if (!input_is_stream(from))
    return;
  if (from->input->probesize == PROBE_BYTES_DEFAULT)
    from->input->probesize = STREAM_PROBE_BYTES;
  if (!from->input->max_analyze_duration)
    from->input->max_analyze_duration = STREAM_PROBE_US;
}

/* Returns the decoder to use. If VP8 or VP9 has alpha, that is libvpx, because FFmpeg's other decoders do not read the
 * alpha, which these codecs store separately. */
static const AVCodec *find_alpha_decoder(const struct ffmpeg_source *from, const AVCodec *codec) {
  const AVDictionaryEntry *mode = av_dict_get(from->stream->metadata, "alpha_mode", NULL, 0);
  enum AVCodecID id = from->stream->codecpar->codec_id;
  const char *name = id == AV_CODEC_ID_VP9 ? "libvpx-vp9" : id == AV_CODEC_ID_VP8 ? "libvpx" : NULL;
  bool wanted = from->options.keeps_alpha && name && mode && !strcmp(mode->value, "1");
  const AVCodec *other = wanted ? avcodec_find_decoder_by_name(name) : NULL;
  return other ? other : codec;
}

int input_find_stream(struct ffmpeg_source *from, const AVCodec **codec, struct error *err) {
  char reason[128];
  if (from->options.live && (ffmpeg_is_device(from->input->iformat) || input_is_stream(from)))
    probe_little(from);
  int code = avformat_find_stream_info(from->input, NULL);
  if (code < 0)
    return error_set(err, STATUS_INPUT, "%s: %s", from->spec, ffmpeg_reason(code, reason));
  int index = av_find_best_stream(from->input, AVMEDIA_TYPE_VIDEO, -1, -1, codec, 0);
  if (index == AVERROR_DECODER_NOT_FOUND)
    return error_set(err, STATUS_INPUT, "%s: FFmpeg here has no decoder for its video", from->spec);
  if (index < 0)
    return error_set(err, STATUS_INPUT, "%s: there is no video in it%s", from->spec,
                     protocols_hint(from->input->iformat));
  from->stream = from->input->streams[index];
  *codec = find_alpha_decoder(from, *codec);
  if (from->stream->disposition & AV_DISPOSITION_ATTACHED_PIC)
    return error_set(err, STATUS_INPUT, "%s: there is no video in it, only a cover picture", from->spec);
  int sound = from->options.tap ? av_find_best_stream(from->input, AVMEDIA_TYPE_AUDIO, -1, index, NULL, 0) : -1;
  from->sound = sound >= 0 ? from->input->streams[sound] : NULL;
  if (from->pictures)
    pictures_describe(from->pictures, from->stream);
  for (unsigned i = 0; i < from->input->nb_streams; i++)
    if ((int)i != index && (int)i != sound)
      from->input->streams[i]->discard = AVDISCARD_ALL;
  if (!from->pictures && side_feed_describe(from->options.feed, from->input, from->stream))
    return error_set(err, STATUS_FAILED, "no memory to open %s", from->spec);
  return 0;
}

int input_open(struct ffmpeg_source *from, struct error *err) {
  const AVIOInterruptCB interrupt = {is_interrupted, from};
  if (source_pictures_open(&from->pictures, from->spec, &from->options, err))
    return -1;
  if (from->pictures)
    return pictures_open_first(from->pictures, &from->input, err);
  if (!pipe_input_is(from->spec)) {
    from->watched = from->options.live && from->options.read_timeout > 0 && protocols_is_network(from->spec);
    return ffmpeg_open_input(&from->input, from->spec, &from->options, &interrupt, NULL, err);
  }
  /* in live mode the window itself shows that the source waits for another program to write to the pipe */
  const struct log *log = from->options.live ? NULL : from->options.log;
  if (pipe_input_open(&from->pipe, from->spec, &interrupt, log, err))
    return -1;
  return ffmpeg_open_input(&from->input, from->spec, &from->options, &interrupt, pipe_input_io(from->pipe), err);
}
