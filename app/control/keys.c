#include "app/control/keys_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/control/key_bindings.h"
#include "app/source/mirror.h"

/* The program quits if the quit key is pressed again within this time, in nanoseconds. */
static const int64_t quit_ns = 1000000000;

static double get(const struct live_state *state, enum parameter id) {
  return parameters_number(&state->settings.values, id, 0);
}

static int count_blended(const struct live_state *state) {
  int count = 0;
  for (int i = 1; i <= SLOT_PRESETS; i++)
    count += live_blend_weight(state, i) > 0;
  return count;
}

static void run_prompt(struct live_state *state, const struct command_call *call) {
  live_choose_prompt(state, call->value, call->now_ns);
}

static void run_next_prompt(struct live_state *state, const struct command_call *call) {
  int slot = (int)state->settings.values.shown_prompt;
  for (int i = 0; i < SLOT_PRESETS; i++) {
    slot = slot % SLOT_PRESETS + 1;
    if (parameters_text(&state->settings.values, PARAMETER_PROMPT, slot))
      break;
  }
  live_choose_prompt(state, slot, call->now_ns);
}

static void run_prompt_before(struct live_state *state, const struct command_call *call) {
  live_choose_prompt(state, state->slot_before, call->now_ns);
}

/* Shows a notice with the weights of the prompts that are blended, such as "blend 1 70%, 3 30%". */
static void tell_blend(struct live_state *state, int64_t now_ns) {
  char words[120] = "no blend";
  float shares[SLOT_PRESETS];
  size_t used = 0;
  values_shares(&state->settings.values, shares);
  for (int i = 0; count_blended(state) && i < SLOT_PRESETS; i++)
    if (shares[i] > 0)
      used += (size_t)snprintf(words + used, sizeof words - used, "%s%d %.0f%%", used ? ", " : "blend ", i + 1,
                               100 * (double)shares[i]);
  live_notice(state, now_ns, "%s", words);
}

/* Adds a prompt to the blend, or removes it if it is in the blend. A new blend also gets the prompt that was shown. If
 * one prompt is left, the blend ends and that prompt is shown alone. */
static void toggle_blended(struct live_state *state, int prompt, int64_t now_ns) {
  int alone = (int)state->settings.values.shown_prompt;
  bool comes = live_blend_weight(state, prompt) <= 0;
  if (comes && !count_blended(state) && prompt != alone)
    live_set_at(state, PARAMETER_BLEND, alone, 1, now_ns);
  live_set_at(state, PARAMETER_BLEND, prompt, comes, now_ns);
  if (count_blended(state) > 1)
    return;
  for (int i = 1; i <= SLOT_PRESETS; i++)
    if (live_blend_weight(state, i) > 0)
      live_set_at(state, PARAMETER_SHOWN_PROMPT, 0, i, now_ns);
  live_end_blend(state, now_ns);
}

static void run_blend(struct live_state *state, const struct command_call *call) {
  int index = call->value >= 1 && call->value <= SLOT_PRESETS ? (int)call->value : 0;
  if (index != call->value || !index) {
    live_notice(state, call->now_ns, "there are prompts 1 to %d", SLOT_PRESETS);
    return;
  }
  if (!live_has_prompt(state, index, call->now_ns))
    return;
  toggle_blended(state, index, call->now_ns);
  state->share = index;
  settings_turn(&state->settings, call->now_ns);
  tell_blend(state, call->now_ns);
}

/* Changes the weight of one prompt in the blend: of the prompt that was added to the blend last, or of the blend's
 * first prompt if that one was removed again. */
static void run_blend_weight(struct live_state *state, const struct command_call *call) {
  int prompt = state->share && live_blend_weight(state, state->share) > 0 ? state->share : 0;
  for (int i = 1; !prompt && i <= SLOT_PRESETS; i++)
    prompt = live_blend_weight(state, i) > 0 ? i : 0;
  if (!prompt) {
    live_notice(state, call->now_ns, "no blend: Ctrl and a digit adds a prompt");
    return;
  }
  double before = live_blend_weight(state, prompt);
  parameters_add(&state->settings.values, PARAMETER_BLEND, prompt, call->value);
  /* the key does not lower a weight to 0, which would remove the prompt from the blend; Ctrl and a digit do that */
  if (live_blend_weight(state, prompt) <= 0)
    live_set_at(state, PARAMETER_BLEND, prompt, before, call->now_ns);
  settings_turn(&state->settings, call->now_ns);
  tell_blend(state, call->now_ns);
}

static void run_add(struct live_state *state, const struct command_call *call) {
  parameters_add(&state->settings.values, call->entry->parameter, 0, call->value);
}

static void run_switch(struct live_state *state, const struct command_call *call) {
  live_set(state, call->entry->parameter, !get(state, call->entry->parameter), call->now_ns);
}

/* Sets the parameter mirror to "on" or "off", the opposite of what is shown now, even if it was "auto". */
static void run_mirror(struct live_state *state, const struct command_call *call) {
  int wish = state->settings.values.mirror;
  bool mirrored = wish == MIRROR_ON || (wish == MIRROR_AUTO && state->mirrored);
  live_set(state, PARAMETER_MIRROR, mirrored ? MIRROR_OFF : MIRROR_ON, call->now_ns);
  live_notice(state, call->now_ns, mirrored ? "not mirrored" : "mirrored");
}

/* Chooses a seed that seems random. The seed is small, so that a user can read it in the window and pass it to --seed.
 * The multiplication makes seeds chosen one after the other differ much. */
static void run_new_seed(struct live_state *state, const struct command_call *call) {
  uint64_t before = (uint64_t)state->settings.values.seed;
  uint64_t mixed = (before + (uint64_t)call->now_ns) * UINT64_C(0x9e3779b97f4a7c15);
  uint64_t seed = mixed >> 44;
  live_set(state, PARAMETER_SEED, (double)(seed == before ? seed + 1 : seed), call->now_ns);
  if (get(state, PARAMETER_SEED_POSITION) != 0)
    live_set(state, PARAMETER_SEED_POSITION, 0, call->now_ns);
  live_notice(state, call->now_ns, "seed %lld", (long long)state->settings.values.seed);
}

static void run_seed_walk(struct live_state *state, const struct command_call *call) {
  double speed = get(state, PARAMETER_SEED_WALK);
  if (speed != 0)
    state->walk = speed;
  live_set(state, PARAMETER_SEED_WALK, speed != 0 ? 0 : state->walk != 0 ? state->walk : call->value, call->now_ns);
  live_notice(state, call->now_ns, "seed walk: %g a second", get(state, PARAMETER_SEED_WALK));
}

static void run_seed_position(struct live_state *state, const struct command_call *call) {
  parameters_add(&state->settings.values, PARAMETER_SEED_POSITION, 0, call->value);
  live_notice(state, call->now_ns, "seed %.2f", get(state, PARAMETER_SEED) + get(state, PARAMETER_SEED_POSITION));
}

static void run_size(struct live_state *state, const struct command_call *call) {
  live_step_size(state, call->value, call->now_ns);
}

static bool has_presets(struct live_state *state, int64_t now_ns) {
  if (state->presets < 0)
    live_notice(state, now_ns, "there is no file of presets: --presets FILE gives one");
  return state->presets >= 0;
}

/* Selects the preset that comes call->value presets after the present one in the file (negative: before it), at most
 * PRESETS_AHEAD. After the file's last preset comes its first. */
static void run_saved_preset(struct live_state *state, const struct command_call *call) {
  if (!has_presets(state, call->now_ns))
    return;
  if (!state->presets) {
    live_notice(state, call->now_ns, "there is no saved preset: S saves one");
    return;
  }
  enum { PRESETS_AHEAD = 1000000 };
  int by = (int)fmax(-PRESETS_AHEAD, fmin(call->value, PRESETS_AHEAD));
  int before = (int)get(state, PARAMETER_SAVED_PRESET), count = state->presets;
  int at = before ? before - 1 + by : by > 0 ? by - 1 : by;
  live_set(state, PARAMETER_SAVED_PRESET, (at % count + count) % count + 1, call->now_ns);
}

/* Cues a preset, which chooses it as the next one without applying it: the preset after the one that is cued or, if
 * none is, after the present one. After the last preset comes the first. */
static void run_cue(struct live_state *state, const struct command_call *call) {
  if (!has_presets(state, call->now_ns) || !state->presets) {
    live_notice(state, call->now_ns, "there is no saved preset: S saves one");
    return;
  }
  int cued = (int)get(state, PARAMETER_CUED_PRESET), from = cued ? cued : (int)get(state, PARAMETER_SAVED_PRESET);
  live_set(state, PARAMETER_CUED_PRESET, from % state->presets + 1, call->now_ns);
  live_notice(state, call->now_ns, "preset %g is next", get(state, PARAMETER_CUED_PRESET));
}

void take_cued(struct live_state *state, enum parameter cue, enum parameter to, const char *none, int64_t now_ns) {
  double cued = get(state, cue);
  if (cued <= 0) {
    live_notice(state, now_ns, "%s", none);
    return;
  }
  live_set(state, to, cued, now_ns);
  live_set(state, cue, 0, now_ns);
}

static void run_take_cue(struct live_state *state, const struct command_call *call) {
  take_cued(state, PARAMETER_CUED_PRESET, PARAMETER_SAVED_PRESET, "no preset is cued: N cues the next one",
            call->now_ns);
}

/* Sets the present preset's number once more, so that its values are applied again as they were saved. */
static void run_preset_again(struct live_state *state, const struct command_call *call) {
  double now = get(state, PARAMETER_SAVED_PRESET);
  if (now > 0)
    live_set(state, PARAMETER_SAVED_PRESET, now, call->now_ns);
  else
    live_notice(state, call->now_ns, "no preset has been taken yet: a takes the first one");
}

static void run_undo_preset(struct live_state *state, const struct command_call *call) {
  if (has_presets(state, call->now_ns))
    state->undos_asked++;
}

static void run_save_preset(struct live_state *state, const struct command_call *call) {
  if (has_presets(state, call->now_ns))
    state->presets_asked++;
}

static bool has_show(struct live_state *state, int64_t now_ns) {
  if (!state->has_show)
    live_notice(state, now_ns, "there is no show file: --show-file FILE names one");
  return state->has_show;
}

static void run_save_show(struct live_state *state, const struct command_call *call) {
  if (has_show(state, call->now_ns))
    state->shows_asked++;
}

static void run_recover(struct live_state *state, const struct command_call *call) {
  if (has_show(state, call->now_ns))
    state->recoveries_asked++;
}

/* Waits for a MIDI knob to be moved, which is then bound to the parameter that was changed last. If the program is
 * already waiting for a knob, it stops waiting. */
static void run_midi_learn(struct live_state *state, const struct command_call *call) {
  struct parameters *values = &state->settings.values;
  struct error err;
  bool learning = parameters_text(values, PARAMETER_MIDI_LEARN, 0);
  if (!state->midi)
    live_notice(state, call->now_ns, "there is no MIDI: --midi listens to it");
  else if (!parameters_set_text(values, PARAMETER_MIDI_LEARN, 0, learning ? NULL : MIDI_LEARN_LAST, &err) && learning)
    live_notice(state, call->now_ns, "MIDI: nothing is learnt");
}

/* Shows the source at once instead of the network's picture. Switches off what changes the picture automatically
 * (modulation, the change of the seed) and what hides or stops the source (freeze, blackout, pause, split). */
static void run_panic(struct live_state *state, const struct command_call *call) {
  static const enum parameter off[] = {PARAMETER_MODULATION, PARAMETER_SEED_WALK, PARAMETER_FREEZE,
                                       PARAMETER_BLACKOUT,   PARAMETER_PAUSE,     PARAMETER_SPLIT};
  for (size_t i = 0; i < sizeof off / sizeof *off; i++)
    if (get(state, off[i]) != 0)
      live_set(state, off[i], 0, call->now_ns);
  live_set(state, PARAMETER_BYPASS, 1, call->now_ns);
  state->cover_at_once = true;
  live_notice(state, call->now_ns, "the source alone: U brings the picture back, W what moves it");
}

/* Tells the clock of beats that a beat begins now. */
static void run_tap(struct live_state *state, const struct command_call *call) {
  if (taps_take(&state->taps, &state->beats, call->now_ns))
    live_notice(state, call->now_ns, "tempo %.1f", state->beats.tempo);
  else
    live_notice(state, call->now_ns, "tap on: four beats make a good tempo");
}

static void run_snapshot(struct live_state *state, const struct command_call *call) {
  (void)call;
  state->snapshots_asked++;
}

/* Asks to open the part of the panel that call->value names (enum panel_wish). For the list, also closes the help,
 * which would hide the list. */
static void run_panel(struct live_state *state, const struct command_call *call) {
  /* the value in the table of commands is used, because a line of keys.conf can put any number into call->value */
  state->panel_asked = (enum panel_wish)call->entry->value;
  if (state->panel_asked == PANEL_LIST)
    live_set(state, PARAMETER_HELP, 0, call->now_ns);
}

static bool has_page(struct live_state *state, int64_t now_ns) {
  if (!state->page)
    live_notice(state, now_ns, "there is no page: --web serves one");
  return state->page;
}

static void run_page_code(struct live_state *state, const struct command_call *call) {
  if (get(state, PARAMETER_PAGE_CODE) > 0 || has_page(state, call->now_ns))
    run_switch(state, call);
}

static void run_open_page(struct live_state *state, const struct command_call *call) {
  if (has_page(state, call->now_ns))
    state->pages_asked++;
}

/* Quits at the second press of the key within quit_ns, so that a single press by mistake does not end the program in
 * front of an audience. */
static void run_quit(struct live_state *state, const struct command_call *call) {
  if (call->now_ns < state->quit_until_ns) {
    state->quit = true;
    return;
  }
  live_notice(state, call->now_ns, "press q again to quit");
  state->quit_until_ns = state->notice_until_ns = call->now_ns + quit_ns;
}

static void run_quit_at_once(struct live_state *state, const struct command_call *call) {
  (void)call;
  state->quit = true;
}

/* Begins to edit the corners of the output window's picture, at first the top left one. If a corner is being edited
 * already, ends editing. */
static void run_edit_corners(struct live_state *state, const struct command_call *call) {
  bool edits = get(state, PARAMETER_CORNER_EDIT) > 0;
  live_set(state, PARAMETER_CORNER_EDIT, edits ? 0 : 1, call->now_ns);
  live_notice(state, call->now_ns,
              edits ? "corners as they are" : "drag a corner, or Tab and arrows; Del puts it back; Esc ends");
}

/* Closes the help if it is shown; otherwise leaves full screen. */
static void run_leave(struct live_state *state, const struct command_call *call) {
  live_set(state, get(state, PARAMETER_HELP) > 0 ? PARAMETER_HELP : PARAMETER_FULLSCREEN, 0, call->now_ns);
}

/* Shows the next page of the help. After the last page the help is closed. */
static void run_help(struct live_state *state, const struct command_call *call) {
  bool shown = get(state, PARAMETER_HELP) > 0, turns = shown && state->help_page + 1 < state->help_pages;
  state->help_page = turns ? state->help_page + 1 : 0;
  live_set(state, PARAMETER_HELP, !shown || turns, call->now_ns);
}

static const struct command_entry table[] = {
    {"prompt", "123456789", KEY_NONE, "1 - 9", "prompt of that number", false, true, run_prompt, PARAMETER_SHOWN_PROMPT,
     (double)NAN},
    {"blend", "123456789", KEY_CONTROL, "Ctrl 1 - 9", "blend that prompt in, or out again", false, true, run_blend,
     PARAMETER_BLEND, (double)NAN},
    {"more-blend", "k", KEY_NONE, "j k", "less, more of the prompt blended in last", true, true, run_blend_weight,
     PARAMETER_BLEND, 0.1},
    {"less-blend", "j", KEY_NONE, NULL, "less of the prompt blended in last", true, true, run_blend_weight,
     PARAMETER_BLEND, -0.1},
    {"next-prompt", "p", KEY_RIGHT, "p right", "next prompt", false, true, run_next_prompt, PARAMETER_SHOWN_PROMPT, 0},
    {"prompt-before", "t", KEY_LEFT, "t left", "back to the prompt before", false, true, run_prompt_before,
     PARAMETER_SHOWN_PROMPT, 0},
    {"stronger", "+=", KEY_UP, "+ - up down", "more, less strength", true, true, run_add, PARAMETER_STRENGTH, 0.05},
    {"weaker", "-_", KEY_DOWN, NULL, "less strength", true, true, run_add, PARAMETER_STRENGTH, -0.05},
    {"more-steps", "]", KEY_NONE, "[ ]", "fewer, more steps", true, true, run_add, PARAMETER_STEPS, 1},
    {"fewer-steps", "[", KEY_NONE, NULL, "fewer steps", true, true, run_add, PARAMETER_STEPS, -1},
    {"larger", "}", KEY_NONE, "{ }", "smaller, larger picture", true, true, run_size, PARAMETER_SIZE, 64},
    {"smaller", "{", KEY_NONE, NULL, "smaller picture", true, true, run_size, PARAMETER_SIZE, -64},
    {"more-guidance", "o", KEY_NONE, "i o", "less, more guidance", true, true, run_add, PARAMETER_GUIDANCE, 0.1},
    {"less-guidance", "i", KEY_NONE, NULL, "less guidance", true, true, run_add, PARAMETER_GUIDANCE, -0.1},
    {"more-lora", ".>", KEY_NONE, ", .", "less, more of the LoRA", true, true, run_lora_weight, PARAMETER_LORA_WEIGHT,
     0.1},
    {"less-lora", ",<", KEY_NONE, NULL, "less of the LoRA", true, true, run_lora_weight, PARAMETER_LORA_WEIGHT, -0.1},
    {"next-lora", "l", KEY_NONE, "l", "choose the next LoRA", false, true, run_next_lora, PARAMETER_NONE, 0},
    {"show", "d", KEY_NONE, "d", "show the picture, a control's map, or both", false, true, run_show, PARAMETER_SHOW,
     0},
    {"next-control", "c", KEY_NONE, "c", "choose the next control", false, true, run_next_control, PARAMETER_NONE, 0},
    {"switch-control", "C", KEY_NONE, "C", "take that control out of the picture, put it in", false, true,
     run_switch_control, PARAMETER_CONTROL_ON, 0},
    {"next-control-value", "e", KEY_NONE, "e", "choose which of its values", false, true, run_next_control_value,
     PARAMETER_NONE, 0},
    {"more-control", ")", KEY_NONE, "( )", "less, more of that value", true, true, run_control_value, PARAMETER_NONE,
     1},
    {"less-control", "(", KEY_NONE, NULL, "less of that value", true, true, run_control_value, PARAMETER_NONE, -1},
    {"take-style", "y", KEY_NONE, "y", "take the frame as style picture", false, true, run_take_style, PARAMETER_NONE,
     0},
    {"other-style", "Y", KEY_NONE, "Y", "another file as the first style picture", false, true, run_other_style,
     PARAMETER_STYLE, 0},
    {"next-model", "m", KEY_NONE, "m", "next model; the old one runs on until it is there", false, true, run_next_model,
     PARAMETER_MODEL, 0},
    {"next-vae", "v", KEY_NONE, "v", "next VAE, likewise", false, true, run_next_vae, PARAMETER_VAE, 0},
    {"other-lora", "L", KEY_NONE, "L", "another file in that LoRA's place, likewise", false, true, run_other_lora,
     PARAMETER_LORA, 0},
    {"new-seed", "r", KEY_NONE, "r", "new seed", false, true, run_new_seed, PARAMETER_SEED, 0},
    {"seed-walk", "w", KEY_NONE, "w", "walk from seed to seed, or stand", false, true, run_seed_walk,
     PARAMETER_SEED_WALK, 0.25},
    {"seed-on", "x", KEY_NONE, "z x", "back, on towards the next seed", true, true, run_seed_position,
     PARAMETER_SEED_POSITION, 0.05},
    {"seed-back", "z", KEY_NONE, NULL, "back towards the seed before", true, true, run_seed_position,
     PARAMETER_SEED_POSITION, -0.05},
    {"edit-prompt", "/", KEY_ENTER, "Enter /", "type the prompt; Enter sets it, Esc leaves it", false, true, run_panel,
     PARAMETER_NONE, PANEL_PROMPT, true},
    {"edit-negative", "n", KEY_NONE, "n", "type the negative prompt", false, true, run_panel, PARAMETER_NONE,
     PANEL_NEGATIVE, true},
    {"parameters", "", KEY_TAB, "Tab", "list of all parameters, for arrows, numbers and the mouse", false, true,
     run_panel, PARAMETER_NONE, PANEL_LIST, true},
    {"tap", "T", KEY_NONE, "T", "tap on the beat: the taps' tempo is the tempo", false, false, run_tap, PARAMETER_TEMPO,
     0, .timed = true},
    {"pause", " ", KEY_NONE, "space", "pause", false, true, run_switch, PARAMETER_PAUSE, 0},
    {"next-source", "g", KEY_NONE, "g G", "next source, the one before", false, false, run_source, PARAMETER_SOURCE, 1},
    {"source-before", "G", KEY_NONE, NULL, "the source before", false, false, run_source, PARAMETER_SOURCE, -1},
    {"seek-forward", "'", KEY_NONE, "; '", "back, on in the clip by five seconds", true, false, run_seek,
     PARAMETER_CLIP_POSITION, 5},
    {"seek-back", ";", KEY_NONE, NULL, "back in the clip by five seconds", true, false, run_seek,
     PARAMETER_CLIP_POSITION, -5},
    {"seek-start", "", KEY_HOME, "Home", "to the clip's beginning", false, false, run_seek_start,
     PARAMETER_CLIP_POSITION, 0},
    {"mark-in", ":", KEY_NONE, ": \"", "begin, end the clip here from now on", false, false, run_mark,
     PARAMETER_CLIP_IN, CLIP_MARK_IN},
    {"mark-out", "\"", KEY_NONE, NULL, "end the clip here from now on", false, false, run_mark, PARAMETER_CLIP_OUT,
     CLIP_MARK_OUT},
    {"clear-marks", "\\", KEY_NONE, "\\", "the whole clip again", false, false, run_clear_marks, PARAMETER_CLIP_IN, 0},
    {"next-loop", "H", KEY_NONE, "H", "at the clip's end: the list, the clip again, its last picture", false, false,
     run_next_loop, PARAMETER_CLIP_LOOP, 0},
    {"cue-source", "n", KEY_CONTROL, "Ctrl n k", "cue the next source, take it", false, false, run_cue_source,
     PARAMETER_CUED_SOURCE, 0},
    {"take-source", "k", KEY_CONTROL, NULL, "take the source that is cued", false, false, run_take_source,
     PARAMETER_SOURCE, 0},
    {"mirror", "M", KEY_NONE, "M", "mirror the source, or not", false, false, run_mirror, PARAMETER_MIRROR, 0},
    {"freeze", "F", KEY_NONE, "F", "hold the picture shown, or go on", false, false, run_switch, PARAMETER_FREEZE, 0},
    {"bypass", "U", KEY_NONE, "U", "fade to the unprocessed source, or back", false, false, run_switch,
     PARAMETER_BYPASS, 0},
    {"blackout", "B", KEY_NONE, "B", "fade to black, or back", false, false, run_switch, PARAMETER_BLACKOUT, 0},
    {"panic", "P", KEY_NONE, "P", "panic: the source at once, without waves, freeze or black", false, false, run_panic,
     PARAMETER_BYPASS, 0},
    {"modulation", "W", KEY_NONE, "W", "let waves and sound move values, or not", false, false, run_switch,
     PARAMETER_MODULATION, 0},
    {"split", "b", KEY_NONE, "b", "before and after; drag the line", false, true, run_switch, PARAMETER_SPLIT, 0},
    {"snapshot", "s", KEY_NONE, "s", "save the picture", false, true, run_snapshot, PARAMETER_NONE, 0},
    {"next-preset", "a", KEY_NONE, "a A", "next saved preset, the one before", false, true, run_saved_preset,
     PARAMETER_SAVED_PRESET, 1},
    {"preset-before", "A", KEY_NONE, NULL, "the saved preset before", false, true, run_saved_preset,
     PARAMETER_SAVED_PRESET, -1},
    {"cue-preset", "N", KEY_NONE, "N", "cue the next saved preset", false, true, run_cue, PARAMETER_CUED_PRESET, 0},
    {"take-cue", "K", KEY_NONE, "K", "take the preset that is cued", false, true, run_take_cue, PARAMETER_SAVED_PRESET,
     0},
    {"preset-again", "E", KEY_NONE, "E", "the preset again, as it was saved", false, true, run_preset_again,
     PARAMETER_SAVED_PRESET, 0},
    {"undo-preset", "Z", KEY_NONE, "Z", "back to what was before the preset", false, true, run_undo_preset,
     PARAMETER_NONE, 0},
    {"save-preset", "S", KEY_NONE, "S", "save all that is set as a preset", false, true, run_save_preset,
     PARAMETER_NONE, 0},
    {"save-show", "V", KEY_NONE, "V", "save the show: options, sources, values and keys", false, true, run_save_show,
     PARAMETER_NONE, 0},
    {"recover-show", "J", KEY_NONE, "J", "what was set when the show ended in a crash", false, true, run_recover,
     PARAMETER_NONE, 0},
    {"record", "R", KEY_NONE, "R", "record what is shown, or end that", false, true, run_switch, PARAMETER_RECORDING,
     0},
    {"midi-learn", "u", KEY_NONE, "u", "bind a MIDI knob to what was changed last", false, false, run_midi_learn,
     PARAMETER_MIDI_LEARN, 0},
    {"fullscreen", "f", KEY_F11, "f F11", "fill the screen, or not", false, false, run_switch, PARAMETER_FULLSCREEN, 0},
    {"edit-corners", "X", KEY_NONE, "X", "move the window's corners: drag, or Tab and arrows", false, false,
     run_edit_corners, PARAMETER_CORNER_EDIT, 0},
    {"test-card", "D", KEY_NONE, "D", "the test card, with the display's name", false, false, run_switch,
     PARAMETER_TEST_CARD, 0},
    {"operator", "O", KEY_NONE, "O", "the operator's window", false, false, run_switch, PARAMETER_OPERATOR, 0},
    {"hud", "h", KEY_NONE, "h", "show or hide the figures", false, false, run_switch, PARAMETER_HUD, 0},
    {"open-page", "@", KEY_NONE, "@", "the web page, in a browser on this machine", false, false, run_open_page,
     PARAMETER_NONE, 0, true},
    {"page-code", "Q", KEY_NONE, "Q", "the web page's address as a QR code, for a phone", false, false, run_page_code,
     PARAMETER_PAGE_CODE, 0},
    {"help", "?", KEY_F1, "? F1", "this help", false, false, run_help, PARAMETER_HELP, 0},
    {"leave", "", KEY_ESCAPE, "Esc", "leave this help, then full screen", false, false, run_leave, PARAMETER_NONE, 0},
    {"quit", "q", KEY_NONE, "q q", "quit, when pressed twice within a second", false, false, run_quit, PARAMETER_NONE,
     0, true},
    {"quit-at-once", "q", KEY_CONTROL, "Ctrl q", "quit at once", false, false, run_quit_at_once, PARAMETER_NONE, 0,
     true},
};

const struct command_entry *commands_table(int *count) {
  *count = sizeof table / sizeof *table;
  return table;
}

const struct command_entry *commands_find(const char *name, size_t length) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (strlen(table[i].name) == length && !memcmp(table[i].name, name, length))
      return &table[i];
  return NULL;
}

static const struct command_entry *find(int key) {
  if (key == KEY_NONE)
    return NULL;
  int count;
  const struct command_entry *entries = commands_table(&count);
  for (int i = 0; i < count; i++) {
    int held = entries[i].special == KEY_CONTROL ? KEY_CONTROL : 0, character = key - held;
    bool typed = character > 0 && character < 128 && strchr(entries[i].keys, character);
    if (typed || entries[i].special == key)
      return &entries[i];
  }
  return NULL;
}

bool commands_have(int key) {
  return find(key) != NULL;
}

int commands_check(const struct command_entry *entry, double value, struct error *err) {
  bool numbered = isnan(entry->value);
  if (entry->here)
    return error_set(err, STATUS_USAGE, "%s: the window's own keys alone do that", entry->name);
  if (numbered && isnan(value))
    return error_set(err, STATUS_USAGE, "%s: it needs a number", entry->name);
  if (numbered && !(value >= 1 && value <= SLOT_PRESETS && value == trunc(value)))
    return error_set(err, STATUS_USAGE, "%s: there are prompts 1 to %d", entry->name, SLOT_PRESETS);
  return 0;
}

bool commands_call(struct live_state *state, const struct command_entry *entry, double value, int64_t now_ns) {
  if (entry->needs_engine && !state->ready)
    return false;
  entry->run(state, &(struct command_call){entry, value, now_ns});
  return true;
}

bool commands_run(struct live_state *state, int key, bool repeat, int64_t now_ns) {
  const struct key_binding *binding = key_bindings_find(state->bindings, key);
  if (binding)
    return key_bindings_run(binding, state, repeat, now_ns);
  const struct command_entry *entry = find(key);
  if (!entry || (repeat && !entry->repeats))
    return false;
  return commands_call(state, entry, isnan(entry->value) ? (key & 127) - '0' : entry->value, now_ns);
}
