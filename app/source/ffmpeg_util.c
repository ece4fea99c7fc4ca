#include "app/source/ffmpeg_util.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <libavutil/opt.h>

#include "app/platform/app_platform.h"
#include "app/source/device_wishes.h"
#include "app/source/ffmpeg_libraries.h"
#include "app/source/list_cuts.h"
#include "app/source/protocols.h"
#include "app/source/repeated.h"

/* In a stream without an index, a seek goes this many seconds further back than the wanted position, so that there is
 * almost certainly a key frame in between. */
static const double key_frame_search_seconds = 12;

const char *ffmpeg_reason(int code, char *buffer) {
  if (av_strerror(code, buffer, 128) < 0)
    snprintf(buffer, 128, "error %d", code);
  return buffer;
}

const char *ffmpeg_reason_of(const char *url, int code, char *buffer) {
  bool mute = code == AVERROR(EIO) && !strncmp(url, "srt:", 4);
  return mute ? "nobody answers there, or refuses" : ffmpeg_reason(code, buffer);
}

static bool is_web(const char *url) {
  return !strncmp(url, "http://", 7) || !strncmp(url, "https://", 8);
}

bool ffmpeg_can_reopen(const char *spec, const struct source_options *options) {
  struct platform_entry file;
  if (!platform_look(&file, file_path(spec)))
    return file.kind == ENTRY_FILE;
  if (errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG)
    return true; /* taken for a file, whose opening then fails with the right reason */
  return !options->input_format && is_web(spec);
}

bool ffmpeg_is_device(const AVInputFormat *format) {
  return device_is_input(format) && strcmp(format->name, "lavfi");
}

bool ffmpeg_is_stream(const AVFormatContext *input, const char *spec) {
  const char *name = input->iformat->name;
  if (!strcmp(name, "mpjpeg"))
    return true;
  if (!strcmp(name, "hls") || !strcmp(name, "dash") || !protocols_is_network(spec))
    return false;
  return !input->pb || avio_size(input->pb) <= 0;
}

/* Finds FFmpeg's demuxer of this name or, if there is none, its input device of this name; stores NULL if there is
 * neither. Returns 0, or -1 with err. */
static int find_named(const AVInputFormat **format, const char *name, struct error *err) {
  *format = av_find_input_format(name);
  if (*format)
    return 0;
  if (ffmpeg_open_devices(NULL, STATUS_INPUT, err))
    return -1;
  *format = av_find_input_format(name);
  return 0;
}

/* True if the text before the first colon is neither a protocol nor part of a path. */
static bool may_name_device(const char *spec) {
  return strchr(spec, ':') && !protocols_is_network(spec) && !avio_find_protocol_name(spec);
}

/* Finds the input device that a spec like "x11grab::0.0" or "lavfi:testsrc2" begins with; *rest is what follows. Any
 * other spec leaves *device NULL. Returns 0, or -1 with err. */
static int device_of(const AVInputFormat **device, const char *spec, const char **rest, struct error *err) {
  char name[32];
  size_t length = strcspn(spec, ":");
  const AVInputFormat *format;
  bool camera = !strncmp(spec, "/dev/video", 10);
  *device = NULL;
  if (!camera && (length >= sizeof name || !may_name_device(spec)))
    return 0;
  snprintf(name, sizeof name, "%.*s", (int)length, spec);
  if (find_named(&format, camera ? "v4l2" : name, err))
    return error_prefix(err, "%s: ", spec);
  if (!device_is_input(format))
    return 0;
  *device = format;
  *rest = camera ? spec : spec + length + 1;
  return 0;
}

/* Sets a demuxer option if the demuxer `format` has it, else logs that it is not used. */
static void set_wish(AVDictionary **wishes, const AVInputFormat *format, const char *name, const char *value,
                     const struct log *log) {
  const AVClass *class = format ? format->priv_class : NULL;
  if (class && av_opt_find(&class, name, NULL, 0, AV_OPT_SEARCH_FAKE_OBJ))
    av_dict_set(wishes, name, value, 0);
  else
    log_line(log, LOG_WARNING, "this input has a %s of its own: the one asked for is not used",
             !strcmp(name, "framerate") ? "frame rate" : "size");
}

const AVInputFormat *ffmpeg_format_by_name(const char *url) {
  const AVProbeData name = {.filename = url};
  int score = AVPROBE_SCORE_RETRY;
  return av_probe_input_format2(&name, 0, &score);
}

/* Allows a picture sequence to begin at a number up to 100000; by default FFmpeg tries only five numbers. */
static void find_first_picture(AVDictionary **wishes, const AVInputFormat *format, const char *url) {
  if (format && !strcmp(format->name, "image2") && av_filename_number_test(url))
    av_dict_set(wishes, "start_number_range", "100000", AV_DICT_DONT_OVERWRITE);
}

static int collect_wishes(AVDictionary **wishes, const AVInputFormat *format, const struct source_options *options,
                          struct error *err) {
  if (options->input_options && av_dict_parse_string(wishes, options->input_options, "=", ":", 0) < 0)
    return error_set(err, STATUS_USAGE,
                     "--input-options: KEY=VALUE:KEY=VALUE is needed, with \\ before a ':' in a value");
  char value[64];
  if (options->width > 0) {
    snprintf(value, sizeof value, "%dx%d", options->width, options->height);
    set_wish(wishes, format, "video_size", value, options->log);
  }
  if (options->fps > 0) {
    snprintf(value, sizeof value, "%.17g", options->fps);
    set_wish(wishes, format, "framerate", value, options->log);
  }
  return 0;
}

/* Sets options with which FFmpeg connects again if the connection to a file on a server fails, and continues at the
 * same position. */
static void keep_reading(AVDictionary **wishes, const struct source_options *options, const char *url) {
  if (!options->live || !is_web(url))
    return;
  av_dict_set(wishes, "reconnect", "1", AV_DICT_DONT_OVERWRITE);
  if (options->read_timeout > 0)
    av_dict_set_int(wishes, "rw_timeout", (int64_t)(options->read_timeout * 1e6), AV_DICT_DONT_OVERWRITE);
}

/* Prefers TCP for RTSP: many routers block datagrams, and lost ones damage the pictures. If a server does not offer
 * TCP, it is asked for datagrams. */
static void prefer_tcp(AVDictionary **wishes, const char *url) {
  if (!strncmp(url, "rtsp:", 5))
    av_dict_set(wishes, "rtsp_flags", "prefer_tcp", AV_DICT_DONT_OVERWRITE);
}

/* Returns the demuxer for a file, found by its contents; NULL: unknown, or `url` is not a file that can be read
 * twice. */
static const AVInputFormat *find_format(const char *url) {
  const AVInputFormat *format = NULL;
  AVIOContext *io = NULL;
  if (platform_is_file(file_path(url)) && avio_open(&io, url, AVIO_FLAG_READ) >= 0)
    av_probe_input_buffer2(io, &format, url, NULL, 0, 0);
  avio_closep(&io);
  return format;
}

/* Forbids lists within a list of files, because FFmpeg would open the files that the inner lists name without any
 * check. Returns 0 or an FFmpeg error code. */
static int guard_list(AVDictionary **wishes, const AVInputFormat *format, const char *url) {
  const AVInputFormat *found = format ? format : find_format(url);
  if (!found || strcmp(found->name, "concat"))
    return 0;
  if (list_cuts_ask(wishes) < 0)
    return AVERROR(ENOMEM);
  char *formats = protocols_formats_within(found);
  return formats ? av_dict_set(wishes, "format_whitelist", formats, AV_DICT_DONT_STRDUP_VAL) : AVERROR(ENOMEM);
}

/* Restricts which files and servers FFmpeg may open for the input, unless the user has set the option
 * protocol_whitelist. The files of a picture sequence are opened without a check, because the user has named them all.
 * Returns 0 or an FFmpeg error code. */
static int guard(AVFormatContext *input, AVDictionary **wishes, const AVInputFormat *format, const char *url) {
  char list[PROTOCOLS_MAX];
  if (device_is_input(format) || av_dict_get(*wishes, "protocol_whitelist", NULL, 0))
    return 0;
  av_dict_set(wishes, "protocol_whitelist", input->pb ? protocols_for_pipe() : protocols_for(url, list), 0);
  if (input->pb || !protocols_is_file(url) || (format && !strcmp(format->name, "image2")))
    return 0;
  input->io_open = protocols_open_below;
  return guard_list(wishes, format, url);
}

static bool is_unknown_host(const char *url) {
  char host[256] = "";
  av_url_split(NULL, 0, NULL, 0, host, sizeof host, NULL, NULL, 0, url);
  return *host && !platform_may_be_host(host);
}

/* True if the error would not go away if opening were tried again later. */
static bool is_mistake(const char *url, int code) {
  switch (code) {
  case AVERROR_PROTOCOL_NOT_FOUND:
  case AVERROR_DEMUXER_NOT_FOUND:
  case AVERROR_OPTION_NOT_FOUND:
  case AVERROR_HTTP_BAD_REQUEST:
  case AVERROR_HTTP_UNAUTHORIZED:
  case AVERROR_HTTP_FORBIDDEN:
  case AVERROR_HTTP_NOT_FOUND:
  case AVERROR_HTTP_OTHER_4XX:
  case AVERROR(EINVAL):
  case AVERROR(ENOMEM):
  case AVERROR(ENOSYS):
    return true;
  case AVERROR_INVALIDDATA:
    return is_web(url);
  case AVERROR(EIO):
    return is_unknown_host(url);
  }
  return false;
}

static bool is_screen(const AVInputFormat *format) {
  return format && !strcmp(format->name, "x11grab");
}

/* Returns why an input could not be opened: FFmpeg's text for the code, or a clearer one. has_hint: true: the caller
 * appends a hint (protocols_hint), which tells more about unknown contents than the clearer text. */
static const char *why_refused(const char *url, const AVInputFormat *format, int code, bool has_hint, char *buffer) {
  if (!has_hint && (code == AVERROR_EOF || code == AVERROR_INVALIDDATA))
    return "this is no video FFmpeg knows, or it is damaged";
  if (code == AVERROR(EISDIR))
    return "it is a folder; pictures in one are named as in FOLDER/%04d.png";
  if (code == AVERROR(EIO) && is_screen(format))
    return "no X server answers there";
  if (code == AVERROR(EIO) && is_unknown_host(url))
    return "no computer is known by this name";
  if (code == AVERROR_PROTOCOL_NOT_FOUND && !strstr(url, "://")) {
    snprintf(buffer, 128, "no protocol %.*s is known; if a file is meant, write ./%s", (int)strcspn(url, ":"), url,
             url);
    return buffer;
  }
  return ffmpeg_reason_of(url, code, buffer);
}

static void say_refused(const char *spec, const char *url, const AVInputFormat *format, int code, struct error *err) {
  char reason[128];
  if (device_is_camera(format) && camera_refuse(url, AVUNERROR(code), err))
    return;
  const char *hint = protocols_hint(format ? format : find_format(url));
  error_set(err, code == AVERROR(ENOMEM) ? STATUS_FAILED : STATUS_INPUT, "%s: cannot be opened: %s%s", spec,
            why_refused(url, format, code, *hint, reason), hint);
}

/* Makes FFmpeg's HLS demuxer open a new connection for each file; if it reused one, io_open would not be called and
 * could not check the URL. Returns true if the option must be set back after opening. */
static bool ask_anew(AVDictionary **wishes, const char *url) {
  if (!is_web(url) || av_dict_get(*wishes, "http_persistent", NULL, 0))
    return false;
  av_dict_set(wishes, "http_persistent", "0", 0);
  return true;
}

/* Calls avformat_open_input, but lets it open a limited number of files (OPENINGS_MAX). *endless is set if the limit
 * was reached. Returns an FFmpeg code. */
static int open_bounded(AVFormatContext **input, const char *url, const AVInputFormat *format, AVDictionary **wishes,
                        bool *endless) {
  struct openings openings;
  bool asks_anew = ask_anew(wishes, url);
  openings_begin(&openings, *input);
  int code = avformat_open_input(input, url, format, wishes);
  openings_end(&openings, *input);
  *endless = openings.exceeded;
  if (!asks_anew)
    return code;
  av_dict_set(wishes, "http_persistent", NULL, 0);
  if (code >= 0 && !strcmp((*input)->iformat->name, "hls"))
    av_opt_set((*input)->priv_data, "http_persistent", "1", 0);
  return code;
}

/* True if FFmpeg has chosen its demuxer of text files, which draws any file named .txt as a terminal's screen. */
static bool is_text(const AVFormatContext *input) {
  return !strcmp(input->iformat->name, "tty");
}

/* Stores the demuxer that the URL's beginning or --input-format names; NULL: neither names one. A device's name is
 * removed from *url. Returns 0, or -1 with err. */
static int choose_format(const AVInputFormat **format, const char **url, const struct source_options *options,
                         struct error *err) {
  if (device_of(format, *url, url, err) && !options->input_format)
    return -1;
  if (!options->input_format)
    return 0;
  if (find_named(format, options->input_format, err))
    return error_prefix(err, "--input-format %s: ", options->input_format);
  return *format ? 0
                 : error_set(err, STATUS_USAGE, "--input-format %s: FFmpeg here has no such format or device",
                             options->input_format);
}

/* Checks an input that was just opened. Fails if FFmpeg, without the user's choice of a demuxer (`chosen` false), took
 * it for text; or if the user set an option that the demuxer does not have: such options are still in `wishes`. Returns
 * 0, or -1 with err. */
static int check_opened(const AVFormatContext *input, const char *spec, bool chosen, const AVDictionary *wishes,
                        struct error *err) {
  if (!chosen && is_text(input))
    return error_set(err, STATUS_INPUT, "%s: is text, no picture or video (--input-format tty draws text as a source)",
                     spec);
  const AVDictionaryEntry *left = av_dict_get(wishes, "", NULL, AV_DICT_IGNORE_SUFFIX);
  return left ? error_set(err, STATUS_USAGE, "--input-options: %s has no option %s", input->iformat->name, left->key)
              : 0;
}

int ffmpeg_open_input(AVFormatContext **input, const char *spec, const struct source_options *options,
                      const AVIOInterruptCB *interrupt, AVIOContext *io, struct error *err) {
  const char *url = !strcmp(spec, "-") ? "pipe:0" : spec;
  const AVInputFormat *format;
  AVDictionary *wishes = NULL;
  int code, result = -1;
  bool endless;
  *input = NULL;
  if (options->repeat > 1)
    return repeated_open(input, spec, options, interrupt, err);
  if (choose_format(&format, &url, options, err))
    return -1;
  if (!format && !io)
    format = ffmpeg_format_by_name(url);
  if (collect_wishes(&wishes, format, options, err))
    goto done;
  device_wishes(&wishes, format, url, options);
  find_first_picture(&wishes, format, url);
  keep_reading(&wishes, options, url);
  prefer_tcp(&wishes, url);
  *input = avformat_alloc_context();
  if (!*input) {
    error_set(err, STATUS_FAILED, "no memory to open %s", spec);
    goto done;
  }
  if (interrupt)
    (*input)->interrupt_callback = *interrupt;
  (*input)->pb = io;
  if (format && ffmpeg_is_device(format))
    (*input)->flags |= AVFMT_FLAG_NONBLOCK;
  if (guard(*input, &wishes, format, url) < 0) {
    error_set(err, STATUS_FAILED, "no memory to open %s", spec);
    goto done;
  }
  if (io && !format) /* FFmpeg's probing is done here, so that the error message can name the format */
    av_probe_input_buffer2(io, &format, "", NULL, 0, 0);
  code = open_bounded(input, url, format, &wishes, &endless);
  if (endless && (code < 0 || !(*input)->nb_streams)) {
    error_set(err, STATUS_INPUT, "%s: cannot be opened: it is a playlist that names itself, or lists without end",
              spec);
    goto done;
  }
  if (code < 0) {
    say_refused(spec, url, format, code, err);
    result = options->live && protocols_is_network(url) && !is_mistake(url, code) ? SOURCE_NOT_YET : -1;
    goto done;
  }
  result = check_opened(*input, spec, format, wishes, err);
done:
  av_dict_free(&wishes);
  if (result)
    avformat_close_input(input);
  return result;
}

int64_t ffmpeg_clock(const AVFormatContext *input) {
  /* a list of files begins at 0, although packets before its first inpoint have earlier times */
  bool is_list = !strcmp(input->iformat->name, "concat");
  return is_list || input->start_time == AV_NOPTS_VALUE ? 0 : input->start_time;
}

int64_t ffmpeg_origin(const AVFormatContext *input, double start) {
  bool moved = start > 0 || input->iformat->flags & AVFMT_TS_DISCONT;
  return (moved ? ffmpeg_clock(input) : 0) + llrint(start * AV_TIME_BASE);
}

bool ffmpeg_seeks_blindly(const AVFormatContext *input) {
  int flags = input->iformat->flags;
  return flags & AVFMT_TS_DISCONT && !(flags & AVFMT_GENERIC_INDEX);
}

int ffmpeg_seek_blindly(AVFormatContext *input, const AVStream *video, int64_t place, double seconds, bool *unsure) {
  int64_t early = seconds > 0 ? llrint(key_frame_search_seconds / av_q2d(video->time_base)) : 0;
  *unsure = false;
  if (seconds < key_frame_search_seconds && av_seek_frame(input, -1, 0, AVSEEK_FLAG_BYTE) >= 0)
    return 0;
  int code = av_seek_frame(input, video->index, place - early, AVSEEK_FLAG_BACKWARD);
  *unsure = code >= 0 && seconds > 0;
  return code;
}

int ffmpeg_read_failure(AVFormatContext *input, int code) {
  int failure = input->pb ? input->pb->error : 0;
  if (failure < 0 && failure != AVERROR_EOF && failure != AVERROR_EXIT) {
    input->pb->error = 0; /* the I/O context's error is cleared, so that the same error is not reported again */
    return failure;
  }
  bool known = code >= 0 || code == AVERROR_EOF || code == AVERROR(EAGAIN) || code == AVERROR_INVALIDDATA;
  return !known && (!input->pb || code == AVERROR(ENOMEM)) ? code : 0;
}

int ffmpeg_add_chapter(AVFormatContext *to, const AVChapter *from, int64_t start, int64_t end) {
  AVChapter **all = av_realloc_array(to->chapters, to->nb_chapters + 1, sizeof *all);
  if (!all)
    return -1;
  to->chapters = all;
  AVChapter *chapter = av_mallocz(sizeof *chapter);
  if (!chapter)
    return -1;
  chapter->id = from->id;
  chapter->time_base = from->time_base;
  chapter->start = start;
  chapter->end = end;
  av_dict_copy(&chapter->metadata, from->metadata, 0);
  all[to->nb_chapters++] = chapter;
  return 0;
}

int64_t ffmpeg_duration_of(const AVFrame *frame) {
#if LIBAVUTIL_VERSION_MAJOR < 58
  return frame->pkt_duration;
#else
  return frame->duration;
#endif
}

long ffmpeg_count_pictures(const char *file) {
  AVFormatContext *input = NULL;
  AVPacket *packet = av_packet_alloc();
  long count = 0;
  int video = packet && avformat_open_input(&input, file, NULL, NULL) >= 0
                  ? av_find_best_stream(input, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0)
                  : -1;
  while (video >= 0 && av_read_frame(input, packet) >= 0) {
    count += packet->stream_index == video;
    av_packet_unref(packet);
  }
  avformat_close_input(&input);
  av_packet_free(&packet);
  return count;
}
