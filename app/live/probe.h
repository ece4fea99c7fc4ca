/* Measures the live window for bench --live. Each frame of the source contains a marker (marker.h: a pattern that
 * encodes the frame's number and time). When a picture was presented, the marker of its frame is read back from the
 * window's pixels, which proves what is on screen. Afterwards prompt and strength are changed repeatedly, and the time
 * until a picture shows each change is measured.
 *
 * The marker is in the part of the window where --split shows the input frame. The loop keeps the input together with
 * its picture, so the marker appears exactly when that picture does, and the network cannot alter it. */
#ifndef APP_LIVE_PROBE_H
#define APP_LIVE_PROBE_H

#include "app/live/pulse.h"
#include "app/live/sightings.h"
#include "app/options/options.h"
#include "app/platform/app_platform.h"
#include "app/window/present.h"

enum probe_change { CHANGE_PROMPT, CHANGE_STRENGTH, PROBE_CHANGES };

struct probe_change_times {
  struct stats ms;     /* from sending the change until the first picture that shows it was presented, in ms */
  struct stats frames; /* number of pictures presented in that time, including the first one that shows the change */
};

/* Resources used since the program's start. */
struct probe_use {
  double engine_cpu_ms, window_cpu_ms; /* processor time of the loop's thread and of the main thread */
  long frames;                         /* number of pictures that the engine has made */
  size_t engine_copied;                /* bytes of pixels that the engine has copied in host memory */
  struct present_counts window;
};

struct live_probe {
  /* Set by the caller of live_perform, which zeroes all other fields. */
  /* number of pictures before measuring begins, and number to measure; frames 0: no limit */
  long warmup, frames;
  double seconds; /* longest duration of measuring; 0: no limit */
  double fps;     /* frames per second of the source */
  /* Length in microseconds of the clip, if the source is a repeated clip with markers; 0: it is the test pattern. */
  double clip_us;

  /* Results, filled when live_perform returns. */
  struct sightings seen;
  /* time in ms that the main thread took to draw the input frame with its marker beside each picture */
  struct stats brought;
  /* How late a thread that does nothing but wake up (pulse.h) woke while measuring; empty: it could not be started. */
  struct stats woken;
  struct probe_change_times change[PROBE_CHANGES]; /* for each kind of change: how long it took to be seen */
  /* processor time per picture of the loop's and the main thread, without what measuring took */
  double engine_cpu_us, window_cpu_us;
  double engine_bytes, window_bytes; /* bytes of pixels copied per picture, by the engine and for the window */
  /* number of pictures that OpenGL read in GPU memory, and of those copied from host memory */
  long shared, uploaded;
  /* Scheduling classes of the loop's and the main thread when measuring began. */
  enum urgency engine_urgency, window_urgency;
  int awake;            /* number of processor cores kept from sleep states */
  const char *hardware; /* name of the hardware decoder in use at the end; NULL: software decoded */

  /* Used by probe.c only: progress of the measurement. */
  bool measured; /* the measurement without changes has ended */
  bool ended;    /* the measurement of changes has ended, too */
  long shown;    /* number of pictures presented so far */
  /* knows_side: it is known which buffer of the window can be read; reads_back: that is the back buffer. */
  bool knows_side, reads_back;
  struct {
    double begun_us;       /* timestamp in microseconds at which the clip's current round began */
    uint32_t first;        /* number of frames in all rounds before this one */
  } round;                 /* the current round of a clip that is repeated */
  double bringing_ms;      /* ms that it took to draw the input frame beside the last picture */
  int64_t begun_ns;        /* when measuring began; 0: not yet */
  struct pulse *pulse;     /* measures how late a thread wakes up; NULL: not running */
  struct probe_use before; /* resources used until measuring began */
  /* Processor time of the main thread, since measuring began, for drawing and reading markers. */
  double own_cpu_ms;
  enum probe_change changing; /* kind of the change that was sent last */
  bool awaits;                /* no picture has shown the last change yet */
  /* changes: number sent so far; awaited: a picture shows the last change if its mail.applied is at least this. */
  long changes, awaited;
  int64_t changed_ns;
  long changed_at; /* value of `shown` when the last change was sent */
  double strength; /* value of strength before the first change */
};

/* Runs the live window from opening to closing, on the main thread. probe NULL: nothing is measured. Returns 0, or -1
 * with err. */
int live_perform(const struct options *options, struct live_probe *probe, struct error *err);

#endif
