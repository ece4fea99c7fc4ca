/* Counts and times that the live window measures. Variables whose names end in _ns are times of platform_now_ns. Only
 * the main thread uses them. */
#ifndef APP_LIVE_FIGURES_H
#define APP_LIVE_FIGURES_H

#include <stdio.h>

#include "app/flow/mailbox.h"
#include "app/flow/pace.h"
#include "app/flow/recent_times.h"
#include "app/flow/stats.h"

/* Zero-initialise to start. */
struct live_figures {
  double budget_ms; /* longest time in ms that a frame should take; 0: no limit */
  long before;      /* number of pictures shown before this program was restarted; 0: it was not */
  /* number of pictures shown, and of the source's frames that were dropped */
  long shown, dropped;
  long missed;          /* number of pictures that took longer than budget_ms */
  double frame_ms_now;  /* time of a frame in ms, smoothed over about ten frames but at most over a second */
  struct stats frame;   /* the engine's time for each frame, in ms */
  struct stats latency; /* time from capture to screen in ms, of each frame's first picture */
  int64_t first_ns, last_ns;
  struct pace pace, source; /* rates of pictures shown, and of frames read from the source */
  struct recent_times recent;
};

/* Adds a picture that was shown at now_ns. mail: the picture with its times. */
void live_figures_shown(struct live_figures *figures, const struct mail *mail, int64_t now_ns);

/* Returns the mean rate in pictures per second from the first picture to the last; 0: fewer than two were shown. */
double live_figures_mean_fps(const struct live_figures *figures);

/* Prints a summary line when the window is closed. Prints nothing if no picture was shown. device: name of the engine's
 * device. */
void live_figures_print(const struct live_figures *figures, const char *device, FILE *out);

#endif
