/* Figures that the live window measures. All times ending in _ns are of platform_now_ns. Only the main thread uses
 * them. */
#ifndef APP_LIVE_FIGURES_H
#define APP_LIVE_FIGURES_H

#include <stdio.h>

#include "app/flow/mailbox.h"
#include "app/flow/pace.h"
#include "app/flow/recent_times.h"
#include "app/flow/stats.h"

/* Zero-initialise to start. */
struct live_figures {
  double budget_ms; /* time that a frame should take at most; 0: no limit */
  long before;      /* pictures shown by former programs, before restarts */
  /* pictures shown; frames of the source that were dropped */
  long shown, dropped;
  long missed;          /* pictures that were not finished within the budget */
  double frame_ms_now;  /* smoothed over about ten frames, but over a second at most */
  struct stats frame;   /* the engine's time for a frame */
  struct stats latency; /* from capture to screen; only of frames that are shown for the first time */
  int64_t first_ns, last_ns;
  struct pace pace, source; /* rates of pictures shown and of frames read */
  struct recent_times recent;
};

/* Counts a picture that was shown. */
void live_figures_shown(struct live_figures *figures, const struct mail *mail, int64_t now_ns);

/* Returns the mean rate from the first picture to the last; 0: there were less than two. */
double live_figures_mean_fps(const struct live_figures *figures);

/* Prints the line that closes the show. Prints nothing if no picture was shown. */
void live_figures_print(const struct live_figures *figures, const char *device, FILE *out);

#endif
