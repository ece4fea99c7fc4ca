/* Opens the source, the mask and the control source on the main thread as the options say. Also contains the callbacks
 * that open engines, on the loop's thread or on its helper thread. */
#include <stdio.h>
#include <string.h>

#include "app/control/presets_file.h"
#include "app/control/usual_prompts.h"
#include "app/live/live_impl.h"
#include "app/platform/app_platform.h"
#include "app/run/setup.h"

/* Longest time in ms by which the next frame is delayed so that the window can draw a picture on the engine's GPU
 * (loop_params.drawing_ms). */
enum { DRAWING_MS = 4 };

/* Opens the source at index live->first of the list. After a restart of the program that is the source shown before,
 * which continues at the position that it had reached. *source stays NULL if the reader's thread opens the source
 * later. Returns 0, or -1 with err. */
static int open_listed(struct live *live, struct source **source, struct error *err) {
  struct source_options options = live->source_options;
  const struct playlist_entry *entry = live->list.count ? &live->list.entries[live->first] : NULL;
  if (entry)
    playlist_narrow(entry, &options);
  if (live->came)
    options.resume = live->came->position;
  live->spec = entry ? entry->name : "camera";
  if (live->source_is_control)
    live->spec = live->options->control_source;
  return (entry || live->source_is_control) && source_opens_late(live->spec)
             ? 0
             : source_open(source, live->spec, &options, err);
}

/* Called after the first source of the list could not be opened: opens the next source of the list that can be opened.
 * Returns false, with err, if there is none. Also returns false after a restart of the program, because the program
 * then waits for the source that was shown before. */
static bool open_next(struct live *live, struct source **source, struct error *err) {
  while (!live->came && !live->source_is_control && live->first + 1 < live->list.count && !atomic_load(&setup_stop)) {
    log_line(&live->log, LOG_WARNING, "%s", err->message);
    live->first++;
    if (open_listed(live, source, err) == 0)
      return true;
  }
  return false;
}

int live_open_source(struct live *live, struct source **source, struct error *err) {
  if (open_listed(live, source, err) == 0 || open_next(live, source, err))
    return 0;
  /* after a restart of the program, the source that was shown before the restart may need time to come back, so the
   * program waits for it */
  if (live->came && !atomic_load(&setup_stop)) {
    live->source_options.patient = true;
    return live_allow_failure(live, -1, err);
  }
  if (live->list.count || live->source_is_control || atomic_load(&setup_stop))
    return -1;
  struct error why = *err;
  if (paths_data(live->clip, "sample.mp4", STATUS_INPUT, err))
    return -1;
  live->spec = live->clip;
  live->source_options.loop = true;
  log_line(&live->log, LOG_WARNING, "%s; showing the sample clip", why.message);
  return source_open(source, live->spec, &live->source_options, err);
}

/* Fills *wish with the options for an engine that is opened while another one, which `used` describes, is in use: the
 * requested values, and the same device. A --memory-limit is lowered by what the engine in use takes. Returns 0, or -1
 * with err if the numbers of the LoRA adapters have a gap. */
static int wish_options(struct options *wish, const struct options *options, const struct parameters *values,
                        const struct engine_info *used, struct error *err) {
  size_t limit = options->device.memory_limit;
  options_with(wish, options, values);
  wish->device.name = used->device_name;
  if (limit)
    wish->device.memory_limit = limit > used->device_bytes ? limit - used->device_bytes : 1;
  for (int i = wish->lora_count + 1; i <= ADAPTERS_MAX; i++)
    if (parameters_text(values, PARAMETER_LORA, i))
      return error_set(err, STATUS_USAGE, "lora[%d]: there is no lora[%d]", i, wish->lora_count + 1);
  return 0;
}

static bool is_leaving(void *opaque) {
  const struct live *live = opaque;
  return atomic_load(&live->leaving);
}

/* Opens an engine with these options and prepares its first handle (struct prepared, for one size and step count).
 * used: description of the engine that is in use meanwhile; NULL: none is. Returns 0, or -1 with err. */
static int open_with(struct live *live, const struct options *options, const struct engine_info *used,
                     struct opened *opened, struct error *err) {
  struct source_info first;
  pthread_mutex_lock(&live->source_lock);
  first = live->first_source;
  pthread_mutex_unlock(&live->source_lock);
  const struct setup setup = {
      .options = options,
      .nearest = used != NULL,
      .leaves_styles = used || live->came,
      .info = live->spec ? &first : NULL,
      .longest = LONGEST_SIDE,
      .larger = true,
      .smooth = true,
      .paced = true,
      .output = PIXEL_RGBA,
      .shared = true,
      .gives_up = is_leaving,
      .gives_up_opaque = live,
      .pictures = LOOP_HOLDS + IMPORT_HOLDS + SNAPSHOT_HOLDS + (live->options->presets ? PRESETS_HOLDS : 0) +
                  HUB_HOLDS + live_outputs_hold(live),
      .log = &live->told,
  };
  struct engine_info info;
  struct prepared_info own;
  if (setup_engine(&opened->engine, &opened->prepared, &setup, err))
    return -1;
  engine_get_info(opened->engine, &info);
  prepared_get_info(opened->prepared, &own);
  if (masking_check(live->masking, &info, &live->log, err)) {
    engine_close(&opened->engine);
    return -1;
  }
  values_follow_engine(&opened->beginning.values, &info, &own);
  /* setup_engine has encoded this many prompts: those of the options or, if there are none, the one default prompt
   * */
  int encoded = options->prompt_count ? options->prompt_count : 1;
  for (int i = 0; i < encoded; i++)
    opened->beginning.encoded[SLOT_PRESET_1 + i] = true;
  opened->beginning.encoded[SLOT_NEGATIVE] = options->values.negative.given;
  return 0;
}

static void note_first_source(struct live *live, const struct source_info *info) {
  pthread_mutex_lock(&live->source_lock);
  live->first_source = *info;
  pthread_mutex_unlock(&live->source_lock);
}

/* Waits until the reader's thread has opened the source, at most for the time in the parameter fallback_after. Stores
 * in *info the description of the source or, after that time, of the file that is shown instead (--fallback). Returns
 * false if the program ends meanwhile. */
static bool await_either(struct live *live, struct source_info *info) {
  enum { LOOK_AGAIN_NS = 20000000 };
  int64_t until_ns = platform_now_ns() + (int64_t)(live->options->values.fallback_after * 1e9);
  while (!reader_get_info(live->reader, info)) {
    if (atomic_load(&live->leaving) || atomic_load(&setup_stop))
      return false;
    if (platform_now_ns() > until_ns) {
      fallback_get_info(live->fallback, info);
      return true;
    }
    platform_sleep_ns(LOOK_AGAIN_NS);
  }
  return true;
}

/* If the picture's aspect ratio is to be the source's, waits until the reader's thread has opened the source. Returns
 * 0, or -1 with err. */
static int await_source(struct live *live, struct error *err) {
  struct source_info info;
  if (!live->reader || live->options->values.size.width || live->first_source.shape > 0)
    return 0;
  if (live->fallback ? !await_either(live, &info) : !reader_wait_info(live->reader, &info))
    return error_set(err, STATUS_INPUT, "%s: it has not come", live->spec);
  note_first_source(live, &info);
  return 0;
}

/* Opens an engine with the values in opened->beginning. The first engine (used NULL) is opened on the loop's thread
 * with live->first_values; if the reader's thread opens the source, this also fills live->first_source. Later engines
 * are opened on a helper thread, while the engine that `used` describes is in use. Returns 0, or -1 with err. */
static int open_engine_for(void *opaque, const struct engine_info *used, struct opened *opened, struct error *err) {
  struct live *live = opaque;
  struct options wish;
  if (!used) {
    opened->beginning.values = live->first_values;
    if (await_source(live, err))
      return -1;
    return open_with(live, live->options, used, opened, err);
  }
  if (wish_options(&wish, live->options, &opened->beginning.values, used, err))
    return -1;
  opened->beginning.values = wish.values;
  if (!open_with(live, &wish, used, opened, err))
    return 0;
  const struct error why = *err;
  return why.status != STATUS_DEVICE || !used->device_bytes
             ? -1
             : error_set(err, why.status, "%.400s (%s runs beside it and takes %.1f MB)", why.message, used->model,
                         (double)used->device_bytes * 1e-6);
}

static bool modulate(void *opaque, struct settings *settings, const struct frame *frame, int64_t now_ns) {
  return live_modulate(opaque, settings, frame, now_ns);
}

/* Called on the loop's thread before each frame is submitted: gives the engine the mask and the control source's frame.
 * The position in the mask's video follows from the frame's capture time, because the frame's time stamp restarts when
 * a file is repeated. Returns 0, or -1 with err. */
static int before(void *opaque, struct engine *engine, struct engine_request *request, struct error *err) {
  struct live *live = opaque;
  const struct frame *frame = request->frame;
  struct source_info info;
  if (live->reader && live->first_source.shape <= 0 && reader_get_info(live->reader, &info))
    note_first_source(live, &info);
  request->control_frame = live->source_is_control ? frame : control_source_at(live->control, frame);
  return masking_apply(live->masking, engine, frame, frame ? (double)frame->captured_ns * 1e-9 : 0, err);
}

static int follow_styles(void *opaque, struct engine *engine, struct parameters *has, const struct parameters *wish,
                         const struct frame *frame, struct error *err) {
  struct live *live = opaque;
  return styling_follow(&live->styling, engine, has, wish, frame, err);
}

static void put_back_styles(void *opaque, const struct parameters *has, struct parameters *values) {
  struct live *live = opaque;
  styling_put_back(&live->styling, has, values);
}

static void left(void *opaque) {
  struct live *live = opaque;
  styling_leave(&live->styling);
  masking_leave(live->masking);
}

/* Sets live->first_values from the command line. Not called after a restart of the program: then first_values are the
 * values from before the restart. */
static void begin_values(struct live *live) {
  live->first_values = live->start;
  live->first_values.fullscreen |= live_fills_display(live);
  live->first_values.recording = live->options->record != NULL;
}

static bool has_choice(const struct parameter_choices *files, const char *text) {
  for (int i = 0; i < files->count; i++)
    if (!strcmp(files->text[i], text))
      return true;
  return false;
}

static void add_given(struct parameter_choices *files, const struct options *options, enum parameter id) {
  int given = options_given(&options->values, id);
  for (int i = 1; i <= given && files->count < CHOICES_MAX; i++) {
    const char *text = parameters_text(&options->values, id, i);
    if (!has_choice(files, text))
      files->text[files->count++] = text;
  }
}

static int start_reader(struct live *live, struct source **source, struct error *err) {
  struct source_options options = live->source_options;
  options.begun = live->came != NULL;
  if (mixer_open(&live->mixer, &live->frames, &options.gpu, &live->told, err))
    return -1;
  return reader_start_mixed(&live->reader, source, live->spec, &options, live->list.count > 1, live->mixer, MIXER_LIST,
                            err);
}

/* Opens the file of --fallback. Returns 0, or -1 with err. */
static int open_fallback(struct live *live, struct error *err) {
  const char *file = live->options->fallback;
  if (!file)
    return 0;
  if (!live->mixer)
    return error_set(err, STATUS_USAGE, "--fallback: there is no source that could be lost");
  int status = fallback_open(&live->fallback, file, &live->source_options, live->mixer, err);
  if (status)
    error_prefix(err, "--fallback: ");
  return live_allow_failure(live, status, err);
}

int live_start_threads(struct live *live, struct source **source, struct error *err) {
  struct loop_params params = {.open = open_engine_for,
                               .modulate = modulate,
                               .before = before,
                               .read_files = follow_styles,
                               .put_back = put_back_styles,
                               .left = left,
                               .opaque = live,
                               .recovers = true,
                               .retries_start = live->came != NULL,
                               .leaves_lost = !live->probe && platform_can_begin_anew(),
                               .urgent = live->options->real_time == REAL_TIME_AUTO,
                               .drawing_ms = DRAWING_MS,
                               .budget_ms = live->figures.budget_ms,
                               .floor_pixels = live->options->budget_floor_width * live->options->budget_floor_height,
                               .memory_limit = live->options->device.memory_limit,
                               .log = &live->log,
                               .told = &live->told};
  if (usual_prompts_add(&live->start, err))
    return -1;
  live->first_values = live->options->values;
  if (!live->came)
    begin_values(live);
  if (live->first_values.source <= live->first)
    parameters_set_number(&live->first_values, PARAMETER_SOURCE, 0, live->first + 1, err);
  settings_begin(&live->state.settings, &live->first_values);
  live->state.models = &live->options->models;
  live->state.vaes = &live->options->vaes;
  live->loras = live->options->spare_loras;
  add_given(&live->loras, live->options, PARAMETER_LORA);
  live->state.loras = &live->loras;
  live->styles = live->options->spare_styles;
  add_given(&live->styles, live->options, PARAMETER_STYLE);
  live->state.styles = &live->styles;
  live->styling.log = &live->told;
  if (live->spec && start_reader(live, source, err))
    return -1;
  if (live->reader && live_open_changer(live, err))
    return -1;
  if (open_fallback(live, err))
    return -1;
  return loop_start(&live->loop, &params, live->reader ? &live->frames : NULL, &live->pictures, err);
}

int live_stop_threads(struct live *live, struct error *err) {
  struct error reader_err;
  live_close_changer(live);
  fallback_close(&live->fallback);
  /* the reader is only asked to end here, and freed later, because the loop's thread may be waiting for one of the
   * reader's frames */
  reader_end(live->reader);
  int engine = loop_stop(&live->loop, err);
  int reader = reader_stop(&live->reader, &reader_err);
  /* if both the loop's thread and the reader's have failed, the reader's error is reported, because it has caused the
   * loop's */
  if (reader)
    *err = reader_err;
  return reader || engine ? -1 : 0;
}

int live_open_mask_and_control(struct live *live, struct error *err) {
  const struct options *options = live->options;
  const struct control_source_params control = {live->source_is_control ? NULL : options->control_source,
                                                &live->source_options, &live->first_source, 0};
  int status = masking_open(&live->masking, options->mask, &live->log, &setup_stop, err);
  if (live_allow_failure(live, status, err))
    return -1;
  return live_allow_failure(live, control_source_open(&live->control, &control, err), err);
}
