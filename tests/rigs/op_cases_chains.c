/* Cases of the chains that convolutions, linear layers, norms and attention form in networks. */
#include "tests/rigs/op_cases.h"

static struct tensor chain_conv(struct op_test *t, struct tensor x, struct tensor residual, enum activation act) {
  return plan_conv(&t->plan, "conv",
                   (struct op_conv){.x = x,
                                    .weight = test_weight(t, x.c, 3, x.c),
                                    .bias = test_vector(t, x.c, 0),
                                    .stride = 1,
                                    .pad = 1,
                                    .residual = residual,
                                    .act = act});
}

/* Two blocks of AutoencoderTiny: residuals that a device may add in place, and one that is read again at the end. */
static void build_tiny_blocks(struct op_test *t, const void *argument) {
  struct tensor none = {0}, first = test_input(t, 1, 11, 13, 32, ELEMENT_DEVICE, FILL_NORMAL);
  (void)argument;
  struct tensor x = chain_conv(t, first, none, ACT_RELU), kept = x;
  for (int block = 0; block < 2; block++) {
    struct tensor h = chain_conv(t, chain_conv(t, x, none, ACT_RELU), none, ACT_RELU);
    x = chain_conv(t, h, x, ACT_RELU);
  }
  test_output(t, chain_conv(t, x, kept, ACT_NONE));
}

/* A res block with a convolution whose input is also its residual. */
static void build_own_residual(struct op_test *t, const void *argument) {
  struct tensor x =
      chain_conv(t, test_input(t, 1, 6, 6, 16, ELEMENT_DEVICE, FILL_NORMAL), (struct tensor){0}, ACT_NONE);
  (void)argument;
  x = chain_conv(t, x, x, ACT_RELU);
  test_output(t, chain_conv(t, x, (struct tensor){0}, ACT_NONE));
}

/* An autoencoder's convolutions, one behind the other: a device may calculate their tiles in any order, and forget an
 * input that nothing reads later. */
static void build_few_channels(struct op_test *t, const void *argument) {
  struct tensor none = {0}, x = test_input(t, 2, 19, 21, 64, ELEMENT_DEVICE, FILL_NORMAL), kept;
  (void)argument;
  kept = x = chain_conv(t, x, none, ACT_RELU);
  x = chain_conv(t, chain_conv(t, x, none, ACT_RELU), kept, ACT_RELU);
  for (int times = 0; times < 2; times++) {
    x = plan_conv(
        &t->plan, "up",
        (struct op_conv){.x = x, .weight = test_weight(t, 64, 3, 64), .upsample = true, .stride = 1, .pad = 1});
    x = plan_conv(&t->plan, "down",
                  (struct op_conv){.x = x, .weight = test_weight(t, 64, 3, 64), .stride = 2, .pad = 1});
  }
  x = plan_conv(&t->plan, "last", (struct op_conv){.x = x, .weight = test_weight(t, 4, 3, 64), .stride = 1, .pad = 1});
  test_output(t, x);
}

/* Convolutions that read their time projections from the middle row of a state, the second from an odd place. */
static void build_kept_times(struct op_test *t, const void *argument) {
  struct tensor x = test_input(t, 1, 6, 6, 64, ELEMENT_DEVICE, FILL_NORMAL);
  struct tensor times = tensor_rows_of(test_state(t, 3, 1, 1, 140, ELEMENT_DEVICE), 1, 1);
  (void)argument;
  for (int i = 0; i < 2; i++)
    x = plan_conv(&t->plan, "conv",
                  (struct op_conv){.x = x,
                                   .weight = test_weight(t, 64, 3, x.c),
                                   .time = tensor_channels(times, 8 + 67 * i, 64),
                                   .stride = 1,
                                   .pad = 1});
  test_output(t, x);
}

/* Group norms of results of convolutions: of one, and of two that are joined, one of which is normalised twice. */
struct behind_case {
  int n, h, w, c_in, c, c2, k;
  int groups;
  bool up;
};

static struct tensor behind_conv(struct op_test *t, struct tensor x, int c, int k, bool up, struct tensor residual) {
  return plan_conv(&t->plan, "conv",
                   (struct op_conv){.x = x,
                                    .weight = test_weight(t, c, k, x.c),
                                    .bias = test_vector(t, c, 0.5f),
                                    .stride = 1,
                                    .pad = k / 2,
                                    .upsample = up,
                                    .residual = residual});
}

static void build_behind(struct op_test *t, const void *argument) {
  const struct behind_case *c = argument;
  struct tensor none = {0}, first = test_input(t, c->n, c->h, c->w, c->c_in, ELEMENT_DEVICE, FILL_NORMAL);
  struct tensor x = behind_conv(t, first, c->c, c->k, c->up, none);
  struct tensor y = behind_conv(t, first, c->c, c->k, c->up, c->up ? none : x);
  struct prologue norm = {.norm = NORM_GROUP, .groups = c->groups, .eps = 1e-5f, .gamma = test_vector(t, c->c, 1)};
  test_output(t, plan_norm(&t->plan, "norm", (struct op_norm){.x = y, .prologue = norm}));
  if (!c->c2)
    return;
  struct op_linear op = {.x = behind_conv(t, first, c->c2, c->k, c->up, none), .x2 = y};
  op.weight = test_weight(t, 24, 1, c->c + c->c2);
  op.prologue = (struct prologue){.norm = NORM_GROUP, .groups = c->groups, .eps = 1e-5f, .act = ACT_SILU};
  op.prologue.beta = test_vector(t, c->c + c->c2, 0);
  test_output(t, plan_linear(&t->plan, "linear", op));
}

static const struct behind_case behind_cases[] = {
    {1, 8, 8, 16, 320, 0, 3, 32},
    {1, 16, 16, 16, 320, 640, 1, 32},
    {2, 8, 8, 8, 640, 320, 3, 32},
    {1, 24, 8, 8, 128, 0, 3, 32},
    {1, 24, 24, 8, 160, 320, 1, 8},
    {1, 8, 24, 16, 80, 80, 1, 8},
    {1, 9, 9, 16, 320, 320, 1, 32},
    {1, 64, 64, 8, 80, 80, 1, 8},
    {3, 8, 8, 24, 128, 64, 1, 16},
    {2, 8, 8, 8, 320, 0, 3, 32, .up = true},
    {1, 8, 16, 16, 160, 80, 3, 16, .up = true},
};

static struct tensor chain_linear(struct op_test *t, struct tensor x, int out, bool norm, enum activation act,
                                  struct tensor residual) {
  struct op_linear op = {.x = x, .weight = test_weight(t, out, 1, x.c), .residual = residual, .act = act};
  if (norm)
    op.prologue = (struct prologue){.norm = NORM_LAYER, .eps = 1e-5f, .gamma = test_vector(t, x.c, 1)};
  return plan_linear(&t->plan, "linear", op);
}

/* A transformer block. */
static void build_transformer(struct op_test *t, const void *argument) {
  struct tensor none = {0}, x = test_input(t, 2, 6, 5, 64, ELEMENT_DEVICE, FILL_NORMAL);
  (void)argument;
  x = chain_linear(t, x, 64, false, ACT_NONE, none);
  struct tensor qkv = chain_linear(t, x, 192, true, ACT_NONE, none);
  struct tensor h = plan_attention(&t->plan, "attention",
                                   (struct op_attention){.q = tensor_channels(qkv, 0, 64),
                                                         .k = tensor_channels(qkv, 64, 64),
                                                         .v = tensor_channels(qkv, 128, 64),
                                                         .heads = 2,
                                                         .scale = 0.17f});
  x = chain_linear(t, h, 64, false, ACT_NONE, x);
  h = chain_linear(t, x, 512, true, ACT_GEGLU, none);
  test_output(t, chain_linear(t, h, 64, false, ACT_NONE, x));
}

const struct op_cases op_cases_chains[] = {
    OP_CASES("conv, group norm", build_behind, behind_cases),
    OP_CASE("conv with time projections of a state", build_kept_times),
    OP_CASE("chain of tiny blocks", build_tiny_blocks),
    OP_CASE("chain of few channels", build_few_channels),
    OP_CASE("chain with a residual that is the input", build_own_residual),
    OP_CASE("chain of a transformer block", build_transformer),
    {NULL},
};
