/* Cases of the ops of the bank (keys and values of earlier frames), and of attention with a second segment of keys. */
#include "tests/rigs/op_cases.h"

#include <math.h>

static float *last_data(struct op_test *t) {
  return t->operands[t->operand_count - 1].data;
}

/* Makes a bank's state with these values. */
static struct tensor bank_of(struct op_test *t, const int values[BANK_VALUES]) {
  struct tensor bank = test_state(t, 1, 1, 1, BANK_VALUES, ELEMENT_WHOLE);
  for (int i = 0; i < BANK_VALUES; i++)
    last_data(t)[i] = (float)values[i];
  return bank;
}

/* --- attention --- */

struct second_case {
  int n, queries_h, queries_w, heads, dim;
  int room, count; /* frames of the ring, and the number in the bank's state */
  bool off;        /* run.bank.frames is 0 */
  int tokens;      /* number of tokens of a frame; 0: as many as queries */
  bool query;      /* a linear layer makes the queries of the attention alone */
};

/* Makes a ring whose frames from `count` on are no numbers. */
static struct tensor ring_of(struct op_test *t, const struct second_case *c, int tokens, int width) {
  struct tensor ring = test_state(t, c->n, c->room, tokens, width, ELEMENT_DEVICE);
  size_t frame = (size_t)tokens * (size_t)width;
  for (size_t i = 0; i < tensor_elements(ring); i++)
    if ((int)(i / frame % (size_t)c->room) >= (c->off ? 0 : c->count))
      last_data(t)[i] = NAN;
  return ring;
}

static void build_second(struct op_test *t, const void *argument) {
  const struct second_case *c = argument;
  int width = c->heads * c->dim, tokens = c->tokens ? c->tokens : c->queries_h * c->queries_w;
  struct tensor fused = test_input(t, c->n, c->queries_h, c->queries_w, 3 * width, ELEMENT_DEVICE, FILL_NORMAL);
  struct op_attention op = {.heads = c->heads, .scale = 1 / sqrtf((float)c->dim)};
  op.q = tensor_channels(fused, 0, width);
  if (c->query) {
    struct tensor x = test_input(t, c->n, c->queries_h, c->queries_w, width, ELEMENT_DEVICE, FILL_NORMAL);
    op.q = plan_linear(&t->plan, "query", (struct op_linear){.x = x, .weight = test_weight(t, width, 1, width)});
  }
  op.k = tensor_channels(fused, width, width);
  op.v = tensor_channels(fused, 2 * width, width);
  struct tensor ring = ring_of(t, c, tokens, 2 * width);
  op.k2 = tensor_channels(ring, 0, width);
  op.v2 = tensor_channels(ring, width, width);
  op.bank = bank_of(t, (const int[BANK_VALUES]){c->count, 1, 0, 0});
  t->params.bank = (struct bank_params){.frames = c->off ? 0 : c->room, .every = 1};
  struct tensor y = plan_attention(&t->plan, "attention", op);
  plan_region_begin(&t->plan, (struct region_when){REGION_BANK});
  plan_recall(&t->plan, "recall", (struct op_recall){.bank = op.bank, .room = c->room});
  plan_region_end(&t->plan);
  test_output(t, y);
}

static const struct second_case second_cases[] = {
    {1, 8, 8, 2, 64, 1, 1},
    {1, 8, 8, 2, 64, 1, 0},
    {2, 8, 8, 3, 64, 2, 1},
    {3, 4, 8, 2, 64, 4, 3},
    {2, 8, 8, 3, 64, 2, 2},
    {1, 8, 8, 2, 64, 2, 9}, /* the state says that there are more frames than the ring has room for */
    {1, 8, 8, 2, 64, 2, -1},
    {2, 8, 8, 2, 64, 2, 2, .off = true},
    {1, 16, 16, 2, 40, 4, 4},
    {1, 5, 7, 8, 40, 3, 2},
    {2, 9, 9, 2, 80, 2, 1},
    {1, 9, 9, 2, 160, 2, 2},
    {1, 1, 1, 1, 8, 4, 4},
    {2, 3, 5, 2, 16, 3, 3},
    {1, 24, 25, 1, 64, 1, 1},
    {1, 5, 7, 3, 104, 2, 1},
    {2, 4, 4, 2, 64, 3, 2, .tokens = 21},
    {1, 8, 8, 2, 64, 2, 1, .query = true},
};

/* --- the bank's state --- */

struct recall_case {
  int values[BANK_VALUES];
  int room, frames, every;
  bool restart, anew;
  int cut; /* -1: the op reads none */
};

static void build_recall(struct op_test *t, const void *argument) {
  const struct recall_case *c = argument;
  struct op_recall op = {.room = c->room};
  if (c->cut >= 0) {
    struct tensor global = test_input(t, 1, 1, 1, 3, ELEMENT_WHOLE, FILL_NORMAL);
    for (int i = 0; i < 3; i++)
      last_data(t)[i] = i == 1 ? (float)c->cut : 1;
    op.cut = tensor_channels(global, 1, 1);
  }
  op.bank = bank_of(t, c->values);
  t->params.bank = (struct bank_params){.frames = c->frames, .every = c->every, .anew = c->anew};
  t->params.restart = c->restart;
  plan_region_begin(&t->plan, (struct region_when){REGION_BANK});
  plan_recall(&t->plan, "recall", op);
  plan_region_end(&t->plan);
  test_output(t, op.bank);
}

static const struct recall_case recall_cases[] = {
    {{0, 0, 0, 0}, 1, 1, 1, .cut = -1},
    {{0, 1, 0, 0}, 2, 2, 1, .cut = -1},
    {{1, 1, 1, 0}, 2, 2, 1, .cut = 0},
    {{2, 1, 0, 0}, 2, 2, 1, .cut = 0},
    {{2, 1, 3, 0}, 4, 4, 1, .cut = 0},
    {{4, 1, 3, 0}, 4, 4, 1, .cut = -1},
    {{1, 1, 1, 1}, 4, 3, 2, .cut = -1}, /* the next frame is not kept */
    {{1, 0, 2, 0}, 4, 3, 2, .cut = 0},
    {{3, 1, 2, 2}, 4, 3, 5, .cut = 0},
    {{3, 0, 2, 4}, 4, 3, 5, .cut = 0},
    {{3, 1, 2, 2}, 4, 3, 5, .restart = true, .cut = 0},
    {{3, 1, 2, 2}, 4, 3, 5, .anew = true, .cut = -1},
    {{3, 1, 2, 2}, 4, 3, 1, .cut = 1},
    {{3, 1, 2, 2}, 4, 3, 3, .cut = 1},
    {{3, 1, 2, 2}, 4, 0, 0, .restart = true, .cut = 1}, /* the bank is off */
};

/* --- the rings --- */

struct remember_case {
  int n, h, w, c, room;
  int stores, slot;
};

static void build_remember(struct op_test *t, const void *argument) {
  const struct remember_case *c = argument;
  struct tensor fused = test_input(t, c->n, c->h, c->w, 3 * c->c, ELEMENT_DEVICE, FILL_NORMAL);
  struct op_remember op = {.x = tensor_channels(fused, c->c, 2 * c->c)};
  op.ring = test_state(t, c->n, c->room, c->h * c->w, 2 * c->c, ELEMENT_DEVICE);
  op.bank = bank_of(t, (const int[BANK_VALUES]){c->room, c->stores, c->slot, 0});
  t->params.bank = (struct bank_params){.frames = c->room, .every = 1};
  plan_region_begin(&t->plan, (struct region_when){REGION_BANK});
  plan_remember(&t->plan, "remember", op);
  plan_region_end(&t->plan);
  test_output(t, op.ring);
}

static const struct remember_case remember_cases[] = {
    {1, 8, 8, 64, 1, 1, 0}, {2, 8, 8, 64, 2, 1, 1}, {3, 4, 8, 128, 4, 1, 3},   {1, 8, 8, 64, 2, 0, 1},
    {1, 1, 1, 8, 4, 1, 2},  {2, 5, 7, 24, 3, 1, 2}, {1, 16, 16, 320, 2, 1, 0},
};

const struct op_cases op_cases_bank[] = {
    OP_CASES("attention bank", build_second, second_cases),
    OP_CASES_EXACT("recall", build_recall, recall_cases),
    OP_CASES_EXACT("remember", build_remember, remember_cases),
    {0},
};
