/* Computes when the frames of a file are due, and when to read the next one. It only computes; the caller reads the
 * clock. Zero-initialise to start. */
#ifndef APP_SOURCE_TIMETABLE_H
#define APP_SOURCE_TIMETABLE_H

#include <stdbool.h>
#include <stdint.h>

struct timetable {
  bool started;
  /* a moment of the clock (platform_now_ns), and the timestamp in nanoseconds of a frame that is due then */
  int64_t clock_ns, media_ns;
  int64_t last_due_ns, last_media_ns; /* when the frame before was due, and its timestamp */
  int64_t begin_ns;   /* when the first frame after a change of source is due; 0: the source was not changed */
  int64_t apart_ns;   /* roughly the shortest recent time between two frames; 0: unknown */
  int64_t reading_ns; /* roughly the longest recent time for reading a frame, except the first; 0: unknown */
};

/* Resets the timetable for another source. fps: rate of the former source, after whose last frame the new one begins
 * one frame period later; 0: the new one begins at once. */
void timetable_follow(struct timetable *timetable, double fps);

/* Returns when the frame of this media time is due. In a clip that starts again, the first frame is due one period
 * after the last. A frame that is due more than a second ago, or more than ten ahead, shows that the times no longer
 * fit (decoding is too slow, the machine slept, a stream was spliced); they then begin anew from now. */
int64_t timetable_due(struct timetable *timetable, int64_t media_ns, int64_t now_ns, double fps);

/* Notes how long a frame took to read. The first frame of a source, for which decoders are opened, is not counted. */
void timetable_note_reading(struct timetable *timetable, int64_t took_ns);

/* Returns when to ask for the next frame if the GPU decodes; 0: at once, because too little time would be left, or
 * nothing is known yet. Asking for it makes ahead.h begin to read the frame after it. The last part of that, which
 * delivers the surface, uses the same units of the GPU as the engine's run and the window's drawing. If both begin
 * together, that part comes first and delays the run by 0.2 ms (cuda/MEASURED.md). A quarter of a period later, or 4
 * ms, the run has begun, and a short one is drawn. */
int64_t timetable_read_at(const struct timetable *timetable);

#endif
