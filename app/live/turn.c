/* Applies changed values in each pass of the main thread's loop, between handling events and drawing: to the reader,
 * the engine and the files. Tells the user which values were refused. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/control/live_beats.h"
#include "app/control/picture_words.h"
#include "app/control/presets.h"
#include "app/live/live_impl.h"
#include "app/live/refusal.h"
#include "unet/base/address.h"
#include "unet/base/platform.h"
#include "unet/base/text.h"

/* interval in ns at which clients get the measured values, which change with every frame */
static const int64_t publish_ns = 100000000;

/* Writes a description of the source that is shown now into `words`. While that source is not open yet, the description
 * is its name, because live->info still describes the previous source. */
static void source_words(const struct live *live, char *words, size_t size) {
  bool reached = !live->reader || live->source_status.reached;
  const char *name = live->changer ? changer_name(live->changer, changer_now(live->changer)) : live->spec;
  const char *known = reached ? live->info.description : "";
  if (!live->spec)
    snprintf(words, size, "text to image");
  else
    snprintf(words, size, "%.*s", (int)size - 1, *known ? known : address_shown(name).text);
}

static void tell_engine(const struct live *live) {
  char source[sizeof live->info.description];
  source_words(live, source, sizeof source);
  log_line(&live->log, LOG_INFO, "%s -> %s, %dx%d, %d step%s, %s", source, live->engine.info.model,
           live->engine.prepared.shape.width, live->engine.prepared.shape.height, live->engine.prepared.shape.steps,
           live->engine.prepared.shape.steps == 1 ? "" : "s", live->engine.info.device);
  if (live->engine.info.large_autoencoder)
    log_line(&live->log, LOG_INFO, "the model's autoencoder is a large one; --vae with a tiny one makes frames faster");
}

static void tell_urgency(const struct live *live) {
  static const char *const words[] = {[URGENCY_USUAL] = "as others: real time is not permitted (LIVE.md says how)",
                                      [URGENCY_NICE] = "before others: real time is not permitted (LIVE.md says how)",
                                      [URGENCY_REAL_TIME] = "real time"};
  if (live->engine.wants_urgency)
    log_line(&live->log, LOG_INFO, "threads: %s", words[live->engine.urgency]);
}

/* Gives the main thread the real-time priority that the loop's thread has, unless OpenGL draws on the processor: then
 * the main thread would keep other threads from running. */
static void follow_urgency(struct live *live) {
  int demoted = platform_count_demoted();
  if (live->engine.engines != live->engines_told) {
    platform_be_urgent(live->engine.wants_urgency && !window_is_software(live->window));
    tell_urgency(live);
  }
  if (demoted != live->demoted_told)
    log_line(&live->log, LOG_INFO, "threads: as others now: one of them did not rest for 0.3 s");
  live->demoted_told = demoted;
}

/* Called once, when the first engine is open. Gives the window the aspect ratio of the engine's pictures, unless
 * --window gives its size or it fills a display; later the window keeps its size. */
static void adopt_engine(struct live *live) {
  struct live_state *state = &live->state;
  state->ready = true;
  live->dropped_before = mailbox_count(&live->frames).dropped;
  if (!live->options->window_width && !live_fills_display(live)) {
    int width, height;
    live_fit_window(live, (double)live->engine.prepared.shape.width / live->engine.prepared.shape.height, &width,
                    &height);
    window_resize(live->window, width, height);
  }
}

static void tell_snapshot(struct live *live, bool wait, int64_t now_ns) {
  const char *path;
  struct error err;
  int taken = snapshot_take(&live->snapshot, wait, &path, &err);
  if (!taken)
    return;
  const char *word = taken > 0 ? "saved " : "", *text = taken > 0 ? path : err.message;
  live_tell(live, taken > 0 ? LOG_INFO : LOG_WARNING, now_ns, "%s%s", word, text);
}

/* Saves the snapshots (single pictures as files) that the user asked for, one after the other: the next one begins when
 * the last one is written. */
static void save_snapshots(struct live *live, int64_t now_ns) {
  tell_snapshot(live, false, now_ns);
  if (!live->shown || live->snapshot.running || live->snapshots == live->state.snapshots_asked)
    return;
  struct error err;
  live->snapshots++;
  const struct frame *picture = &live->shown->frame;
  const struct parameters *values = &live->state.settings.values;
  if (snapshot_start(&live->snapshot, picture, live->options->snapshot_dir,
                     picture_words(values, text_last_part(live->engine.info.model), picture->width, picture->height),
                     presets_print_one("snapshot", values), &err))
    live_tell(live, LOG_WARNING, now_ns, "%s", err.message);
}

/* Opens the web page in a browser if the user asked for that. */
static void open_page(struct live *live, int64_t now_ns) {
  struct error err;
  if (live->pages == live->state.pages_asked || !live->web)
    return;
  live->pages = live->state.pages_asked;
  if (window_browse(web_url(live->web), &err))
    live_tell(live, LOG_WARNING, now_ns, "%s", err.message);
  else
    live_notice(&live->state, now_ns, "the page is opened in a browser");
}

void live_finish_snapshots(struct live *live) {
  do {
    tell_snapshot(live, true, 0);
    save_snapshots(live, 0);
  } while (live->snapshot.running);
}

/* Tells the user if pictures have another size than before, or if the time budget has changed their step count. Does
 * so when the first such picture is finished. */
static void tell_size(struct live *live) {
  const struct engine_shape before = live->shape_told, *now = &live->engine.prepared.shape;
  if (before.width && live->engine.first)
    return;
  live->shape_told = *now;
  if (!before.width || (before.width == now->width && before.height == now->height && before.steps == now->steps))
    return;
  if (live->engine.governed)
    live_tell(live, LOG_INFO, platform_now_ns(), "%dx%d, %d step%s now, for the budget", now->width, now->height,
              now->steps, now->steps == 1 ? "" : "s");
  else if (before.width != now->width || before.height != now->height)
    live_tell(live, LOG_INFO, platform_now_ns(), "the picture is %dx%d now", now->width, now->height);
}

/* Updates live->stalled_ms, the time in ms for which the engine has not answered. A pass of the main thread's loop adds
 * at most turn_most_ms, because the whole process must have been stopped during a longer one. */
static void follow_stall(struct live *live, int64_t now_ns) {
  const double turn_most_ms = 250;
  live->stalled = live->shown && live->engine.busy_ms > live->engine.tell_ms;
  double turn_ms = (double)(now_ns - live->exchanged_ns) * 1e-6;
  live->stalled_ms = live->stalled ? live->stalled_ms + fmin(turn_ms, turn_most_ms) : 0;
  live->exchanged_ns = now_ns;
}

/* Sends the values that somebody has set to the loop's thread. Then copies the values that the loop's thread uses now,
 * because the engine may have changed some of them. */
static void exchange_settings(struct live *live, int64_t now_ns) {
  struct live_state *state = &live->state;
  live->sent = loop_send(live->loop, &state->settings.values);
  bool ready = loop_get_settings(live->loop, &state->settings);
  loop_get_status(live->loop, &live->engine);
  state->size_multiple = live->engine.info.size_multiple;
  state->own_adapter = live->engine.info.own_adapter;
  follow_stall(live, now_ns);
  tell_size(live);
  if (ready && !state->ready) {
    state->slot_before = (int)state->settings.values.shown_prompt;
    adopt_engine(live);
  }
  if (live->engine.engines != live->engines_told)
    tell_engine(live);
  follow_urgency(live);
  live->engines_told = live->engine.engines;
}

/* Publishes values to clients through the hub: the parameters in each pass of the main loop, and measured values
 * (rates, times, sizes) every 100 ms. When the engine becomes ready, both are published at once, because both change
 * then. */
static void publish(struct live *live, int64_t now_ns) {
  struct hub_figures *told = &live->figures_told;
  if (told->ready != live->state.ready || now_ns - live->published_ns > publish_ns) {
    memset(told, 0, sizeof *told);
    told->ready = live->state.ready;
    told->fps = pace_rate(&live->figures.pace, now_ns);
    told->frame_ms = live->figures.frame_ms_now;
    told->budget_ms = live->figures.budget_ms;
    recent_times_summarise(&live->figures.recent, now_ns, &live->late);
    told->latency_ms = live->late.median_ms;
    told->latency_p99_ms = live->late.p99_ms;
    told->missed = live->figures.missed;
    told->shown = live->figures.shown;
    told->dropped = live->figures.dropped;
    told->left_out = live->figures.left_out;
    told->undrawn = live->figures.undrawn;
    /* the size of the picture on screen, which may differ from the size that the engine has prepared now */
    told->width = live->shown ? live->shown->frame.width : 0;
    told->height = live->shown ? live->shown->frame.height : 0;
    told->recorded_s = live->output_figures.seconds;
    told->not_recorded = live->output_figures.dropped;
    told->sending = live->output_figures.streams;
    told->lost = live->output_figures.failing;
    snprintf(told->model, sizeof told->model, "%s", live->engine.info.model);
    source_words(live, told->source, sizeof told->source);
    told->alerts = live->alerts;
    live_get_meter(live, &told->meter);
    live_describe_start(live, told->state, sizeof told->state);
    alerts_describe(&live->alerts, told->state, sizeof told->state);
    if (now_ns < live->state.notice_until_ns)
      snprintf(told->notice, sizeof told->notice, "%s", live->state.notice);
    live->published_ns = now_ns;
    live_publish_refusals(live);
  }
  hub_publish(live->hub, &live->state.settings.values, told);
}

/* Tells the loop where pictures are needed. They stay in GPU memory if OpenGL can read them there, and no recording or
 * stream needs them in host memory. If OpenGL reads them there, the loop also leaves the GPU time to draw the
 * window. */
static void follow_ways(struct live *live) {
  const struct outputs_figures *outputs = &live->output_figures;
  bool shares = present_shares(live->present, &live->engine.info.gpu);
  loop_set_on_device(live->loop, shares && !outputs->recordings && !outputs->streams);
  loop_set_drawn_there(live->loop, shares);
}

void live_exchange(struct live *live, int64_t now_ns) {
  struct live_state *state = &live->state;
  struct parameters *values = &state->settings.values;
  char told[HUB_NOTICE_MAX];
  if (hub_take_notice(live->hub, told))
    live_tell(live, LOG_INFO, now_ns, "%s", told);
  hub_take(live->hub, state, now_ns);
  if (live->reader)
    reader_look(live->reader, &live->source_status, &live->info);
  if (live->changer) /* called directly after reader_look, so that in and out points belong to the source that
                      * live->info describes */
    changer_follow(live->changer, &live->source_status);
  live_take_scene(live, now_ns);
  live_follow_tempo(live, now_ns);
  live_take_clip_wishes(live);
  exchange_settings(live, now_ns);
  live_show_beats(state, now_ns);
  live_follow_clip(live, now_ns);
  live_follow_handover(live, now_ns);
  live_follow_alerts(live, now_ns);
  publish(live, now_ns);
  if (state->ready)
    refusal_put_back(state, &live->engine.refused, &live->engine.prepared.shape);
  live_follow_told(live, now_ns);
  window_set_fullscreen(live->window, values->fullscreen);
  window_show_pointer(live->window,
                      values->corner_edit || (!values->with_operator && (!values->fullscreen || values->split)));
  live_follow_sources(live, now_ns);
  live_follow_sound(live, now_ns);
  state->mirrored = atomic_load(&live->mirror.now);
  save_snapshots(live, now_ns);
  open_page(live, now_ns);
  live_follow_outputs(live, now_ns);
  follow_ways(live);
  live_follow_presets(live, now_ns);
  live_follow_show(live, now_ns);
  live_follow_scripts(live, now_ns);
  for (; live->styles_told != live->state.styles_asked; live->styles_told++)
    styling_ask(&live->styling);
  if (live->reader)
    reader_pause(live->reader, values->pause);
  /* During a pause, the loop's thread does not wait for frames. A frame that comes nevertheless is the first one after
   * a seek or a change of source, so the thread is woken for it. */
  long frames = values->pause ? mailbox_count(&live->frames).put : live->frames_told;
  if (frames != live->frames_told)
    mailbox_wake(&live->frames);
  live->frames_told = frames;
}
