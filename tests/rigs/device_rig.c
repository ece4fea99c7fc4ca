#include "tests/rigs/device_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unet/devices.h"

void rig_plan(struct rig *r) {
  static float copy[3 * 3 * 9];
  struct error err = {0};
  for (int c = 0; c < 3; c++)
    copy[(c * 3 + c) * 9 + 4] = 1;
  struct weight_part part = {copy, DTYPE_F32, 3};
  struct tensor x = plan_pixels_in(&r->plan, "in", (struct op_pixels_in){.scale = 1, .y = {.h = H, .w = W}});
  struct tensor w = resources_weight(&r->resources, "copy", 3, 3, 3, 3, &part, 1, &err);
  x = plan_conv(&r->plan, "conv", (struct op_conv){.x = x, .weight = w, .stride = 1, .pad = 1});
  plan_pixels_out(&r->plan, "out", (struct op_pixels_out){.scale = 1, .x = x});
  r->params.mix = 1;
  r->params.geometry[0] = (struct geometry){0, 0, W, H, 0, 0, W, H};
  r->frame = (struct frame){.format = PIXEL_RGBA, .width = W, .height = H, .plane = {r->pixels}, .pitch = {4 * W}};
}

struct rig *rig_begin(void) {
  struct rig *r = calloc(1, sizeof *r);
  plan_init(&r->plan, &r->resources);
  return r;
}

void rig_prepare(struct rig *r, const char *name) {
  struct error err = {0};
  if (plan_finish(&r->plan, &err) < 0 ||
      device_open(&r->device, &r->resources, &(struct device_options){.name = name, .pictures = HELD}, &err) < 0 ||
      device_prepare(r->device, &r->program, &r->plan, &(struct program_options){PIXEL_RGBA}, &err) < 0)
    fail_msg("%s", err.message);
}

struct rig *rig_open(const char *name) {
  struct rig *r = rig_begin();
  rig_plan(r);
  rig_prepare(r, name);
  return r;
}

void rig_close(struct rig *r) {
  device_release(r->device, &r->program);
  device_close(&r->device);
  plan_free(&r->plan);
  resources_free(&r->resources);
  free(r);
}
