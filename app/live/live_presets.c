/* Applies presets from a file when the parameter saved_preset changes, and saves the current values there when the user
 * asks for it. */
#include "app/control/presets_file.h"
#include "app/live/live_impl.h"

int live_open_presets(struct live *live, struct error *err) {
  const char *path = live->options->presets;
  live->state.presets = -1;
  if (!path)
    return live->options->values.saved_preset
               ? error_set(err, STATUS_USAGE, "--saved-preset: --presets FILE names the file it is in")
               : 0;
  if (live_check_place(path, err))
    return error_prefix(err, "--presets ");
  if (presets_file_open(&live->presets, path, &live->log, err))
    return -1;
  live->state.presets = presets_file_count(live->presets);
  if (live->options->values.saved_preset > live->state.presets)
    return error_set(err, STATUS_USAGE, "--saved-preset %d: %s has %d", (int)live->options->values.saved_preset, path,
                     live->state.presets);
  return 0;
}

/* Clears the marks of values that are equal to the current ones, so that no engine is opened because of them. Returns
 * 0, or -1 with err if one of the others may not be set while the program runs. */
static int check_changes(const struct live *live, struct parameters *changes, struct error *err) {
  const struct parameters *now = &live->state.settings.values;
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    const struct parameter_row *row = parameter_row(id);
    for (int i = row->first; i < row->first + parameter_instances(id); i++) {
      if (!parameters_marked(changes, id, i))
        continue;
      if (parameters_same(changes, now, id, i))
        changes->marks[id] &= (uint16_t) ~(1u << (i - row->first));
      else if (hub_check(live->hub, id, i, parameters_text(changes, id, i), err))
        return -1;
    }
  }
  return 0;
}

static int take(struct live *live, int number, int64_t now_ns, struct error *err) {
  struct parameters changes;
  char name[81];
  if (presets_file_values(live->presets, number, &live->start, &changes, name, err))
    return -1;
  if (check_changes(live, &changes, err))
    return error_prefix(err, "preset %d (%s): ", number, name);
  settings_apply(&live->state.settings, &changes, now_ns);
  live_notice(&live->state, now_ns, "preset %d: %s", number, name);
  return 0;
}

/* Applies the preset whose number keys or clients have set. If that fails, resets the parameter to the preset applied
 * before. */
static void take_wanted(struct live *live, int64_t now_ns) {
  int wanted = (int)live->state.settings.values.saved_preset;
  struct error err, ignored;
  if (!live->state.ready || (wanted == live->preset_taken && !live->preset_set))
    return;
  live->preset_set = false;
  if (wanted && take(live, wanted, now_ns, &err)) {
    live_tell(live, LOG_WARNING, now_ns, "%s", err.message);
    parameters_set_number(&live->state.settings.values, PARAMETER_SAVED_PRESET, 0, live->preset_taken, &ignored);
    live->preset_put_back = true;
  } else {
    live->preset_taken = wanted;
  }
}

void live_follow_presets(struct live *live, int64_t now_ns) {
  struct live_state *state = &live->state;
  char line[sizeof state->notice];
  if (!live->presets)
    return;
  enum log_level level;
  if (presets_file_refresh(live->presets, line, sizeof line, &level)) {
    live_notice(state, now_ns, "%s", line);
    live_was_told(live, level);
  }
  state->presets = presets_file_count(live->presets);
  for (; live->presets_told != state->presets_asked; live->presets_told++)
    presets_file_save(live->presets, &state->settings.values);
  take_wanted(live, now_ns);
}

void live_close_presets(struct live *live) {
  presets_file_close(&live->presets);
}
