/* Chooses the sampler, spacing and number of steps for a handle (prepared engine), and computes the coefficients of its
 * steps and the time projections that the network needs for them. */
#include <math.h>
#include <string.h>

#include "unet/engine/engine_impl.h"

/* --- the choice of sampler, spacing and number of steps --- */

/* Chooses the spacing of timesteps and, for samplers that have one, the spacing of noise levels (sigmas). SPACING_AUTO:
 * LCM and TCD use their own spacing; other samplers use the checkpoint's, or "trailing" if it is an LCM checkpoint.
 * With a spacing of noise levels, Euler still takes the first and the last level from the spacing of timesteps. */
static void choose_spacing(struct sampling *sampling, enum spacing wish, const struct scheduler_config *config) {
  bool levels = wish >= SPACING_KARRAS;
  sampling->sigmas = levels ? wish : SPACING_AUTO;
  if (wish == SPACING_AUTO && sampler_takes_sigmas(sampling->sampler))
    sampling->sigmas = config->sigmas;
  if (wish != SPACING_AUTO && !levels)
    sampling->spacing = wish;
  else if (sampler_has_lcm_spacing(sampling->sampler))
    sampling->spacing = SPACING_LCM;
  else
    sampling->spacing = config->spacing == SPACING_LCM ? SPACING_TRAILING : config->spacing;
}

/* Returns the default number of steps. A checkpoint that names Euler with trailing timesteps is a turbo model, which
 * was made for one step. */
static int usual_steps(const struct checkpoint *checkpoint, enum sampler sampler) {
  const struct scheduler_config *config = &checkpoint->scheduler;
  if (checkpoint->one_timestep || checkpoint->noisiest)
    return 1;
  if (sampler_usual_steps(sampler))
    return sampler_usual_steps(sampler);
  bool euler = config->sampler == SAMPLER_EULER || config->sampler == SAMPLER_EULER_ANCESTRAL;
  return euler && config->spacing == SPACING_TRAILING ? 1 : 20;
}

int engine_usual_steps(const struct checkpoint *checkpoint) {
  return usual_steps(checkpoint, checkpoint->scheduler.sampler);
}

void sampling_begin(struct sampling *sampling, const struct engine_params *params,
                    const struct checkpoint *checkpoint) {
  sampling->strength = 1;
  sampling->image_condition = checkpoint->image_condition || checkpoint->inpainting;
  sampling->quantised = params->strength_diffusers;
  /* diffusers has a pipeline of its own for full LCM models, in which guidance is an input. Other models with LCM
   * weights merged in run in Stable Diffusion's pipelines. */
  sampling->lcm_pipeline = checkpoint->predictors[0].config.time_cond_proj_dim > 0;
  sampling->snap = params->snap_strength;
  sampling->noisiest = checkpoint->noisiest;
}

/* Refuses settings in the scheduler's file that are not supported, unless the user has chosen others instead. */
static int check_scheduler(const struct engine_shape *wish, const struct checkpoint *checkpoint, struct error *err) {
  unsigned lacks = checkpoint->scheduler.lacks;
  if (wish->sampler != SAMPLER_AUTO)
    return 0;
  if (wish->spacing != SPACING_AUTO)
    lacks &= ~(unsigned)LACKS_SPACING;
  if (!lacks)
    return 0;
  return error_set(err, checkpoint->scheduler_refusal.status, "%s; --sampler %stakes the place of what the file says",
                   checkpoint->scheduler_refusal.message, lacks == LACKS_SPACING ? "or --spacing " : "");
}

int sampling_choose(struct sampling *sampling, const struct engine_shape *wish, const struct checkpoint *checkpoint,
                    struct error *err) {
  const struct scheduler_config *config = &checkpoint->scheduler;
  if (check_scheduler(wish, checkpoint, err))
    return -1;
  sampling->sampler = wish->sampler != SAMPLER_AUTO ? wish->sampler : config->sampler;
  choose_spacing(sampling, wish->spacing, config);
  sampling->eta = sampler_usual_eta(sampling->sampler);
  sampling->text_to_image = wish->text_to_image;
  sampling->steps = wish->steps ? wish->steps : usual_steps(checkpoint, sampling->sampler);
  if (sampling->steps < 1 || sampling->steps > STEPS_MAX)
    return error_set(err, STATUS_USAGE, "%d steps: 1 to %d are supported", sampling->steps, STEPS_MAX);
  if (wish->spacing >= SPACING_KARRAS && !sampler_takes_sigmas(sampling->sampler))
    return error_set(err, STATUS_USAGE,
                     "%s spacing: %s takes timesteps alone; --sampler euler, unipc, dpm++, dpm++-sde, lms and deis "
                     "take noise levels",
                     spacing_name(wish->spacing), sampler_name(sampling->sampler));
  return 0;
}

void sampling_tell(struct engine *engine, const struct engine_shape *wish, const struct sampling *sampling) {
  const struct scheduler_config *config = &engine->checkpoint->scheduler;
  if (wish->sampler != SAMPLER_AUTO || engine->told_stand_in)
    return;
  engine->told_stand_in = true;
  if (config->stand_in)
    log_line(engine->log, LOG_WARNING,
             "%s: its %s is not built in: DDIM runs in its place, with %s timesteps and %s prediction; --sampler "
             "chooses another",
             engine->model_path, config->class_name, spacing_name(sampling->spacing),
             prediction_name(config->prediction));
  if (config->warms_up)
    log_line(engine->log, LOG_WARNING,
             "%s: the Runge-Kutta steps of its PNDMScheduler are not built in: it runs as with skip_prk_steps true",
             engine->model_path);
}

/* --- computing the coefficients of the steps, and the time projections --- */

void sampling_table(const struct engine *engine, struct prepared *prepared, double strength, double eta) {
  if (prepared->table_known && prepared->sampling.strength == strength && prepared->sampling.eta == eta)
    return;
  prepared->sampling.strength = strength;
  prepared->sampling.eta = eta;
  sampler_table(&engine->checkpoint->scheduler, &prepared->sampling, &prepared->table);
  sampler_pad(&prepared->table, prepared->shape.steps);
  prepared->table_known = true;
}

static struct conditioning conditioning_of(const struct engine *engine, struct prepared *prepared,
                                           const struct run_params *run) {
  /* true: weights with new factors of the adapters are computed, but frames do not read them yet */
  bool merged = engine->background.merge == MERGE_MADE;
  if (prepared->weights_version != engine->resources.version && !merged)
    prepared->times_weights = plan_weights_version(&prepared->times_plan);
  if (!merged)
    prepared->weights_version = engine->resources.version;
  struct conditioning c = {.version = prepared->times_weights};
  for (int i = 0; i < prepared->shape.steps; i++)
    c.timestep[i] = run->step[i].timestep;
  if (model_embeds_guidance(&engine->model))
    c.guidance = run->guidance;
  for (int row = 0; tensor_exists(engine->model.pooled) && row < prepared->shape.rows.first; row++)
    for (int i = 0; i < PROMPTS_MAX && run->prompt[row].weight[i] != 0; i++) {
      c.text[row].weight[i] = run->prompt[row].weight[i];
      c.text[row].serial[i] = engine->slots[run->prompt[row].slot[i]].serial;
    }
  return c;
}

static bool same_texts(const struct conditioning *a, const struct conditioning *b) {
  for (int row = 0; row < GUIDANCE_ROWS_MAX; row++)
    for (int i = 0; i < PROMPTS_MAX; i++)
      if (a->text[row].serial[i] != b->text[row].serial[i] || a->text[row].weight[i] != b->text[row].weight[i])
        return false;
  return true;
}

static bool same_conditioning(const struct conditioning *a, const struct conditioning *b) {
  for (int i = 0; i < CALLS_MAX; i++)
    if (a->timestep[i] != b->timestep[i])
      return false;
  return a->guidance == b->guidance && a->version == b->version && same_texts(a, b);
}

/* Computes the time projections, unless the device has those for the same inputs already. Frames in flight need not be
 * waited for: the device works in order, so they read the projections before they are overwritten, and the next frame
 * reads the new ones. */
static int make_times(struct engine *engine, struct prepared *prepared, const struct conditioning *now,
                      const struct run_params *run, struct error *err) {
  if (prepared->times_known && same_conditioning(&prepared->times, now))
    return 0;
  prepared->times_known = false;
  if (device_start(engine->device, prepared->times_program, run, err) < 0)
    return -1;
  prepared->times = *now;
  prepared->times_known = true;
  return 0;
}

int sampling_times(struct engine *engine, struct prepared *prepared, const struct run_params *run, struct error *err) {
  const struct conditioning now = conditioning_of(engine, prepared, run);
  return make_times(engine, prepared, &now, run, err);
}

/* Returns the inputs of the time projections for a run that still shows the texts of the previous frame. Texts are
 * among these inputs because in SDXL the pooled text is added to the time embedding. */
static struct conditioning conditioning_of_former_texts(const struct engine *engine, struct prepared *prepared,
                                                        const struct run_params *run) {
  struct conditioning c = conditioning_of(engine, prepared, run);
  memcpy(c.text, prepared->times.text, sizeof c.text);
  return c;
}

bool sampling_keeps_texts(const struct engine *engine, struct prepared *prepared, const struct run_params *run) {
  if (!prepared->times_known || !tensor_exists(engine->model.pooled))
    return prepared->times_known;
  /* The time projections on the device contain pooled texts. They can be used for the previous frame's texts only if
   * they were made from those, and for the same steps. They cannot be computed again from those texts: the pooled texts
   * on the device may be this frame's already. */
  const struct conditioning now = conditioning_of_former_texts(engine, prepared, run);
  return same_conditioning(&prepared->times, &now);
}

int sampling_times_of_former_texts(struct engine *engine, struct prepared *prepared, const struct run_params *run,
                                   struct error *err) {
  const struct conditioning now = conditioning_of_former_texts(engine, prepared, run);
  return make_times(engine, prepared, &now, run, err);
}
