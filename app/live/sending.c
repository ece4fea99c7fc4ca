/* Manages recordings and other outputs, by which the pictures in the window also go to files, networks and virtual
 * cameras. Main thread only. */
#include <stdio.h>
#include <string.h>

#include "app/live/live_impl.h"
#include "app/platform/app_platform.h"
#include "app/platform/stamped.h"
#include "app/run/setup.h"
#include "app/sink/accepted.h"
#include "app/sink/encoder.h"
#include "app/sink/target.h"
#include "app/source/protocols.h"
#include "unet/base/text.h"

static int check_codec(const struct options *options, const char *spec, struct error *err) {
  struct target target;
  const struct accepted_wishes wishes = {options->codec, options->pixel_format, options->encoder_options,
                                         options->quality};
  if (target_is_camera(spec))
    return 0;
  if (target_choose(&target, spec, NULL, err))
    return -1;
  return accepted_check_wishes(&target, &wishes, err);
}

static int check_output(const struct live *live, const char *spec, struct error *err) {
  const struct options *options = live->options;
  struct sink_wish wish = {
      .spec = spec,
      .input = live->spec ? live->spec : "pattern",
      .source = &live->source_options,
      .others = {options->mask && strcmp(options->mask, MASKING_ALPHA) ? options->mask : NULL, options->control_source,
                 options->sound, options->record_sound},
      .overwrite = options->overwrite,
  };
  for (int i = 0; i < options->style_count; i++)
    wish.others[4 + i] = parameters_text(&options->values, PARAMETER_STYLE, i + 1);
  if (platform_is_folder(spec))
    return error_set(err, STATUS_OUTPUT, "%s: this is a folder; name a file in it", spec);
  return sink_check(&wish, err) ? -1 : check_codec(options, spec, err);
}

/* Checks that the output spec, if it is a file, can be created in its folder. Called before the live window opens, so
 * that the user learns of an error at once and not with the first picture. Returns 0, or -1 with err. */
int live_check_place(const char *spec, struct error *err) {
  char folder[PATHS_MAX];
  struct platform_entry entry;
  const char *path = !strncmp(spec, "file:", 5) ? spec + 5 : spec, *name = text_last_part(path);
  snprintf(folder, sizeof folder, "%.*s", name > path ? (int)(name - path) : 1, name > path ? path : ".");
  if (!protocols_is_file(spec) || !platform_look(&entry, path))
    return 0;
  if (!platform_is_folder(folder))
    return error_set(err, STATUS_OUTPUT, "%s: there is no folder %s", path, folder);
  return platform_can_write(folder) ? 0 : error_set(err, STATUS_OUTPUT, "%s: %s cannot be written to", path, folder);
}

static int check_outputs(const struct live *live, struct error *err) {
  const struct parameter_choices *to = &live->options->to;
  const char *record = live->options->record;
  if (live->options->codec && encoder_check(live->options->codec, err))
    return -1;
  if (record && output_kind_of(record, NULL) != OUTPUT_RECORDING)
    return error_set(err, STATUS_USAGE, "--record %s: only a file is recorded to; --to sends it elsewhere", record);
  if (record && (check_output(live, record, err) || live_check_place(record, err)))
    return -1;
  for (int i = 0; i < to->count; i++) {
    for (int j = -1; j < i; j++) {
      const char *other = j < 0 ? record : to->text[j];
      if (other && !strcmp(other, to->text[i]))
        return error_set(err, STATUS_USAGE, "%s: two outputs cannot be the same", other);
    }
    if (check_output(live, to->text[i], err))
      return -1;
    if (output_kind_of(to->text[i], NULL) == OUTPUT_RECORDING && live_check_place(to->text[i], err))
      return -1;
  }
  return 0;
}

int live_open_outputs(struct live *live, struct error *err) {
  const struct outputs_params params = {.fps = live->info.fps,
                                        .tap = live_recorded_sound(live),
                                        .tap_by_clock = live->heard != NULL,
                                        .codec = live->options->codec,
                                        .quality = live->options->quality,
                                        .pixel_format = live->options->pixel_format,
                                        .encoder_options = live->options->encoder_options,
                                        .log = &live->log};
  const struct parameter_choices *to = &live->options->to;
  if (outputs_open(&live->outputs, &params, err))
    return -1;
  if (to->count >= OUTPUTS_MAX)
    return error_set(err, STATUS_USAGE, "--to: at most %d can be given", OUTPUTS_MAX - 1);
  const char *shots = live->options->snapshot_dir;
  if (shots && !platform_is_folder(shots))
    return error_set(err, STATUS_OUTPUT, "--snapshot-dir %.300s: there is no such folder", shots);
  if (shots && !platform_can_write(shots))
    return error_set(err, STATUS_OUTPUT, "--snapshot-dir %.300s: it cannot be written to", shots);
  if (check_outputs(live, err))
    return -1;
  for (int i = 0; i < to->count; i++)
    if (outputs_add(live->outputs, to->text[i], NULL, err))
      return -1;
  live->record_next = live->options->record;
  return 0;
}

int live_outputs_hold(const struct live *live) {
  const struct parameter_choices *to = &live->options->to;
  int holds = OUTPUT_RECORDING_HOLDS;
  for (int i = 0; i < to->count; i++)
    holds += outputs_holds(to->text[i]);
  return holds + 1; /* 1: the picture that outputs get during a freeze, live->held */
}

void live_hold_for_outputs(struct live *live) {
  frame_release(&live->held);
  if (live->shown)
    live->held = frame_hold(&live->shown->frame);
}

/* Gives outputs what the window shows. During a freeze that is the frozen picture, so they get no new one. */
void live_show_elsewhere(struct live *live, bool fresh) {
  const struct cover_levels *cover = &live->cover_levels;
  if (!live->shown || !(live->covered_anew || (fresh && cover->held < 1)))
    return;
  struct covered shown = {
      .picture = live->shown->frame, .cover = *cover, .fit = (enum fit_kind)live->options->values.fit};
  if (cover->held > 0)
    shown.held = live->held;
  if (cover->bypass > 0)
    mailbox_look(&live->frames, &shown.source);
  outputs_show(live->outputs, &shown, live->drawn_ns);
  hub_show(live->hub, &shown);
  frame_release(&shown.source);
  if (cover->held <= 0 && !live->frozen)
    frame_release(&live->held);
}

/* Begins a recording to the file that --record names, or to a new file named after the time. Returns 0, or -1 with
 * err. */
static int begin_recording(struct live *live, struct error *err) {
  char path[PATHS_MAX];
  const char *name = live->record_next;
  live->record_next = NULL;
  if (!name) {
    FILE *file = stamped_create(path, live->options->snapshot_dir, "mp4", "recording", err);
    if (!file)
      return -1;
    fclose(file);
    name = path;
  }
  struct sound_tap *sound = live_recorded_sound(live);
  if (!live->heard && !(sound && sound_tap_has_sound(sound)))
    log_line(&live->log, LOG_INFO, "%s: recorded without sound%s", name,
             live->options->record_sound && !sound ? "" : ": the source has none (--record-sound names another)");
  return outputs_add(live->outputs, name, &live->recording, err);
}

static void refuse_recording(struct live *live) {
  struct error ignored;
  parameters_set_number(&live->state.settings.values, PARAMETER_RECORDING, 0, false, &ignored);
}

/* Begins or ends a recording if the parameter `recording` has changed; resets the parameter if a recording could not
 * begin or has ended on its own. A new recording begins only when the last one's file is complete. */
static void follow_recording(struct live *live, int64_t now_ns) {
  bool wanted = live->state.settings.values.recording;
  struct error err;
  if (live->recording && !outputs_has(live->outputs, live->recording)) {
    live->recording = 0;
    if (!live->record_ending)
      refuse_recording(live);
    live->record_ending = false;
  } else if (wanted && !live->recording && begin_recording(live, &err)) {
    live_tell(live, LOG_WARNING, now_ns, "%s", err.message);
    refuse_recording(live);
  } else if (!wanted && live->recording && !live->record_ending) {
    outputs_end(live->outputs, live->recording);
    live->record_ending = true;
  }
}

void live_follow_outputs(struct live *live, int64_t now_ns) {
  char line[sizeof live->state.notice];
  enum log_level level;
  if (outputs_follow(live->outputs, line, sizeof line, &level)) {
    live_notice(&live->state, now_ns, "%s", line);
    live_was_told(live, level);
  }
  follow_recording(live, now_ns);
  outputs_get_figures(live->outputs, &live->output_figures);
}

const char *live_describe_outputs(const struct live *live, char *words, size_t size) {
  const struct outputs_figures *figures = &live->output_figures;
  size_t used = 0;
  *words = 0;
  if (live->recording && figures->recordings)
    used += (size_t)snprintf(words, size, "recording %ld:%02ld  ", (long)figures->seconds / 60,
                             (long)figures->seconds % 60);
  if (figures->dropped && used < size)
    used += (size_t)snprintf(words + used, size - used, "%ld not recorded  ", figures->dropped);
  if (figures->streams && used < size)
    used += (size_t)snprintf(words + used, size - used, "sending to %d", figures->streams - figures->failing);
  if (figures->failing && used < size)
    snprintf(words + used, size - used, " of %d", figures->streams);
  return *words ? words : NULL;
}

int live_close_outputs(struct live *live, struct error *err) {
  int status = outputs_close(&live->outputs, live->options->verbose < 0 ? NULL : stderr, err);
  frame_release(&live->held);
  return status;
}
