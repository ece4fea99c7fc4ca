#include "app/bench/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "app/bench/profile_report.h"
#include "app/bench/steadiness_report.h"
#include "app/platform/app_platform.h"
#include "unet/base/platform.h"

static double megabytes(size_t bytes) {
  return (double)bytes * 1e-6;
}

/* Returns by how many percent a frame of the engine takes longer in the window than with the engine running alone
 * (alone_ms). */
static double slower_by(const struct report_live *live, double alone_ms) {
  return alone_ms > 0 ? (live->engine_ms / alone_ms - 1) * 100 : 0;
}

static void print_rows(const struct report *report, FILE *out) {
  const struct engine_info *engine = &report->engine;
  fprintf(out, "%-26s %7s %8s %8s %8s %8s %8s %8s  (ms a frame)\n", "", "frames", "fps", "median", "p95", "p99", "max",
          "p99-med");
  for (int i = 0; i < report->row_count; i++) {
    const struct report_row *row = &report->rows[i];
    fprintf(out, "%-26s %7ld %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f\n", row->name, row->times.count, row->fps,
            row->times.median_ms, row->times.p95_ms, row->times.p99_ms, row->times.max_ms, row->times.jitter_ms);
  }
  fputc('\n', out);
  for (int i = 0; i < report->row_count; i++)
    fprintf(out, "%s: %s\n", report->rows[i].name, report->rows[i].meaning);
  fprintf(out, "\nstart to first picture %.0f ms; peak memory %.0f MB; on the device %.0f MB, %ld allocations\n",
          report->first_frame_ms, megabytes(report->peak_bytes), megabytes(engine->device_peak_bytes),
          engine->device_allocations);
  /* The numbers of launches, waits, allocations and copies per frame are printed only for a device that can have
   * several runs in flight, such as a GPU: it starts the next run without waiting for the host. */
  if (engine->depth > 1)
    fprintf(out, "a frame: %.2f launches, %.2f waits, %.2f allocations\n", report->launches, report->waits,
            report->allocations);
  if (engine->depth > 1)
    fprintf(out, "copied a frame: %.0f bytes of pixels up, %.0f down, %.0f by the processor\n", report->up,
            report->down, report->staged);
  if (report->joules > 0)
    fprintf(out, "energy: %.3f J a frame of the whole GPU, in \"compute only\"\n", report->joules);
}

static const char *urgency_word(enum urgency urgency) {
  static const char *const words[] = {
      [URGENCY_USUAL] = "usual", [URGENCY_NICE] = "nice", [URGENCY_REAL_TIME] = "real time"};
  return words[urgency];
}

static void print_live(const struct report_live *live, FILE *out) {
  fprintf(out,
          "\n%ld pictures presented, %.2f a second of a source's %g: %ld missed (later than %.2f ms: a frame of the "
          "source, compute only, 1 ms), %ld skipped, %ld repeated, %ld not read (%s)\n",
          live->presented, live->shown_fps, live->source_fps, live->missed, live->deadline_ms, live->dropped,
          live->repeated, live->unread, live->is_front ? "from what was presented" : "from what was drawn");
  if (live->missed)
    fprintf(out, "of those missed, %ld waited for the engine, %ld were long in it, %ld came late to the screen\n",
            live->missed_by[0], live->missed_by[1], live->missed_by[2]);
  if (live->spare_ms > 0)
    fprintf(out,
            "the median picture had %.2f ms to spare; the machine woke a thread that only wakes later than that %ld "
            "times meanwhile\n",
            live->spare_ms, live->woken_late);
  for (int i = 0; i < REPORT_CHANGES_MAX; i++)
    fprintf(out, "a change of %s is visible in picture %g (median; at most %g), of %ld changes\n", live->change[i].name,
            live->change[i].median_frames, live->change[i].most_frames, live->change[i].count);
  fprintf(out, "processor time a picture: engine's thread %.0f us, window's thread %.0f us\n", live->engine_cpu_us,
          live->window_cpu_us);
  fprintf(out, "scheduling: engine's thread %s, window's thread %s%s\n", urgency_word(live->engine_urgency),
          urgency_word(live->window_urgency), live->demoted ? ", until one did not rest" : "");
  if (live->awake)
    fprintf(out, "%d processor%s kept from sleeping\n", live->awake, live->awake == 1 ? "" : "s");
  fprintf(out, "bytes of pixels copied a picture: engine %.0f, window %.0f; %ld pictures shared, %ld uploaded\n",
          live->engine_bytes, live->window_bytes, live->shared, live->uploaded);
  fprintf(out,
          "the engine's frame in the window: %.2f ms, %+.1f %% beside compute only, %+.1f %% beside it at that rate\n",
          live->engine_ms, slower_by(live, live->compute_ms), slower_by(live, live->paced_ms));
}

void report_table(const struct report *report, FILE *out) {
  const struct engine_info *engine = &report->engine;
  const struct engine_shape *shape = &report->prepared.shape;
  fprintf(out, "%s, %dx%d, %d step%s (%s, %s spacing), %.1f GFLOP a frame\n", engine->model, shape->width,
          shape->height, shape->steps, shape->steps == 1 ? "" : "s", report->prepared.sampler, report->prepared.spacing,
          report->prepared.flops * 1e-9);
  fprintf(out, "%s%s%s\n", engine->device, *engine->device_detail ? ", " : "", engine->device_detail);
  if (shape->batch > 1)
    fprintf(out, "%d frames in one run: times are those of a frame\n", shape->batch);
  fprintf(out, "input: %s\n\n", report->source);
  if (report->profile.count)
    profile_table(&report->profile, out);
  if (report->sweep.count)
    sweep_table(&report->sweep, out);
  if (report->steadiness.count)
    steadiness_table(&report->steadiness, out);
  if (report->row_count)
    print_rows(report, out);
  if (report->live.measured)
    print_live(&report->live, out);
}

static void add_row(cJSON *rows, const struct report_row *row) {
  cJSON *to = cJSON_CreateObject();
  cJSON_AddStringToObject(to, "name", row->name);
  cJSON_AddStringToObject(to, "meaning", row->meaning);
  cJSON_AddNumberToObject(to, "frames", (double)row->times.count);
  cJSON_AddNumberToObject(to, "fps", row->fps);
  cJSON_AddNumberToObject(to, "mean_ms", row->times.mean_ms);
  cJSON_AddNumberToObject(to, "min_ms", row->times.min_ms);
  cJSON_AddNumberToObject(to, "median_ms", row->times.median_ms);
  cJSON_AddNumberToObject(to, "p95_ms", row->times.p95_ms);
  cJSON_AddNumberToObject(to, "p99_ms", row->times.p99_ms);
  cJSON_AddNumberToObject(to, "max_ms", row->times.max_ms);
  cJSON_AddNumberToObject(to, "jitter_ms", row->times.jitter_ms);
  cJSON_AddNumberToObject(to, "spread_ms", row->times.spread_ms);
  cJSON_AddItemToArray(rows, to);
}

static void add_late(cJSON *to, const struct report_live *live) {
  cJSON *list = cJSON_AddArrayToObject(to, "late");
  for (int i = 0; i < LATE_PICTURES_MAX && i < live->missed; i++) {
    cJSON *late = cJSON_CreateObject();
    cJSON_AddNumberToObject(late, "at_s", live->late[i].at_s);
    if (live->late[i].handed_ms > 0)
      cJSON_AddNumberToObject(late, "handed_out_late_ms", live->late[i].handed_ms);
    cJSON_AddNumberToObject(late, "waiting_ms", live->late[i].waiting_ms);
    cJSON_AddNumberToObject(late, "in_engine_ms", live->late[i].engine_ms);
    if (live->late[i].device_ms > 0)
      cJSON_AddNumberToObject(late, "on_device_ms", live->late[i].device_ms);
    cJSON_AddNumberToObject(late, "to_screen_ms", live->late[i].window_ms);
    cJSON_AddItemToArray(list, late);
  }
}

static void add_live(cJSON *to, const struct report_live *live) {
  cJSON_AddNumberToObject(to, "source_fps", live->source_fps);
  cJSON_AddNumberToObject(to, "shown_fps", live->shown_fps);
  cJSON_AddNumberToObject(to, "presented", (double)live->presented);
  cJSON_AddNumberToObject(to, "deadline_ms", live->deadline_ms);
  cJSON_AddNumberToObject(to, "missed", (double)live->missed);
  cJSON_AddNumberToObject(to, "missed_waiting", (double)live->missed_by[0]);
  cJSON_AddNumberToObject(to, "missed_in_engine", (double)live->missed_by[1]);
  cJSON_AddNumberToObject(to, "missed_to_screen", (double)live->missed_by[2]);
  add_late(to, live);
  cJSON_AddNumberToObject(to, "spare_ms", live->spare_ms);
  cJSON_AddNumberToObject(to, "woken_late", (double)live->woken_late);
  cJSON_AddNumberToObject(to, "dropped", (double)live->dropped);
  cJSON_AddNumberToObject(to, "repeated", (double)live->repeated);
  cJSON_AddNumberToObject(to, "unread", (double)live->unread);
  cJSON_AddStringToObject(to, "read_from", live->is_front ? "presented" : "drawn");
  cJSON_AddNumberToObject(to, "engine_cpu_us", live->engine_cpu_us);
  cJSON_AddNumberToObject(to, "window_cpu_us", live->window_cpu_us);
  cJSON_AddStringToObject(to, "engine_scheduling", urgency_word(live->engine_urgency));
  cJSON_AddStringToObject(to, "window_scheduling", urgency_word(live->window_urgency));
  cJSON_AddNumberToObject(to, "processors_awake", live->awake);
  cJSON_AddNumberToObject(to, "engine_copied_bytes", live->engine_bytes);
  cJSON_AddNumberToObject(to, "window_copied_bytes", live->window_bytes);
  cJSON_AddNumberToObject(to, "shared", (double)live->shared);
  cJSON_AddNumberToObject(to, "uploaded", (double)live->uploaded);
  cJSON_AddNumberToObject(to, "engine_ms", live->engine_ms);
  cJSON_AddNumberToObject(to, "compute_ms", live->compute_ms);
  cJSON_AddNumberToObject(to, "compute_paced_ms", live->paced_ms);
  cJSON_AddNumberToObject(to, "engine_slower_percent", slower_by(live, live->compute_ms));
  cJSON *changes = cJSON_AddArrayToObject(to, "changes");
  for (int i = 0; i < REPORT_CHANGES_MAX; i++) {
    cJSON *change = cJSON_CreateObject();
    cJSON_AddStringToObject(change, "name", live->change[i].name);
    cJSON_AddNumberToObject(change, "count", (double)live->change[i].count);
    cJSON_AddNumberToObject(change, "median_frames", live->change[i].median_frames);
    cJSON_AddNumberToObject(change, "most_frames", live->change[i].most_frames);
    cJSON_AddItemToArray(changes, change);
  }
}

static char *make_json(const struct report *report) {
  const struct engine_info *engine = &report->engine;
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "version", REVERIE_VERSION);
  cJSON_AddStringToObject(root, "model", engine->model);
  cJSON_AddStringToObject(root, "device", engine->device);
  cJSON_AddStringToObject(root, "device_detail", engine->device_detail);
  cJSON_AddStringToObject(root, "source", report->source);
  cJSON_AddNumberToObject(root, "width", report->prepared.shape.width);
  cJSON_AddNumberToObject(root, "height", report->prepared.shape.height);
  cJSON_AddNumberToObject(root, "steps", report->prepared.shape.steps);
  cJSON_AddNumberToObject(root, "batch", report->prepared.shape.batch);
  cJSON_AddStringToObject(root, "sampler", report->prepared.sampler);
  cJSON_AddStringToObject(root, "spacing", report->prepared.spacing);
  cJSON_AddNumberToObject(root, "flops", report->prepared.flops);
  cJSON_AddNumberToObject(root, "first_frame_ms", report->first_frame_ms);
  cJSON_AddNumberToObject(root, "peak_memory_bytes", (double)report->peak_bytes);
  cJSON_AddNumberToObject(root, "device_peak_bytes", (double)engine->device_peak_bytes);
  cJSON_AddNumberToObject(root, "device_allocations", (double)engine->device_allocations);
  cJSON_AddNumberToObject(root, "device_launches", (double)engine->device_launches);
  cJSON_AddNumberToObject(root, "device_waits", (double)engine->device_waits);
  cJSON_AddNumberToObject(root, "device_captures", (double)engine->device_captures);
  cJSON_AddNumberToObject(root, "launches_per_frame", report->launches);
  cJSON_AddNumberToObject(root, "waits_per_frame", report->waits);
  cJSON_AddNumberToObject(root, "allocations_per_frame", report->allocations);
  cJSON_AddNumberToObject(root, "copied_up_bytes_per_frame", report->up);
  cJSON_AddNumberToObject(root, "copied_down_bytes_per_frame", report->down);
  cJSON_AddNumberToObject(root, "staged_bytes_per_frame", report->staged);
  cJSON_AddNumberToObject(root, "joules_per_frame", report->joules);
  cJSON *rows = cJSON_AddArrayToObject(root, "rows");
  for (int i = 0; i < report->row_count; i++)
    add_row(rows, &report->rows[i]);
  if (report->live.measured)
    add_live(cJSON_AddObjectToObject(root, "live"), &report->live);
  if (report->sweep.count)
    sweep_json(&report->sweep, cJSON_AddArrayToObject(root, "sweep"));
  if (report->steadiness.count)
    steadiness_json(&report->steadiness, cJSON_AddArrayToObject(root, "steadiness"));
  if (report->profile.count)
    profile_json(&report->profile, cJSON_AddObjectToObject(root, "profile"));
  if (report->timings)
    cJSON_AddStringToObject(root, "timings", report->timings);
  char *text = cJSON_Print(root);
  cJSON_Delete(root);
  return text;
}

int report_write(const char *path, char *text, struct error *err) {
  bool standard = !strcmp(path, "-");
  if (!text)
    return error_set(err, STATUS_FAILED, "%s: no memory for what is to be written", path);
  FILE *out = standard ? stdout : platform_open_to_write(path);
  bool failed = !out || fprintf(out, "%s\n", text) < 0 || fflush(out);
  int reason = errno;
  if (out && !standard)
    failed |= fclose(out) != 0;
  free(text);
  return failed ? error_set(err, STATUS_OUTPUT, "%s: cannot be written: %s", path, platform_why_unwritten(reason)) : 0;
}

int report_json(const struct report *report, const char *path, struct error *err) {
  return report_write(path, make_json(report), err);
}
