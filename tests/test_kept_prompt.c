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
#include "unet/model/models.h"

enum { SLOTS_THERE = 4, TOKENS = 77, ROWS = 2, CHANNELS_MAX = 40, COUNT_MAX = TOKENS * CHANNELS_MAX };

static struct device_options options = {.name = "cpu"};
static const struct guidance_rows two_rows = {ROWS, ROWS}, three_then_one = {3, 1};

/* A plan that stores a text in a slot, and one that blends slots for two guidance rows, in a region of control 1 once
 * more, and for five latents of which the first has three rows and the others one. */
struct rig {
  struct resources resources;
  struct plan text, frame;
  struct tensor slots, x, y, y_of_control, y_of_latents;
  int count; /* number of values of a slot */
  float slot[SLOTS_THERE][COUNT_MAX];
  struct device *device;
  struct program *program;
  struct run_params params;
  struct error err;
};

static void must(const struct rig *rig, int status) {
  if (status < 0)
    fail_msg("%s", rig->err.message);
}

static struct tensor add_prompt(struct rig *rig, const char *name, const char *note, int n, struct guidance_rows rows) {
  struct op_prompt op = {.slots = rig->slots, .first = rows.first, .rows = rows.each};
  op.y = plan_state(&rig->frame, name, n, 1, TOKENS, rig->slots.c, ELEMENT_DEVICE);
  op.note = plan_state(&rig->frame, note, 1, 1, 1, PROMPT_NOTE_VALUES, ELEMENT_WHOLE);
  return plan_prompt(&rig->frame, name, op);
}

/* Values that FP16 holds, as are their sums with weights of whole quarters. */
static float value(int seed, int i) {
  return (float)((seed * 37 + i * 11) % 64 - 32) / 16;
}

static void set_slot(struct rig *rig, int slot, int seed) {
  for (int i = 0; i < rig->count; i++)
    rig->slot[slot][i] = value(seed, i);
}

static void write_slot(struct rig *rig, int slot, int seed) {
  set_slot(rig, slot, seed);
  must(rig, device_write(rig->device, NULL, rig->slots, (size_t)slot * (size_t)rig->count, rig->slot[slot],
                         (size_t)rig->count, &rig->err));
}

static struct program *prepared(struct rig *rig, const struct plan *plan, const struct program_options *wanted) {
  struct program *program;
  must(rig, device_prepare(rig->device, &program, plan, wanted, &rig->err));
  return program;
}

static struct rig *rig_open(int c) {
  struct rig *rig = calloc(1, sizeof *rig);
  assert_non_null(rig);
  rig->count = TOKENS * c;
  rig->slots = resources_state(&rig->resources, "slots", SLOTS_THERE, 1, TOKENS, c, ELEMENT_DEVICE, &rig->err);
  plan_init(&rig->text, &rig->resources);
  rig->x = plan_input(&rig->text, 1, 1, TOKENS, c, ELEMENT_DEVICE);
  plan_store_slot(&rig->text, "store", (struct op_store_slot){.x = rig->x, .slots = rig->slots});
  must(rig, plan_finish(&rig->text, &rig->err));
  plan_init(&rig->frame, &rig->resources);
  rig->y = add_prompt(rig, "prompt", "note", ROWS, two_rows);
  rig->y_of_latents = add_prompt(rig, "prompt of latents", "note of latents", 5, three_then_one);
  plan_region_begin(&rig->frame, (struct region_when){.kind = REGION_CONTROL});
  rig->y_of_control = add_prompt(rig, "prompt of control", "note of control", ROWS, two_rows);
  plan_region_end(&rig->frame);
  must(rig, plan_finish(&rig->frame, &rig->err));
  must(rig, device_open(&rig->device, &rig->resources, &options, &rig->err));
  rig->program = prepared(rig, &rig->frame, &(struct program_options){PIXEL_RGBA});
  for (int i = 0; i < SLOTS_THERE; i++)
    write_slot(rig, i, i);
  rig->params.prompt[0] = (struct prompt_params){{2}, {1}};
  return rig;
}

static void rig_close(struct rig *rig) {
  device_release(rig->device, &rig->program);
  device_close(&rig->device);
  plan_free(&rig->frame);
  plan_free(&rig->text);
  resources_free(&rig->resources);
  free(rig);
}

static void expect_rows(struct rig *rig, struct program *program, struct tensor y, struct guidance_rows rows,
                        const struct run_params *params) {
  float *got = malloc(tensor_elements(y) * sizeof *got);
  assert_non_null(got);
  must(rig, device_read(rig->device, program, y, 0, got, tensor_elements(y), &rig->err));
  for (int row = 0; row < y.n; row++)
    for (int i = 0; i < rig->count; i++) {
      const struct prompt_params *p = &params->prompt[guidance_row(rows, row)];
      float sum = 0;
      for (int j = 0; j < PROMPTS_MAX && p->weight[j] != 0; j++)
        sum += p->weight[j] * rig->slot[p->slot[j]][i];
      if (!(fabsf(got[row * rig->count + i] - sum) < 1e-2f))
        fail_msg("row %d, value %d is %g, not %g", row, i, (double)got[row * rig->count + i], (double)sum);
    }
  free(got);
}

static void expect_blend(struct rig *rig, struct program *program, struct tensor y, const struct run_params *params) {
  expect_rows(rig, program, y, two_rows, params);
}

static void run_of(struct rig *rig, struct program *program) {
  must(rig, device_run(rig->device, program, &rig->params, &rig->err));
  expect_blend(rig, program, rig->y, &rig->params);
  expect_rows(rig, program, rig->y_of_latents, three_then_one, &rig->params);
  if (rig->params.control[0].gain[0] != 0)
    expect_blend(rig, program, rig->y_of_control, &rig->params);
}

static void run(struct rig *rig) {
  run_of(rig, rig->program);
}

/* Gives a program its text. A frame follows, so that later ones see nothing new but what the program's runs do. */
static void give_text(struct rig *rig, struct program *text, int seed) {
  float x[COUNT_MAX];
  for (int i = 0; i < rig->count; i++)
    x[i] = value(seed, i);
  must(rig, device_write(rig->device, text, rig->x, 0, x, (size_t)rig->count, &rig->err));
  run(rig);
}

/* Stores a text in a slot by a run. */
static void encode(struct rig *rig, struct program *text, int slot, int seed) {
  struct run_params params = {.slot = slot};
  give_text(rig, text, seed);
  must(rig, device_start(rig->device, text, &params, &rig->err));
  set_slot(rig, slot, seed);
}

/* Writes to the blend behind the device's back, so that it can be seen whether a run makes it again. */
static void scratch_out(struct rig *rig) {
  static const float other[1] = {77};
  must(rig, rig->device->impl->write(rig->device, rig->program, rig->y, 5, other, 1, &rig->err));
}

static bool is_scratched(struct rig *rig) {
  float got;
  must(rig, device_read(rig->device, rig->program, rig->y, 5, &got, 1, &rig->err));
  return got == 77;
}

static void expect_kept(struct rig *rig, bool kept) {
  scratch_out(rig);
  must(rig, device_run(rig->device, rig->program, &rig->params, &rig->err));
  assert_int_equal(is_scratched(rig), kept);
  if (!kept)
    expect_blend(rig, rig->program, rig->y, &rig->params);
}

static void it_is_kept_while_nothing_changes(void **state) {
  (void)state;
  for (int c = 3; c <= CHANNELS_MAX; c += CHANNELS_MAX - 3) {
    struct rig *rig = rig_open(c);
    run(rig);
    expect_kept(rig, true);
    expect_kept(rig, true);
    rig->params.mix = 0.5f; /* of which no blend depends */
    expect_kept(rig, true);
    write_slot(rig, 2, 9);
    expect_kept(rig, false);
    expect_kept(rig, true);
    rig->params.prompt[1] = (struct prompt_params){{1}, {1}};
    expect_kept(rig, false);
    expect_kept(rig, true);
    rig_close(rig);
  }
}

static void a_fade_is_followed_to_its_end(void **state) {
  (void)state;
  for (int c = 3; c <= CHANNELS_MAX; c += CHANNELS_MAX - 3) {
    struct rig *rig = rig_open(c);
    for (int i = 0; i <= 4; i++) {
      rig->params.prompt[0] = (struct prompt_params){{2, 3}, {1 - (float)i / 4, (float)i / 4}};
      if (i == 4)
        rig->params.prompt[0] = (struct prompt_params){{3}, {1}};
      run(rig);
      run(rig);
    }
    rig->params.prompt[0] = (struct prompt_params){{3, 0, 1}, {0.5f, 0.25f, 0.25f}};
    run(rig);
    rig->params.prompt[0].slot[2] = 2;
    run(rig);
    rig->params.prompt[0].weight[2] = 0; /* the blend ends one prompt sooner */
    run(rig);
    rig->params.prompt[0].weight[0] = 0;
    run(rig);
    rig_close(rig);
  }
}

/* A prompt that only the first latent's last row reads. */
static void the_last_row_s_prompt_is_followed(void **state) {
  (void)state;
  struct rig *rig = rig_open(CHANNELS_MAX);
  for (int i = 0; i < 8; i++) {
    rig->params.prompt[2] = (struct prompt_params){{i / 2 % SLOTS_THERE}, {1 - (float)(i / 4) / 2}};
    run(rig);
  }
  rig_close(rig);
}

static void a_text_replaced_in_its_slot_is_seen(void **state) {
  (void)state;
  struct rig *rig = rig_open(CHANNELS_MAX);
  struct program *text = prepared(rig, &rig->text, &(struct program_options){.output = PIXEL_RGBA});
  run(rig);
  for (int i = 0; i < 5; i++) {
    encode(rig, text, 2, 10 + i);
    run(rig);
    run(rig);
  }
  encode(rig, text, 1, 20); /* which the blend does not read */
  run(rig);
  rig->params.prompt[1] = (struct prompt_params){{1, 2}, {0.25f, 0.75f}};
  run(rig);
  device_release(rig->device, &text);
  rig_close(rig);
}

/* A run of another program that is started in parts, with frames between them. */
static void a_text_replaced_in_parts_is_seen(void **state) {
  (void)state;
  struct rig *rig = rig_open(CHANNELS_MAX);
  struct program *text = prepared(rig, &rig->text, &(struct program_options){.output = PIXEL_RGBA, .parts = 2});
  run(rig);
  for (int i = 0; i < 4; i++) {
    struct run_params params = {.slot = 2};
    int left;
    give_text(rig, text, 30 + i);
    while ((left = device_start_part(rig->device, text, &params, false, &rig->err)) > 0)
      must(rig, device_run(rig->device, rig->program, &rig->params, &rig->err));
    must(rig, left);
    set_slot(rig, 2, 30 + i);
    run(rig);
    run(rig);
  }
  device_release(rig->device, &text);
  rig_close(rig);
}

/* What is in a region is made when the region runs, whatever has changed meanwhile. */
static void a_region_that_was_skipped_makes_its_own_anew(void **state) {
  (void)state;
  struct rig *rig = rig_open(CHANNELS_MAX);
  rig->params.control[0].gain[0] = 1;
  run(rig);
  for (int i = 0; i < 3; i++) {
    rig->params.control[0].gain[0] = 0;
    write_slot(rig, 2, 40 + i);
    run(rig);
    rig->params.prompt[0] = (struct prompt_params){{i}, {1}};
    run(rig);
    rig->params.control[0].gain[0] = 1;
    run(rig);
    rig->params.prompt[0] = (struct prompt_params){{2}, {1}};
    run(rig);
  }
  rig_close(rig);
}

/* Programs of one plan, with states of their own and with those of another, blend differently in turns. */
static void programs_do_not_take_each_other_s(void **state) {
  (void)state;
  struct rig *rig = rig_open(CHANNELS_MAX);
  for (int shares = 0; shares <= 1; shares++) {
    struct program *other = prepared(
        rig, &rig->frame, &(struct program_options){.output = PIXEL_RGBA, .owner = shares ? rig->program : NULL});
    const struct prompt_params one = {{2}, {1}}, two = {{0, 1}, {0.5f, 0.5f}};
    for (int i = 0; i < 4; i++) {
      rig->params.prompt[0] = one;
      run(rig);
      rig->params.prompt[0] = i % 2 ? one : two;
      run_of(rig, other);
    }
    device_release(rig->device, &other);
  }
  rig_close(rig);
}

/* Two runs in flight, of which the second one has another blend than the first. */
static void runs_in_flight_have_their_own(void **state) {
  (void)state;
  struct rig *rig = rig_open(CHANNELS_MAX);
  struct run_params first = rig->params, second = rig->params;
  second.prompt[0] = (struct prompt_params){{0, 1}, {0.5f, 0.5f}};
  for (int i = 0; i < 4; i++) {
    must(rig, device_submit(rig->device, rig->program, &first, NULL, &rig->err));
    must(rig, device_submit(rig->device, rig->program, &second, NULL, &rig->err));
    must(rig, device_collect(rig->device, rig->program, NULL, &rig->err));
    must(rig, device_collect(rig->device, rig->program, NULL, &rig->err));
    expect_blend(rig, rig->program, rig->y, &second);
    must(rig, device_submit(rig->device, rig->program, &second, NULL, &rig->err));
    must(rig, device_submit(rig->device, rig->program, &first, NULL, &rig->err));
    must(rig, device_collect(rig->device, rig->program, NULL, &rig->err));
    must(rig, device_collect(rig->device, rig->program, NULL, &rig->err));
    expect_blend(rig, rig->program, rig->y, &first);
  }
  rig_close(rig);
}

static void a_note_needs_a_state(void **state) {
  (void)state;
  struct rig rig = {0};
  rig.slots = resources_state(&rig.resources, "slots", 2, 1, 4, 8, ELEMENT_DEVICE, &rig.err);
  for (int wrong = 0; wrong < 2; wrong++) {
    struct op_prompt op = {.slots = rig.slots, .y.n = 1};
    plan_init(&rig.frame, &rig.resources);
    if (wrong)
      op.y = plan_state(&rig.frame, "text", 1, 1, 4, 8, ELEMENT_DEVICE);
    op.note = plan_state(&rig.frame, "note", 1, 1, 1, PROMPT_NOTE_VALUES - wrong, ELEMENT_WHOLE);
    plan_prompt(&rig.frame, "prompt", op);
    assert_int_equal(plan_finish(&rig.frame, &rig.err), -1);
    assert_non_null(strstr(rig.err.message, "noted"));
    plan_free(&rig.frame);
  }
  resources_free(&rig.resources);
}

/* Calls of a network share a blend if they have the same rows, not if these are as many. */
static void calls_with_other_rows_have_their_own(void **state) {
  (void)state;
  static const struct guidance_rows rows[] = {{3, 3}, {1, 2}, {1, 1}, {3, 3}, {2, 1}, {1, 2}};
  enum { CALLS = sizeof rows / sizeof rows[0] };
  struct rig rig = {0};
  struct tensor y[CALLS];
  rig.slots = resources_state(&rig.resources, "slots", 2, 1, 4, 8, ELEMENT_DEVICE, &rig.err);
  plan_init(&rig.frame, &rig.resources);
  for (int i = 0; i < CALLS; i++) {
    y[i] = unet_text(&rig.frame, "",
                     (struct op_prompt){.slots = rig.slots, .y.n = 3, .first = rows[i].first, .rows = rows[i].each});
    for (int j = 0; j < i; j++)
      assert_int_equal(y[i].index == y[j].index, rows[i].first == rows[j].first && rows[i].each == rows[j].each);
  }
  struct tensor other = unet_text(&rig.frame, " of control 1", (struct op_prompt){.slots = rig.slots, .y.n = 3});
  assert_int_not_equal(other.index, y[0].index);
  must(&rig, plan_finish(&rig.frame, &rig.err));
  plan_free(&rig.frame);
  resources_free(&rig.resources);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_is_kept_while_nothing_changes),
      cmocka_unit_test(a_fade_is_followed_to_its_end),
      cmocka_unit_test(the_last_row_s_prompt_is_followed),
      cmocka_unit_test(a_text_replaced_in_its_slot_is_seen),
      cmocka_unit_test(a_text_replaced_in_parts_is_seen),
      cmocka_unit_test(a_region_that_was_skipped_makes_its_own_anew),
      cmocka_unit_test(programs_do_not_take_each_other_s),
      cmocka_unit_test(runs_in_flight_have_their_own),
      cmocka_unit_test(a_note_needs_a_state),
      cmocka_unit_test(calls_with_other_rows_have_their_own),
  };
  options.name = argc > 1 ? argv[1] : "cpu";
  options.graph = argc > 2 && !strcmp(argv[2], "launches") ? GRAPH_OFF : GRAPH_ON;
  if (!device_is_there(&options))
    return DEVICE_MISSING;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
