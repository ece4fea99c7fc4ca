/* Follows and reports the position in the video file that is shown. Seeks when users or clients set the parameters
 * clip-position and clip-time-left or run a command, and stores the present position in them. Also sets the file's
 * speed, in point and out point. Main thread only. */
#include <math.h>
#include <stdio.h>

#include "app/live/live_impl.h"

/* True if the shown source is a file with a length, in which one can seek. False for a single picture, and for a stream
 * that has not started yet, when live->info still describes the former source. */
static bool is_clip(const struct live *live) {
  const struct source_info *info = &live->info;
  const struct reader_status *status = &live->source_status;
  bool pictures = info->length * fmax(info->fps, 1) > 1.5;
  return live->changer && !status->lost && status->reached && source_is_file(info) && pictures;
}

/* Returns the position of the file's last frame in seconds: one frame duration before the end. */
static double last_place(const struct source_info *info) {
  return fmax(0, info->length - 1 / fmax(info->fps, 1));
}

double live_clip_position(const struct live *live) {
  const struct source_info *info = &live->info;
  double seconds = live->source_status.place;
  if (info->realtime || info->returns || !(seconds > 0))
    return 0;
  return info->length > 0 ? fmin(seconds, last_place(info)) : seconds;
}

/* Stores where the part of the file that is played begins and ends, in seconds. */
static void get_part(const struct live *live, double *begin, double *end) {
  double in, out;
  changer_get_range(live->changer, changer_now(live->changer), &in, &out);
  *begin = fmin(in, last_place(&live->info));
  *end = out > in ? fmin(out, live->info.length) : live->info.length;
}

static bool take_mark(struct parameters *values, enum parameter id) {
  bool marked = parameters_marked(values, id, 0);
  parameters_unmark(values, id, 0);
  return marked;
}

/* True if a user or a client has set the parameter `id` (clip-in or clip-out): it is marked as set, and the mark is not
 * just from live_follow_points, which set it to `told` in the last pass of the loop (*put). *put becomes false if the
 * parameter is not marked. */
static bool point_is_set(const struct parameters *values, enum parameter id, bool *put, double told) {
  bool marked = parameters_marked(values, id, 0);
  *put = *put && marked;
  return marked && !(*put && parameters_number(values, id, 0) == told);
}

void live_take_clip_wishes(struct live *live) {
  struct parameters *values = &live->state.settings.values;
  if (take_mark(values, PARAMETER_CLIP_POSITION)) {
    live->played.wish = values->clip_position;
    live->played.wish_left = false;
  }
  if (take_mark(values, PARAMETER_CLIP_TIME_LEFT)) {
    live->played.wish = values->clip_time_left;
    live->played.wish_left = true;
  }
  struct live_clip *played = &live->played;
  played->in_set |= point_is_set(values, PARAMETER_CLIP_IN, &played->in_put, played->in_told);
  played->out_set |= point_is_set(values, PARAMETER_CLIP_OUT, &played->out_put, played->out_told);
}

/* Returns the position in seconds to which the sum of the commands' seeks, state.seek_by_s, leads. It starts at the
 * target of an earlier seek that is not finished, otherwise at the present position. */
static double add_seeks(struct live *live) {
  double from;
  if (!changer_seeks(live->changer, &from))
    from = live_clip_position(live);
  return from + live->state.seek_by_s;
}

/* Goes to this position in the file, or to the nearest one in the part that is played. */
static void go_to(struct live *live, double seconds) {
  double begin, end;
  get_part(live, &begin, &end);
  changer_seek(live->changer, fmax(begin, fmin(seconds, end - 1 / fmax(live->info.fps, 1))));
}

static void seek(struct live *live, int64_t now_ns) {
  struct live_state *state = &live->state;
  double wish = live->played.wish, begin, end;
  if (isnan(wish) && !state->seeks_asked)
    return;
  if (!live->played.is_clip) {
    live_notice(state, now_ns, "one can go to a place in files alone, and only where their length is known");
  } else {
    get_part(live, &begin, &end);
    if (live->played.wish_left)
      wish = end - wish * state->settings.values.clip_speed;
    go_to(live, isnan(wish) ? add_seeks(live) : wish);
  }
  live->played.wish = (double)NAN;
  state->seek_by_s = 0;
  state->seeks_asked = 0;
}

/* Plays the file that is shown at the speed that users and clients want. The sound of that file, which recordings and
 * modulations take from live->tap, has the same speed. */
static void follow_speed(struct live *live) {
  double wanted = live->state.settings.values.clip_speed, speed = live->info.realtime ? 1 : wanted;
  if (live->reader && wanted != live->played.speed)
    reader_set_speed(live->reader, wanted);
  if (live->tap && speed != live->played.sound_speed)
    sound_tap_set_speed(live->tap, speed);
  live->played.speed = wanted;
  live->played.sound_speed = speed;
}

void live_follow_clip(struct live *live, int64_t now_ns) {
  struct parameters *values = &live->state.settings.values;
  bool is = live->played.is_clip = is_clip(live);
  double begin, end, now = 0, left = 0;
  follow_speed(live);
  seek(live, now_ns);
  if (is) {
    get_part(live, &begin, &end);
    now = live_clip_position(live);
    left = fmax(0, end - now) / values->clip_speed;
  }
  /* Clients get a message for each change of a value. So the position and the time left are stored only once a second
   * of the file or of the clock, or at once if the time left jumps because the end or the speed has changed. */
  double expected = live->played.left_told - (now - live->played.told) / values->clip_speed;
  if (floor(now) != floor(live->played.told) || (left > 0) != (live->played.left_told > 0) ||
      fabs(left - expected) > 0.2 || now_ns - live->played.told_ns >= 1000000000) {
    live->played.told_ns = now_ns;
    live->played.told = round(now * 10) / 10;
    live->played.left_told = round(left * 10) / 10;
  }
  values->clip_position = fmin(live->played.told, parameter_row(PARAMETER_CLIP_POSITION)->max);
  values->clip_time_left = fmin(live->played.left_told, parameter_row(PARAMETER_CLIP_TIME_LEFT)->max);
}

/* --- in and out points --- */

static const char *const no_points = "files alone begin and end at other places, and only where their length is known";

/* If commands (mark-in, mark-out) have asked for it, sets the in point, the out point or both to the present position
 * in the file that is shown. */
static void take_marks(struct live *live, int64_t now_ns) {
  double in, out, place = live_clip_position(live);
  unsigned marks = live->state.clip_marks;
  live->state.clip_marks = 0;
  if (!marks)
    return;
  if (!live->played.is_clip) {
    live_notice(&live->state, now_ns, "%s", no_points);
    return;
  }
  changer_get_range(live->changer, changer_now(live->changer), &in, &out);
  in = marks & CLIP_MARK_IN ? place : in;
  out = marks & CLIP_MARK_OUT ? place : out;
  changer_set_range(live->changer, changer_now(live->changer), in, out);
  live_notice(&live->state, now_ns, "the clip is %.2f to %.2f", in, out > in ? out : live->info.length);
}

/* True if the source of this index is shown and is no file with a length, so that it can have no in and out points. */
static bool is_pointless(const struct live *live, int source) {
  const struct reader_status *status = &live->source_status;
  return status->reached && !status->lost && !live->played.is_clip && source == changer_now(live->changer);
}

static void put(struct live *live, enum parameter id, double now, double value, bool *put, double *told) {
  struct error ignored;
  if (now != value)
    *put = !parameters_set_number(&live->state.settings.values, id, 0, value, &ignored);
  *told = parameters_number(&live->state.settings.values, id, 0);
}

void live_follow_points(struct live *live, int64_t now_ns) {
  struct live_clip *played = &live->played;
  const struct parameters *values = &live->state.settings.values;
  int wanted = changer_wanted(live->changer);
  if (!changer_is_at(live->changer, &live->source_status))
    return; /* another source has begun since live->info was filled, so the new in and out points are set in the next
             * turn */
  double in, out, now_in = values->clip_in, now_out = values->clip_out;
  bool shown = played->is_clip && wanted == changer_now(live->changer);
  bool in_set = played->in_set || now_in != played->in_told, out_set = played->out_set || now_out != played->out_told;
  played->in_set = played->out_set = false;
  take_marks(live, now_ns);
  changer_get_range(live->changer, wanted, &in, &out);
  in = in_set ? now_in : in;
  out = out_set ? now_out : out;
  if (is_pointless(live, wanted) && (in > 0 || out > 0)) {
    live_notice(&live->state, now_ns, "%s", no_points);
    in = out = 0;
  }
  if (shown) {
    in = fmin(in, last_place(&live->info));
    out = fmin(out, live->info.length);
  }
  changer_set_range(live->changer, wanted, in, out);
  put(live, PARAMETER_CLIP_IN, now_in, in, &played->in_put, &played->in_told);
  put(live, PARAMETER_CLIP_OUT, now_out, out, &played->out_put, &played->out_told);
  if (shown && in_set && live_clip_position(live) < in)
    go_to(live, in);
}

/* --- reporting the position to users and clients --- */

static const char *print_time(double seconds, char words[24]) {
  int whole = (int)seconds;
  if (whole >= 3600)
    snprintf(words, 24, "%d:%02d:%02d", whole / 3600, whole / 60 % 60, whole % 60);
  else
    snprintf(words, 24, "%d:%02d", whole / 60, whole % 60);
  return words;
}

void live_tell_clip(struct live *live, double seconds, int64_t now_ns) {
  char at[24], all[24];
  live_notice(&live->state, now_ns, "clip: %s of %s", print_time(seconds, at), print_time(live->info.length, all));
}

const char *live_describe_clip(const struct live *live, char *words, size_t size) {
  char at[24], left[24];
  if (!live->played.is_clip)
    return NULL;
  int used =
      snprintf(words, size, "%s -%s", print_time(live->played.told, at), print_time(live->played.left_told, left));
  double speed = live->state.settings.values.clip_speed;
  if (speed != 1 && used > 0 && (size_t)used < size)
    snprintf(words + used, size - (size_t)used, " x%.2g", speed);
  return words;
}
