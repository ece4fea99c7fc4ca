/* Measures the live window for bench --live. Each frame of the source contains a marker (marker.h) with its number and
 * time. When a picture has been presented, its frame's marker is read back from the window's pixels, which proves what
 * is on screen. Afterwards prompt and strength are changed repeatedly, and the time until a picture shows each change
 * is measured.
 *
 * The marker is in the part of the window where --split shows the input frame, so the network cannot alter it. The loop
 * keeps each input frame with its picture, so the marker appears exactly when the picture does. */
#ifndef APP_LIVE_PROBE_H
#define APP_LIVE_PROBE_H

#include "app/live/pulse.h"
#include "app/live/sightings.h"
#include "app/options/options.h"
#include "app/platform/app_platform.h"
#include "app/window/present.h"

enum probe_change { CHANGE_PROMPT, CHANGE_STRENGTH, PROBE_CHANGES };

struct probe_change_times {
  struct stats ms; /* time in ms from sending the change until the first picture that shows it was presented */
  /* number of pictures presented since the change was sent, including the first one that shows the change */
  struct stats frames;
};

/* Resources that were used from the program's start until some moment. */
struct probe_use {
  /* processor time in ms: engine_cpu_ms of the loop's thread, window_cpu_ms of the main thread */
  double engine_cpu_ms, window_cpu_ms;
  long frames;          /* number of pictures that the engine had made */
  size_t engine_copied; /* bytes of pixels that the engine has copied in host memory */
  struct present_counts window;
};

struct live_probe {
  /* The fields down to clip_us are set by the caller of live_perform, which sets all others to zero. */
  /* warmup: number of pictures before measuring begins; frames: number of pictures to measure, 0: no limit */
  long warmup, frames;
  double seconds; /* longest duration of measuring in seconds; 0: no limit */
  double fps;     /* frames per second of the source */
  /* length in microseconds of the clip with markers that the source repeats; 0: the source is the test pattern */
  double clip_us;

  /* The fields down to `hardware` are results, which are complete when live_perform returns. */
  struct sightings seen;
  /* time in ms that the main thread took to draw the input frame with its marker beside each picture */
  struct stats brought;
  /* delays in ms with which an idle thread woke up (pulse.h); empty: the thread could not be started */
  struct stats woken;
  /* for each kind of change: how long it took until a picture showed the change */
  struct probe_change_times change[PROBE_CHANGES];
  /* processor time in microseconds per picture, of the loop's thread (engine) and of the main thread (window), without
   * the time spent on measuring */
  double engine_cpu_us, window_cpu_us;
  double engine_bytes, window_bytes; /* bytes of pixels copied per picture, by the engine and for the window */
  /* shared: number of pictures that OpenGL read in GPU memory; uploaded: number that were copied from host memory */
  long shared, uploaded;
  /* priority of the loop's thread (engine) and of the main thread (window) when measuring began */
  enum urgency engine_urgency, window_urgency;
  int awake;            /* number of processor cores that --awake kept from sleep states */
  const char *hardware; /* name of the hardware decoder in use at the end; NULL: software decoded */

  /* All following fields are used by probe.c only and describe the progress of the measurement. */
  bool measured; /* true: the measurement with unchanged parameters has ended, and changes are measured */
  bool ended;    /* true: the measurement with changes of parameters, which is the last one, has ended */
  long shown;    /* number of pictures presented so far */
  /* knows_side: the readable buffer of the window is known; reads_back: true: it is the back buffer, false: the front
   * one */
  bool knows_side, reads_back;
  struct {
    double begun_us;       /* timestamp in microseconds at which the current repetition of the clip began */
    uint32_t first;        /* number of frames in all repetitions of the clip before this one */
  } round;                 /* begin of the current repetition of the clip, if the clip is repeated */
  double bringing_ms;      /* time in ms that drawing the input frame beside the last picture took */
  int64_t begun_ns;        /* time (platform_now_ns) when measuring began; 0: it has not begun */
  struct pulse *pulse;     /* measurement of how late a thread wakes up (pulse.h); NULL: it does not run */
  struct probe_use before; /* resources (processor time and so on) that the program had used when measuring began */
  /* processor time of the main thread, since measuring began, that the probe used itself for drawing and reading
   * markers */
  double own_cpu_ms;
  enum probe_change changing; /* kind of the change that was sent last */
  bool awaits;                /* true: a change was sent, and no picture has shown it yet */
  /* changes: number of value changes that the probe has sent so far. awaited: the least number of applied changes
   * (mail.applied) of a picture that shows the change sent last */
  long changes, awaited;
  int64_t changed_ns;
  long changed_at; /* value of `shown` (pictures presented) when the last change was sent */
  double strength; /* strength before the first change; later changes switch between this value and a lower one */
};

/* Runs the live window from opening to closing, on the main thread. `probe` NULL: nothing is measured. Returns 0, or -1
 * with err. */
int live_perform(const struct options *options, struct live_probe *probe, struct error *err);

#endif
