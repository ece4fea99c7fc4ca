/* Tests the bank of attention over many runs on every device: attention to the frames that it keeps, and the same bits
 * as plain attention if it keeps none.
 *
 *   test_bank_runs DEVICE [bf16] [launches]       skipped where there is no such device
 *
 *   bf16      computes in BF16
 *   launches  a GPU gets its launches one by one, instead of a graph */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/cmocka_all.h"
#include "tests/rigs/device_there.h"
#include "unet/devices.h"

enum { N = 2, SIDE = 8, TOKENS = SIDE * SIDE, HEADS = 2, DIM = 32, C = HEADS * DIM, ROOM = 3 };
enum { FUSED = N * TOKENS * 3 * C, COUNT = N * TOKENS * C };

static struct device_options options = {.precision = PRECISION_F32};

/* Attention of a fused projection to itself, with or without a bank. */
struct net {
  struct resources resources;
  struct plan plan;
  struct tensor x, y;
  struct device *device;
  struct program *program;
  struct run_params params;
  struct error err;
};

static void must(const struct net *net, int status) {
  if (status < 0)
    fail_msg("%s", net->err.message);
}

static void add_recall(struct net *net, struct op_attention *op, struct tensor ring) {
  op->k2 = tensor_channels(ring, 0, C);
  op->v2 = tensor_channels(ring, C, C);
  op->bank = plan_state(&net->plan, "bank", 1, 1, 1, BANK_VALUES, ELEMENT_WHOLE);
  plan_region_begin(&net->plan, (struct region_when){REGION_BANK});
  plan_recall(&net->plan, "recall", (struct op_recall){.bank = op->bank, .room = ROOM});
  plan_region_end(&net->plan);
}

static void add_remember(struct net *net, const struct op_attention *op, struct tensor ring) {
  struct op_remember remember = {.x = tensor_channels(net->x, C, 2 * C), .bank = op->bank, .ring = ring};
  plan_region_begin(&net->plan, (struct region_when){REGION_BANK});
  plan_remember(&net->plan, "remember", remember);
  plan_region_end(&net->plan);
}

static struct net *net_open(bool with_bank) {
  struct net *net = calloc(1, sizeof *net);
  assert_non_null(net);
  plan_init(&net->plan, &net->resources);
  net->x = plan_input(&net->plan, N, SIDE, SIDE, 3 * C, ELEMENT_DEVICE);
  struct op_attention op = {.heads = HEADS, .scale = 1 / sqrtf(DIM)};
  op.q = tensor_channels(net->x, 0, C);
  op.k = tensor_channels(net->x, C, C);
  op.v = tensor_channels(net->x, 2 * C, C);
  struct tensor ring = {0};
  if (with_bank) {
    ring = plan_state(&net->plan, "ring", N, ROOM, TOKENS, 2 * C, ELEMENT_DEVICE);
    add_recall(net, &op, ring);
  }
  net->y = plan_attention(&net->plan, "attention", op);
  if (with_bank)
    add_remember(net, &op, ring);
  must(net, plan_finish(&net->plan, &net->err));
  must(net, device_open(&net->device, &net->resources, &options, &net->err));
  must(net, device_prepare(net->device, &net->program, &net->plan, &(struct program_options){PIXEL_RGBA}, &net->err));
  return net;
}

static void net_close(struct net *net) {
  device_release(net->device, &net->program);
  device_close(&net->device);
  plan_free(&net->plan);
  resources_free(&net->resources);
  free(net);
}

static void run(struct net *net, const float *x, float *y) {
  must(net, device_poison(net->device, net->program, &net->err));
  must(net, device_write(net->device, net->program, net->x, 0, x, FUSED, &net->err));
  must(net, device_run(net->device, net->program, &net->params, &net->err));
  must(net, device_read(net->device, net->program, net->y, 0, y, COUNT, &net->err));
}

/* Numbers between -1 and 1 that BF16 holds. */
static void fill(float *x, unsigned *random) {
  for (size_t i = 0; i < FUSED; i++) {
    *random = *random * 1664525u + 1013904223u;
    x[i] = (float)((int)(*random >> 24) - 128) / 128;
  }
}

/* The parameters of a run, and the numbers of the runs that it attends to, in the order of slots. */
struct turn {
  int frames, every;
  bool restart, anew;
  int kept[ROOM], count;
};

static const struct turn turns[] = {
    {2, 1, .restart = true},
    {2, 1, .kept = {0}, .count = 1},
    {2, 1, .kept = {0, 1}, .count = 2},
    {2, 1, .kept = {2, 1}, .count = 2},
    {0, 0},
    {0, 0},
    {3, 2, .anew = true}, /* run 6 is kept, and after it every second one */
    {3, 2, .kept = {6}, .count = 1},
    {3, 2, .kept = {6}, .count = 1},
    {3, 2, .kept = {6, 8}, .count = 2},
    {3, 2, .kept = {6, 8}, .count = 2},
    {3, 2, .kept = {6, 8, 10}, .count = 3},
    {3, 2, .kept = {6, 8, 10}, .count = 3},
    {3, 2, .kept = {12, 8, 10}, .count = 3},
    {3, 2, .restart = true},
    {3, 2, .kept = {14}, .count = 1},
    {1, 1, .anew = true},
    {1, 1, .kept = {16}, .count = 1},
    {1, 1, .kept = {17}, .count = 1},
};
enum { TURNS = sizeof turns / sizeof turns[0] };

/* Computes the output for one query by the definition. `frames` are outputs of the fused projection, first that of this
 * run. */
static void attend(float *const *frames, int count, int n, int t, int head, double *out) {
  const float *q = frames[0] + ((size_t)n * TOKENS + (size_t)t) * 3 * C + head * DIM;
  double sum = 0, total[DIM] = {0};
  for (int f = 0; f < count; f++)
    for (int s = 0; s < TOKENS; s++) {
      const float *k = frames[f] + ((size_t)n * TOKENS + (size_t)s) * 3 * C + C + head * DIM, *v = k + C;
      double score = 0;
      for (int i = 0; i < DIM; i++)
        score += (double)q[i] * (double)k[i];
      double weight = exp(score / sqrt(DIM));
      sum += weight;
      for (int i = 0; i < DIM; i++)
        total[i] += weight * (double)v[i];
    }
  for (int i = 0; i < DIM; i++)
    out[i] = total[i] / sum;
}

static void expect_attention(float *const *frames, int count, const float *y, int number) {
  double bound = options.precision == PRECISION_BF16 ? 0.01 : 0.002;
  for (int n = 0; n < N; n++)
    for (int t = 0; t < TOKENS; t++)
      for (int head = 0; head < HEADS; head++) {
        double out[DIM];
        const float *got = y + ((size_t)n * TOKENS + (size_t)t) * C + head * DIM;
        attend(frames, count, n, t, head, out);
        for (int i = 0; i < DIM; i++)
          if (!(fabs((double)got[i] - out[i]) <= bound))
            fail_msg("run %d, row %d, token %d, channel %d: %g, not %g", number, n, t, head * DIM + i, (double)got[i],
                     out[i]);
      }
}

static void the_bank_is_attended_to(void **state) {
  (void)state;
  static float x[TURNS][FUSED], y[COUNT], plain_y[COUNT];
  struct net *net = net_open(true), *plain = net_open(false);
  unsigned random = 1;
  for (int i = 0; i < TURNS; i++) {
    const struct turn *turn = &turns[i];
    float *frames[1 + ROOM] = {x[i]};
    for (int f = 0; f < turn->count; f++)
      frames[1 + f] = x[turn->kept[f]];
    fill(x[i], &random);
    net->params.bank = (struct bank_params){turn->frames, turn->every, turn->anew};
    net->params.restart = turn->restart;
    run(net, x[i], y);
    run(plain, x[i], plain_y);
    expect_attention(frames, 1 + turn->count, y, i);
    if (!turn->count)
      assert_memory_equal(y, plain_y, sizeof y);
    else
      assert_memory_not_equal(y, plain_y, sizeof y);
  }
  net_close(net);
  net_close(plain);
}

static bool parse(int argc, char **argv) {
  for (int i = 2; i < argc; i++)
    if (!strcmp(argv[i], "bf16"))
      options.precision = PRECISION_BF16;
    else if (!strcmp(argv[i], "launches"))
      options.graph = GRAPH_OFF;
    else
      return false;
  options.name = argc > 1 ? argv[1] : "cpu";
  return true;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_bank_is_attended_to)};
  if (!parse(argc, argv)) {
    fprintf(stderr, "usage: test_bank_runs DEVICE [bf16] [launches]\n");
    return 2;
  }
  if (!device_is_there(&options))
    return DEVICE_MISSING;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
