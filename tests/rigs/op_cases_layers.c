/* Cases of convolutions, linear layers, norms and attention. */
#include <math.h>

#include "tests/rigs/op_cases.h"

/* --- prologues --- */

struct before {
  enum norm_kind norm;
  int groups;
  enum activation act;
  bool bare; /* true: the norm has no weights (gamma and beta) */
};

static struct prologue prologue(struct op_test *t, const struct before *b, int channels) {
  struct prologue p = {.norm = b->norm, .act = b->act, .groups = b->groups, .eps = 1e-5f};
  if (b->norm == NORM_NONE || b->bare)
    return p;
  p.gamma = test_vector(t, channels, 1);
  p.beta = test_vector(t, channels, 0);
  return p;
}

/* --- convolution --- */

struct conv_case {
  int n, h, w, c, c2, out; /* c2 0: there is no second input */
  int k, stride;
  bool end, up, no_pad; /* padding only at the end; upsampling; k = 3 without padding */
  struct before before;
  enum activation act;
  bool bias, time, residual, times; /* times: each picture has its own time row */
  enum fill fill;
};

static void build_conv(struct op_test *t, const void *argument) {
  const struct conv_case *c = argument;
  int in = c->c + c->c2, k = c->k ? c->k : 3;
  struct op_conv op = {.stride = c->stride ? c->stride : 1, .upsample = c->up, .act = c->act, .pad_end_only = c->end};
  op.pad = c->end || c->no_pad ? 0 : k / 2;
  op.x = test_input(t, c->n, c->h, c->w, c->c, ELEMENT_DEVICE, c->fill);
  if (c->c2)
    op.x2 = test_input(t, c->n, c->h, c->w, c->c2, ELEMENT_DEVICE, c->fill);
  op.weight = test_weight(t, c->out, k, in);
  op.prologue = prologue(t, &c->before, in);
  if (c->bias)
    op.bias = test_vector(t, c->out, 0);
  if (c->time || c->times) /* a slice of all time projections, as in the U-Net */
    op.time =
        tensor_channels(test_input(t, c->times ? c->n : 1, 1, 1, c->out + 24, ELEMENT_DEVICE, FILL_NORMAL), 16, c->out);
  if (c->residual) {
    int border = c->end ? 1 : 2 * op.pad;
    int h = ((c->h << c->up) + border - k) / op.stride + 1, w = ((c->w << c->up) + border - k) / op.stride + 1;
    op.residual = test_input(t, c->n, h, w, c->out, ELEMENT_DEVICE, c->fill);
  }
  test_output(t, plan_conv(&t->plan, "conv", op));
}

#define GROUP_SILU(g)                                                                                                  \
  { .norm = NORM_GROUP, .groups = g, .act = ACT_SILU }
static const struct conv_case conv_cases[] = {
    /* shapes of the networks */
    {1, 32, 32, 3, 0, 32, .bias = true},
    {1, 33, 47, 32, 0, 32, .bias = true, .act = ACT_RELU},
    {1, 24, 40, 32, 0, 32, .bias = true, .act = ACT_RELU, .residual = true},
    {1, 32, 32, 32, 0, 32, .stride = 2},
    {1, 31, 17, 32, 0, 32, .stride = 2},
    {1, 16, 24, 32, 0, 32, .up = true},
    {1, 24, 24, 32, 0, 3, .bias = true},
    {1, 16, 16, 16, 0, 32, .bias = true, .act = ACT_RELU},
    {2, 16, 16, 128, 0, 128, .before = GROUP_SILU(32), .bias = true, .time = true},
    {2, 8, 8, 192, 0, 192, .before = GROUP_SILU(32), .bias = true, .residual = true},
    {1, 8, 8, 128, 192, 128, .before = GROUP_SILU(32), .bias = true, .time = true},
    {1, 16, 16, 128, 0, 128, .stride = 2, .bias = true},
    {1, 8, 8, 192, 0, 192, .up = true, .bias = true},
    {1, 16, 16, 128, 0, 16, .before = GROUP_SILU(32), .bias = true},
    {1, 16, 16, 64, 0, 64, .stride = 2, .end = true, .bias = true},
    {1, 15, 9, 64, 0, 64, .stride = 2, .end = true, .bias = true},
    {1, 16, 16, 320, 0, 64, .k = 1, .bias = true},
    {3, 9, 7, 64, 0, 96, .bias = true, .act = ACT_SILU},
    {1, 33, 61, 64, 0, 2, .bias = true, .residual = true, .act = ACT_SILU},
    {2, 32, 32, 64, 0, 64, .before = GROUP_SILU(32), .bias = true, .time = true},
    {1, 32, 32, 64, 32, 48, .before = GROUP_SILU(32), .bias = true, .residual = true},
    {1, 128, 128, 16, 0, 16, .bias = true, .act = ACT_RELU},
    {2, 13, 11, 72, 40, 168, .bias = true, .time = true, .residual = true, .act = ACT_SILU},
    {1, 20, 22, 136, 0, 200, .stride = 2, .bias = true, .act = ACT_RELU},
    {3, 8, 8, 320, 0, 320, .bias = true, .time = true},
    /* blocks of autoencoders: pictures that are not whole tiles, or that end within a tile of a thread block */
    {1, 40, 48, 64, 0, 64, .bias = true, .act = ACT_RELU},
    {1, 37, 51, 64, 0, 64, .bias = true, .act = ACT_RELU, .residual = true},
    {3, 5, 7, 64, 0, 64, .bias = true},
    {1, 1, 1, 64, 0, 64, .residual = true},
    {2, 33, 9, 64, 0, 64, .act = ACT_RELU},
    {1, 200, 9, 64, 0, 64, .bias = true, .residual = true},
    {1, 19, 110, 64, 0, 64, .bias = true, .act = ACT_RELU, .residual = true},
    {1, 70, 40, 64, 0, 64, .bias = true, .act = ACT_RELU, .residual = true},
    {1, 17, 23, 64, 0, 64, .up = true},
    {2, 20, 17, 64, 0, 64, .up = true, .bias = true, .act = ACT_RELU},
    {1, 9, 11, 64, 0, 64, .up = true, .residual = true},
    {2, 67, 13, 32, 0, 32, .bias = true, .act = ACT_RELU, .residual = true},
    {1, 90, 40, 32, 0, 32, .bias = true, .act = ACT_RELU},
    {1, 32, 32, 64, 0, 64, .bias = true, .act = ACT_RELU, .residual = true, .fill = FILL_LARGE},
    {2, 16, 8, 72, 0, 168, .up = true, .bias = true, .act = ACT_RELU},
    {1, 19, 40, 136, 0, 200, .up = true, .time = true},
    {1, 16, 24, 33, 0, 40, .up = true, .bias = true},
    {2, 13, 17, 136, 0, 4, .before = GROUP_SILU(8), .bias = true},
    {1, 9, 21, 64, 0, 4, .act = ACT_RELU},
    {2, 23, 29, 320, 0, 4, .bias = true, .residual = true, .act = ACT_SILU},
    {1, 1, 3, 96, 0, 13, .time = true},
    {1, 35, 29, 32, 0, 32, .up = true, .bias = true, .time = true, .act = ACT_RELU},
    {2, 9, 17, 32, 0, 32, .up = true, .residual = true},
    {1, 50, 37, 64, 0, 64, .stride = 2},
    {2, 33, 20, 64, 0, 64, .stride = 2, .bias = true, .act = ACT_RELU, .residual = true},
    {2, 70, 51, 32, 0, 32, .stride = 2, .bias = true, .act = ACT_RELU},
    {1, 21, 34, 32, 0, 32, .stride = 2, .end = true, .residual = true},
    {2, 43, 37, 3, 0, 64, .bias = true},
    {1, 90, 11, 4, 0, 32, .bias = true, .act = ACT_RELU},
    {1, 37, 12, 8, 0, 64, .bias = true, .act = ACT_RELU, .residual = true},
    {1, 21, 35, 4, 0, 320, .bias = true},
    {3, 6, 17, 7, 0, 160, .bias = true, .time = true, .residual = true},
    {2, 64, 64, 4, 0, 64, .act = ACT_RELU},
    {2, 41, 23, 64, 0, 3, .bias = true},
    {1, 70, 19, 64, 0, 8, .bias = true, .act = ACT_RELU},
    {3, 17, 35, 32, 0, 4, .time = true},
    {2, 70, 27, 64, 0, 2, .time = true, .act = ACT_RELU},
    {3, 33, 19, 32, 0, 1, .bias = true},
    {1, 90, 41, 32, 0, 3, .bias = true, .act = ACT_RELU, .fill = FILL_LARGE},
    {2, 20, 18, 64, 0, 64, .bias = true, .time = true, .residual = true},
    {1, 33, 35, 64, 0, 64, .up = true, .time = true},
    /* hint layers of a ControlNet, which read its map */
    {1, 37, 50, 3, 0, 16, .bias = true, .act = ACT_SILU},
    {2, 33, 21, 16, 0, 16, .bias = true, .act = ACT_SILU},
    {1, 18, 35, 16, 0, 16, .time = true, .residual = true, .act = ACT_SILU},
    {1, 26, 19, 16, 0, 32, .stride = 2, .bias = true, .act = ACT_SILU},
    {2, 41, 35, 32, 0, 32, .bias = true, .act = ACT_SILU},
    {1, 24, 30, 32, 0, 32, .residual = true, .time = true, .act = ACT_SILU},
    {1, 26, 22, 32, 0, 96, .stride = 2, .bias = true, .act = ACT_SILU},
    {1, 15, 23, 96, 0, 96, .bias = true, .act = ACT_SILU},
    {1, 18, 14, 96, 0, 256, .stride = 2, .bias = true, .act = ACT_SILU},
    {1, 9, 9, 32, 0, 32, .bias = true, .act = ACT_SILU, .fill = FILL_LARGE},
    {1, 9, 9, 16, 0, 16, .bias = true, .act = ACT_SILU, .fill = FILL_LARGE},
    /* unusual shapes; the first ones are large enough for Winograd's algorithm */
    {1, 29, 31, 19, 0, 7, .bias = true, .act = ACT_SILU},
    {3, 14, 17, 33, 0, 23, .time = true, .residual = true, .act = ACT_RELU},
    {2, 16, 16, 64, 0, 64, .before = GROUP_SILU(32), .bias = true, .times = true},
    {2, 8, 8, 128, 0, 128, .before = GROUP_SILU(32), .bias = true, .times = true},
    {3, 8, 8, 128, 64, 96, .bias = true, .times = true, .residual = true},
    {2, 9, 5, 40, 0, 24, .stride = 2, .times = true},
    {3, 6, 7, 33, 0, 23, .bias = true, .times = true},
    {2, 5, 5, 16, 0, 24, .k = 1, .bias = true, .times = true},
    {1, 13, 17, 17, 0, 40, .up = true, .bias = true},
    {1, 27, 30, 9, 11, 100, .before = {.norm = NORM_LAYER, .act = ACT_RELU}},
    {1, 1, 200, 16, 0, 16, .residual = true, .act = ACT_TANH3},
    {1, 30, 30, 32, 0, 32, .bias = true, .act = ACT_RELU, .residual = true, .fill = FILL_LARGE},
    {1, 30, 30, 32, 0, 32, .bias = true, .fill = FILL_CONSTANT},
    {1, 30, 30, 32, 0, 32, .bias = true, .residual = true, .fill = FILL_ZEROS},
    {1, 1, 1, 8, 0, 8, .bias = true},
    {1, 1, 1, 8, 0, 8, .k = 1},
    {1, 3, 5, 8, 0, 16, .bias = true, .act = ACT_RELU},
    {1, 3, 5, 7, 0, 5, .bias = true},
    {2, 5, 3, 7, 5, 9, .bias = true, .time = true, .residual = true, .act = ACT_RELU},
    {1, 5, 7, 12, 20, 24, .before = {.norm = NORM_GROUP, .groups = 4}},
    {1, 5, 7, 12, 20, 24, .k = 1, .before = {.norm = NORM_GROUP, .groups = 4, .bare = true}},
    {1, 3, 5, 7, 0, 7, .before = {.norm = NORM_GROUP, .groups = 7, .act = ACT_SILU}},
    {1, 3, 5, 7, 0, 7, .before = {.norm = NORM_GROUP, .groups = 1, .act = ACT_SILU}, .up = true},
    {1, 1, 1, 8, 0, 8, .up = true, .bias = true},
    {1, 1, 3, 8, 8, 8, .stride = 2, .up = true},
    {1, 7, 7, 8, 0, 8, .no_pad = true, .bias = true},
    {1, 8, 6, 8, 0, 8, .k = 1, .stride = 2, .bias = true},
    {2, 6, 6, 16, 0, 16, .before = {.norm = NORM_LAYER}, .bias = true},
    {1, 6, 6, 16, 0, 16, .before = {.act = ACT_RELU}},
    {1, 6, 6, 16, 0, 16, .before = {.act = ACT_QUICK_GELU}, .act = ACT_QUICK_GELU, .bias = true},
    {1, 6, 6, 16, 0, 16, .before = {.act = ACT_GELU}, .act = ACT_GELU, .bias = true},
    {1, 6, 6, 16, 0, 16, .before = {.act = ACT_TANH3}, .act = ACT_TANH3, .bias = true, .residual = true},
    {1, 6, 6, 16, 0, 16, .act = ACT_SILU, .time = true, .residual = true},
    /* extreme sizes and values */
    {1, 9, 9, 32, 0, 32, .before = GROUP_SILU(8), .bias = true, .fill = FILL_LARGE},
    {1, 9, 9, 32, 0, 32, .bias = true, .act = ACT_RELU, .residual = true, .fill = FILL_LARGE},
    {1, 9, 9, 32, 0, 32, .before = GROUP_SILU(8), .bias = true, .fill = FILL_CONSTANT},
    {1, 9, 9, 32, 0, 32, .bias = true, .fill = FILL_CONSTANT},
    {1, 9, 9, 32, 0, 32, .before = GROUP_SILU(8), .bias = true, .fill = FILL_ZEROS},
    {1, 9, 9, 32, 0, 32, .residual = true, .fill = FILL_ZEROS},
    {1, 9, 9, 32, 0, 32, .before = GROUP_SILU(8), .bias = true, .fill = FILL_TINY},
};

/* --- linear --- */

struct linear_case {
  int n, h, w, c, c2, out; /* out: number of channels before GEGLU halves it */
  struct before before;
  enum activation act;
  bool bias, residual, into; /* into: the result is written to a state */
  enum fill fill;
};

static void build_linear(struct op_test *t, const void *argument) {
  const struct linear_case *c = argument;
  int in = c->c + c->c2, out = c->act == ACT_GEGLU ? c->out / 2 : c->out;
  struct op_linear op = {.act = c->act};
  op.x = test_input(t, c->n, c->h, c->w, c->c, ELEMENT_DEVICE, c->fill);
  if (c->c2)
    op.x2 = test_input(t, c->n, c->h, c->w, c->c2, ELEMENT_DEVICE, c->fill);
  op.weight = test_weight(t, c->out, 1, in);
  op.prologue = prologue(t, &c->before, in);
  if (c->bias)
    op.bias = test_vector(t, c->out, 0);
  if (c->residual)
    op.residual = test_input(t, c->n, c->h, c->w, out, ELEMENT_DEVICE, c->fill);
  if (c->into)
    op.y = test_state(t, c->n, c->h, c->w, out, ELEMENT_DEVICE);
  test_output(t, plan_linear(&t->plan, "linear", op));
}

#define LAYER                                                                                                          \
  { .norm = NORM_LAYER }
static const struct linear_case linear_cases[] = {
    {1, 16, 16, 128, 0, 128, .before = {.norm = NORM_GROUP, .groups = 32}, .bias = true},
    {1, 16, 16, 128, 0, 384, .before = LAYER},
    {2, 8, 8, 192, 0, 1536, .before = LAYER, .bias = true, .act = ACT_GEGLU},
    {1, 8, 8, 768, 0, 192, .bias = true, .residual = true},
    {1, 16, 16, 128, 192, 128, .bias = true},
    {1, 1, 77, 256, 0, 256, .before = LAYER, .bias = true},
    {1, 1, 77, 256, 0, 1024, .before = LAYER, .bias = true, .act = ACT_QUICK_GELU},
    {1, 1, 77, 256, 0, 320, .act = ACT_GELU, .bias = true},
    {100, 1, 1, 128, 0, 512, .bias = true, .act = ACT_SILU},
    {100, 1, 1, 64, 0, 208, .bias = true, .into = true},
    {1, 13, 11, 72, 40, 328, .bias = true, .residual = true},
    {3, 1, 131, 328, 0, 160, .act = ACT_SILU, .residual = true},
    {1, 1, 300, 200, 0, 656, .bias = true, .act = ACT_GEGLU, .residual = true},
    {1, 16, 16, 640, 320, 720, .residual = true},
    {1, 1, 1, 8, 0, 8, .bias = true},
    {1, 1, 1, 7, 0, 5},
    {1, 3, 5, 7, 9, 11, .before = {.norm = NORM_LAYER, .act = ACT_SILU}, .bias = true, .residual = true},
    {1, 3, 5, 16, 0, 24, .act = ACT_GEGLU, .residual = true},
    {2, 9, 11, 7, 0, 10, .before = LAYER, .act = ACT_GEGLU, .bias = true},
    {1, 32, 33, 160, 80, 32, .before = GROUP_SILU(8), .bias = true},
    {2, 5, 3, 24, 8, 16, .before = {.norm = NORM_GROUP, .groups = 4}, .act = ACT_RELU, .residual = true, .bias = true},
    {1, 5, 5, 16, 0, 16, .before = {.norm = NORM_LAYER, .bare = true}, .act = ACT_TANH3, .bias = true},
    {1, 8, 8, 64, 0, 64, .before = LAYER, .bias = true, .fill = FILL_LARGE},
    {1, 8, 8, 64, 0, 64, .before = LAYER, .bias = true, .fill = FILL_CONSTANT},
    {1, 8, 8, 64, 0, 128, .before = LAYER, .bias = true, .act = ACT_GEGLU, .fill = FILL_ZEROS},
    {1, 8, 8, 64, 0, 64, .bias = true, .residual = true, .fill = FILL_LARGE},
    {1, 8, 8, 64, 0, 64, .act = ACT_GELU, .bias = true, .fill = FILL_TINY},
    /* large sums, over more than two blocks of inputs, and one for each kernel; kernels are tried on every seventh
     * case */
    {1, 1, 520, 192, 0, 784, .bias = true, .act = ACT_GEGLU},
    {3, 9, 11, 264, 0, 336, .act = ACT_GEGLU},
    {1, 1, 129, 136, 0, 1312, .bias = true, .act = ACT_GEGLU},
    {1, 20, 20, 640, 0, 480, .before = LAYER, .bias = true, .act = ACT_GEGLU},
    {2, 1, 190, 520, 0, 1040, .bias = true, .act = ACT_GEGLU},
    {1, 1, 700, 320, 0, 160, .bias = true, .act = ACT_GEGLU, .fill = FILL_LARGE},
    {1, 8, 16, 1280, 0, 1600, .bias = true, .act = ACT_GEGLU},
};

/* Cases that are so large that a GPU's thread blocks have several tiles each. */
static const struct linear_case large_linear_cases[] = {
    {1, 1, 3900, 264, 0, 1272, .bias = true, .residual = true},
    {1, 1, 3900, 264, 0, 1248, .bias = true, .act = ACT_GEGLU},
};

/* --- norm --- */

struct norm_case {
  int n, h, w, c;
  bool precise;
  struct before before;
  enum fill fill;
};

static void build_norm(struct op_test *t, const void *argument) {
  const struct norm_case *c = argument;
  struct op_norm op = {
      .x = test_input(t, c->n, c->h, c->w, c->c, c->precise ? ELEMENT_PRECISE : ELEMENT_DEVICE, c->fill)};
  op.prologue = prologue(t, &c->before, c->c);
  test_output(t, plan_norm(&t->plan, "norm", op));
}

static const struct norm_case norm_cases[] = {
    {1, 16, 16, 16, true, {.act = ACT_TANH3}},
    {1, 16, 16, 4, true, {.act = ACT_TANH3}, FILL_NANS},
    {1, 1, 77, 256, false, LAYER},
    {2, 16, 16, 128, false, GROUP_SILU(32)},
    {1, 8, 8, 192, false, {.norm = NORM_GROUP, .groups = 32}},
    {2, 9, 11, 320, false, GROUP_SILU(32)},
    {1, 4, 4, 1280, false, GROUP_SILU(32)},
    {1, 3, 3, 1280, false, GROUP_SILU(1)},
    {1, 1, 1, 8, false, {.norm = NORM_GROUP, .groups = 2}},
    {1, 3, 5, 7, false, LAYER},
    {1, 3, 5, 7, false, {.norm = NORM_GROUP, .groups = 7}},
    {1, 3, 5, 24, false, {.norm = NORM_LAYER, .bare = true, .act = ACT_RELU}},
    {1, 3, 5, 8, false, {.act = ACT_SILU}},
    {1, 3, 5, 8, true, {.act = ACT_GELU}},
    {1, 8, 8, 64, false, GROUP_SILU(8), FILL_OFFSET},
    {1, 8, 8, 64, false, LAYER, FILL_OFFSET},
    {1, 8, 8, 64, false, GROUP_SILU(8), FILL_CONSTANT},
    {1, 8, 8, 64, false, LAYER, FILL_CONSTANT},
    {1, 8, 8, 64, false, GROUP_SILU(8), FILL_LARGE},
    {1, 8, 8, 64, false, LAYER, FILL_TINY},
    {1, 8, 8, 64, false, GROUP_SILU(8), FILL_ZEROS},
    /* on a GPU: clusters of thread blocks of every size, and cases that need two launches */
    {1, 64, 64, 80, false, GROUP_SILU(8)},
    {1, 64, 64, 240, false, GROUP_SILU(8), FILL_OFFSET},
    {1, 43, 47, 240, false, {.norm = NORM_GROUP, .groups = 8}},
    {1, 37, 41, 160, false, GROUP_SILU(8), FILL_OFFSET},
    {1, 12, 16, 1280, false, GROUP_SILU(32)},
    {1, 16, 17, 1280, false, GROUP_SILU(32)},
    {1, 16, 17, 640, false, GROUP_SILU(8)},
    {1, 31, 33, 480, false, GROUP_SILU(8)},
    {1, 1, 500, 320, false, {.norm = NORM_GROUP, .groups = 8, .bare = true}, FILL_OFFSET},
    {3, 20, 21, 128, false, GROUP_SILU(32), FILL_OFFSET},
    {1, 33, 31, 192, false, GROUP_SILU(32)},
    {2, 24, 25, 224, false, GROUP_SILU(32)},
    {1, 50, 51, 64, false, GROUP_SILU(32)},
    {2, 100, 101, 40, false, GROUP_SILU(8), FILL_OFFSET},
    {1, 91, 91, 80, false, GROUP_SILU(8), FILL_OFFSET},
    {1, 79, 81, 80, false, GROUP_SILU(8)},
    {4, 45, 43, 80, false, {.norm = NORM_GROUP, .groups = 8}, FILL_OFFSET},
    {1, 97, 101, 40, false, GROUP_SILU(4), FILL_OFFSET},
    {1, 19, 23, 60, false, GROUP_SILU(20)},
    {1, 16, 16, 64, true, GROUP_SILU(32)},
    {1, 300, 1, 640, false, LAYER},
    {2, 5, 7, 1280, false, LAYER, FILL_OFFSET},
    {1, 5, 7, 1288, false, LAYER},
    /* more rows than the threads process at a time */
    {1, 57, 57, 64, false, LAYER, FILL_OFFSET},
    {2, 59, 61, 320, false, LAYER},
};

/* --- attention --- */

struct attention_case {
  int n, queries_h, queries_w, keys, heads, dim; /* keys 0: self-attention, from one fused projection */
  /* shared: all n pictures use the same keys and values; causal: the mask is causal */
  bool shared, causal;
  bool state;   /* true: keys and values are slices of a state */
  float factor; /* factor of attention's usual scale; 0 stands for 1 */
  enum fill fill;
};

static void build_attention(struct op_test *t, const void *argument) {
  const struct attention_case *c = argument;
  int width = c->heads * c->dim, kv_n = c->shared ? 1 : c->n;
  struct op_attention op = {.heads = c->heads, .causal = c->causal};
  op.scale = (c->factor != 0 ? c->factor : 1) / sqrtf((float)c->dim);
  if (c->keys == 0) {
    struct tensor fused = test_input(t, c->n, c->queries_h, c->queries_w, 3 * width, ELEMENT_DEVICE, c->fill);
    op.q = tensor_channels(fused, 0, width);
    op.k = tensor_channels(fused, width, width);
    op.v = tensor_channels(fused, 2 * width, width);
  } else {
    int others = 5 * 8; /* number of values around a slice */
    struct tensor kv = c->state ? test_state(t, kv_n, 1, c->keys, 2 * width + others, ELEMENT_DEVICE)
                                : test_input(t, kv_n, 1, c->keys, 2 * width + others, ELEMENT_DEVICE, c->fill);
    op.q = test_input(t, c->n, c->queries_h, c->queries_w, width, ELEMENT_DEVICE, c->fill);
    op.k = tensor_channels(kv, 16, width);
    op.v = tensor_channels(kv, 16 + width, width);
  }
  test_output(t, plan_attention(&t->plan, "attention", op));
}

static const struct attention_case attention_cases[] = {
    {1, 16, 16, 0, 2, 64},
    {1, 8, 8, 0, 3, 64},
    {2, 8, 8, 0, 3, 64},
    {1, 16, 16, 77, 2, 64},
    {3, 8, 8, 77, 3, 64, .shared = true},
    {2, 8, 8, 77, 3, 64, .state = true},
    {2, 4, 8, 77, 2, 64, .state = true, .shared = true},
    {1, 1, 77, 0, 4, 64, .causal = true},
    {2, 1, 77, 0, 12, 64, .causal = true},
    {1, 24, 25, 0, 1, 40},
    {1, 5, 7, 77, 8, 40},
    {1, 9, 9, 0, 2, 80},
    {1, 9, 9, 0, 2, 160},
    {1, 1, 257, 0, 2, 64},
    {1, 1, 257, 0, 2, 80},
    {1, 1, 257, 0, 2, 104},
    {1, 5, 7, 77, 3, 104},
    {1, 1, 1, 0, 1, 8},
    {1, 1, 1, 1, 2, 16},
    {1, 3, 5, 1, 2, 16},
    {1, 1, 1, 300, 2, 32},
    {1, 17, 19, 517, 2, 32},
    {1, 1, 300, 0, 2, 32, .causal = true},
    {1, 8, 8, 0, 2, 64, .factor = 8},
    {1, 8, 8, 0, 2, 64, .fill = FILL_CONSTANT},
    {1, 8, 8, 0, 2, 64, .fill = FILL_ZEROS},
    {1, 8, 8, 77, 2, 64, .fill = FILL_LARGE, .factor = 1e-5f},
    {1, 8, 8, 0, 2, 64, .fill = FILL_OFFSET, .factor = 1e-2f},
};

/* More keys than a thread block of the plain kernel has weights for at a time. So many values of both signs nearly
 * cancel out: in 926 random runs on a CPU the relative error was 2.5e-6 in the mean, and 4.4e-6 at most. */
static const struct attention_case many_keys_cases[] = {{1, 1, 3, 20000, 1, 12}};

/* --- attention to style pictures --- */

struct style_case {
  int n, h, w, tokens, heads, dim;
  float gain[STYLES_MAX];
  int first, rows; /* first row and number of rows of each latent */
  enum style_part part;
};

static void build_style(struct op_test *t, const void *argument) {
  const struct style_case *c = argument;
  int width = c->heads * c->dim;
  struct tensor slots = test_state(t, 2 * STYLES_MAX + 1, 1, c->tokens, 2 * width + 24, ELEMENT_DEVICE);
  struct op_style op = {.heads = c->heads, .scale = 1 / sqrtf((float)c->dim), .part = c->part, .first = c->first};
  op.rows = c->rows;
  op.q = tensor_channels(test_input(t, c->n, c->h, c->w, width + 16, ELEMENT_DEVICE, FILL_NORMAL), 8, width);
  op.k = tensor_channels(slots, 8, width);
  op.v = tensor_channels(slots, 16 + width, width);
  struct tensor x = test_input(t, c->n, c->h, c->w, width, ELEMENT_DEVICE, FILL_NORMAL);
  op.y = plan_norm(&t->plan, "norm", (struct op_norm){.x = x, .prologue = {.act = ACT_SILU}});
  for (int i = 0; i < STYLES_MAX; i++) {
    struct style_params *style = &t->params.style[i];
    style->slot = c->gain[i] != 0 ? test_integer(t, 0, 2 * STYLES_MAX - 1) : 1000;
    for (int part = 0; part < STYLE_PARTS; part++)
      style->part[part] = part == (int)c->part ? 0.5f : 0;
    style->weight = 2 * c->gain[i];
  }
  plan_style(&t->plan, "style", op);
  test_output(t, op.y);
}

static const struct style_case style_cases[] = {
    {1, 16, 16, 4, 8, 40, .gain = {1}},
    {2, 8, 8, 4, 8, 40, .gain = {0, 0.5f}, .part = STYLE_LOOK},
    {2, 8, 8, 16, 5, 64, .gain = {0.7f, 0, 1.5f}, .part = STYLE_COMPOSITION},
    {3, 5, 7, 16, 3, 80, .gain = {1, 1, 1, 1}},
    {1, 8, 8, 16, 8, 160, .gain = {0.3f}},
    {1, 8, 8, 257, 2, 40, .gain = {1}},
    {1, 9, 7, 4, 3, 64, .gain = {1}},
    {1, 9, 5, 257, 2, 160, .gain = {0.5f, -0.5f}},
    {1, 5, 7, 1, 2, 8, .gain = {1}},
    {1, 5, 7, 5, 2, 24, .gain = {1, 2}},
    {1, 3, 3, 4, 1, 12, .gain = {1}},
    {1, 3, 3, 7, 1, 200, .gain = {1}},
    {5, 4, 4, 4, 2, 16, .gain = {1}, .first = 2, .rows = 1},
    {6, 4, 4, 4, 2, 16, .gain = {1}, .first = 2, .rows = 2},
    {1, 5, 7, 4, 2, 40, .gain = {0}},
};

/* --- the list --- */

const struct op_cases op_cases_layers[] = {
    OP_CASES("conv", build_conv, conv_cases),
    OP_CASES("linear", build_linear, linear_cases),
    OP_CASES("norm", build_norm, norm_cases),
    OP_CASES("attention", build_attention, attention_cases),
    OP_CASES_BOUND("attention, many keys", build_attention, many_keys_cases, 1e-5),
    OP_CASES("style", build_style, style_cases),
    {NULL},
};

const struct op_cases op_cases_large[] = {
    OP_CASES("linear, large", build_linear, large_linear_cases),
    {NULL},
};
