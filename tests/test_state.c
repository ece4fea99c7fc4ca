/* Tests states, which one run writes and the next run reads: a sum, a latent, and a ring of keys and values.
 *
 *   test_state DEVICE [bf16]       skipped where there is no such device */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/cmocka_all.h"
#include "unet/devices.h"

enum { SIDE = 4, C = 16, COUNT = SIDE * SIDE * C, RING = 3, SKIPPED = 77 };

static const char *device_name;
static enum precision precision;

/* The plan: memory += x; latent = latent / 2 + memory; ring[turn] = memory, to which x attends. */
struct net {
  struct resources resources;
  struct plan plan;
  struct tensor x, sum, y, memory, latent, ring;
  struct device *device;
  struct program *program;
  struct run_params params;
  struct error err;
};

static void must(const struct net *net, int status) {
  if (status < 0)
    fail_msg("%s", net->err.message);
}

static struct tensor identity(struct net *net) {
  static float values[C * C];
  for (int i = 0; i < C; i++)
    values[i * C + i] = 1;
  struct weight_part part = {values, DTYPE_F32, C};
  return resources_weight(&net->resources, "identity", C, 1, 1, C, &part, 1, &net->err);
}

static struct tensor append_memory(struct net *net, struct plan *plan, struct tensor x) {
  net->memory = plan_state(plan, "memory", 1, SIDE, SIDE, C, ELEMENT_DEVICE);
  struct op_linear add = {.x = x, .weight = identity(net), .residual = net->memory};
  struct tensor sum = plan_linear(plan, "add", add);
  plan_norm(plan, "keep", (struct op_norm){.x = sum, .y = net->memory});
  return sum;
}

static void build(struct net *net) {
  struct plan *plan = &net->plan;
  plan_init(plan, &net->resources);
  net->x = plan_input(plan, 1, SIDE, SIDE, C, ELEMENT_DEVICE);
  net->sum = append_memory(net, plan, net->x);
  net->latent = plan_state(plan, "latent", 1, SIDE, SIDE, C, ELEMENT_PRECISE);
  plan_step(plan, "step", (struct op_step){.x = net->latent, .model = net->sum});
  net->ring = plan_state(plan, "ring", RING, SIDE, SIDE, C, ELEMENT_DEVICE);
  plan_store_slot(plan, "store", (struct op_store_slot){.x = net->sum, .slots = net->ring, .ring = true});
  struct tensor keys = tensor_joined(net->ring);
  struct op_attention attention = {.q = net->x, .k = keys, .v = keys, .heads = 1, .scale = 0.25f};
  net->y = plan_attention(plan, "attention", attention);
  must(net, plan_finish(plan, &net->err));
  net->params.step[0] = (struct step_params){.x = 0.5f, .model = 1};
}

static struct net *net_open(const char *device) {
  struct net *net = calloc(1, sizeof *net);
  assert_non_null(net);
  build(net);
  must(net, device_open(&net->device, &net->resources, &(struct device_options){.name = device, .precision = precision},
                        &net->err));
  must(net, device_prepare(net->device, &net->program, &net->plan, &(struct program_options){PIXEL_RGBA}, &net->err));
  return net;
}

static void net_close(struct net *net) {
  device_release(net->device, &net->program);
  device_close(&net->device);
  plan_free(&net->plan);
  resources_free(&net->resources);
  free(net);
}

/* Returns an element of a run's input: whole numbers, which every type holds. */
static float input(int run, size_t i) {
  return (float)((int)(i % 7) - 3 + run % 2);
}

static void write_input(struct net *net, struct program *program, int number) {
  float x[COUNT];
  for (size_t i = 0; i < COUNT; i++)
    x[i] = input(number, i);
  must(net, device_write(net->device, program, net->x, 0, x, COUNT, &net->err));
}

static void run(struct net *net, struct program *program, int number) {
  write_input(net, program, number);
  net->params.turn = (unsigned)number;
  must(net, device_run(net->device, program, &net->params, &net->err));
}

static void expect(struct net *net, struct program *program, struct tensor t, size_t first, const float *expected,
                   float bound) {
  float values[COUNT];
  must(net, device_read(net->device, program, t, first, values, COUNT, &net->err));
  for (size_t i = 0; i < COUNT; i++)
    if (!(fabsf(values[i] - expected[i]) <= bound))
      fail_msg("element %zu is %g, not %g", i, (double)values[i], (double)expected[i]);
}

static void a_run_reads_what_the_one_before_left(void **state) {
  (void)state;
  struct net *net = net_open(device_name);
  float memory[COUNT] = {0}, latent[COUNT] = {0}, kept[RING][COUNT] = {{0}};
  expect(net, net->program, net->memory, 0, memory, 0); /* a state is zero at first */
  expect(net, net->program, net->latent, 0, latent, 0);
  for (int number = 0; number < 8; number++) {
    run(net, net->program, number);
    must(net, device_poison(net->device, net->program, &net->err)); /* poisoning does not affect states */
    for (size_t i = 0; i < COUNT; i++) {
      memory[i] += input(number, i);
      latent[i] = latent[i] / 2 + memory[i];
      kept[number % RING][i] = memory[i];
    }
    expect(net, net->program, net->memory, 0, memory, 0);
    expect(net, net->program, net->latent, 0, latent, 0);
    for (int i = 0; i < RING; i++)
      expect(net, net->program, net->ring, (size_t)i * COUNT, kept[i], 0);
  }
  net_close(net);
}

static void attention_reads_the_whole_ring(void **state) {
  (void)state;
  struct net *net = net_open(device_name), *plain;
  float expected[COUNT];
  enum precision own = precision;
  precision = PRECISION_F32;
  plain = net_open("cpu:plain");
  precision = own;
  for (int number = 0; number < RING + 2; number++) {
    run(net, net->program, number);
    run(plain, plain->program, number);
  }
  must(plain, device_read(plain->device, plain->program, plain->y, 0, expected, COUNT, &plain->err));
  expect(net, net->program, net->y, 0, expected, 0.1f);
  net_close(plain);
  net_close(net);
}

static void the_host_reads_and_writes_it(void **state) {
  (void)state;
  struct net *net = net_open(device_name);
  float expected[COUNT];
  for (size_t i = 0; i < COUNT; i++)
    expected[i] = (float)(i % 50);
  must(net, device_write(net->device, net->program, net->memory, 0, expected, COUNT, &net->err));
  expect(net, net->program, net->memory, 0, expected, 0);
  must(net, device_write(net->device, net->program, net->memory, 5, (float[]){-8, 16}, 2, &net->err));
  expected[5] = -8, expected[6] = 16;
  run(net, net->program, 0);
  for (size_t i = 0; i < COUNT; i++)
    expected[i] += input(0, i);
  expect(net, net->program, net->memory, 0, expected, 0);
  struct tensor nowhere = net->memory;
  nowhere.index = net->plan.state_count;
  assert_int_equal(device_read(net->device, net->program, nowhere, 0, expected, 1, &net->err), -1);
  assert_int_equal(device_read(net->device, NULL, net->memory, 0, expected, 1, &net->err), -1);
  net_close(net);
}

static void programs_of_one_plan_have_their_own(void **state) {
  (void)state;
  struct net *net = net_open(device_name);
  struct program *other;
  float first[COUNT] = {0}, second[COUNT] = {0};
  must(net, device_prepare(net->device, &other, &net->plan, &(struct program_options){PIXEL_RGBA}, &net->err));
  for (int number = 0; number < 3; number++) {
    run(net, net->program, number);
    for (size_t i = 0; i < COUNT; i++)
      first[i] += input(number, i);
  }
  run(net, other, 0);
  for (size_t i = 0; i < COUNT; i++)
    second[i] = input(0, i);
  expect(net, net->program, net->memory, 0, first, 0);
  expect(net, other, net->memory, 0, second, 0);
  device_release(net->device, &net->program);
  expect(net, other, net->memory, 0, second, 0);
  net->program = other;
  net_close(net);
}

static void it_is_freed_with_its_program(void **state) {
  (void)state;
  struct net *net = net_open(device_name);
  struct program *other;
  struct device_counters before, during, after;
  device_get_counters(net->device, &before);
  must(net, device_prepare(net->device, &other, &net->plan, &(struct program_options){PIXEL_RGBA}, &net->err));
  device_get_counters(net->device, &during);
  device_release(net->device, &other);
  device_get_counters(net->device, &after);
  assert_true(during.bytes >= before.bytes + (2 + RING) * COUNT * 2);
  assert_int_equal(after.bytes, before.bytes);
  net_close(net);
}

/* A second small program writes a state that the first one reads. */
static void a_program_beside_shares_by_name(void **state) {
  (void)state;
  struct net *net = net_open(device_name);
  struct plan beside;
  struct program *program;
  float x[COUNT], expected[COUNT];
  struct tensor memory = net->memory;
  plan_init(&beside, &net->resources);
  /* an additional state, so that the same state has another index */
  plan_state(&beside, "own", 1, 1, 1, 8, ELEMENT_DEVICE);
  struct tensor ten = plan_input(&beside, 1, SIDE, SIDE, C, ELEMENT_PRECISE);
  struct tensor shared = plan_state(&beside, "latent", 1, SIDE, SIDE, C, ELEMENT_PRECISE);
  plan_store_slot(&beside, "store", (struct op_store_slot){.x = ten, .slots = shared});
  must(net, plan_finish(&beside, &net->err));
  must(net,
       device_prepare(net->device, &program, &beside, &(struct program_options){.owner = net->program}, &net->err));
  for (size_t i = 0; i < COUNT; i++)
    x[i] = 10;
  run(net, net->program, 0);
  /* a temporary value, valid until another program runs */
  must(net, device_write(net->device, program, ten, 0, x, COUNT, &net->err));
  must(net, device_run(net->device, program, &net->params, &net->err));
  run(net, net->program, 1);
  for (size_t i = 0; i < COUNT; i++)
    expected[i] = 5 + input(0, i) + input(1, i);
  expect(net, net->program, net->latent, 0, expected, 0);
  expect(net, program, shared, 0, expected, 0);
  device_release(net->device, &program);
  plan_free(&beside);
  plan_init(&beside, &net->resources);
  plan_state(&beside, "latent", 1, SIDE, SIDE, C, ELEMENT_DEVICE);
  must(net, plan_finish(&beside, &net->err));
  assert_int_equal(
      device_prepare(net->device, &program, &beside, &(struct program_options){.owner = net->program}, &net->err), -1);
  assert_non_null(strstr(net->err.message, "latent"));
  plan_free(&beside);
  net->memory = memory;
  net_close(net);
}

/* On a device in bfloat16, plans with states compute in it like others, and states that need not be precise are stored
 * in it. */
static void bfloat16_reaches_states(void **state) {
  (void)state;
  struct net *net = net_open(device_name);
  const struct element *element = net->program->element;
  struct device_info info;
  device_get_info(net->device, &info);
  assert_int_equal(element[plan_place(&net->plan, net->memory)].type == DTYPE_BF16, precision == PRECISION_BF16);
  assert_int_equal(element[plan_place(&net->plan, net->x)].type == DTYPE_BF16, precision == PRECISION_BF16);
  assert_int_equal(element[plan_place(&net->plan, net->latent)].type, DTYPE_F32);
  assert_int_equal(info.element == DTYPE_BF16, precision == PRECISION_BF16);
  net_close(net);
}

/* Whole numbers are int32 on every device and in every precision: zero at first, exact up to 2^24, rounded and limited
 * to their range. */
static void whole_numbers_are_exact(void **state) {
  (void)state;
  enum { VALUES = 8 };
  const float given[VALUES] = {-8, 16777215, -16777216, 2.5f, -3.5f, 1e30f, -1e30f, 0x1p24f - 3};
  const float expected[VALUES] = {-8, 16777215, -16777216, 2, -4, 0x1p31f, -0x1p31f, 0x1p24f - 3};
  struct net *net = net_open(device_name);
  struct program *program;
  struct plan plan;
  float got[VALUES];
  plan_init(&plan, &net->resources);
  struct tensor whole = plan_state(&plan, "whole", 1, 1, 2, VALUES / 2, ELEMENT_WHOLE);
  struct tensor input = plan_input(&plan, 1, 1, 1, VALUES, ELEMENT_WHOLE);
  must(net, plan_finish(&plan, &net->err));
  must(net, device_prepare(net->device, &program, &plan, &(struct program_options){PIXEL_RGBA}, &net->err));
  assert_int_equal(program->element[plan_place(&plan, whole)].type, DTYPE_I32);
  assert_int_equal(program->element[plan_place(&plan, input)].type, DTYPE_I32);
  must(net, device_read(net->device, program, whole, 0, got, VALUES, &net->err));
  for (int i = 0; i < VALUES; i++)
    assert_true(got[i] == 0);
  must(net, device_write(net->device, program, whole, 0, given, VALUES, &net->err));
  must(net, device_write(net->device, program, input, 0, given, VALUES, &net->err));
  must(net, device_read(net->device, program, whole, 0, got, VALUES, &net->err));
  assert_memory_equal(got, expected, sizeof got);
  must(net, device_read(net->device, program, input, 0, got, VALUES, &net->err));
  assert_memory_equal(got, expected, sizeof got);
  device_release(net->device, &program);
  plan_free(&plan);
  net_close(net);
}

/* --- runs that are executed in parts --- */

static struct {
  const struct device_impl *real;
  struct device_impl impl;
  bool fails;
} wrapped;

static int start_part(struct device *base, struct program *program, const struct run_params *params, int part,
                      bool merged, struct error *err) {
  return wrapped.fails ? error_set(err, STATUS_DEVICE, "no part today")
                       : wrapped.real->start_part(base, program, params, part, merged, err);
}

/* If a run in parts fails, the next run starts from the beginning. Only for the CPU, because single parts do not fail
 * on a GPU. */
static void a_run_that_failed_in_parts_is_begun_anew(void **state) {
  (void)state;
  if (strncmp(device_name, "cpu", 3) != 0)
    skip();
  struct net *net = net_open(device_name);
  struct program *program;
  float expected[COUNT];
  int left = 1;
  wrapped.real = net->device->impl;
  wrapped.impl = *wrapped.real;
  wrapped.impl.start_part = start_part;
  net->device->impl = &wrapped.impl;
  must(net, device_prepare(net->device, &program, &net->plan, &(struct program_options){.parts = net->plan.op_count},
                           &net->err));
  write_input(net, program, 0);
  assert_int_equal(device_start_part(net->device, program, &net->params, false, &net->err), 1);
  wrapped.fails = true;
  assert_int_equal(device_start_part(net->device, program, &net->params, false, &net->err), -1);
  wrapped.fails = false;
  write_input(net, program, 1);
  for (; left; must(net, left))
    left = device_start_part(net->device, program, &net->params, false, &net->err);
  for (size_t i = 0; i < COUNT; i++)
    expected[i] = input(1, i);
  expect(net, program, net->memory, 0, expected, 0);
  device_release(net->device, &program);
  net->device->impl = wrapped.real;
  net_close(net);
}

/* --- whether the device is there, and the list of tests --- */

/* True if the device is there and, if the test asks for it, computes in bfloat16. */
static bool is_there(void) {
  struct net net = {0};
  struct device_info info = {0};
  const struct device_options options = {.name = device_name, .precision = precision};
  bool there = device_open(&net.device, &net.resources, &options, &net.err) == 0;
  if (there)
    device_get_info(net.device, &info);
  device_close(&net.device);
  if (!there)
    printf("skipped: %s\n", net.err.message);
  else if (precision == PRECISION_BF16 && info.element != DTYPE_BF16)
    printf("skipped: no bfloat16 here\n");
  return there && (precision == PRECISION_F32 || info.element == DTYPE_BF16);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_run_reads_what_the_one_before_left),
      cmocka_unit_test(attention_reads_the_whole_ring),
      cmocka_unit_test(the_host_reads_and_writes_it),
      cmocka_unit_test(programs_of_one_plan_have_their_own),
      cmocka_unit_test(it_is_freed_with_its_program),
      cmocka_unit_test(a_program_beside_shares_by_name),
      cmocka_unit_test(a_run_that_failed_in_parts_is_begun_anew),
      cmocka_unit_test(bfloat16_reaches_states),
      cmocka_unit_test(whole_numbers_are_exact),
  };
  device_name = argc > 1 ? argv[1] : "cpu";
  precision = argc > 2 && !strcmp(argv[2], "bf16") ? PRECISION_BF16 : PRECISION_F32;
  if (!is_there())
    return SKIPPED;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
