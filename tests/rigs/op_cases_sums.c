/* Cases of products with large sums, for devices that round while they sum: sums of one sign, whose roundings add up,
 * and sums with parts beyond what FP16 holds, which cancel out. */
#include <math.h>

#include "tests/rigs/op_cases.h"

struct sums_case {
  int n, h, w, c, c2, out; /* c2 0: there is no second input */
  int k;                   /* side of a convolution's window; 0: a linear layer */
  float scale;             /* power of two by which inputs are multiplied */
  bool up, bias, residual;
  enum activation act;
};

static float *last_operand(struct op_test *t) {
  return t->operands[t->operand_count - 1].data;
}

/* Adds the product of inputs and a weight that were just made. */
static void finish_sums(struct op_test *t, const struct sums_case *c, const struct tensor x[2], struct tensor weight) {
  struct tensor none = {0}, bias = c->bias ? test_vector(t, c->out, 0) : none;
  struct tensor residual =
      c->residual ? test_input(t, c->n, c->h << c->up, c->w << c->up, c->out, ELEMENT_DEVICE, FILL_LARGE) : none;
  if (c->k)
    test_output(t, plan_conv(&t->plan, "conv",
                             (struct op_conv){.x = x[0],
                                              .x2 = x[1],
                                              .weight = weight,
                                              .bias = bias,
                                              .residual = residual,
                                              .act = c->act,
                                              .upsample = c->up,
                                              .stride = 1,
                                              .pad = c->k / 2}));
  else
    test_output(
        t,
        plan_linear(&t->plan, "linear",
                    (struct op_linear){
                        .x = x[0], .x2 = x[1], .weight = weight, .bias = bias, .residual = residual, .act = c->act}));
}

/* Products that are all positive: normal values without their signs. */
static void build_one_sign(struct op_test *t, const void *argument) {
  const struct sums_case *c = argument;
  struct tensor x[2] = {{0}};
  int in = c->c + c->c2, side = c->k ? c->k : 1;
  for (int i = 0; i < 2 && (i == 0 || c->c2); i++) {
    x[i] = test_input(t, c->n, c->h, c->w, i ? c->c2 : c->c, ELEMENT_DEVICE, FILL_NORMAL);
    float *data = last_operand(t);
    for (size_t e = 0; e < tensor_elements(x[i]); e++)
      data[e] = c->scale * fabsf(data[e]);
  }
  struct tensor weight = test_weight(t, c->out, side, in);
  float *data = last_operand(t);
  for (int e = 0; e < c->out * in * side * side; e++)
    data[e] = fabsf(data[e]);
  finish_sums(t, c, x, weight);
}

/* Products of about 5800, so that twelve are more than FP16 holds, positive in the first half of the channels and
 * negative in the second. Each channel of the second half has the value of one in the first, and its weight is the
 * opposite of that one's but for a small difference, which is what remains: some 1e4. All values are whole numbers that
 * BF16 holds, so FP32 sums are exact in any order. Winograd's algorithm multiplies sums of them: 2.1e-5 on a CPU. */
static void build_cancelling(struct op_test *t, const void *argument) {
  const struct sums_case *c = argument;
  struct tensor x[2] = {test_input(t, c->n, c->h, c->w, c->c, ELEMENT_DEVICE, FILL_NORMAL)};
  float *data = last_operand(t);
  int half = c->c / 2, side = c->k ? c->k : 1, taps = side * side;
  for (int row = 0; row < c->n * c->h * c->w; row++)
    for (int i = 0; i < c->c; i++)
      data[row * c->c + i] = i < half ? (float)test_integer(t, 130, 255) : data[row * c->c + i - half];
  struct tensor weight = test_weight(t, c->out, side, c->c); /* in a checkpoint's order: [out, c, side, side] */
  data = last_operand(t);
  for (int out = 0; out < c->out; out++)
    for (int i = 0; i < c->c; i++)
      for (int tap = 0; tap < taps; tap++) {
        int at = (out * c->c + i) * taps + tap;
        data[at] = i < half ? (float)test_integer(t, 20, 40) : (float)test_integer(t, -4, 4) - data[at - half * taps];
      }
  finish_sums(t, c, x, weight);
}

/* Sums of up to 2e4, a third of the largest FP16 number. */
static const struct sums_case one_sign_cases[] = {
    {1, 1, 77, 328, 0, 200, .scale = 1024},
    {1, 13, 11, 328, 0, 328, .scale = 1024, .bias = true, .residual = true},
    {1, 17, 23, 640, 320, 176, .scale = 1024},
    {1, 1, 515, 1280, 0, 72, .scale = 256, .bias = true},
    {1, 1, 129, 2568, 0, 264, .scale = 64},
    {1, 1, 200, 384, 0, 656, .scale = 1024, .bias = true},
    {1, 11, 13, 72, 0, 168, .k = 3, .scale = 512, .bias = true},
    {2, 9, 15, 64, 40, 67, .k = 3, .scale = 512, .residual = true},
    {1, 9, 31, 320, 0, 136, .k = 3, .scale = 256, .act = ACT_RELU},
    {1, 9, 17, 96, 0, 72, .k = 3, .scale = 512, .up = true},
    {1, 19, 7, 360, 0, 5, .k = 1, .scale = 1024},
};

static const struct sums_case cancelling_cases[] = {
    {1, 1, 77, 328, 0, 200},
    {1, 13, 11, 328, 0, 328, .bias = true},
    {1, 1, 515, 328, 0, 67},
    {1, 9, 31, 360, 0, 264},
    {1, 11, 13, 72, 0, 168, .k = 3, .bias = true},
    {2, 17, 15, 72, 0, 67, .k = 3},
    {1, 16, 17, 72, 0, 72, .k = 3, .up = true},
};

const struct op_cases op_cases_sums[] = {
    OP_CASES("sums of one sign", build_one_sign, one_sign_cases),
    OP_CASES_BOUND("sums beyond FP16", build_cancelling, cancelling_cases, 1e-4),
    {NULL},
};
