#include "app/live/figures.h"

#include <math.h>

void live_figures_shown(struct live_figures *figures, const struct mail *mail, int64_t now_ns) {
  struct recent_time time = {now_ns, (float)mail->frame_ms, -1,
                             mail->missed || (figures->budget_ms > 0 && mail->frame_ms > figures->budget_ms)};
  double seconds = (double)(now_ns - figures->last_ns) * 1e-9;
  if (!figures->shown) {
    figures->first_ns = now_ns;
    figures->frame_ms_now = mail->frame_ms;
  }
  figures->shown++;
  figures->missed += time.missed;
  figures->last_ns = now_ns;
  pace_count(&figures->pace, figures->shown, now_ns);
  figures->frame_ms_now += (mail->frame_ms - figures->frame_ms_now) * fmin(1, fmax(0.1, seconds));
  stats_add(&figures->frame, mail->frame_ms);
  if (!mail->again && mail->frame.captured_ns > 0) {
    time.latency_ms = (float)(now_ns - mail->frame.captured_ns) * 1e-6f;
    stats_add(&figures->latency, (double)(now_ns - mail->frame.captured_ns) / 1e6);
  }
  recent_times_add(&figures->recent, &time);
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
  long all = figures->before + figures->shown;
  fprintf(out, "%ld frame%s, ", all, all == 1 ? "" : "s");
  if (fps > 0)
    fprintf(out, "%.2f fps, ", fps);
  fprintf(out, "median %.1f ms, p99 %.1f ms, ", frame.median_ms, frame.p99_ms);
  if (latency.count)
    fprintf(out, "capture to screen %.1f ms, p99 %.1f ms, ", latency.median_ms, latency.p99_ms);
  if (figures->budget_ms > 0)
    fprintf(out, "%ld missed the budget of %.*f ms, ", figures->missed, stats_decimals(figures->budget_ms),
            figures->budget_ms);
  fprintf(out, "%ld skipped%s%s\n", figures->dropped, *device ? ", " : "", device);
}
