#include "app/source/frame_places.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <libavcodec/avcodec.h>

#include "app/platform/app_platform.h"
#include "app/source/device_wishes.h"
#include "app/source/ffmpeg_util.h"
#include "app/source/frame_clock.h"
#include "app/source/joins.h"
#include "app/source/list_cuts.h"
#include "app/source/picture_files.h"
#include "app/source/pipe_input.h"
#include "app/source/protocols.h"
#include "app/source/spec.h"

/* Seeks go this many seconds further back than the wanted frame, because pictures may be stored before their key frame
 * if they are not decoded in the order of showing. */
static const double seek_early_seconds = 1;

/* Time and duration of a packet that was read and still has to be ordered by time. */
struct waiting {
  int64_t time, duration;
};

struct frame_places {
  char *spec;
  struct source_options options;
  struct pictures *pictures; /* the pictures of a sequence; NULL: the input is no sequence */
  AVFormatContext *input;
  AVStream *video;
  AVPacket *packet;
  struct list_cuts cuts;
  struct joins joins;
  /* Set by frame_places_survey. joined: true: the input's time stamps begin again somewhere, so frames cannot be found
   * by seeking; joined_end: then the time of the last frame's end, in units of frame_places_tick */
  bool joined;
  int64_t joined_end;
  int64_t step; /* usual time between two frames, in units of frame_places_tick */
  /* Frames that were read but not returned yet. No frame with a time before `settled` is missing, because later packets
   * are shown after that time. */
  struct waiting *waiting;
  size_t count, capacity;
  int64_t settled;
  /* after a seek: frames before this time, in units of frame_places_tick, are left out, because packets of theirs may
   * lie before the seek's position */
  int64_t floor;
  /* time of the frame that the caller got last, in units of frame_places_tick; FRAME_TIME_NONE: none yet */
  int64_t last;
  int64_t untimed; /* number of packets without a time */
  long numbered;   /* number of frames, from the input's beginning, that the last call of frame_places_number has
                    * counted */
  bool sought, ended;
};

static int no_memory(const struct frame_places *places, struct error *err) {
  return error_set(err, STATUS_FAILED, "no memory to find the frames of %s", places->spec);
}

/* --- opening and closing the input --- */

static int find_video(struct frame_places *places, struct error *err) {
  char reason[128];
  int code = avformat_find_stream_info(places->input, NULL);
  int index = code < 0 ? code : av_find_best_stream(places->input, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
  if (index < 0)
    return error_set(err, code == AVERROR(ENOMEM) ? STATUS_FAILED : STATUS_INPUT, "%s: there is no video in it: %s",
                     places->spec, ffmpeg_reason(index, reason));
  places->video = places->input->streams[index];
  for (unsigned i = 0; i < places->input->nb_streams; i++)
    if ((int)i != index)
      places->input->streams[i]->discard = AVDISCARD_ALL;
  AVRational rate = av_guess_frame_rate(places->input, places->video, NULL);
  double fps = rate.num > 0 && rate.den > 0 ? av_q2d(rate) : 0;
  int64_t step = fps > 0 ? llrint(1 / (fps * av_q2d(places->video->time_base))) : 1;
  places->step = step < 1 ? 1 : step;
  return 0;
}

/* Resets the state of reading, which then begins at the input's present position. sought: true: a seek has led
 * there. */
static void begin_here(struct frame_places *places, bool sought) {
  places->count = 0;
  places->settled = places->floor = INT64_MIN;
  places->last = FRAME_TIME_NONE;
  places->untimed = 0;
  places->sought = sought;
  places->ended = false;
  joins_restart(&places->joins);
}

/* Opens the input at its beginning, and closes it first if it is open. Returns 0, or -1 with err. */
static int open_input(struct frame_places *places, struct error *err) {
  avformat_close_input(&places->input);
  list_cuts_free(&places->cuts);
  if (ffmpeg_open_input(&places->input, places->spec, &places->options, NULL, NULL, err) || find_video(places, err))
    return -1;
  if (list_cuts_read(&places->cuts, places->input))
    return no_memory(places, err);
  joins_begin(&places->joins, places->input, places->video);
  begin_here(places, false);
  return 0;
}

static bool names_device(const struct source_options *options) {
  const AVInputFormat *format = options->input_format ? av_find_input_format(options->input_format) : NULL;
  return options->input_format && (!format || device_is_input(format));
}

/* True if `spec` is the path of a folder, or can only be the path of a file that does not exist, because it is neither
 * a word such as "camera" nor an address. */
static bool is_folder_or_missing(const char *spec, const struct source_options *options) {
  struct platform_entry entry;
  char resolved[SPEC_MAX];
  if (!protocols_is_file(spec) || names_device(options) || spec_resolve(spec, resolved, NULL) ||
      strcmp(spec, resolved) != 0 || !strcmp(spec, "camera") || !strcmp(spec, "pattern"))
    return false;
  if (!platform_look(&entry, file_path(spec)))
    return entry.kind == ENTRY_FOLDER;
  return errno == ENOENT || errno == ENOTDIR;
}

bool frame_places_knows(const char *spec, const struct source_options *options) {
  if (!strncmp(spec, "lavfi:", 6))
    return !strstr(spec, "realtime");
  if (pipe_input_is(spec))
    return false;
  return ffmpeg_can_reopen(spec, options) || (protocols_is_file(spec) && strpbrk(spec, "%*?[")) ||
         is_folder_or_missing(spec, options);
}

int frame_places_open(struct frame_places **out, const char *spec, const struct source_options *options,
                      struct error *err) {
  struct frame_places *places = *out = calloc(1, sizeof *places);
  if (!places || !(places->spec = strdup(spec)) || !(places->packet = av_packet_alloc())) {
    frame_places_close(out);
    return error_set(err, STATUS_FAILED, "no memory to find the frames of %s", spec);
  }
  places->options = *options;
  places->options.start = places->options.duration = 0;
  int status = source_pictures_open(&places->pictures, spec, &places->options, err);
  if (!status && !places->pictures)
    status = open_input(places, err);
  if (status)
    frame_places_close(out);
  return status;
}

void frame_places_close(struct frame_places **pointer) {
  struct frame_places *places = *pointer;
  *pointer = NULL;
  if (!places)
    return;
  source_pictures_close(&places->pictures);
  avformat_close_input(&places->input);
  list_cuts_free(&places->cuts);
  av_packet_free(&places->packet);
  free(places->waiting);
  free(places->spec);
  free(places);
}

/* --- facts that are known without reading packets --- */

bool frame_places_is_sequence(const struct frame_places *places) {
  return places->pictures;
}

static AVRational tick_of(const struct frame_places *places) {
  return places->pictures ? av_inv_q(pictures_rate(&places->options)) : places->video->time_base;
}

void frame_places_tick(const struct frame_places *places, int64_t *num, int64_t *den) {
  *num = tick_of(places).num;
  *den = tick_of(places).den;
}

/* Returns the time from which source_options.start is counted, in microseconds. */
static int64_t clock_us(const struct frame_places *places) {
  return places->pictures ? 0 : ffmpeg_clock(places->input);
}

int64_t frame_places_step(const struct frame_places *places) {
  return places->pictures ? 1 : places->step;
}

double frame_places_length(const struct frame_places *places) {
  const AVStream *video = places->video;
  if (places->pictures)
    return (double)pictures_end(places->pictures) * av_q2d(tick_of(places));
  if (places->joined)
    return (double)places->joined_end * av_q2d(video->time_base) - (double)clock_us(places) * 1e-6;
  if (video->duration > 0 && video->start_time != AV_NOPTS_VALUE)
    return (double)(video->start_time + video->duration) * av_q2d(video->time_base) - (double)clock_us(places) * 1e-6;
  if (video->duration > 0)
    return (double)video->duration * av_q2d(video->time_base);
  return places->input->duration > 0 ? (double)places->input->duration / AV_TIME_BASE : 0;
}

int64_t frame_places_from_start(const struct frame_places *places, double start) {
  return av_rescale_q(clock_us(places) + llrint(start * AV_TIME_BASE), AV_TIME_BASE_Q, tick_of(places));
}

/* Returns the source_options.start, in seconds, for a frame's time. It is rounded down to microseconds, as the source
 * rounds it. If the unit of frame times is longer than a microsecond, the source gets exactly the frame's time back;
 * otherwise a time at or before it, so that the frame is not left out. */
double frame_places_to_start(const struct frame_places *places, int64_t time) {
  int64_t us = av_rescale_q_rnd(time, tick_of(places), AV_TIME_BASE_Q, AV_ROUND_DOWN) - clock_us(places);
  return (double)us / AV_TIME_BASE;
}

int64_t frame_places_origin(const struct frame_places *places, double start) {
  int64_t us = places->pictures ? llrint(start * AV_TIME_BASE) : ffmpeg_origin(places->input, start);
  return av_rescale_q(us, AV_TIME_BASE_Q, tick_of(places));
}

/* --- reading packets, and ordering them by the times at which they are shown --- */

static bool is_stopped(const struct frame_places *places) {
  return places->options.stop && atomic_load(places->options.stop);
}

/* Returns the packet's time. Packets without times are counted, and get times at the video's usual frame rate, as in
 * the source that decodes them. */
static int64_t time_of(struct frame_places *places, const AVPacket *packet) {
  if (packet->pts != AV_NOPTS_VALUE)
    return packet->pts;
  return packet->dts != AV_NOPTS_VALUE ? packet->dts : places->untimed++ * places->step;
}

static int add_packet(struct frame_places *places, const AVPacket *packet, struct error *err) {
  if (places->count == places->capacity) {
    size_t capacity = places->capacity ? 2 * places->capacity : 64;
    struct waiting *waiting = realloc(places->waiting, capacity * sizeof *waiting);
    if (!waiting)
      return no_memory(places, err);
    places->waiting = waiting;
    places->capacity = capacity;
  }
  int64_t time = time_of(places, packet);
  bool in_order = !places->video->codecpar->video_delay;
  int64_t decoded = packet->dts != AV_NOPTS_VALUE ? packet->dts : in_order ? time : AV_NOPTS_VALUE;
  if (places->sought && places->floor == INT64_MIN && packet->flags & AV_PKT_FLAG_KEY)
    places->floor = time;
  places->waiting[places->count++] = (struct waiting){time, packet->duration};
  if (decoded != AV_NOPTS_VALUE && decoded > places->settled)
    places->settled = decoded;
  return 0;
}

/* Reads one packet. Returns 0, also at the end, or -1 with err. */
static int read_packet(struct frame_places *places, struct error *err) {
  int status = 0;
  if (is_stopped(places))
    return error_set(err, STATUS_INTERRUPTED, "interrupted");
  if (av_read_frame(places->input, places->packet) < 0) {
    places->ended = true;
    return 0;
  }
  list_cuts_mark(&places->cuts, places->input, places->packet);
  if (places->packet->stream_index == places->video->index) {
    joins_note(&places->joins, places->packet);
    joins_shift(&places->joins, places->packet);
    if (!(places->packet->flags & AV_PKT_FLAG_DISCARD))
      status = add_packet(places, places->packet, err);
  }
  av_packet_unref(places->packet);
  return status;
}

/* Returns the frame in places->waiting that is shown first; NULL: the list is empty. */
static struct waiting *earliest(const struct frame_places *places) {
  struct waiting *first = NULL;
  for (size_t i = 0; i < places->count; i++)
    if (!first || places->waiting[i].time < first->time)
      first = &places->waiting[i];
  return first;
}

/* Stores the next frame in the order in which frames are shown. Returns 1, 0 at the end, or -1 with err. */
static int next_frame(struct frame_places *places, struct waiting *frame, struct error *err) {
  for (;;) {
    struct waiting *first = earliest(places);
    if (!first && places->ended)
      return 0;
    if (!first || (first->time > places->settled && !places->ended)) {
      if (read_packet(places, err))
        return -1;
      continue;
    }
    *frame = *first;
    *first = places->waiting[--places->count];
    if (frame->time < places->floor || (places->last != FRAME_TIME_NONE && frame->time <= places->last))
      continue;
    places->last = frame->time;
    return 1;
  }
}

int frame_places_survey(struct frame_places *places, bool *joined, struct error *err) {
  struct waiting frame;
  int64_t end = 0;
  int got = 0;
  *joined = false;
  if (places->pictures || !places->joins.watches || !places->joins.leaps)
    return 0;
  while ((got = next_frame(places, &frame, err)) > 0)
    end = frame.time + (frame.duration > 0 ? frame.duration : places->step);
  *joined = places->joined = got >= 0 && places->joins.newest > 0;
  places->joined_end = end;
  return got < 0 ? -1 : open_input(places, err);
}

/* Seeks to a key frame at or before `time`, in the stream's time base. Instead, opens the input again at its first
 * frame if `time` is near the beginning, if the input's time stamps restart somewhere, if the source reads without
 * seeking (options.reads_up), or if seeking fails. Returns 0, or -1 with err. */
static int go_before(struct frame_places *places, int64_t time, struct error *err) {
  bool unsure;
  double tick = av_q2d(places->video->time_base), seconds = (double)time * tick - (double)clock_us(places) * 1e-6;
  if (seconds <= seek_early_seconds || places->joined || places->options.reads_up)
    return open_input(places, err);
  int code = ffmpeg_seeks_blindly(places->input)
                 ? ffmpeg_seek_blindly(places->input, places->video, time, seconds, &unsure)
                 : av_seek_frame(places->input, places->video->index, time - llrint(seek_early_seconds / tick),
                                 AVSEEK_FLAG_BACKWARD);
  if (code < 0)
    return open_input(places, err);
  begin_here(places, true);
  return 0;
}

/* --- finding frames by time and by number --- */

/* Reads on from the present position. Finds the last frame before `wanted` (*before) and the time *after of the next
 * one; if there is no next frame, *after is the end of the last one and *after_is_frame is false. Returns 1; 0 if there
 * is no frame before `wanted`; or -1 with err. */
static int find_around(struct frame_places *places, int64_t wanted, struct waiting *before, int64_t *after,
                       bool *after_is_frame, struct error *err) {
  struct waiting frame;
  bool any = false;
  int got;
  while ((got = next_frame(places, &frame, err)) > 0 && frame.time < wanted) {
    *before = frame;
    any = true;
  }
  if (got < 0)
    return -1;
  *after_is_frame = got > 0;
  *after = got > 0 ? frame.time : any ? before->time + (before->duration > 0 ? before->duration : places->step) : 0;
  return any;
}

static int nearest_in_file(struct frame_places *places, int64_t wanted, int64_t *time, struct error *err) {
  struct waiting before = {0};
  int64_t after = 0;
  bool is_frame = false;
  if (go_before(places, wanted, err))
    return -1;
  int got = find_around(places, wanted, &before, &after, &is_frame, err);
  if (!got && places->sought) { /* the seek has led too far, so the file is read from its beginning */
    if (open_input(places, err))
      return -1;
    got = find_around(places, wanted, &before, &after, &is_frame, err);
  }
  if (got < 0)
    return -1;
  if (got && wanted - before.time < after - wanted) {
    *time = before.time;
    return 1;
  }
  *time = after;
  return is_frame;
}

int frame_places_nearest(struct frame_places *places, int64_t wanted, int64_t *time, struct error *err) {
  if (!places->pictures)
    return nearest_in_file(places, wanted, time, err);
  int64_t end = pictures_end(places->pictures);
  /* in a picture sequence the time is the picture's number, so a number whose file is missing is a valid time, too */
  *time = wanted < end ? wanted : end;
  return wanted < end;
}

/* Reads on, skips `count` of the frames that are not before `from`, and stores the time of the frame after them.
 * Returns 1; 0 if the input ends before that frame; or -1 with err. */
static int skip(struct frame_places *places, int64_t from, long count, int64_t *time, struct error *err) {
  struct waiting frame = {0};
  int got;
  while ((got = next_frame(places, &frame, err)) > 0)
    if (frame.time >= from && count-- <= 0)
      break;
  *time = frame.time;
  return got;
}

int frame_places_number(struct frame_places *places, long number, int64_t *time, struct error *err) {
  struct waiting frame = {0};
  int got;
  if (places->pictures) {
    *time = pictures_place(places->pictures, number);
    return *time < pictures_end(places->pictures);
  }
  if (open_input(places, err))
    return -1;
  places->numbered = 0;
  while ((got = next_frame(places, &frame, err)) > 0 && places->numbered < number)
    places->numbered++;
  *time = frame.time;
  return got;
}

void frame_places_ends(const struct frame_places *places, long *first, long *last) {
  *first = places->pictures ? pictures_number_at(places->pictures, 0) : 0;
  *last = places->pictures ? pictures_number_at(places->pictures, pictures_end(places->pictures) - 1)
                           : places->numbered - 1;
}

int frame_places_after(struct frame_places *places, int64_t from, long count, int64_t *time, struct error *err) {
  if (places->pictures)
    return pictures_after(places->pictures, from, count, time);
  if (go_before(places, from, err))
    return -1;
  int got = skip(places, from, 0, time, err);
  if (got > 0 && places->floor > from) /* the seek has led too far: read from the beginning */
    got = open_input(places, err) ? -1 : skip(places, from, 0, time, err);
  return got > 0 && count > 0 ? skip(places, INT64_MIN, count - 1, time, err) : got;
}

int frame_places_at(struct frame_places *places, int64_t from, int64_t *time, struct error *err) {
  return places->pictures ? pictures_after(places->pictures, from, 0, time) : skip(places, from, 0, time, err);
}

bool frame_places_are_wanted(const struct frame_places *places, const struct source_options *options, int64_t time) {
  return !places->pictures || pictures_are_wanted(options, pictures_number_at(places->pictures, time));
}
