/* Computes when the frames of a file are due, and when to read the next one. The functions only compute; the caller
 * reads the clock. Zero-initialise to start. */
#ifndef APP_SOURCE_TIMETABLE_H
#define APP_SOURCE_TIMETABLE_H

#include <stdbool.h>
#include <stdint.h>

struct timetable {
  bool started;
  double speed; /* playing speed of the file; 1: normal; 0: not set, which counts as 1 */
  /* clock_ns: a time of platform_now_ns; media_ns: timestamp, in nanoseconds, of a frame that is due at that time. The
   * times of all other frames are computed from these two. */
  int64_t clock_ns, media_ns;
  /* last_due_ns: time at which the last frame was due; last_media_ns: its timestamp */
  int64_t last_due_ns, last_media_ns;
  /* after a change of source: time at which the new source's first frame is due; 0: the source was not changed */
  int64_t begin_ns;
  int64_t apart_ns;   /* roughly the shortest recent time between two frames; 0: unknown */
  int64_t reading_ns; /* roughly the longest recent time for reading a frame, except the first; 0: unknown */
};

/* Resets the timetable for another source, which is played at the same speed. fps: the former source's frame rate times
 * its speed, which delays the new source's first frame by one such frame period; 0: it is due at once. */
void timetable_follow(struct timetable *timetable, double fps);

/* Plays the file at another speed from now_ns on: the times until the next frame and between later ones shrink or grow.
 * A frame that waits for its time must then be asked for again (timetable_due). */
void timetable_set_speed(struct timetable *timetable, double speed, int64_t now_ns);

/* Returns when the frame with this timestamp is due. fps: the source's frame rate times its speed; 0: unknown. When a
 * clip starts again, its first frame is due one period after the last. If a frame would be due more than a second ago,
 * or more than ten seconds ahead (longer at a speed below 1), it is due now, and later frames follow it: decoding was
 * too slow, the machine slept, or a stream was spliced. */
int64_t timetable_due(struct timetable *timetable, int64_t media_ns, int64_t now_ns, double fps);

/* Notes how long a frame took to read. The first frame of a source, for which decoders are opened, is not counted. */
void timetable_note_reading(struct timetable *timetable, int64_t took_ns);

/* Returns when to ask for the next frame if the GPU decodes; 0: at once, because too little time is left, or nothing is
 * known yet. Asking for a frame makes ahead.h read the one after it. The end of that read uses the same units of the
 * GPU as the engine's run and the window's drawing, and would delay a run that begins at that moment by 0.2 ms
 * (cuda/MEASURED.md). So the result is a quarter of a frame period, at most 4 ms, after the last frame was due, when
 * the run has begun or even ended. */
int64_t timetable_read_at(const struct timetable *timetable);

#endif
