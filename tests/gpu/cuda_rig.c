#include "tests/gpu/cuda_rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/cmocka_all.h"
#include "cuda/cuda_device.h"
#include "cuda/ways/tuner.h"
#include "unet/base/picture.h"
#include "unet/devices.h"

static float next_value(struct net *net) {
  net->random = net->random * 1664525u + 1013904223u;
  return (float)(net->random >> 8) / (float)(1 << 23) - 1;
}

static struct tensor weight(struct net *net, int out, int k, int in) {
  char name[16];
  size_t count = (size_t)out * (size_t)k * (size_t)k * (size_t)in;
  float *data = malloc(count * sizeof *data);
  assert_non_null(data);
  net->weights[net->weight_count++] = data;
  for (size_t i = 0; i < count; i++)
    data[i] = next_value(net) * 1.7f / sqrtf((float)(k * k * in));
  snprintf(name, sizeof name, "w%d", net->weight_count);
  struct weight_part part = {data, DTYPE_F32, out};
  return resources_weight(&net->resources, name, out, k, k, in, &part, 1, NULL);
}

static struct tensor conv(struct net *net, struct tensor x, int out, enum activation act, struct tensor residual) {
  struct op_conv op = {.x = x, .weight = weight(net, out, 3, x.c), .stride = 1, .pad = 1, .act = act};
  op.residual = residual;
  if (x.c > 3)
    op.prologue = (struct prologue){.norm = NORM_GROUP, .act = ACT_SILU, .groups = 8, .eps = 1e-5f};
  return plan_conv(&net->plan, "conv", op);
}

void net_init(struct net *net) {
  struct error err;
  struct tensor none = {0};
  *net = (struct net){.random = 1};
  plan_init(&net->plan, &net->resources);
  struct tensor pixels =
      plan_pixels_in(&net->plan, "in", (struct op_pixels_in){.scale = 1, .y = {.h = SIDE, .w = SIDE}});
  struct tensor x = conv(net, pixels, 32, ACT_RELU, none);
  x = conv(net, x, 32, ACT_RELU, x);
  x = conv(net, x, 320, ACT_NONE, none);
  struct tensor w = weight(net, 960, 1, 320);
  struct tensor qkv = plan_linear(&net->plan, "qkv", (struct op_linear){.x = x, .weight = w});
  x = plan_attention(&net->plan, "attention",
                     (struct op_attention){.q = tensor_channels(qkv, 0, 320),
                                           .k = tensor_channels(qkv, 320, 320),
                                           .v = tensor_channels(qkv, 640, 320),
                                           .heads = 5,
                                           .scale = 0.125f});
  x = conv(net, x, 3, ACT_NONE, none);
  plan_pixels_out(&net->plan, "out",
                  (struct op_pixels_out){.scale = 1, .bias = 0.5f, .x = x, .input = pixels, .input_scale = 1});
  assert_int_equal(plan_finish(&net->plan, &err), 0);
}

void net_free(struct net *net) {
  plan_free(&net->plan);
  resources_free(&net->resources);
  for (int i = 0; i < net->weight_count; i++)
    free(net->weights[i]);
}

uint8_t source[SIDE * SIDE * 4];

struct frame make_frame(int number) {
  for (int i = 0; i < SIDE * SIDE * 4; i++)
    source[i] = (uint8_t)((i * 31 + number * 97) ^ (i >> 7));
  return (struct frame){.format = PIXEL_BGRA, .width = SIDE, .height = SIDE, .plane = {source}, .pitch = {SIDE * 4}};
}

void must(const struct rig *rig, int status) {
  if (status < 0)
    fail_msg("%s", rig->err.message);
}

void rig_open(struct rig *rig, const struct device_options *options) {
  net_init(&rig->net);
  rig->program = NULL;
  must(rig, device_open(&rig->device, &rig->net.resources, options, &rig->err));
  must(rig,
       device_prepare(rig->device, &rig->program, &rig->net.plan, &(struct program_options){PIXEL_RGBA}, &rig->err));
}

void rig_close(struct rig *rig) {
  device_release(rig->device, &rig->program);
  device_close(&rig->device);
  net_free(&rig->net);
}

void submit(struct rig *rig, int number) {
  struct frame frame = make_frame(number);
  must(rig, device_submit(rig->device, rig->program, &params, &frame, &rig->err));
  memset(source, 0, sizeof source); /* the device has read the frame, so its memory can be reused */
}

void collect(struct rig *rig, uint8_t *out) {
  struct frame picture;
  must(rig, device_collect(rig->device, rig->program, &picture, &rig->err));
  for (int y = 0; y < SIDE; y++)
    memcpy(out + (size_t)y * SIDE * 4, picture.plane[0] + (long)y * picture.pitch[0], SIDE * 4);
  frame_release(&picture);
}

void one_frame(struct rig *rig, int number, uint8_t *out) {
  submit(rig, number);
  collect(rig, out);
}

void assert_one_line(const struct error *err, const char *what) {
  assert_int_equal(err->status, STATUS_DEVICE);
  assert_non_null(strstr(err->message, what));
  assert_null(strchr(err->message, '\n'));
}

static int check_without_gpu(const struct error *refusal) {
  struct resources resources = {0};
  struct device *device;
  struct device_info info;
  struct error err = {0};
  printf("skipped: %s\n", refusal->message);
  if (refusal->status != STATUS_DEVICE || strncmp(refusal->message, "cuda: ", 6) || strchr(refusal->message, '\n'))
    return 1;
  if (device_open(&device, &resources, &(struct device_options){.name = "auto"}, &err) < 0)
    return 1;
  device_get_info(device, &info);
  device_close(&device);
  return info.depth > 1 ? 1 : SKIPPED;
}

int look_for_gpu(void) {
  struct resources resources = {0};
  struct device *device;
  struct error err = {0};
  if (device_open(&device, &resources, &(struct device_options){.name = "cuda"}, &err) < 0)
    return check_without_gpu(&err);
  device_close(&device);
  return 0;
}
