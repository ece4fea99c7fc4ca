/* Restarts the program if this process can no longer use the engine's device, or if the engine hangs; only a new
 * program can then open the device again. It takes this program's place in the same process (exec), so the program's
 * caller notices nothing.
 *
 * First all files are completed, while another process shows the last picture (curtain.h). The new program gets all
 * values, and shows its window as soon as it has something to show. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/run/setup.h"
#include "app/run/outputs.h"
#include "app/live/live_impl.h"
#include "app/platform/stamped.h"
#include "app/platform/app_platform.h"
#include "app/window/curtain.h"

enum {
  SEEN_MS = 5000,    /* an engine is given up only if it has not answered for more than this time, in ms */
  CURTAIN_MS = 3000, /* longest time in ms to wait until the window of the curtain (still picture that hides a restart)
                      * appears */
  /* time in ms for which the curtain (still picture that hides a restart) stays in front of the new window, because
   * that window takes a moment to appear */
  OVERLAP_MS = 250,
  /* longest time in ms until the new window is shown, even if the source has given no frame */
  HIDDEN_MOST_MS = 10000,
};

/* --- the new program: takes over the state of the program before the restart --- */

static int refuse_variable(struct error *err) {
  return error_set(err, STATUS_USAGE, "%s: the program sets it for itself alone: unset it", HANDOVER_VARIABLE);
}

static int read_succession(struct succession *succession, const char *value, struct error *err) {
  int held;
  size_t size = 0;
  succession->curtain = -1;
  if (sscanf(value, "%d,%d", &held, &succession->curtain) != 2)
    return refuse_variable(err);
  char *text = platform_take_text(held, HANDOVER_TEXT_MAX, &size);
  int status = text ? handover_read(&succession->came, text, err) : refuse_variable(err);
  free(text);
  return status;
}

/* Gives output files new names, with a number appended, because the files from before the restart are complete and must
 * not be overwritten. Returns 0, or -1 with err. */
static int name_files(struct succession *succession, struct error *err) {
  struct options *options = &succession->options;
  struct parameter_choices *to = &options->to;
  if (!options->values.recording)
    options->record = NULL;
  if (options->record) {
    if (stamped_next(succession->record, options->record, err))
      return -1;
    options->record = succession->record;
  }
  if (options->record_script) {
    if (stamped_next(succession->record_script, options->record_script, err))
      return -1;
    options->record_script = succession->record_script;
  }
  for (int i = 0; i < to->count; i++) {
    if (output_kind_of(to->text[i], NULL) != OUTPUT_RECORDING)
      continue;
    if (stamped_next(succession->to[i], to->text[i], err))
      return -1;
    to->text[i] = succession->to[i];
  }
  return 0;
}

/* Fills in succession->options, which this restarted program uses: the options of the command line, with the
 * parameters' values from before the restart. Returns 0, or -1 with err. */
static int make_options(struct succession *succession, const struct options *options, struct error *err) {
  struct options *own = &succession->options;
  const struct handover *came = &succession->came;
  succession->start = options->values;
  options_with(own, options, &came->values);
  for (int i = 1; i <= options->lora_count && own->spare_loras.count < CHOICES_MAX; i++)
    own->spare_loras.text[own->spare_loras.count++] = parameters_text(&options->values, PARAMETER_LORA, i);
  for (int i = 1; i <= options->style_count && own->spare_styles.count < CHOICES_MAX; i++)
    own->spare_styles.text[own->spare_styles.count++] = parameters_text(&options->values, PARAMETER_STYLE, i);
  if (*came->device)
    own->device.name = came->device;
  if (!came->place.fullscreen) {
    own->window_width = came->place.width;
    own->window_height = came->place.height;
  }
  return name_files(succession, err);
}

int live_take_succession(struct succession **out, const struct options *options, struct error *err) {
  const char *value = getenv(HANDOVER_VARIABLE);
  *out = NULL;
  if (!value)
    return 0;
  struct succession *succession = calloc(1, sizeof *succession);
  int status = succession ? read_succession(succession, value, err) : error_set(err, STATUS_FAILED, "no memory");
  platform_unset_variable(HANDOVER_VARIABLE);
  if (!status)
    status = make_options(succession, options, err);
  if (status)
    live_free_succession(&succession);
  *out = succession;
  return status;
}

void live_free_succession(struct succession **succession) {
  if (*succession)
    handover_free(&(*succession)->came);
  free(*succession);
  *succession = NULL;
}

void live_succeed(struct live *live, const struct succession *succession) {
  const struct handover *came = live->came = &succession->came;
  live->start = succession->start;
  live->curtain = succession->curtain;
  live->figures.before = (long)came->shown;
  live->started_ns = came->started_ns;
  live->presets.taken = came->preset_taken;
  live->state.slot_before = came->slot_before;
  live->state.share = came->share;
  live->state.lora = came->lora;
  live->state.control = came->control;
  live->state.control_value = came->control_value;
  live->state.walk = came->walk;
  /* Bypass (the window shows the source in place of the picture) is fully on until the engine has made a picture. */
  live->cover.bypass = (struct cover_slide){1, 1, 0};
  live->cover.blackout = (struct cover_slide){came->blackout, came->blackout, 0};
  live_notice(&live->state, platform_now_ns(), "started anew, with everything as it was: %.140s", came->why);
  live_was_told(live, LOG_WARNING);
}

int live_allow_failure(struct live *live, int status, const struct error *err) {
  if (!status || !live->came)
    return status;
  log_line(&live->log, LOG_WARNING, "%s; the show goes on without it", err->message);
  return 0;
}

void live_replace_curtain(struct live *live, int64_t now_ns) {
  bool filled = live->shown || mailbox_count(&live->frames).put > 0;
  bool late = now_ns - live->opened_ns > HIDDEN_MOST_MS * INT64_C(1000000);
  if (!live->came || live->handing != HANDING_NOT)
    return;
  if (!live->window_shown_ns && (filled || late || live->curtain < 0)) {
    window_show(live->window);
    live->window_shown_ns = now_ns;
  } else if (live->window_shown_ns && now_ns - live->window_shown_ns > OVERLAP_MS * INT64_C(1000000)) {
    curtain_drop(&live->curtain);
  }
}

/* --- the old program: prepares the restart and begins it --- */

static bool is_stuck(const struct live *live) {
  return live->engine.busy_ms > live->engine.leave_ms && live->stalled_ms > SEEN_MS;
}

static int gather_sources(struct live *live, struct handover *handover, struct error *err) {
  int wanted = live->changer ? changer_wanted(live->changer) : 0;
  for (int i = 0; live->changer && i < changer_count(live->changer); i++)
    if (playlist_insert_copy(&handover->sources, i, changer_entry(live->changer, i), err))
      return -1;
  handover->source = wanted;
  handover->loop = live->source_options.loop;
  if (live->changer && wanted == changer_now(live->changer))
    handover->position = live_clip_position(live);
  return 0;
}

static void gather_values(struct live *live, struct handover *handover) {
  struct parameters *values = &handover->values;
  const struct engine_shape *shape = &live->engine.wish;
  struct error ignored;
  if (!loop_get_marked(live->loop, values)) {
    struct parameters changes = *values;
    *values = live->first_values;
    parameters_apply(values, &changes);
    return;
  }
  parameters_set_size(values, PARAMETER_SIZE, 0, shape->width, shape->height, &ignored);
  snprintf(handover->device, sizeof handover->device, "%s", live->engine.info.device_name);
}

static void gather_state(const struct live *live, struct handover *handover) {
  const struct live_state *state = &live->state;
  handover->started_ns = live->started_ns;
  handover->script_ns = live->scripts.played_ns;
  handover->shown = live->figures.before + live->figures.shown;
  handover->preset_taken = live->presets.taken;
  handover->slot_before = state->slot_before;
  handover->share = state->share;
  handover->lora = state->lora;
  handover->control = state->control;
  handover->control_value = state->control_value;
  handover->walk = state->walk;
  handover->blackout = (double)live->cover_levels.blackout;
  if (live->web)
    web_get_key(live->web, &handover->web);
  window_get_place(live->window, &handover->place);
}

/* Returns the record of restarts for the new program; handover_due_ns computes from it when the next restart is
 * allowed. If this program has shown pictures, the number of restarts in a row without a picture begins again at 0. */
static struct handover_record next_record(const struct live *live) {
  struct handover_record record = live->came ? live->came->record : (struct handover_record){0};
  record.barren = live->figures.shown ? 0 : record.barren + 1;
  return record;
}

static int gather(struct live *live, int64_t now_ns, struct error *err) {
  struct handover *handover = calloc(1, sizeof *handover);
  int status = handover ? gather_sources(live, handover, err) : error_set(err, STATUS_FAILED, "no memory");
  if (!status) {
    gather_values(live, handover);
    gather_state(live, handover);
    handover->record = next_record(live);
    handover_note(&handover->record, now_ns);
    snprintf(handover->why, sizeof handover->why, "%s",
             is_stuck(live) ? "the engine did not answer" : live->engine.why_away);
    live->handed = handover_print(handover);
    if (!live->handed)
      status = error_set(err, STATUS_FAILED, "no memory");
  }
  if (handover)
    handover_free(handover);
  free(handover);
  return status;
}

/* Starts the curtain (a window of another process), which shows what the audience sees now, without the overlay, until
 * the new program's window is there. */
static void cover(struct live *live) {
  struct curtain_picture picture = {.borderless = live->options->values.with_operator};
  struct error err;
  uint8_t *rgba = live_read_output(live, &picture.width, &picture.height);
  window_get_place(live->window, &picture.place);
  picture.rgba = rgba;
  if (rgba && curtain_raise(&live->curtain, &picture, &err))
    log_line(&live->log, LOG_INFO, "%s", err.message);
  free(rgba);
}

/* Returns true if the path is a pipe, whose contents cannot be read a second time. */
static bool is_pipe(const char *path) {
  struct platform_entry entry;
  return path && !platform_look(&entry, path) && entry.kind == ENTRY_PIPE;
}

/* Returns why the program must not be restarted, as text for the user: something would be lost. NULL: it may be
 * restarted. */
static const char *why_not(const struct live *live) {
  if (live->probe || !platform_can_begin_anew())
    return "it cannot be started anew";
  if (live->info.passes)
    return "its input could not be read on by another program";
  if (control_source_passes(live->control))
    return "--control-source could not be read on by another program";
  if (masking_passes(live->masking))
    return "--mask could not be read on by another program";
  if (is_pipe(live->options->script))
    return "--script could not be read again by another program";
  return NULL;
}

static void describe_fate(struct live *live, const char *why_not, int64_t due_ns, int64_t now_ns) {
  char *fate = live->fate;
  size_t size = sizeof live->fate;
  if (why_not)
    snprintf(fate, size, "the show goes on without the engine, for %s", why_not);
  else if (live->state.settings.values.freeze)
    snprintf(fate, size, "the program is started anew when the picture is not frozen any more");
  else if (due_ns > now_ns)
    snprintf(fate, size, "the program is started anew in %.0f s", ceil((double)(due_ns - now_ns) * 1e-9));
  else
    snprintf(fate, size, "the program is started anew, with everything as it is");
}

static void tell_once(struct live *live, int64_t now_ns) {
  char what[200];
  if (live->handing_told)
    return;
  if (is_stuck(live))
    snprintf(what, sizeof what, "the engine has not answered for %.0f s", live->engine.busy_ms / 1000);
  else
    snprintf(what, sizeof what, "%s", live->engine.why_away);
  log_line(&live->log, LOG_WARNING, "%s: %s", what, live->fate);
  live_notice(&live->state, now_ns, "%.100s: %s", what, live->fate);
  live_was_told(live, LOG_WARNING);
  live->handing_told = true;
}

static void begin(struct live *live, int64_t now_ns) {
  curtain_drop(&live->curtain);
  cover(live);
  live->curtain_ns = now_ns;
  live->handing = HANDING_CURTAIN;
}

static void go_on(struct live *live, int64_t now_ns) {
  struct error err;
  bool waits = now_ns - live->curtain_ns < CURTAIN_MS * INT64_C(1000000);
  if (live->curtain >= 0 && waits && !curtain_look(live->curtain))
    return;
  if (!gather(live, now_ns, &err)) {
    live->handing = HANDING_READY;
    return;
  }
  log_line(&live->log, LOG_WARNING, "%s", err.message);
  curtain_drop(&live->curtain);
  live->handing = HANDING_NOT;
}

/* During a freeze (the window keeps showing the same picture) no restart is begun, because the restart would lose that
 * picture. */
void live_follow_handover(struct live *live, int64_t now_ns) {
  bool needed = live->engine.lost || is_stuck(live);
  if (live->handing == HANDING_CURTAIN)
    go_on(live, now_ns);
  if (!needed)
    live->fate[0] = 0;
  if (!needed || live->handing != HANDING_NOT) {
    live->handing_told &= needed;
    return;
  }
  const char *refused = why_not(live);
  struct handover_record record = next_record(live);
  int64_t due_ns = handover_due_ns(&record);
  describe_fate(live, refused, due_ns, now_ns);
  tell_once(live, now_ns);
  if (!refused && now_ns >= due_ns && !live->state.settings.values.freeze)
    begin(live, now_ns);
}

void live_hand_over(struct live *live, struct error *err) {
  char value[32];
  int kept[2] = {platform_hold_text(live->handed, strlen(live->handed)), live->curtain};
  snprintf(value, sizeof value, "%d,%d", kept[0], kept[1]);
  fflush(NULL);
  if (kept[0] >= 0)
    platform_begin_anew(&setup_stop, HANDOVER_VARIABLE, value, kept, 1 + (kept[1] >= 0));
  error_set(err, STATUS_DEVICE, "the program cannot be started anew: %s", strerror(errno));
  curtain_drop(&live->curtain);
}
