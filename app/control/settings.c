#include "app/control/settings.h"

#include <string.h>

void settings_begin(struct settings *settings, const struct parameters *values) {
  int slot = (int)values->preset;
  *settings = (struct settings){.values = *values, .fade = {.from = slot, .to = slot}};
  parameters_clear_marks(&settings->values);
}

void settings_apply(struct settings *settings, const struct parameters *changes, int64_t now_ns) {
  parameters_apply(&settings->values, changes);
  fade_turn(&settings->fade, (int)settings->values.preset, now_ns);
}

void values_controls(const struct parameters *values, struct controls *controls) {
  *controls = (struct controls){
      .prompt = (int)values->preset,
      .prompt_to = (int)values->preset,
      .strength = (float)values->strength,
      .guidance = values->guidance_mode == GUIDANCE_NONE ? 1 : (float)values->guidance,
      .image_guidance = (float)values->image_guidance,
      .guidance_rescale = (float)values->guidance_rescale,
      .delta = (float)values->delta,
      .mix = (float)values->mix,
      .seed = (uint64_t)values->seed,
  };
  for (int i = 0; i < ADAPTERS_MAX; i++)
    controls->adapter[i] = (float)values->lora_weight[i];
}

void settings_controls(const struct settings *settings, int64_t now_ns, struct controls *controls) {
  values_controls(&settings->values, controls);
  fade_apply(&settings->fade, now_ns, controls);
}

enum guidance_mode values_guidance(const struct parameters *values) {
  enum guidance_mode mode = (enum guidance_mode)values->guidance_mode;
  return mode != GUIDANCE_SELF && values->guidance == 1 ? GUIDANCE_NONE : mode;
}

const char *values_slot_text(const struct parameters *values, int slot) {
  if (slot == SLOT_NEGATIVE)
    return parameters_text(values, PARAMETER_NEGATIVE, 0);
  return slot >= SLOT_PRESET_1 && slot < SLOT_PRESET_1 + SLOT_PRESETS
             ? parameters_text(values, PARAMETER_PROMPT, slot - SLOT_PRESET_1 + 1)
             : NULL;
}

static bool text_equal(const struct moment *a, const struct moment *b, int slot) {
  const char *first = values_slot_text(&a->settings.values, slot),
             *second = values_slot_text(&b->settings.values, slot);
  return first && second ? !strcmp(first, second) : first == second;
}

bool moment_equal(const struct moment *a, const struct moment *b) {
  const struct controls *first = &a->controls, *second = &b->controls;
  bool fading = first->blend > 0;
  return parameters_equal(&a->settings.values, &b->settings.values, 1u << NEED_FRAME | 1u << NEED_ROWS) &&
         first->guidance == second->guidance && first->prompt == second->prompt && first->blend == second->blend &&
         (!fading || first->prompt_to == second->prompt_to) && text_equal(a, b, first->prompt) &&
         (!fading || text_equal(a, b, first->prompt_to)) && text_equal(a, b, SLOT_NEGATIVE);
}
