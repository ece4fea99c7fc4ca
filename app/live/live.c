/* The command live: shows a camera, screen or video in a window, changed by the engine. Opens everything, runs the main
 * thread's loop until the window closes or no more pictures come, and closes everything in reverse order. All code of
 * this file runs on the main thread. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/live/ending.h"
#include "app/live/live_impl.h"
#include "app/run/setup.h"
#include "app/window/curtain.h"
#include "unet/base/platform.h"

/* longest time in ms to wait for the engine's thread when the program ends */
enum { LAST_WAIT_MS = 1000 };
/* Number of arenas of malloc. Decoders, which come and go with each source, have many threads; with an arena for each,
 * a show of some minutes kept 60 MB of freed memory, and with four 20 MB. */
enum { ARENAS = 4 };

/* Returns true if --frames was given, the source is a single picture that has been shown, and no other source follows.
 * The program ends then, because that source gives no more pictures to reach the number. */
static bool has_shown_all(const struct live *live) {
  return live->options->frames && live->figures.shown && live->source_status.stands && !live_sources_go_on(live);
}

static bool is_over(const struct live *live, int64_t now_ns) {
  const struct options *options = live->options;
  return live->state.quit || live->ended || atomic_load(&setup_stop) || has_shown_all(live) ||
         live->handing == HANDING_READY ||
         (options->frames && live->figures.before + live->figures.shown >= options->frames) ||
         (options->duration > 0 && (double)(now_ns - live->started_ns) >= options->duration * 1e9);
}

/* Runs the main thread's loop until is_over says that it ends: the window is closed, no more pictures come, a signal
 * has come, --frames or --duration is reached, or the program is to be restarted. Returns 0, or -1 with err if the
 * window was lost. */
static int run(struct live *live, struct error *err) {
  live->opened_ns = platform_now_ns();
  if (!live->started_ns)
    live->started_ns = live->opened_ns;
  for (int64_t now_ns = live->opened_ns; !is_over(live, now_ns); now_ns = platform_now_ns()) {
    bool changed = live_handle_events(live, now_ns);
    int renewed = window_check(live->window, err) ? -1 : live_follow_context(live, now_ns, err);
    if (renewed < 0)
      return -1;
    changed |= renewed > 0;
    if (live->probe)
      live_probe_turn(live, now_ns);
    live_exchange(live, now_ns);
    bool fresh = live_take_picture(live);
    if (window_check(live->window, err)) /* handling events or drawing may just have found that the window is lost */
      return -1;
    changed |= live_cover(live, platform_now_ns());
    changed |= live_follow_output(live, now_ns);
    live_draw(live, fresh, changed, now_ns);
    live_replace_curtain(live, now_ns);
  }
  return 0;
}

/* Sets the time budget of a frame to the time for which the display shows one picture, if the options ask for that. */
static void follow_display(struct live *live) {
  const double usual_ms = 1000.0 / 60;
  if (live->options->budget_ms != BUDGET_DISPLAY)
    return;
  double ms = window_refresh_ms(live->window);
  if (ms <= 0)
    log_line(&live->log, LOG_WARNING, "the display does not say how often it shows a picture; the budget is %.1f ms",
             usual_ms);
  live->figures.budget_ms = ms > 0 ? ms : usual_ms;
}

/* Opens presets, scripts and outputs. Returns 0, or -1 with err. After a restart of the program, failures are only
 * logged, because a live show must continue without them. */
static int open_more(struct live *live, struct error *err) {
  return live_allow_failure(live, live_open_presets(live, err), err) ||
                 live_allow_failure(live, live_open_scripts(live, err), err) ||
                 live_allow_failure(live, live_open_outputs(live, err), err)
             ? -1
             : 0;
}

/* Makes NVIDIA's OpenGL sleep while it waits for the GPU (__GL_YIELD). By default it yields the processor in a loop;
 * but a thread with real-time priority does not give way to ordinary threads by yielding. Called before other threads
 * start, because they may read the environment. */
static void let_opengl_sleep(const struct options *options) {
  bool wanted = options->real_time == REAL_TIME_AUTO && !getenv("__GL_YIELD");
  if (wanted && platform_be_urgent(true) == URGENCY_REAL_TIME)
    platform_set_variable("__GL_YIELD", "USLEEP");
  platform_be_urgent(false);
}

/* If --awake was given, keeps processor cores from entering sleep states. If that fails, a logged line says why, and
 * the program continues. */
static void stay_awake(struct live *live) {
  if (!live->options->awake)
    return;
  if (!platform_stay_awake(&live->awake))
    log_line(&live->log, LOG_INFO, "processors: %d kept from sleeping", platform_count_awake(live->awake));
  else if (errno == EDQUOT)
    log_line(&live->log, LOG_WARNING,
             "--awake: a limit of processor time is set for this program (its control group's, or ulimit -t), which "
             "that would use up; the processors sleep as usual");
  else
    log_line(&live->log, LOG_WARNING, "--awake: %s; the processors sleep as usual", strerror(errno));
}

/* Creates the window on the display that the options name. After a restart of the program another display is used if
 * that one is no longer there. Returns 0, or -1 with err. */
static int create_window(struct live *live, struct error *err) {
  const struct options *options = live->options;
  int status = window_create(&live->window, options->display, options->values.with_operator, err);
  if (!status || err->status != STATUS_USAGE || live_allow_failure(live, status, err))
    return status;
  window_close(&live->window);
  return window_create(&live->window, NULL, options->values.with_operator, err);
}

static int open_all(struct live *live, struct error *err) {
  struct source *source = NULL;
  setup_log(&live->log, live->options);
  let_opengl_sleep(live->options);
  stay_awake(live);
  if (setup_source_options(&live->source_options, live->options, true, &live->log, err))
    return -1;
  live->source_options.mirror = &live->mirror;
  atomic_store(&live->mirror.wish, live->options->values.mirror);
  if (setup_check_inputs(live->options, err) || live_allow_failure(live, live_open_sound(live, err), err) ||
      create_window(live, err))
    return -1;
  follow_display(live);
  if (live_list_sources(live, err))
    return -1;
  bool needs_input = setup_needs_input(live->options);
  live->source_is_control = !needs_input && live->options->control_source;
  bool has_source = needs_input || live->source_is_control;
  if (has_source && sound_tap_open(&live->tap, err))
    return -1;
  if (live_open_track(live, err))
    return -1;
  if (has_source) {
    live->source_options.tap = live->tap;
    if (live_open_source(live, &source, err))
      return -1;
    if (source)
      source_get_info(source, &live->info);
    live->first_source = live->info;
  }
  if (live_open_mask_and_control(live, err) || open_more(live, err)) {
    source_close(&source);
    return -1;
  }
  /* starts the loop's thread, which opens the engine while the window is opened below */
  if (live_start_threads(live, &source, err)) {
    source_close(&source);
    return -1;
  }
  live_read_keys(live);
  if (live_allow_failure(live, live_open_show(live, err), err))
    return -1;
  if (hub_open(&live->hub, &live->state, err))
    return -1;
  live_publish_presets(live);
  if (live_open_clients(live, err))
    return -1;
  return live_open_window(live, err);
}

static enum status status_of(bool failed, bool hangs, const struct error *err) {
  const struct ending ending = {.interrupted = atomic_load(&setup_stop),
                                .failed = failed,
                                .why = failed ? err->status : STATUS_OK,
                                .hangs = hangs};
  return ending_status(&ending);
}

/* Computes the command's result, 0 or -1 with err, from how the live window ended. failed: the window ended, or a file
 * could not be completed, because of the error err. */
static int settle_status(bool failed, struct error *err) {
  if (status_of(failed, false, err) == STATUS_INTERRUPTED)
    return error_set(err, STATUS_INTERRUPTED, "interrupted");
  return failed ? -1 : 0;
}

/* Waits for the engine's thread when the program ends. If the thread does not end within LAST_WAIT_MS, it may hang in
 * the driver, so the process is ended at once; all files are complete by then. While bench --live measures
 * (live->probe), the wait has no limit. */
static void leave_engine(struct live *live, bool failed, struct error *err) {
  struct loop_status engine;
  if (!live->loop || live->probe || loop_wait_end(live->loop, LAST_WAIT_MS))
    return;
  loop_get_status(live->loop, &engine);
  live_close_clients(live);
  bool hangs = engine.ready && engine.busy_ms > engine.tell_ms;
  enum status status = status_of(failed, hangs, err);
  if (hangs)
    log_line(&live->log, LOG_WARNING, "the engine has not answered for %.0f s; the program ends without it",
             engine.busy_ms / 1000);
  if (settle_status(failed, err))
    fprintf(stderr, "reverie: %s\n", err->message);
  fflush(stdout);
  _Exit(status);
}

/* Asks the engine's thread to end after its current frame. Work that can be abandoned, such as opening an engine, is
 * abandoned. Does not wait. */
static void end_engine(struct live *live) {
  loop_end(live->loop);
  atomic_store(&live->leaving, true);
}

static void close_threads_but_engine(struct live *live) {
  struct error ignored;
  live_close_changer(live);
  fallback_close(&live->fallback);
  reader_end(live->reader);
  reader_stop(&live->reader, &ignored);
}

static void close_rest(struct live *live) {
  live_close_sound(live);
  live_close_clients(live);
  if (!live->clients_stay)
    hub_close(&live->hub);
  styling_finish(&live->styling);
  masking_close(&live->masking);
  control_source_close(&live->control);
  sound_tap_close(&live->tap);
  mailbox_free(&live->pictures);
  mailbox_free(&live->frames);
  mixer_close(&live->mixer);
  platform_let_sleep(&live->awake);
}

/* Restarts the program. If the engine's thread does not end in time, everything that it uses stays open. Returns -1
 * with err; returns only if the restart failed. */
static int go_anew(struct live *live, struct error *err) {
  struct error ignored;
  if (loop_wait_end(live->loop, LAST_WAIT_MS)) {
    live_stop_threads(live, &ignored);
    close_rest(live);
  } else {
    close_threads_but_engine(live);
    live_close_clients(live);
  }
  live_hand_over(live, err);
  return -1;
}

static int perform(const struct options *options, struct live_probe *probe, const struct succession *succession,
                   struct error *err) {
  struct live live = {.options = options,
                      .probe = probe,
                      .start = options->values,
                      .figures.budget_ms = fmax(0, options->budget_ms),
                      .played.wish = (double)NAN,
                      .source_lock = PTHREAD_MUTEX_INITIALIZER,
                      .curtain = -1};
  struct error ignored;
  platform_limit_arenas(ARENAS);
  live_open_telling(&live);
  live_open_tempo(&live);
  mailbox_init(&live.frames);
  mailbox_init(&live.pictures);
  if (succession)
    live_succeed(&live, succession);
  int status = open_all(&live, err);
  if (!status)
    status = run(&live, err);
  bool failed = status != 0;
  platform_be_urgent(false);
  bool anew = !status && live.handing == HANDING_READY && !live.state.quit && !atomic_load(&setup_stop);
  end_engine(&live);
  live_close_output(&live);
  live_close_window(&live);
  live_finish_snapshots(&live);
  if (live_close_outputs(&live, status ? &ignored : err))
    status = -1;
  live_close_show(&live, failed);
  live_close_presets(&live);
  if (live_close_scripts(&live, status ? &ignored : err))
    status = -1;
  if (anew) {
    status = go_anew(&live, err);
  } else {
    curtain_drop(&live.curtain);
    leave_engine(&live, status != 0, err);
    if (live_stop_threads(&live, status ? &ignored : err))
      status = -1;
    close_rest(&live);
  }
  free(live.handed);
  live_close_tempo(&live);
  live_close_telling(&live);
  return settle_status(status != 0, err);
}

int live_perform(const struct options *options, struct live_probe *probe, struct error *err) {
  int status = perform(options, probe, NULL, err);
  if (probe) /* If the window was closed while bench --live measured it, the thread that measures (pulse.h) still runs,
              * and is ended here. */
    pulse_stop(&probe->pulse, &probe->woken);
  return status;
}

int command_live(const struct options *options, struct error *err) {
  struct succession *succession;
  if (live_take_succession(&succession, options, err))
    return -1;
  int status = perform(succession ? &succession->options : options, NULL, succession, err);
  live_free_succession(&succession);
  return status;
}
