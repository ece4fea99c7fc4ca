/* Cases of the ops around a depth network: enlargement and reduction, odd sizes, channel counts that are and are not
 * multiples of eight, and value ranges that begin, follow and jump. */
#include "tests/rigs/op_cases.h"

struct patches_case {
  int h, w;                /* size of the picture */
  int rows, columns, size; /* numbers of patches, and side of a patch in pixels */
  int more;                /* number of channels of the output beyond those of a patch */
};

static void build_patches(struct op_test *t, const void *argument) {
  const struct patches_case *c = argument;
  struct op_patches op = {.x = test_input(t, 1, c->h, c->w, 3, ELEMENT_DEVICE, FILL_NORMAL),
                          .rows = c->rows,
                          .columns = c->columns,
                          .size = c->size,
                          .scale = {4.4f, 4.5f, -0.5f},
                          .bias = {-2.1f, 0, 1.8f},
                          .y.c = 3 * c->size * c->size + c->more};
  test_output(t, plan_patches(&t->plan, "patches", op));
}

static const struct patches_case patches_cases[] = {
    {56, 70, 4, 5, 14, 4}, {64, 48, 5, 3, 14, 4},  {128, 200, 3, 4, 14, 4}, {1, 1, 2, 1, 14, 4},  {7, 3, 2, 3, 3, 0},
    {5, 9, 1, 1, 1, 0},    {33, 1, 2, 2, 14, 100}, {37, 53, 6, 9, 4, 1},    {2, 2, 37, 1, 14, 4},
};

struct unpatch_case {
  int rows, columns, size, skip, c;
};

static void build_unpatch(struct op_test *t, const void *argument) {
  const struct unpatch_case *c = argument;
  int tokens = c->skip + c->rows * c->columns;
  struct op_unpatch op = {.x = test_input(t, 1, 1, tokens, c->size * c->size * c->c, ELEMENT_DEVICE, FILL_NORMAL),
                          .rows = c->rows,
                          .columns = c->columns,
                          .size = c->size,
                          .skip = c->skip};
  test_output(t, plan_unpatch(&t->plan, "unpatch", op));
}

static const struct unpatch_case unpatch_cases[] = {
    {5, 3, 4, 1, 48}, {5, 3, 2, 1, 96}, {3, 7, 1, 1, 384}, {1, 1, 1, 0, 1}, {4, 4, 3, 2, 5}, {6, 5, 2, 0, 12},
};

struct resize_case {
  int n, h, w, c, to_h, to_w;
  bool residual;
  enum fill fill;
};

static void build_resize(struct op_test *t, const void *argument) {
  const struct resize_case *c = argument;
  struct op_resize op = {.x = test_input(t, c->n, c->h, c->w, c->c, ELEMENT_DEVICE, c->fill),
                         .y = {.h = c->to_h, .w = c->to_w}};
  if (c->residual)
    op.residual = test_input(t, c->n, c->to_h, c->to_w, c->c, ELEMENT_DEVICE, c->fill);
  test_output(t, plan_resize(&t->plan, "resize", op));
}

static const struct resize_case resize_cases[] = {
    {1, 10, 8, 64, 20, 15, true},
    {1, 19, 19, 64, 37, 37, true},
    {1, 40, 24, 32, 70, 42},
    {2, 9, 7, 16, 4, 3, true},
    {1, 1, 1, 8, 5, 9},
    {3, 6, 1, 24, 1, 6},
    {1, 5, 4, 1, 13, 11},
    {2, 3, 8, 13, 7, 5, true},
    {1, 6, 6, 40, 6, 6, true},
    {1, 148, 148, 8, 149, 301},
    {1, 8, 8, 32, 17, 5, true, FILL_LARGE},
};

struct range_case {
  int rows, columns, size;
  float speed;
  enum fill fill;
};

/* The earlier range is random: not set yet, reversed, near or far. */
static void build_range(struct op_test *t, const void *argument) {
  const struct range_case *c = argument;
  struct op_range op = {.x = test_input(t, 1, c->rows * c->size, c->columns * c->size, 1, ELEMENT_DEVICE, c->fill),
                        .range = test_state(t, 1, 1, 1, 3, ELEMENT_PRECISE),
                        .size = c->size,
                        .control = 2};
  t->params.control[2].param[0] = c->speed;
  plan_range(&t->plan, "range", op);
  test_output(t, op.range);
}

static const struct range_case range_cases[] = {
    {5, 3, 14, 0.05f},
    {1, 1, 14, 0.5f},
    {20, 30, 3, 0},
    {4, 4, 1, 1},
    {37, 37, 14, 0.1f},
    {7, 5, 2, 0.05f, FILL_OFFSET},
    {3, 3, 14, 0.05f, FILL_CONSTANT},
    {9, 8, 5, 0.3f, FILL_ZEROS},
};

struct spread_case {
  int h, w, to_h, to_w;
};

static void build_spread(struct op_test *t, const void *argument) {
  const struct spread_case *c = argument;
  struct op_spread op = {.x = test_input(t, 1, c->h, c->w, 1, ELEMENT_DEVICE, FILL_NORMAL),
                         .range = test_state(t, 1, 1, 1, 3, ELEMENT_PRECISE),
                         .y = {.h = c->to_h, .w = c->to_w}};
  test_output(t, plan_spread(&t->plan, "spread", op));
}

/* Writes the map to a state, which later runs read that do not compute the map. */
static void build_spread_kept(struct op_test *t, const void *argument) {
  (void)argument;
  struct op_spread op = {.x = test_input(t, 1, 28, 42, 1, ELEMENT_DEVICE, FILL_NORMAL),
                         .range = test_state(t, 1, 1, 1, 3, ELEMENT_PRECISE),
                         .y = test_state(t, 1, 24, 40, 3, ELEMENT_DEVICE)};
  test_output(t, plan_spread(&t->plan, "spread", op));
}

static const struct spread_case spread_cases[] = {{28, 42, 24, 40}, {14, 14, 64, 48}, {70, 56, 9, 33},
                                                  {14, 14, 1, 1},   {1, 3, 5, 1},     {28, 28, 28, 28}};

const struct op_cases op_cases_depth[] = {
    OP_CASES("patches", build_patches, patches_cases),
    OP_CASES_EXACT("unpatch", build_unpatch, unpatch_cases),
    OP_CASES("resize", build_resize, resize_cases),
    OP_CASES("range", build_range, range_cases),
    OP_CASES("spread", build_spread, spread_cases),
    OP_CASE("spread into a state", build_spread_kept),
    {0},
};
