/* What the live window measures. All stamps are of platform_now_ns. */
#ifndef APP_LIVE_FIGURES_H
#define APP_LIVE_FIGURES_H

#include <stdio.h>

#include "app/flow/mailbox.h"
#include "app/flow/pace.h"
#include "app/flow/recent_times.h"
#include "app/flow/stats.h"

/* Zero-initialise to start. */
struct live_figures {
  double budget_ms; /* a frame should take no longer; 0: none */
  long before;      /* shown by the programs in whose place this one came */
  long shown, dropped;
  long missed;          /* were not there within the budget */
  double frame_ms_now;  /* smoothed over about ten frames, and no more than a second */
  struct stats frame;   /* the engine's time a frame */
  struct stats latency; /* from capture to the screen; only of frames shown for the first time */
  int64_t first_ns, last_ns;
  struct pace pace, source; /* of pictures shown, of frames read */
  struct recent_times recent;
};

void live_figures_shown(struct live_figures *figures, const struct mail *mail, int64_t now_ns);

/* From the first picture to the last; 0: there was no second one. */
double live_figures_mean_fps(const struct live_figures *figures);

/* The closing line. Nothing if nothing was shown. */
void live_figures_print(const struct live_figures *figures, const char *device, FILE *out);

#endif
