/* Tests the definition of the ops (plain C), with which all devices are compared, against values worked out by hand.
 * This file has the ops of networks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/rigs/definition_bench.h"

static struct tensor slots_of_four(struct bench *b, int n, const float *data) {
  b->plan.resources = &b->resources;
  return give(b, plan_state(&b->plan, "slots", n, 1, 1, 4, ELEMENT_DEVICE), data);
}

/* --- convolution --- */

static const float nine[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, ones[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};

static void expect_conv(struct op_conv op, const float *kernel, const float *expected) {
  struct bench b = begin();
  op.x = input(&b, 3, 3, 1, nine);
  op.weight = weight(&b, "w", 1, 3, 1, kernel);
  expect(&b, plan_conv(&b.plan, "conv", op), expected, 0);
}

static void convolutions_sum_their_window(void **state) {
  (void)state;
  expect_conv((struct op_conv){.stride = 1, .pad = 1}, ones, (float[]){12, 21, 16, 27, 45, 33, 24, 39, 28});
  expect_conv((struct op_conv){.stride = 2, .pad = 1}, ones, (float[]){12, 16, 24, 28});
  expect_conv((struct op_conv){.stride = 1}, ones, (float[]){45});
  /* one zero row and column at the end only: the first window begins at the picture's corner */
  expect_conv((struct op_conv){.stride = 2, .pad_end_only = true}, ones, (float[]){45});
}

static void kernels_are_not_flipped(void **state) {
  (void)state;
  const float up_right[9] = {0, 0, 1, 0, 0, 0, 0, 0, 0}; /* gives y[i][j] = x[i - 1][j + 1] */
  expect_conv((struct op_conv){.stride = 1, .pad = 1}, up_right, (float[]){0, 0, 0, 2, 3, 0, 5, 6, 0});
}

static void upsampling_repeats_pixels(void **state) {
  (void)state;
  struct bench b = begin();
  struct tensor x = input(&b, 2, 2, 1, nine), w = weight(&b, "w", 1, 1, 1, ones);
  struct tensor y = plan_conv(&b.plan, "up", (struct op_conv){.x = x, .weight = w, .stride = 1, .upsample = true});
  expect(&b, y, (float[]){1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}, 0);
}

static void channels_mix_and_inputs_concatenate(void **state) {
  (void)state;
  struct bench b = begin();
  const float kernel[6] = {1, 10, 100, -1, 0, 2}; /* weights [2 out][3 in] */
  struct op_conv op = {.x = input(&b, 1, 2, 1, (float[]){1, 2}), .x2 = input(&b, 1, 2, 2, (float[]){3, 4, 5, 6})};
  op.weight = weight(&b, "w", 2, 1, 3, kernel);
  op.stride = 1;
  expect(&b, plan_conv(&b.plan, "mix", op), (float[]){431, 7, 652, 10}, 0);
}

static void a_convolution_adds_before_it_activates(void **state) {
  (void)state;
  struct bench b = begin();
  struct op_conv op = {.x = input(&b, 1, 2, 1, (float[]){1, 2}), .stride = 1, .act = ACT_RELU};
  op.weight = weight(&b, "w", 1, 1, 1, ones);
  op.bias = vector(&b, "bias", 1, (float[]){-10});
  op.time = tensor_channels(input(&b, 1, 1, 3, (float[]){50, 3, 70}), 1, 1);
  op.residual = input(&b, 1, 2, 1, (float[]){5, 6});
  expect(&b, plan_conv(&b.plan, "sum", op), (float[]){0, 1}, 0);
}

static void each_picture_has_its_time_row(void **state) {
  (void)state;
  struct bench b = begin();
  struct tensor x = give(&b, plan_input(&b.plan, 2, 1, 2, 1, ELEMENT_DEVICE), (float[]){1, 2, 3, 4});
  struct tensor times = give(&b, plan_input(&b.plan, 2, 1, 1, 3, ELEMENT_DEVICE), (float[]){10, 20, 30, 40, 50, 60});
  struct op_conv op = {.x = x, .stride = 1, .time = tensor_channels(times, 1, 1)};
  op.weight = weight(&b, "w", 1, 1, 1, ones);
  expect(&b, plan_conv(&b.plan, "sum", op), (float[]){21, 22, 53, 54}, 0);
}

static void padding_is_zero_after_the_norm(void **state) {
  (void)state;
  struct bench b = begin();
  struct op_conv op = {.x = input(&b, 1, 1, 1, (float[]){7}), .stride = 1, .pad = 1};
  op.prologue = (struct prologue){.norm = NORM_GROUP, .groups = 1, .eps = 1e-5f, .beta = vector(&b, "b", 1, ones)};
  op.weight = weight(&b, "w", 1, 3, 1, ones);
  /* the only pixel becomes beta; the padding around it stays 0 */
  expect(&b, plan_conv(&b.plan, "pad", op), (float[]){1}, 0);
}

/* --- linear --- */

static void a_linear_layer_adds_after_it_activates(void **state) {
  (void)state;
  struct bench b = begin();
  struct op_linear op = {.x = input(&b, 1, 1, 2, (float[]){1, 2}), .act = ACT_RELU};
  op.weight = weight(&b, "w", 2, 1, 2, (float[]){1, 1, -1, -2});
  op.bias = vector(&b, "bias", 2, (float[]){0.5f, 1});
  op.residual = input(&b, 1, 1, 2, (float[]){10, 20});
  expect(&b, plan_linear(&b.plan, "linear", op), (float[]){13.5f, 20}, 0);
}

static void geglu_gates_the_first_half_with_the_second(void **state) {
  (void)state;
  struct bench b = begin();
  struct op_linear op = {.x = input(&b, 1, 1, 1, ones), .act = ACT_GEGLU};
  op.weight = weight(&b, "w", 4, 1, 1, (float[]){2, 3, 1, -1});
  expect(&b, plan_linear(&b.plan, "geglu", op), (float[]){2 * 0.8413447461f, 3 * -0.1586552539f}, 1e-6);
}

static void activations_have_their_known_values(void **state) {
  (void)state;
  const struct {
    enum activation act;
    float at_one;
  } list[] = {{ACT_NONE, 1},
              {ACT_RELU, 1},
              {ACT_SILU, 0.7310585786f},
              {ACT_GELU, 0.8413447461f},
              {ACT_QUICK_GELU, 0.8457957659f},
              {ACT_TANH3, 0.9645377f}};
  for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
    struct bench b = begin();
    struct op_norm op = {.x = input(&b, 1, 1, 1, ones), .prologue = {.act = list[i].act}};
    expect(&b, plan_norm(&b.plan, "act", op), &list[i].at_one, 1e-6);
  }
}

static void affine_scales_and_then_adds(void **state) {
  (void)state;
  struct bench b = begin();
  struct op_affine op = {.x = input(&b, 1, 1, 3, nine), .scale = 2, .bias = -0.5f};
  expect(&b, plan_affine(&b.plan, "affine", op), (float[]){1.5f, 3.5f, 5.5f}, 0);
}

/* --- norms --- */

static void group_norm_centres_each_group_over_both_inputs(void **state) {
  (void)state;
  struct bench b = begin();
  /* channels of two inputs, 3 + 1, in 2 groups of 2: the second group has channels of both */
  struct op_conv op = {.x = input(&b, 1, 2, 3, (float[]){1, 3, 10, 5, 7, 30}), .stride = 1};
  op.x2 = input(&b, 1, 2, 1, (float[]){20, 40});
  op.prologue = (struct prologue){.norm = NORM_GROUP, .groups = 2, .eps = 0};
  op.prologue.gamma = vector(&b, "gamma", 4, (float[]){1, 1, 1, 2});
  op.prologue.beta = vector(&b, "beta", 4, (float[]){0, 0, 0, 5});
  op.weight = weight(&b, "w", 4, 1, 4, (float[]){1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
  const float s = 0.447213595f; /* means are 4 and 25, variances 5 and 125, so s is 1 / sqrt(5) */
  expect(&b, plan_conv(&b.plan, "norm", op),
         (float[]){-3 * s, -1 * s, -3 * s, -2 * s + 5, 1 * s, 3 * s, 1 * s, 6 * s + 5}, 1e-6);
}

static void layer_norm_centres_each_row(void **state) {
  (void)state;
  struct bench b = begin();
  struct op_norm op = {.x = input(&b, 1, 2, 2, (float[]){1, 3, -100, 100}), .prologue = {.norm = NORM_LAYER, .eps = 3}};
  expect(&b, plan_norm(&b.plan, "norm", op), (float[]){-0.5f, 0.5f, -0.99985f, 0.99985f}, 1e-6);
}

/* --- attention --- */

static struct tensor attend(struct bench *b, const float *q, const float *k, const float *v, int rows, int keys,
                            int heads, float scale, bool causal) {
  struct op_attention op = {.heads = heads, .scale = scale, .causal = causal};
  op.q = input(b, 1, rows, 2, q);
  op.k = input(b, 1, keys, 2, k);
  op.v = input(b, 1, keys, 2, v);
  return plan_attention(&b->plan, "attention", op);
}

static void attention_is_a_weighted_mean(void **state) {
  (void)state;
  struct bench b = begin();
  /* scores 0 and ln 3: weights 1/4 and 3/4 */
  struct tensor y =
      attend(&b, (float[]){1, 0}, (float[]){0, 9, 1.0986123f, -9}, (float[]){8, 4, 4, 8}, 1, 2, 1, 1, false);
  expect(&b, y, (float[]){5, 7}, 1e-5);
}

static void a_causal_row_sees_no_later_one(void **state) {
  (void)state;
  struct bench b = begin();
  const float q[4] = {0, 0, 0, 0}, k[4] = {5, 5, 5, 5}, v[4] = {1, 2, 3, 6};
  expect(&b, attend(&b, q, k, v, 2, 2, 1, 1, true), (float[]){1, 2, 2, 4}, 1e-6);
}

static void heads_do_not_mix(void **state) {
  (void)state;
  struct bench b = begin();
  /* head 0 attends almost only to key 0, head 1 to key 1 */
  const float q[2] = {100, 100}, k[4] = {1, 0, 0, 1}, v[4] = {1, 2, 3, 4};
  expect(&b, attend(&b, q, k, v, 1, 2, 2, 1, false), (float[]){1, 4}, 1e-6);
}

/* --- times, tokens, prompts --- */

static void timesteps_become_waves(void **state) {
  (void)state;
  for (int cos_first = 0; cos_first < 2; cos_first++) {
    struct bench b = begin();
    struct op_timestep op = {.y = {.n = 3, .c = 4}, .cos_first = cos_first};
    struct tensor y = plan_timestep(&b.plan, "time", op);
    static const float timesteps[3] = {0, 999, 249.75f};
    float rows[12];
    struct error err = {0};
    for (int i = 0; i < 3; i++)
      b.params.step[i].timestep = timesteps[i];
    prepare(&b, PIXEL_RGBA);
    run(&b, NULL, NULL);
    assert_int_equal(device_read(b.device, b.program, y, 0, rows, 12, &err), 0);
    for (int i = 0; i < 3; i++)
      for (int k = 0; k < 2; k++) { /* frequencies 1 and 1/100 */
        double angle = (double)timesteps[i] * (k ? 0.01 : 1);
        assert_true(fabs((double)rows[4 * i + (cos_first ? k : 2 + k)] - cos(angle)) < 1e-6);
        assert_true(fabs((double)rows[4 * i + (cos_first ? 2 + k : k)] - sin(angle)) < 1e-6);
      }
    finish(&b);
  }
}

/* Two latents a step; then two values with one frequency each, side by side in each of three rows. */
static void timesteps_have_rows_and_values(void **state) {
  (void)state;
  for (int values = 0; values < 2; values++) {
    struct bench b = begin();
    struct op_timestep op = {.y = {.n = 4, .c = 2}, .rows = 2};
    if (values)
      op = (struct op_timestep){.y = {.n = 3, .c = 4}, .cos_first = true, .values = 2, .value = {0, 2}};
    float s1 = (float)sin(1), s2 = (float)sin(2), c1 = (float)cos(1), c2 = (float)cos(2);
    b.params.step[0].timestep = 1;
    b.params.step[1].timestep = 2;
    expect(&b, plan_timestep(&b.plan, "time", op),
           values ? (float[]){1, 0, c2, s2, 1, 0, c2, s2, 1, 0, c2, s2} : (float[]){s1, c1, s1, c1, s2, c2, s2, c2},
           1e-6);
  }
}

static void styles_are_added_to_what_is_there(void **state) {
  (void)state;
  struct bench b = begin();
  /* Three slots of one token: its softmax is 1, so the result is v. */
  struct tensor kv = slots_of_four(&b, 3, (float[]){9, 9, 10, 20, 9, 9, 30, 40, 9, 9, 5, 6});
  struct op_style op = {.q = input(&b, 2, 1, 2, (float[]){1, 2, 3, 4}),
                        .y = input(&b, 2, 1, 2, (float[]){1, 1, 2, 2}),
                        .k = tensor_channels(kv, 0, 2),
                        .v = tensor_channels(kv, 2, 2),
                        .heads = 1,
                        .scale = 1,
                        .part = STYLE_LOOK};
  op.q.n = op.y.n = 2, op.q.h = op.y.h = 1;
  b.params.style[0] = (struct style_params){.slot = 0, .weight = 2, .part = {7, 1, 7}};
  b.params.style[1] = (struct style_params){.slot = 1, .weight = 1, .part = {7, 0.5f, 7}};
  b.params.style[2] = (struct style_params){.slot = 99, .weight = 1, .part = {7, 0, 7}};
  plan_style(&b.plan, "style", op);
  /* The second picture is the negative row, from which guidance leads away. */
  expect(&b, op.y, (float[]){1 + 20 + 15, 1 + 40 + 20, 2 + 12.5f, 2 + 15}, 1e-5);
}

static void tokens_are_joined(void **state) {
  (void)state;
  struct bench b = begin();
  struct op_join op = {.x = weight(&b, "first", 1, 1, 2, (float[]){1, 2}),
                       .x2 = input(&b, 1, 2, 2, (float[]){3, 4, 5, 6}),
                       .position = weight(&b, "position", 3, 1, 2, (float[]){10, 20, 30, 40, 50, 60})};
  expect(&b, plan_join(&b.plan, "join", op), (float[]){11, 22, 33, 44, 55, 66}, 0);
}

static void blocks_become_pixels(void **state) {
  (void)state;
  struct bench b = begin();
  struct op_blocks op = {.x = input(&b, 2, 4, 2, (float[]){1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 6, 60, 7, 70, 8, 80}),
                         .size = 2};
  expect(&b, plan_blocks(&b.plan, "blocks", op), (float[]){1, 2, 5, 6, 10, 20, 50, 60, 3, 4, 7, 8, 30, 40, 70, 80}, 0);
}

static void blocks_become_means(void **state) {
  (void)state;
  struct bench b = begin();
  struct op_blocks op = {.x = input(&b, 2, 4, 2, (float[]){1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 6, 60, 7, 70, 8, 80}),
                         .size = 2,
                         .mean = true};
  op.x = tensor_channels(op.x, 1, 1);
  expect(&b, plan_blocks(&b.plan, "blocks", op), (float[]){35, 55}, 1e-5);
}

static void the_end_token_is_picked(void **state) {
  (void)state;
  struct bench b = begin();
  struct op_end_token op = {.x = input(&b, 1, 3, 2, (float[]){1, 2, 3, 4, 5, 6})};
  b.params.end = 1;
  expect(&b, plan_end_token(&b.plan, "end", op), (float[]){3, 4}, 0);
}

/* Emphasis of two tokens of two channels: the mean stays 2.5, unless the scaled mean is 0. */
static void emphasis_keeps_the_mean(void **state) {
  (void)state;
  static const struct {
    float emphasis[2], y[4];
  } cases[] = {
      {{0, 0}, {1, 2, 3, 4}},
      {{0.5f, 0}, {1.5f * 10 / 11.5f, 3 * 10 / 11.5f, 3 * 10 / 11.5f, 4 * 10 / 11.5f}},
      {{-1, -2}, {0, 0, 3 * 10 / 7.0f, 4 * 10 / 7.0f}},
      {{-1, -1}, {0, 0, 0, 0}},
      {{6, -4}, {70, 140, -90, -120}}, /* the scaled mean is 0, so the values stay as they are */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct bench b = begin();
    struct op_emphasis op = {.x = input(&b, 1, 2, 2, (float[]){1, 2, 3, 4})};
    memcpy(b.params.emphasis, cases[i].emphasis, sizeof cases[i].emphasis);
    expect(&b, plan_emphasis(&b.plan, "emphasis", op), cases[i].y, i ? 1e-5 : 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(convolutions_sum_their_window),
      cmocka_unit_test(kernels_are_not_flipped),
      cmocka_unit_test(upsampling_repeats_pixels),
      cmocka_unit_test(channels_mix_and_inputs_concatenate),
      cmocka_unit_test(a_convolution_adds_before_it_activates),
      cmocka_unit_test(padding_is_zero_after_the_norm),
      cmocka_unit_test(a_linear_layer_adds_after_it_activates),
      cmocka_unit_test(geglu_gates_the_first_half_with_the_second),
      cmocka_unit_test(activations_have_their_known_values),
      cmocka_unit_test(affine_scales_and_then_adds),
      cmocka_unit_test(group_norm_centres_each_group_over_both_inputs),
      cmocka_unit_test(layer_norm_centres_each_row),
      cmocka_unit_test(attention_is_a_weighted_mean),
      cmocka_unit_test(a_causal_row_sees_no_later_one),
      cmocka_unit_test(heads_do_not_mix),
      cmocka_unit_test(timesteps_become_waves),
      cmocka_unit_test(timesteps_have_rows_and_values),
      cmocka_unit_test(styles_are_added_to_what_is_there),
      cmocka_unit_test(tokens_are_joined),
      cmocka_unit_test(blocks_become_pixels),
      cmocka_unit_test(blocks_become_means),
      cmocka_unit_test(the_end_token_is_picked),
      cmocka_unit_test(emphasis_keeps_the_mean),
      cmocka_unit_test(each_picture_has_its_time_row),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
