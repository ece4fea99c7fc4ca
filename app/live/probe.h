/* Measures the live window for bench. Each frame of the source contains a marker (marker.h). When the picture made from
 * a frame was presented, the marker is read back from the window, which proves what is on screen at that moment.
 * Afterwards prompt and strength are changed, and the time until a picture shows the change is measured.
 *
 * The marker is in the part of the window where --split shows the input frame. The loop keeps the input with its
 * picture, so the marker appears exactly when that picture does, and the network cannot change it. */
#ifndef APP_LIVE_PROBE_H
#define APP_LIVE_PROBE_H

#include "app/live/pulse.h"
#include "app/live/sightings.h"
#include "app/options/options.h"
#include "app/platform/app_platform.h"
#include "app/window/present.h"

enum probe_change { CHANGE_PROMPT, CHANGE_STRENGTH, PROBE_CHANGES };

struct probe_change_times {
  struct stats ms;     /* from the change until the first picture that shows it was presented */
  struct stats frames; /* pictures presented until then, that picture included */
};

/* Use of resources up to some moment. */
struct probe_use {
  double engine_cpu_ms, window_cpu_ms; /* processor time of the engine's and the window's thread */
  long frames;                         /* frames that the engine has made */
  size_t engine_copied;                /* bytes of pixels that the engine has copied */
  struct present_counts window;
};

struct live_probe {
  /* Set by the caller. All other fields start as zeros. */
  long warmup, frames; /* pictures before measuring begins, and during it; frames 0: no limit */
  double seconds;      /* duration of measuring; 0: no limit */
  double fps;          /* frame rate of the source */
  /* Length of a clip that is repeated and has markers of its own; 0: the source is the test pattern. */
  double clip_us;

  /* Results. */
  struct sightings seen;
  struct stats brought; /* time that this thread took to draw a frame's marker beside its picture */
  /* How late a thread that does nothing but wake up (pulse.h) woke during measuring; empty: there was no such
   * thread. */
  struct stats woken;
  struct probe_change_times change[PROBE_CHANGES]; /* results for each kind of change */
  double engine_cpu_us, window_cpu_us;             /* processor time of a picture in both threads, without own_cpu_ms */
  double engine_bytes, window_bytes;               /* bytes of pixels copied for a picture */
  long shared, uploaded;                           /* pictures by the way they took, as in present_counts */
  /* Scheduling classes of both threads when measuring began. */
  enum urgency engine_urgency, window_urgency;
  int awake;            /* processors that were kept from sleeping */
  const char *hardware; /* hardware that decoded the frames at the end; NULL: software did */

  /* Belongs to probe.c: how far measuring has come. */
  bool measured; /* measuring has ended, and changes follow */
  bool ended;    /* changes have ended as well */
  long shown;    /* pictures presented */
  /* the side of the window that can be read is known; that is the back one (present_read_columns) */
  bool knows_side, reads_back;
  struct {
    double begun_us;       /* time in the source at which the clip's current round began */
    uint32_t first;        /* number of that round's first frame, counted over all rounds */
  } round;                 /* the current round of the clip */
  double bringing_ms;      /* time that it took to draw the marker of the picture shown last */
  int64_t begun_ns;        /* when measuring began */
  struct pulse *pulse;     /* runs while measuring */
  struct probe_use before; /* use of resources when measuring began */
  /* Processor time that this thread has spent since then to draw and read markers. */
  double own_cpu_ms;
  enum probe_change changing; /* kind of the last change */
  bool awaits;                /* a picture that shows the last change has not come yet */
  /* Number of changes so far; number under which the loop knows the last one (loop_send). */
  long changes, awaited;
  int64_t changed_ns;
  long changed_at; /* value of shown when the change was sent */
  double strength; /* strength before the first change */
};

/* Runs the live window from opening to closing. probe NULL: nothing is measured. */
int live_perform(const struct options *options, struct live_probe *probe, struct error *err);

#endif
