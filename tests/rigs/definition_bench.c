#include "tests/rigs/definition_bench.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unet/base/picture.h"
#include "unet/devices.h"

struct bench begin(void) {
  return (struct bench){.params.mix = 1};
}

struct tensor give(struct bench *b, struct tensor t, const float *data) {
  b->inputs[b->input_count].tensor = t;
  b->inputs[b->input_count++].data = data;
  return t;
}

struct tensor input(struct bench *b, int h, int w, int c, const float *data) {
  b->plan.resources = &b->resources;
  return give(b, plan_input(&b->plan, 1, h, w, c, ELEMENT_DEVICE), data);
}

struct tensor weight(struct bench *b, const char *name, int out, int k, int in, const float *data) {
  struct error err = {0};
  bool vector = k == 0;
  struct weight_part part = {data, DTYPE_F32, out};
  struct tensor t = vector ? resources_weight(&b->resources, name, 1, 1, 1, out, &part, 1, &err)
                           : resources_weight(&b->resources, name, out, k, k, in, &part, 1, &err);
  assert_true(tensor_exists(t));
  return t;
}

struct tensor vector(struct bench *b, const char *name, int c, const float *data) {
  return weight(b, name, c, 0, 0, data);
}

void prepare(struct bench *b, enum pixel_format output) {
  struct error err = {0};
  b->plan.resources = &b->resources;
  if (plan_finish(&b->plan, &err) < 0 ||
      device_open(&b->device, &b->resources, &(struct device_options){.name = "cpu:plain"}, &err) < 0 ||
      device_prepare(b->device, &b->program, &b->plan, &(struct program_options){output}, &err) < 0 ||
      device_poison(b->device, b->program, &err) < 0)
    fail_msg("%s", err.message);
  for (int i = 0; i < b->input_count; i++)
    assert_int_equal(device_write(b->device, b->program, b->inputs[i].tensor, 0, b->inputs[i].data,
                                  tensor_elements(b->inputs[i].tensor), &err),
                     0);
}

void run(struct bench *b, const struct frame *frame, struct frame *picture) {
  struct error err = {0};
  if (device_submit(b->device, b->program, &b->params, frame, &err) < 0 ||
      device_collect(b->device, b->program, picture, &err) < 0)
    fail_msg("%s", err.message);
}

void finish(struct bench *b) {
  device_release(b->device, &b->program);
  device_close(&b->device);
  plan_free(&b->plan);
  resources_free(&b->resources);
}

void expect(struct bench *b, struct tensor y, const float *expected, double tolerance) {
  struct error err = {0};
  size_t count = tensor_elements(y);
  float *values = malloc(count * sizeof *values);
  prepare(b, PIXEL_RGBA);
  run(b, NULL, NULL);
  assert_int_equal(device_read(b->device, b->program, y, 0, values, count, &err), 0);
  for (size_t i = 0; i < count; i++)
    if (!(fabs((double)values[i] - (double)expected[i]) <= tolerance))
      fail_msg("element %zu is %.9g, not %.9g", i, (double)values[i], (double)expected[i]);
  free(values);
  finish(b);
}
