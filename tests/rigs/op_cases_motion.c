/* Cases of motion: pictures of odd sizes that moved, were replaced, or show nothing. They have 8-bit codes, so that
 * devices of any precision get the same values, and whole numbers must then be equal. */
#include "tests/rigs/moving_picture.h"
#include "tests/rigs/op_cases.h"
#include "unet/plan/motion_math.h"

enum change { MOVED, REPLACED, BLANK, FLASH };

struct motion_case {
  int w, h, cell;
  enum change change;
  struct view view;
  bool restart, first; /* first: there is no earlier run */
  double noise;        /* deviation of noise in both pictures */
};

static int code(double grey) {
  return grey < 0 ? 0 : grey > 255 ? 255 : (int)(grey + 0.5);
}

/* Makes an input with a picture of a texture, in three channels that differ a little. */
static struct tensor picture(struct op_test *t, const struct motion_case *c, const struct waves *texture,
                             const struct view *view, double gain) {
  struct tensor x = test_input(t, 1, c->h, c->w, 3, ELEMENT_DEVICE, FILL_CONSTANT);
  float *data = t->operands[t->operand_count - 1].data;
  for (int i = 0; i < c->w * c->h; i++) {
    double grey = view_grey(texture, view, i % c->w - (c->w - 1) / 2.0, i / c->w - (c->h - 1) / 2.0);
    for (int k = 0; k < 3; k++)
      data[3 * i + k] = (float)code(gain * grey + 4 * k + c->noise * (double)test_normal(t)) / 256;
  }
  return x;
}

static const struct view centre = {1, 0, 0, 0};

static struct tensor picture_now(struct op_test *t, const struct motion_case *c, uint64_t seed) {
  struct waves texture = waves_make(seed + (c->change == REPLACED), c->change == BLANK ? 0 : 40);
  texture.sky = test_uniform(t) < 0.5 ? -c->h / 6.0 : -1e9;
  return picture(t, c, &texture, &centre, c->change == FLASH ? 2.5 : 1);
}

static struct op_pyramid pyramid_of(struct tensor x) {
  return (struct op_pyramid){.x = x, .scale = 256 / 255.0f};
}

/* Makes the state with the last frame's pyramid. */
static struct tensor append_last(struct op_test *t, const struct motion_case *c, uint64_t seed) {
  const struct waves texture = waves_make(seed, 40);
  const struct motion_size size = motion_size(c->w, c->h);
  struct tensor last = test_state(t, 1, 1, 1, motion_values(&size), ELEMENT_WHOLE);
  float *data = t->operands[t->operand_count - 1].data;
  for (int i = 0; i < last.c; i++)
    data[i] = 0;
  if (c->first)
    return last;
  struct op_pyramid op = pyramid_of(picture(t, c, &texture, &c->view, 1));
  op.y = last;
  plan_pyramid(&t->plan, "last", op);
  return last;
}

static uint64_t fresh(struct op_test *t) {
  return (uint64_t)test_integer(t, 0, 1 << 20) * 2;
}

static void build_pyramid(struct op_test *t, const void *argument) {
  test_output(t, plan_pyramid(&t->plan, "pyramid", pyramid_of(picture_now(t, argument, fresh(t)))));
}

static struct tensor append_match(struct op_test *t, const struct motion_case *c, struct op_flow *flow) {
  uint64_t seed = fresh(t);
  flow->last = append_last(t, c, seed);
  flow->now = plan_pyramid(&t->plan, "now", pyramid_of(picture_now(t, c, seed)));
  flow->w = c->w, flow->h = c->h, flow->cell = c->cell;
  return plan_match(&t->plan, "match", (struct op_match){.now = flow->now, .last = flow->last, .w = c->w, .h = c->h});
}

static void build_match(struct op_test *t, const void *argument) {
  struct op_flow flow = {0};
  test_output(t, append_match(t, argument, &flow));
}

static struct tensor whole_state(struct op_test *t, int h, int w, int c) {
  return test_state(t, 1, h, w, c, ELEMENT_WHOLE);
}

static void build_flow(struct op_test *t, const void *argument) {
  const struct motion_case *c = argument;
  struct op_flow op = {0};
  op.match = append_match(t, c, &op);
  op.fit = plan_fit(&t->plan, "fit", (struct op_fit){.match = op.match, .w = c->w, .h = c->h});
  int h = c->h / c->cell, w = c->w / c->cell;
  op.flow = whole_state(t, h, w, 2);
  op.visible = whole_state(t, h, w, 1);
  op.global = whole_state(t, 1, 1, GLOBAL_VALUES);
  plan_flow(&t->plan, "flow", op);
  t->params.restart = c->restart;
  const struct tensor outputs[] = {op.flow, op.visible, op.global, op.last, op.fit};
  for (int i = 0; i < 5; i++)
    test_output(t, outputs[i]);
}

static const struct motion_case pictures[] = {
    {64, 64, 8, MOVED, {1, 0, 0, 0}},
    {61, 75, 1, MOVED, {1, 0, 3, -2}},
    {129, 40, 1, MOVED, {1.02, 0.01, 5, 1}, .noise = 3},
    {8, 8, 8, MOVED, {1, 0, 1, 1}},
    {9, 200, 1, MOVED, {0.98, 0, 0, 4}},
    {256, 192, 8, MOVED, {1.01, 0.009, -9, 3}},
    {136, 72, 8, REPLACED, {1, 0, 0, 0}},
    {136, 72, 8, BLANK, {1, 0, 0, 0}},
    {200, 160, 8, FLASH, {1, 0, 2, 1}},
};

static const struct motion_case flows[] = {
    {64, 64, 8, MOVED, {1, 0, 0, 0}, .noise = 4},
    {64, 64, 4, MOVED, {1, 0, 2, 1}},
    {64, 64, 16, MOVED, {1, 0, 2, 1}, .first = true},
    {96, 64, 8, MOVED, {1, 0, 2, 1}, .restart = true},
    {61, 75, 1, MOVED, {1, 0, 3, -2}},
    {256, 192, 8, MOVED, {1.01, 0.009, -9, 3}},
    {256, 256, 8, MOVED, {1, 0, 40, 0}},
    {512, 512, 8, MOVED, {1, 0, 7.25, -3.5}, .noise = 2},
    {136, 72, 8, REPLACED, {1, 0, 0, 0}},
    {136, 72, 8, BLANK, {1, 0, 0, 0}},
    {136, 72, 8, BLANK, {1, 0, 0, 0}, .restart = true},
    {200, 160, 8, FLASH, {1, 0, 2, 1}},
};

/* --- the motion of the whole picture, from made matches --- */

struct fit_case {
  int w, h;
  struct motion_model model;
  double agreeing, error; /* share of the matches that follow the model, and their deviation in 1/256 pixel */
};

/* Makes an input of matches: some follow the model, the others are random. */
static void build_fit(struct op_test *t, const void *argument) {
  const struct fit_case *c = argument;
  const struct motion_size size = motion_size(c->w, c->h);
  struct tensor match = test_input(t, 2, size.h[3], size.w[3], MATCH_VALUES, ELEMENT_WHOLE, FILL_CONSTANT);
  float *data = t->operands[t->operand_count - 1].data;
  for (int i = 0; i < 2 * motion_pixels(&size, 3); i++) {
    int x = motion_place(i % size.w[3], c->w), y = motion_place(i / size.w[3] % size.h[3], c->h);
    bool agrees = test_uniform(t) < c->agreeing;
    int error[2] = {(int)(c->error * (double)test_normal(t)), (int)(c->error * (double)test_normal(t))};
    data[3 * i] = (float)(agrees ? motion_model_y(&c->model, x, y) + error[0] : test_integer(t, -15000, 15000));
    data[3 * i + 1] = (float)(agrees ? motion_model_x(&c->model, x, y) + error[1] : test_integer(t, -15000, 15000));
    data[3 * i + 2] = (float)test_integer(t, 0, 60000);
  }
  test_output(t, plan_fit(&t->plan, "fit", (struct op_fit){.match = match, .w = c->w, .h = c->h}));
}

static const struct fit_case fits[] = {
    {64, 64, {0, 0, 512, -256}, 1, 0},       {512, 512, {167772, 146400, 900, -4000}, 0.7, 60},
    {515, 253, {-900000, 0, 0, 0}, 0.8, 20}, {512, 512, {0, 0, 0, 0}, 1, 30},
    {512, 512, {0, 0, 3000, 3000}, 0.1, 30}, {1024, 2048, {4000000, -300000, -10000, 9000}, 0.6, 100},
    {8, 8, {0, 0, 512, 512}, 1, 0},
};

const struct op_cases op_cases_motion[] = {
    OP_CASES_WHOLE("pyramid", build_pyramid, pictures),
    OP_CASES_WHOLE("match", build_match, pictures),
    OP_CASES_WHOLE("fit", build_fit, fits),
    OP_CASES_WHOLE("flow", build_flow, flows),
    {0},
};
