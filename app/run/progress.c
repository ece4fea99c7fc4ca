#include "app/run/progress.h"

#include <stdio.h>

#include "unet/base/platform.h"
#include "app/platform/app_platform.h"

enum { BAR = 30 };
static const int64_t redraw_ns = 100000000, line_ns = 4 * (int64_t)1000000000;

void progress_begin(struct progress *progress, long total, bool terminal, bool quiet, int64_t now_ns) {
  *progress = (struct progress){
      .quiet = quiet, .terminal = terminal, .total = total, .next_ns = terminal ? now_ns : now_ns + line_ns};
}

void progress_init(struct progress *progress, long total, bool quiet) {
  progress_begin(progress, total, platform_is_terminal(STANDARD_ERROR), quiet, platform_now_ns());
}

bool progress_is_due(struct progress *progress, int64_t now_ns) {
  if (progress->quiet || now_ns < progress->next_ns)
    return false;
  progress->next_ns = now_ns + (progress->terminal ? redraw_ns : line_ns);
  return true;
}

void progress_text(char text[PROGRESS_TEXT_MAX], long total, long frames, double seconds) {
  double fps = seconds > 0 ? (double)frames / seconds : 0;
  int used = total ? snprintf(text, PROGRESS_TEXT_MAX, "%ld of %ld frames", frames, total > frames ? total : frames)
                   : snprintf(text, PROGRESS_TEXT_MAX, "%ld frames so far", frames);
  if (fps > 0)
    used += snprintf(text + used, (size_t)(PROGRESS_TEXT_MAX - used), fps < 1 ? ", %.2f fps" : ", %.1f fps", fps);
  if (fps > 0 && total) {
    long left = total > frames ? (long)((double)(total - frames) / fps + 0.5) : 0;
    snprintf(text + used, (size_t)(PROGRESS_TEXT_MAX - used), ", %ld:%02ld left", left / 60, left % 60);
  }
}

static void draw_bar(long total, long frames, const char *text) {
  char bar[BAR + 1];
  int done = frames < total ? (int)(frames * BAR / total) : BAR;
  for (int i = 0; i < BAR; i++)
    bar[i] = i < done ? '#' : '.';
  bar[BAR] = 0;
  fprintf(stderr, "\r[%s] %3ld%%  %s\033[K", bar, frames < total ? frames * 100 / total : 100, text);
}

void progress_update(struct progress *progress, long frames, double seconds) {
  char text[PROGRESS_TEXT_MAX];
  if (!progress_is_due(progress, platform_now_ns()))
    return;
  progress_text(text, progress->total, frames, seconds);
  if (!progress->terminal)
    fprintf(stderr, "%s\n", text);
  else if (progress->total)
    draw_bar(progress->total, frames, text);
  else
    fprintf(stderr, "\r%s\033[K", text);
}

void progress_clear(struct progress *progress) {
  if (!progress->quiet && progress->terminal)
    fputs("\r\033[K", stderr);
}
