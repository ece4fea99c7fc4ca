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

/* Steps that suit the model: a checkpoint with Euler on trailing timesteps is a turbo model, made for one. */
static int default_steps(const struct sampling *sampling, const struct scheduler_config *config) {
  if (sampling->method == METHOD_LCM)
    return 4;
  return config->method == METHOD_EULER && config->spacing == SPACING_TRAILING ? 1 : 20;
}

void sampling_choose(struct sampling *sampling, const struct engine_params *params,
                     const struct checkpoint *checkpoint) {
  const struct scheduler_config *config = &checkpoint->scheduler;
  sampling->method = choose_method(params->sampler, config);
  sampling->spacing = choose_spacing(params->grid, sampling->method, config);
  sampling->strength = 1;
  sampling->text_to_image = params->text_to_image;
  sampling->image_condition = checkpoint->image_condition;
  sampling->quantised = params->strength_diffusers;
  sampling->snap = params->snap_strength;
  sampling->steps = params->steps ? params->steps : default_steps(sampling, config);
}

/* --- noise --- */

static int write_draw(struct engine *engine, uint64_t seed, uint32_t draw, struct tensor to, size_t index,
                      struct error *err) {
  size_t count = tensor_elements(engine->frame->noise.start);
  noise_fill(seed, draw, 0, engine->frame->draw, count);
  return device_write(engine->device, engine->frame->program, to, index * count, engine->frame->draw, count, err);
}

int sampling_noise(struct engine *engine, uint64_t seed, struct error *err) {
  if (engine->noise_known && engine->seed == seed)
    return 0;
  engine->noise_known = false;
  if (write_draw(engine, seed, 0, engine->frame->noise.start, 0, err) < 0)
    return -1;
  for (int i = 0; i < engine->frame->shape.draws; i++)
    if (write_draw(engine, seed, 1 + (uint32_t)i, engine->frame->noise.steps, (size_t)i, err) < 0)
      return -1;
  engine->seed = seed;
  engine->noise_known = true;
  return 0;
}

/* --- coefficients and time rows --- */

void sampling_table(struct engine *engine, double strength) {
  if (engine->table_known && engine->sampling.strength == strength)
    return;
  engine->sampling.strength = strength;
  sampler_table(&engine->checkpoint->scheduler, &engine->sampling, &engine->table);
  sampler_pad(&engine->table, engine->frame->shape.steps);
  engine->table_known = true;
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
