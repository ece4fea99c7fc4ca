/* Tests the definition of the ops between networks, against values worked out by hand: steps, guidance, loops,
 * masks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/rigs/definition_bench.h"

static void prompts_repeat_for_each_step(void **state) {
  (void)state;
  struct bench b = begin();
  struct error err = {0};
  struct tensor slots = resources_state(&b.resources, "slots", 2, 1, 1, 1, ELEMENT_DEVICE, &err);
  b.plan.resources = &b.resources;
  give(&b, slots, (float[]){10, 100});
  b.params.prompt[0] = (struct prompt_params){{0, 1}, {1, 2}};
  expect(&b, plan_prompt(&b.plan, "prompt", (struct op_prompt){.slots = slots, .y.n = 4, .rows = 2}),
         (float[]){210, 0, 210, 0}, 0);
}

static void guidance_becomes_a_wave(void **state) {
  (void)state;
  struct bench b = begin();
  struct tensor y = plan_guidance_embed(&b.plan, "w", (struct op_guidance_embed){.y = {.n = 2, .c = 4}});
  float row[4];
  struct error err = {0};
  b.params.guidance = 1.002f; /* w = 2; frequencies 1 and 1/10000 */
  prepare(&b, PIXEL_RGBA);
  run(&b, NULL, NULL);
  assert_int_equal(device_read(b.device, b.program, y, 4, row, 4, &err), 0);
  const double expected[4] = {sin(2), sin(2e-4), cos(2), cos(2e-4)};
  for (int i = 0; i < 4; i++)
    assert_true(fabs((double)row[i] - expected[i]) < 1e-3);
  finish(&b);
}

static void the_sampler_step_is_linear(void **state) {
  (void)state;
  struct bench b = begin();
  struct error err = {0};
  struct tensor noise = resources_state(&b.resources, "noise", 2, 1, 1, 2, ELEMENT_PRECISE, &err);
  struct op_step op = {.step = 1, .x = input(&b, 1, 1, 2, (float[]){1, 2}), .noise = noise};
  b.plan.resources = &b.resources;
  op.model = input(&b, 1, 1, 2, (float[]){50, 60});
  give(&b, noise, (float[]){-1, -1, 1, 2});
  b.params.step[1] = (struct step_params){0, 2, 0.5f, 100};
  plan_step(&b.plan, "step", op);
  expect(&b, op.x, (float[]){127, 234}, 0);
}

/* Tests weighted sums of predictions: of two rows; of one row and a prediction that is derived from a reference; and
 * with guidance_rescale, where a result that spreads three times as much as row 0 is brought back half of the way. */
static void guidance_weighs_predictions(void **state) {
  (void)state;
  struct bench b = begin();
  struct tensor model = give(&b, plan_input(&b.plan, 2, 1, 1, 2, ELEMENT_DEVICE), (float[]){10, 20, 30, 40});
  b.params.row_weight[0] = -1;
  b.params.row_weight[1] = 2;
  expect(&b, plan_guide(&b.plan, "guide", (struct op_guide){.model = model}), (float[]){50, 60}, 0);
  b = begin();
  struct tensor x = input(&b, 1, 1, 2, (float[]){1, 2}), reference = input(&b, 1, 1, 2, (float[]){3, 5});
  struct op_guide op = {.step = 1, .model = input(&b, 1, 1, 2, (float[]){10, 20}), .x = x, .reference = reference};
  b.params.row_weight[0] = 3;
  b.params.virtual_weight = 10;
  b.params.residual[1] = (struct residual_params){.x = 2, .reference = -1};
  expect(&b, plan_guide(&b.plan, "guide", op), (float[]){30 + 10 * (2 - 3), 60 + 10 * (4 - 5)}, 0);
  b = begin();
  b.params.row_weight[0] = 3;
  b.params.guidance_rescale = 0.5f;
  op = (struct op_guide){.model = input(&b, 1, 1, 2, (float[]){10, 20})};
  expect(&b, plan_guide(&b.plan, "guide", op), (float[]){20, 40}, 1e-5f); /* 30 and 60, times (1 + 1 / 3) / 2 */
}

/* In the first step the negative row stores the reference that the second step reads. */
static void guidance_makes_its_reference(void **state) {
  (void)state;
  struct bench b = begin();
  struct tensor model = give(&b, plan_input(&b.plan, 2, 1, 1, 1, ELEMENT_DEVICE), (float[]){10, 30});
  struct tensor x = input(&b, 1, 1, 1, (float[]){5}), anew = plan_input(&b.plan, 1, 1, 1, 1, ELEMENT_PRECISE);
  plan_guide(&b.plan, "first", (struct op_guide){.model = model, .x = x, .anew = anew});
  struct op_guide op = {.step = 1, .model = input(&b, 1, 1, 1, (float[]){2}), .x = x, .reference = anew};
  b.params.row_weight[0] = 4;
  b.params.row_weight[1] = b.params.virtual_weight = -3;
  b.params.residual[0] = (struct residual_params){100, 100, 2, -1}; /* 10 - 30 */
  b.params.residual[1] = (struct residual_params){.x = 1, .reference = 0.5f};
  expect(&b, plan_guide(&b.plan, "second", op), (float[]){8 - 3 * (5 - 10)}, 0);
}

/* Stream batch: waiting latents move one place on, and each latent takes the step of its place. */
static void latents_take_steps_of_their_own(void **state) {
  (void)state;
  struct bench b = begin();
  struct tensor rows = give(&b, plan_state(&b.plan, "rows", 3, 1, 1, 1, ELEMENT_PRECISE), (float[]){2, 3, 4});
  struct tensor x = input(&b, 1, 1, 1, (float[]){1});
  plan_shift(&b.plan, "shift", (struct op_shift){.x = x, .rows = rows});
  struct tensor model = give(&b, plan_input(&b.plan, 3, 1, 1, 1, ELEMENT_DEVICE), (float[]){5, 6, 7});
  plan_step(&b.plan, "step", (struct op_step){.x = rows, .model = model});
  for (int i = 0; i < 3; i++)
    b.params.step[i] = (struct step_params){.x = 10, .model = (float)i};
  expect(&b, rows, (float[]){10, 20 + 6, 30 + 2 * 7}, 0);
}

/* A sampler that uses earlier predictions: x = 2 x + m + 10 e0 + 100 e1, and e0 = m - x is kept. Three steps are worked
 * out by hand. */
static void a_step_looks_back(void **state) {
  (void)state;
  struct bench b = begin();
  struct tensor x = input(&b, 1, 1, 1, (float[]){1}), m = input(&b, 1, 1, 1, (float[]){3});
  struct tensor earlier = plan_input(&b.plan, 2, 1, 1, 1, ELEMENT_PRECISE);
  for (int i = 0; i < 3; i++) {
    plan_step(&b.plan, "step", (struct op_step){.step = i, .x = x, .model = m, .earlier = earlier});
    b.params.step[i] = (struct step_params){
        .x = 2, .model = 1, .earlier = {i > 0 ? 10 : 0, i > 1 ? 100 : 0}, .keep_x = -1, .keep_model = 1};
  }
  prepare(&b, PIXEL_RGBA);
  run(&b, NULL, NULL);
  /* each step keeps a value for later steps: step 0 gives 2 + 3 = 5 and keeps 2; step 1 10 + 3 + 20 = 33 and keeps -2;
   * step 2 66 + 3 - 20 + 200 = 249 and keeps -30 */
  float latent, kept[2];
  struct error err = {0};
  assert_int_equal(device_read(b.device, b.program, x, 0, &latent, 1, &err), 0);
  assert_int_equal(device_read(b.device, b.program, earlier, 0, kept, 2, &err), 0);
  assert_true(latent == 249 && kept[0] == -30 && kept[1] == -2);
  b.params.step[1].earlier[2] = 1;
  assert_int_equal(device_run(b.device, b.program, &b.params, &err), -1);
  assert_non_null(strstr(err.message, "step 1 looks back"));
  finish(&b);
}

/* PNDM calls the network twice in its first step: the second prediction is used but not kept. */
static void a_step_may_keep_nothing(void **state) {
  (void)state;
  struct bench b = begin();
  struct tensor x = input(&b, 1, 1, 1, (float[]){1}), m = input(&b, 1, 1, 1, (float[]){3});
  struct tensor earlier = plan_input(&b.plan, 1, 1, 1, 1, ELEMENT_PRECISE);
  for (int i = 0; i < 3; i++) {
    plan_step(&b.plan, "step", (struct op_step){.step = i, .x = x, .model = m, .earlier = earlier});
    b.params.step[i] = (struct step_params){.x = 2, .earlier = {i > 0}, .keep_x = i != 1};
  }
  prepare(&b, PIXEL_RGBA);
  run(&b, NULL, NULL);
  float latent, kept; /* 2, keeps 1; 4 + 1, keeps that 1; 10 + 1, keeps 5 */
  struct error err = {0};
  assert_int_equal(device_read(b.device, b.program, x, 0, &latent, 1, &err), 0);
  assert_int_equal(device_read(b.device, b.program, earlier, 0, &kept, 1, &err), 0);
  assert_true(latent == 11 && kept == 5);
  finish(&b);
}

/* The formula of Adams and Bashforth of fourth order, as PNDM uses it, on x' = -x from 1 in a loop of ten iterations:
 * the error must be as small as three earlier predictions allow. */
static void multistep_solvers_fit_the_step(void **state) {
  (void)state;
  enum { ITERATIONS = 10 };
  static const float formula[4][4] = {
      {1}, {3 / 2.f, -1 / 2.f}, {23 / 12.f, -16 / 12.f, 5 / 12.f}, {55 / 24.f, -59 / 24.f, 37 / 24.f, -9 / 24.f}};
  struct bench b = begin();
  const float h = 1.f / ITERATIONS;
  struct tensor x = input(&b, 1, 1, 1, (float[]){1}), minus = weight(&b, "minus", 1, 1, 1, (float[]){-1});
  struct tensor earlier = plan_input(&b.plan, 3, 1, 1, 1, ELEMENT_PRECISE);
  plan_loop_begin(&b.plan, ITERATIONS);
  struct tensor m = plan_linear(&b.plan, "slope", (struct op_linear){.x = x, .weight = minus});
  plan_step(&b.plan, "step", (struct op_step){.x = x, .model = m, .earlier = earlier});
  plan_loop_end(&b.plan);
  for (int i = 0; i < ITERATIONS; i++) {
    const float *f = formula[i < 3 ? i : 3];
    b.params.step[i] =
        (struct step_params){.x = 1, .model = h * f[0], .earlier = {h * f[1], h * f[2], h * f[3]}, .keep_model = 1};
  }
  prepare(&b, PIXEL_RGBA);
  run(&b, NULL, NULL);
  float end;
  struct error err = {0};
  assert_int_equal(device_read(b.device, b.program, x, 0, &end, 1, &err), 0);
  assert_true(fabs((double)end - exp(-1)) < 3e-3); /* the first steps' error is larger; Euler's method has 0.019 */
  finish(&b);
}

/* In each iteration x is doubled and the time row's value subtracted, and in the first one 100 is added: 3, 6 - 1 +
 * 100, 210 - 20. */
static void a_loop_hands_on_its_latent(void **state) {
  (void)state;
  const float rows[3] = {5, 1, 20};
  struct bench b = begin();
  struct error err = {0};
  struct tensor x = input(&b, 1, 1, 1, (float[]){3}), noise, table;
  noise = give(&b, resources_state(&b.resources, "noise", 2, 1, 1, 1, ELEMENT_PRECISE, &err), (float[]){-7, 1});
  table = give(&b, resources_state(&b.resources, "table", 3, 1, 1, 1, ELEMENT_DEVICE, &err), rows);
  plan_loop_begin(&b.plan, 2);
  struct tensor row = plan_time_row(&b.plan, "row", (struct op_time_row){.step = 1, .table = table});
  plan_step(&b.plan, "step", (struct op_step){.step = 1, .x = x, .model = row, .noise = noise});
  plan_loop_end(&b.plan);
  struct tensor behind = plan_time_row(&b.plan, "row", (struct op_time_row){.step = 0, .table = table});
  b.params.step[1] = (struct step_params){999, 2, -1, 100};
  b.params.step[2] = (struct step_params){4, 2, -1, 0};
  prepare(&b, PIXEL_RGBA);
  run(&b, NULL, NULL);
  float latent, time;
  assert_int_equal(device_read(b.device, b.program, x, 0, &latent, 1, &err), 0);
  assert_int_equal(device_read(b.device, b.program, behind, 0, &time, 1, &err), 0);
  assert_true(latent == 190 && time == 5);
  finish(&b);
}

/* Two latents of two pictures each, at steps 1 and 2 with gains 2 and -1. x W^T + bias is 1 * 3 + 10 * 4 + 5 = 48 for
 * the first pixel, then one more for each. In guess mode the second of three outputs has the factor 10^-0.5, for the
 * first picture of each latent only. */
static void a_control_adds_its_share(void **state) {
  (void)state;
  for (int guess = 0; guess < 2; guess++) {
    struct bench b = begin();
    struct error err = {0};
    const float x[8] = {1, 10, 1.5f, 9.875f, 2, 9.75f, 2.5f, 9.625f};
    struct op_inject op = {.control = 3, .step = 1, .index = 1, .count = 3, .rows = 2};
    b.plan.resources = &b.resources;
    op.x = give(&b, plan_input(&b.plan, 4, 1, 1, 2, ELEMENT_DEVICE), x);
    op.y = give(&b, plan_input(&b.plan, 4, 1, 1, 1, ELEMENT_DEVICE), (float[]){100, 200, 300, 400});
    op.weight = weight(&b, "w", 1, 1, 2, (float[]){3, 4});
    op.bias = vector(&b, "b", 1, (float[]){5});
    plan_inject(&b.plan, "inject", op);
    b.params.control[3].gain[1] = 2;
    b.params.control[3].gain[2] = -1;
    b.params.control[3].guess = guess;
    prepare(&b, PIXEL_RGBA);
    run(&b, NULL, NULL);
    float y[4], gain[4] = {2, guess ? 0 : 2, -1, guess ? 0 : -1};
    assert_int_equal(device_read(b.device, b.program, op.y, 0, y, 4, &err), 0);
    for (int i = 0; i < 4; i++) {
      double more = (double)gain[i] * (48 + i) * (guess ? pow(10, -0.5) : 1);
      assert_true(fabs((double)y[i] - (100 * (i + 1) + more)) < 1e-4);
    }
    finish(&b);
  }
}

static void only_chosen_rows_see_the_image(void **state) {
  (void)state;
  struct bench b = begin();
  struct op_unet_input op = {.x = input(&b, 1, 1, 1, (float[]){5}), .image = input(&b, 1, 1, 2, (float[]){6, 7})};
  op.image_rows = 1 << 1;
  op.y.n = 3;
  expect(&b, plan_unet_input(&b.plan, "in", op), (float[]){5, 0, 0, 5, 6, 7, 5, 0, 0}, 0);
}

/* Returns a state of the program with these values. */
static struct tensor state_of(struct bench *b, int h, int w, const float *data) {
  return give(b, plan_state(&b->plan, "kept", 1, h, w, 1, ELEMENT_PRECISE), data);
}

static void what_is_not_kept_is_hidden(void **state) {
  (void)state;
  struct bench b = begin();
  struct tensor kept = state_of(&b, 2, 2, (float[]){1, 0.5f, 0.25f, 0});
  struct op_mask op = {.x = input(&b, 2, 2, 2, (float[]){1, 2, 3, 4, 5, 6, 7, 8}), .kept = kept, .value = 9};
  expect(&b, plan_mask(&b.plan, "mask", op), (float[]){1, 2, 3, 4, 9, 9, 9, 9}, 0);
}

/* For the mask, the first value of each pixel is used. */
static void the_mask_is_beside_the_latent(void **state) {
  (void)state;
  struct bench b = begin();
  float kept[8] = {1, 0, 0, 1, 0, 0, 0, 0};
  struct op_unet_input op = {.x = input(&b, 1, 2, 1, (float[]){5, 6}),
                             .kept = state_of(&b, 2, 4, kept),
                             .image = input(&b, 1, 2, 1, (float[]){7, 8})};
  op.image_rows = 1;
  op.y.n = 1;
  expect(&b, plan_unet_input(&b.plan, "in", op), (float[]){5, 0, 7, 6, 1, 8}, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(prompts_repeat_for_each_step),
      cmocka_unit_test(guidance_becomes_a_wave),
      cmocka_unit_test(guidance_weighs_predictions),
      cmocka_unit_test(guidance_makes_its_reference),
      cmocka_unit_test(latents_take_steps_of_their_own),
      cmocka_unit_test(the_sampler_step_is_linear),
      cmocka_unit_test(a_step_looks_back),
      cmocka_unit_test(a_step_may_keep_nothing),
      cmocka_unit_test(multistep_solvers_fit_the_step),
      cmocka_unit_test(a_loop_hands_on_its_latent),
      cmocka_unit_test(a_control_adds_its_share),
      cmocka_unit_test(only_chosen_rows_see_the_image),
      cmocka_unit_test(what_is_not_kept_is_hidden),
      cmocka_unit_test(the_mask_is_beside_the_latent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
