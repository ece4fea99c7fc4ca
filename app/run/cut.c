#include "app/run/cut.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/sink/part.h"
#include "app/sink/sink.h"
#include "app/sink/target.h"
#include "app/source/frame_places.h"
#include "app/source/picture_files.h"
#include "app/source/protocols.h"
#include "unet/base/address.h"

/* Least value, in seconds, of source_options.start here. A start of 0 would leave the input's time stamps as they are;
 * with any greater start, the first frame gets time 0 in the output. */
static const double least_start = 1e-9;

/* A time interval of the input, in units of frame.pts, whose ends lie between two frames. begins: false: the interval
 * begins where the input does, and `begin` is unused; open: true: it ends where the input does, and `end` is unused. */
struct interval {
  bool begins, open;
  int64_t begin, end;
};

struct cutting {
  const struct options *options;
  struct source_options *source;
  struct frame_places *places;
};

/* Opens c->places. surveys: true: reads the whole input to find jumps in its time stamps; if there are any, the source
 * must read the input from its beginning. Returns 0, or -1 with err; the caller closes c->places. */
static int open_places(struct cutting *c, bool surveys, struct error *err) {
  bool joined = false;
  if (frame_places_open(&c->places, c->options->input, c->source, err))
    return -1;
  if (surveys && frame_places_survey(c->places, &joined, err)) {
    frame_places_close(&c->places);
    return -1;
  }
  c->source->reads_up |= joined;
  return 0;
}

/* Returns the length in seconds of an interval of frame times, which must have an end. */
static double length_of(const struct cutting *c, const struct interval *interval) {
  int64_t num, den, begin = interval->begins ? interval->begin : frame_places_origin(c->places, 0);
  frame_places_tick(c->places, &num, &den);
  return (double)(interval->end - begin) * (double)num / (double)den;
}

static double seconds_of(const struct cutting *c, int64_t time) {
  return frame_places_to_start(c->places, time);
}

/* Rounds a user's time, in seconds as for --start, to the nearest frame's time, and stores it in *time. A time inside a
 * frame that is shown for longer than usual is not rounded. Returns 1; 0, with the last frame's end in *time, if that
 * end is nearest; or -1 with err. */
static int round_time(const struct cutting *c, double wanted, int64_t *time, struct error *err) {
  int64_t exact = frame_places_from_start(c->places, wanted);
  int got = frame_places_nearest(c->places, exact, time, err);
  bool stands = got >= 0 && (got || exact < *time) && 2 * llabs(*time - exact) > frame_places_step(c->places);
  if (stands) {
    *time = exact;
    return 1;
  }
  return got;
}

bool cut_asks_for_shard(const struct options *options) {
  return options->shard.count || options->shard.range.given;
}

static bool differ(double one, double other) {
  return fabs(one - other) > 1.5e-6;
}

/* --- which frames of the input the whole render (the job) has --- */

/* A text for messages, such as "--range 1-50". */
struct range_text {
  char text[80];
};

static struct range_text range_text(const char *option, const struct option_range *range) {
  struct range_text text;
  char last[24] = "", step[24] = "";
  if (range->last >= 0)
    snprintf(last, sizeof last, "%ld", range->last);
  if (range->step > 1)
    snprintf(step, sizeof step, ":%ld", range->step);
  snprintf(text.text, sizeof text.text, "--%s %ld-%s%s", option, range->first, last, step);
  return text;
}

/* A text for messages, such as "the pictures of in/%04d.png have the numbers 101 to 120". */
struct numbers_text {
  char text[300];
};

static struct numbers_text numbers_text(const struct cutting *c) {
  struct numbers_text text;
  struct shown name = address_shown(c->options->input);
  long first, last;
  frame_places_ends(c->places, &first, &last);
  if (last < first)
    snprintf(text.text, sizeof text.text, "%.200s has no frame", name.text);
  else
    snprintf(text.text, sizeof text.text, "the %s of %.200s have the numbers %ld to %ld",
             frame_places_is_sequence(c->places) ? "pictures" : "frames", name.text, first, last);
  return text;
}

static int none_there(const struct cutting *c, const char *option, const struct option_range *range,
                      struct error *err) {
  return error_set(err, STATUS_INPUT, "%s: none of these is there: %s", range_text(option, range).text,
                   numbers_text(c).text);
}

/* Logs a warning if the range names frames before the input's first one or beyond its last one. ends_later: true: the
 * range ends later than the input; then frame_places_ends knows the input's last frame even if the input is a file. */
static void tell_partly_there(const struct cutting *c, const char *option, const struct option_range *range,
                              bool ends_later) {
  long first = 0, last = range->last, there = -1;
  if (ends_later || frame_places_is_sequence(c->places))
    frame_places_ends(c->places, &first, &there);
  if (ends_later && last > there)
    last = there;
  if (first < range->first)
    first = range->first;
  if (first == range->first && last == range->last)
    return;
  if (last < 0)
    log_line(c->source->log, LOG_WARNING, "%s: only those from %ld on are there: %s", range_text(option, range).text,
             first, numbers_text(c).text);
  else
    log_line(c->source->log, LOG_WARNING, "%s: only %ld to %ld are there: %s", range_text(option, range).text, first,
             last, numbers_text(c).text);
}

/* Stores the time interval of the frames that a range of frame numbers names. option: the option's name, for messages.
 * Returns 1; 0 if the input begins after all of these frames or ends before them; or -1 with err. */
static int find_range(const struct cutting *c, const char *option, const struct option_range *range,
                      struct interval *found, struct error *err) {
  *found = (struct interval){.begins = true, .open = true};
  int got = frame_places_number(c->places, range->first, &found->begin, err);
  if (got > 0 && range->last >= 0) {
    int beyond = frame_places_number(c->places, range->last + 1, &found->end, err);
    found->open = beyond <= 0;
    got = beyond < 0 ? -1 : found->open || found->begin < found->end;
  }
  if (got > 0)
    tell_partly_there(c, option, range, found->open && range->last >= 0);
  return got;
}

/* Stores the time interval that --range selects. Returns 1, or -1 with err, also if no frame is in it. */
static int find_job_range(const struct cutting *c, struct interval *found, struct error *err) {
  int got = find_range(c, "range", &c->options->range, found, err);
  return got ? got : none_there(c, "range", &c->options->range, err);
}

/* Stores the time interval that --start and --duration select. Returns 1; 0 if the input ends before --start; or -1
 * with err. */
static int find_times(const struct cutting *c, struct interval *found, struct error *err) {
  const struct options *options = c->options;
  *found = (struct interval){.open = true};
  if (options->start > 0) {
    int got = round_time(c, options->start, &found->begin, err);
    if (got < 0)
      return -1;
    found->begins = got > 0;
    if (!got)
      return 0;
    if (differ(seconds_of(c, found->begin), options->start))
      log_line(c->source->log, LOG_WARNING, "the render begins at %.6f s, with the frame nearest to --start %.6f",
               seconds_of(c, found->begin), options->start);
  }
  if (options->duration > 0) {
    int got = round_time(c, options->start + options->duration, &found->end, err);
    if (got < 0)
      return -1;
    found->open = !got;
    double lasts = length_of(c, found);
    if (got && differ(lasts, options->duration))
      log_line(c->source->log, LOG_WARNING, "the render lasts %.6f s, to the end of a frame, in place of %.6f s", lasts,
               options->duration);
  }
  if (!found->open && found->begins && found->end <= found->begin)
    return error_set(err, STATUS_USAGE, "--duration %g: no frame begins in that time", options->duration);
  return 1;
}

static void cut_short(struct interval *interval, int64_t end) {
  if (interval->open || end < interval->end)
    interval->end = end;
  interval->open = false;
}

/* Finds which part of the input the whole render covers, including other processes' shards. Stores the interval in
 * *job, and the time of its first frame in *first. Returns 1; 0 if there is no frame, which opening the source will
 * report; or -1 with err. */
static int find_job(const struct cutting *c, struct interval *job, int64_t *first, struct error *err) {
  const struct options *options = c->options;
  int64_t end;
  int got = options->range.given ? find_job_range(c, job, err) : find_times(c, job, err);
  if (got > 0)
    got = frame_places_after(c->places, job->begins ? job->begin : INT64_MIN, 0, first, err);
  if (got <= 0)
    return got;
  got = options->frames ? frame_places_after(c->places, *first, options->frames, &end, err) : 0;
  if (got > 0)
    cut_short(job, end);
  return got < 0 ? -1 : 1;
}

/* --- which of the render's frames this process makes (--shard) --- */

/* Stores in *border where part `index` (from 0) of `count` equal parts of the render begins: at the frame nearest to
 * index / count of the render's duration or, for a picture sequence, of its number of pictures. first, end: times of
 * the render's first frame and of its end. Returns 1; 0, with *border = end, if the end is nearest and no frame is left
 * for this part; or -1 with err. */
static int find_border(const struct cutting *c, long index, int64_t first, int64_t end, int64_t *border,
                       struct error *err) {
  long count = c->options->shard.count;
  int64_t place;
  if (!frame_places_is_sequence(c->places)) {
    int64_t wanted = first + (int64_t)((double)(end - first) * (double)index / (double)count);
    int got = frame_places_nearest(c->places, wanted, border, err);
    if (got > 0 && *border < end)
      return 1;
    *border = end;
    return got < 0 ? -1 : 0;
  }
  long pictures = 0;
  while (frame_places_after(c->places, first, pictures, &place, err) > 0 && place < end)
    pictures++;
  return frame_places_after(c->places, first, pictures * index / count, border, err);
}

/* Stores the time interval of the part that --shard I/N selects. Returns 1; 0 if no frame is in it, because there are
 * fewer frames than parts; or -1 with err. */
static int find_share(const struct cutting *c, const struct interval *job, int64_t first, struct interval *part,
                      struct error *err) {
  const struct option_shard *shard = &c->options->shard;
  double length = frame_places_length(c->places);
  int64_t end = job->open ? frame_places_from_start(c->places, length) : job->end;
  if (job->open && length <= 0)
    return error_set(err, STATUS_INPUT, "--shard %ld/%ld: how long %s is it does not say; give --shard A-B",
                     shard->index, shard->count, address_shown(c->options->input).text);
  *part = *job;
  part->begins = true;
  part->begin = first;
  int begun = shard->index > 1 ? find_border(c, shard->index - 1, first, end, &part->begin, err) : 1;
  int ended = shard->index < shard->count ? find_border(c, shard->index, first, end, &part->end, err) : 0;
  if (begun < 0 || ended < 0)
    return -1;
  part->open = job->open && !ended;
  if (begun && (part->open || part->begin < part->end))
    return 1;
  log_line(c->source->log, LOG_WARNING, "--shard %ld/%ld: there is nothing to do: there are fewer frames than shards",
           shard->index, shard->count);
  return 0;
}

/* Stores the time interval of the part of the whole render that --shard A-B selects. Returns 1; 0 if no frame of the
 * render is in it; or -1 with err. */
static int find_numbers(const struct cutting *c, const struct interval *job, int64_t first, struct interval *part,
                        struct error *err) {
  const struct option_range *range = &c->options->shard.range;
  int got = find_range(c, "shard", range, part, err);
  if (got < 0)
    return -1;
  if (!got) {
    log_line(c->source->log, LOG_WARNING, "%s: there is nothing to do: %s", range_text("shard", range).text,
             numbers_text(c).text);
    return 0;
  }
  if (part->begin < first)
    part->begin = first;
  if (!job->open)
    cut_short(part, job->end);
  if (part->open || part->begin < part->end)
    return 1;
  log_line(c->source->log, LOG_WARNING, "%s: there is nothing to do: no frame of the job is in it",
           range_text("shard", range).text);
  return 0;
}

static int find_shard(const struct cutting *c, const struct interval *job, int64_t first, struct interval *part,
                      struct error *err) {
  return c->options->shard.count ? find_share(c, job, first, part, err) : find_numbers(c, job, first, part, err);
}

/* Fails if all pictures of a sequence that the user has selected by number are missing, or are left out by the step of
 * --range. Does not fail for a shard with a file of its own: the command join needs a file for every shard, even an
 * empty one. */
static int check_pictures(const struct cutting *c, const struct interval *part, struct error *err) {
  const struct options *options = c->options;
  int64_t time = 0;
  bool found = false;
  if (!frame_places_is_sequence(c->places) ||
      (cut_asks_for_shard(options) && sink_has_part(options->output, options->output_format)))
    return 0;
  for (long i = 0; !found && frame_places_after(c->places, part->begin, i, &time, err) > 0; i++) {
    if (!part->open && time >= part->end)
      break;
    found = frame_places_are_wanted(c->places, c->source, time);
  }
  bool shard = options->shard.range.given;
  if (found || (!shard && !options->range.given))
    return 0;
  return error_set(err, STATUS_INPUT, "%s: %s has no picture with one of these numbers",
                   range_text(shard ? "shard" : "range", shard ? &options->shard.range : &options->range).text,
                   address_shown(options->input).text);
}

/* --- options with which the source gives only the chosen frames --- */

static void settle(const struct cutting *c, const struct interval *interval, double *start, double *duration) {
  int64_t num, den;
  frame_places_tick(c->places, &num, &den);
  if (interval->begins)
    *start = fmax(frame_places_to_start(c->places, interval->begin), least_start);
  double origin = (double)frame_places_origin(c->places, *start);
  *duration = interval->open ? 0 : ((double)interval->end - origin) * (double)num / (double)den;
}

/* Makes the source begin and end with the part that this process renders. Computes the offsets that turn times of that
 * source into times in the whole render. */
static void place(struct cut *cut, const struct cutting *c, const struct interval *part) {
  settle(c, part, &c->source->start, &c->source->duration);
  frame_places_tick(c->places, &cut->tick_num, &cut->tick_den);
  double tick = (double)cut->tick_num / (double)cut->tick_den;
  int64_t origin = frame_places_origin(c->places, cut->job_start);
  int64_t begin = frame_places_origin(c->places, c->source->start);
  cut->shift = begin - cut->first;
  cut->output_shift = begin - origin;
  cut->output_first = cut->first - origin;
  cut->job_first = (double)(cut->first - origin) * tick;
  cut->later = (double)(begin - origin) * tick;
}

static int choose(struct cut *cut, const struct cutting *c, struct error *err) {
  struct interval job = {0}, part;
  const struct options *options = c->options;
  bool is_shard = cut_asks_for_shard(options);
  if (options->range.step > 1 && !frame_places_is_sequence(c->places))
    return error_set(err, STATUS_USAGE, "--range: a step of %ld can be taken only of a picture sequence",
                     options->range.step);
  c->source->step = options->range.step > 1 ? options->range.step : 0;
  c->source->step_from = options->range.first;
  int got = find_job(c, &job, &cut->first, err);
  part = job;
  bool any = got > 0;
  if (any && is_shard)
    got = find_shard(c, &job, cut->first, &part, err);
  cut->is_empty = any && !got;
  if (got < 0 || cut->is_empty)
    return got;
  cut->known = true;
  cut->is_shard = is_shard;
  cut->is_sequence = frame_places_is_sequence(c->places);
  cut->begins_later = is_shard && part.begin > cut->first;
  cut->begin = part.begins ? part.begin : cut->first;
  cut->part_begin = cut->begin;
  cut->end = part.end;
  cut->open = part.open;
  cut->job_ends = !job.open;
  cut->job_end = job.end;
  settle(c, &job, &cut->job_start, &cut->job_duration);
  place(cut, c, &part);
  return any ? check_pictures(c, &part, err) : 0;
}

/* Fails if options contradict each other, or if an option needs to find frames of the input and this is impossible.
 * option: the name of --range or --shard; NULL: neither is given. knows: true: frames of the input can be found
 * (frame_places_knows). */
static int check(const struct options *options, const char *option, bool knows, struct error *err) {
  if (options->range.given && (options->start > 0 || options->duration > 0))
    return error_set(err, STATUS_USAGE, "--range: it says where to begin and to end, as --start and --duration do");
  const char *needs = option ? option : options->resume ? "resume" : NULL;
  return needs && !knows ? error_set(err, STATUS_USAGE, "--%s: %s cannot be read twice, as finding its frames needs",
                                     needs, address_shown(options->input).text)
                         : 0;
}

int cut_choose(struct cut *cut, const struct options *options, struct source_options *source, struct error *err) {
  struct cutting c = {options, source, NULL};
  const char *option = options->range.given ? "range" : cut_asks_for_shard(options) ? "shard" : NULL;
  *cut = (struct cut){.job_start = source->start, .job_duration = source->duration, .open = source->duration <= 0};
  bool knows = frame_places_knows(options->input, source);
  if (check(options, option, knows, err))
    return -1;
  if (!option && options->start <= 0 && options->duration <= 0)
    return 0;
  /* Without --range and --shard, times are rounded to frames only for files. Frames of a stream could be found only by
   * reading it at its own pace. */
  if (!option && (!knows || !protocols_is_file(options->input)))
    return 0;
  if (open_places(&c, option || options->resume, err))
    return -1;
  int status = choose(cut, &c, err);
  frame_places_close(&c.places);
  return status;
}

double cut_clock(struct cut *cut, double seconds, double tick) {
  int64_t pts = tick > 0 ? llrint(seconds / tick) : 0;
  if (!cut->known)
    cut->shift = -pts;
  cut->known = true;
  return (double)(pts + cut->shift) * tick;
}

/* --- name of the output file of one shard --- */

int cut_name(char name[CUT_NAME_MAX], const char **container, const struct options *options, struct error *err) {
  const struct option_shard *shard = &options->shard;
  const char *spec = options->output;
  struct target target;
  *container = options->output_format;
  bool fits = (size_t)snprintf(name, CUT_NAME_MAX, "%s", spec) < CUT_NAME_MAX;
  if (fits && (!cut_asks_for_shard(options) || !strncmp(spec, "hash:", 5) || !strcmp(spec, "null:")))
    return 0;
  if (target_choose(&target, spec, options->output_format, err))
    return -1;
  if (fits && !part_is_for(&target))
    return 0;
  *container = target.container->name;
  if (shard->count)
    fits = snprintf(name, CUT_NAME_MAX, "%s.shard-%ld-of-%ld", spec, shard->index, shard->count) < CUT_NAME_MAX;
  else
    fits = snprintf(name, CUT_NAME_MAX, "%s.shard-%ld-%ld", spec, shard->range.first, shard->range.last) < CUT_NAME_MAX;
  return fits ? 0 : error_set(err, STATUS_OUTPUT, "%.80s...: the name is too long", spec);
}

/* --- walking through the times of all frames of the render, also those that other processes (--shard) render --- */

struct cut_walk {
  struct frame_places *places;
  struct source_options source;
  const struct cut *cut;
  int64_t next; /* time of the next frame; valid if `any` */
  bool any;     /* true: `next` is the time of a frame; false: the list has ended */
  double tick;
};

/* Finds the first frame at `from` or later that the whole render (with all its shards) makes a picture of, and stores
 * its time in walk->next. Both times are in the stream's time base. walk->any becomes false if there is no such frame.
 * Returns 0, or -1 with err. */
static int walk_on(struct cut_walk *walk, int64_t from, struct error *err) {
  int got = frame_places_at(walk->places, from, &walk->next, err);
  while (got > 0 && !frame_places_are_wanted(walk->places, &walk->source, walk->next))
    got = frame_places_at(walk->places, walk->next + 1, &walk->next, err);
  walk->any = got > 0;
  return got < 0 ? -1 : 0;
}

int cut_walk_begin(struct cut_walk **out, const struct cut *cut, const struct options *options,
                   const struct source_options *source, struct error *err) {
  struct cut_walk *walk = *out = calloc(1, sizeof *walk);
  if (!walk)
    return error_set(err, STATUS_FAILED, "no memory to find the frames of %s", options->input);
  walk->cut = cut;
  walk->source = *source;
  walk->tick = (double)cut->tick_num / (double)cut->tick_den;
  int status = frame_places_open(&walk->places, options->input, source, err);
  int64_t first;
  if (!status)
    status = frame_places_after(walk->places, cut->first, 0, &first, err) < 0;
  walk->next = cut->first;
  walk->any = true;
  if (status)
    cut_walk_end(out);
  return status ? -1 : 0;
}

int cut_walk_next(struct cut_walk *walk, double seconds, double *time, struct error *err) {
  *time = (double)(walk->next - walk->cut->first) * walk->tick;
  if (!walk->any || *time >= seconds)
    return 0;
  return walk_on(walk, walk->next + 1, err) ? -1 : 1;
}

void cut_walk_end(struct cut_walk **pointer) {
  struct cut_walk *walk = *pointer;
  *pointer = NULL;
  if (!walk)
    return;
  frame_places_close(&walk->places);
  free(walk);
}

/* If the whole input is rendered, cut_choose has not looked for the input's first frame. This function finds it, and
 * sets cut->first, begin and shift from its time. Returns 1, 0 if there is no frame, or -1 with err. */
static int know(struct cut *cut, const struct cutting *c, struct error *err) {
  if (cut->known)
    return 1;
  cut->known = true;
  int got = frame_places_after(c->places, INT64_MIN, 0, &cut->first, err);
  cut->begin = cut->first;
  cut->part_begin = cut->begin;
  cut->shift = frame_places_origin(c->places, cut->job_start) - cut->first;
  return got;
}

static int go_on(struct cut *cut, const struct cutting *c, int64_t after, struct error *err) {
  struct interval part = {.begins = true, .open = cut->open, .end = cut->end};
  int64_t origin = frame_places_origin(c->places, cut->job_start);
  int got = know(cut, c, err);
  if (got > 0)
    got = frame_places_after(c->places, origin + after + 1, 0, &part.begin, err);
  if (got <= 0 || (!part.open && part.begin >= part.end))
    return got < 0 ? -1 : 0;
  cut->begins_later = true;
  cut->begin = part.begin;
  place(cut, c, &part);
  return 1;
}

int cut_go_on(struct cut *cut, const struct options *options, struct source_options *source, int64_t after,
              struct error *err) {
  struct cutting c = {options, source, NULL};
  if (!frame_places_knows(options->input, source))
    return error_set(err, STATUS_USAGE, "--resume: %s cannot be read twice, as finding its frames needs",
                     address_shown(options->input).text);
  if (open_places(&c, !cut->known, err))
    return -1;
  int got = go_on(cut, &c, after, err);
  frame_places_close(&c.places);
  return got;
}

struct job_time cut_job_end(const struct cut *cut) {
  return cut->job_ends ? (struct job_time){(cut->job_end - cut->first) * cut->tick_num, cut->tick_den}
                       : (struct job_time){0, 0};
}

void cut_describe(const struct cut *cut, const struct options *options, struct job_part *part) {
  const struct option_shard *shard = &options->shard;
  *part = (struct job_part){.index = 1, .count = 1, .begin = {0, 1}, .end = {0, 1}, .open = true};
  if (!cut->is_shard)
    return;
  if (shard->range.given) {
    part->numbered = true;
    part->first = shard->range.first;
    part->last = shard->range.last;
  }
  part->index = shard->count ? (int)shard->index : 1;
  part->count = shard->count ? (int)shard->count : 1;
  part->begin = (struct job_time){(cut->part_begin - cut->first) * cut->tick_num, cut->tick_den};
  part->open = cut->open;
  if (!cut->open)
    part->end = (struct job_time){(cut->end - cut->first) * cut->tick_num, cut->tick_den};
}
