#include "app/source/timetable.h"

#include <math.h>

static const int64_t second_ns = 1000000000;
static const int64_t behind_ns = 1000000000, ahead_ns = 10000000000;
static const int64_t later_most_ns = 4000000;
/* nanoseconds that timetable_read_at plans for a read in addition to the longest recent one */
static const int64_t spare_ns = 4000000;
/* timetable.apart_ns is about the shortest recent time between two frames. Each frame raises it by 1 / APART_FORGETS of
 * itself, unless its distance to the frame before is shorter. timetable.reading_ns is about the longest recent reading
 * time. Each frame lowers it by 1 / READING_FORGETS of itself, unless its reading took longer. That is slow, because
 * slow frames, such as key frames, come again within seconds. */
enum { APART_FORGETS = 16, READING_FORGETS = 256 };

void timetable_follow(struct timetable *timetable, double fps) {
  int64_t begin_ns =
      timetable->started && fps > 0 ? timetable->last_due_ns + (int64_t)((double)second_ns / fmax(fps, 1)) : 0;
  *timetable = (struct timetable){.begin_ns = begin_ns, .speed = timetable->speed};
}

static double speed_of(const struct timetable *timetable) {
  return timetable->speed > 0 ? timetable->speed : 1;
}

void timetable_set_speed(struct timetable *timetable, double speed, int64_t now_ns) {
  double before = speed_of(timetable);
  if (timetable->started && speed != before) {
    timetable->media_ns = timetable->last_media_ns + (int64_t)((double)(now_ns - timetable->last_due_ns) * before);
    timetable->clock_ns = now_ns;
    if (timetable->last_due_ns > now_ns)
      timetable->last_due_ns = now_ns + (int64_t)((double)(timetable->last_due_ns - now_ns) * before / speed);
  }
  timetable->speed = speed;
}

/* Returns the due time of a first frame, or of one after a jump of the source's clock: now, or begin_ns if that is
 * later. */
static int64_t begin(const struct timetable *timetable, int64_t now_ns) {
  return timetable->begin_ns > now_ns ? timetable->begin_ns : now_ns;
}

static void note_apart(struct timetable *timetable, int64_t apart_ns) {
  int64_t least_ns = timetable->apart_ns + timetable->apart_ns / APART_FORGETS;
  if (apart_ns > 0)
    timetable->apart_ns = timetable->apart_ns && least_ns < apart_ns ? least_ns : apart_ns;
}

int64_t timetable_due(struct timetable *timetable, int64_t media_ns, int64_t now_ns, double fps) {
  double speed = speed_of(timetable);
  int64_t due = timetable->clock_ns + (int64_t)((double)(media_ns - timetable->media_ns) / speed);
  int64_t ahead_most_ns = speed < 1 ? (int64_t)((double)ahead_ns / speed) : ahead_ns;
  if (timetable->started && media_ns < timetable->last_media_ns && fps > 0)
    due = timetable->last_due_ns + (int64_t)((double)second_ns / fps);
  bool fits = timetable->started && due >= now_ns - behind_ns && due <= now_ns + ahead_most_ns;
  if (fits)
    note_apart(timetable, due - timetable->last_due_ns);
  else
    due = begin(timetable, now_ns);
  if (!fits || media_ns < timetable->last_media_ns) {
    timetable->started = true;
    timetable->clock_ns = due;
    timetable->media_ns = media_ns;
    timetable->begin_ns = 0;
  }
  timetable->last_due_ns = due;
  timetable->last_media_ns = media_ns;
  return due;
}

void timetable_note_reading(struct timetable *timetable, int64_t took_ns) {
  int64_t most_ns = timetable->reading_ns - timetable->reading_ns / READING_FORGETS;
  if (timetable->started)
    timetable->reading_ns = took_ns > most_ns ? took_ns : most_ns;
}

int64_t timetable_read_at(const struct timetable *timetable) {
  int64_t quarter_ns = timetable->apart_ns / 4, later_ns = quarter_ns < later_most_ns ? quarter_ns : later_most_ns;
  bool in_time = later_ns + timetable->reading_ns + spare_ns <= timetable->apart_ns;
  return timetable->started && timetable->reading_ns && in_time ? timetable->last_due_ns + later_ns : 0;
}
