/* Fills the text overlay over the picture, and logs notices if the overlay is hidden. Main thread only. */
#include <math.h>
#include <stdio.h>

#include "app/live/live_impl.h"
#include "unet/base/address.h"
#include "unet/base/text.h"

enum hud_layout live_layout(const struct live *live) {
  return window_has_operator(live->window) ? HUD_OPERATOR : HUD_OVERLAY;
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

/* Returns the name of the model in use: what follows the last slash of the path or repository name in the parameter
 * `model`. */
static const char *model_words(const struct parameters *values) {
  const char *name = parameters_text(values, PARAMETER_MODEL, 0);
  return name ? text_last_part(name) : PARAMETER_MODEL_BUILT_IN;
}

void live_describe_start(const struct live *live, char *words, size_t size) {
  const struct reader_status *source = &live->source_status;
  *words = 0;
  if (live->reader && !source->opened && !source->lost)
    snprintf(words, size, "opening %s", address_shown(live->spec).text);
  else if (!live->state.ready)
    snprintf(words, size, "loading the model");
  else if (live->engine.preparing)
    snprintf(words, size, "%s is being prepared", live->engine.name);
}

void live_tell_terminal(struct live *live) {
  const struct live_state *state = &live->state;
  bool seen = state->settings.values.hud || window_has_operator(live->window);
  if (!seen && !state->notice_is_followed && state->notice_until_ns != live->notice_told_ns)
    log_line(&live->log, LOG_WARNING, "%s", state->notice);
  live->notice_told_ns = state->notice_until_ns;
}

/* Chooses which rows of the parameter list are visible in a window of this size in pixels. */
static void update_panel(struct live *live, int width, int height) {
  struct hud_places places;
  hud_get_places(live->hud, live_layout(live), width, height, &places);
  parameter_list_update(&live->panel.list, &live->state.settings.values, places.list_rows);
}

/* Writes to `words` the size that the user asked for, the size used to keep the time budget, and both step counts if
 * they differ. Returns `words`, or NULL if no size or step count was reduced. */
static const char *describe_budget(const struct live *live, char *words, size_t size) {
  const struct engine_shape *wish = &live->engine.wish, *now = &live->engine.prepared.shape;
  if (!live->engine.governed)
    return NULL;
  int used = snprintf(words, size, "%dx%d, governed to %dx%d", wish->width, wish->height, now->width, now->height);
  if (wish->steps != now->steps && used > 0 && (size_t)used < size)
    snprintf(words + used, size - (size_t)used, ", %d of %d steps", now->steps, wish->steps);
  return words;
}

/* Tells the input method where the text cursor is, because the input method shows its suggestions there. */
static void place_text(struct live *live, int width, int height) {
  struct hud_area cursor;
  hud_get_cursor(live->hud, live_layout(live), width, height, &cursor);
  window_set_text_place(live->window, cursor.left, cursor.top, cursor.width, cursor.height);
}

bool live_update_overlay(struct live *live, int64_t now_ns, int width, int height) {
  const struct live_state *state = &live->state;
  struct parameters values = state->settings.values;
  char words[600], outputs[120], governed[100], clip[60];
  struct hud_content content = {
      .layout = live_layout(live),
      .recent = &live->figures.recent,
      .figures = values.hud,
      .help = values.help,
      .address = values.page_code && live->web ? web_url(live->web) : NULL,
      .running = state->ready,
      .fps = pace_rate(&live->figures.pace, now_ns),
      .frame_ms = live->figures.frame_ms_now,
      .budget_ms = live->figures.budget_ms,
      .source_fps = pace_rate(&live->figures.source, now_ns),
      .hardware = live->info.hardware,
      .latency_ms = live->late.median_ms,
      .latency_p99_ms = live->late.p99_ms,
      .dropped = live->figures.dropped,
      .missed = live->figures.missed,
      .values = &values,
      .model = live->engine.info.model,
      .loading = live->engine.opening ? model_words(&values) : NULL,
      .notice = now_ns < state->notice_until_ns ? state->notice : NULL,
      .panel = &live->panel,
      .alerts = &live->alerts,
      .now_ns = now_ns,
      .help_page = state->help_page,
      .bindings = state->bindings,
      .governed = describe_budget(live, governed, sizeof governed),
      .clip = live_describe_clip(live, clip, sizeof clip),
      .tempo = values.tempo,
      .beat = (int)fmod(values.beat, (double)values.bar_beats),
      .bar_beats = (int)values.bar_beats,
  };
  struct controls now = {0};
  struct meter meter;
  live_get_meter(live, &meter);
  content.meter = &meter;
  update_panel(live, width, height);
  /* the overlay shows the number of steps that are really made, which the time budget may have reduced */
  values.steps = live->engine.prepared.shape.steps;
  settings_controls(&state->settings, now_ns, &now);
  list_prompts(&content, &values, &now);
  live_describe_start(live, words, sizeof words);
  content.state = *words ? words : NULL;
  content.outputs = live_describe_outputs(live, outputs, sizeof outputs);
  if (content.layout == HUD_OPERATOR) {
    live_update_face(live, &now, content.clip != NULL);
    content.face = &live->operation.face;
  }
  bool changed = hud_update(live->hud, &content, width, height, now_ns);
  live->state.help_pages = hud_help_pages(live->hud);
  if (live->panel.types)
    place_text(live, width, height);
  return changed;
}
