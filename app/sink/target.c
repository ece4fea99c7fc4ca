#include "app/sink/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/avstring.h>

#include "app/platform/app_platform.h"
#include "app/source/ffmpeg_libraries.h"
#include "app/source/pipewire_spec.h"
#include "app/source/protocols.h"
#include "unet/base/text.h"

/* Containers that the receivers of URLs with these schemes expect, whatever the URL's extension is. page: true: the
 * extension of the URL's page is used instead if it is known. live: true: the receiver shows pictures as they come;
 * false for TCP and local sockets, where the sender waits for a slow reader. */
static const struct scheme {
  const char *name, *container;
  bool live, page;
} schemes[] = {
    {.name = "http", .container = "mpegts", .page = true},
    {.name = "https", .container = "mpegts", .page = true},
    {.name = "icecast", .container = "webm", .page = true},
    {.name = "pipe", .container = "matroska"},
    {.name = "rist", .container = "mpegts", .live = true},
    {.name = "rtmp", .container = "flv", .live = true},
    {.name = "rtmps", .container = "flv", .live = true},
    {.name = "rtmpt", .container = "flv", .live = true},
    {.name = "rtmpts", .container = "flv", .live = true},
    {.name = "rtp", .container = "rtp_mpegts", .live = true},
    {.name = "rtsp", .container = "rtsp", .live = true},
    {.name = "srt", .container = "mpegts", .live = true},
    {.name = "tcp", .container = "mpegts"},
    {.name = "tls", .container = "mpegts"},
    {.name = "udp", .container = "mpegts", .live = true},
    {.name = "unix", .container = "mpegts"},
};
enum { SCHEMES = sizeof schemes / sizeof *schemes };

/* Devices of Video4Linux. A loopback device, which other programs see as a camera, takes uncompressed pictures. */
static const char camera_device[] = "/dev/video", camera_container[] = "video4linux2";

/* FFmpeg's protocols that write to a file named inside the spec. Such specs are refused, because the file would be
 * overwritten without a question. */
static const char wrappers[] = "crypto,md5,tee";

/* Extensions of sound files. Their containers could hold video, but under another extension. */
static const char sound_extensions[] = "m4a,m4b,isma,wma,ra";

bool target_is_standard_output(const char *spec) {
  if (strncmp(spec, "pipe:", 5))
    return !strcmp(spec, "-");
  char *end; /* any text after "pipe:" that is not a number stands for standard output, as in FFmpeg */
  long number = strtol(spec + 5, &end, 10);
  return end == spec + 5 || *end || number == STANDARD_OUTPUT;
}

const char *target_name(const char *spec) {
  return target_is_standard_output(spec) ? "standard output" : spec;
}

static const struct scheme *find_scheme(const char *url) {
  size_t length = strcspn(url, ":");
  for (int i = 0; url[length] && i < SCHEMES; i++)
    if (strlen(schemes[i].name) == length && !memcmp(schemes[i].name, url, length))
      return &schemes[i];
  return NULL;
}

static const AVOutputFormat *find_container(const char *format) {
  char file[64];
  snprintf(file, sizeof file, "x.%.60s", format);
  const AVOutputFormat *container = av_guess_format(format, NULL, NULL);
  return container ? container : av_guess_format(NULL, file, NULL);
}

static int check_video(const struct target *target, bool sound_file, struct error *err) {
  const AVOutputFormat *container = target->container;
  /* True for containers of sound whose only video is the album's cover picture. */
  bool covers = container->video_codec == AV_CODEC_ID_PNG && container->audio_codec != AV_CODEC_ID_NONE;
  if (container->video_codec == AV_CODEC_ID_NONE || covers)
    return error_set(err, STATUS_USAGE, "%s: %s holds no video; try %s", target->name, container->name,
                     target->stream ? "--output-format matroska" : ".mp4 or .mkv");
  if (sound_file)
    return error_set(err, STATUS_USAGE, "%s: files of this name hold no video; try .mp4 or .mkv", target->name);
  return 0;
}

/* True if a file's name contains an unambiguous placeholder for a number, such as "%04d". */
static bool has_padded_number(const char *name) {
  for (const char *at = name; (at = strstr(at, "%0")); at++) {
    size_t digits = strspn(at + 1, "0123456789");
    if (digits > 1 && at[1 + digits] == 'd')
      return true;
  }
  return false;
}

/* Fails for a name with a number placeholder (frame-%04d.mp4) if the container is a single file, whose name would then
 * contain "%04d". "%d" also counts as a placeholder in names of pictures, but not in others, because of names such as
 * "100%done.mp4". */
static int check_number(const struct target *target, struct error *err) {
  static const char pictures[] = "gif,apng,avif,ico,fits";
  const char *name = text_last_part(target->url);
  bool picture = av_match_name(target->container->name, pictures);
  if (target->stream || target->container->flags & AVFMT_NOFILE ||
      !(picture ? av_filename_number_test(name) : has_padded_number(name)))
    return 0;
  return error_set(err, STATUS_USAGE, "%s: %s is one file, whose name gets no number; for a file of each frame try %s",
                   target->name, target->container->name, picture ? ".png or .webp" : "%04d.png");
}

bool target_is_named_pipe(const char *spec) {
  struct platform_entry entry;
  return !platform_look(&entry, file_path(spec)) && entry.kind == ENTRY_PIPE;
}

bool target_is_camera(const char *spec) {
  size_t length = sizeof camera_device - 1;
  if (pipewire_is(spec))
    return true;
  return !strncmp(spec, camera_device, length) && strspn(spec + length, "0123456789") == strlen(spec + length);
}

/* Stores FFmpeg's muxer that writes to a video device, such as a virtual camera; NULL: this FFmpeg has no such muxer.
 * Returns 0, or -1 with err. */
static int find_camera(const AVOutputFormat **container, const char *spec, struct error *err) {
  if (ffmpeg_open_devices(NULL, STATUS_OUTPUT, err))
    return error_prefix(err, "%s: ", spec);
  *container = av_guess_format(camera_container, NULL, NULL);
  return 0;
}

/* Returns the container of a URL: by the extension of its page (without the query), else by its scheme. */
static const AVOutputFormat *find_streamed(const struct scheme *scheme, const char *url) {
  char path[256];
  const AVOutputFormat *container = NULL;
  snprintf(path, sizeof path, "%.*s", (int)strcspn(url, "?#"), url);
  if (scheme->page && strchr(text_last_part(path), '.') && strcspn(url, "?#") < sizeof path)
    container = av_guess_format(NULL, path, NULL);
  return container ? container : av_guess_format(scheme->container, NULL, NULL);
}

/* True if the target's name begins with an unknown protocol ("NAME:"), so that FFmpeg could not open it. Muxers that
 * open their target themselves, except image2, need no protocol: a colon may have another meaning in their target's
 * name. */
static bool lacks_protocol(const struct target *target) {
  bool opens_itself =
      target->container && target->container->flags & AVFMT_NOFILE && strcmp(target->container->name, "image2") != 0;
  return !target->stream && !opens_itself && !avio_find_protocol_name(target->url);
}

int target_choose(struct target *target, const char *spec, const char *format, struct error *err) {
  bool standard_output = target_is_standard_output(spec);
  *target = (struct target){.url = standard_output ? "pipe:1" : spec, .name = target_name(spec)};
  const struct scheme *scheme = find_scheme(target->url);
  bool camera = target_is_camera(spec);
  target->stream = scheme || camera;
  target->live = camera || (scheme && scheme->live);
  if (av_match_name(avio_find_protocol_name(target->url), wrappers))
    return error_set(err, STATUS_USAGE, "%s: a file behind another name; name the file itself", target->name);
  if (format)
    target->container = find_container(format);
  else if (scheme)
    target->container = find_streamed(scheme, spec);
  else if (!camera)
    target->container = av_guess_format(NULL, spec, NULL);
  else if (find_camera(&target->container, spec, err))
    return -1;
  if (lacks_protocol(target))
    return error_set(err, STATUS_USAGE, "%s: FFmpeg here knows no protocol %.*s; if a file is meant, write ./%s",
                     target->name, (int)strcspn(target->url, ":"), target->url, target->url);
  if (!target->container && !format && target_is_named_pipe(spec))
    target->container = av_guess_format("matroska", NULL, NULL);
  if (!target->container && camera)
    return error_set(err, STATUS_OUTPUT, "%s: FFmpeg here writes to no video devices", spec);
  if (!target->container && format)
    return error_set(err, STATUS_USAGE, "--output-format %s: FFmpeg here writes no such container", format);
  if (!target->container)
    return error_set(err, STATUS_USAGE,
                     "%s: no container is known by this extension; try .mp4 or .mkv; render takes --output-format, too",
                     target->name);
  if (standard_output && target->container->flags & AVFMT_NOFILE)
    return error_set(err, STATUS_USAGE, "%s: %s opens files of its own; try --output-format matroska", target->name,
                     target->container->name);
  if (check_number(target, err))
    return -1;
  return check_video(target, !format && av_match_ext(spec, sound_extensions), err);
}

bool target_is_sequence(const struct target *target) {
  return !strcmp(target->container->name, "image2") && av_filename_number_test(target->url);
}
