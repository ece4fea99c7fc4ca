/* Times the ops at the sizes of our networks: bench_ops [DEVICE [THREADS [bf16 [PREFIX]]]]. PREFIX selects the ops that
 * have names beginning with it. Each op is a plan of its own, and the times are those of whole runs. The last column is
 * what the device measured itself. No test depends on these times. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "unet/devices.h"

#include "tests/rigs/op_test.h"

enum { RUNS_MAX = 400 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  const double *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* --- the ops --- */

struct shape {
  const char *what;
  void (*build)(struct op_test *t, const struct shape *s);
  int n, h, w, c, out; /* n: batch; for maps: how many run in a row */
  int stride;          /* 1 or 2; for attention: number of heads */
  bool up, norm, residual;
};

static void build_conv(struct op_test *t, const struct shape *s) {
  struct op_conv op = {.stride = s->stride, .pad = 1, .upsample = s->up, .act = s->norm ? ACT_NONE : ACT_RELU};
  op.x = test_input(t, s->n, s->h, s->w, s->c, ELEMENT_DEVICE, FILL_NORMAL);
  op.weight = test_weight(t, s->out, 3, s->c);
  op.bias = test_vector(t, s->out, 0);
  if (s->norm)
    op.prologue = (struct prologue){.norm = NORM_GROUP, .act = ACT_SILU, .groups = 32, .eps = 1e-5f};
  if (s->residual) /* the residual is written by an op, so that the convolution may add to it in place */
    op.residual =
        plan_norm(&t->plan, "residual",
                  (struct op_norm){.x = test_input(t, s->n, s->h, s->w, s->out, ELEMENT_DEVICE, FILL_NORMAL)});
  plan_conv(&t->plan, "conv", op);
}

static void build_linear(struct op_test *t, const struct shape *s) {
  struct op_linear op = {.act = s->up ? ACT_GEGLU : ACT_NONE};
  op.x = test_input(t, s->n, s->h, s->w, s->c, ELEMENT_DEVICE, FILL_NORMAL);
  op.weight = test_weight(t, s->out, 1, s->c);
  op.bias = test_vector(t, s->out, 0);
  if (s->norm)
    op.prologue = (struct prologue){.norm = NORM_LAYER, .eps = 1e-5f};
  plan_linear(&t->plan, "linear", op);
}

static void build_norm(struct op_test *t, const struct shape *s) {
  struct op_norm op = {.x = test_input(t, s->n, s->h, s->w, s->c, ELEMENT_DEVICE, FILL_NORMAL)};
  op.prologue = (struct prologue){.norm = s->up ? NORM_LAYER : NORM_GROUP, .groups = 32, .eps = 1e-5f};
  op.prologue.act = s->up ? ACT_NONE : ACT_SILU;
  plan_norm(&t->plan, "norm", op);
}

/* Builds self-attention, or attention to s->out keys where that is not 0. */
static void build_attention(struct op_test *t, const struct shape *s) {
  struct op_attention op = {.heads = s->stride, .scale = 1 / sqrtf((float)s->c / (float)s->stride)};
  op.q = test_input(t, s->n, s->h, s->w, s->c, ELEMENT_DEVICE, FILL_NORMAL);
  op.k = op.v = op.q;
  if (s->out)
    op.k = op.v = test_input(t, s->n, 1, s->out, s->c, ELEMENT_DEVICE, FILL_NORMAL);
  plan_attention(&t->plan, "attention", op);
}

static void build_pixels_in(struct op_test *t, const struct shape *s) {
  test_frame(t, PIXEL_NV12, s->c, s->out, true);
  t->params.geometry[0] = (struct geometry){0, 0, (float)s->c, (float)s->out, 0, 0, s->w, s->h};
  plan_pixels_in(&t->plan, "in", (struct op_pixels_in){.scale = 1, .y = {.h = s->h, .w = s->w}});
}

static void build_pixels_out(struct op_test *t, const struct shape *s) {
  t->output = s->up ? PIXEL_YUV420P : PIXEL_RGBA;
  plan_pixels_out(
      &t->plan, "out",
      (struct op_pixels_out){.scale = 1, .x = test_input(t, 1, s->h, s->w, 3, ELEMENT_DEVICE, FILL_NORMAL)});
}

/* Builds s->n maps of kind s->c, one after the other, of a picture of smooth hills with edges between them. */
static void build_map(struct op_test *t, const struct shape *s) {
  struct op_map op = {.kind = (enum map_kind)s->c, .scale = 1};
  op.x = test_input(t, 1, s->h, s->w, 3, ELEMENT_DEVICE, FILL_NORMAL);
  float *data = t->operands[t->operand_count - 1].data;
  for (int i = 0; i < 3 * s->h * s->w; i++) {
    float x = (float)(i / 3 % s->w), y = (float)(i / 3 / s->w), hills = sinf(x / 19) * cosf(y / 17) + 0.1f * data[i];
    data[i] = 0.5f + (hills > 0.3f ? 0.4f : 0.2f) * hills;
  }
  map_standard(op.kind, t->params.control[0].param);
  for (int i = 0; i < s->n; i++)
    plan_map(&t->plan, map_word(op.kind), op);
}

static const struct shape shapes[] = {
    /* autoencoder of the mini model at 256x256, then at 512x512 */
    {"conv, relu", build_conv, 1, 256, 256, 3, 32, 1},
    {"conv, relu", build_conv, 1, 256, 256, 32, 32, 1},
    {"conv, relu, residual", build_conv, 1, 256, 256, 32, 32, 1, .residual = true},
    {"conv, relu", build_conv, 1, 128, 128, 32, 32, 1},
    {"conv, relu, residual", build_conv, 1, 128, 128, 32, 32, 1, .residual = true},
    {"conv, relu", build_conv, 1, 64, 64, 32, 32, 1},
    {"conv, relu", build_conv, 1, 32, 32, 32, 32, 1},
    {"conv, stride 2", build_conv, 1, 256, 256, 32, 32, 2},
    {"conv after upsampling", build_conv, 1, 128, 128, 32, 32, 1, .up = true},
    {"conv", build_conv, 1, 256, 256, 32, 3, 1},
    {"conv, relu", build_conv, 1, 512, 512, 32, 32, 1},
    {"conv, relu, residual", build_conv, 1, 512, 512, 32, 32, 1, .residual = true},
    {"conv", build_conv, 1, 512, 512, 32, 3, 1},
    /* U-Net of the mini model */
    {"norm, conv", build_conv, 1, 32, 32, 128, 128, 1, .norm = true},
    {"norm, conv", build_conv, 1, 32, 32, 256, 128, 1, .norm = true},
    {"norm, conv", build_conv, 1, 16, 16, 128, 128, 1, .norm = true},
    {"norm, conv", build_conv, 1, 16, 16, 320, 128, 1, .norm = true},
    {"norm, conv", build_conv, 1, 8, 8, 192, 192, 1, .norm = true},
    {"norm, conv", build_conv, 1, 8, 8, 384, 192, 1, .norm = true},
    {"norm, conv", build_conv, 1, 64, 64, 128, 128, 1, .norm = true},
    {"linear", build_linear, 1, 16, 16, 128, 128},
    {"norm, linear", build_linear, 1, 16, 16, 128, 384, .norm = true},
    {"norm, linear, GEGLU", build_linear, 1, 16, 16, 128, 1024, .up = true, .norm = true},
    {"norm, linear, GEGLU", build_linear, 1, 8, 8, 192, 1536, .up = true, .norm = true},
    {"self-attention", build_attention, 1, 16, 16, 128, 0, 2},
    {"self-attention", build_attention, 1, 32, 32, 128, 0, 2},
    {"text attention", build_attention, 1, 16, 16, 128, 77, 2},
    {"group norm, SiLU", build_norm, 1, 32, 32, 128},
    {"layer norm", build_norm, 1, 16, 16, 128, .up = true},
    /* some layers of Stable Diffusion */
    {"norm, conv", build_conv, 1, 64, 64, 320, 320, 1, .norm = true},
    {"norm, conv", build_conv, 1, 16, 16, 1280, 1280, 1, .norm = true},
    {"linear", build_linear, 1, 64, 64, 320, 320},
    {"self-attention", build_attention, 1, 64, 64, 320, 0, 5},
    {"conv, relu", build_conv, 1, 256, 256, 64, 64, 1},
    /* ops that read and write pixels; c and out are the frame's width and height */
    {"pixels in from NV12", build_pixels_in, 1, 256, 256, 1280, 720},
    {"pixels in from NV12", build_pixels_in, 1, 512, 512, 1920, 1080},
    {"pixels out to RGBA", build_pixels_out, 1, 256, 256, 3, 3},
    {"pixels out to YUV420P", build_pixels_out, 1, 512, 512, 3, 3, .up = true},
    /* ops that make maps for control networks; c is the kind of map */
    {"map canny", build_map, 1, 512, 512, MAP_CANNY},
    {"map canny, 11 times", build_map, 11, 512, 512, MAP_CANNY},
    {"map lineart", build_map, 1, 512, 512, MAP_LINEART},
    {"map lineart, 11 times", build_map, 11, 512, 512, MAP_LINEART},
    {"map softedge", build_map, 1, 512, 512, MAP_SOFTEDGE},
    {"map softedge, 11 times", build_map, 11, 512, 512, MAP_SOFTEDGE},
    {"map color", build_map, 1, 512, 512, MAP_COLOR},
    {"map color, 11 times", build_map, 11, 512, 512, MAP_COLOR},
    {"map tile", build_map, 1, 512, 512, MAP_TILE},
    {"map tile, 11 times", build_map, 11, 512, 512, MAP_TILE},
    {"map blur", build_map, 1, 512, 512, MAP_BLUR},
    {"map blur, 11 times", build_map, 11, 512, 512, MAP_BLUR},
    {"map gray", build_map, 1, 512, 512, MAP_GRAY},
    {"map gray, 11 times", build_map, 11, 512, 512, MAP_GRAY},
    {"map mask", build_map, 1, 512, 512, MAP_MASK},
    {"map mask, 11 times", build_map, 11, 512, 512, MAP_MASK},
};

/* --- timing --- */

static int time_runs(const struct op_test *t, struct device *device, struct program *program, double *median,
                     double *least, double *own, struct error *err) {
  double times[RUNS_MAX], owns[RUNS_MAX], start = now();
  struct device_counters counters;
  int count = 0;
  while (count < 5 || (count < RUNS_MAX && now() - start < 0.5)) {
    double before = now();
    if (device_submit(device, program, &t->params, t->frames, err) < 0 ||
        device_collect(device, program, NULL, err) < 0)
      return -1;
    device_get_counters(device, &counters);
    owns[count] = counters.run_ms;
    times[count++] = now() - before;
  }
  qsort(times, (size_t)count, sizeof times[0], ascending);
  *median = times[count / 2];
  qsort(owns, (size_t)count, sizeof owns[0], ascending);
  *least = times[0];
  *own = owns[count / 2];
  return 0;
}

static int bench(const struct shape *s, const struct device_options *options) {
  struct op_test t = {.random = 1, .output = PIXEL_RGBA, .params.mix = 1};
  struct device *device = NULL;
  struct program *program = NULL;
  struct error err = {0};
  double median = 0, least = 0, own = 0, flops = 0;
  plan_init(&t.plan, &t.resources);
  s->build(&t, s);
  int status = plan_finish(&t.plan, &err);
  if (status == 0)
    status = device_open(&device, &t.resources, options, &err);
  if (status == 0)
    status = device_prepare(device, &program, &t.plan, &(struct program_options){t.output}, &err);
  for (int i = 0; status == 0 && i < t.operand_count; i++)
    if (tensor_exists(t.operands[i].tensor))
      status = device_write(device, program, t.operands[i].tensor, 0, t.operands[i].data,
                            tensor_elements(t.operands[i].tensor), &err);
  if (status == 0)
    status = time_runs(&t, device, program, &median, &least, &own, &err);
  for (int i = 0; i < t.plan.op_count; i++)
    flops += op_flops(&t.plan.ops[i]);
  if (status == 0)
    printf("%-22s %4dx%-4d %5d -> %-5d %9.3f %9.3f %9.0f %9.4f\n", s->what, s->h, s->w, s->c, s->out, median * 1e3,
           least * 1e3, flops / median * 1e-9, own);
  else
    printf("%-22s %s\n", s->what, err.message);
  device_release(device, &program);
  device_close(&device);
  op_test_free(&t);
  return status;
}

int main(int argc, char **argv) {
  struct device_options options = {.name = argc > 1 ? argv[1] : "cpu", .threads = argc > 2 ? atoi(argv[2]) : 0};
  int failed = 0;
  options.precision = argc > 3 && !strcmp(argv[3], "bf16") ? PRECISION_BF16 : PRECISION_F32;
  const char *prefix = argc > 4 ? argv[4] : "";
  printf("%-22s %9s %14s %9s %9s %9s %9s\n", "op", "size", "channels", "median ms", "least ms", "GFLOP/s", "own ms");
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
    if (!strncmp(shapes[i].what, prefix, strlen(prefix)))
      failed |= bench(&shapes[i], &options) < 0;
  return failed;
}
