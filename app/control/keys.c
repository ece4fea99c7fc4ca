#include "app/control/keys.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void live_notice(struct live_state *state, int64_t now_ns, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(state->notice, sizeof state->notice, format, args);
  va_end(args);
  state->notice_until_ns = now_ns + (int64_t)NOTICE_MS * 1000000;
}

static void choose_prompt(struct live_state *state, int slot, int64_t now_ns) {
  if (!state->prompts[slot]) {
    live_notice(state, now_ns, "no prompt %d", slot);
    return;
  }
  if (slot == state->loop.fade.to)
    return;
  state->slot_before = state->loop.fade.to;
  fade_turn(&state->loop.fade, slot, now_ns);
}

static void run_prompt(struct live_state *state, int key, int64_t now_ns) {
  choose_prompt(state, SLOT_PRESET_1 + key - '1', now_ns);
}

static void run_next_prompt(struct live_state *state, int key, int64_t now_ns) {
  (void)key;
  int slot = state->loop.fade.to;
  for (int i = 0; i < SLOT_PRESETS; i++) {
    slot = slot % SLOT_PRESETS + 1;
    if (state->prompts[slot])
      break;
  }
  choose_prompt(state, slot, now_ns);
}

static void run_prompt_before(struct live_state *state, int key, int64_t now_ns) {
  (void)key;
  choose_prompt(state, state->slot_before, now_ns);
}

/* In steps of 0.05 that stay on the grid of hundredths. */
static void change_strength(struct live_state *state, float by) {
  float *strength = &state->loop.controls.strength;
  *strength = fminf(1, fmaxf(0, roundf((*strength + by) * 100) / 100));
}

static void run_stronger(struct live_state *state, int key, int64_t now_ns) {
  (void)key, (void)now_ns;
  change_strength(state, 0.05f);
}

static void run_weaker(struct live_state *state, int key, int64_t now_ns) {
  (void)key, (void)now_ns;
  change_strength(state, -0.05f);
}

static void run_more_steps(struct live_state *state, int key, int64_t now_ns) {
  (void)key, (void)now_ns;
  if (state->loop.steps < STEPS_MAX)
    state->loop.steps++;
}

static void run_fewer_steps(struct live_state *state, int key, int64_t now_ns) {
  (void)key, (void)now_ns;
  if (state->loop.steps > 1)
    state->loop.steps--;
}

/* Small numbers, so that a seed can be read off the window and given to --seed; the mixing makes neighbours unlike. */
static void run_new_seed(struct live_state *state, int key, int64_t now_ns) {
  (void)key;
  uint64_t mixed = (state->loop.controls.seed + (uint64_t)now_ns) * UINT64_C(0x9e3779b97f4a7c15);
  uint64_t seed = mixed >> 44;
  state->loop.controls.seed = seed == state->loop.controls.seed ? seed + 1 : seed;
  live_notice(state, now_ns, "seed %llu", (unsigned long long)state->loop.controls.seed);
}

static void run_pause(struct live_state *state, int key, int64_t now_ns) {
  (void)key, (void)now_ns;
  state->loop.paused = !state->loop.paused;
}

static void run_split(struct live_state *state, int key, int64_t now_ns) {
  (void)key, (void)now_ns;
  state->split = !state->split;
  state->loop.want_input = state->split;
}

static void run_fullscreen(struct live_state *state, int key, int64_t now_ns) {
  (void)key, (void)now_ns;
  state->fullscreen = !state->fullscreen;
}

static void run_snapshot(struct live_state *state, int key, int64_t now_ns) {
  (void)key, (void)now_ns;
  state->snapshots_asked++;
}

static void run_hud(struct live_state *state, int key, int64_t now_ns) {
  (void)key, (void)now_ns;
  state->hud = !state->hud;
}

static void run_help(struct live_state *state, int key, int64_t now_ns) {
  (void)key, (void)now_ns;
  state->help = !state->help;
}

static void run_quit(struct live_state *state, int key, int64_t now_ns) {
  (void)key, (void)now_ns;
  state->quit = true;
}

static const struct command_entry table[] = {
    {"prompt", "123456789", KEY_NONE, "1 - 9", "prompt of that number", false, true, run_prompt},
    {"next-prompt", "p", KEY_RIGHT, "p right", "next prompt", false, true, run_next_prompt},
    {"prompt-before", "t", KEY_LEFT, "t left", "back to the prompt before", false, true, run_prompt_before},
    {"stronger", "+=", KEY_UP, "+ - up down", "more, less strength", true, true, run_stronger},
    {"weaker", "-_", KEY_DOWN, NULL, "less strength", true, true, run_weaker},
    {"more-steps", "]", KEY_NONE, "[ ]", "fewer, more steps", true, true, run_more_steps},
    {"fewer-steps", "[", KEY_NONE, NULL, "fewer steps", true, true, run_fewer_steps},
    {"new-seed", "r", KEY_NONE, "r", "new seed", false, true, run_new_seed},
    {"pause", " ", KEY_NONE, "space", "pause", false, true, run_pause},
    {"split", "b", KEY_NONE, "b", "before and after; drag the line", false, true, run_split},
    {"snapshot", "s", KEY_NONE, "s", "save the picture", false, true, run_snapshot},
    {"fullscreen", "f", KEY_F11, "f F11", "full screen", false, false, run_fullscreen},
    {"hud", "h", KEY_NONE, "h", "show or hide the figures", false, false, run_hud},
    {"help", "?", KEY_F1, "? F1", "this help", false, false, run_help},
    {"quit", "q", KEY_ESCAPE, "q Esc", "quit", false, false, run_quit},
};

const struct command_entry *commands_table(int *count) {
  *count = sizeof table / sizeof *table;
  return table;
}

static const struct command_entry *find(int key) {
  if (key == KEY_NONE)
    return NULL;
  int count;
  const struct command_entry *entries = commands_table(&count);
  for (int i = 0; i < count; i++)
    if (entries[i].special == key || (key < 128 && strchr(entries[i].keys, key)))
      return &entries[i];
  return NULL;
}

bool commands_run(struct live_state *state, int key, bool repeat, int64_t now_ns) {
  const struct command_entry *entry = find(key);
  if (!entry || (repeat && !entry->repeats) || (entry->needs_engine && !state->ready))
    return false;
  entry->run(state, key, now_ns);
  return true;
}
