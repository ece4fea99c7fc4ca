#include "app/live/figures.h"

#include <math.h>

/* Where a second has fewer pictures than these, as many are looked back for, but no further than a minute. */
enum { FEW = 3 };
static const int64_t second_ns = 1000000000, longest_ns = 60 * (int64_t)1000000000;

void live_figures_shown(struct live_figures *figures, const struct mail *mail, int64_t now_ns) {
  figures->stamps[figures->shown % FIGURES_STAMPS] = now_ns;
  if (!figures->shown) {
    figures->first_ns = now_ns;
    figures->frame_ms_now = mail->frame_ms;
  }
  figures->shown++;
  figures->last_ns = now_ns;
  figures->frame_ms_now += (mail->frame_ms - figures->frame_ms_now) * 0.1;
  stats_add(&figures->frame, mail->frame_ms);
  if (!mail->again && mail->frame.captured_ns > 0)
    stats_add(&figures->latency, (double)(now_ns - mail->frame.captured_ns) / 1e6);
}

double live_figures_fps(const struct live_figures *figures, int64_t now_ns) {
  int64_t oldest = 0, newest = 0;
  int count = 0;
  for (long i = figures->shown - 1; i >= 0 && count < FIGURES_STAMPS; i--) {
    int64_t stamp = figures->stamps[i % FIGURES_STAMPS];
    if (now_ns - stamp > (count < FEW ? longest_ns : second_ns))
      break;
    newest = count ? newest : stamp;
    oldest = stamp;
    count++;
  }
  if (count < 2)
    return 0;
  double fps = (count - 1) * 1e9 / (double)(newest - oldest);
  int64_t since = now_ns - newest;
  return since > second_ns ? fmin(fps, 1e9 / (double)since) : fps;
}

double live_figures_mean_fps(const struct live_figures *figures) {
  double seconds = (double)(figures->last_ns - figures->first_ns) / 1e9;
  return seconds > 0 ? (double)(figures->shown - 1) / seconds : 0;
}

void live_figures_print(const struct live_figures *figures, const char *device, FILE *out) {
  if (!figures->shown)
    return;
  double fps = live_figures_mean_fps(figures);
  struct stats_summary frame, latency;
  stats_summarise(&figures->frame, &frame);
  stats_summarise(&figures->latency, &latency);
  fprintf(out, "%ld frame%s, ", figures->shown, figures->shown == 1 ? "" : "s");
  if (fps > 0)
    fprintf(out, "%.2f fps, ", fps);
  fprintf(out, "median %.1f ms, p99 %.1f ms, ", frame.median_ms, frame.p99_ms);
  if (latency.count)
    fprintf(out, "capture to screen %.1f ms, p99 %.1f ms, ", latency.median_ms, latency.p99_ms);
  fprintf(out, "%ld dropped, %s\n", figures->dropped, device);
}
