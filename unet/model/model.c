#include "unet/model/model.h"

/* Adds the states (tensors that outlive a run) for encoded prompts, and for their keys and values. */
static int add_states(struct model *model, struct resources *resources, struct error *err) {
  const struct checkpoint *checkpoint = model->checkpoint;
  for (int i = 0; i < checkpoint->text_encoder_count; i++) {
    const struct text_encoder *encoder = &checkpoint->text_encoders[i];
    const struct clip_config *text = &encoder->config;
    model->texts[i] = resources_state(resources, i ? "prompt texts 2" : "prompt texts", TEXTS, 1, text->positions,
                                      text->hidden_size, ELEMENT_DEVICE, err);
    if (encoder->pooled)
      model->pooled =
          resources_state(resources, "pooled texts", TEXTS, 1, 1, text->projection_dim, ELEMENT_DEVICE, err);
    if (!tensor_exists(model->texts[i]) || (encoder->pooled && !tensor_exists(model->pooled)))
      return -1;
  }
  return unet_add_keys(&model->unet, model->keys, "", KEY_SLOTS, checkpoint->text_encoders[0].config.positions,
                       resources, err);
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
  for (int i = 0; i < CONTROLS_MAX; i++)
    control_free(&model->controls[i]);
  unet_free(&model->unet);
}

int model_add_control(struct model *model, int index, enum map_kind map, const struct control_network *network,
                      struct error *err) {
  const struct checkpoint *checkpoint = model->checkpoint;
  int positions = checkpoint->text_encoders[0].config.positions;
  if (network && control_network_check(network, checkpoint, err) < 0)
    return -1;
  return control_init(&model->controls[index], index, map, network, KEY_SLOTS, positions, model->resources, err);
}

size_t model_prompt_elements(const struct model *model) {
  size_t elements = model_keys_elements(model, 1) + tensor_elements(model->pooled);
  for (int i = 0; i < TEXT_ENCODERS_MAX; i++)
    elements += tensor_elements(model->texts[i]);
  return elements;
}

size_t model_keys_elements(const struct model *model, int chunks) {
  return tensor_elements(model->keys[chunks - 1]);
}

struct guidance_rows model_rows(const struct model *model, enum guidance_mode guidance) {
  struct guidance_rows rows = {1, 1};
  int more = model->checkpoint->image_condition ? 3 : 2;
  if (model_embeds_guidance(model))
    return rows;
  if (guidance == GUIDANCE_FULL || guidance == GUIDANCE_ONE_TIME)
    rows.first = more;
  if (guidance == GUIDANCE_FULL)
    rows.each = more;
  return rows;
}

bool model_embeds_guidance(const struct model *model) {
  return model->unet.config->time_cond_proj_dim > 0;
}

bool model_reads_input(const struct model *model, bool text_to_image, unsigned controls) {
  bool reads = !text_to_image;
  for (int i = 0; i < CONTROLS_MAX; i++)
    reads |= controls >> i & 1 && !model->controls[i].source;
  return reads;
}

int model_size_multiple(const struct model *model) {
  return model->checkpoint->autoencoder.scale << (model->unet.config->levels - 1);
}

int model_lattice(const struct model *model) {
  int own = styles_lattice(model->checkpoint->styles);
  return own ? own : model_size_multiple(model);
}

void model_native_size(const struct model *model, int *width, int *height) {
  int scale = model->checkpoint->autoencoder.scale;
  *width = model->unet.config->sample_width * scale;
  *height = model->unet.config->sample_height * scale;
}
