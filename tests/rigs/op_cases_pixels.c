/* Cases of the pixel ops: every format, range and matrix; crops, letterboxes, enlargement and reduction, odd sizes. */
#include "tests/rigs/op_cases.h"

struct in_case {
  enum pixel_format format;
  enum color_matrix matrix;
  enum color_range range;
  int width, height;  /* size of the frame */
  int w, h;           /* size of the picture */
  float x, y, cw, ch; /* the part of the frame that is read; cw 0: the whole frame */
  int dx, dy, dw, dh; /* the part of the picture that is written; dw 0: the whole picture */
  float scale, bias;  /* scale 0: 1 */
};

static void build_in(struct op_test *t, const void *argument) {
  const struct in_case *c = argument;
  struct op_pixels_in op = {.scale = c->scale != 0 ? c->scale : 1, .bias = c->bias, .y = {.h = c->h, .w = c->w}};
  struct frame *frame = test_frame(t, c->format, c->width, c->height, false);
  op.source = t->frame_count - 1;
  frame->matrix = c->matrix;
  frame->range = c->range;
  struct geometry *g = &t->params.geometry[op.source];
  *g = (struct geometry){c->x, c->y, c->cw, c->ch, c->dx, c->dy, c->dw, c->dh};
  if (c->cw <= 0)
    g->source_w = (float)c->width, g->source_h = (float)c->height;
  if (c->dw == 0)
    g->dest_w = c->w, g->dest_h = c->h;
  test_output(t, plan_pixels_in(&t->plan, "in", op));
}

#define B601 MATRIX_BT601
#define B709 MATRIX_BT709
#define B2020 MATRIX_BT2020
#define LIMITED RANGE_LIMITED
#define FULL RANGE_FULL
static const struct in_case in_cases[] = {
    /* every format; reduction, identity, enlargement */
    {PIXEL_NV12, B709, LIMITED, 160, 90, 64, 64, 35, 0, 90, 90},
    {PIXEL_P010, B2020, LIMITED, 160, 90, 64, 64, 35, 0, 90, 90},
    {PIXEL_YUV420P, B601, LIMITED, 160, 90, 64, 64, 35, 0, 90, 90},
    {PIXEL_YUYV, B601, LIMITED, 160, 90, 64, 64, 35, 0, 90, 90},
    {PIXEL_BGRA, B709, FULL, 160, 90, 64, 64, 35, 0, 90, 90},
    {PIXEL_RGBA, B709, FULL, 160, 90, 64, 64, 35, 0, 90, 90},
    {PIXEL_NV12, B709, FULL, 48, 32, 48, 32, .scale = 2, .bias = -1},
    {PIXEL_P010, B709, FULL, 48, 32, 48, 32},
    {PIXEL_YUV420P, B2020, FULL, 48, 32, 48, 32},
    {PIXEL_YUYV, B709, FULL, 48, 32, 48, 32},
    {PIXEL_RGBA, B709, FULL, 48, 32, 48, 32},
    {PIXEL_NV12, B601, LIMITED, 20, 12, 50, 40},
    {PIXEL_P010, B601, LIMITED, 20, 12, 50, 40},
    {PIXEL_YUV420P, B709, LIMITED, 20, 12, 50, 40},
    {PIXEL_YUYV, B709, LIMITED, 20, 12, 50, 40},
    {PIXEL_BGRA, B709, FULL, 20, 12, 50, 40},
    /* odd sizes, letterbox, rectangles beyond the frame, fractions of a sample */
    {PIXEL_YUV420P, B709, LIMITED, 37, 23, 16, 24, .dx = 0, .dy = 7, .dw = 16, .dh = 10},
    {PIXEL_NV12, B709, LIMITED, 37, 23, 33, 21, .dx = 5, .dy = 1, .dw = 20, .dh = 17},
    {PIXEL_YUYV, B709, LIMITED, 37, 23, 33, 21, .dx = 5, .dy = 1, .dw = 20, .dh = 17},
    {PIXEL_P010, B709, LIMITED, 37, 23, 33, 21, 3.25f, 2.5f, 20.5f, 9.125f},
    {PIXEL_RGBA, B709, FULL, 9, 7, 20, 20, -3, -2, 15, 12},
    {PIXEL_NV12, B709, LIMITED, 9, 7, 20, 20, -3, -2, 15, 12},
    {PIXEL_NV12, B709, LIMITED, 1, 1, 3, 5},
    {PIXEL_YUV420P, B709, LIMITED, 3, 5, 1, 1},
    {PIXEL_YUYV, B709, LIMITED, 3, 5, 7, 2},
    {PIXEL_YUV420P, B709, LIMITED, 100, 3, 8, 8},
    {PIXEL_NV12, B709, LIMITED, 64, 64, 8, 8, 40, 40, 0.25f, 0.5f},
    {PIXEL_NV12, B709, LIMITED, 64, 64, 8, 8, 100, -50, 4,
     4}, /* the source rectangle lies entirely outside the frame */
};

/* Two sources whose frames differ in everything. */
static void build_in_twice(struct op_test *t, const void *argument) {
  const struct in_case *pair = argument;
  build_in(t, &pair[0]);
  build_in(t, &pair[1]);
}

static const struct in_case in_pairs[][2] = {
    {{PIXEL_NV12, B709, LIMITED, 160, 90, 64, 64, 35, 0, 90, 90}, {PIXEL_RGBA, B709, FULL, 20, 12, 64, 64}},
    {{PIXEL_BGRA, B709, FULL, 9, 7, 20, 20, -3, -2, 15, 12},
     {PIXEL_P010, B2020, LIMITED, 161, 91, 33, 21, .dx = 5, .dy = 1, .dw = 20, .dh = 17}},
    {{PIXEL_YUV420P, B601, FULL, 37, 23, 16, 24}, {PIXEL_YUYV, B709, LIMITED, 3, 5, 16, 24, .scale = 2, .bias = -1}},
};

struct out_case {
  enum pixel_format format;
  int w, h;
  float mix; /* 1: no input */
  float scale, bias;
  int more_w, more_h; /* size that x has beyond the picture's */
};

static void build_out(struct op_test *t, const void *argument) {
  const struct out_case *c = argument;
  int w = c->w + c->more_w, h = c->h + c->more_h;
  struct op_pixels_out op = {
      .w = c->w, .h = c->h, .scale = c->scale, .bias = c->bias, .input_scale = 0.5f, .input_bias = 0.5f};
  op.x = test_input(t, 1, h, w, 3, ELEMENT_DEVICE, FILL_NORMAL);
  if (c->mix < 1)
    op.input = test_input(t, 1, h, w, 3, ELEMENT_DEVICE, FILL_NORMAL);
  t->params.mix = c->mix;
  t->output = c->format;
  t->has_picture = true;
  plan_pixels_out(&t->plan, "out", op);
}

static const struct out_case out_cases[] = {
    {PIXEL_RGBA, 32, 24, 1, 0.25f, 0.5f},
    {PIXEL_BGRA, 32, 24, 1, 0.25f, 0.5f},
    {PIXEL_NV12, 32, 24, 1, 0.25f, 0.5f},
    {PIXEL_P010, 32, 24, 1, 0.25f, 0.5f},
    {PIXEL_YUV420P, 32, 24, 1, 0.25f, 0.5f},
    {PIXEL_YUYV, 32, 24, 1, 0.25f, 0.5f},
    {PIXEL_RGBA, 32, 24, 0.3f, 1, 0},
    {PIXEL_YUV420P, 32, 24, 0, 0.5f, 0.5f},
    {PIXEL_RGBA, 7, 5, 0.5f, 1, 0},
    {PIXEL_BGRA, 1, 1, 1, 1, 0},
    {PIXEL_NV12, 7, 5, 1, 0.5f, 0.5f},
    {PIXEL_P010, 7, 5, 1, 0.5f, 0.5f},
    {PIXEL_YUV420P, 7, 5, 1, 0.5f, 0.5f},
    {PIXEL_YUYV, 7, 5, 1, 0.5f, 0.5f},
    {PIXEL_YUV420P, 1, 1, 1, 0.5f, 0.5f},
    {PIXEL_YUYV, 1, 3, 1, 100, 0},
    {PIXEL_RGBA, 30, 20, 0.3f, 0.25f, 0.5f, 2, 12},
    {PIXEL_NV12, 62, 40, 1, 0.25f, 0.5f, 2, 24},
    {PIXEL_YUV420P, 7, 5, 0.5f, 0.5f, 0.5f, 25, 11},
    {PIXEL_YUYV, 7, 5, 1, 0.5f, 0.5f, 1, 0},
    {PIXEL_P010, 30, 20, 1, 0.5f, 0.5f, 0, 12},
};

struct show_case {
  enum pixel_format format;
  int w, h;
  enum show show;
  int control;        /* number of the control to show; only 1 and 3 have maps */
  float mix;          /* 1: no input */
  int n;              /* pictures; 0: 1 */
  int more_w, more_h; /* size that x has beyond the picture's */
};

static void build_show(struct op_test *t, const void *argument) {
  const struct show_case *c = argument;
  int n = c->n ? c->n : 1, w = c->w + c->more_w, h = c->h + c->more_h;
  struct op_pixels_out op = {
      .w = c->w, .h = c->h, .scale = 0.25f, .bias = 0.5f, .input_scale = 0.5f, .input_bias = 0.5f};
  op.x = test_input(t, n, h, w, 3, ELEMENT_DEVICE, FILL_NORMAL);
  op.map1 = test_input(t, n, h, w, 3, ELEMENT_DEVICE, FILL_NORMAL);
  op.map3 = test_state(t, n, h, w, 3, ELEMENT_DEVICE);
  if (c->mix < 1)
    op.input = test_input(t, n, h, w, 3, ELEMENT_DEVICE, FILL_NORMAL);
  t->params.mix = c->mix;
  t->params.show = c->show;
  t->params.show_control = c->control;
  t->output = c->format;
  t->has_picture = true;
  plan_pixels_out(&t->plan, "out", op);
}

static const struct show_case show_cases[] = {
    {PIXEL_RGBA, 32, 24, SHOW_MAP, 1, 1},
    {PIXEL_YUV420P, 32, 24, SHOW_MAP, 3, 0.3f},
    {PIXEL_RGBA, 32, 24, SHOW_PICTURE, 1, 1},
    {PIXEL_BGRA, 32, 24, SHOW_BOTH, 1, 0.3f},
    {PIXEL_NV12, 33, 25, SHOW_BOTH, 3, 1},
    {PIXEL_YUYV, 7, 5, SHOW_BOTH, 1, 0.5f},
    {PIXEL_RGBA, 32, 24, SHOW_BOTH, 0, 0.3f},
    {PIXEL_P010, 7, 6, SHOW_MAP, 2, 1},
    {PIXEL_RGBA, 1, 1, SHOW_BOTH, 1, 1},
    {PIXEL_YUV420P, 64, 38, SHOW_BOTH, 3, 0.3f},
    {PIXEL_NV12, 33, 25, SHOW_PICTURE, 0, 0.3f, 3},
    {PIXEL_RGBA, 32, 24, SHOW_PICTURE, 0, 1, 4},
    {PIXEL_YUV420P, 64, 38, SHOW_BOTH, 3, 0.3f, 2},
    {PIXEL_BGRA, 7, 5, SHOW_MAP, 1, 1, 2},
    {PIXEL_RGBA, 30, 20, SHOW_BOTH, 1, 0.3f, 2, 2, 12},
    {PIXEL_NV12, 62, 38, SHOW_MAP, 3, 1, 1, 2, 26},
};

/* Makes frames that differ in everything. */
static void give_frames(struct op_test *t, int count) {
  static const struct {
    enum pixel_format format;
    int width, height;
    struct geometry geometry;
  } list[BATCH_MAX] = {{PIXEL_NV12, 75, 41, {0, 0, 75, 41, 0, 0, 75, 41}},
                       {PIXEL_RGBA, 20, 12, {3, 2, 14, 9, 5, 4, 60, 33}},
                       {PIXEL_P010, 161, 91, {0, 0, 161, 91, 0, 7, 75, 20}},
                       {PIXEL_YUYV, 75, 41, {-3, -2, 60, 33, 0, 0, 75, 41}}};
  for (int i = 0; i < count; i++) {
    test_frame(t, list[i].format, list[i].width, list[i].height, true);
    t->params.geometry[i] = list[i].geometry;
  }
}

static const int through_counts[] = {1, 3, BATCH_MAX};

/* Passes frames through both ops, and mixes the input in. */
static void build_through(struct op_test *t, const void *argument) {
  const int *count = argument;
  give_frames(t, *count);
  t->params.mix = 0.25f;
  t->output = PIXEL_YUV420P;
  t->has_picture = true;
  struct tensor in = plan_pixels_in(
      &t->plan, "in", (struct op_pixels_in){.scale = 2, .bias = -1, .y = {.n = *count, .h = 41, .w = 75}});
  struct tensor x = plan_norm(&t->plan, "x", (struct op_norm){.x = in, .prologue = {.act = ACT_TANH3}});
  plan_pixels_out(&t->plan, "out",
                  (struct op_pixels_out){
                      .scale = 0.5f, .bias = 0.5f, .x = x, .input = in, .input_scale = 0.5f, .input_bias = 0.5f});
}

/* Passes frames to a convolution, and mixes them with its result. */
static void build_convolved(struct op_test *t, const void *argument) {
  const int *count = argument;
  give_frames(t, *count);
  t->params.mix = 0.25f;
  t->output = PIXEL_RGBA;
  t->has_picture = true;
  struct tensor in =
      plan_pixels_in(&t->plan, "in", (struct op_pixels_in){.scale = 1, .y = {.n = *count, .h = 41, .w = 75}});
  struct op_conv first = {.x = in, .weight = test_weight(t, 64, 3, 3), .stride = 1, .pad = 1, .act = ACT_RELU};
  struct op_conv last = {.weight = test_weight(t, 3, 3, 64), .bias = test_vector(t, 3, 0), .stride = 1, .pad = 1};
  last.x = plan_conv(&t->plan, "first", first);
  plan_pixels_out(
      &t->plan, "out",
      (struct op_pixels_out){
          .scale = 0.25f, .bias = 0.5f, .x = plan_conv(&t->plan, "last", last), .input = in, .input_scale = 1});
}

struct detail_case {
  int n, w, h;
  float detail;
  enum fill fill;
};

static void build_detail(struct op_test *t, const void *argument) {
  const struct detail_case *c = argument;
  struct op_detail op = {.x = test_input(t, c->n, c->h, c->w, 3, ELEMENT_DEVICE, c->fill)};
  struct tensor y = test_input(t, c->n, c->h, c->w, 3, ELEMENT_DEVICE, c->fill);
  op.y = plan_norm(&t->plan, "y", (struct op_norm){.x = y}); /* a copy, because the input may not be changed */
  t->params.detail = c->detail;
  plan_detail(&t->plan, "detail", op);
  test_output(t, op.y);
}

static const struct detail_case detail_cases[] = {
    {1, 64, 48, 1},    {1, 75, 41, 0.3f}, {2, 33, 9, 0.6f}, {BATCH_MAX, 7, 5, 1},       {1, 1, 1, 1},
    {1, 1, 100, 0.5f}, {1, 131, 3, 0.5f}, {1, 40, 8, 0},    {1, 32, 17, 1, FILL_LARGE},
};

const struct op_cases op_cases_pixels[] = {
    OP_CASES_EXACT("pixels in", build_in, in_cases),
    OP_CASES_EXACT("pixels in, two sources", build_in_twice, in_pairs),
    OP_CASES("detail", build_detail, detail_cases),
    OP_CASES("pixels out", build_out, out_cases),
    OP_CASES("pixels shown", build_show, show_cases),
    OP_CASES("pixels through", build_through, through_counts),
    OP_CASES("pixels convolved", build_convolved, through_counts),
    {NULL},
};
