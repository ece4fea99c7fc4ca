/* Counts and times that the live window measures. Fields whose names end in _ns are times of platform_now_ns. Only the
 * main thread uses struct live_figures. */
#ifndef APP_LIVE_FIGURES_H
#define APP_LIVE_FIGURES_H

#include <stdio.h>

#include "app/flow/mailbox.h"
#include "app/flow/pace.h"
#include "app/flow/recent_times.h"
#include "app/flow/stats.h"

/* Counts and times of the live window. Zero-initialise to start. */
struct live_figures {
  double budget_ms; /* longest time in ms that a frame should take; 0: no limit */
  /* number of pictures that the program had shown before it restarted itself; 0: there was no restart */
  long before;
  /* shown: number of pictures shown; dropped: number of the source's frames that were dropped */
  long shown, dropped;
  /* Numbers of frames among `dropped`. left_out: they would have missed the time budget, so the engine did not begin
   * them; undrawn: their pictures were made, but a newer one replaced them before the window drew them. The others were
   * replaced by newer frames while they waited for the engine. */
  long left_out, undrawn;
  long missed; /* number of pictures that took longer than budget_ms */
  /* the engine's time for a frame in ms, smoothed over about ten frames but at most over a second, for the overlay */
  double frame_ms_now;
  struct stats frame; /* the engine's time for each frame, in ms */
  /* time in ms from a frame's capture until its picture was on screen; only the first picture of each frame counts */
  struct stats latency;
  int64_t first_ns, last_ns;
  struct pace pace, source; /* rates of the pictures shown (pace) and of the frames read from the source (source) */
  struct recent_times recent;
};

/* Counts a picture that was put on screen at now_ns. mail: the picture with its times. */
void live_figures_shown(struct live_figures *figures, const struct mail *mail, int64_t now_ns);

/* Returns the mean rate in pictures per second from the first picture shown to the last; 0: fewer than two were
 * shown. */
double live_figures_mean_fps(const struct live_figures *figures);

/* Prints a line for users: the number of pictures shown, their rate, times and latency, and how many were late or
 * dropped; called when the window is closed. Prints nothing if no picture was shown. device: name of the engine's
 * device, or "". */
void live_figures_print(const struct live_figures *figures, const char *device, FILE *out);

#endif
