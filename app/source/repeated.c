#include "app/source/repeated.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include <libavutil/bprint.h>

#include "app/platform/app_platform.h"
#include "app/source/completeness.h"
#include "app/source/ffmpeg_util.h"
#include "app/source/joins.h"
#include "app/source/picture_files.h"
#include "app/source/pipe_input.h"
#include "app/source/protocols.h"
#include "unet/base/address.h"

static int no_memory(const char *spec, struct error *err) {
  return error_set(err, STATUS_FAILED, "no memory to repeat %s", spec);
}

/* Opens the file to be read once, without repetition. Returns 0, or -1 with err. */
static int open_once(AVFormatContext **input, const char *spec, const struct source_options *options,
                     const AVIOInterruptCB *interrupt, struct error *err) {
  char reason[128];
  struct source_options once = *options;
  once.repeat = 0;
  once.start = once.duration = 0;
  if (ffmpeg_open_input(input, spec, &once, interrupt, NULL, err))
    return -1;
  int code = avformat_find_stream_info(*input, NULL);
  return code < 0 ? error_set(err, STATUS_INPUT, "%s: %s", spec, ffmpeg_reason(code, reason)) : 0;
}

/* --- measuring how long one pass through the file lasts --- */

/* Returns true if the input is a file that does not exist. The word "pattern" is a source, not a file. */
static bool is_absent(const char *spec) {
  struct platform_entry entry;
  return protocols_is_file(spec) && !pipe_input_is(spec) && strcmp(spec, "pattern") &&
         platform_look(&entry, file_path(spec)) && errno == ENOENT;
}

/* Checks that --repeat works with this input: the input can be read again, and the user gave no --input-format or
 * --input-options. FFmpeg's list of the repetitions could not contain these options. Returns 0, or -1 with err. */
static int check_kind(const char *spec, const struct source_options *options, struct error *err) {
  if (is_absent(spec))
    return error_set(err, STATUS_INPUT, "%s: %s", spec, strerror(ENOENT));
  if (pipe_input_is(spec) || !protocols_is_file(spec) || !ffmpeg_can_reopen(spec, options))
    return error_set(err, STATUS_USAGE, "--repeat: %s is no file, and cannot be read again", address_shown(spec).text);
  if (strpbrk(spec, "\r\n"))
    return error_set(err, STATUS_USAGE, "--repeat: %s: has a line break in its name; rename it", spec);
  if (options->input_format || options->input_options)
    return error_set(err, STATUS_USAGE,
                     "--repeat: of a video file the format is found by its contents; leave --input-format and "
                     "--input-options out");
  return 0;
}

struct reading {
  AVFormatContext *input;
  AVStream *video;
  AVPacket *packet;
  struct joins joins;
  struct completeness completeness;
  int64_t step, end; /* step: usual time between two pictures. end: end of the last picture so far. Both are in the
                      * video's time base. */
};

static int begin(struct reading *reading, const char *spec, struct error *err) {
  int index = av_find_best_stream(reading->input, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
  if (index < 0)
    return error_set(err, STATUS_INPUT, "%s: there is no video in it", spec);
  reading->video = reading->input->streams[index];
  reading->packet = av_packet_alloc();
  if (!reading->packet)
    return no_memory(spec, err);
  completeness_begin(&reading->completeness, reading->input, reading->video);
  joins_begin(&reading->joins, reading->input, reading->video);
  reading->step = reading->joins.step;
  reading->end = INT64_MIN;
  for (unsigned i = 0; i < reading->input->nb_streams; i++)
    if ((int)i != index && !completeness_wants_all(&reading->completeness))
      reading->input->streams[i]->discard = AVDISCARD_ALL;
  return 0;
}

static void take_packet(struct reading *reading) {
  AVPacket *packet = reading->packet;
  completeness_add(&reading->completeness, packet);
  if (packet->stream_index != reading->video->index || packet->flags & AV_PKT_FLAG_DISCARD)
    return;
  joins_note(&reading->joins, packet);
  joins_shift(&reading->joins, packet);
  int64_t time = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
  int64_t end = time + (packet->duration > 0 ? packet->duration : reading->step);
  if (time != AV_NOPTS_VALUE && end > reading->end)
    reading->end = end;
}

/* Reads the file to its end, and stores how long a pass lasts. Returns 0, or -1 with err. */
static int read_all(struct reading *reading, const char *spec, struct source_options *options, struct error *err) {
  int code;
  while ((code = av_read_frame(reading->input, reading->packet)) >= 0) {
    take_packet(reading);
    av_packet_unref(reading->packet);
    if (options->stop && atomic_load(options->stop))
      return error_set(err, STATUS_INTERRUPTED, "interrupted");
  }
  char reason[128];
  code = ffmpeg_read_failure(reading->input, code);
  if (code)
    return error_set(err, STATUS_INPUT, "%s: cannot be read on: %s", spec, ffmpeg_reason(code, reason));
  if (completeness_check(&reading->completeness, spec, err))
    return error_prefix(err, "--repeat: ");
  int64_t begin_us = reading->input->start_time == AV_NOPTS_VALUE ? 0 : reading->input->start_time;
  if (reading->end != INT64_MIN)
    options->pass = (double)reading->end * av_q2d(reading->video->time_base) - (double)begin_us * 1e-6;
  return options->pass > 0 ? 0 : error_set(err, STATUS_INPUT, "--repeat: %s does not say how long it is", spec);
}

/* Returns 1 if the input is a picture sequence, 0 if not, or -1 with err. */
static int is_sequence(const char *spec, const struct source_options *options, struct error *err) {
  struct pictures *pictures;
  if (source_pictures_open(&pictures, spec, options, err))
    return -1;
  bool is = pictures;
  source_pictures_close(&pictures);
  return is;
}

int repeated_measure(const char *spec, struct source_options *options, struct error *err) {
  struct reading reading = {0};
  if (options->repeat < 2)
    return 0;
  int status = is_sequence(spec, options, err);
  if (status)
    return status < 0 ? -1 : 0;
  if (check_kind(spec, options, err))
    return -1;
  status = open_once(&reading.input, spec, options, NULL, err);
  /* the repetitions are read through FFmpeg's concat demuxer, whose lists must not contain another list */
  if (!status && protocols_is_playlist(reading.input->iformat))
    status = error_set(err, STATUS_USAGE, "--repeat: %s names other files: have it name them several times", spec);
  if (!status)
    status = begin(&reading, spec, err);
  if (!status)
    status = read_all(&reading, spec, options, err);
  av_packet_free(&reading.packet);
  avformat_close_input(&reading.input);
  return status;
}

/* --- opening the passes through a repeated file as one list of files --- */

/* Returns the time at which a pass through the file begins, in microseconds. Each pass is rounded separately, so that
 * errors do not add up. */
static int64_t begin_of(const struct source_options *options, int pass) {
  return llrint(options->pass * pass * AV_TIME_BASE);
}

/* Stores in *url a URL that contains the list of all passes through the file. Returns 0, or -1 without memory. The
 * caller frees the URL with av_free. */
static int write_list(char **url, const char *spec, const struct source_options *options) {
  AVBPrint list;
  av_bprint_init(&list, 0, AV_BPRINT_SIZE_UNLIMITED);
  av_bprintf(&list, "data:text/plain,ffconcat version 1.0\n");
  for (int i = 0; i < options->repeat; i++) {
    av_bprintf(&list, "file 'file:");
    for (const char *at = file_path(spec); *at; at++)
      av_bprintf(&list, *at == '\'' ? "'\\''" : "%c", *at);
    av_bprintf(&list, "'\nduration %lldus\n", (long long)(begin_of(options, i + 1) - begin_of(options, i)));
  }
  return av_bprint_finalize(&list, url) < 0 ? -1 : 0;
}

static int collect_wishes(AVDictionary **wishes, const AVFormatContext *once) {
  char *formats = av_asprintf("concat,%s", once->iformat->name);
  if (!formats)
    return -1;
  int code = av_dict_set(wishes, "format_whitelist", formats, AV_DICT_DONT_STRDUP_VAL);
  return code < 0 || av_dict_set(wishes, "protocol_whitelist", "data,file", 0) < 0 ||
                 av_dict_set(wishes, "safe", "0", 0) < 0
             ? -1
             : 0;
}

/* `input` plays a file repeatedly, through FFmpeg's concat demuxer; `once` is the file opened directly. Copies what
 * that demuxer leaves out from `once` to `input`: tags, covers, dispositions, and the chapters, once for each pass.
 * Returns 0, or -1 without memory. */
static int complete(AVFormatContext *input, const AVFormatContext *once, const struct source_options *options) {
  int64_t first = once->start_time == AV_NOPTS_VALUE ? 0 : once->start_time;
  if (av_dict_copy(&input->metadata, once->metadata, 0) < 0)
    return -1;
  for (unsigned i = 0; i < input->nb_streams && i < once->nb_streams; i++) {
    input->streams[i]->disposition = once->streams[i]->disposition;
    if (once->streams[i]->attached_pic.data &&
        av_packet_ref(&input->streams[i]->attached_pic, &once->streams[i]->attached_pic) < 0)
      return -1;
  }
  for (int pass = 0; pass < options->repeat; pass++)
    for (unsigned i = 0; i < once->nb_chapters; i++) {
      const AVChapter *chapter = once->chapters[i];
      int64_t shift = av_rescale_q(begin_of(options, pass) - first, AV_TIME_BASE_Q, chapter->time_base);
      int64_t most = av_rescale_q(begin_of(options, pass + 1), AV_TIME_BASE_Q, chapter->time_base);
      int64_t end = chapter->end == AV_NOPTS_VALUE || chapter->end + shift > most ? most : chapter->end + shift;
      if (chapter->start + shift < end && ffmpeg_add_chapter(input, chapter, chapter->start + shift, end))
        return -1;
    }
  return 0;
}

static int open_list(AVFormatContext **input, const char *spec, const AVFormatContext *once,
                     const struct source_options *options, const AVIOInterruptCB *interrupt, struct error *err) {
  char reason[128], *url = NULL;
  AVDictionary *wishes = NULL;
  int code = AVERROR(ENOMEM);
  *input = avformat_alloc_context();
  if (*input && interrupt)
    (*input)->interrupt_callback = *interrupt;
  if (*input && !write_list(&url, spec, options) && !collect_wishes(&wishes, once))
    code = avformat_open_input(input, url, av_find_input_format("concat"), &wishes);
  if (code >= 0 && complete(*input, once, options))
    code = AVERROR(ENOMEM);
  av_dict_free(&wishes);
  av_free(url);
  if (code < 0)
    avformat_close_input(input);
  if (code == AVERROR(ENOMEM))
    return no_memory(spec, err);
  return code < 0 ? error_set(err, STATUS_INPUT, "%s: cannot be repeated: %s", spec, ffmpeg_reason(code, reason)) : 0;
}

int repeated_open(AVFormatContext **input, const char *spec, const struct source_options *options,
                  const AVIOInterruptCB *interrupt, struct error *err) {
  AVFormatContext *once = NULL;
  int status = open_once(&once, spec, options, interrupt, err);
  if (!status)
    status = open_list(input, spec, once, options, interrupt, err);
  avformat_close_input(&once);
  return status;
}
