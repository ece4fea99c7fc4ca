#include "app/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "app/stats.h"

enum { BAR = 30 };
static const int64_t redraw_ns = 100000000;

void progress_init(struct progress *progress, long total, bool quiet) {
  *progress = (struct progress){.shown = !quiet && isatty(STDERR_FILENO), .total = total};
}

void progress_update(struct progress *progress, long frames, double seconds) {
  int64_t now = clock_now_ns();
  if (!progress->shown || now - progress->drawn_ns < redraw_ns)
    return;
  progress->drawn_ns = now;
  double fps = seconds > 0 ? (double)frames / seconds : 0;
  long total = progress->total > frames ? progress->total : frames;
  if (!progress->total) {
    fprintf(stderr, "\r%ld frames  %.1f fps\033[K", frames, fps);
    return;
  }
  char bar[BAR + 1];
  int done = (int)(frames * BAR / total);
  for (int i = 0; i < BAR; i++)
    bar[i] = i < done ? '#' : '.';
  bar[BAR] = 0;
  long left = fps > 0 ? (long)((double)(total - frames) / fps + 0.5) : 0;
  fprintf(stderr, "\r[%s] %3ld%%  %ld/%ld  %.1f fps  ETA %ld:%02ld\033[K", bar, frames * 100 / total, frames, total,
          fps, left / 60, left % 60);
}

void progress_clear(struct progress *progress) {
  if (progress->shown && progress->drawn_ns)
    fputs("\r\033[K", stderr);
}
