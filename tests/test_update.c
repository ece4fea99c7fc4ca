/* Tests weights that change while programs exist: every copy in another layout that the device keeps is changed, all at
 * once.
 *
 *   test_update DEVICE       skipped where there is no such device */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/cmocka_all.h"
#include "tests/rigs/device_there.h"
#include "unet/devices.h"

enum { SIDE = 32, LAYERS = 13 };

static const char *device_name;

/* Layers of every kind: convolutions with few and many channels, linear layers whole and split in halves, two with
 * residuals that a device may do as one ("inner" and "last"), vectors. */
struct layer {
  const char *name;
  int rows, kernel, inputs; /* inputs: 0 for a vector */
};
static const struct layer layers[LAYERS] = {
    {"first", 32, 3, 3},     {"first bias", 32, 0, 0}, {"middle", 32, 3, 32},  {"middle bias", 32, 0, 0},
    {"gamma", 32, 0, 0},     {"wide", 64, 3, 32},      {"halves", 128, 1, 64}, {"halves bias", 128, 0, 0},
    {"last", 24, 1, 64},     {"last bias", 24, 0, 0},  {"side", 24, 1, 64},    {"inner", 64, 1, 64},
    {"inner bias", 64, 0, 0}};

struct net {
  struct resources resources;
  struct plan plan;
  struct tensor x, y, weight[LAYERS];
  float *values[LAYERS]; /* values in the checkpoint's order: [rows][inputs][kernel][kernel] */
  struct device *device;
  struct program *program;
  struct error err;
};

static void must(const struct net *net, int status) {
  if (status < 0)
    fail_msg("%s", net->err.message);
}

static size_t row_of(const struct layer *layer) {
  return layer->inputs ? (size_t)layer->inputs * (size_t)layer->kernel * (size_t)layer->kernel : 1;
}

static size_t count_of(int layer) {
  return (size_t)layers[layer].rows * row_of(&layers[layer]);
}

/* Returns a weight's value in a generation: small steps that FP16 and bfloat16 hold exactly. */
static float value(int layer, size_t i, int generation) {
  unsigned hash = ((unsigned)i * 2654435761u) ^ ((unsigned)layer * 40503u) ^ ((unsigned)generation * 977u);
  hash ^= hash >> 15;
  return (float)((int)(hash % 65) - 32) / 256;
}

static void fill(struct net *net, int layer, int generation) {
  for (size_t i = 0; i < count_of(layer); i++)
    net->values[layer][i] = value(layer, i, generation);
}

static struct tensor add_weight(struct net *net, int layer) {
  const struct layer *l = &layers[layer];
  struct weight_part part = {.data = net->values[layer], .dtype = DTYPE_F32, .rows = l->rows, .name = l->name};
  bool matrix = l->inputs > 0;
  return resources_weight(&net->resources, l->name, matrix ? l->rows : 1, matrix ? l->kernel : 1,
                          matrix ? l->kernel : 1, matrix ? l->inputs : l->rows, &part, 1, &net->err);
}

static void build(struct net *net) {
  struct plan *plan = &net->plan;
  plan_init(plan, &net->resources);
  for (int i = 0; i < LAYERS; i++)
    net->weight[i] = add_weight(net, i);
  const struct tensor *w = net->weight;
  net->x = plan_input(plan, 1, SIDE, SIDE, 3, ELEMENT_DEVICE);
  struct tensor x =
      plan_conv(plan, "first", (struct op_conv){.x = net->x, .weight = w[0], .bias = w[1], .stride = 1, .pad = 1});
  struct prologue norm = {.norm = NORM_GROUP, .groups = 8, .eps = 1e-5f, .gamma = w[4]};
  x = plan_conv(plan, "middle",
                (struct op_conv){.x = x, .weight = w[2], .bias = w[3], .prologue = norm, .stride = 1, .pad = 1});
  x = plan_conv(plan, "wide", (struct op_conv){.x = x, .weight = w[5], .stride = 2, .pad = 1});
  x = plan_linear(plan, "halves", (struct op_linear){.x = x, .weight = w[6], .bias = w[7], .act = ACT_GEGLU});
  struct tensor side = plan_linear(plan, "side", (struct op_linear){.x = x, .weight = w[10]});
  x = plan_linear(plan, "inner", (struct op_linear){.x = x, .weight = w[11], .bias = w[12], .residual = x});
  net->y = plan_linear(plan, "last", (struct op_linear){.x = x, .weight = w[8], .bias = w[9], .residual = side});
  must(net, plan_finish(plan, &net->err));
}

static void write_input(struct net *net) {
  float pixels[SIDE * SIDE * 3];
  for (size_t i = 0; i < SIDE * SIDE * 3; i++)
    pixels[i] = value(99, i, 0) * 4;
  must(net, device_write(net->device, net->program, net->x, 0, pixels, SIDE * SIDE * 3, &net->err));
}

static void open_device(struct net *net) {
  must(net, device_open(&net->device, &net->resources, &(struct device_options){.name = device_name}, &net->err));
  must(net, device_prepare(net->device, &net->program, &net->plan, &(struct program_options){PIXEL_RGBA}, &net->err));
  write_input(net);
}

/* generation: that of each layer's weights; NULL: all 0. */
static struct net *net_make(const int generation[LAYERS]) {
  struct net *net = calloc(1, sizeof *net);
  assert_non_null(net);
  for (int i = 0; i < LAYERS; i++) {
    net->values[i] = malloc(count_of(i) * sizeof(float));
    assert_non_null(net->values[i]);
    fill(net, i, generation ? generation[i] : 0);
  }
  build(net);
  return net;
}

static struct net *net_open(const int generation[LAYERS]) {
  struct net *net = net_make(generation);
  open_device(net);
  return net;
}

static void net_close(struct net *net) {
  device_release(net->device, &net->program);
  device_close(&net->device);
  plan_free(&net->plan);
  resources_free(&net->resources);
  for (int i = 0; i < LAYERS; i++)
    free(net->values[i]);
  free(net);
}

/* Runs the plan and returns the outputs, which the caller frees. */
static float *run(struct net *net) {
  float *out = malloc(tensor_elements(net->y) * sizeof *out);
  assert_non_null(out);
  must(net, device_run(net->device, net->program, &(struct run_params){0}, &net->err));
  must(net, device_read(net->device, net->program, net->y, 0, out, tensor_elements(net->y), &net->err));
  return out;
}

/* Returns the rows of a generation in device order: [rows][kernel][kernel][inputs]; the caller frees them. */
static float *turned(int layer, int generation) {
  const struct layer *l = &layers[layer];
  float *out = malloc(count_of(layer) * sizeof *out);
  assert_non_null(out);
  size_t row = row_of(l), taps = l->inputs ? (size_t)l->kernel * (size_t)l->kernel : 1, channels = row / taps;
  for (size_t i = 0; i < count_of(layer); i++) {
    size_t channel = i % channels, tap = i / channels % taps;
    out[i] = value(layer, i / row * row + channel * taps + tap, generation);
  }
  return out;
}

/* Checks that the outputs equal those of a device that was opened with these weights. */
static void assert_fresh_agrees(struct net *net, const int generation[LAYERS]) {
  struct net *fresh = net_open(generation);
  float *ours = run(net), *theirs = run(fresh);
  assert_memory_equal(ours, theirs, tensor_elements(net->y) * sizeof *ours);
  free(ours);
  free(theirs);
  net_close(fresh);
}

static void update_layers(struct net *net, const int generation[LAYERS]) {
  struct weight_change changes[LAYERS];
  float *values[LAYERS];
  int count = 0;
  for (int i = 0; i < LAYERS; i++)
    if (generation[i]) {
      values[count] = turned(i, generation[i]);
      changes[count] = (struct weight_change){net->weight[i].index, 0, (size_t)layers[i].rows, values[count]};
      count++;
    }
  must(net, device_update(net->device, changes, count, &net->err));
  for (int i = 0; i < count; i++) { /* the call has copied the values */
    memset(values[i], 0, 4);
    free(values[i]);
  }
}

/* --- tests --- */

static void each_layer_alone(void **state) {
  (void)state;
  for (int i = 0; i < LAYERS; i++) {
    int generation[LAYERS] = {0};
    generation[i] = 1;
    struct net *net = net_open(NULL);
    float *before = run(net);
    update_layers(net, generation);
    float *after = run(net);
    if (!memcmp(before, after, tensor_elements(net->y) * sizeof *before))
      fail_msg("%s was changed and nothing came of it", layers[i].name);
    free(before);
    free(after);
    assert_fresh_agrees(net, generation);
    assert_int_equal(net->resources.list[net->weight[i].index].version, 1);
    net_close(net);
  }
}

static void all_layers_and_back(void **state) {
  (void)state;
  struct net *net = net_open(NULL);
  static const int all[LAYERS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
                   later[LAYERS] = {2, 0, 2, 0, 0, 0, 2, 2, 0, 0, 0, 2, 0},
                   mixed[LAYERS] = {2, 1, 2, 1, 1, 1, 2, 2, 1, 1, 1, 2, 1};
  update_layers(net, all);
  assert_fresh_agrees(net, all);
  update_layers(net, later);
  assert_fresh_agrees(net, mixed);
  assert_int_equal(plan_weights_version(&net->plan), 2);
  net_close(net);
}

/* A program that is prepared after a change uses the new weights, whether copies in its layouts exist already or
 * not. */
static void a_program_prepared_later(void **state) {
  (void)state;
  static const int all[LAYERS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  for (int prepared = 0; prepared < 2; prepared++) {
    struct net *net = net_make(NULL);
    must(net, device_open(&net->device, &net->resources, &(struct device_options){.name = device_name}, &net->err));
    if (prepared)
      must(net,
           device_prepare(net->device, &net->program, &net->plan, &(struct program_options){PIXEL_RGBA}, &net->err));
    update_layers(net, all);
    device_release(net->device, &net->program);
    must(net, device_prepare(net->device, &net->program, &net->plan, &(struct program_options){PIXEL_RGBA}, &net->err));
    write_input(net);
    assert_fresh_agrees(net, all);
    net_close(net);
  }
}

/* Some rows of four layers change; all other rows stay. */
static void some_rows(void **state) {
  (void)state;
  struct net *net = net_open(NULL), *fresh;
  static const int changed[] = {0, 2, 6, 7};
  struct weight_change changes[4];
  float *values[4];
  for (int i = 0; i < 4; i++) {
    int layer = changed[i];
    values[i] = turned(layer, 1);
    changes[i] = (struct weight_change){net->weight[layer].index, 5, 7, values[i] + 5 * row_of(&layers[layer])};
  }
  must(net, device_update(net->device, changes, 4, &net->err));
  float *ours = run(net);
  fresh = net_make(NULL);
  for (int i = 0; i < 4; i++) {
    int layer = changed[i];
    size_t row = row_of(&layers[layer]);
    for (size_t j = 5 * row; j < 12 * row; j++)
      fresh->values[layer][j] = value(layer, j, 1);
    free(values[i]);
  }
  open_device(fresh);
  float *theirs = run(fresh);
  assert_memory_equal(ours, theirs, tensor_elements(net->y) * sizeof *ours);
  free(ours);
  free(theirs);
  net_close(net);
  net_close(fresh);
}

/* A run that was submitted before the change does not use the new weights, however late it is collected. */
static void runs_see_all_or_nothing(void **state) {
  (void)state;
  enum { RUNS = 20 };
  struct net *net = net_open(NULL);
  size_t bytes = tensor_elements(net->y) * sizeof(float);
  float *expected[2], *seen = malloc(bytes);
  int generation[2][LAYERS];
  assert_non_null(seen);
  for (int i = 0; i < 2; i++) {
    for (int j = 0; j < LAYERS; j++)
      generation[i][j] = 1 + i;
    struct net *fresh = net_open(generation[i]);
    expected[i] = run(fresh);
    net_close(fresh);
  }
  update_layers(net, generation[0]);
  for (int i = 0; i < RUNS; i++) {
    must(net, device_submit(net->device, net->program, &(struct run_params){0}, NULL, &net->err));
    if (i % 2)
      update_layers(net, generation[(i / 2 + 1) % 2]);
    must(net, device_collect(net->device, net->program, NULL, &net->err));
    must(net, device_read(net->device, net->program, net->y, 0, seen, tensor_elements(net->y), &net->err));
    assert_memory_equal(seen, expected[i / 2 % 2], bytes);
  }
  free(expected[0]);
  free(expected[1]);
  free(seen);
  net_close(net);
}

static void expect_refused(struct net *net, struct weight_change change, const char *what) {
  struct weight_change both[2] = {{net->weight[3].index, 0, 4, net->values[2]}, change};
  assert_int_equal(device_update(net->device, both, 2, &net->err), -1);
  if (!strstr(net->err.message, what))
    fail_msg("'%s' does not mention '%s'", net->err.message, what);
}

static void refusals_change_nothing(void **state) {
  (void)state;
  struct net *net = net_open(NULL);
  float *values = turned(0, 1), *before = run(net);
  expect_refused(net, (struct weight_change){-1, 0, 1, values}, "no weight");
  expect_refused(net, (struct weight_change){LAYERS, 0, 1, values}, "no weight");
  expect_refused(net, (struct weight_change){net->weight[0].index, 30, 3, values}, "rows 30 to 33 of first");
  expect_refused(net, (struct weight_change){net->weight[3].index, 3, 2, values}, "same rows");
  values[40] = NAN;
  expect_refused(net, (struct weight_change){net->weight[0].index, 0, 32, values}, "value 13 of row 1");
  assert_int_equal(device_write(net->device, NULL, net->weight[0], 0, values, 1, &net->err), -1);
  assert_int_equal(net->resources.version, 0);
  float *after = run(net);
  assert_memory_equal(before, after, tensor_elements(net->y) * sizeof *before);
  free(values);
  free(before);
  free(after);
  net_close(net);
}

int main(int argc, char **argv) {
  device_name = argc > 1 ? argv[1] : "cpu";
  if (!device_is_there(&(struct device_options){.name = device_name}))
    return DEVICE_MISSING;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_layer_alone),         cmocka_unit_test(all_layers_and_back),
      cmocka_unit_test(a_program_prepared_later), cmocka_unit_test(some_rows),
      cmocka_unit_test(runs_see_all_or_nothing),  cmocka_unit_test(refusals_change_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
