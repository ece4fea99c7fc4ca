/* Tests the blend of prompts that runs leave to later ones: it is kept while nothing of it changes, and only then.
 *
 *   test_kept_prompt DEVICE [launches]       skipped where there is no such device; launches: without graphs */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/cmocka_all.h"
#include "tests/rigs/device_there.h"
#include "unet/devices.h"

enum { SLOTS_THERE = 4, TOKENS = 77, ROWS = 2, CHANNELS_MAX = 40, COUNT_MAX = TOKENS * CHANNELS_MAX };

static struct device_options options = {.name = "cpu"};

/* A plan that stores a text in a slot, and one that blends slots twice, the second time in a region of control 1. */
struct net {
  struct resources resources;
  struct plan text, frame;
  struct tensor slots, x, y, y_of_control;
  int count; /* number of values of a slot */
  float slot[SLOTS_THERE][COUNT_MAX];
  struct device *device;
  struct program *program;
  struct run_params params;
  struct error err;
};

static void must(const struct net *net, int status) {
  if (status < 0)
    fail_msg("%s", net->err.message);
}

static struct tensor add_prompt(struct net *net, const char *name, const char *note, int c) {
  struct op_prompt op = {.slots = net->slots, .rows = ROWS};
  op.y = plan_state(&net->frame, name, ROWS, 1, TOKENS, c, ELEMENT_DEVICE);
  op.note = plan_state(&net->frame, note, 1, 1, 1, PROMPT_NOTE_VALUES, ELEMENT_WHOLE);
  return plan_prompt(&net->frame, name, op);
}

/* Values that FP16 holds, as are their sums with weights of whole quarters. */
static float value(int seed, int i) {
  return (float)((seed * 37 + i * 11) % 64 - 32) / 16;
}

static void set_slot(struct net *net, int slot, int seed) {
  for (int i = 0; i < net->count; i++)
    net->slot[slot][i] = value(seed, i);
}

static void write_slot(struct net *net, int slot, int seed) {
  set_slot(net, slot, seed);
  must(net, device_write(net->device, NULL, net->slots, (size_t)slot * (size_t)net->count, net->slot[slot],
                         (size_t)net->count, &net->err));
}

static struct program *prepared(struct net *net, const struct plan *plan, const struct program_options *wanted) {
  struct program *program;
  must(net, device_prepare(net->device, &program, plan, wanted, &net->err));
  return program;
}

static struct net *net_open(int c) {
  struct net *net = calloc(1, sizeof *net);
  assert_non_null(net);
  net->count = TOKENS * c;
  net->slots = resources_state(&net->resources, "slots", SLOTS_THERE, 1, TOKENS, c, ELEMENT_DEVICE, &net->err);
  plan_init(&net->text, &net->resources);
  net->x = plan_input(&net->text, 1, 1, TOKENS, c, ELEMENT_DEVICE);
  plan_store_slot(&net->text, "store", (struct op_store_slot){.x = net->x, .slots = net->slots});
  must(net, plan_finish(&net->text, &net->err));
  plan_init(&net->frame, &net->resources);
  net->y = add_prompt(net, "prompt", "note", c);
  plan_region_begin(&net->frame, (struct region_when){.kind = REGION_CONTROL});
  net->y_of_control = add_prompt(net, "prompt of control", "note of control", c);
  plan_region_end(&net->frame);
  must(net, plan_finish(&net->frame, &net->err));
  must(net, device_open(&net->device, &net->resources, &options, &net->err));
  net->program = prepared(net, &net->frame, &(struct program_options){PIXEL_RGBA});
  for (int i = 0; i < SLOTS_THERE; i++)
    write_slot(net, i, i);
  net->params.prompt[0] = (struct prompt_params){{2}, {1}};
  return net;
}

static void net_close(struct net *net) {
  device_release(net->device, &net->program);
  device_close(&net->device);
  plan_free(&net->frame);
  plan_free(&net->text);
  resources_free(&net->resources);
  free(net);
}

static void expect_blend(struct net *net, struct program *program, struct tensor y, const struct run_params *params) {
  float *got = malloc((size_t)net->count * ROWS * sizeof *got);
  assert_non_null(got);
  must(net, device_read(net->device, program, y, 0, got, (size_t)net->count * ROWS, &net->err));
  for (int row = 0; row < ROWS; row++)
    for (int i = 0; i < net->count; i++) {
      const struct prompt_params *p = &params->prompt[row];
      float sum = 0;
      for (int j = 0; j < PROMPTS_MAX && p->weight[j] != 0; j++)
        sum += p->weight[j] * net->slot[p->slot[j]][i];
      if (!(fabsf(got[row * net->count + i] - sum) < 1e-2f))
        fail_msg("row %d, value %d is %g, not %g", row, i, (double)got[row * net->count + i], (double)sum);
    }
  free(got);
}

static void run_of(struct net *net, struct program *program) {
  must(net, device_run(net->device, program, &net->params, &net->err));
  expect_blend(net, program, net->y, &net->params);
  if (net->params.control[0].gain[0] != 0)
    expect_blend(net, program, net->y_of_control, &net->params);
}

static void run(struct net *net) {
  run_of(net, net->program);
}

/* Gives a program its text. A frame follows, so that later ones see nothing new but what the program's runs do. */
static void give_text(struct net *net, struct program *text, int seed) {
  float x[COUNT_MAX];
  for (int i = 0; i < net->count; i++)
    x[i] = value(seed, i);
  must(net, device_write(net->device, text, net->x, 0, x, (size_t)net->count, &net->err));
  run(net);
}

/* Stores a text in a slot by a run. */
static void encode(struct net *net, struct program *text, int slot, int seed) {
  struct run_params params = {.slot = slot};
  give_text(net, text, seed);
  must(net, device_start(net->device, text, &params, &net->err));
  set_slot(net, slot, seed);
}

/* Writes to the blend behind the device's back, so that it can be seen whether a run makes it again. */
static void scratch_out(struct net *net) {
  static const float other[1] = {77};
  must(net, net->device->impl->write(net->device, net->program, net->y, 5, other, 1, &net->err));
}

static bool is_scratched(struct net *net) {
  float got;
  must(net, device_read(net->device, net->program, net->y, 5, &got, 1, &net->err));
  return got == 77;
}

static void expect_kept(struct net *net, bool kept) {
  scratch_out(net);
  must(net, device_run(net->device, net->program, &net->params, &net->err));
  assert_int_equal(is_scratched(net), kept);
  if (!kept)
    expect_blend(net, net->program, net->y, &net->params);
}

static void it_is_kept_while_nothing_changes(void **state) {
  (void)state;
  for (int c = 3; c <= CHANNELS_MAX; c += CHANNELS_MAX - 3) {
    struct net *net = net_open(c);
    run(net);
    expect_kept(net, true);
    expect_kept(net, true);
    net->params.mix = 0.5f; /* of which no blend depends */
    expect_kept(net, true);
    write_slot(net, 2, 9);
    expect_kept(net, false);
    expect_kept(net, true);
    net->params.prompt[1] = (struct prompt_params){{1}, {1}};
    expect_kept(net, false);
    expect_kept(net, true);
    net_close(net);
  }
}

static void a_fade_is_followed_to_its_end(void **state) {
  (void)state;
  for (int c = 3; c <= CHANNELS_MAX; c += CHANNELS_MAX - 3) {
    struct net *net = net_open(c);
    for (int i = 0; i <= 4; i++) {
      net->params.prompt[0] = (struct prompt_params){{2, 3}, {1 - (float)i / 4, (float)i / 4}};
      if (i == 4)
        net->params.prompt[0] = (struct prompt_params){{3}, {1}};
      run(net);
      run(net);
    }
    net->params.prompt[0] = (struct prompt_params){{3, 0, 1}, {0.5f, 0.25f, 0.25f}};
    run(net);
    net->params.prompt[0].slot[2] = 2;
    run(net);
    net->params.prompt[0].weight[2] = 0; /* the blend ends one prompt sooner */
    run(net);
    net->params.prompt[0].weight[0] = 0;
    run(net);
    net_close(net);
  }
}

static void a_text_replaced_in_its_slot_is_seen(void **state) {
  (void)state;
  struct net *net = net_open(CHANNELS_MAX);
  struct program *text = prepared(net, &net->text, &(struct program_options){.output = PIXEL_RGBA});
  run(net);
  for (int i = 0; i < 5; i++) {
    encode(net, text, 2, 10 + i);
    run(net);
    run(net);
  }
  encode(net, text, 1, 20); /* which the blend does not read */
  run(net);
  net->params.prompt[1] = (struct prompt_params){{1, 2}, {0.25f, 0.75f}};
  run(net);
  device_release(net->device, &text);
  net_close(net);
}

/* A run of another program that is started in parts, with frames between them. */
static void a_text_replaced_in_parts_is_seen(void **state) {
  (void)state;
  struct net *net = net_open(CHANNELS_MAX);
  struct program *text = prepared(net, &net->text, &(struct program_options){.output = PIXEL_RGBA, .parts = 2});
  run(net);
  for (int i = 0; i < 4; i++) {
    struct run_params params = {.slot = 2};
    int left;
    give_text(net, text, 30 + i);
    while ((left = device_start_part(net->device, text, &params, false, &net->err)) > 0)
      must(net, device_run(net->device, net->program, &net->params, &net->err));
    must(net, left);
    set_slot(net, 2, 30 + i);
    run(net);
    run(net);
  }
  device_release(net->device, &text);
  net_close(net);
}

/* What is in a region is made when the region runs, whatever has changed meanwhile. */
static void a_region_that_was_skipped_makes_its_own_anew(void **state) {
  (void)state;
  struct net *net = net_open(CHANNELS_MAX);
  net->params.control[0].gain[0] = 1;
  run(net);
  for (int i = 0; i < 3; i++) {
    net->params.control[0].gain[0] = 0;
    write_slot(net, 2, 40 + i);
    run(net);
    net->params.prompt[0] = (struct prompt_params){{i}, {1}};
    run(net);
    net->params.control[0].gain[0] = 1;
    run(net);
    net->params.prompt[0] = (struct prompt_params){{2}, {1}};
    run(net);
  }
  net_close(net);
}

/* Programs of one plan, with states of their own and with those of another, blend differently in turns. */
static void programs_do_not_take_each_other_s(void **state) {
  (void)state;
  struct net *net = net_open(CHANNELS_MAX);
  for (int shares = 0; shares <= 1; shares++) {
    struct program *other = prepared(
        net, &net->frame, &(struct program_options){.output = PIXEL_RGBA, .owner = shares ? net->program : NULL});
    const struct prompt_params one = {{2}, {1}}, two = {{0, 1}, {0.5f, 0.5f}};
    for (int i = 0; i < 4; i++) {
      net->params.prompt[0] = one;
      run(net);
      net->params.prompt[0] = i % 2 ? one : two;
      run_of(net, other);
    }
    device_release(net->device, &other);
  }
  net_close(net);
}

/* Two runs in flight, of which the second one has another blend than the first. */
static void runs_in_flight_have_their_own(void **state) {
  (void)state;
  struct net *net = net_open(CHANNELS_MAX);
  struct run_params first = net->params, second = net->params;
  second.prompt[0] = (struct prompt_params){{0, 1}, {0.5f, 0.5f}};
  for (int i = 0; i < 4; i++) {
    must(net, device_submit(net->device, net->program, &first, NULL, &net->err));
    must(net, device_submit(net->device, net->program, &second, NULL, &net->err));
    must(net, device_collect(net->device, net->program, NULL, &net->err));
    must(net, device_collect(net->device, net->program, NULL, &net->err));
    expect_blend(net, net->program, net->y, &second);
    must(net, device_submit(net->device, net->program, &second, NULL, &net->err));
    must(net, device_submit(net->device, net->program, &first, NULL, &net->err));
    must(net, device_collect(net->device, net->program, NULL, &net->err));
    must(net, device_collect(net->device, net->program, NULL, &net->err));
    expect_blend(net, net->program, net->y, &first);
  }
  net_close(net);
}

static void a_note_needs_a_state(void **state) {
  (void)state;
  struct net net = {0};
  net.slots = resources_state(&net.resources, "slots", 2, 1, 4, 8, ELEMENT_DEVICE, &net.err);
  for (int wrong = 0; wrong < 2; wrong++) {
    struct op_prompt op = {.slots = net.slots, .y.n = 1};
    plan_init(&net.frame, &net.resources);
    if (wrong)
      op.y = plan_state(&net.frame, "text", 1, 1, 4, 8, ELEMENT_DEVICE);
    op.note = plan_state(&net.frame, "note", 1, 1, 1, PROMPT_NOTE_VALUES - wrong, ELEMENT_WHOLE);
    plan_prompt(&net.frame, "prompt", op);
    assert_int_equal(plan_finish(&net.frame, &net.err), -1);
    assert_non_null(strstr(net.err.message, "noted"));
    plan_free(&net.frame);
  }
  resources_free(&net.resources);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_is_kept_while_nothing_changes),
      cmocka_unit_test(a_fade_is_followed_to_its_end),
      cmocka_unit_test(a_text_replaced_in_its_slot_is_seen),
      cmocka_unit_test(a_text_replaced_in_parts_is_seen),
      cmocka_unit_test(a_region_that_was_skipped_makes_its_own_anew),
      cmocka_unit_test(programs_do_not_take_each_other_s),
      cmocka_unit_test(runs_in_flight_have_their_own),
      cmocka_unit_test(a_note_needs_a_state),
  };
  options.name = argc > 1 ? argv[1] : "cpu";
  options.graph = argc > 2 && !strcmp(argv[2], "launches") ? GRAPH_OFF : GRAPH_ON;
  if (!device_is_there(&options))
    return DEVICE_MISSING;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
