/* Tests the definition of the ops of the bank (keys and values of earlier frames for self-attention) by values worked
 * out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/rigs/definition_bench.h"

static struct tensor bank_state(struct bench *b) {
  b->plan.resources = &b->resources;
  return plan_state(&b->plan, "bank", 1, 1, 1, BANK_VALUES, ELEMENT_WHOLE);
}

static void recall(struct bench *b, struct tensor bank, struct tensor cut, int room) {
  plan_region_begin(&b->plan, (struct region_when){REGION_BANK});
  plan_recall(&b->plan, "recall", (struct op_recall){.bank = bank, .cut = cut, .room = room});
  plan_region_end(&b->plan);
}

/* Two queries. The key of the first segment has score 0 and value 8; the bank has two frames of one token, with scores
 * ln 3 and ln 4 and values 4 and 1. */
static void attention_appends_the_second_segment(void **state) {
  (void)state;
  static const float expected[][2] = {{8, 8}, {(8 + 3 * 4) / 4.0f, 5}, {(8 + 3 * 4 + 4 * 1) / 8.0f, 3}};
  for (int count = 0; count <= 2; count++) {
    struct bench b = begin();
    struct op_attention op = {.heads = 1, .scale = 1};
    op.q = input(&b, 1, 2, 1, (float[]){1, 1});
    op.k = input(&b, 1, 1, 1, (float[]){0});
    op.v = input(&b, 1, 1, 1, (float[]){8});
    struct tensor ring = plan_state(&b.plan, "ring", 1, 2, 1, 2, ELEMENT_DEVICE);
    give(&b, ring, (float[]){1.0986123f, 4, 1.3862944f, 1});
    op.k2 = tensor_channels(ring, 0, 1);
    op.v2 = tensor_channels(ring, 1, 1);
    op.bank = give(&b, bank_state(&b), (float[]){(float)count, 0, 0, 0});
    b.params.bank = (struct bank_params){.frames = 2, .every = 1};
    expect(&b, plan_attention(&b.plan, "attention", op), expected[count], 1e-5);
  }
}

/* A run without a bank reads none of it, whatever the state holds. */
static void without_a_bank_the_second_segment_is_not_read(void **state) {
  (void)state;
  struct bench b = begin();
  struct op_attention op = {.heads = 1, .scale = 1};
  op.q = input(&b, 1, 1, 1, (float[]){1});
  op.k = input(&b, 1, 1, 1, (float[]){0});
  op.v = input(&b, 1, 1, 1, (float[]){8});
  struct tensor ring = plan_state(&b.plan, "ring", 1, 1, 1, 2, ELEMENT_DEVICE);
  give(&b, ring, (float[]){1, 4});
  op.k2 = tensor_channels(ring, 0, 1);
  op.v2 = tensor_channels(ring, 1, 1);
  op.bank = give(&b, bank_state(&b), (float[]){1, 0, 0, 0});
  expect(&b, plan_attention(&b.plan, "attention", op), (float[]){8}, 0);
}

/* A run of the bank: its parameters, whether there is a cut, and the state afterwards. */
struct turn {
  int frames, every;
  bool restart, anew;
  float cut;
  float count, stores, slot;
};

static void expect_turns(int room, const struct turn *turns, int count) {
  struct bench b = begin();
  struct error err = {0};
  struct tensor cut = plan_state(&b.plan, "cut", 1, 1, 1, 1, ELEMENT_WHOLE), bank = bank_state(&b);
  float values[BANK_VALUES];
  recall(&b, bank, cut, room);
  prepare(&b, PIXEL_RGBA);
  for (int i = 0; i < count; i++) {
    const struct turn *turn = &turns[i];
    b.params.bank = (struct bank_params){turn->frames, turn->every, turn->anew};
    b.params.restart = turn->restart;
    assert_int_equal(device_write(b.device, b.program, cut, 0, &turn->cut, 1, &err), 0);
    assert_int_equal(device_run(b.device, b.program, &b.params, &err), 0);
    assert_int_equal(device_read(b.device, b.program, bank, 0, values, BANK_VALUES, &err), 0);
    if (values[BANK_COUNT] != turn->count || values[BANK_STORES] != turn->stores ||
        (turn->stores != 0 && values[BANK_SLOT] != turn->slot))
      fail_msg("run %d: count %g, stores %g, slot %g", i, (double)values[BANK_COUNT], (double)values[BANK_STORES],
               (double)values[BANK_SLOT]);
  }
  finish(&b);
}

/* The bank fills up, and then each frame replaces the oldest. */
static void the_bank_fills_and_wraps(void **state) {
  (void)state;
  const struct turn two[] = {{2, 1, true, false, 0, 0, 1, 0},
                             {2, 1, false, false, 0, 1, 1, 1},
                             {2, 1, false, false, 0, 2, 1, 0},
                             {2, 1, false, false, 0, 2, 1, 1},
                             {2, 1, false, false, 0, 2, 1, 0}};
  const struct turn one[] = {
      {1, 1, false, false, 0, 0, 1, 0}, {1, 1, false, false, 0, 1, 1, 0}, {1, 1, false, false, 0, 1, 1, 0}};
  expect_turns(4, two, 5);
  expect_turns(1, one, 3);
}

/* With an interval of 3 frames, runs 0, 3 and 6 are kept. */
static void one_of_some_frames_is_kept(void **state) {
  (void)state;
  struct turn turns[8];
  const float counts[8] = {0, 1, 1, 1, 2, 2, 2, 2};
  for (int i = 0; i < 8; i++)
    turns[i] = (struct turn){2, 3, i == 0, false, 0, counts[i], i % 3 == 0, (float)(i / 3 % 2)};
  expect_turns(2, turns, 8);
}

/* A restart, a cut and changed parameters empty the bank; the same run is then kept as its first frame. */
static void the_bank_is_emptied(void **state) {
  (void)state;
  for (int how = 0; how < 3; how++) {
    const struct turn turns[] = {{2, 2, true, false, 0, 0, 1, 0},
                                 {2, 2, false, false, 0, 1, 0, 0},
                                 {2, 2, false, false, 0, 1, 1, 1},
                                 {2, 2, how == 0, how == 1, how == 2 ? 1 : 0, 0, 1, 0},
                                 {2, 2, false, false, 0, 1, 0, 0}};
    expect_turns(3, turns, 5);
  }
  /* In runs without a bank the state does not change. */
  const struct turn off[] = {
      {1, 1, true, false, 0, 0, 1, 0}, {0, 0, false, false, 0, 0, 1, 0}, {2, 1, false, true, 0, 0, 1, 0}};
  expect_turns(2, off, 3);
}

static void a_ring_gets_the_slice_of_each_row(void **state) {
  (void)state;
  for (int stores = 0; stores < 2; stores++) {
    struct bench b = begin();
    b.plan.resources = &b.resources;
    /* two rows of one token with three channels, of which the bank keeps the last two */
    struct tensor x = plan_state(&b.plan, "x", 2, 1, 1, 3, ELEMENT_DEVICE);
    give(&b, x, (float[]){1, 2, 3, 4, 5, 6});
    struct tensor ring = plan_state(&b.plan, "ring", 2, 2, 1, 2, ELEMENT_DEVICE);
    give(&b, ring, (float[]){10, 11, 12, 13, 14, 15, 16, 17});
    struct op_remember op = {.x = tensor_channels(x, 1, 2), .ring = ring};
    op.bank = give(&b, bank_state(&b), (float[]){0, (float)stores, 1, 0});
    b.params.bank = (struct bank_params){.frames = 2, .every = 1};
    plan_remember(&b.plan, "remember", op);
    expect(&b, ring, stores ? (float[]){10, 11, 2, 3, 14, 15, 5, 6} : (float[]){10, 11, 12, 13, 14, 15, 16, 17}, 0);
  }
}

static void expect_refused(struct bench *b, const char *what) {
  struct error err = {0};
  assert_int_equal(plan_finish(&b->plan, &err), -1);
  if (!strstr(err.message, what))
    fail_msg("%s", err.message);
  plan_free(&b->plan);
  resources_free(&b->resources);
}

static void banks_that_do_not_fit_are_refused(void **state) {
  (void)state;
  for (int i = 0; i < 7; i++) {
    struct bench b = begin();
    struct tensor x = input(&b, 2, 2, 6, (float[24]){0}), bank = bank_state(&b);
    struct tensor ring = plan_state(&b.plan, "ring", 1, 2, i == 0 ? 3 : 4, i == 1 ? 2 : 4, ELEMENT_DEVICE);
    struct op_attention op = {.heads = 1, .scale = 1, .causal = i == 2, .bank = i == 3 ? (struct tensor){0} : bank};
    op.q = tensor_channels(x, 0, 2), op.k = tensor_channels(x, 2, 2), op.v = tensor_channels(x, 4, 2);
    op.k2 = tensor_channels(ring, 0, 2);
    if (i != 4)
      op.v2 = tensor_channels(ring, ring.c - 2, 2);
    switch (i) {
    case 0:
    case 1:
      plan_remember(&b.plan, "op", (struct op_remember){.x = tensor_channels(x, 2, 4), .bank = bank, .ring = ring});
      break;
    case 5:
      plan_recall(&b.plan, "op", (struct op_recall){.bank = bank, .room = BANK_ROOM_MAX + 1});
      break;
    case 6: /* the operand `bank` has the wrong element type */
      plan_recall(&b.plan, "op", (struct op_recall){.bank = ring, .room = 1});
      break;
    default:
      plan_attention(&b.plan, "op", op);
    }
    expect_refused(&b, (const char *[]){"no slots of that shape", "no slots of that shape", "excludes the causal mask",
                                        "lacks keys", "lacks keys", "no bank of that many", "op"}[i]);
  }
}

static void parameters_of_the_bank_are_checked(void **state) {
  (void)state;
  struct bench b = begin();
  struct error err = {0};
  recall(&b, bank_state(&b), (struct tensor){0}, 2);
  prepare(&b, PIXEL_RGBA);
  const struct {
    struct bank_params bank;
    const char *what;
  } cases[] = {{{3, 1, false}, "a bank of 3 frames, with room for 2"},
               {{-1, 1, false}, "a bank of -1 frames"},
               {{2, 0, false}, "keeps one of 0 frames"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    b.params.bank = cases[i].bank;
    assert_int_equal(device_run(b.device, b.program, &b.params, &err), -1);
    assert_non_null(strstr(err.message, cases[i].what));
  }
  b.params.bank = (struct bank_params){0};
  assert_int_equal(device_run(b.device, b.program, &b.params, &err), 0);
  finish(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(attention_appends_the_second_segment),
      cmocka_unit_test(without_a_bank_the_second_segment_is_not_read),
      cmocka_unit_test(the_bank_fills_and_wraps),
      cmocka_unit_test(one_of_some_frames_is_kept),
      cmocka_unit_test(the_bank_is_emptied),
      cmocka_unit_test(a_ring_gets_the_slice_of_each_row),
      cmocka_unit_test(banks_that_do_not_fit_are_refused),
      cmocka_unit_test(parameters_of_the_bank_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
