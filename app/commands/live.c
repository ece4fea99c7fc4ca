/* live: a camera, screen or video, restyled in a window. The main thread owns the window; a reader thread and an engine
 * thread bring the pictures. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/control/keys.h"
#include "app/platform/app_platform.h"
#include "app/window/hud.h"
#include "app/commands/live_figures.h"
#include "app/options/options.h"
#include "app/window/present.h"
#include "app/source/reader.h"
#include "app/run/loop.h"
#include "app/run/control_source.h"
#include "app/run/masking.h"
#include "app/run/styling.h"
#include "app/run/report.h"
#include "app/commands/setup.h"
#include "app/window/snapshot.h"
#include "app/window/window.h"
#include "unet/base/platform.h"
#include "unet/base/text.h"

enum {
  /* Without --size the picture has the source's shape and this longest side, or the one the device has time for. */
  LONGEST_SIDE = 320,
  /* Without --window the window is as large as fits in here. */
  WINDOW_WIDTH = 960,
  WINDOW_HEIGHT = 720,
  /* How long to wait for a picture before looking for keys again. */
  WAIT_MS = 8,
  /* New figures come on screen with the next picture, unless there was none for so long. */
  OVERLAY_NS = 200000000,
};

/* Presets for the keys that no --prompt took. */
static const char *const default_prompts[SLOT_PRESETS] = {
    PARAMETER_PROMPT_DEFAULT, "oil painting", "watercolor", "pencil sketch", "ink drawing", "cartoon", "mosaic",
    "vintage film",           "pop art"};

struct live {
  const struct options *options;
  struct log log;

  const char *spec;       /* of the source; NULL: text to image */
  bool source_is_control; /* text to image has no other than that of the controls */
  char clip[PATHS_MAX];
  struct source_options source_options;
  struct source_info info;
  struct mailbox frames, pictures;
  struct reader *reader;
  struct masking *masking;
  struct styling styling;
  int styles_told; /* of state.styles_asked */
  struct control_source *control;
  struct loop *loop;

  struct window *window;
  struct present *present;
  struct hud *hud;

  struct parameters first_values; /* the engine's first ones, prompts of all keys among them */
  struct live_state state;
  struct parameter_choices loras; /* all files that a key puts in each other's place */
  struct loop_status engine;
  int engines_told; /* engine.engines and engine.engines_refused, as far as the user knows of them */
  long refusals_told;
  const struct mail *shown; /* valid until the next picture is taken; NULL: none yet */
  struct snapshot snapshot; /* on its way to its file */
  int snapshots;            /* begun so far */
  bool ended;
  bool overlay_changed; /* since the last drawing */
  int64_t started_ns, drawn_ns;
  long dropped_before; /* while the engine was being opened */
  struct live_figures figures;
};

/* The source of the command line; without one the first camera, else the sample clip again and again. */
static int open_source(struct live *live, struct source **source, struct error *err) {
  const struct options *options = live->options;
  live->spec = options->input ? options->input : "camera";
  if (live->source_is_control)
    live->spec = options->control_source;
  if (source_open(source, live->spec, &live->source_options, err) == 0)
    return 0;
  if (options->input || live->source_is_control || atomic_load(&setup_stop))
    return -1;
  struct error why = *err;
  if (paths_data(live->clip, "sample.mp4", STATUS_INPUT, err))
    return -1;
  live->spec = live->clip;
  live->source_options.loop = true;
  log_line(&live->log, LOG_WARNING, "%s; showing the sample clip", why.message);
  return source_open(source, live->spec, &live->source_options, err);
}

static int count_given(const struct parameters *values, enum parameter id) {
  int count = 0;
  while (count < parameter_instances(id) && parameters_text(values, id, count + 1))
    count++;
  return count;
}

/* The options as they are with these values, for an engine that is opened beside one in use: on its device, and in the
 * memory that it leaves. */
static int wish_options(struct options *wish, const struct options *options, const struct parameters *values,
                        const struct engine_info *used, struct error *err) {
  size_t limit = options->device.memory_limit;
  *wish = *options;
  wish->values = *values;
  wish->prompt_count = count_given(values, PARAMETER_PROMPT);
  wish->lora_count = count_given(values, PARAMETER_LORA);
  wish->control_count = 0;
  while (wish->control_count < CONTROLS_MAX && values->control[wish->control_count])
    wish->control_count++;
  wish->style_count = count_given(values, PARAMETER_STYLE);
  wish->device.name = used->device_name;
  if (limit)
    wish->device.memory_limit = limit > used->device_bytes ? limit - used->device_bytes : 1;
  parameters_leave_to_model(&wish->values);
  for (int i = wish->lora_count + 1; i <= ADAPTERS_MAX; i++)
    if (parameters_text(values, PARAMETER_LORA, i))
      return error_set(err, STATUS_USAGE, "lora[%d]: there is no lora[%d]", i, wish->lora_count + 1);
  return 0;
}

/* used: as in open_engine. */
static int open_with(struct live *live, const struct options *options, const struct engine_info *used,
                     struct opened *opened, struct error *err) {
  const struct setup setup = {
      .options = options,
      .nearest = used != NULL,
      .info = live->spec ? &live->info : NULL,
      .longest = LONGEST_SIDE,
      .larger = true,
      .smooth = true,
      .output = PIXEL_RGBA,
      .pictures = LOOP_HOLDS + SNAPSHOT_HOLDS,
      .log = &live->log,
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
  setup_values(&opened->beginning.values, &info, &own);
  /* setup_engine has encoded those of the options, or the default one. */
  int encoded = options->prompt_count ? options->prompt_count : 1;
  for (int i = 0; i < encoded; i++)
    opened->beginning.encoded[SLOT_PRESET_1 + i] = true;
  opened->beginning.encoded[SLOT_NEGATIVE] = options->values.negative.given;
  return 0;
}

/* Runs on the engine thread, then on the opener's, and reads only what no longer changes. */
static int open_engine_for(void *opaque, const struct engine_info *used, struct opened *opened, struct error *err) {
  struct live *live = opaque;
  struct options wish;
  if (!used) {
    opened->beginning.values = live->first_values;
    return open_with(live, live->options, used, opened, err);
  }
  if (wish_options(&wish, live->options, &opened->beginning.values, used, err))
    return -1;
  opened->beginning.values = wish.values;
  if (!open_with(live, &wish, used, opened, err))
    return 0;
  const struct error why = *err;
  return why.status != STATUS_DEVICE ? -1
                                     : error_set(err, why.status, "%.400s (%s runs beside it and takes %.1f MB)",
                                                 why.message, used->model, (double)used->device_bytes * 1e-6);
}

/* Frames are seen when they come: their own times say nothing where a file is shown again and again. */
static int before(void *opaque, struct engine *engine, struct engine_request *request, struct error *err) {
  struct live *live = opaque;
  const struct frame *frame = request->frame;
  if (styling_apply(&live->styling, engine, frame, err))
    return -1;
  request->control_frame = live->source_is_control ? frame : control_source_at(live->control, frame);
  return masking_apply(live->masking, engine, frame, frame ? (double)frame->captured_ns * 1e-9 : 0, err);
}

/* Which prompt lies on which key: those given, then the default ones that are not among them. */
static int choose_prompts(const struct options *options, struct parameters *values, struct error *err) {
  int given = options->prompt_count, count = given;
  for (int i = 0; i < SLOT_PRESETS && count < SLOT_PRESETS; i++) {
    bool taken = false;
    for (int j = 1; j <= given; j++)
      taken = taken || !strcmp(parameters_text(values, PARAMETER_PROMPT, j), default_prompts[i]);
    if (!taken && parameters_set_text(values, PARAMETER_PROMPT, ++count, default_prompts[i], err))
      return -1;
  }
  return 0;
}

static int start_threads(struct live *live, struct source **source, struct error *err) {
  struct loop_params params = {.open = open_engine_for,
                               .before = before,
                               .opaque = live,
                               .memory_limit = live->options->device.memory_limit,
                               .log = &live->log};
  live->first_values = live->options->values;
  if (choose_prompts(live->options, &live->first_values, err))
    return -1;
  settings_begin(&live->state.settings, &live->first_values);
  live->state.models = &live->options->models;
  live->state.vaes = &live->options->vaes;
  live->loras = live->options->spare_loras;
  for (int i = 1; i <= live->options->lora_count && live->loras.count < CHOICES_MAX; i++)
    live->loras.text[live->loras.count++] = parameters_text(&live->options->values, PARAMETER_LORA, i);
  live->state.loras = &live->loras;
  if (*source && reader_start(&live->reader, source, live->spec, &live->source_options, &live->frames, err))
    return -1;
  return loop_start(&live->loop, &params, live->reader ? &live->frames : NULL, &live->pictures, err);
}

/* The largest window of the picture's shape, width over height. */
static void fit_window(double shape, int *width, int *height) {
  *width = (int)lrint(fmin(WINDOW_WIDTH, WINDOW_HEIGHT * shape));
  *height = (int)lrint(fmin(WINDOW_HEIGHT, WINDOW_WIDTH / shape));
}

static int open_window(struct live *live, struct error *err) {
  const struct options *options = live->options;
  struct window_params params = {.title = "reverie",
                                 .width = options->window_width,
                                 .height = options->window_height,
                                 .display = options->display,
                                 .fullscreen = options->values.fullscreen};
  if (!params.width) {
    const struct parameter_size *size = &options->values.size;
    double shape = size->width ? (double)size->width / size->height : live->info.shape;
    fit_window(shape > 0 ? shape : 1, &params.width, &params.height);
  }
  if (window_open(live->window, &params, err) || present_open(&live->present, err) || hud_open(&live->hud, err))
    return -1;
  return 0;
}

static void tell_engine(const struct live *live) {
  log_line(&live->log, LOG_INFO, "%s -> %s, %dx%d, %d step%s, %s",
           live->spec ? live->info.description : "text to image", live->engine.info.model,
           live->engine.prepared.shape.width, live->engine.prepared.shape.height, live->engine.prepared.shape.steps,
           live->engine.prepared.shape.steps == 1 ? "" : "s", live->engine.info.device);
  if (live->engine.info.large_autoencoder)
    log_line(&live->log, LOG_INFO, "the model's autoencoder is a large one; --vae with a tiny one makes frames faster");
}

/* The engine is open: its settings become the user's, its picture's shape the window's, which keeps its size when the
 * picture's changes later. */
static void adopt_engine(struct live *live) {
  struct live_state *state = &live->state;
  const struct parameter_size *size = &live->options->values.size;
  state->ready = true;
  state->shape = size->width ? (double)size->width / size->height : live->info.shape;
  live->dropped_before = mailbox_count(&live->frames).dropped;
  if (!live->options->window_width) {
    int width, height;
    fit_window((double)live->engine.prepared.shape.width / live->engine.prepared.shape.height, &width, &height);
    window_resize(live->window, width, height);
  }
}

static void move_split(struct live *live, float x) {
  struct error outside;
  parameters_set_number(&live->state.settings.values, PARAMETER_SPLIT_AT, 0, present_locate(live->present, x),
                        &outside);
}

/* Returns whether something on screen may have changed. */
static bool handle_events(struct live *live, int64_t now_ns) {
  bool draw = false;
  struct window_event event;
  struct live_state *state = &live->state;
  while (window_poll(live->window, &event)) {
    draw = true;
    if (event.type == WINDOW_CLOSE)
      state->quit = true;
    else if (event.type == WINDOW_KEY)
      commands_run(state, event.key, event.repeat, now_ns);
    else if (event.type == WINDOW_POINT && state->settings.values.split)
      move_split(live, event.x);
  }
  return draw;
}

static void tell_snapshot(struct live *live, bool wait, int64_t now_ns) {
  const char *path;
  struct error err;
  int taken = snapshot_take(&live->snapshot, wait, &path, &err);
  if (!taken)
    return;
  const char *word = taken > 0 ? "saved " : "", *text = taken > 0 ? path : err.message;
  live_notice(&live->state, now_ns, "%s%s", word, text);
  log_line(&live->log, taken > 0 ? LOG_INFO : LOG_WARNING, "%s%s", word, text);
}

/* One at a time: the next is taken when the last is written. */
static void save_snapshots(struct live *live, int64_t now_ns) {
  tell_snapshot(live, false, now_ns);
  if (!live->shown || live->snapshot.running || live->snapshots == live->state.snapshots_asked)
    return;
  struct error err;
  live->snapshots++;
  if (snapshot_start(&live->snapshot, &live->shown->frame, live->options->snapshot_dir, &err))
    log_line(&live->log, LOG_WARNING, "%s", err.message);
}

/* Those asked for before the window closed, too. */
static void finish_snapshots(struct live *live) {
  do {
    tell_snapshot(live, true, 0);
    save_snapshots(live, 0);
  } while (live->snapshot.running);
}

/* Pictures have another size than before. */
static void tell_size(struct live *live, const struct engine_shape *before) {
  const struct engine_shape *now = &live->engine.prepared.shape;
  if (!before->width || (before->width == now->width && before->height == now->height))
    return;
  live_notice(&live->state, platform_now_ns(), "size %dx%d", now->width, now->height);
  log_line(&live->log, LOG_INFO, "the picture is %dx%d now", now->width, now->height);
}

/* Sends what the keys changed to the engine thread, and takes over the settings that it follows now. */
static void exchange_settings(struct live *live) {
  struct live_state *state = &live->state;
  const struct engine_shape before = live->engine.prepared.shape;
  loop_send(live->loop, &state->settings.values);
  bool ready = loop_get_settings(live->loop, &state->settings);
  loop_get_status(live->loop, &live->engine);
  tell_size(live, &before);
  if (ready && !state->ready) {
    state->slot_before = (int)state->settings.values.preset;
    adopt_engine(live);
  }
  if (live->engine.engines != live->engines_told)
    tell_engine(live);
  live->engines_told = live->engine.engines;
}

/* What the engine refused is as it was before. */
static void follow_refusal(struct live *live, int64_t now_ns) {
  struct parameters *values = &live->state.settings.values;
  const struct engine_shape *refused = &live->engine.refused, *shape = &live->engine.prepared.shape;
  int steps = shape->steps;
  enum guidance_mode guidance = shape->guidance;
  struct error err;
  if (refused->steps != values->steps || refused->guidance != values_guidance(values) ||
      refused->stream_batch != values->stream_batch || refused->width != values->size.width ||
      refused->height != values->size.height || (int)refused->sampler != values->sampler ||
      (int)refused->spacing != values->spacing)
    return;
  if (refused->width != shape->width || refused->height != shape->height) {
    live_notice(&live->state, now_ns, "%dx%d: refused, see the terminal", refused->width, refused->height);
    parameters_set_size(values, PARAMETER_SIZE, 0, shape->width, shape->height, &err);
  } else if (refused->sampler != shape->sampler || refused->spacing != shape->spacing) {
    live_notice(&live->state, now_ns, "this sampler: refused, see the terminal");
    parameters_set_number(values, PARAMETER_SAMPLER, 0, shape->sampler, &err);
    parameters_set_number(values, PARAMETER_SPACING, 0, shape->spacing, &err);
  } else if (refused->steps != steps) {
    live_notice(&live->state, now_ns, "%d steps: refused, see the terminal", refused->steps);
    parameters_set_number(values, PARAMETER_STEPS, 0, steps, &err);
  } else if (refused->stream_batch != shape->stream_batch) {
    live_notice(&live->state, now_ns, "stream batch: refused, see the terminal");
    parameters_set_number(values, PARAMETER_STREAM_BATCH, 0, !values->stream_batch, &err);
  } else {
    live_notice(&live->state, now_ns, "guidance %g: refused, see the terminal", values->guidance);
    if (guidance == GUIDANCE_NONE)
      parameters_set_number(values, PARAMETER_GUIDANCE, 0, 1, &err);
    parameters_set_number(values, PARAMETER_GUIDANCE_MODE, 0, guidance == GUIDANCE_NONE ? GUIDANCE_FULL : guidance,
                          &err);
  }
}

static void follow_engine_refusal(struct live *live, int64_t now_ns) {
  if (live->engine.engines_refused != live->refusals_told)
    live_notice(&live->state, now_ns, "it stays with %s, see the terminal", live->engine.info.model);
  live->refusals_told = live->engine.engines_refused;
}

/* Brings window, reader and engine thread to what the state says. */
static void follow_state(struct live *live, int64_t now_ns) {
  struct live_state *state = &live->state;
  struct parameters *values = &state->settings.values;
  exchange_settings(live);
  if (state->ready)
    follow_refusal(live, now_ns);
  follow_engine_refusal(live, now_ns);
  window_set_fullscreen(live->window, values->fullscreen);
  window_show_pointer(live->window, !values->fullscreen || values->split);
  save_snapshots(live, now_ns);
  for (; live->styles_told != live->state.styles_asked; live->styles_told++)
    styling_ask(&live->styling);
  if (live->reader)
    reader_pause(live->reader, values->pause);
}

/* Takes the newest picture there is, or, before the first one, what the source shows. Returns whether there was one. */
static bool take_picture(struct live *live) {
  const struct mail *mail;
  int got = mailbox_take(&live->pictures, &mail, WAIT_MS);
  live->ended = got < 0;
  if (got == 1) {
    live->shown = mail;
    present_picture(live->present, &mail->frame);
    if (mail->input.plane[0])
      present_input(live->present, &mail->input);
    return true;
  }
  struct frame source;
  if (live->shown || !mailbox_peek(&live->frames, &source))
    return false;
  present_input(live->present, &source);
  frame_release(&source);
  return true;
}

static void list_prompts(struct hud_content *content, const struct parameters *values, const struct controls *now) {
  for (int i = 0; i < SLOT_PRESETS; i++) {
    const char *words = values_slot_text(values, SLOT_PRESET_1 + i);
    if (now->blend[i] > 0)
      content->prompts[content->prompt_count++] = (struct hud_prompt){words ? words : "", now->blend[i]};
  }
  const char *alone = values_slot_text(values, now->prompt);
  if (!content->prompt_count && alone)
    content->prompts[content->prompt_count++] = (struct hud_prompt){alone, 1};
}

/* The last part of what is wished for. */
static const char *model_words(const struct parameters *values) {
  const char *name = parameters_text(values, PARAMETER_MODEL, 0);
  return name ? text_last_part(name) : PARAMETER_MODEL_BUILT_IN;
}

static bool update_hud(struct live *live, int64_t now_ns, int width, int height) {
  const struct live_state *state = &live->state;
  struct parameters values = state->settings.values;
  struct reader_status reader = {0};
  char words[600];
  if (live->reader)
    reader_get_status(live->reader, &reader);
  struct hud_content content = {
      .figures = values.hud,
      .help = values.help,
      .running = state->ready,
      .fps = live_figures_fps(&live->figures, now_ns),
      .frame_ms = live->figures.frame_ms_now,
      .budget_ms = live->options->budget_ms,
      .dropped = live->figures.dropped,
      .values = &values,
      .model = live->engine.info.model,
      .loading = live->engine.opening ? model_words(&values) : NULL,
      .notice = now_ns < state->notice_until_ns ? state->notice : NULL,
  };
  struct controls now = {0};
  values.steps = live->engine.prepared.shape.steps; /* those of the pictures, not those wished for */
  settings_controls(&state->settings, now_ns, &now);
  list_prompts(&content, &values, &now);
  if (reader.lost) {
    snprintf(words, sizeof words, "source lost: %s", reader.reason);
    content.state = words;
    content.alert = true;
  } else if (control_source_state(live->control, words, sizeof words)) {
    content.state = words;
    content.alert = true;
  } else if (!state->ready) {
    content.state = "loading the model";
  } else if (values.pause) {
    content.state = "paused";
  }
  return hud_update(live->hud, &content, width, height, now_ns);
}

static void draw(struct live *live, int width, int height) {
  const struct frame *shown = live->shown ? &live->shown->frame : NULL;
  const struct present_view view = {
      .width = width,
      .height = height,
      .shape_w = shown ? shown->width : live->engine.prepared.shape.width,
      .shape_h = shown ? shown->height : live->engine.prepared.shape.height,
      .fit = (enum fit)live->options->values.fit,
      .split = live->state.settings.values.split && live->shown && live->shown->input.plane[0],
      .split_at = (float)live->state.settings.values.split_at,
      .bicubic = !window_is_software(live->window),
  };
  present_draw(live->present, &view);
  hud_draw(live->hud, width, height);
  window_swap(live->window);
  live->overlay_changed = false;
  live->drawn_ns = platform_now_ns();
}

static void count_shown(struct live *live) {
  struct live_figures *figures = &live->figures;
  if (!figures->shown)
    log_line(&live->log, LOG_INFO, "first picture %.2f s after the start", platform_process_age_ms() / 1000);
  live_figures_shown(figures, live->shown, platform_now_ns());
  figures->dropped = mailbox_count(&live->frames).dropped - live->dropped_before + live->engine.dropped +
                     mailbox_count(&live->pictures).dropped;
}

static bool is_over(const struct live *live, int64_t now_ns) {
  const struct options *options = live->options;
  return live->state.quit || live->ended || atomic_load(&setup_stop) ||
         (options->frames && live->figures.shown >= options->frames) ||
         (options->duration > 0 && (double)(now_ns - live->started_ns) >= options->duration * 1e9);
}

/* Until it is over; -1 when the window was lost. */
static int run(struct live *live, struct error *err) {
  live->started_ns = platform_now_ns();
  for (int64_t now_ns = live->started_ns; !is_over(live, now_ns); now_ns = platform_now_ns()) {
    int width, height;
    bool redraw = handle_events(live, now_ns);
    if (window_check(live->window, err))
      return -1;
    follow_state(live, now_ns);
    bool fresh = take_picture(live);
    window_get_size(live->window, &width, &height);
    live->overlay_changed |= update_hud(live, now_ns, width, height);
    redraw |= live->overlay_changed && now_ns - live->drawn_ns > OVERLAY_NS;
    if (fresh || redraw)
      draw(live, width, height);
    if (fresh && live->shown)
      count_shown(live);
  }
  return 0;
}

static void close_window(struct live *live) {
  hud_close(&live->hud);
  present_close(&live->present);
  window_close(&live->window);
  if (live->options->verbose < 0)
    return;
  live_figures_print(&live->figures, live->engine.info.device, stderr);
  setup_print_behind(stderr, &live->engine.prepared, live_figures_mean_fps(&live->figures));
}

/* Ends the threads, the one that feeds first. Returns -1 and err when one of them had failed. */
static int stop_threads(struct live *live, struct error *err) {
  struct error reader_err;
  int reader = reader_stop(&live->reader, &reader_err);
  int engine = loop_stop(&live->loop, err);
  if (reader && !engine)
    *err = reader_err;
  return reader || engine ? -1 : 0;
}

/* What goes along with the source. */
static int open_beside(struct live *live, struct error *err) {
  const struct options *options = live->options;
  const struct control_source_params control = {live->source_is_control ? NULL : options->control_source,
                                                &live->source_options, &live->info, 0};
  if (masking_open(&live->masking, options->mask, &live->log, &setup_stop, err))
    return -1;
  return control_source_open(&live->control, &control, err);
}

static int open_all(struct live *live, struct error *err) {
  struct source *source = NULL;
  setup_log(&live->log, live->options);
  setup_source_options(&live->source_options, live->options, true, &live->log);
  if (setup_check_inputs(live->options, err))
    return -1;
  if (window_create(&live->window, live->options->display, err))
    return -1;
  bool needs_input = setup_needs_input(live->options);
  live->source_is_control = !needs_input && live->options->control_source;
  if (needs_input || live->source_is_control) {
    if (open_source(live, &source, err))
      return -1;
    source_get_info(source, &live->info);
  }
  if (open_beside(live, err)) {
    source_close(&source);
    return -1;
  }
  /* The engine opens while the window does. */
  if (start_threads(live, &source, err)) {
    source_close(&source);
    return -1;
  }
  return open_window(live, err);
}

int command_live(const struct options *options, struct error *err) {
  struct live live = {.options = options};
  mailbox_init(&live.frames);
  mailbox_init(&live.pictures);
  int status = open_all(&live, err);
  if (!status)
    status = run(&live, err);
  /* A frame may take seconds: it ends behind the window, which goes at once. */
  loop_end(live.loop);
  close_window(&live);
  finish_snapshots(&live);
  struct error ignored;
  if (stop_threads(&live, status ? &ignored : err))
    status = -1;
  styling_finish(&live.styling);
  masking_close(&live.masking);
  control_source_close(&live.control);
  mailbox_free(&live.pictures);
  mailbox_free(&live.frames);
  if (atomic_load(&setup_stop))
    return error_set(err, STATUS_INTERRUPTED, "interrupted");
  return status;
}
