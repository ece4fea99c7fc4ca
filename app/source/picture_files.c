#include "app/source/picture_files_impl.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/avstring.h>
#include <libavutil/parseutils.h>

#include "app/platform/app_platform.h"
#include "app/source/exr.h"
#include "app/source/ffmpeg_util.h"
#include "app/source/picture_codec.h"
#include "app/source/protocols.h"
#include "unet/base/text.h"

static int no_memory(struct error *err) {
  return error_set(err, STATUS_FAILED, "no memory to list the pictures of a sequence");
}

/* --- file names with a number in them --- */

bool pictures_glob(const char *pattern, char *globbed, size_t size, size_t *number_at) {
  size_t used = 0, literal = 0;
  for (const char *at = pattern; *at; at++, literal++) {
    if (used + 3 > size)
      return false;
    if (*at == '%' && at[1] != '%') {
      at += 1 + strspn(at + 1, "0123456789");
      *number_at = literal;
      globbed[used++] = '*';
      continue;
    }
    at += *at == '%';
    if (strchr("*?[]\\", *at))
      globbed[used++] = '\\';
    globbed[used++] = *at;
  }
  globbed[used] = 0;
  return true;
}

long pictures_number_of(const char *path, const char *pattern, size_t number_at) {
  char made[PATH_MAX], *end;
  if (strlen(path) <= number_at)
    return -1;
  long number = strtol(path + number_at, &end, 10);
  bool possible = end != path + number_at && number >= 0 && number <= INT_MAX;
  return possible && !av_get_frame_filename(made, sizeof made, pattern, (int)number) && !strcmp(made, path) ? number
                                                                                                            : -1;
}

bool pictures_unmark_glob(const char *path, char *globbed, size_t size) {
  size_t used = 0;
  bool marked = false;
  for (const char *at = path; *at && used + 1 < size; at++) {
    bool mark = *at == '%' && at[1] && strchr("*?[]{}", at[1]);
    marked |= mark;
    if (!mark)
      globbed[used++] = *at;
  }
  globbed[used] = 0;
  return marked;
}

/* Finds the last digits of a name, before its extension. Returns false if there are none, or more than nine. */
static bool find_last_digits(const char *path, size_t *begin, size_t *end) {
  const char *name = text_last_part(path), *dot = strrchr(name, '.'), *to = dot ? dot : name + strlen(name);
  while (to > name && !isdigit((unsigned char)to[-1]))
    to--;
  const char *from = to;
  while (from > name && isdigit((unsigned char)from[-1]))
    from--;
  *begin = (size_t)(from - path);
  *end = (size_t)(to - path);
  return from < to && to - from <= 9;
}

/* True if two paths differ only in the last digits of the name. */
static bool is_alike(const char *path, const char *other) {
  size_t begin, end, other_begin, other_end;
  return find_last_digits(path, &begin, &end) && find_last_digits(other, &other_begin, &other_end) &&
         begin == other_begin && !memcmp(path, other, begin) && !strcmp(path + end, other + other_end);
}

/* --- the list of the sequence's pictures --- */

static int add_file(struct pictures *pictures, const char *path, int number) {
  if (pictures->count == pictures->capacity) {
    size_t capacity = pictures->capacity ? pictures->capacity * 2 : 64;
    struct picture_file *files = realloc(pictures->files, capacity * sizeof *files);
    if (!files)
      return -1;
    pictures->files = files;
    pictures->capacity = capacity;
  }
  char *copy = strdup(path);
  if (copy)
    pictures->files[pictures->count++] = (struct picture_file){.path = copy, .number = number};
  return copy ? 0 : -1;
}

struct listing {
  struct pictures *pictures;
  long first; /* least number: pictures with a lower one are left out of the list */
};

static int take_name(void *opaque, const char *path) {
  const struct listing *listing = opaque;
  struct pictures *pictures = listing->pictures;
  if (pictures->is_glob)
    return add_file(pictures, path, 0);
  long number = pictures_number_of(path, pictures->pattern, pictures->number_at);
  return number < listing->first ? 0 : add_file(pictures, path, (int)number);
}

static int compare_paths(const void *one, const void *other) {
  return strcmp(((const struct picture_file *)one)->path, ((const struct picture_file *)other)->path);
}

static int compare_numbers(const void *one, const void *other) {
  int a = ((const struct picture_file *)one)->number, b = ((const struct picture_file *)other)->number;
  return a < b ? -1 : a > b;
}

/* Sets the numbers of a glob's files, if the files' names differ only in one number. Otherwise returns false. */
static bool number_names(struct pictures *pictures) {
  size_t begin, end;
  for (size_t i = 0; i < pictures->count; i++) {
    struct picture_file *file = &pictures->files[i];
    if (!find_last_digits(file->path, &begin, &end) || !is_alike(file->path, pictures->files[0].path))
      return false;
    file->number = atoi(file->path + begin);
  }
  qsort(pictures->files, pictures->count, sizeof *pictures->files, compare_numbers);
  for (size_t i = 1; i < pictures->count; i++)
    if (pictures->files[i].number == pictures->files[i - 1].number)
      return false;
  return true;
}

static void order(struct pictures *pictures) {
  pictures->numbered = !pictures->is_glob || number_names(pictures);
  qsort(pictures->files, pictures->count, sizeof *pictures->files,
        pictures->numbered ? compare_numbers : compare_paths);
  for (size_t i = 0; i < pictures->count; i++)
    pictures->files[i].time =
        pictures->is_glob ? (int64_t)i : (int64_t)pictures->files[i].number - pictures->files[0].number;
}

/* --- finding out if a spec names a sequence, and opening it --- */

static const char *value_of(const AVDictionary *wishes, const char *key) {
  const AVDictionaryEntry *entry = av_dict_get(wishes, key, NULL, 0);
  return entry ? entry->value : NULL;
}

/* Writes the glob that matches the files of the sequence `path` to `globbed`, which has room for `size` bytes. wishes:
 * the user's options for FFmpeg. Returns false if `path` names no sequence, or if FFmpeg's own demuxer must read it. */
static bool find_pattern(struct pictures *pictures, const char *path, const AVDictionary *wishes, char *globbed,
                         size_t size) {
  const char *kind = value_of(wishes, "pattern_type");
  if (value_of(wishes, "loop") || value_of(wishes, "ts_from_file") || (kind && !strcmp(kind, "none")))
    return false;
  pictures->is_glob = true;
  if (kind && !strcmp(kind, "glob"))
    return (size_t)snprintf(globbed, size, "%s", path) < size;
  if ((!kind || strcmp(kind, "sequence")) && pictures_unmark_glob(path, globbed, size))
    return true;
  pictures->is_glob = false;
  return av_filename_number_test(path) && pictures_glob(path, globbed, size, &pictures->number_at);
}

static bool is_there(const char *path) {
  struct platform_entry entry;
  return !platform_look(&entry, path);
}

static bool is_image2(const char *spec, const struct source_options *options) {
  const AVInputFormat *format = NULL;
  if (options->input_format)
    return !strcmp(options->input_format, "image2");
  format = ffmpeg_format_by_name(spec);
  /* FFmpeg reads a GIF whose name has a number placeholder as a sequence, unless a file with exactly this name
   * exists */
  if (av_match_ext(spec, "gif"))
    return av_filename_number_test(file_path(spec)) && !is_there(file_path(spec));
  return format && !strcmp(format->name, "image2");
}

/* Stores in pictures->options the user's options with which each picture is opened, without the options that concern
 * the sequence as a whole. Returns 0, or -1 without memory. */
static int keep_wishes(struct pictures *pictures, AVDictionary **wishes) {
  static const char *const of_list[] = {"start_number", "start_number_range"};
  for (size_t i = 0; i < sizeof of_list / sizeof *of_list; i++)
    av_dict_set(wishes, of_list[i], NULL, 0);
  if (av_dict_set(wishes, "pattern_type", "none", 0) < 0 ||
      av_dict_get_string(*wishes, &pictures->wishes, '=', ':') < 0)
    return -1;
  pictures->options.repeat = 0;
  pictures->options.input_format = "image2";
  pictures->options.input_options = pictures->wishes;
  return 0;
}

/* Appends a copy of the list for each further pass (--repeat); numbers and positions continue from one pass to the
 * next. Leaves out passes whose numbers would exceed INT_MAX. Returns 0, or -1 without memory. */
static int repeat_files(struct pictures *pictures) {
  size_t once = pictures->count;
  int64_t places = once ? pictures_end(pictures) : 0;
  for (int pass = 1; pass < pictures->options.repeat && once; pass++) {
    int64_t shift = pass * places;
    if (pictures->files[once - 1].number + shift > INT_MAX)
      return 0;
    for (size_t i = 0; i < once; i++) {
      if (add_file(pictures, pictures->files[i].path, pictures->files[i].number + (int)shift))
        return -1;
      pictures->files[pictures->count - 1].time = pictures->files[i].time + shift;
    }
  }
  return 0;
}

static int list_files(struct pictures *pictures, const char *globbed, const char *start) {
  struct listing listing = {pictures, start ? atol(start) : 0};
  if (platform_glob(globbed, take_name, &listing))
    return -1;
  if (pictures->count)
    order(pictures);
  return repeat_files(pictures);
}

int source_pictures_open(struct pictures **out, const char *spec, const struct source_options *options,
                         struct error *err) {
  char globbed[2 * PATH_MAX];
  AVDictionary *wishes = NULL;
  int failed = 0;
  *out = NULL;
  if (!protocols_is_file(spec) || !is_image2(spec, options) ||
      (options->input_options && av_dict_parse_string(&wishes, options->input_options, "=", ":", 0) < 0)) {
    av_dict_free(&wishes);
    return 0;
  }
  struct pictures *pictures = calloc(1, sizeof *pictures);
  if (!pictures || !(pictures->spec = strdup(spec)) || !(pictures->pattern = strdup(file_path(spec))))
    failed = no_memory(err);
  if (!failed && find_pattern(pictures, pictures->pattern, wishes, globbed, sizeof globbed)) {
    pictures->options = *options;
    pictures->newest = -1;
    if (list_files(pictures, globbed, value_of(wishes, "start_number")) || keep_wishes(pictures, &wishes))
      failed = no_memory(err);
    else if (pictures->count)
      *out = pictures;
  }
  av_dict_free(&wishes);
  if (!*out)
    source_pictures_close(&pictures);
  return failed ? -1 : 0;
}

void source_pictures_close(struct pictures **pointer) {
  struct pictures *pictures = *pointer;
  *pointer = NULL;
  if (!pictures)
    return;
  for (size_t i = 0; i < pictures->count; i++)
    free(pictures->files[i].path);
  free(pictures->files);
  free(pictures->spec);
  free(pictures->pattern);
  av_free(pictures->wishes);
  free(pictures);
}

/* --- reading pictures, and finding them by place and number --- */

/* Opens a picture's file as ffmpeg_open_input does. The codec is set by the file's content, because FFmpeg alone would
 * go by the file's name. */
static int open_file(const struct pictures *pictures, const struct picture_file *file, AVFormatContext **input,
                     struct error *err) {
  char url[PATH_MAX + 8];
  snprintf(url, sizeof url, "file:%s", file->path);
  if (ffmpeg_open_input(input, url, &pictures->options, NULL, NULL, err))
    return -1;
  enum AVCodecID codec = picture_codec_of(file->path);
  if (codec != AV_CODEC_ID_NONE && (*input)->nb_streams)
    (*input)->streams[0]->codecpar->codec_id = codec;
  return 0;
}

static bool is_readable(const struct pictures *pictures, const struct picture_file *file) {
  AVFormatContext *input = NULL;
  struct error ignored;
  if (open_file(pictures, file, &input, &ignored))
    return false;
  bool readable =
      avformat_find_stream_info(input, NULL) >= 0 && input->nb_streams && input->streams[0]->codecpar->width;
  avformat_close_input(&input);
  return readable;
}

int pictures_open_first(struct pictures *pictures, AVFormatContext **input, struct error *err) {
  size_t first = 0;
  while (first < pictures->count && !is_readable(pictures, &pictures->files[first]))
    first++;
  return open_file(pictures, &pictures->files[first < pictures->count ? first : 0], input, err);
}

void pictures_describe(const struct pictures *pictures, AVStream *stream) {
  stream->nb_frames = (int64_t)pictures->count;
  stream->duration = pictures_end(pictures);
}

/* Reads a picture as a packet. Returns 0 or an FFmpeg code. */
static int read_file(struct pictures *pictures, const struct picture_file *file, AVPacket *packet) {
  AVFormatContext *input = NULL;
  struct error ignored;
  if (open_file(pictures, file, &input, &ignored))
    return ignored.status == STATUS_FAILED ? AVERROR(ENOMEM) : AVERROR_INVALIDDATA;
  int code = av_read_frame(input, packet);
  pictures->codec = input->nb_streams ? input->streams[0]->codecpar->codec_id : AV_CODEC_ID_NONE;
  bool exr = code >= 0 && pictures->codec == AV_CODEC_ID_EXR;
  avformat_close_input(&input);
  if (code >= 0 && (!packet->size || (exr && !exr_is_whole(packet->data, (size_t)packet->size)))) {
    av_packet_unref(packet);
    return AVERROR_INVALIDDATA;
  }
  return code;
}

enum AVCodecID pictures_codec(const struct pictures *pictures) {
  return pictures->codec;
}

long pictures_number_at(const struct pictures *pictures, int64_t place) {
  return (long)place + (pictures->numbered ? pictures->files[0].number : 0);
}

bool pictures_are_wanted(const struct source_options *options, long number) {
  return options->step <= 1 || (number - options->step_from) % options->step == 0;
}

int pictures_read(struct pictures *pictures, AVPacket *packet) {
  while (pictures->next < pictures->count) {
    struct picture_file *file = &pictures->files[pictures->next++];
    if (!pictures_are_wanted(&pictures->options, pictures_number_at(pictures, file->time)))
      continue;
    int code = read_file(pictures, file, packet);
    if (code == AVERROR(ENOMEM))
      return code;
    if (code < 0) {
      file->state = is_there(file->path) ? PICTURE_UNREADABLE : PICTURE_MISSING;
      continue;
    }
    file->state = PICTURE_SENT;
    packet->stream_index = 0;
    packet->pts = packet->dts = file->time;
    packet->duration = 1;
    packet->pos = -1;
    packet->flags |= AV_PKT_FLAG_KEY;
    return 0;
  }
  return AVERROR_EOF;
}

size_t pictures_find_time(const struct pictures *pictures, int64_t time) {
  size_t low = 0, high = pictures->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (pictures->files[middle].time < time)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static struct picture_file *at_time(const struct pictures *pictures, int64_t time) {
  size_t i = pictures_find_time(pictures, time);
  return i < pictures->count && pictures->files[i].time == time ? &pictures->files[i] : NULL;
}

void pictures_seek(struct pictures *pictures, int64_t time) {
  pictures->next = pictures_find_time(pictures, time);
}

void pictures_note_given(struct pictures *pictures, int64_t time) {
  struct picture_file *file = at_time(pictures, time);
  if (file)
    file->state = PICTURE_GIVEN;
  if (time > pictures->newest)
    pictures->newest = time;
}

bool pictures_number(const struct pictures *pictures, int64_t time, int *number) {
  const struct picture_file *file = at_time(pictures, time);
  if (!file || !pictures->numbered)
    return false;
  *number = file->number;
  return true;
}

AVRational pictures_rate(const struct source_options *options) {
  AVDictionary *wishes = NULL;
  char text[64] = "25";
  AVRational rate = {25, 1};
  if (options->input_options)
    av_dict_parse_string(&wishes, options->input_options, "=", ":", 0);
  if (options->fps > 0)
    snprintf(text, sizeof text, "%.17g", options->fps);
  const char *wish = options->fps > 0 ? NULL : value_of(wishes, "framerate");
  if (av_parse_video_rate(&rate, wish ? wish : text) < 0)
    rate = (AVRational){25, 1};
  av_dict_free(&wishes);
  return rate;
}

/* Finds the numbers of the first and the last picture that --start and --duration select (rules: source_ffmpeg.c). */
bool pictures_part(const struct pictures *pictures, const struct source_options *options, long most, int *first,
                   int *last) {
  AVRational tick = av_inv_q(pictures_rate(options));
  int64_t begin = av_rescale_q((int64_t)(options->start * AV_TIME_BASE), AV_TIME_BASE_Q, tick);
  int64_t end = pictures_end_of_part(begin, options->duration, tick);
  size_t from = pictures_find_time(pictures, begin), to = pictures_find_time(pictures, end);
  if (most > 0 && from < to && to - from > (size_t)most)
    to = from + (size_t)most;
  if (!pictures->numbered || from >= to)
    return false;
  *first = pictures->files[from].number;
  *last = pictures->files[to - 1].number;
  return true;
}

int64_t pictures_end(const struct pictures *pictures) {
  return pictures->files[pictures->count - 1].time + 1;
}

int64_t pictures_place(const struct pictures *pictures, long number) {
  int64_t place = pictures->numbered ? (int64_t)number - pictures->files[0].number : number;
  return place > 0 ? place : 0;
}

bool pictures_after(const struct pictures *pictures, int64_t from, long count, int64_t *place) {
  size_t i = pictures_find_time(pictures, from);
  if ((size_t)count >= pictures->count - i)
    return false;
  *place = pictures->files[i + (size_t)count].time;
  return true;
}

int64_t pictures_end_of_part(int64_t begin, double duration, AVRational tick) {
  return duration > 0 ? begin + (int64_t)ceil(duration / av_q2d(tick) - 1e-6) : INT64_MAX;
}
