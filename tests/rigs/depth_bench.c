#include "tests/rigs/depth_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/cmocka_all.h"
#include "tests/rigs/rig.h"
#include "unet/devices.h"
#include "unet/model/depth.h"

const char *goldens, *device_name = "cpu";

void bench_open(struct bench *b, const char *folder) {
  *b = (struct bench){0};
  if (golden_open(&b->golden, goldens, "depth") < 0)
    fail_msg("%s", b->golden.missing);
  must(depth_open(&b->depth, folder ? folder : b->golden.folder, &b->err), &b->err);
  must(device_open(&b->device, &b->resources, &(struct device_options){.name = device_name, .threads = 2}, &b->err),
       &b->err);
  plan_init(&b->plan, &b->resources);
}

void bench_close(struct bench *b) {
  device_release(b->device, &b->program);
  device_close(&b->device);
  plan_free(&b->plan);
  resources_free(&b->resources);
  depth_close(&b->depth);
  golden_close(&b->golden);
}

void prepare(struct bench *b) {
  must(plan_finish(&b->plan, &b->err), &b->err);
  must(device_prepare(b->device, &b->program, &b->plan, &(struct program_options){PIXEL_RGBA}, &b->err), &b->err);
  must(device_poison(b->device, b->program, &b->err), &b->err);
}

double bound_of(struct bench *b, const char *name) {
  struct device_info info;
  device_get_info(b->device, &info);
  double half = json_number(cJSON_GetObjectItemCaseSensitive(b->golden.json, "half"), name, 0);
  return info.element == DTYPE_F32 ? 1e-5 : (strstr(name, ".depth") ? 4 : 2) * (half > 0 ? half : 0x1p-11);
}

void compare(struct bench *b, const char *name, struct tensor t, size_t skip, size_t step) {
  struct values expected = golden_values(&b->golden, "%s", name);
  size_t count = tensor_elements(t);
  float *got = malloc(count * sizeof *got);
  must(device_read(b->device, b->program, t, 0, got, count, &b->err), &b->err);
  assert_true((expected.count - 1) * step + skip < count);
  for (size_t i = 0; i < expected.count; i++)
    got[i] = got[skip + i * step];
  double error = relative_error(got, expected.data, expected.count), bound = bound_of(b, name);
  print_message("  %s: relative error %.2g, bound %.2g\n", name, error, bound);
  if (!(error <= bound))
    fail_msg("%s: relative error %.3g, bound %.3g", name, error, bound);
  free(got);
  free(expected.data);
}

struct tensor picture_input(struct bench *b, const char *name, struct values *picture) {
  *picture = strcmp(name, "wide") ? golden_values(&b->golden, "%s.picture", name) : golden_values(&b->golden, "input");
  for (size_t i = 0; i < picture->count; i++)
    picture->data[i] = picture->data[i] / 127.5f - 1;
  return plan_input(&b->plan, 1, picture->shape[1], picture->shape[2], 3, ELEMENT_DEVICE);
}

void run_picture(struct bench *b, struct tensor x, struct values *picture) {
  struct run_params run = {0};
  must(device_write(b->device, b->program, x, 0, picture->data, picture->count, &b->err), &b->err);
  must(device_run(b->device, b->program, &run, &b->err), &b->err);
  free(picture->data);
}

void check_picture(const char *folder, const char *name) {
  struct bench bench, *b = &bench;
  struct values picture;
  char golden[64];
  bench_open(b, folder);
  struct tensor x = picture_input(b, name, &picture);
  struct tensor depth = depth_predict(b->depth, &b->plan, x, 0.5f, 0.5f);
  prepare(b);
  run_picture(b, x, &picture);
  snprintf(golden, sizeof golden, "%s.depth", name);
  compare(b, golden, depth, 0, 1);
  device_release(b->device, &b->program);
  plan_free(&b->plan);
  plan_init(&b->plan, &b->resources);
  x = picture_input(b, name, &picture);
  struct tensor map = depth_map(b->depth, &b->plan, x, 0.5f, 0.5f, 2, (struct tensor){0});
  prepare(b);
  run_picture(b, x, &picture);
  snprintf(golden, sizeof golden, "%s.map", name);
  compare(b, golden, map, 0, 3);
  compare(b, golden, map, 2, 3);
  bench_close(b);
}

bool has_this_device(void) {
  struct resources resources = {0};
  struct device *device = NULL;
  struct error err = {0};
  int status = device_open(&device, &resources, &(struct device_options){.name = device_name}, &err);
  if (status < 0)
    fprintf(stderr, "%s\n", err.message);
  device_close(&device);
  resources_free(&resources);
  return status == 0;
}
