/* Cases of the ops that add control networks' outputs, and of regions that run only in some steps. */
#include "tests/rigs/op_cases.h"

/* --- inject --- */

struct inject_case {
  /* out: channels of the convolution that x goes through before it is added; 0: x itself is added */
  int n, h, w, c, out;
  bool bias, one;   /* one: x is a single picture, which is added to all n */
  int rows, first;  /* values of op_inject.rows and op_inject.first */
  int index, count; /* values of op_inject.index and op_inject.count; count 0 stands for 13 */
  bool guess, off;  /* guess: ControlNet's guess mode is on; off: the control's weight is 0 at some steps */
  enum fill fill;
};

/* Returns a copy of x, which is made again in every run, because the op adds to it. */
static struct tensor copy_of(struct op_test *t, struct tensor x) {
  return plan_affine(&t->plan, "copy", (struct op_affine){.x = x, .scale = 1});
}

static void set_gains(struct op_test *t, int control, bool off) {
  for (int i = 0; i < CALLS_MAX; i++)
    t->params.control[control].gain[i] = off && i % 3 == 1 ? 0 : (float)(2 * test_uniform(t) - 0.75);
}

static void build_inject(struct op_test *t, const void *argument) {
  const struct inject_case *c = argument;
  struct op_inject op = {.control = 2, .step = 4, .index = c->index, .count = c->count ? c->count : 13};
  op.x = test_input(t, c->one ? 1 : c->n, c->h, c->w, c->c, ELEMENT_DEVICE, c->fill);
  if (c->out)
    op.weight = test_weight(t, c->out, 1, c->c);
  if (c->bias)
    op.bias = test_vector(t, c->out, 0);
  op.y = copy_of(t, test_input(t, c->n, c->h, c->w, c->out ? c->out : c->c, ELEMENT_DEVICE, c->fill));
  op.rows = c->rows;
  op.first = c->first;
  set_gains(t, op.control, c->off);
  t->params.control[op.control].guess = c->guess;
  plan_inject(&t->plan, "inject", op);
  test_output(t, op.y);
}

/* --- pixels to blocks, by which adapters read a map --- */

struct blocks_case {
  int n, h, w, c, first, channels, size; /* the op reads channels first to first + channels - 1 of the c channels */
  bool mean;
};

static void build_blocks(struct op_test *t, const void *argument) {
  const struct blocks_case *c = argument;
  struct tensor x = test_input(t, c->n, c->h, c->w, c->c, ELEMENT_DEVICE, FILL_NORMAL);
  struct op_blocks op = {.x = tensor_channels(x, c->first, c->channels), .size = c->size, .mean = c->mean};
  test_output(t, plan_blocks(&t->plan, "blocks", op));
}

static const struct blocks_case blocks_cases[] = {
    {1, 32, 48, 3, 0, 3, 8},
    {1, 32, 64, 3, 0, 1, 16},
    {2, 6, 9, 5, 2, 2, 3},
    {1, 5, 7, 4, 0, 4, 1},
    {1, 16, 24, 64, .channels = 64, .size = 2, .mean = true},
    {2, 6, 9, 7, 3, 4, 3, .mean = true},
};

static const struct inject_case inject_cases[] = {
    /* shapes of the networks */
    {1, 16, 16, 320, 320, .bias = true},
    {2, 8, 8, 640, 640, .bias = true, .rows = 2, .index = 7},
    {1, 8, 8, 1280, 1280, .bias = true, .guess = true, .index = 12},
    {2, 8, 8, 1280, 1280, .bias = true, .guess = true, .index = 5},
    {1, 24, 40, 320, 320, .fill = FILL_LARGE},
    {1, 4, 4, 1280, 1280, .bias = true, .fill = FILL_TINY},
    /* as for a T2I-Adapter: without a weight */
    {1, 16, 16, 320, .count = 4},
    {2, 9, 7, 640, .one = true, .count = 4, .index = 3},
    {3, 5, 7, 64, .one = true, .rows = 1, .guess = true},
    {2, 5, 7, 24, .rows = 2, .guess = true, .index = 6},
    {1, 3, 5, 7},
    {2, 3, 5, 7, .one = true, .fill = FILL_ZEROS},
    /* several latents, each at its own step */
    {4, 8, 8, 128, 128, .bias = true, .rows = 1, .off = true},
    {6, 5, 7, 64, 96, .bias = true, .rows = 2, .guess = true, .off = true, .index = 3},
    {5, 6, 6, 64, 64, .rows = 1, .first = 2, .guess = true, .off = true},
    {7, 5, 3, 40, .rows = 2, .first = 3, .guess = true, .index = 1},
    {3, 43, 47, 72, 168, .bias = true, .rows = 3},
    {8, 13, 11, 72, 200, .bias = true, .rows = 1, .off = true},
    /* unusual shapes */
    {1, 1, 1, 8, 8, .bias = true},
    {1, 3, 5, 7, 5, .bias = true},
    {2, 5, 3, 19, 33, .rows = 1, .guess = true, .index = 0, .count = 1},
    {3, 7, 9, 33, 24, .bias = true, .rows = 1, .off = true},
    {1, 20, 22, 136, 200, .bias = true},
    {1, 90, 11, 64, 4, .bias = true},
    {2, 1, 131, 328, 160, .bias = true, .fill = FILL_CONSTANT},
    {1, 31, 33, 640, 480, .bias = true, .fill = FILL_ZEROS},
};

/* --- regions --- */

enum { REGION_CONTROLS = 3 };

struct region_case {
  /* for each control: bit i is set if its gain is not 0 in iteration i of the loop */
  unsigned on[REGION_CONTROLS];
  bool map, style, guess;
  int latents;
  /* the controls' layers may run in parallel with the network's, and the map in parallel with the start */
  bool parallel;
  bool straight; /* there is no loop, but one iteration */
  int controls;  /* number of controls; 0 stands for 2 */
};

static struct tensor region_conv(struct op_test *t, struct tensor x, int k) {
  struct op_conv op = {.x = x, .weight = test_weight(t, 32, k, x.c), .stride = 1, .pad = k / 2};
  op.prologue = (struct prologue){.norm = NORM_GROUP, .groups = 8, .eps = 1e-5f, .act = ACT_SILU};
  return plan_conv(&t->plan, "conv", op);
}

/* Appends a control of two layers, each of which adds to a layer of the network. parallel: the control's layers may run
 * at the same time as the ops from this number on; below 0: they run after all ops before them. */
static void append_control(struct op_test *t, int control, int parallel, struct tensor x, struct tensor hint,
                           struct tensor y[2]) {
  struct op_inject op = {.control = control, .step = 2, .count = 2, .rows = 1};
  struct op_conv in = {.x = x, .weight = test_weight(t, 32, 3, x.c), .residual = hint, .stride = 1, .pad = 1};
  plan_region_begin(&t->plan, (struct region_when){REGION_CONTROL, control, .step = op.step, .latents = y[0].n});
  struct tensor h[2] = {region_conv(t, plan_conv(&t->plan, "in", in), 1)};
  h[1] = region_conv(t, h[0], 3);
  if (parallel >= 0)
    plan_region_end_parallel(&t->plan, parallel);
  for (; op.index < op.count; op.index++) {
    op.x = h[op.index];
    op.weight = test_weight(t, 32, 1, 32);
    op.y = y[op.index];
    plan_inject(&t->plan, "inject", op);
  }
  plan_region_end(&t->plan);
}

/* Controls in a loop of four iterations, or in one iteration without a loop, with a map before it and a style after
 * it. */
static void build_regions(struct op_test *t, const void *argument) {
  const struct region_case *c = argument;
  struct plan *plan = &t->plan;
  struct tensor z = test_input(t, c->latents, 9, 7, 32, ELEMENT_DEVICE, FILL_NORMAL),
                hint = test_state(t, c->latents, 9, 7, 32, ELEMENT_DEVICE);
  struct op_step step = {.step = 2};
  static const int controls[REGION_CONTROLS] = {1, 3, 2};
  int begin = plan->op_count, count = c->controls ? c->controls : 2;
  step.x = plan_affine(plan, "start", (struct op_affine){.x = z, .scale = 1, .precise = true});
  plan_region_begin(plan, (struct region_when){REGION_MAP, 1});
  struct tensor map = plan_norm(plan, "map", (struct op_norm){.x = z, .prologue = {.act = ACT_SILU}});
  plan_norm(plan, "hint", (struct op_norm){.x = map, .prologue = {.norm = NORM_LAYER, .eps = 1e-5f}, .y = hint});
  if (c->parallel)
    plan_region_end_parallel(plan, begin);
  plan_region_end(plan);
  if (!c->straight)
    plan_loop_begin(plan, 4);
  struct tensor x = plan_unet_input(plan, "input", (struct op_unet_input){.x = step.x, .y.n = c->latents, .rows = 1});
  int parallel = c->parallel ? plan->op_count : -1;
  struct tensor y[2] = {region_conv(t, x, 3)};
  y[1] = region_conv(t, y[0], 1);
  for (int j = 0; j < count; j++)
    append_control(t, controls[j], parallel, x, hint, y);
  step.model = plan_linear(plan, "up", (struct op_linear){.x = y[0], .x2 = y[1], .weight = test_weight(t, 32, 1, 64)});
  plan_step(plan, "step", step);
  if (!c->straight)
    plan_loop_end(plan);
  struct tensor out = plan_affine(plan, "out", (struct op_affine){.x = step.x, .scale = 0.5f});
  plan_region_begin(plan, (struct region_when){REGION_STYLE, 0});
  plan_inject(plan, "style", (struct op_inject){.x = z, .y = out, .count = 1, .rows = 1});
  plan_region_end(plan);
  test_output(t, out);
  test_output(t, hint);
  for (int i = 0; i < 4 + c->latents; i++) {
    t->params.step[2 + i] = (struct step_params){.x = 0.75f, .model = 0.25f};
    for (int j = 0; j < count; j++)
      t->params.control[controls[j]].gain[2 + i] = c->on[j] >> i & 1 ? 0.5f : 0;
    t->params.control[0].gain[i] = 0.5f;
  }
  t->params.control[1].map = c->map;
  t->params.control[3].guess = c->guess;
  t->params.style[0].weight = c->style ? -1 : 0;
}

static const struct region_case region_cases[] = {
    {{0, 0}, .latents = 1},
    {{15, 15}, true, true, .latents = 1},
    {{5, 2}, true, false, .latents = 1},
    {{8, 7}, false, true, true, .latents = 1},
    {{1, 0}, .latents = 2},
    {{4, 32}, true, .latents = 3},
    {{15, 15}, true, true, .latents = 1, .parallel = true},
    {{5, 3}, true, .latents = 1, .parallel = true},
    {{0, 12}, .guess = true, .latents = 2, .parallel = true},
    /* each region that is not left out is executed in every iteration, or only some are */
    {{15, 15}, true, .latents = 1, .parallel = true},
    {{31, 31, 31}, true, true, .latents = 2, .parallel = true, .controls = 3},
    {{0, 15, 15}, .latents = 1, .parallel = true, .controls = 3},
    {{15, 7, 15}, true, .latents = 1, .parallel = true, .controls = 3},
    {{1, 1}, true, .latents = 1, .straight = true},
    {{1, 1}, true, .latents = 1, .parallel = true, .straight = true},
    {{1, 1, 1}, true, .latents = 1, .parallel = true, .straight = true, .controls = 3},
    {{1, 0, 1}, true, true, .latents = 1, .parallel = true, .straight = true, .controls = 3},
    {{0, 1, 1}, true, .latents = 1, .parallel = true, .straight = true, .controls = 3},
    {{1, 1, 1}, .latents = 1, .parallel = true, .straight = true, .controls = 3},
    {{0, 0}, true, .latents = 1, .parallel = true, .straight = true},
};

const struct op_cases op_cases_control[] = {
    OP_CASES("inject", build_inject, inject_cases),
    OP_CASES("blocks", build_blocks, blocks_cases),
    OP_CASES("loop with regions", build_regions, region_cases),
    {NULL},
};
