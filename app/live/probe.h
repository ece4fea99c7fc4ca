/* The live window as bench runs it: a source with a marker in each frame (marker.h), which is read from the window when
 * the picture made from it was presented, and after that prompt and strength that change. The marker stands in the
 * part of the window where --split shows the frame itself: the loop keeps it with the frame that the engine has, so it
 * comes out exactly when, and only when, its picture does, and nothing of the network touches it. */
#ifndef APP_LIVE_PROBE_H
#define APP_LIVE_PROBE_H

#include "app/live/pulse.h"
#include "app/live/sightings.h"
#include "app/options/options.h"
#include "app/platform/app_platform.h"
#include "app/window/present.h"

enum probe_change { CHANGE_PROMPT, CHANGE_STRENGTH, PROBE_CHANGES };

struct probe_change_times {
  struct stats ms;     /* until the first picture that shows it was presented */
  struct stats frames; /* presented until then, that one among them */
};

/* At a moment. */
struct probe_use {
  double engine_cpu_ms, window_cpu_ms; /* that their threads have had of a processor */
  long frames;                         /* made */
  size_t engine_copied;                /* bytes of pixels */
  struct present_counts window;
};

struct live_probe {
  /* Asked for; all else begins with zeros */
  long warmup, frames; /* pictures before, and while measuring; frames 0: no limit */
  double seconds;      /* of measuring; 0: no limit */
  double fps;          /* of the source */
  double clip_us; /* length of a clip that is shown again and again and has markers of its own; 0: it is the pattern */

  struct sightings seen;
  struct stats brought; /* how long this thread took to bring a frame's marker beside its picture */
  struct stats woken;   /* how late a thread that only wakes did so meanwhile; none: there was no such thread */
  struct probe_change_times change[PROBE_CHANGES];
  double engine_cpu_us, window_cpu_us; /* a picture, of their threads; without own_cpu_ms */
  double engine_bytes, window_bytes;   /* of pixels that they had copied, a picture */
  long shared, uploaded;               /* pictures, as present_counts has them */
  /* What their threads were as it began */
  enum urgency engine_urgency, window_urgency;
  int awake;            /* processors that were kept from sleeping */
  const char *hardware; /* decoded the frames, as it ended; NULL: software did */

  bool measured; /* all but the changes */
  bool ended;    /* all that was asked for is there */
  long shown;
  bool knows_side, reads_back; /* of the window: see present_read_column */
  struct {
    double begun_us;   /* in the source's times */
    uint32_t first;    /* number, of those that go on from round to round */
  } round;             /* of the clip */
  double bringing_ms;  /* the marker of the picture shown last */
  int64_t begun_ns;    /* when measuring began */
  struct pulse *pulse; /* while measuring */
  struct probe_use before;
  double own_cpu_ms; /* of this thread's processor time, for bringing markers and looking at them, since then */
  enum probe_change changing;
  bool awaits; /* a change, that was sent under this number */
  long changes, awaited;
  int64_t changed_ns;
  long changed_at; /* pictures shown then */
  double strength; /* as it was at first */
};

/* The live window, from opening it to closing it. probe NULL: a user has it. */
int live_perform(const struct options *options, struct live_probe *probe, struct error *err);

#endif
