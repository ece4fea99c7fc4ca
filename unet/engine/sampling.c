#include "unet/engine/engine_impl.h"
#include "unet/sample/noise.h"

/* --- the choice --- */

static enum sampler_method choose_method(enum engine_sampler sampler, const struct scheduler_config *config) {
  switch (sampler) {
  case SAMPLER_EULER:
    return METHOD_EULER;
  case SAMPLER_DDIM:
    return METHOD_DDIM;
  case SAMPLER_LCM:
    return METHOD_LCM;
  default:
    return config->method;
  }
}

/* By itself LCM has its own grid and the others the checkpoint's, or trailing on an LCM checkpoint. */
static enum sampler_spacing choose_spacing(enum engine_grid grid, enum sampler_method method,
                                           const struct scheduler_config *config) {
  switch (grid) {
  case GRID_TRAILING:
    return SPACING_TRAILING;
  case GRID_LEADING:
    return SPACING_LEADING;
  case GRID_LCM:
    return SPACING_LCM;
  default:
    if (method == METHOD_LCM)
      return SPACING_LCM;
    return config->spacing == SPACING_LCM ? SPACING_TRAILING : config->spacing;
  }
}

/* A checkpoint with Euler on trailing timesteps is a turbo model, made for one step. */
int sampling_default_steps(const struct engine *engine) {
  const struct scheduler_config *config = &engine->checkpoint->scheduler;
  if (engine->sampling.method == METHOD_LCM)
    return 4;
  return config->method == METHOD_EULER && config->spacing == SPACING_TRAILING ? 1 : 20;
}

void sampling_choose(struct sampling *sampling, const struct engine_params *params,
                     const struct checkpoint *checkpoint) {
  const struct scheduler_config *config = &checkpoint->scheduler;
  sampling->method = choose_method(params->sampler, config);
  sampling->spacing = choose_spacing(params->grid, sampling->method, config);
  sampling->strength = 1;
  sampling->image_condition = checkpoint->image_condition;
  sampling->quantised = params->strength_diffusers;
  sampling->snap = params->snap_strength;
}

/* --- noise --- */

static int write_draw(struct engine *engine, struct prepared *prepared, uint64_t seed, uint32_t draw, struct tensor to,
                      size_t index, struct error *err) {
  size_t count = tensor_elements(prepared->noise.start);
  noise_fill(seed, draw, 0, prepared->draw, count);
  return device_write(engine->device, prepared->program, to, index * count, prepared->draw, count, err);
}

int sampling_noise(struct engine *engine, struct prepared *prepared, uint64_t seed, struct error *err) {
  if (prepared->noise_known && prepared->seed == seed)
    return 0;
  prepared->noise_known = false;
  if (write_draw(engine, prepared, seed, 0, prepared->noise.start, 0, err) < 0)
    return -1;
  for (int i = 0; i < prepared->shape.draws; i++)
    if (write_draw(engine, prepared, seed, 1 + (uint32_t)i, prepared->noise.steps, (size_t)i, err) < 0)
      return -1;
  prepared->seed = seed;
  prepared->noise_known = true;
  return 0;
}

/* --- coefficients and time rows --- */

void sampling_table(const struct engine *engine, struct prepared *prepared, double strength) {
  if (prepared->table_known && prepared->sampling.strength == strength)
    return;
  prepared->sampling.strength = strength;
  sampler_table(&engine->checkpoint->scheduler, &prepared->sampling, &prepared->table);
  sampler_pad(&prepared->table, prepared->shape.steps);
  prepared->table_known = true;
}

int sampling_make_times(struct engine *engine, float guidance, struct error *err) {
  struct run_params run = {.guidance = guidance};
  engine_look_up_weights(engine);
  if (device_run(engine->device, engine->tables_program, &run, err) < 0)
    return -1;
  engine->tables_guidance = guidance;
  engine->tables_version = engine->tables_weights;
  return 0;
}

static bool tables_valid(const struct engine *engine, float guidance) {
  bool embedded = model_embeds_guidance(&engine->model);
  return engine->tables_version == engine->tables_weights && (!embedded || guidance == engine->tables_guidance);
}

int sampling_times(struct engine *engine, float guidance, struct error *err) {
  engine_look_up_weights(engine);
  return tables_valid(engine, guidance) ? 0 : sampling_make_times(engine, guidance, err);
}
