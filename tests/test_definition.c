/* The definition of the ops itself, against values worked out by hand: everything else is compared with it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unet/base/picture.h"
#include "unet/devices.h"

/* A plan with its inputs and weights, run on "cpu:plain". */
struct bench {
  struct resources resources;
  struct plan plan;
  struct device *device;
  struct program *program;
  struct run_params params;
  struct {
    struct tensor tensor;
    const float *data;
  } inputs[8];
  int input_count;
};

static struct bench begin(void) {
  return (struct bench){.params.mix = 1};
}

static struct tensor give(struct bench *b, struct tensor t, const float *data) {
  b->inputs[b->input_count].tensor = t;
  b->inputs[b->input_count++].data = data;
  return t;
}

static struct tensor slots_of_four(struct bench *b, int n, const float *data) {
  b->plan.resources = &b->resources;
  return give(b, plan_state(&b->plan, "slots", n, 1, 1, 4, ELEMENT_DEVICE), data);
}

static struct tensor input(struct bench *b, int h, int w, int c, const float *data) {
  b->plan.resources = &b->resources;
  return give(b, plan_input(&b->plan, 1, h, w, c, ELEMENT_DEVICE), data);
}

/* data in checkpoint order: [out][in][k][k] */
static struct tensor weight(struct bench *b, const char *name, int out, int k, int in, const float *data) {
  struct error err = {0};
  bool vector = k == 0;
  struct weight_part part = {data, DTYPE_F32, out};
  struct tensor t = vector ? resources_weight(&b->resources, name, 1, 1, 1, out, &part, 1, &err)
                           : resources_weight(&b->resources, name, out, k, k, in, &part, 1, &err);
  assert_true(tensor_exists(t));
  return t;
}

static struct tensor vector(struct bench *b, const char *name, int c, const float *data) {
  return weight(b, name, c, 0, 0, data);
}

static void prepare(struct bench *b, enum pixel_format output) {
  struct error err = {0};
  b->plan.resources = &b->resources;
  if (plan_finish(&b->plan, &err) < 0 ||
      device_open(&b->device, &b->resources, &(struct device_options){.name = "cpu:plain"}, &err) < 0 ||
      device_prepare(b->device, &b->program, &b->plan, &(struct program_options){output}, &err) < 0 ||
      device_poison(b->device, b->program, &err) < 0)
    fail_msg("%s", err.message);
  for (int i = 0; i < b->input_count; i++)
    assert_int_equal(device_write(b->device, b->program, b->inputs[i].tensor, 0, b->inputs[i].data,
                                  tensor_elements(b->inputs[i].tensor), &err),
                     0);
}

static void run(struct bench *b, const struct frame *frame, struct frame *picture) {
  struct error err = {0};
  if (device_submit(b->device, b->program, &b->params, frame, &err) < 0 ||
      device_collect(b->device, b->program, picture, &err) < 0)
    fail_msg("%s", err.message);
}

static void finish(struct bench *b) {
  device_release(b->device, &b->program);
  device_close(&b->device);
  plan_free(&b->plan);
  resources_free(&b->resources);
}

/* Runs the plan and compares y with what it should be. */
static void expect(struct bench *b, struct tensor y, const float *expected, double tolerance) {
  struct error err = {0};
  size_t count = tensor_elements(y);
  float *values = malloc(count * sizeof *values);
  prepare(b, PIXEL_RGBA);
  run(b, NULL, NULL);
  assert_int_equal(device_read(b->device, b->program, y, 0, values, count, &err), 0);
  for (size_t i = 0; i < count; i++)
    if (!(fabs((double)values[i] - (double)expected[i]) <= tolerance))
      fail_msg("element %zu is %.9g, not %.9g", i, (double)values[i], (double)expected[i]);
  free(values);
  finish(b);
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
  /* one zero row and column at the end: windows begin at the picture's own corner */
  expect_conv((struct op_conv){.stride = 2, .pad_end_only = true}, ones, (float[]){45});
}

static void kernels_are_not_flipped(void **state) {
  (void)state;
  const float up_right[9] = {0, 0, 1, 0, 0, 0, 0, 0, 0}; /* y[i][j] = x[i - 1][j + 1] */
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
  const float kernel[6] = {1, 10, 100, -1, 0, 2}; /* [2 out][3 in] */
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
  expect(&b, plan_conv(&b.plan, "pad", op), (float[]){1}, 0); /* the lone pixel becomes beta; around it nothing */
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
  /* 3 + 1 channels in 2 groups of 2: the second group lies in both inputs */
  struct op_conv op = {.x = input(&b, 1, 2, 3, (float[]){1, 3, 10, 5, 7, 30}), .stride = 1};
  op.x2 = input(&b, 1, 2, 1, (float[]){20, 40});
  op.prologue = (struct prologue){.norm = NORM_GROUP, .groups = 2, .eps = 0};
  op.prologue.gamma = vector(&b, "gamma", 4, (float[]){1, 1, 1, 2});
  op.prologue.beta = vector(&b, "beta", 4, (float[]){0, 0, 0, 5});
  op.weight = weight(&b, "w", 4, 1, 4, (float[]){1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
  const float s = 0.447213595f; /* 1 / sqrt(5): means 4 and 25, variances 5 and 125 */
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
  /* head 0 prefers key 0 by far, head 1 key 1 */
  const float q[2] = {100, 100}, k[4] = {1, 0, 0, 1}, v[4] = {1, 2, 3, 4};
  expect(&b, attend(&b, q, k, v, 1, 2, 2, 1, false), (float[]){1, 4}, 1e-6);
}

/* --- time and sampler --- */

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

/* Two rows a step; and two values, of which each has one frequency, beside each other in each of three rows. */
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
  /* Three slots of one token, whose softmax is 1, so that v is what comes of it. */
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
  /* The second picture is the row that guidance leads away from. */
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

/* Two tokens of two channels, whose mean stays 2.5 unless that cannot be. */
static void emphasis_keeps_the_mean(void **state) {
  (void)state;
  static const struct {
    float emphasis[2], y[4];
  } cases[] = {
      {{0, 0}, {1, 2, 3, 4}},
      {{0.5f, 0}, {1.5f * 10 / 11.5f, 3 * 10 / 11.5f, 3 * 10 / 11.5f, 4 * 10 / 11.5f}},
      {{-1, -2}, {0, 0, 3 * 10 / 7.0f, 4 * 10 / 7.0f}},
      {{-1, -1}, {0, 0, 0, 0}},
      {{6, -4}, {70, 140, -90, -120}}, /* their mean is 0 */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct bench b = begin();
    struct op_emphasis op = {.x = input(&b, 1, 2, 2, (float[]){1, 2, 3, 4})};
    memcpy(b.params.emphasis, cases[i].emphasis, sizeof cases[i].emphasis);
    expect(&b, plan_emphasis(&b.plan, "emphasis", op), cases[i].y, i ? 1e-5 : 0);
  }
}

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

/* Rows are weighed; the prediction that leads to a reference is one more of them; and what spreads three times as wide
 * as its first row is brought back half of the way. */
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

/* The first step's negative row leaves the reference that the second step reads. */
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

/* What waits goes one place on, and each latent takes the step of its place. */
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

/* x = 2 x + m + 10 e0 + 100 e1, and e0 = m - x is kept: three steps by hand. */
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
  /* 2 + 3 = 5, keeps 2; 10 + 3 + 20 = 33, keeps -2; 66 + 3 - 20 + 200 = 249, keeps -30 */
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

/* PNDM asks twice for its first step: what the second asking says is used and not kept. */
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

/* Adams and Bashforth's formula of the fourth order, as PNDM has it, on x' = -x from 1 in a loop of ten iterations: its
 * error is what three earlier predictions are worth. */
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
  assert_true(fabs((double)end - exp(-1)) < 3e-3); /* the first steps' error; Euler's is 0.019 */
  finish(&b);
}

/* x is doubled, becomes less by the time row's value, and in the first iteration more by 100: 3, 6 - 1 + 100, 210 - 20.
 */
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
 * the first, then one more for each. Guessing, as the second of three: 10^-0.5, for first pictures alone. */
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

/* A state of a program. */
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

/* The first value of each pixel's counts. */
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

/* --- pixels in --- */

static struct frame frame_of(enum pixel_format format, int width, int height, const void *p0, const void *p1,
                             const void *p2) {
  struct frame f = {.format = format, .matrix = MATRIX_BT709, .width = width, .height = height};
  const void *planes[3] = {p0, p1, p2};
  for (int i = 0; i < frame_planes(format); i++) {
    f.plane[i] = planes[i];
    f.pitch[i] = frame_row_bytes(format, i, width);
  }
  return f;
}

static void expect_in(const struct frame *frame, struct geometry g, int w, int h, const float *expected,
                      double tolerance) {
  struct bench b = begin();
  struct error err = {0};
  struct tensor y = plan_pixels_in(&b.plan, "in", (struct op_pixels_in){.scale = 1, .y = {.h = h, .w = w}});
  float values[64];
  b.params.geometry[0] = g;
  prepare(&b, PIXEL_RGBA);
  run(&b, frame, NULL);
  assert_int_equal(device_read(b.device, b.program, y, 0, values, tensor_elements(y), &err), 0);
  for (size_t i = 0; i < tensor_elements(y); i++)
    if (!(fabs((double)values[i] - (double)expected[i]) <= tolerance))
      fail_msg("value %zu is %.9g, not %.9g", i, (double)values[i], (double)expected[i]);
  finish(&b);
}

static void known_colours_are_decoded(void **state) {
  (void)state;
  const struct {
    enum color_matrix matrix;
    uint8_t y, cb, cr;
    float r, g, b;
  } colours[] = {{MATRIX_BT601, 235, 128, 128, 1, 1, 1},
                 {MATRIX_BT601, 16, 128, 128, 0, 0, 0},
                 {MATRIX_BT601, 81, 90, 240, 1, 0, 0},
                 {MATRIX_BT601, 145, 54, 34, 0, 1, 0},
                 {MATRIX_BT601, 41, 240, 110, 0, 0, 1},
                 {MATRIX_BT709, 63, 102, 240, 1, 0, 0},
                 {MATRIX_BT709, 173, 42, 26, 0, 1, 0},
                 {MATRIX_BT709, 32, 240, 118, 0, 0, 1},
                 {MATRIX_BT2020, 74, 97, 240, 1, 0, 0},
                 {MATRIX_BT2020, 164, 47, 25, 0, 1, 0},
                 {MATRIX_BT709, 255, 128, 128, 1, 1, 1}, /* whiter than white is clamped */
                 {MATRIX_BT709, 126, 128, 128, 0.5023f, 0.5023f, 0.5023f}};
  for (size_t i = 0; i < sizeof colours / sizeof colours[0]; i++) {
    struct frame f = frame_of(PIXEL_YUV420P, 1, 1, &colours[i].y, &colours[i].cb, &colours[i].cr);
    f.matrix = colours[i].matrix;
    /* codes are whole numbers: an error of half a code in each */
    expect_in(&f, (struct geometry){0, 0, 1, 1, 0, 0, 1, 1}, 1, 1, &colours[i].r, 0.006);
  }
}

static void ten_bits_and_full_range_are_scaled(void **state) {
  (void)state;
  const uint8_t y10[2] = {940 << 6 & 255, 940 >> 2}, c10[4] = {0, 512 >> 2, 0, 512 >> 2};
  struct frame f = frame_of(PIXEL_P010, 1, 1, y10, c10, NULL);
  expect_in(&f, (struct geometry){0, 0, 1, 1, 0, 0, 1, 1}, 1, 1, (float[]){1, 1, 1}, 1e-6);
  const uint8_t y = 51, c = 128;
  f = frame_of(PIXEL_YUV420P, 1, 1, &y, &c, &c);
  f.range = RANGE_FULL;
  expect_in(&f, (struct geometry){0, 0, 1, 1, 0, 0, 1, 1}, 1, 1, (float[]){0.2f, 0.2f, 0.2f}, 1e-6);
}

static const uint8_t four_pixels[16] = {0, 51, 102, 9, 255, 153, 204, 9, 51, 0, 255, 9, 102, 204, 153, 9};

static void an_unscaled_frame_is_exact(void **state) {
  (void)state;
  struct frame f = frame_of(PIXEL_RGBA, 2, 2, four_pixels, NULL, NULL);
  float expected[12];
  for (int i = 0; i < 12; i++)
    expected[i] = (float)four_pixels[i / 3 * 4 + i % 3] / 255;
  expect_in(&f, (struct geometry){0, 0, 2, 2, 0, 0, 2, 2}, 2, 2, expected, 1e-7);
  f.format = PIXEL_BGRA;
  for (int i = 0; i < 12; i++)
    expected[i] = (float)four_pixels[i / 3 * 4 + 2 - i % 3] / 255;
  expect_in(&f, (struct geometry){0, 0, 2, 2, 0, 0, 2, 2}, 2, 2, expected, 1e-7);
}

static void a_reduction_is_the_mean_of_its_area(void **state) {
  (void)state;
  struct frame f = frame_of(PIXEL_RGBA, 2, 2, four_pixels, NULL, NULL);
  expect_in(&f, (struct geometry){0, 0, 2, 2, 0, 0, 1, 1}, 1, 1, (float[]){0.4f, 0.4f, 0.7f}, 1e-6);
  /* 3 samples to 2: each takes one and a half */
  const uint8_t three[3] = {0, 90, 180}, grey = 128;
  f = frame_of(PIXEL_YUV420P, 3, 1, three, (uint8_t[]){grey, grey}, (uint8_t[]){grey, grey});
  f.range = RANGE_FULL;
  const float a = 30 / 255.0f, b = 150 / 255.0f;
  expect_in(&f, (struct geometry){0, 0, 3, 1, 0, 0, 2, 1}, 2, 1, (float[]){a, a, a, b, b, b}, 1e-6);
}

static void an_enlargement_is_linear(void **state) {
  (void)state;
  const uint8_t pixels[8] = {0, 0, 0, 0, 255, 255, 255, 0};
  struct frame f = frame_of(PIXEL_RGBA, 2, 1, pixels, NULL, NULL);
  expect_in(&f, (struct geometry){0, 0, 2, 1, 0, 0, 4, 1}, 4, 1,
            (float[]){0, 0, 0, 0.25f, 0.25f, 0.25f, 0.75f, 0.75f, 0.75f, 1, 1, 1}, 1e-6);
}

static void chroma_lies_between_its_pixels(void **state) {
  (void)state;
  /* Cr 128 and 240 under four pixels: at a quarter of the way from one chroma sample to the next, and at the edges */
  const uint8_t y[4] = {100, 100, 100, 100}, cb[2] = {128, 128}, cr[2] = {128, 240};
  struct frame f = frame_of(PIXEL_YUV420P, 4, 1, y, cb, cr);
  float expected[12];
  const double share[4] = {0, 0.25, 0.75, 1};
  for (int i = 0; i < 4; i++) {
    double luma = 84.0 / 219, red = 112.0 / 224 * share[i];
    expected[3 * i] = (float)fmin(luma + 1.5748 * red, 1);
    expected[3 * i + 1] = (float)(luma - 1.5748 * 0.2126 / 0.7152 * red);
    expected[3 * i + 2] = (float)luma;
  }
  expect_in(&f, (struct geometry){0, 0, 4, 1, 0, 0, 4, 1}, 4, 1, expected, 1e-6);
}

static void a_letterbox_is_black(void **state) {
  (void)state;
  const uint8_t white[4] = {255, 255, 255, 255};
  struct frame f = frame_of(PIXEL_RGBA, 1, 1, white, NULL, NULL);
  expect_in(&f, (struct geometry){0, 0, 1, 1, 1, 1, 1, 1}, 3, 3,
            (float[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0);
}

/* Each op takes the frame and the rectangle of its own source. */
static void sources_are_apart(void **state) {
  (void)state;
  const uint8_t white[4] = {255, 255, 255, 255};
  const struct frame frames[SOURCES_MAX] = {frame_of(PIXEL_RGBA, 1, 1, white, NULL, NULL),
                                            frame_of(PIXEL_BGRA, 2, 2, four_pixels, NULL, NULL)};
  struct bench b = begin();
  struct error err = {0};
  struct tensor y[3];
  float values[2 * 3];
  b.params.geometry[0] = (struct geometry){0, 0, 1, 1, 0, 0, 1, 1};
  b.params.geometry[1] = (struct geometry){0, 1, 2, 1, 0, 0, 2, 1};
  for (int i = 0; i < 3; i++)
    y[i] = plan_pixels_in(&b.plan, "in", (struct op_pixels_in){.scale = 1, .source = i % 2, .y = {.h = 1, .w = 2}});
  prepare(&b, PIXEL_RGBA);
  run(&b, frames, NULL);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(device_read(b.device, b.program, y[i], 0, values, 6, &err), 0);
    for (int c = 0; c < 6; c++) {
      float second = (float)four_pixels[8 + c / 3 * 4 + 2 - c % 3] / 255;
      assert_true(fabsf(values[c] - (i % 2 ? second : c < 3)) < 1e-6f);
    }
  }
  finish(&b);
}

/* --- pixels out --- */

static void expect_out(enum pixel_format format, int w, int h, const float *rgb, const uint8_t *p0, const uint8_t *p1,
                       const uint8_t *p2) {
  struct bench b = begin();
  struct frame picture;
  plan_pixels_out(&b.plan, "out", (struct op_pixels_out){.scale = 1, .x = input(&b, h, w, 3, rgb)});
  prepare(&b, format);
  run(&b, NULL, &picture);
  assert_int_equal(picture.format, format);
  assert_int_equal(picture.width, w);
  assert_int_equal(picture.height, h);
  const uint8_t *planes[3] = {p0, p1, p2};
  for (int i = 0; i < frame_planes(format); i++) {
    size_t row = (size_t)frame_row_bytes(format, i, w);
    for (int y = 0; y < frame_rows(format, i, h); y++)
      assert_memory_equal(picture.plane[i] + (long)y * picture.pitch[i], planes[i] + (size_t)y * row, row);
  }
  frame_release(&picture);
  finish(&b);
}

static void pictures_are_encoded(void **state) {
  (void)state;
  const float colours[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}; /* red, green, blue */
  expect_out(PIXEL_RGBA, 3, 1, colours, (uint8_t[]){255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255}, NULL, NULL);
  expect_out(PIXEL_BGRA, 3, 1, colours, (uint8_t[]){0, 0, 255, 255, 0, 255, 0, 255, 255, 0, 0, 255}, NULL, NULL);
  /* BT.709: red 63 102 240, green 173 42 26, blue 32 240 118; chroma of the first pair is the mean */
  expect_out(PIXEL_YUV420P, 3, 1, colours, (uint8_t[]){63, 173, 32}, (uint8_t[]){72, 240}, (uint8_t[]){133, 118});
  expect_out(PIXEL_NV12, 3, 1, colours, (uint8_t[]){63, 173, 32}, (uint8_t[]){72, 133, 240, 118}, NULL);
  expect_out(PIXEL_YUYV, 3, 1, colours, (uint8_t[]){63, 72, 173, 133, 32, 240, 32, 118}, NULL, NULL);
  /* beyond the range, and not a number */
  expect_out(PIXEL_RGBA, 2, 1, (float[]){7, -7, 0.5f, NAN, 0.25f, 1}, (uint8_t[]){255, 0, 128, 255, 0, 64, 255, 255},
             NULL, NULL);
}

static void the_input_is_mixed_in(void **state) {
  (void)state;
  struct bench b = begin();
  struct frame picture;
  struct op_pixels_out op = {.scale = 0.5f, .bias = 0.5f, .input_scale = 1};
  op.x = input(&b, 1, 1, 3, (float[]){1, 0, -1});
  op.input = input(&b, 1, 1, 3, (float[]){0, 1, 0.6f});
  b.params.mix = 0.25f;
  plan_pixels_out(&b.plan, "out", op);
  prepare(&b, PIXEL_RGBA);
  run(&b, NULL, &picture);
  assert_memory_equal(picture.plane[0], ((uint8_t[]){64, 223, 115, 255}), 4);
  frame_release(&picture);
  finish(&b);
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
      cmocka_unit_test(prompts_repeat_for_each_step),
      cmocka_unit_test(each_picture_has_its_time_row),
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
      cmocka_unit_test(known_colours_are_decoded),
      cmocka_unit_test(ten_bits_and_full_range_are_scaled),
      cmocka_unit_test(an_unscaled_frame_is_exact),
      cmocka_unit_test(a_reduction_is_the_mean_of_its_area),
      cmocka_unit_test(an_enlargement_is_linear),
      cmocka_unit_test(chroma_lies_between_its_pixels),
      cmocka_unit_test(a_letterbox_is_black),
      cmocka_unit_test(sources_are_apart),
      cmocka_unit_test(pictures_are_encoded),
      cmocka_unit_test(the_input_is_mixed_in),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
