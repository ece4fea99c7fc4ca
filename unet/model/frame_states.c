#include "unet/model/frame_states.h"

#include <stdio.h>

int frame_drawn_h(const struct frame_shape *shape) {
  return shape->canvas.lattice ? shape->canvas.window_h : shape->height;
}

int frame_drawn_w(const struct frame_shape *shape) {
  return shape->canvas.lattice ? shape->canvas.window_w : shape->width;
}

int frame_pictures(const struct frame_shape *shape) {
  return shape->batch > 1 ? shape->batch : 1;
}

bool frame_is_batched(const struct frame_shape *shape) {
  return shape->stream_batch && shape->steps > 1;
}

struct guidance_rows frame_time_rows(const struct model *model, const struct frame_shape *shape) {
  bool apart = model->unet.config->added_text_dim || frame_is_batched(shape);
  return apart ? shape->rows : (struct guidance_rows){1, 1};
}

bool frame_has_controlnet(const struct model *model, const struct frame_shape *shape, int control) {
  return shape->controls >> control & 1 && control_is_controlnet(&model->controls[control]);
}

struct tensor frame_times_state(const struct model *model, const struct frame_shape *shape, struct plan *plan) {
  int rows = guidance_total(frame_time_rows(model, shape), shape->steps);
  return plan_state(plan, "times", rows, 1, 1, model->unet.walk.time_channels, ELEMENT_DEVICE);
}

struct tensor frame_control_times_state(const struct model *model, const struct frame_shape *shape, int control,
                                        struct plan *plan) {
  char name[32];
  int rows = guidance_total(frame_time_rows(model, shape), shape->steps);
  snprintf(name, sizeof name, "times of control %d", 1 + control);
  return plan_state(plan, name, rows, 1, 1, model->controls[control].body.walk.time_channels, ELEMENT_DEVICE);
}

struct tensor frame_noise_state(const struct model *model, const struct frame_shape *shape, struct plan *plan,
                                const char *name, int n) {
  int scale = model->checkpoint->autoencoder.scale;
  return n ? plan_state(plan, name, n * frame_pictures(shape), frame_drawn_h(shape) / scale,
                        frame_drawn_w(shape) / scale, model->unet.config->out_channels, ELEMENT_PRECISE)
           : (struct tensor){0};
}
