/* Plays a script (parameter values over time) and records one. Playing and recording begin when the engine is open.
 * Main thread only. */
#include <errno.h>
#include <string.h>

#include "app/control/script.h"
#include "app/live/live_impl.h"
#include "app/platform/app_platform.h"
#include "app/run/setup.h"
#include "app/sink/sink.h"

static bool same_file(const char *a, const char *b) {
  struct platform_entry first, second;
  return a && b && !platform_look(&first, a) && !platform_look(&second, b) && first.volume == second.volume &&
         first.number == second.number;
}

int live_open_scripts(struct live *live, struct error *err) {
  const struct options *options = live->options;
  if (options->script_loop && !options->script)
    return error_set(err, STATUS_USAGE, "--script-loop: --script FILE names what is played");
  if (options->script) {
    if (script_open(&live->scripts.played, options->script, &setup_stop, &live->log, err))
      return -1;
  }
  if (same_file(options->script, options->record_script))
    return error_set(err, STATUS_USAGE, "--record-script %.200s: that is the script that is played",
                     options->record_script);
  if (options->record_script && sink_check_file(options->record_script, options->overwrite, err))
    return error_prefix(err, "--record-script ");
  live->scripts.file = options->record_script ? platform_open_to_write(options->record_script) : NULL;
  if (options->record_script && !live->scripts.file)
    return error_set(err, STATUS_OUTPUT, "--record-script %.200s: %s", options->record_script,
                     platform_why_unwritten(errno));
  return 0;
}

static void tell(struct live *live, const struct error *why, int64_t now_ns) {
  live_notice(&live->state, now_ns, "%s", why->message);
  log_line(&live->log, LOG_WARNING, "--record-script: %s", why->message);
  live_was_told(live, LOG_WARNING);
}

static void play(struct live *live, int64_t now_ns) {
  struct parameters *values = &live->state.settings.values;
  double seconds = (double)(now_ns - live->scripts.played_ns) * 1e-9;
  if (live->options->script_loop && seconds > script_length(live->scripts.played)) {
    live->scripts.played_ns = now_ns;
    live->scripts.played_s = -1;
    seconds = 0;
  }
  script_apply(live->scripts.played, live->scripts.played_s, seconds, values);
  live->scripts.played_s = seconds;
}

/* Adds to the recorded script the values that somebody has set since the last pass of the main thread's loop. If the
 * script's file cannot be written, recording ends, and the live window continues. */
static void record(struct live *live, int64_t now_ns) {
  struct error err, ignored;
  const struct parameters *values = &live->state.settings.values;
  int status = 0;
  if (live->scripts.file)
    status = script_record(&live->scripts.recorder, live->scripts.file, values, &err);
  else if (live->scripts.recorder)
    status = script_note(live->scripts.recorder, values, (double)(now_ns - live->scripts.begun_ns) * 1e-9, &err);
  live->scripts.file = NULL;
  if (!status)
    return;
  tell(live, &err, now_ns);
  script_close(&live->scripts.recorder, &ignored);
  live->scripts.broken = true;
}

void live_follow_scripts(struct live *live, int64_t now_ns) {
  if (!live->state.ready)
    return;
  if (!live->scripts.begun_ns) {
    live->scripts.begun_ns = live->scripts.played_ns = now_ns;
    live->scripts.played_s = -1;
    if (live->came && live->came->script_ns) {
      live->scripts.played_ns = live->came->script_ns;
      live->scripts.played_s = (double)(now_ns - live->scripts.played_ns) * 1e-9;
    }
    if (live->scripts.played)
      script_begin(live->scripts.played, &live->state.settings.values);
  }
  record(live, now_ns);
  if (live->scripts.played)
    play(live, now_ns);
}

int live_close_scripts(struct live *live, struct error *err) {
  struct error why;
  if (live->scripts.file)
    fclose(live->scripts.file);
  live->scripts.file = NULL;
  if (script_close(&live->scripts.recorder, &why)) {
    log_line(&live->log, LOG_WARNING, "--record-script: %s", why.message);
    live->scripts.broken = true;
  }
  script_free(&live->scripts.played);
  return live->scripts.broken ? error_set(err, STATUS_OUTPUT, "--record-script %.400s: the script is not complete",
                                          live->options->record_script)
                              : 0;
}
