#include "app/control/picture_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/settings.h"
#include "unet/base/printf.h"
#include "unet/base/samplers.h"
#include "unet/base/text.h"

enum { WORDS_BYTES = 16 * PARAMETER_TEXT_MAX };

struct writer {
  char *text;
  size_t used;
};

PRINTF_LIKE(2, 3) static void put(struct writer *to, const char *format, ...);

static void put(struct writer *to, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int length = vsnprintf(to->text + to->used, WORDS_BYTES - to->used, format, args);
  va_end(args);
  to->used += (size_t)length < WORDS_BYTES - to->used ? (size_t)length : WORDS_BYTES - to->used - 1;
}

/* Returns the name that other programs (AUTOMATIC1111's web UI) have for the sampler; NULL: they have no such
 * sampler. */
static const char *sampler_words(enum sampler sampler) {
  static const char *const words[SAMPLERS] = {[SAMPLER_EULER] = "Euler",
                                              [SAMPLER_DDIM] = "DDIM",
                                              [SAMPLER_LCM] = "LCM",
                                              [SAMPLER_EULER_ANCESTRAL] = "Euler a",
                                              [SAMPLER_TCD] = "TCD",
                                              [SAMPLER_PNDM] = "PLMS",
                                              [SAMPLER_UNIPC] = "UniPC",
                                              [SAMPLER_DPM] = "DPM++ 2M",
                                              [SAMPLER_DPM_SDE] = "DPM++ 2M SDE",
                                              [SAMPLER_DDPM] = "DDPM",
                                              [SAMPLER_LMS] = "LMS",
                                              [SAMPLER_DEIS] = "DEIS"};
  return words[sampler];
}

static void put_prompt(struct writer *to, const struct parameters *values) {
  float shares[SLOT_PRESETS];
  int largest = 0;
  values_shares(values, shares);
  for (int i = 1; i < SLOT_PRESETS; i++)
    largest = shares[i] > shares[largest] ? i : largest;
  const char *prompt = values_slot_text(values, SLOT_PRESET_1 + largest);
  put(to, "%s", prompt ? prompt : PARAMETER_PROMPT_DEFAULT);
  for (int i = 1; i <= ADAPTERS_MAX; i++) {
    const char *file = parameters_text(values, PARAMETER_LORA, i);
    if (!file)
      continue;
    file = text_last_part(file);
    put(to, " <lora:%.*s:%g>", (int)strcspn(file, "."), file, parameters_number(values, PARAMETER_LORA_WEIGHT, i));
  }
  put(to, "\n");
  if (values->negative.given)
    put(to, "Negative prompt: %s\n", values->negative.words);
}

/* Appends "NAME: VALUE" for each parameter whose value differs from its default. Four kinds are left out: parameters
 * that the text names in another form, parameters with instances, parameters that do not change pictures, and values
 * with a comma, quotation mark or line end, which would spoil the line. */
static void put_others(struct writer *to, const struct parameters *values, const struct parameters *standard) {
  static const enum parameter said[] = {PARAMETER_MODEL,    PARAMETER_VAE,     PARAMETER_STEPS,
                                        PARAMETER_SAMPLER,  PARAMETER_SPACING, PARAMETER_GUIDANCE,
                                        PARAMETER_SEED,     PARAMETER_SIZE,    PARAMETER_SHOWN_PROMPT,
                                        PARAMETER_STRENGTH, PARAMETER_NEGATIVE};
  char mine[PARAMETER_TEXT_MAX], usual[PARAMETER_TEXT_MAX];
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    const struct parameter_row *row = parameter_row(id);
    bool told = row->count || row->need == NEED_NOTHING;
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
      told = told || said[i] == id;
    if (told)
      continue;
    parameters_print(values, id, 0, mine, sizeof mine);
    if (strcmp(mine, parameters_print(standard, id, 0, usual, sizeof usual)) && !strpbrk(mine, ",\n\""))
      put(to, ", %s: %s", row->name, mine);
  }
}

static void put_settings(struct writer *to, const struct parameters *values, const char *model, int width, int height) {
  const char *vae = parameters_text(values, PARAMETER_VAE, 0), *sampler = sampler_words((enum sampler)values->sampler);
  char words[64];
  put(to, "Steps: %lld", (long long)values->steps);
  if (sampler)
    put(to, ", Sampler: %s", sampler);
  if (values->spacing)
    put(to, ", Schedule type: %s", parameters_print(values, PARAMETER_SPACING, 0, words, sizeof words));
  put(to, ", CFG scale: %g, Seed: %lld, Size: %dx%d, Model: %s", values->guidance, (long long)values->seed, width,
      height, model);
  if (vae)
    put(to, ", VAE: %s", text_last_part(vae));
  put(to, ", Denoising strength: %g", values->strength);
}

char *picture_words(const struct parameters *values, const char *model, int width, int height) {
  struct parameters *standard = malloc(sizeof *standard);
  struct writer to = {.text = malloc(WORDS_BYTES)};
  if (standard && to.text) {
    parameters_init(standard);
    put_prompt(&to, values);
    put_settings(&to, values, model, width, height);
    put_others(&to, values, standard);
    put(&to, ", Version: reverie %s", REVERIE_VERSION);
  } else {
    free(to.text);
    to.text = NULL;
  }
  free(standard);
  return to.text;
}
