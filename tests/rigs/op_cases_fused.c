/* Chains of ops that a device may run as one, in shapes for which it does so and in similar ones for which it does
 * not. */
#include "tests/rigs/op_cases.h"

static const struct tensor none = {0};

static struct prologue layer_norm(struct op_test *t, int c) {
  return (struct prologue){
      .norm = NORM_LAYER, .eps = 1e-5f, .gamma = test_vector(t, c, 1), .beta = test_vector(t, c, 0)};
}

static struct tensor linear(struct op_test *t, struct tensor x, int out, struct prologue prologue, bool bias,
                            enum activation act, struct tensor residual) {
  struct op_linear op = {.x = x, .prologue = prologue, .act = act, .residual = residual};
  op.weight = test_weight(t, out, 1, x.c);
  if (bias)
    op.bias = test_vector(t, out, 0);
  return plan_linear(&t->plan, "linear", op);
}

static const struct prologue no_prologue = {0};

/* --- a transformer's block --- */

struct rows_case {
  int n, h, w, c;
  /* enter: number of groups of the group norm, 0: no group norm; the outputs have parts * c channels */
  int groups, parts;
  int tokens;               /* attend: number of the text's tokens */
  bool own_text, no_biases; /* attend: each latent has its own text */
  bool made;                /* attend: the launch ahead makes the text, in the same run */
  bool read_inside;         /* the intermediate result is read again, so that it must be stored */
  enum fill fill;
};

/* The first chain of ops: norm and projection to queries, keys and values. */
static void build_enter(struct op_test *t, const void *argument) {
  const struct rows_case *c = argument;
  struct tensor x = test_input(t, c->n, c->h, c->w, c->c, ELEMENT_DEVICE, c->fill);
  struct prologue norm = {.norm = c->groups ? NORM_GROUP : NORM_NONE, .groups = c->groups, .eps = 1e-6f};
  if (c->groups && !c->no_biases) {
    norm.gamma = test_vector(t, c->c, 1);
    norm.beta = test_vector(t, c->c, 0);
  }
  struct tensor y = linear(t, x, c->c, norm, !c->no_biases, ACT_NONE, none);
  test_output(t, y);
  test_output(t, linear(t, y, c->parts * c->c, layer_norm(t, c->c), c->no_biases, ACT_NONE, none));
}

/* The second chain of ops: self-attention, its output projection, and attention to the text. */
static void build_attend(struct op_test *t, const void *argument) {
  const struct rows_case *c = argument;
  struct tensor x = test_input(t, c->n, c->h, c->w, c->c, ELEMENT_DEVICE, c->fill);
  struct tensor residual = test_input(t, c->n, c->h, c->w, c->c, ELEMENT_DEVICE, c->fill);
  struct tensor text = test_input(t, c->own_text ? c->n : 1, 1, c->tokens, 2 * c->c + 24, ELEMENT_DEVICE, FILL_NORMAL);
  if (c->made)
    text = linear(t, text, 2 * c->c + 24, no_prologue, false, ACT_NONE, none);
  struct tensor h = linear(t, x, c->c, no_prologue, !c->no_biases, ACT_NONE, residual);
  struct tensor q = linear(t, h, c->c, layer_norm(t, c->c), false, ACT_NONE, none);
  struct tensor a = plan_attention(&t->plan, "attention",
                                   (struct op_attention){.q = q,
                                                         .k = tensor_channels(text, 16, c->c),
                                                         .v = tensor_channels(text, 16 + c->c, c->c),
                                                         .heads = c->c / 64,
                                                         .scale = 0.125f});
  struct tensor y = linear(t, a, c->c, no_prologue, !c->no_biases, ACT_NONE, h);
  test_output(t, c->read_inside ? linear(t, y, c->c, no_prologue, false, ACT_NONE, q) : y);
}

/* The third chain: feed-forward and the output projection. */
static void build_leave(struct op_test *t, const void *argument) {
  const struct rows_case *c = argument;
  struct tensor x = test_input(t, c->n, c->h, c->w, c->c, ELEMENT_DEVICE, c->fill);
  struct tensor residual = test_input(t, c->n, c->h, c->w, c->c, ELEMENT_DEVICE, c->fill);
  struct tensor h = linear(t, x, 8 * c->c, layer_norm(t, c->c), !c->no_biases, ACT_GEGLU, none);
  h = linear(t, h, c->c, no_prologue, !c->no_biases, ACT_NONE, x);
  struct tensor y = linear(t, h, c->c, no_prologue, !c->no_biases, ACT_NONE, residual);
  test_output(t, c->read_inside ? linear(t, y, c->c, no_prologue, false, ACT_NONE, h) : y);
}

/* A linear layer, and one that begins with a layer norm of its result. Both results are read. */
struct pair_case {
  int n, h, w, c, columns; /* columns: rows of the second layer's weight */
  enum activation act;     /* of the second layer */
  int groups;              /* number of groups of a norm before the first layer; 0: there is none */
  bool residual, no_biases;
  bool bare_norm; /* the layer norm has neither factors nor summands */
  enum fill fill;
};

static void build_pair(struct op_test *t, const void *argument) {
  const struct pair_case *c = argument;
  struct tensor x = test_input(t, c->n, c->h, c->w, c->c, ELEMENT_DEVICE, c->fill), residual = none;
  struct prologue before = {.norm = c->groups ? NORM_GROUP : NORM_NONE, .groups = c->groups, .eps = 1e-6f};
  struct prologue norm = {.norm = NORM_LAYER, .eps = 1e-5f};
  if (c->residual)
    residual = test_input(t, c->n, c->h, c->w, c->c, ELEMENT_DEVICE, FILL_NORMAL);
  struct tensor h = linear(t, x, c->c, before, !c->no_biases, ACT_NONE, residual);
  test_output(t, h);
  test_output(t, linear(t, h, c->columns, c->bare_norm ? norm : layer_norm(t, c->c), !c->no_biases, c->act, none));
}

static const struct pair_case pair_cases[] = {
    {1, 16, 16, 320, 320, .residual = true},
    {1, 16, 16, 320, 960, .groups = 32},
    {1, 16, 16, 320, 2560, ACT_GEGLU, .residual = true},
    {1, 8, 8, 320, 320, .residual = true, .fill = FILL_OFFSET},
    {2, 16, 12, 320, 320, .no_biases = true, .bare_norm = true},
    {3, 8, 8, 320, 960, .residual = true, .fill = FILL_LARGE},
    {1, 16, 16, 320, 960, .no_biases = true, .fill = FILL_CONSTANT},
    {1, 24, 8, 320, 640, .residual = true},
    {2, 8, 8, 320, 2560, ACT_GEGLU, .bare_norm = true, .fill = FILL_OFFSET},
    {1, 7, 5, 320, 320, .residual = true},
    {1, 8, 8, 640, 640, .residual = true},
    {1, 8, 8, 320, 2560, ACT_GEGLU, .groups = 32},
};

/* The shapes of a frame, and more rows than a GPU takes at a time. */
static const struct pair_case large_pair_cases[] = {
    {1, 64, 64, 320, 320, .residual = true},
    {1, 64, 64, 320, 960, .groups = 32},
    {1, 64, 64, 320, 2560, ACT_GEGLU, .residual = true},
    {1, 108, 64, 320, 960, .residual = true},
};

/* A linear layer and the attention to a text whose queries it makes, with heads of 64 channels. */
struct query_case {
  int n, h, w, c, heads, tokens; /* n 0: all of these are random */
  bool norm, bias;
  bool own_text; /* each latent has its own text */
  bool made;     /* the launch ahead makes the text's keys and values, in the same run */
  bool read;     /* the layer's result is read again, so that it must be stored */
  enum fill fill, text;
  float factor; /* factor of attention's usual scale; 0 stands for 1 */
};

static struct query_case random_query(struct op_test *t) {
  return (struct query_case){.n = test_integer(t, 1, 3),
                             .h = test_integer(t, 1, 15),
                             .w = test_integer(t, 1, 15),
                             .c = 8 * test_integer(t, 1, 80),
                             .heads = test_integer(t, 1, 6),
                             .tokens = test_integer(t, 1, 80),
                             .norm = test_integer(t, 0, 1),
                             .bias = test_integer(t, 0, 1)};
}

static void build_query(struct op_test *t, const void *argument) {
  struct query_case c = *(const struct query_case *)argument;
  if (!c.n)
    c = random_query(t);
  int width = 64 * c.heads;
  struct tensor x = test_input(t, c.n, c.h, c.w, c.c, ELEMENT_DEVICE, c.fill);
  struct tensor text =
      test_input(t, c.own_text ? c.n : 1, 1, c.tokens, c.made ? 64 : 2 * width + 24, ELEMENT_DEVICE, c.text);
  if (c.made)
    text = linear(t, text, 2 * width + 24, no_prologue, true, ACT_NONE, none);
  struct tensor q = linear(t, x, width, c.norm ? layer_norm(t, c.c) : no_prologue, c.bias, ACT_NONE, none);
  test_output(t, plan_attention(&t->plan, "attention",
                                (struct op_attention){.q = q,
                                                      .k = tensor_channels(text, 16, width),
                                                      .v = tensor_channels(text, 16 + width, width),
                                                      .heads = c.heads,
                                                      .scale = 0.125f * (c.factor != 0 ? c.factor : 1)}));
  if (c.read)
    test_output(t, linear(t, q, 8, no_prologue, false, ACT_NONE, none));
}

/* One launch with tiles of 64 and of 128 rows, then with tiles of 64 alone, then none. */
static const struct query_case query_cases[] = {
    {1, 16, 16, 1280, 20, 77, .norm = true},
    {1, 32, 32, 640, 10, 77, .norm = true},
    {1, 8, 8, 1280, 5, 80, .norm = true, .fill = FILL_OFFSET},
    {2, 9, 7, 200, 5, 33, .bias = true},
    {1, 11, 3, 960, 3, 72, .norm = true, .bias = true, .fill = FILL_LARGE},
    {1, 13, 11, 64, 7, 73, .fill = FILL_CONSTANT},
    {1, 1, 1, 136, 1, 1, .norm = true},
    {2, 5, 5, 8, 2, 9, .text = FILL_ZEROS},
    {1, 9, 9, 320, 2, 77, .norm = true, .text = FILL_LARGE, .factor = 1 / 32.0f},
    {2, 16, 8, 320, 3, 40, .norm = true, .own_text = true},
    {1, 8, 8, 320, 5, 77, .made = true},
    {1, 16, 16, 640, 10, 77, .norm = true, .made = true},
    {0},
    {0},
    {0},
    {0},
    {3, 8, 8, 320, 2, 80, .norm = true, .own_text = true},
    {2, 9, 7, 320, 2, 77, .norm = true, .own_text = true},
    {1, 8, 8, 320, 2, 81, .norm = true},
    {1, 8, 8, 320, 2, 154, .norm = true},
    {1, 8, 8, 320, 2, 77, .norm = true, .read = true},
};

/* Two linear layers with residuals, as at the end of a transformer whose rows are too many for the kernels above. */
struct fold_case {
  int n, h, w;
  int width, c, out;
  bool no_biases;
  bool read_inside; /* the result between them is read again, so that they cannot be one */
  enum fill fill;
};

static void build_fold(struct op_test *t, const void *argument) {
  const struct fold_case *c = argument;
  struct tensor x = test_input(t, c->n, c->h, c->w, c->width, ELEMENT_DEVICE, c->fill);
  struct tensor between = test_input(t, c->n, c->h, c->w, c->c, ELEMENT_DEVICE, c->fill);
  struct tensor residual = test_input(t, c->n, c->h, c->w, c->out, ELEMENT_DEVICE, FILL_NORMAL);
  struct tensor h = linear(t, x, c->c, no_prologue, !c->no_biases, ACT_NONE, between);
  struct tensor y = linear(t, h, c->out, no_prologue, !c->no_biases, ACT_NONE, residual);
  test_output(t, c->read_inside ? linear(t, y, c->c, no_prologue, false, ACT_NONE, h) : y);
}

static const struct fold_case fold_cases[] = {
    {1, 16, 16, 1280, 320, 320},
    {1, 8, 8, 2560, 640, 640},
    {2, 5, 7, 256, 64, 64, .no_biases = true},
    {3, 4, 12, 768, 192, 192, .fill = FILL_OFFSET},
    {1, 7, 5, 40, 72, 88},
    {1, 1, 1, 8, 8, 8, .fill = FILL_CONSTANT},
    {1, 9, 9, 128, 64, 48, .fill = FILL_LARGE},
    {1, 6, 6, 256, 64, 64, .read_inside = true},
    {1, 4, 4, 1280, 1280, 1280},
    {1, 4, 4, 2560, 1280, 1280},
};

/* A feed-forward: a layer norm and GEGLU, the narrowing layer, and the projection out. */
struct feed_case {
  int n, h, w;
  int c, width, out;
  bool no_biases;
  bool read_inside; /* GEGLU's result is read again, so that the layers cannot be fused */
  bool other;       /* the first residual is not the norm's input: they cannot be fused either */
  enum fill fill;
};

static void build_feed(struct op_test *t, const void *argument) {
  const struct feed_case *c = argument;
  struct tensor x = test_input(t, c->n, c->h, c->w, c->c, ELEMENT_DEVICE, c->fill), between = x;
  struct tensor residual = test_input(t, c->n, c->h, c->w, c->out, ELEMENT_DEVICE, FILL_NORMAL);
  if (c->other)
    between = test_input(t, c->n, c->h, c->w, c->c, ELEMENT_DEVICE, c->fill);
  struct tensor wide = linear(t, x, 2 * c->width, layer_norm(t, c->c), !c->no_biases, ACT_GEGLU, none);
  struct tensor narrow = linear(t, wide, c->c, no_prologue, !c->no_biases, ACT_NONE, between);
  struct tensor y = linear(t, narrow, c->out, no_prologue, !c->no_biases, ACT_NONE, residual);
  test_output(t, c->read_inside ? linear(t, y, c->width, no_prologue, false, ACT_NONE, wide) : y);
}

static const struct feed_case feed_cases[] = {
    {1, 16, 16, 320, 1280, 320},
    {1, 64, 64, 320, 1280, 320},
    {1, 16, 16, 640, 2560, 640},
    {2, 5, 7, 64, 256, 64, .no_biases = true},
    {3, 4, 12, 128, 512, 128, .fill = FILL_OFFSET},
    {1, 7, 5, 72, 40, 80},
    {1, 9, 9, 64, 128, 48, .fill = FILL_LARGE},
    {1, 6, 6, 64, 256, 64, .read_inside = true},
    {1, 6, 6, 64, 256, 64, .other = true},
    {1, 1, 1, 16, 16, 16},
    {1, 4, 4, 1280, 5120, 1280},
};

static const struct rows_case enter_cases[] = {
    {1, 16, 16, 128, 32, 3},
    {1, 8, 8, 192, 32, 3},
    {1, 16, 16, 192, 32, 3, .fill = FILL_OFFSET},
    {1, 32, 32, 128, 32, 3},
    {2, 4, 12, 128, 16, 1, .no_biases = true},
    {3, 16, 8, 192, 48, 2, .fill = FILL_CONSTANT},
    {2, 8, 6, 192, 0, 3},
    {1, 7, 5, 128, 32, 3},
    {1, 8, 8, 64, 32, 3},
};

static const struct rows_case attend_cases[] = {
    {1, 16, 16, 128, .tokens = 77},
    {1, 8, 8, 192, .tokens = 77},
    {1, 16, 8, 128, .tokens = 77, .made = true},
    {2, 8, 8, 192, .tokens = 40, .own_text = true, .made = true},
    {2, 4, 12, 192, .tokens = 80, .own_text = true, .no_biases = true},
    {3, 4, 4, 128, .tokens = 1, .own_text = true},
    {2, 8, 4, 128, .tokens = 9, .fill = FILL_LARGE},
    {1, 8, 4, 128, .tokens = 81},
    {1, 8, 4, 192, .tokens = 77, .read_inside = true},
    {1, 7, 5, 128, .tokens = 77},
};

static const struct rows_case leave_cases[] = {
    {1, 8, 8, 192},   {1, 16, 16, 192, .fill = FILL_OFFSET}, {1, 16, 16, 128},
    {1, 32, 32, 128}, {2, 16, 14, 128, .fill = FILL_OFFSET}, {3, 4, 4, 128, .no_biases = true},
    {3, 4, 12, 192},  {1, 8, 4, 128, .read_inside = true},   {1, 7, 5, 192},
};

/* --- an autoencoder's block --- */

struct block_case {
  int n, h, w, c;
  bool no_biases, read_inside;
  enum fill fill;
};

static struct tensor conv(struct op_test *t, const struct block_case *c, struct tensor x, struct tensor residual) {
  struct op_conv op = {.x = x, .residual = residual, .stride = 1, .pad = 1, .act = ACT_RELU};
  op.weight = test_weight(t, x.c, 3, x.c);
  if (!c->no_biases)
    op.bias = test_vector(t, x.c, 0);
  return plan_conv(&t->plan, "conv", op);
}

/* Two blocks. The second reads beyond what one thread block of the first has computed. */
static void build_blocks(struct op_test *t, const void *argument) {
  const struct block_case *c = argument;
  struct tensor x = test_input(t, c->n, c->h, c->w, c->c, ELEMENT_DEVICE, c->fill), inside = none;
  for (int i = 0; i < 2; i++) {
    inside = conv(t, c, x, none);
    x = conv(t, c, conv(t, c, inside, none), x);
  }
  test_output(t, c->read_inside ? conv(t, c, x, inside) : x);
}

static const struct block_case block_cases[] = {
    {1, 32, 32, 32},
    {1, 4, 8, 32},
    {2, 13, 9, 32},
    {3, 1, 1, 32, .no_biases = true},
    {1, 63, 61, 32, .fill = FILL_ZEROS},
    {1, 68, 66, 32},
    {1, 70, 130, 32},
    {2, 37, 258, 32},
    {1, 24, 16, 32, .read_inside = true},
    {1, 12, 17, 64},
};

/* --- an autoencoder's first two convolutions --- */

struct first_case {
  int n, h, w, c, between, out; /* between: channels between the two convolutions */
  bool no_biases, second_bias, read_inside;
  enum fill fill;
};

static void build_first(struct op_test *t, const void *argument) {
  const struct first_case *c = argument;
  struct tensor x = test_input(t, c->n, c->h, c->w, c->c, ELEMENT_DEVICE, c->fill);
  struct op_conv inner = {.x = x, .stride = 1, .pad = 1, .weight = test_weight(t, c->between, 3, c->c)};
  struct op_conv outer = {.stride = 2, .pad = 1, .weight = test_weight(t, c->out, 3, c->between)};
  if (!c->no_biases)
    inner.bias = test_vector(t, c->between, 0);
  if (c->second_bias)
    outer.bias = test_vector(t, c->out, 0);
  outer.x = plan_conv(&t->plan, "inner", inner);
  struct tensor y = plan_conv(&t->plan, "outer", outer);
  if (c->read_inside)
    test_output(t, plan_conv(&t->plan, "again", outer));
  test_output(t, y);
}

static const struct first_case first_cases[] = {
    {1, 64, 64, 3, 32, 32},
    {1, 2, 8, 3, 32, 32},
    {2, 18, 40, 3, 24, 32, .second_bias = true},
    {3, 6, 24, 3, 64, 32, .no_biases = true},
    {1, 130, 72, 3, 32, 32, .fill = FILL_ZEROS},
    {1, 34, 16, 3, 8, 32, .fill = FILL_LARGE},
    {2, 12, 48, 3, 32, 32, .no_biases = true, .second_bias = true, .fill = FILL_OFFSET},
    {1, 16, 16, 3, 32, 32, .read_inside = true},
    {1, 15, 16, 3, 32, 32},
    {1, 16, 12, 3, 32, 32},
    {1, 16, 16, 3, 32, 64},
    {1, 16, 16, 4, 32, 32},
};

/* --- a convolution and its norm --- */

struct norm_conv_case {
  int n, h, w, c, c2, out, groups;
  enum activation act;
  bool bare; /* only weights, no biases */
  enum fill fill;
};

static void build_norm_conv(struct op_test *t, const void *argument) {
  const struct norm_conv_case *c = argument;
  struct op_conv op = {.stride = 1, .pad = 1};
  op.x = test_input(t, c->n, c->h, c->w, c->c, ELEMENT_DEVICE, c->fill);
  if (c->c2)
    op.x2 = test_input(t, c->n, c->h, c->w, c->c2, ELEMENT_DEVICE, c->fill);
  op.prologue = (struct prologue){.norm = NORM_GROUP, .act = c->act, .groups = c->groups, .eps = 1e-5f};
  op.weight = test_weight(t, c->out, 3, c->c + c->c2);
  if (!c->bare) {
    op.prologue.gamma = test_vector(t, c->c + c->c2, 1);
    op.prologue.beta = test_vector(t, c->c + c->c2, 0);
    op.bias = test_vector(t, c->out, 0);
    op.time = tensor_channels(test_input(t, 1, 1, 1, c->out + 24, ELEMENT_DEVICE, FILL_NORMAL), 16, c->out);
    op.residual = test_input(t, c->n, c->h, c->w, c->out, ELEMENT_DEVICE, FILL_NORMAL);
  }
  test_output(t, plan_conv(&t->plan, "conv", op));
}

static const struct norm_conv_case norm_conv_cases[] = {
    {1, 8, 8, 192, 0, 192, 32, ACT_SILU},
    {1, 8, 8, 192, 192, 192, 32, ACT_SILU},
    {1, 16, 16, 192, 128, 128, 32, ACT_SILU},
    {1, 16, 16, 128, 128, 128, 32, ACT_SILU, .fill = FILL_OFFSET},
    {1, 32, 32, 128, 0, 128, 32, ACT_SILU},
    {2, 5, 7, 64, 0, 48, 4, ACT_NONE, .bare = true},
    {3, 7, 9, 128, 64, 32, 16, ACT_SILU},
    {1, 1, 1, 64, 0, 16, 8, ACT_SILU},
    {1, 2, 30, 128, 0, 32, 32, ACT_NONE, .fill = FILL_CONSTANT},
    {1, 9, 9, 72, 0, 32, 8, ACT_SILU},
    {1, 40, 40, 128, 0, 32, 32, ACT_SILU},
};

/* --- a residual block's second convolution and its shortcut --- */

struct shortcut_case {
  int n, h, w, c, in, skip, out; /* in and skip: channels of the block's inputs; skip 0: it has one input */
  bool bare;                     /* only weights, no biases */
  bool read_inside;              /* the shortcut's result is read again */
  bool norm;
  enum fill fill;
};

static void build_shortcut(struct op_test *t, const void *argument) {
  const struct shortcut_case *c = argument;
  struct tensor x = test_input(t, c->n, c->h, c->w, c->in, ELEMENT_DEVICE, c->fill), skip = none;
  struct tensor h = test_input(t, c->n, c->h, c->w, c->c, ELEMENT_DEVICE, FILL_NORMAL);
  if (c->skip)
    skip = test_input(t, c->n, c->h, c->w, c->skip, ELEMENT_DEVICE, FILL_NORMAL);
  struct op_linear linear_op = {.x = x, .x2 = skip, .weight = test_weight(t, c->out, 1, c->in + c->skip)};
  struct op_conv op = {.x = h, .stride = 1, .pad = 1, .weight = test_weight(t, c->out, 3, c->c)};
  if (c->norm)
    op.prologue = (struct prologue){.norm = NORM_GROUP, .act = ACT_SILU, .groups = 8, .eps = 1e-5f};
  if (!c->bare) {
    linear_op.bias = test_vector(t, c->out, 0);
    op.bias = test_vector(t, c->out, 0);
  }
  op.residual = plan_linear(&t->plan, "shortcut", linear_op);
  struct tensor y = plan_conv(&t->plan, "conv", op);
  test_output(t, c->read_inside ? linear(t, y, c->c, no_prologue, false, ACT_NONE, h) : y);
  if (c->read_inside)
    test_output(t, linear(t, op.residual, 8, no_prologue, false, ACT_NONE, none));
}

static const struct shortcut_case shortcut_cases[] = {
    {1, 16, 16, 320, 640, 320, 320, .norm = true},
    {1, 32, 32, 80, 160, 0, 80},
    {1, 8, 8, 640, 640, 640, 640, .norm = true},
    {2, 5, 7, 72, 40, 88, 160, .bare = true},
    {3, 3, 2, 64, 8, 0, 80, .norm = true, .fill = FILL_OFFSET},
    {1, 1, 1, 8, 8, 8, 80},
    {1, 9, 17, 160, 200, 120, 240, .fill = FILL_LARGE},
    {1, 64, 64, 16, 64, 0, 80},
    {3, 16, 12, 64, 128, 64, 320, .norm = true},
    {1, 8, 8, 80, 80, 0, 80, .read_inside = true},
    {1, 8, 8, 80, 64, 0, 88},
    {1, 8, 8, 80, 84, 0, 80},
    {1, 16, 16, 128, 128, 192, 128, .norm = true},
    {1, 32, 32, 128, 128, 128, 128, .norm = true, .fill = FILL_OFFSET},
    {2, 9, 7, 192, 128, 0, 192, .bare = true},
    {1, 5, 3, 64, 72, 0, 64, .read_inside = true},
    {1, 8, 8, 192, 192, 192, 192, .norm = true},
    {1, 16, 16, 128, 128, 0, 256},
    {1, 8, 8, 192, 128, 0, 192, .norm = true},
    {2, 8, 8, 192, 192, 128, 192, .norm = true, .fill = FILL_OFFSET},
    {3, 5, 7, 128, 64, 0, 48, .norm = true, .bare = true},
    {1, 4, 16, 64, 72, 120, 64, .norm = true, .fill = FILL_LARGE},
    {2, 1, 9, 256, 192, 192, 32, .norm = true},
    {1, 8, 8, 128, 192, 0, 128, .norm = true, .read_inside = true},
    {1, 8, 8, 128, 96, 0, 128, .norm = true},
};

/* --- a residual block --- */

struct residual_case {
  int n, h, w, in, skip, out; /* in and skip: channels of the block's inputs; skip 0: it has one input */
  int groups;
  bool bare; /* no biases */
  enum fill fill;
};

static struct prologue block_norm(struct op_test *t, int groups, int channels) {
  return (struct prologue){.norm = NORM_GROUP,
                           .act = ACT_SILU,
                           .groups = groups,
                           .eps = 1e-5f,
                           .gamma = test_vector(t, channels, 1),
                           .beta = test_vector(t, channels, 0)};
}

static void build_residual(struct op_test *t, const void *argument) {
  const struct residual_case *c = argument;
  int in = c->in + c->skip;
  struct tensor x = test_input(t, c->n, c->h, c->w, c->in, ELEMENT_DEVICE, c->fill), skip = none;
  if (c->skip)
    skip = test_input(t, c->n, c->h, c->w, c->skip, ELEMENT_DEVICE, FILL_NORMAL);
  struct op_conv first = {.x = x, .x2 = skip, .stride = 1, .pad = 1, .weight = test_weight(t, c->out, 3, in)};
  struct op_linear shortcut = {.x = x, .x2 = skip, .weight = test_weight(t, c->out, 1, in)};
  struct op_conv second = {.stride = 1, .pad = 1, .weight = test_weight(t, c->out, 3, c->out)};
  first.prologue = block_norm(t, c->groups, in);
  first.time = test_input(t, 1, 1, 1, c->out, ELEMENT_DEVICE, FILL_NORMAL);
  second.prologue = block_norm(t, c->groups, c->out);
  if (!c->bare) {
    first.bias = test_vector(t, c->out, 0);
    shortcut.bias = test_vector(t, c->out, 0);
    second.bias = test_vector(t, c->out, 0);
  }
  second.x = plan_conv(&t->plan, "first", first);
  second.residual = plan_linear(&t->plan, "shortcut", shortcut);
  test_output(t, plan_conv(&t->plan, "second", second));
}

static const struct residual_case residual_cases[] = {
    {1, 16, 16, 128, 64, 128, 32},
    {1, 32, 32, 128, 128, 128, 32},
    {2, 9, 7, 64, 128, 96, 8},
    {1, 41, 37, 64, 96, 160, 16, .fill = FILL_OFFSET},
    {3, 21, 20, 80, 80, 64, 8, .bare = true},
    {1, 64, 64, 64, 16, 32, 4},
    {1, 8, 8, 1280, 640, 320, 32},
    {1, 1, 1, 32, 32, 64, 8},
    {1, 17, 19, 320, 0, 64, 32},
    {1, 16, 16, 24, 16, 40, 5},
};

const struct op_cases op_cases_fused[] = {
    OP_CASES("fused residual blocks", build_residual, residual_cases),
    OP_CASES("fused shortcuts", build_shortcut, shortcut_cases),
    OP_CASES("fused norm conv", build_norm_conv, norm_conv_cases),
    OP_CASES("fused enter", build_enter, enter_cases),
    OP_CASES("fused attend", build_attend, attend_cases),
    OP_CASES("fused leave", build_leave, leave_cases),
    OP_CASES("fused pairs", build_pair, pair_cases),
    OP_CASES("fused queries", build_query, query_cases),
    OP_CASES("fused linear layers", build_fold, fold_cases),
    OP_CASES("fused feed-forward", build_feed, feed_cases),
    OP_CASES("fused blocks", build_blocks, block_cases),
    OP_CASES("fused first convolutions", build_first, first_cases),
    {0},
};

const struct op_cases op_cases_fused_large[] = {
    OP_CASES("fused pairs, large", build_pair, large_pair_cases),
    {0},
};
