/* Finds weights in the files that no plan reads. They would have no effect, and nothing would say so; they show that
 * the files belong to another network than the configs describe. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/base/text.h"
#include "unet/checkpoint/original.h"
#include "unet/model/plans.h"

/* Makes plans with all networks of the model, so that *resources gets all weights that they read. network: a control's
 * network, which is included; NULL: there is none. */
static int plan_all(const struct checkpoint *checkpoint, const struct control_network *network,
                    struct resources *resources, struct error *err) {
  struct model model;
  struct plan text[TEXT_ENCODERS_MAX] = {0}, keys = {0}, own_keys = {0}, times = {0}, frame = {0};
  struct frame_noise noise;
  if (model_init(&model, checkpoint, resources, err) < 0)
    return -1;
  int size = model_size_multiple(&model);
  int result = network ? model_add_control(&model, 0, MAP_PICTURE, network, err) : 0;
  const struct frame_shape shape = {
      .width = size, .height = size, .steps = 1, .rows = {1, 1}, .controls = network != NULL};
  for (int i = 0; result == 0 && i < checkpoint->text_encoder_count; i++)
    result = plans_text(&model, i, &text[i], err);
  result = result ? result : plans_keys(&model, 1, &keys, err);
  if (!result && tensor_exists(model.controls[0].keys[0]))
    result = plans_control_keys(&model, 0, 1, &own_keys, err);
  result = result ? result : plans_times(&model, &shape, &times, err);
  result = result ? result : plans_frame(&model, &shape, &frame, &noise, err);
  for (int i = 0; i < TEXT_ENCODERS_MAX; i++)
    plan_free(&text[i]);
  plan_free(&keys);
  plan_free(&own_keys);
  plan_free(&times);
  plan_free(&frame);
  model_free(&model);
  return result;
}

static bool is_read(const struct resources *resources, const struct safetensor *t) {
  for (int i = 0; i < resources->count; i++)
    for (int j = 0; j < resources->list[i].part_count; j++)
      if (resources->list[i].parts[j].name == t->key)
        return true;
  return false;
}

/* Returns true for tensors that published text encoders often contain and nothing reads: numbers that are no weights, a
 * projection for other uses of CLIP, and the final norm and layers after the last one that is used. */
static bool is_harmless(const struct text_encoder *encoder, const char *name) {
  static const char *const buffers[] = {"position_ids", "logit_scale", "text_projection.weight", "text_projection"};
  static const char layers[] = "encoder.layers.";
  const char *in = strstr(name, layers), *last = strstr(name, "position_ids");
  if (in && in[strlen(layers)] >= '0' && in[strlen(layers)] <= '9')
    return atoi(in + strlen(layers)) >= clip_layers(encoder);
  if (!clip_has_final_norm(encoder) && strstr(name, "final_layer_norm."))
    return true;
  for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
    if (!strcmp(last ? last : name, buffers[i]))
      return true;
  return false;
}

/* Returns true for tensors that published image encoders contain although nothing reads them: numbers that are no
 * weights, and everything after the layer that the adapter reads. */
static bool is_harmless_vision(const struct ip_adapter *a, const char *name) {
  char last[64];
  snprintf(last, sizeof last, "encoder.layers.%d.", a->vision.layers - 1);
  if (strstr(name, "position_ids") || !strcmp(name, "logit_scale"))
    return true;
  return a->config.projection != IP_LINEAR &&
         (strstr(name, last) || strstr(name, "post_layernorm.") || strstr(name, "visual_projection."));
}

struct carrier {
  const struct text_encoder *encoder;
  const struct ip_adapter *vision;
};

static bool may_carry(const struct carrier *of, const char *name) {
  return of->encoder  ? is_harmless(of->encoder, name)
         : of->vision ? is_harmless_vision(of->vision, name)
                      : original_is_harmless(name);
}

/* Fails if a component of the checkpoint has tensors that no plan reads: it is then probably another network. Tensors
 * that published files often contain are allowed. `of` has the function that recognises these: is_harmless for a text
 * encoder, is_harmless_vision for the adapter's image encoder, original_is_harmless for all else. */
static int check_component(const struct component *component, const struct carrier *of,
                           const struct resources *resources, struct error *err) {
  const struct safetensor *first = NULL;
  int count = 0;
  for (size_t i = 0; i < safetensors_count(component->files); i++) {
    const struct safetensor *t = safetensors_at(component->files, i);
    if (is_read(resources, t) || may_carry(of, t->name))
      continue;
    first = first ? first : t;
    count++;
  }
  if (!count)
    return 0;
  const char *config = component->config;
  return error_set(err, STATUS_MODEL,
                   "%s: has %d tensor%s that the network%s%s has no place for, the first %s: they belong to another "
                   "network, or to one that is changed%s",
                   first->file->path, count, count > 1 ? "s" : "", config ? " of " : "", config ? config : "",
                   text_quote(first->key).text, config ? " in a way that its config does not say" : "");
}

static int check_all(const struct checkpoint *c, const struct resources *resources, struct error *err) {
  for (int i = 0; i < c->predictor_count; i++)
    if (check_component(&c->predictors[i].weights, &(struct carrier){0}, resources, err))
      return -1;
  for (int i = 0; i < c->text_encoder_count; i++)
    if (check_component(&c->text_encoders[i].weights, &(struct carrier){.encoder = &c->text_encoders[i]}, resources,
                        err))
      return -1;
  return check_component(&c->autoencoder.weights, &(struct carrier){0}, resources, err);
}

static size_t count_elements(const struct resources *resources) {
  size_t count = 0;
  for (int i = 0; i < resources->count; i++) {
    const struct resource *r = &resources->list[i];
    if (r->kind == RESOURCE_WEIGHT)
      count += resource_elements(r);
  }
  return count;
}

int plans_check_unused(const struct checkpoint *checkpoint, size_t *elements, struct error *err) {
  struct resources resources = {0};
  int result = plan_all(checkpoint, NULL, &resources, err);
  result = result ? result : check_all(checkpoint, &resources, err);
  *elements = count_elements(&resources);
  resources_free(&resources);
  return result;
}

int plans_check_style_unused(const struct ip_adapter *adapter, const struct resources *resources, size_t *elements,
                             struct error *err) {
  if (check_component(&adapter->weights, &(struct carrier){0}, resources, err) < 0 ||
      check_component(&adapter->encoder, &(struct carrier){.vision = adapter}, resources, err) < 0)
    return -1;
  *elements += count_elements(resources);
  return 0;
}

int plans_check_control(const struct control_network *network, const struct checkpoint *checkpoint, struct error *err) {
  struct resources resources = {0};
  int result = plan_all(checkpoint, network, &resources, err);
  result = result ? result : check_component(&network->weights, &(struct carrier){0}, &resources, err);
  resources_free(&resources);
  return result;
}
