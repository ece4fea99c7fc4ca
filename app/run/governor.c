#include "app/run/governor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/picture_size.h"

enum {
  /* number of frames after a change of rung (setting of size and steps) that are not measured, because the first ones
   * are slower */
  WARM_UP = 2,
  /* number of frames that must be measured with a rung (setting of size and steps) before their median counts as its
   * frame time */
  ENOUGH = 8,
  /* A rung (setting of size and steps) counts as too slow if this many of the last GOVERNOR_WINDOW frames exceeded the
   * time budget, or all of the last LATE_IN_A_ROW frames. Fewer late frames may be a coincidence. */
  LATE_IN_ALL = 6,
  LATE_IN_A_ROW = 4
};

/* Fractions of the time budget. headroom: the governor moves to a better rung (setting of size and steps) if its
 * predicted frame time is at most this fraction. fitting: of the cheaper rungs it takes the first one within this
 * fraction. */
static const double headroom = 0.85, fitting = 0.9;
static const double pause_least_s = 2, pause_most_s = 120;
/* a move to a better rung (more pixels or steps) counts as right if it was not undone within this many seconds */
static const double lasting_s = 60;
static const double believed_s = 60;
static const double second_ns = 1e9;

/* --- the list of rungs (settings of size and steps): the user's setting first, then cheaper ones --- */

static double work_of(const struct governor_rung *rung) {
  return (double)rung->width * rung->height * rung->steps;
}

/* Sets the size of a rung (setting of size and steps) to the user's size with both sides multiplied by `by`, so that
 * the aspect ratio stays the same. If that size has fewer than floor_pixels pixels, the rung gets the user's size. */
static void scale(const struct governor_wish *wish, double by, int floor_pixels, struct governor_rung *rung) {
  const struct picture_size_wish near = {
      .asked = {wish->width, wish->height},
      .multiple = wish->multiple,
      .scale = by,
      .reach = 1 / by - 1,
      .floor_pixels = floor_pixels,
  };
  struct parameter_size size = near.asked;
  picture_size_find(&near, &size);
  rung->width = size.width;
  rung->height = size.height;
}

int governor_ladder(const struct governor_wish *wish, struct governor_rung rungs[GOVERNOR_RUNGS]) {
  /* work (pixels times steps) that the cheaper rungs (settings of size and steps) should have, as a fraction of the
   * work of the user's setting */
  static const double shares[] = {0.75, 0.5, 0.25};
  const double distinct = 0.93;
  int count = 1, floor_pixels = wish->floor_pixels ? wish->floor_pixels : wish->width * wish->height / 4;
  rungs[0] = (struct governor_rung){wish->width, wish->height, wish->steps};
  for (int i = 0; i < GOVERNOR_RUNGS - 1; i++) {
    struct governor_rung rung = {.steps = wish->steps};
    scale(wish, sqrt(shares[i]), floor_pixels, &rung);
    double of_pixels = work_of(&rung) / work_of(&rungs[0]);
    if (of_pixels > shares[i] * 1.2)
      rung.steps = (int)fmax(1, lrint(wish->steps * shares[i] / of_pixels));
    if (work_of(&rung) < distinct * work_of(&rungs[count - 1]))
      rungs[count++] = rung;
  }
  return count;
}

/* --- predicting frame times from measured ones --- */

static int by_value(const void *a, const void *b) {
  double first = *(const double *)a, second = *(const double *)b;
  return (first > second) - (first < second);
}

/* Returns the quantile q (0.5: median) of the newest frame times, in ms, that were measured with the rung (setting of
 * size and steps) in use; at most `most` of them are used. 0: none was measured. */
static double quantile(const struct governor *g, int most, double q) {
  double sorted[GOVERNOR_WINDOW];
  int count = (int)(g->measured < most ? g->measured : most);
  for (int i = 0; i < count; i++)
    sorted[i] = g->recent[(g->measured - 1 - i) % GOVERNOR_WINDOW];
  qsort(sorted, (size_t)count, sizeof *sorted, by_value);
  return count ? sorted[(int)lrint(q * (count - 1))] : 0;
}

/* Corrects relative[], each rung's frame time divided by that of rung 0, from the times measured with the present rung
 * and the one before. The GPU's load may have changed between the two, so the measured ratio is limited to a range
 * around the ratio of the rungs' work, and averaged with the old ratio. */
static void update_ratio(struct governor *g) {
  double likely = g->work[g->rung] / g->work[g->left], seen = quantile(g, ENOUGH, 0.5) / g->left_ms;
  double least = likely < 1 ? likely * 0.6 : 1, most = likely < 1 ? 1 : likely / 0.6;
  double ratio = (g->relative[g->rung] / g->relative[g->left] + fmin(most, fmax(least, seen))) / 2;
  if (g->rung > g->left)
    g->relative[g->rung] = g->relative[g->left] * ratio;
  else
    g->relative[g->left] = g->relative[g->rung] / ratio;
  g->left_ms = 0;
}

void governor_measure(struct governor *g, int rung, double frame_ms) {
  if (rung != g->rung || g->skipped++ < WARM_UP)
    return;
  g->recent[g->measured++ % GOVERNOR_WINDOW] = frame_ms;
  if (g->measured < ENOUGH)
    return;
  g->ms_by_work = quantile(g, ENOUGH, 0.5) / g->work[g->rung];
  if (g->left_ms > 0)
    update_ratio(g);
}

bool governor_is_settled(const struct governor *g) {
  return g->measured >= ENOUGH;
}

/* --- choosing the rung (setting of size and steps) to use --- */

static void settle_on(struct governor *g, int rung, int64_t now_ns) {
  g->left = g->rung;
  g->left_ms = g->measured >= ENOUGH ? quantile(g, ENOUGH, 0.5) : 0;
  g->rung = rung;
  g->measured = g->skipped = 0;
  g->since_ns = now_ns;
}

/* Returns the first rung (setting of size and steps), from `from` to cheaper ones, whose predicted frame time fits the
 * budget. If none fits, returns the cheapest usable rung; if none is usable, the rung in use. ms_of_first: predicted
 * frame time of rung 0. */
static int find_room(const struct governor *g, int from, double ms_of_first) {
  int last = g->rung;
  for (int i = from; i < g->count; i++) {
    if (g->absent[i])
      continue;
    last = i;
    if (ms_of_first * g->relative[i] <= fitting * g->budget_ms)
      break;
  }
  return last;
}

void governor_begin(struct governor *g, double budget_ms, const struct governor_rung *rungs, int count,
                    int64_t now_ns) {
  double before = g->ms_by_work;
  *g = (struct governor){
      .budget_ms = budget_ms, .count = count, .ms_by_work = before, .since_ns = now_ns, .pause_s = pause_least_s};
  for (int i = 0; i < count; i++) {
    g->work[i] = work_of(&rungs[i]);
    g->relative[i] = g->work[i] / g->work[0];
  }
  g->rung = before > 0 ? find_room(g, 0, before * g->work[0]) : 0;
}

void governor_refuse(struct governor *g, int rung, int64_t now_ns) {
  g->absent[rung] = true;
  if (rung != g->rung)
    return;
  int next = rung + 1;
  while (next < g->count && g->absent[next])
    next++;
  for (int i = rung; next == g->count && i-- > 0;)
    if (!g->absent[i])
      next = i;
  if (next < g->count)
    settle_on(g, next, now_ns);
}

double governor_frame_ms(const struct governor *g) {
  return governor_is_settled(g) ? quantile(g, ENOUGH, 0.5) : 0;
}

static double seconds_since(int64_t then_ns, int64_t now_ns) {
  return (double)(now_ns - then_ns) / second_ns;
}

static bool is_late(const struct governor *g) {
  int late = 0;
  for (int i = 0; i < GOVERNOR_WINDOW && i < g->measured; i++) {
    late += g->recent[(g->measured - 1 - i) % GOVERNOR_WINDOW] > g->budget_ms;
    if (late == LATE_IN_ALL || (late == LATE_IN_A_ROW && i == LATE_IN_A_ROW - 1))
      return true;
  }
  return false;
}

/* Returns the cheaper rung (fewer pixels or steps) to move to if too many of the last frames were late; otherwise the
 * rung in use. */
static int look_down(const struct governor *g) {
  return is_late(g) ? find_room(g, g->rung + 1, quantile(g, ENOUGH, 0.75) / g->relative[g->rung]) : g->rung;
}

/* Predicts the frame time in ms on the better rung `up` (more pixels or steps): frame_ms, the time on the present rung,
 * times the measured ratio of the two. If that ratio exceeds the ratio of their work, other programs may have used the
 * GPU during the measurement; so the excess decays with waited_s, the seconds spent on the present rung. */
static double predict(const struct governor *g, int up, double frame_ms, double waited_s) {
  double likely = g->work[up] / g->work[g->rung], measured = g->relative[up] / g->relative[g->rung];
  return frame_ms * (measured <= likely ? measured : likely + (measured - likely) * exp(-waited_s / believed_s));
}

static int look_up(const struct governor *g, int64_t now_ns) {
  int up = g->rung - 1;
  while (up >= 0 && g->absent[up])
    up--;
  double waited_s = seconds_since(g->since_ns, now_ns);
  if (up < 0 || g->measured < ENOUGH || waited_s <= g->pause_s)
    return g->rung;
  return predict(g, up, quantile(g, GOVERNOR_WINDOW, 0.9), waited_s) <= headroom * g->budget_ms ? up : g->rung;
}

/* Adapts the pause before the next move to a better rung (more pixels or steps). It is halved if the last such move was
 * not undone for lasting_s, and doubled if it had to be undone (failed). */
static void judge_climb(struct governor *g, bool failed, int64_t now_ns) {
  if (!g->climbed_ns)
    return;
  if (failed)
    g->pause_s = fmin(pause_most_s, 2 * g->pause_s);
  else if (seconds_since(g->climbed_ns, now_ns) > lasting_s)
    g->pause_s = fmax(pause_least_s, g->pause_s / 2);
  else
    return;
  g->climbed_ns = 0;
}

/* Returns the first rung (setting of size and steps), from `wanted` towards the one in use, whose handle is prepared;
 * the one in use if there is none. ready: bit i is set if rung i has a handle. */
static int nearest_ready(const struct governor *g, int wanted, unsigned ready) {
  while (wanted > g->rung && !(ready >> wanted & 1))
    wanted--;
  return wanted;
}

int governor_choose(struct governor *g, unsigned ready, int64_t now_ns) {
  judge_climb(g, false, now_ns);
  int wanted = look_down(g);
  if (wanted > g->rung) {
    int next = nearest_ready(g, wanted, ready);
    if (next > g->rung) {
      judge_climb(g, true, now_ns);
      settle_on(g, next, now_ns);
    }
    return wanted;
  }
  wanted = look_up(g, now_ns);
  if (wanted < g->rung && ready >> wanted & 1) {
    settle_on(g, wanted, now_ns);
    g->climbed_ns = now_ns;
  }
  return wanted;
}
