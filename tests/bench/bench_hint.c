/* Prints for each hint layer of a ControlNet (the layers that read its map) on the CUDA device which kernel was chosen
 * and its time alone, then the time of all layers in a row. No test depends on these times.
 *
 *   bench_hint [SIZE]   the map has SIZE x SIZE pixels, without SIZE 512 x 512 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda/program.h"
#include "cuda/timing.h"
#include "unet/devices.h"

#include "tests/rigs/op_test.h"

enum { SKIPPED = 77 };

static const struct layer {
  int out, stride;
} layers[] = {{16, 1}, {16, 1}, {32, 2}, {32, 1}, {96, 2}, {96, 1}, {256, 2}, {320, 1}};
enum { LAYERS = sizeof layers / sizeof layers[0] };

static void build(struct op_test *t, int size) {
  struct tensor x = test_input(t, 1, size, size, 3, ELEMENT_DEVICE, FILL_NORMAL);
  for (int i = 0; i < LAYERS; i++) {
    struct op_conv op = {.x = x, .stride = layers[i].stride, .pad = 1, .act = i < LAYERS - 1 ? ACT_SILU : ACT_NONE};
    op.weight = test_weight(t, layers[i].out, 3, x.c);
    op.bias = test_vector(t, layers[i].out, 0);
    x = plan_conv(&t->plan, "conv", op);
  }
  test_output(t, x);
}

static double microseconds(struct cuda_device *device, const struct launches *launches) {
  bool disturbed;
  return 1e6 * launches_time(device, &device->queue, launches, INFINITY, &disturbed);
}

static void print_times(struct cuda_device *device, const struct plan *plan, const struct launches *launches) {
  double sum = 0;
  for (int i = 0; i < launches->count; i++) {
    struct launch *launch = &launches->list[i];
    const struct op_conv *conv = &plan->ops[launch->op].conv;
    char way[96];
    launch_describe(launch, way, sizeof way);
    double us = microseconds(device, &(struct launches){.list = launch, .count = 1});
    printf("%3d to %3d at %3dx%-3d stride %d  %-24s %7.2f us\n", conv->x.c, conv->weight.n, conv->x.h, conv->x.w,
           conv->stride, way, us);
    sum += us;
  }
  printf("sum %.1f us, in a row %.1f us\n", sum, microseconds(device, launches));
}

int main(int argc, char **argv) {
  static struct op_test t = {.random = 7, .dtype = DTYPE_F16};
  struct device_options options = {.name = "cuda"};
  struct device *device = NULL;
  struct program *program = NULL;
  struct error err;
  int status = SKIPPED;
  plan_init(&t.plan, &t.resources);
  build(&t, argc > 1 ? atoi(argv[1]) : 512);
  if (plan_finish(&t.plan, &err) < 0 || device_open(&device, &t.resources, &options, &err) < 0)
    goto end;
  status = 1;
  cuda_device(device)->tune_always = true;
  if (device_prepare(device, &program, &t.plan, &(struct program_options){0}, &err) < 0)
    goto end;
  print_times(cuda_device(device), &t.plan, &cuda_program(program)->launches);
  status = 0;
end:
  if (status)
    printf("%s: %s\n", status == SKIPPED ? "skipped" : "failed", err.message);
  device_release(device, &program);
  device_close(&device);
  op_test_free(&t);
  return status;
}
