#include "unet/model/plans.h"

enum { UNROLLED_MAX = 4 };

/* What prompts leave on the device. */
static int add_states(struct model *model, struct resources *resources, struct error *err) {
  const struct checkpoint *checkpoint = model->checkpoint;
  for (int i = 0; i < checkpoint->text_encoder_count; i++) {
    const struct text_encoder *encoder = &checkpoint->text_encoders[i];
    const struct clip_config *text = &encoder->config;
    model->texts[i] = resources_state(resources, i ? "prompt texts 2" : "prompt texts", SLOTS, 1, text->positions,
                                      text->hidden_size, ELEMENT_DEVICE, err);
    if (encoder->pooled)
      model->pooled =
          resources_state(resources, "pooled texts", SLOTS, 1, 1, text->projection_dim, ELEMENT_DEVICE, err);
    if (!tensor_exists(model->texts[i]) || (encoder->pooled && !tensor_exists(model->pooled)))
      return -1;
  }
  model->keys =
      resources_state(resources, "prompt keys and values", KEY_SLOTS, 1, checkpoint->text_encoders[0].config.positions,
                      model->unet.walk.text_channels, ELEMENT_DEVICE, err);
  return tensor_exists(model->keys) ? 0 : -1;
}

int model_init(struct model *model, const struct checkpoint *checkpoint, struct resources *resources,
               struct error *err) {
  *model = (struct model){.checkpoint = checkpoint, .resources = resources};
  if (unet_init(&model->unet, &checkpoint->predictors[0], err) < 0)
    return -1;
  if (add_states(model, resources, err) == 0)
    return 0;
  model_free(model);
  return -1;
}

void model_free(struct model *model) {
  unet_free(&model->unet);
}

size_t model_prompt_elements(const struct model *model) {
  size_t elements = tensor_elements(model->keys) + tensor_elements(model->pooled);
  for (int i = 0; i < TEXT_ENCODERS_MAX; i++)
    elements += tensor_elements(model->texts[i]);
  return elements;
}

int model_rows(const struct model *model, bool guidance) {
  if (!guidance || model_embeds_guidance(model))
    return 1;
  return model->checkpoint->image_condition ? 3 : 2;
}

int model_time_rows(const struct model *model, int rows) {
  return model->unet.config->added_text_dim ? rows : 1;
}

bool model_embeds_guidance(const struct model *model) {
  return model->unet.config->time_cond_proj_dim > 0;
}

int model_size_multiple(const struct model *model) {
  return model->checkpoint->autoencoder.scale << (model->unet.config->levels - 1);
}

void model_native_size(const struct model *model, int *width, int *height) {
  int scale = model->checkpoint->autoencoder.scale;
  *width = model->unet.config->sample_width * scale;
  *height = model->unet.config->sample_height * scale;
}

int plans_text(const struct model *model, int encoder, struct plan *plan, struct error *err) {
  plan_init(plan, model->resources);
  struct clip_text text = clip_encode(&model->checkpoint->text_encoders[encoder], plan);
  plan_store_slot(plan, "slot", (struct op_store_slot){.x = text.hidden, .slots = model->texts[encoder]});
  if (model->checkpoint->text_encoders[encoder].pooled)
    plan_store_slot(plan, "pooled slot", (struct op_store_slot){.x = text.pooled, .slots = model->pooled});
  return plan_finish(plan, err);
}

int plans_keys(const struct model *model, struct plan *plan, struct error *err) {
  plan_init(plan, model->resources);
  struct tensor text[TEXT_ENCODERS_MAX] = {0};
  for (int i = 0; i < model->checkpoint->text_encoder_count; i++)
    text[i] = plan_prompt(plan, i ? "text 2" : "text", (struct op_prompt){.slots = model->texts[i], .y.n = 1});
  struct tensor keys_values = unet_texts(&model->unet, plan, text[0], text[1]);
  plan_store_slot(plan, "slot", (struct op_store_slot){.x = keys_values, .slots = model->keys});
  return plan_finish(plan, err);
}

static struct tensor times_state(const struct model *model, const struct frame_shape *shape, struct plan *plan) {
  int rows = shape->steps * model_time_rows(model, shape->rows);
  return plan_state(plan, "times", rows, 1, 1, model->unet.walk.time_channels, ELEMENT_DEVICE);
}

int plans_times(const struct model *model, const struct frame_shape *shape, struct plan *plan, struct error *err) {
  float width = (float)shape->width, height = (float)shape->height;
  /* As if the picture had been made at this size, and nothing cut off. */
  struct unet_moments of = {.steps = shape->steps,
                            .rows = model_time_rows(model, shape->rows),
                            .sizes = {height, width, 0, 0, height, width}};
  plan_init(plan, model->resources);
  if (tensor_exists(model->pooled))
    of.pooled = plan_prompt(plan, "pooled text",
                            (struct op_prompt){.slots = model->pooled, .y.n = of.steps * of.rows, .rows = of.rows});
  unet_times(&model->unet, plan, &of, times_state(model, shape, plan));
  return plan_finish(plan, err);
}

/* The sampler's steps, each with a call of the U-Net. Few are written out, because a GPU takes 3 to 5 us from one
 * iteration of a loop to the next (H200); more become a loop, because each step written out takes 10 ms to prepare. */
static void denoise(const struct model *model, const struct frame_shape *shape, struct plan *plan, struct tensor x,
                    struct tensor image, const struct frame_noise *state) {
  struct tensor text = plan_prompt(plan, "prompt", (struct op_prompt){.slots = model->keys, .y.n = shape->rows});
  struct op_unet_input input = {.x = x, .kept = state->kept, .image = image, .y.n = shape->rows};
  input.image_rows = shape->rows == 3 || model->checkpoint->inpainting ? 3 : 1;
  struct tensor times = times_state(model, shape, plan);
  int time_rows = model_time_rows(model, shape->rows);
  bool loop = shape->steps > UNROLLED_MAX;
  int steps = loop ? 1 : shape->steps;
  if (loop)
    plan_loop_begin(plan, shape->steps);
  for (int step = 0; step < steps && !plan->failed; step++) {
    struct tensor time = loop ? plan_time_row(plan, "time", (struct op_time_row){.table = times, .y.n = time_rows})
                              : tensor_rows_of(times, step * time_rows, time_rows);
    struct tensor y = unet_predict(&model->unet, plan, plan_unet_input(plan, "input", input), time, text);
    struct op_step op = {
        .step = step, .x = x, .model = y, .noise = step < shape->noise_samples ? state->steps : (struct tensor){0}};
    plan_step(plan, "step", op);
  }
  if (loop)
    plan_loop_end(plan);
}

/* What the U-Net sees of the picture, whose latent the autoencoder has as own. */
static struct tensor image_condition(const struct checkpoint *checkpoint, struct plan *plan, struct tensor pixels,
                                     struct tensor own, struct tensor kept) {
  const struct autoencoder *autoencoder = &checkpoint->autoencoder;
  const struct autoencoder_kind *kind = autoencoder_kind(autoencoder);
  if (checkpoint->inpainting) {
    struct op_mask mask = {.x = pixels, .kept = kept, .value = (1 + kind->black) / 2};
    return autoencoder_scaled(autoencoder, plan, kind->encode(autoencoder, plan, plan_mask(plan, "mask", mask)));
  }
  if (!checkpoint->image_condition)
    return (struct tensor){0};
  return checkpoint->image_scale == 1
             ? own
             : plan_affine(plan, "image latent", (struct op_affine){.x = own, .scale = checkpoint->image_scale});
}

int plans_frame(const struct model *model, const struct frame_shape *shape, struct plan *plan,
                struct frame_noise *noise, struct error *err) {
  const struct checkpoint *checkpoint = model->checkpoint;
  const struct autoencoder *autoencoder = &checkpoint->autoencoder;
  const struct autoencoder_kind *kind = autoencoder_kind(autoencoder);
  int h = shape->height / autoencoder->scale, w = shape->width / autoencoder->scale;
  float range = 1 - kind->black, scale = 1 / range, bias = (0 - kind->black) / range; /* to its pictures; and back */
  plan_init(plan, model->resources);
  noise->start = plan_state(plan, "noise/start", 1, h, w, model->unet.config->out_channels, ELEMENT_PRECISE);
  noise->steps = noise->kept = (struct tensor){0};
  if (checkpoint->inpainting)
    noise->kept = plan_state(plan, "kept", 1, shape->height, shape->width, 1, ELEMENT_PRECISE);
  if (shape->noise_samples)
    noise->steps =
        plan_state(plan, "noise/steps", shape->noise_samples, h, w, model->unet.config->out_channels, ELEMENT_PRECISE);

  struct tensor pixels = {0}, own = {0}, z = {0};
  if (!shape->text_to_image) {
    pixels = plan_pixels_in(
        plan, "pixels in",
        (struct op_pixels_in){.scale = range, .bias = kind->black, .y = {.h = shape->height, .w = shape->width}});
    own = kind->encode(autoencoder, plan, pixels);
    z = autoencoder_scaled(autoencoder, plan, own);
  }
  struct tensor image = image_condition(checkpoint, plan, pixels, own, noise->kept);
  struct tensor x = plan_start(plan, "start", (struct op_start){.z = z, .noise = noise->start});
  denoise(model, shape, plan, x, image, noise);
  x = kind->decode(autoencoder, plan, autoencoder_unscaled(autoencoder, plan, x));
  plan_pixels_out(plan, "pixels out",
                  (struct op_pixels_out){
                      .scale = scale, .bias = bias, .x = x, .input = pixels, .input_scale = scale, .input_bias = bias});
  return plan_finish(plan, err);
}
