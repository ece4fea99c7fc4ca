#include "unet/model/plans.h"

#include "unet/model/frame_states.h"

int plans_text(const struct model *model, int encoder, struct plan *plan, struct error *err) {
  plan_init(plan, model->resources);
  struct clip_text text = clip_encode(&model->checkpoint->text_encoders[encoder], plan);
  struct tensor hidden = plan_emphasis(plan, "emphasis", (struct op_emphasis){.x = text.hidden});
  plan_store_slot(plan, "slot", (struct op_store_slot){.x = hidden, .slots = model->texts[encoder]});
  if (model->checkpoint->text_encoders[encoder].pooled)
    plan_store_slot(plan, "pooled slot", (struct op_store_slot){.x = text.pooled, .slots = model->pooled});
  return plan_finish(plan, err);
}

/* Builds the plan that computes, from all encoded texts, the keys and values of a network's attention. */
static int plan_keys(const struct model *model, const struct unet *unet, struct tensor slots, struct plan *plan,
                     struct error *err) {
  plan_init(plan, model->resources);
  struct tensor text[TEXT_ENCODERS_MAX] = {0};
  for (int i = 0; i < model->checkpoint->text_encoder_count; i++)
    text[i] = plan_prompt(plan, i ? "text 2" : "text", (struct op_prompt){.slots = model->texts[i], .y.n = 1});
  struct tensor keys_values = unet_texts(unet, plan, text[0], text[1]);
  plan_store_slot(plan, "slot", (struct op_store_slot){.x = keys_values, .slots = slots});
  return plan_finish(plan, err);
}

int plans_style(const struct model *model, bool none, struct plan *plan, struct tensor *input, struct error *err) {
  plan_init(plan, model->resources);
  *input = (struct tensor){0};
  if (!none || style_none_reads_patches(&model->style))
    *input = style_input(&model->style, plan);
  style_keys(&model->style, &model->unet, plan, *input, none);
  return plan_finish(plan, err);
}

int plans_keys(const struct model *model, int chunks, struct plan *plan, struct error *err) {
  return plan_keys(model, &model->unet, model->keys[chunks - 1], plan, err);
}

int plans_control_keys(const struct model *model, int control, int chunks, struct plan *plan, struct error *err) {
  const struct control *c = &model->controls[control];
  return plan_keys(model, &c->body, c->keys[chunks - 1], plan, err);
}

int plans_times(const struct model *model, const struct frame_shape *shape, struct plan *plan, struct error *err) {
  float width = (float)shape->width, height = (float)shape->height;
  /* the sizes that SDXL reads say that the picture was made at this size and not cropped */
  struct unet_moments of = {
      .steps = shape->steps, .rows = frame_time_rows(model, shape), .sizes = {height, width, 0, 0, height, width}};
  plan_init(plan, model->resources);
  if (tensor_exists(model->pooled))
    of.pooled = plan_prompt(plan, "pooled text",
                            (struct op_prompt){.slots = model->pooled,
                                               .y.n = guidance_total(of.rows, of.steps),
                                               .rows = of.rows.each,
                                               .first = of.rows.first});
  unet_times(&model->unet, plan, &of, frame_times_state(model, shape, plan));
  for (int i = 0; i < CONTROLS_MAX; i++)
    if (frame_has_controlnet(model, shape, i))
      unet_times(&model->controls[i].body, plan, &of, frame_control_times_state(model, shape, i, plan));
  return plan_finish(plan, err);
}

int plans_noise(const struct model *model, const struct frame_shape *shape, struct plan *plan, struct noise_ends *ends,
                struct error *err) {
  plan_init(plan, model->resources);
  ends->start = frame_noise_state(model, shape, plan, "ends/start", 2);
  ends->steps = frame_noise_state(model, shape, plan, "ends/steps", 2 * shape->noise_samples);
  ends->second = frame_noise_state(model, shape, plan, "ends/second", shape->carried ? 2 : 0);
  struct op_between start = {ends->start, frame_noise_state(model, shape, plan, "noise/start", 1),
                             .pictures = frame_pictures(shape)};
  plan_between(plan, "start between", start);
  if (shape->noise_samples) {
    struct op_between steps = {ends->steps, frame_noise_state(model, shape, plan, "noise/steps", shape->noise_samples),
                               .pictures = frame_pictures(shape)};
    plan_between(plan, "steps between", steps);
  }
  if (shape->carried)
    plan_between(plan, "second table between",
                 (struct op_between){ends->second, frame_noise_state(model, shape, plan, "noise/second", 1)});
  return plan_finish(plan, err);
}
