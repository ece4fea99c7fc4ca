#include "app/run/progress.h"

#include <string.h>

#include "app/platform/app_platform.h"
#include "app/sink/target.h"
#include "unet/base/platform.h"

enum { BAR = 30, SECOND_NS = 1000000000 };
/* Intervals in ns: between two drawings of the bar (redraw_ns), between two lines for people (line_ns), and between two
 * lines for a program (told_ns). */
static const int64_t redraw_ns = SECOND_NS / 10, line_ns = 60 * (int64_t)SECOND_NS, told_ns = SECOND_NS;

static bool is_for_programs(enum progress_kind kind) {
  return kind == PROGRESS_PERCENT || kind == PROGRESS_JSON || kind == PROGRESS_OPENJD;
}

enum progress_kind progress_wanted(const struct options *options) {
  return options->verbose < 0 && options->progress == PROGRESS_AUTO ? PROGRESS_NONE : options->progress;
}

FILE *progress_stream(enum progress_kind kind, const char *output) {
  bool taken = target_is_standard_output(output) || !strcmp(output, "hash:-");
  return is_for_programs(kind) && !taken ? stdout : stderr;
}

static int64_t interval_ns(const struct progress *progress) {
  if (is_for_programs(progress->kind))
    return told_ns;
  return progress->terminal ? redraw_ns : line_ns;
}

void progress_begin(struct progress *progress, enum progress_kind kind, FILE *out, long total, bool terminal,
                    int64_t now_ns) {
  *progress = (struct progress){.kind = kind, .out = out, .total = total, .terminal = terminal, .place = {1, 1, -1}};
  progress->next_ns = terminal ? now_ns : now_ns + interval_ns(progress);
}

void progress_init(struct progress *progress, enum progress_kind kind, FILE *out, long total) {
  bool terminal = kind == PROGRESS_AUTO && platform_is_terminal(STANDARD_ERROR);
  progress_begin(progress, kind, out, total, terminal, platform_now_ns());
}

bool progress_is_due(struct progress *progress, int64_t now_ns) {
  if (progress->kind == PROGRESS_NONE || now_ns < progress->next_ns)
    return false;
  progress->next_ns = now_ns + interval_ns(progress);
  return true;
}

static double rate(long frames, double seconds) {
  return seconds > 0 ? (double)frames / seconds : 0;
}

/* Returns how many seconds the remaining frames will take at the mean rate so far, rounded. */
static long seconds_left(long total, long frames, double fps) {
  return total > frames ? (long)((double)(total - frames) / fps + 0.5) : 0;
}

void progress_text(char text[PROGRESS_TEXT_MAX], long total, long frames, double seconds) {
  double fps = rate(frames, seconds);
  int used = total ? snprintf(text, PROGRESS_TEXT_MAX, "%ld of %ld frames", frames, total > frames ? total : frames)
                   : snprintf(text, PROGRESS_TEXT_MAX, "%ld frames so far", frames);
  if (fps > 0)
    used += snprintf(text + used, (size_t)(PROGRESS_TEXT_MAX - used), fps < 1 ? ", %.2f fps" : ", %.1f fps", fps);
  if (fps > 0 && total) {
    long left = seconds_left(total, frames, fps);
    snprintf(text + used, (size_t)(PROGRESS_TEXT_MAX - used), ", %ld:%02ld:%02ld left", left / 3600, left / 60 % 60,
             left % 60);
  }
}

static void write_json(const struct progress *progress, char text[PROGRESS_TEXT_MAX], long frames, double seconds) {
  double fps = rate(frames, seconds);
  int used = snprintf(text, PROGRESS_TEXT_MAX, "{\"frame\":%ld", progress->before + frames);
  if (progress->total || progress->ended)
    used += snprintf(text + used, (size_t)(PROGRESS_TEXT_MAX - used), ",\"total\":%ld",
                     progress->before + (progress->total > frames ? progress->total : frames));
  if (progress->place.inputs > 1)
    used += snprintf(text + used, (size_t)(PROGRESS_TEXT_MAX - used), ",\"input\":%d,\"inputs\":%d",
                     progress->place.input, progress->place.inputs);
  used += snprintf(text + used, (size_t)(PROGRESS_TEXT_MAX - used), ",\"seconds\":%.3f,\"fps\":%.3f", seconds, fps);
  if (progress->ended || (progress->total && fps > 0))
    used += snprintf(text + used, (size_t)(PROGRESS_TEXT_MAX - used), ",\"left\":%ld",
                     seconds_left(progress->total, frames, fps));
  snprintf(text + used, (size_t)(PROGRESS_TEXT_MAX - used), "}\n");
}

/* Returns which percentage of the work is done; negative: unknown. The result is at most 99.9, because the output is
 * not complete while this function is called. */
static double share(const struct progress *progress, long frames) {
  const struct progress_place *place = &progress->place;
  double part = progress->total ? (double)frames / (double)progress->total : -1;
  if (part < 0 && place->inputs == 1)
    return -1;
  double percent = 100 * (place->input - 1 + (part < 0 ? 0 : part < 1 ? part : 1)) / place->inputs;
  return percent < 99.9 ? percent : 99.9;
}

void progress_line(const struct progress *progress, char text[PROGRESS_TEXT_MAX], long frames, double seconds) {
  double percent = share(progress, frames);
  *text = 0;
  if (progress->kind == PROGRESS_JSON)
    write_json(progress, text, frames, seconds);
  else if (progress->kind == PROGRESS_PERCENT && percent >= 0)
    snprintf(text, PROGRESS_TEXT_MAX, "%d%%\n", (int)percent);
  else if (progress->kind == PROGRESS_OPENJD && percent >= 0)
    snprintf(text, PROGRESS_TEXT_MAX, "openjd_progress: %.1f\n", percent);
}

static void draw_bar(FILE *out, long total, long frames, const char *text) {
  char bar[BAR + 1];
  int done = frames < total ? (int)(frames * BAR / total) : BAR;
  for (int i = 0; i < BAR; i++)
    bar[i] = i < done ? '#' : '.';
  bar[BAR] = 0;
  fprintf(out, "\r[%s] %3ld%%  %s\033[K", bar, frames < total ? frames * 100 / total : 100, text);
}

static void show_people(const struct progress *progress, long frames, double seconds) {
  char text[PROGRESS_TEXT_MAX], input[48] = "", words[PROGRESS_TEXT_MAX + sizeof input];
  progress_text(text, progress->total, frames, seconds);
  if (progress->place.inputs > 1)
    snprintf(input, sizeof input, "input %d of %d: ", progress->place.input, progress->place.inputs);
  snprintf(words, sizeof words, "%s%s", input, text);
  if (!progress->terminal)
    fprintf(progress->out, "%s\n", words);
  else if (progress->total)
    draw_bar(progress->out, progress->total, frames, words);
  else
    fprintf(progress->out, "\r%s\033[K", words);
}

/* Writes a line for a program and flushes it at once. Errors are ignored, so that the render continues if the line's
 * reader is gone. */
static void tell(FILE *out, const char *line) {
  fputs(line, out);
  fflush(out);
}

/* Returns true if progress is reported as PROGRESS_PERCENT and the whole percentage is higher than in the last line. A
 * line is then written even if the last one is recent, so that a log has one line for each percent. */
static bool has_risen(struct progress *progress, long frames) {
  int percent = (int)share(progress, frames);
  if (progress->kind != PROGRESS_PERCENT || percent <= progress->place.percent)
    return false;
  progress->place.percent = percent;
  return true;
}

void progress_update(struct progress *progress, long frames, double seconds) {
  char line[PROGRESS_TEXT_MAX];
  bool due =
      progress->kind == PROGRESS_PERCENT ? has_risen(progress, frames) : progress_is_due(progress, platform_now_ns());
  if (!due)
    return;
  if (progress->kind == PROGRESS_AUTO) {
    show_people(progress, frames, seconds);
    return;
  }
  progress_line(progress, line, frames, seconds);
  tell(progress->out, line);
}

static const char *words_at_end(enum progress_kind kind) {
  return kind == PROGRESS_OPENJD ? "openjd_progress: 100.0\n" : kind == PROGRESS_PERCENT ? "100%\n" : "";
}

void progress_end(struct progress *progress, bool whole, long frames, double seconds) {
  char line[PROGRESS_TEXT_MAX] = "";
  if (progress->kind == PROGRESS_AUTO && progress->terminal)
    fputs("\r\033[K", progress->out);
  if (!whole || !is_for_programs(progress->kind))
    return;
  progress->total = frames;
  progress->ended = true;
  if (progress->kind == PROGRESS_JSON)
    progress_line(progress, line, frames, seconds);
  else if (progress->place.input == progress->place.inputs)
    snprintf(line, sizeof line, "%s", words_at_end(progress->kind));
  tell(progress->out, line);
}

void progress_fail(enum progress_kind kind, FILE *out, const struct error *err) {
  if (kind != PROGRESS_OPENJD)
    return;
  fprintf(out, "openjd_fail: %s\n", err->message);
  fflush(out);
}
