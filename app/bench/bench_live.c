/* bench --live: opens the live window and measures when it shows which frame of a source, as a user would see it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/bench/bench.h"
#include "app/live/probe.h"
#include "app/run/setup.h"
#include "app/window/window.h"

/* Defaults of --live: seconds to measure if neither --frames nor --duration is given (live_seconds), number of frames
 * for --warmup (LIVE_WARMUP), frame rate for --input-fps (LIVE_FPS). */
static const double live_seconds = 10;
enum { LIVE_WARMUP = 30, LIVE_FPS = 60 };

/* Makes the test pattern the window's source. The pattern contains a marker by which its frames are recognised, and
 * has the size of the engine's pictures, so that neither frames nor pictures are scaled. */
static void show_pattern(const struct bench *bench, char *source, size_t size, struct options *show,
                         struct source_info *info) {
  const struct options *options = bench->options;
  const struct engine_shape *shape = &bench->report.prepared.shape;
  info->width = options->input_width ? options->input_width : shape->width;
  info->height = options->input_height ? options->input_height : shape->height;
  info->fps = options->input_fps > 0 ? options->input_fps : LIVE_FPS;
  snprintf(source, size, "pattern-marked:%dx%d", info->width, info->height);
  show->input = source;
}

/* Fills in *show, the options with which the window is opened, and *info with the rate and size of the source that it
 * shows. Returns 0, or -1 with err. */
static int show_options(const struct bench *bench, char *source, size_t size, struct options *show,
                        struct source_info *info, struct error *err) {
  const struct options *options = bench->options;
  const struct engine_shape *shape = &bench->report.prepared.shape;
  *show = *options;
  *info = bench->clip;
  if (!options->input)
    show_pattern(bench, source, size, show, info);
  show->command = COMMAND_LIVE;
  show->loop = options->input != NULL;
  show->frames = 0;
  show->duration = 0;
  show->input_width = show->input_height = 0;
  show->input_fps = options->input ? 0 : info->fps;
  struct parameters *values = &show->values;
  return parameters_set_size(values, PARAMETER_SIZE, 0, shape->width, shape->height, err) ||
                 parameters_set_number(values, PARAMETER_HUD, 0, values->with_operator, err) ||
                 parameters_set_number(values, PARAMETER_FIT, 0, FIT_STRETCH, err) ||
                 parameters_set_number(values, PARAMETER_SPLIT, 0, true, err) ||
                 parameters_set_number(values, PARAMETER_SPLIT_AT, 0,
                                       fmin(1, marker_width((double)info->width / info->height)), err)
             ? -1
             : 0;
}

static void add_probed(struct bench *bench, const struct live_probe *probe) {
  const struct sightings *seen = &probe->seen;
  double rate = sightings_rate(seen), seconds = rate > 0 ? (double)seen->presented / rate : 0;
  bench_add_row(bench, "engine, in the window", "its own time for a frame while the window shows it", &seen->frame,
                seconds);
  if (bench->options->input)
    bench_add_row(bench, "handed out late",
                  "how late the decoded frame was then, of pictures presented: not in the rows below", &seen->handed,
                  seconds);
  bench_add_row(bench, "capture to engine",
                bench->options->input ? "from when the decoded frame was handed out until the engine takes it"
                                      : "from the frame's capture until the engine takes it",
                &seen->taken, seconds);
  bench_add_row(bench, "engine to picture", "from then until the picture is there", &seen->finished, seconds);
  bench_add_row(bench, "picture to presented", "from then until it was read back from the window", &seen->shown,
                seconds);
  bench_add_row(bench, "of that for the marker",
                "until the window has the frame's edge, too, which it shows for this alone", &probe->brought, seconds);
  bench_add_row(bench, "capture to presented", "all of that: the latency as a user sees it", &seen->latency, seconds);
  bench_add_row(bench, "waking alone", "how late the machine wakes a thread that only wakes, as often, meanwhile",
                &probe->woken, seconds);
  bench_add_row(bench, "prompt to visible", "from a new prompt until a picture that shows it is presented",
                &probe->change[CHANGE_PROMPT].ms, 0);
  bench_add_row(bench, "strength to visible", "likewise, of another strength", &probe->change[CHANGE_STRENGTH].ms, 0);
}

static void report_live(struct bench *bench, const struct live_probe *probe, double source_fps, double compute_ms) {
  static const char *const names[PROBE_CHANGES] = {"prompt", "strength"};
  const struct sightings *seen = &probe->seen;
  double spare_ms = seen->deadline_ms - stats_quantile(&seen->latency, 0.5);
  struct report_live *live = &bench->report.live;
  *live = (struct report_live){
      .measured = true,
      .source_fps = source_fps,
      .shown_fps = sightings_rate(seen),
      .deadline_ms = seen->deadline_ms,
      .presented = seen->presented,
      .missed = seen->missed,
      .missed_by = {seen->missed_by[MISS_WAITING], seen->missed_by[MISS_ENGINE], seen->missed_by[MISS_WINDOW]},
      .spare_ms = spare_ms,
      .woken_late = stats_above(&probe->woken, spare_ms),
      .dropped = seen->dropped,
      .repeated = seen->repeated,
      .unread = seen->unread,
      .is_front = !probe->reads_back,
      .engine_cpu_us = probe->engine_cpu_us,
      .window_cpu_us = probe->window_cpu_us,
      .engine_urgency = probe->engine_urgency,
      .window_urgency = probe->window_urgency,
      .demoted = platform_count_demoted(),
      .awake = probe->awake,
      .engine_bytes = probe->engine_bytes,
      .window_bytes = probe->window_bytes,
      .shared = probe->shared,
      .uploaded = probe->uploaded,
      .engine_ms = stats_quantile(&seen->frame, 0.5),
      .compute_ms = compute_ms,
      .paced_ms = bench->report.rows[bench->report.row_count - 1].times.median_ms};
  memcpy(live->late, seen->late, sizeof live->late);
  for (int i = 0; i < PROBE_CHANGES; i++) {
    const struct stats *frames = &probe->change[i].frames;
    live->change[i] =
        (struct report_change){names[i], frames->count, round(stats_quantile(frames, 0.5)), frames->max_ms};
  }
}

static void say_source(struct bench *bench, const struct source_info *info, const char *hardware) {
  if (bench->options->input)
    snprintf(bench->source, sizeof bench->source, "%s, decoded by %s, shown again and again", info->description,
             hardware ? hardware : "software");
  else
    snprintf(bench->source, sizeof bench->source, "test pattern with a marker, %dx%d, %g fps", info->width,
             info->height, info->fps);
}

int bench_live(struct bench *bench, struct error *err) {
  const struct options *options = bench->options;
  struct options show;
  struct source_info info;
  char source[64];
  if (bench_compute(bench, err))
    return -1;
  double compute_ms = bench->report.rows[bench->report.row_count - 1].times.median_ms;
  engine_get_info(bench->engine, &bench->report.engine);
  prepared_get_info(bench->prepared, &bench->report.prepared);
  if (show_options(bench, source, sizeof source, &show, &info, err) || bench_paced(bench, info.fps, err))
    return -1;
  engine_close(&bench->engine);
  struct live_probe probe = {.warmup = options->warmup >= 0 ? options->warmup : LIVE_WARMUP,
                             .frames = options->frames,
                             .seconds = options->duration > 0 ? options->duration
                                        : options->frames     ? 0
                                                              : live_seconds,
                             .fps = info.fps,
                             .clip_us = bench->clip.length * 1e6,
                             .seen = {.engine_ms = compute_ms, .deadline_ms = 1e3 / info.fps + compute_ms + 1}};
  if (live_perform(&show, &probe, err))
    return -1;
  if (!probe.ended)
    return error_set(err, STATUS_FAILED, "--live: the window was closed before all was measured");
  if (!probe.seen.latency.count)
    return error_set(err, STATUS_OUTPUT, "--live: the window shows no frame's number (the marker is not to be read)");
  report_live(bench, &probe, info.fps, compute_ms);
  add_probed(bench, &probe);
  say_source(bench, &info, probe.hardware);
  return 0;
}

/* Fails if no window can be opened. */
static int try_window(struct error *err) {
  struct window *window;
  int status = window_create(&window, NULL, false, err);
  window_close(&window);
  return status;
}

/* Reads the frame rate and length of the clip that --live shows, from which a frame's number is computed when the clip
 * is repeated. Returns 0, or -1 with err. */
static int look_at_clip(struct bench *bench, struct error *err) {
  struct source *source;
  struct source_info *clip = &bench->clip;
  struct source_options options = bench->source_options;
  options.duration = 0;
  if (source_open(&source, bench->options->input, &options, err))
    return atomic_load(&setup_stop) ? error_set(err, STATUS_INTERRUPTED, "interrupted: no figures") : -1;
  source_get_info(source, clip);
  source_close(&source);
  if (clip->passes || clip->length <= 0 || clip->fps <= 0 || clip->width <= 0 || clip->height <= 0)
    return error_set(err, STATUS_INPUT, "%s: bench --live shows a clip of known length and rate, from a file",
                     bench->options->input);
  return 0;
}

static int check_clip(struct bench *bench, struct error *err) {
  const struct options *options = bench->options;
  if (options->steadiness)
    return 0;
  if (options->input && (options->input_fps > 0 || options->input_width))
    return error_set(err, STATUS_USAGE, "--%s is for the pattern of bench --live: a clip has its own",
                     options->input_width ? "input-size" : "input-fps");
  if (!options->input && options->hwdec && !options->control_source)
    return error_set(err, STATUS_USAGE, "--hwdec is for the clip of bench --live: the pattern is not decoded");
  return options->input ? look_at_clip(bench, err) : 0;
}

int bench_check_live(struct bench *bench, struct error *err) {
  const struct options *options = bench->options;
  const struct {
    bool given;
    const char *name;
  } alone[] = {{options->input_fps > 0, "input-fps"},
               {options->duration > 0, "duration"},
               {options->awake, "awake"},
               {options->window_width > 0, "window"},
               {options->values.with_operator, "operator"},
               {parameters_text(&options->values, PARAMETER_LFO, 1) != NULL, "lfo"},
               {options->osc != NULL, "osc"},
               {options->midi != NULL, "midi"},
               {options->sound != NULL, "sound"},
               {options->modulate.count > 0, "modulate"},
               {options->web != NULL, "web"}};
  for (size_t i = 0; !options->live && i < sizeof alone / sizeof *alone; i++)
    if (alone[i].given)
      return error_set(err, STATUS_USAGE, "--%s is for bench --live, which shows the pattern in a window",
                       alone[i].name);
  if (options->live && (options->profile || options->sweep || options->trace))
    return error_set(err, STATUS_USAGE, "--live measures the window: --profile, --sweep and --trace go without it");
  if (options->live && options->batch > 1)
    return error_set(err, STATUS_USAGE, "--live shows each frame as it comes: --batch goes without it");
  if (options->live && !setup_needs_input(options))
    return error_set(err, STATUS_USAGE, "--live follows frames through the window: --text-to-image has none");
  if (check_clip(bench, err))
    return -1;
  return options->live ? try_window(err) : 0;
}
