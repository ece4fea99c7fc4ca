/* Seeks in the video file that is shown, when users or remote clients set the parameters clip-position and
 * clip-time-left or run a command, and stores the position of the present frame in these parameters. Main thread
 * only. */
#include <math.h>
#include <stdio.h>

#include "app/live/live_impl.h"

/* True if the source that is shown is a file with a length, in which one can seek. A single picture is none, nor is a
 * stream that is not there yet, for which live->info still describes the source before it. */
static bool is_clip(const struct live *live) {
  const struct source_info *info = &live->info;
  const struct reader_status *status = &live->source_status;
  bool pictures = info->length * fmax(info->fps, 1) > 1.5;
  return live->changer && !status->lost && status->reached && !info->realtime && !info->returns && !info->passes &&
         pictures;
}

double live_clip_position(struct live *live) {
  struct frame newest;
  const struct source_info *info = &live->info;
  if (info->realtime || info->returns || !mailbox_look(&live->frames, &newest))
    return 0;
  double seconds = (double)newest.pts * source_tick(info);
  frame_release(&newest);
  if (!(seconds > 0))
    return 0;
  seconds = info->length > 0 ? fmod(seconds, info->length) : seconds;
  return info->length > 0 ? fmax(0, fmin(seconds, info->length - 1 / fmax(info->fps, 1))) : seconds;
}

static bool take_mark(struct parameters *values, enum parameter id) {
  bool marked = parameters_marked(values, id, 0);
  parameters_unmark(values, id, 0);
  return marked;
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
}

/* Returns the position in seconds to which seek_by_s leads (the sum of commands' seeks), counted from the position of a
 * seek that is asked for or goes on, else from the present one. */
static double add_seeks(struct live *live) {
  double from;
  if (!changer_seeks(live->changer, &from))
    from = live_clip_position(live);
  return from + live->state.seek_by_s;
}

static void seek(struct live *live, int64_t now_ns) {
  struct live_state *state = &live->state;
  double length = live->info.length, to = live->played.wish_left ? length - live->played.wish : live->played.wish;
  if (isnan(to) && !state->seeks_asked)
    return;
  if (!live->played.is_clip) {
    live_notice(state, now_ns, "one can go to a place in files alone, and only where their length is known");
  } else {
    to = isnan(to) ? add_seeks(live) : to;
    changer_seek(live->changer, fmax(0, fmin(to, length - 1 / fmax(live->info.fps, 1))));
  }
  live->played.wish = (double)NAN;
  state->seek_by_s = 0;
  state->seeks_asked = 0;
}

void live_follow_clip(struct live *live, int64_t now_ns) {
  struct parameters *values = &live->state.settings.values;
  bool is = live->played.is_clip = is_clip(live);
  seek(live, now_ns);
  double now = is ? live_clip_position(live) : 0, left = is ? live->info.length - now : 0;
  /* clients are told of each change, so values change once a second */
  if (floor(now) != floor(live->played.told) || (left > 0) != (live->played.left_told > 0)) {
    live->played.told = round(now * 10) / 10;
    live->played.left_told = round(left * 10) / 10;
  }
  values->clip_position = fmin(live->played.told, parameter_row(PARAMETER_CLIP_POSITION)->max);
  values->clip_time_left = fmin(live->played.left_told, parameter_row(PARAMETER_CLIP_TIME_LEFT)->max);
}

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
  snprintf(words, size, "%s -%s", print_time(live->played.told, at), print_time(live->played.left_told, left));
  return words;
}
