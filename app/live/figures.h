/* What the live window measures. All stamps are of platform_now_ns. */
#ifndef APP_LIVE_FIGURES_H
#define APP_LIVE_FIGURES_H

#include <stdio.h>

#include "app/flow/mailbox.h"
#include "app/flow/stats.h"

enum { FIGURES_STAMPS = 128 };

/* Zero-initialise to start. */
struct live_figures {
  long shown, dropped;
  double frame_ms_now;  /* smoothed over about ten frames */
  struct stats frame;   /* the engine's time a frame */
  struct stats latency; /* from capture to the screen; only of frames shown for the first time */
  int64_t first_ns, last_ns;
  int64_t stamps[FIGURES_STAMPS]; /* when the last pictures were shown */
};

void live_figures_shown(struct live_figures *figures, const struct mail *mail, int64_t now_ns);

/* Pictures a second: over the last second, or over the last few pictures where they come more slowly; less when the
 * next one is overdue. 0: not known, because there was no second picture in the last minute. */
double live_figures_fps(const struct live_figures *figures, int64_t now_ns);

/* From the first picture to the last; 0: there was no second one. */
double live_figures_mean_fps(const struct live_figures *figures);

/* The closing line. Nothing if nothing was shown. */
void live_figures_print(const struct live_figures *figures, const char *device, FILE *out);

#endif
