#include "unet/sample/sampler.h"

#include <string.h>

#include "unet/sample/schedule.h"

#define ROW(ID, identifier, ...) [SAMPLER_##ID] = &sampler_##identifier,
static const struct sampler_impl *const impls[SAMPLERS] = {SAMPLER_TABLE(ROW)};
#undef ROW

/* Computes the coefficients of OP_START, the start of sampling. If the start is noise alone, diffusers' Euler scales it
 * by init_noise_sigma: sigma_max, or sqrt(sigma_max^2 + 1) with leading spacing; the other samplers scale by 1. */
static void make_start(struct sampler_table *table, const struct schedule *schedule) {
  const struct sampling *s = schedule->sampling;
  bool noise_alone = s->text_to_image || (s->image_condition && s->strength >= 1);
  table->start_latent = noise_alone ? 0 : (float)schedule->from[0].a;
  table->start_noise = (float)schedule->from[0].b;
  if (noise_alone && (!schedule->impl->noise_by_sigma || s->spacing == SPACING_LEADING))
    table->start_noise = 1;
}

void sampler_table(const struct scheduler_config *config, const struct sampling *sampling,
                   struct sampler_table *table) {
  struct schedule schedule;
  schedule_make(&schedule, config, sampling, impls[sampling->sampler]);
  *table = (struct sampler_table){0};
  make_start(table, &schedule);
  table->steps = sampler_calls(sampling->sampler, schedule.count);
  /* PNDM's second call is made at the noise level where the first step ends, which is where step 1 begins */
  for (int call = 0; call < table->steps; call++)
    table->residual[call] = schedule_residual(&schedule, schedule.impl->asks_twice && call > 1 ? call - 1 : call);
  schedule.impl->fill(&schedule, table);
}

int sampler_calls(enum sampler sampler, int steps) {
  return impls[sampler]->asks_twice && steps > 1 ? steps + 1 : steps;
}

int sampler_noise_samples(enum sampler sampler, int steps) {
  const int samples[] = {[FRESH_NONE] = 0, [FRESH_BUT_LAST] = steps - 1, [FRESH_ALL] = steps};
  return samples[impls[sampler]->fresh];
}

int sampler_earlier(const struct scheduler_config *config, enum sampler sampler, int steps) {
  int earlier = impls[sampler]->earlier ? impls[sampler]->earlier(config) : 0;
  return earlier < steps - 1 ? earlier : steps - 1;
}

int sampler_table_noise(const struct sampler_table *table) {
  int count = table->steps;
  while (count > 0 && table->step[count - 1].noise == 0)
    count--;
  return count;
}

void sampler_pad(struct sampler_table *table, int count) {
  for (; table->steps < count; table->steps++)
    table->step[table->steps] = (struct step_params){table->step[table->steps - 1].timestep, 1, 0, 0};
}

bool sampler_has_lcm_spacing(enum sampler sampler) {
  return impls[sampler]->lcm_spacing;
}

bool sampler_takes_sigmas(enum sampler sampler) {
  return impls[sampler]->sigmas != SIGMAS_NONE;
}

bool sampler_has_eta(enum sampler sampler) {
  return impls[sampler]->has_eta;
}

double sampler_usual_eta(enum sampler sampler) {
  return impls[sampler]->usual_eta;
}

int sampler_usual_steps(enum sampler sampler) {
  return impls[sampler]->usual_steps;
}

#define SAMPLER_NAME(ID, identifier, word, name) [SAMPLER_##ID] = (name),
#define SPACING_NAME(ID, word, name) [SPACING_##ID] = (name),

const char *sampler_name(enum sampler sampler) {
  static const char *const names[SAMPLERS] = {SAMPLER_TABLE(SAMPLER_NAME)};
  return names[sampler];
}

enum sampler sampler_of_word(const char *word) {
#define SAMPLER_WORD_OF(ID, identifier, word, name) [SAMPLER_##ID] = (word),
  static const char *const words[SAMPLERS] = {SAMPLER_TABLE(SAMPLER_WORD_OF)};
  for (int i = SAMPLER_AUTO + 1; i < SAMPLERS; i++)
    if (!strcmp(word, words[i]))
      return (enum sampler)i;
  return SAMPLER_AUTO;
}

const char *spacing_name(enum spacing spacing) {
  static const char *const names[SPACINGS] = {SPACING_TABLE(SPACING_NAME)};
  return names[spacing];
}

const char *prediction_name(enum prediction prediction) {
  static const char *const names[] = {[PREDICT_EPSILON] = "epsilon", [PREDICT_V] = "v", [PREDICT_SAMPLE] = "sample"};
  return names[prediction];
}
