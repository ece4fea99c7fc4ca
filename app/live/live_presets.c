/* Applies presets (named sets of parameter values) from a file when the parameter saved_preset changes, and saves the
 * current values there as a new preset when the user asks for it. */
#include <stdio.h>
#include <string.h>

#include "app/control/presets_file.h"
#include "app/live/live_impl.h"
#include "unet/base/address.h"
#include "unet/base/text.h"

int live_open_presets(struct live *live, struct error *err) {
  const char *path = live->options->presets;
  live->state.presets = -1;
  if (!path)
    return live->options->values.saved_preset
               ? error_set(err, STATUS_USAGE, "--saved-preset: --presets FILE names the file it is in")
               : 0;
  if (live_check_place(path, err))
    return error_prefix(err, "--presets ");
  if (presets_file_open(&live->presets.file, path, &live->log, err))
    return -1;
  live->state.presets = presets_file_count(live->presets.file);
  if (live->options->values.saved_preset > live->state.presets)
    return error_set(err, STATUS_USAGE, "--saved-preset %d: %s has %d", (int)live->options->values.saved_preset, path,
                     live->state.presets);
  return 0;
}

/* Clears the "was set" marks of preset values that equal the current ones, because a marked value may cause an engine
 * to be opened. Returns 0, or -1 with err if one of the remaining values cannot change while the program runs. */
static int check_changes(const struct live *live, struct parameters *changes, struct error *err) {
  const struct parameters *now = &live->state.settings.values;
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    const struct parameter_row *row = parameter_row(id);
    for (int i = row->first; i < row->first + parameter_instances(id); i++) {
      if (!parameters_marked(changes, id, i))
        continue;
      if (parameters_same(changes, now, id, i))
        parameters_unmark(changes, id, i);
      else if (hub_check(live->hub, id, i, parameters_text(changes, id, i), err))
        return -1;
    }
  }
  return 0;
}

/* When a preset's values begin to change after somebody has chosen the preset: the choices of the parameter
 * preset-at. */
enum preset_at { AT_ONCE, AT_BEAT, AT_BAR };

/* Returns when a change that is asked for now begins: at this time, or with the next beat or bar. Without a tempo there
 * is no beat to wait for. */
static int64_t find_begin(const struct live *live, int64_t now_ns) {
  const struct parameters *values = &live->state.settings.values;
  enum preset_at at = (enum preset_at)values->preset_at;
  if (at == AT_ONCE || !beats_run(&live->state.beats))
    return now_ns;
  return beats_next_ns(&live->state.beats, at == AT_BAR ? (int)values->bar_beats : 1, now_ns);
}

/* Stores the present values of the parameters that are marked in `changes` in live->presets.before, from which undo
 * sets them again. */
static void keep_before(struct live *live, const struct parameters *changes) {
  const struct parameters *now = &live->state.settings.values;
  struct parameters *before = &live->presets.before;
  *before = *now;
  memcpy(before->marks, changes->marks, sizeof before->marks);
  live->presets.undoable = true;
}

/* Sets the values that are marked in `changes`. They begin to change at the time that preset-at says, and reach the new
 * values `seconds` later. The values before are kept for undo. */
static void set_values(struct live *live, struct parameters *changes, double seconds, int64_t now_ns) {
  int64_t begin_ns = find_begin(live, now_ns);
  keep_before(live, changes);
  loop_glide(live->loop, changes, begin_ns, seconds);
}

/* Stores the in and out points of a preset that shows another source, the one with the index `source`. Otherwise points
 * equal to those of the present source would be lost, because check_changes ignores values that equal the present
 * ones. */
static void keep_points(const struct live *live, int source, const struct parameters *changes) {
  double in, out;
  if (source == changer_wanted(live->changer))
    return;
  changer_get_range(live->changer, source, &in, &out);
  in = parameters_marked(changes, PARAMETER_CLIP_IN, 0) ? changes->clip_in : in;
  out = parameters_marked(changes, PARAMETER_CLIP_OUT, 0) ? changes->clip_out : out;
  changer_set_range(live->changer, source, in, out);
}

/* Adds the number of the preset's source, if it names one, to `changes`. The preset can only name a source of the list,
 * so that presets from others cannot open anything else. Returns 0, or -1 with err. */
static int add_source(const struct live *live, int number, struct parameters *changes, struct error *err) {
  char source[PRESET_SOURCE_MAX];
  if (!presets_file_source(live->presets.file, number, source))
    return 0;
  for (int i = 0; live->changer && i < changer_count(live->changer); i++) {
    const char *name = changer_name(live->changer, i);
    if (strcmp(name, source) && strcmp(text_last_part(name), source))
      continue;
    keep_points(live, i, changes);
    return parameters_set_number(changes, PARAMETER_SOURCE, 0, i + 1, err);
  }
  return error_set(err, STATUS_USAGE, "source: \"%.200s\" is not among the sources", address_name(source).text);
}

int live_set_together(struct live *live, struct parameters *changes, int64_t now_ns, struct error *err) {
  if (check_changes(live, changes, err))
    return -1;
  set_values(live, changes, live->state.settings.values.preset_fade, now_ns);
  return 0;
}

static int take(struct live *live, int number, int64_t now_ns, struct error *err) {
  struct parameters changes;
  char name[81];
  if (presets_file_values(live->presets.file, number, &live->start, &changes, name, err))
    return -1;
  if (add_source(live, number, &changes, err) || check_changes(live, &changes, err))
    return error_prefix(err, "preset %d (%s): ", number, name);
  double own = presets_file_fade(live->presets.file, number);
  set_values(live, &changes, own >= 0 ? own : live->state.settings.values.preset_fade, now_ns);
  live_notice(&live->state, now_ns, "preset %d: %s", number, name);
  return 0;
}

/* Sets the parameter `id`, whose text is a preset's name, to the name of preset `number` (0: to no name). */
static void show_name(struct live *live, enum parameter id, struct scene_name *shown, int number) {
  char name[81] = "";
  struct error ignored;
  if (number)
    presets_file_name(live->presets.file, number, name);
  parameters_set_text(&live->state.settings.values, id, 0, *name ? name : NULL, &ignored);
  snprintf(shown->text, sizeof shown->text, "%s", name);
  shown->put = true;
}

/* Sets the parameter scene to the name of the preset that was applied last. */
static void show_scene(struct live *live) {
  show_name(live, PARAMETER_SCENE, &live->presets.scene, live->presets.taken);
}

/* Sets the parameter cued-scene to the name of the preset that is cued (chosen to be applied next). */
static void show_cued(struct live *live) {
  live->presets.cued = (int)live->state.settings.values.cued_preset;
  show_name(live, PARAMETER_CUED_SCENE, &live->presets.cued_scene, live->presets.cued);
}

/* Resets the values that the last preset has changed to those before it. A second call restores the preset's values. */
static void undo(struct live *live, int64_t now_ns) {
  struct error ignored;
  if (!live->presets.undoable) {
    live_notice(&live->state, now_ns, "there is no preset to be undone");
    return;
  }
  struct parameters changes = live->presets.before;
  int former = live->presets.former;
  set_values(live, &changes, live->state.settings.values.preset_fade, now_ns);
  live->presets.former = live->presets.taken;
  live->presets.taken = former;
  parameters_set_number(&live->state.settings.values, PARAMETER_SAVED_PRESET, 0, former, &ignored);
  live->presets.put_back = true;
  show_scene(live);
  live_notice(&live->state, now_ns, "as before the preset");
}

/* Returns the number of the preset whose name somebody has set in the parameter `id`; 0: the name is empty; -1: nobody
 * has set a name, or there is no such preset. In the latter case shows a notice, and restores the name of preset
 * `number`. shown: the name that this program has set last. */
static int take_name(struct live *live, enum parameter id, struct scene_name *shown, int number, int64_t now_ns) {
  const struct parameters *values = &live->state.settings.values;
  const char *name = parameters_text(values, id, 0) ? parameters_text(values, id, 0) : "";
  bool marked = parameters_marked(values, id, 0) && live->presets.file;
  /* `marked` says that the parameter was set, also if this program did so itself to show the preset's name. Such a
   * setting is ignored, unless a client has set another name since. */
  bool own = shown->put && !strcmp(name, shown->text);
  shown->put = false;
  if (!marked || own)
    return -1;
  int found = *name ? presets_file_find(live->presets.file, name) : 0;
  if (found || !*name)
    return found;
  live_notice(&live->state, now_ns, "there is no preset called \"%s\"", name);
  show_name(live, id, shown, number);
  return -1;
}

void live_take_scene(struct live *live, int64_t now_ns) {
  struct parameters *values = &live->state.settings.values;
  struct error ignored;
  int taken = take_name(live, PARAMETER_SCENE, &live->presets.scene, live->presets.taken, now_ns);
  int cued = take_name(live, PARAMETER_CUED_SCENE, &live->presets.cued_scene, live->presets.cued, now_ns);
  if (taken > 0)
    parameters_set_number(values, PARAMETER_SAVED_PRESET, 0, taken, &ignored);
  if (cued >= 0)
    parameters_set_number(values, PARAMETER_CUED_PRESET, 0, cued, &ignored);
  /* If somebody sets saved_preset to the number of the preset that is in use, this preset is applied again. */
  live->presets.set |= parameters_marked(values, PARAMETER_SAVED_PRESET, 0) && !live->presets.put_back;
  live->presets.put_back = false;
}

/* Applies the preset whose number keys or clients have set in the parameter saved_preset. If the preset cannot be
 * applied, resets the parameter to the number of the preset applied before. */
static void take_wanted(struct live *live, int64_t now_ns) {
  int wanted = (int)live->state.settings.values.saved_preset;
  struct error err, ignored;
  if (!live->state.ready || (wanted == live->presets.taken && !live->presets.set))
    return;
  live->presets.set = false;
  if (wanted && take(live, wanted, now_ns, &err)) {
    live_tell(live, LOG_WARNING, now_ns, "%s", err.message);
    parameters_set_number(&live->state.settings.values, PARAMETER_SAVED_PRESET, 0, live->presets.taken, &ignored);
    live->presets.put_back = true;
  } else {
    live->presets.former = live->presets.taken;
    live->presets.taken = wanted;
  }
  show_scene(live);
}

void live_publish_presets(struct live *live) {
  if (!live->presets.file)
    return;
  hub_set_list(live->hub, HUB_SCENES, presets_file_list(live->presets.file));
  hub_set_list(live->hub, HUB_SCENE_FILES, presets_file_pictures(live->presets.file));
}

void live_follow_presets(struct live *live, int64_t now_ns) {
  struct live_state *state = &live->state;
  char line[sizeof state->notice];
  if (!live->presets.file)
    return;
  enum log_level level;
  bool anew = presets_file_refresh(live->presets.file, line, sizeof line, &level);
  if (anew) {
    live_notice(state, now_ns, "%s", line);
    live_was_told(live, level);
    live_publish_presets(live);
  }
  state->presets = presets_file_count(live->presets.file);
  for (; live->presets.told != state->presets_asked; live->presets.told++)
    presets_file_save(live->presets.file, &state->settings.values, live->shown ? &live->shown->frame : NULL);
  take_wanted(live, now_ns);
  if (anew || (int)state->settings.values.cued_preset != live->presets.cued)
    show_cued(live);
  for (; live->presets.undos_told != state->undos_asked; live->presets.undos_told++)
    undo(live, now_ns);
}

void live_close_presets(struct live *live) {
  presets_file_close(&live->presets.file);
}
