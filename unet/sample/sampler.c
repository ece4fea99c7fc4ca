#include "unet/sample/sampler.h"

#include "unet/sample/steps.h"

#define ROW(ID, identifier, ...) [SAMPLER_##ID] = &sampler_##identifier,
static const struct sampler_impl *const impls[SAMPLERS] = {SAMPLER_TABLE(ROW)};
#undef ROW

/* OP_START. From noise alone, diffusers' Euler scales by init_noise_sigma: sigma_max, or with leading spacing
 * sqrt(sigma_max^2 + 1); the others by 1. */
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
  *table = (struct sampler_table){.steps = schedule.count};
  make_start(table, &schedule);
  for (int i = 0; i < schedule.count; i++)
    table->residual[i] = schedule_residual(&schedule, i);
  schedule.impl->fill(&schedule, table);
}

int sampler_noise_samples(enum sampler sampler, int steps) {
  return impls[sampler]->fresh == FRESH_BUT_LAST ? steps - 1 : 0;
}

void sampler_pad(struct sampler_table *table, int count) {
  for (; table->steps < count; table->steps++)
    table->step[table->steps] = (struct step_params){table->step[table->steps - 1].timestep, 1, 0, 0};
}

bool sampler_has_lcm_spacing(enum sampler sampler) {
  return impls[sampler]->lcm_spacing;
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

const char *spacing_name(enum spacing spacing) {
  static const char *const names[SPACINGS] = {SPACING_TABLE(SPACING_NAME)};
  return names[spacing];
}

const char *prediction_name(enum prediction prediction) {
  static const char *const names[] = {[PREDICT_EPSILON] = "epsilon", [PREDICT_V] = "v", [PREDICT_SAMPLE] = "sample"};
  return names[prediction];
}
