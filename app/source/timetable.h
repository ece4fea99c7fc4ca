/* When the frames of a file are due, and when the next one is read. Plain values and functions: the caller has the
 * clock. Zero-initialise to start. */
#ifndef APP_SOURCE_TIMETABLE_H
#define APP_SOURCE_TIMETABLE_H

#include <stdbool.h>
#include <stdint.h>

struct timetable {
  bool started;
  int64_t clock_ns, media_ns;         /* which moment on the clock belongs to which timestamp */
  int64_t last_due_ns, last_media_ns; /* of the frame before */
  int64_t begin_ns;                   /* when the first frame after another source's last is due; 0: there is none */
  int64_t apart_ns;                   /* about the least that two frames were apart of late; 0: not known */
  int64_t reading_ns; /* about the most that one took of late, once asked for, but for the first; 0: not known */
};

/* The source that is read follows another, of that rate, at its end. */
void timetable_follow(struct timetable *timetable, double fps);

/* When the frame of this media time is due. A clip that starts again does so one frame period after its last frame. A
 * frame due more than a second ago, or more than ten ahead, means that the times no longer fit: decoding is too slow,
 * the machine slept, a stream was spliced. They then start anew. */
int64_t timetable_due(struct timetable *timetable, int64_t media_ns, int64_t now_ns, double fps);

/* How long it took until a frame was there that was asked for. The first of a source, which opens decoders, says
 * nothing of the others. */
void timetable_note_reading(struct timetable *timetable, int64_t took_ns);

/* When to ask for the next frame, where the GPU decodes: with that the one after it begins to be read (ahead.h). The
 * last part of that, which brings the surface, is work for the same units as the engine's run and the window's drawing:
 * begun with the run it comes before that, and takes 0.2 ms of it (cuda/MEASURED.md). A quarter of a period later, or 4
 * ms, the run has begun, and a short one is drawn. 0: at once, where too little time would be left, or nothing is known
 * yet. */
int64_t timetable_read_at(const struct timetable *timetable);

#endif
