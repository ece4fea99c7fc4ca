/* Cases of a canvas that follows the camera: places that are shifted by whole pixels, turned, zoomed, and wrapped;
 * frames of odd sizes, and windows with more room than the lattice needs. */
#include "tests/rigs/op_cases.h"

struct canvas_case {
  struct canvas_size size;
  int c; /* channels of the picture */
  bool warped, back, nearest, kept;
};

/* Returns a state of whole numbers. */
static struct tensor whole_state(struct op_test *t, int c, const int *values) {
  struct tensor state = test_state(t, 1, 1, 1, c, ELEMENT_WHOLE);
  for (int i = 0; i < c; i++)
    t->operands[t->operand_count - 1].data[i] = (float)values[i];
  return state;
}

/* Makes a random place on the canvas. Unless it is warped, its matrix and rest have no effect. */
static struct tensor random_place(struct op_test *t, const struct canvas_size *size, bool warped) {
  const int values[PLACE_VALUES] = {[PLACE_A] = test_integer(t, -2000000, 2000000),
                                    [PLACE_B] = test_integer(t, -2000000, 2000000),
                                    [PLACE_Y] = test_integer(t, 0, size->window_h - 1),
                                    [PLACE_X] = test_integer(t, 0, size->window_w - 1),
                                    [PLACE_REST_Y] = test_integer(t, -160, 160),
                                    [PLACE_REST_X] = test_integer(t, -160, 160),
                                    [PLACE_WARPED] = warped};
  return whole_state(t, PLACE_VALUES, values);
}

static struct tensor random_motion(struct op_test *t, int strength, bool cut) {
  const int values[GLOBAL_VALUES] = {[GLOBAL_CUT] = cut,
                                     [GLOBAL_A] = (1 << 24) + test_integer(t, -strength, strength) * 2000,
                                     [GLOBAL_B] = test_integer(t, -strength, strength) * 2000,
                                     [GLOBAL_Y] = test_integer(t, -strength, strength),
                                     [GLOBAL_X] = test_integer(t, -strength, strength)};
  return whole_state(t, GLOBAL_VALUES, values);
}

struct motion_case {
  struct canvas_size size;
  int strength;
  bool cut, warped;
};

static void build_place(struct op_test *t, const void *argument) {
  const struct motion_case *c = argument;
  struct op_canvas_place op = {
      .global = random_motion(t, c->strength, c->cut), .place = random_place(t, &c->size, c->warped), .size = c->size};
  plan_canvas_place(&t->plan, "place", op);
  test_output(t, op.place);
}

static const struct motion_case motion_cases[] = {
    {{64, 64, 96, 96, 16}, 0},
    {{64, 64, 96, 96, 16}, 3},
    {{64, 64, 96, 96, 16}, 40, .warped = true},
    {{64, 64, 96, 96, 16}, 700, .warped = true},
    {{512, 512, 576, 576, 64}, 5000},
    {{512, 512, 576, 576, 64}, 500, .cut = true, .warped = true},
    {{20, 33, 28, 40, 4}, 8000, .warped = true},
};

static void build_draw(struct op_test *t, const void *argument) {
  const struct canvas_case *c = argument;
  const struct canvas_size *s = &c->size;
  int h = c->back ? s->window_h : s->h, w = c->back ? s->window_w : s->w;
  struct op_canvas_draw op = {.x = test_input(t, 1, h, w, c->c, ELEMENT_DEVICE, FILL_NORMAL),
                              .place = random_place(t, s, c->warped),
                              .size = *s,
                              .back = c->back,
                              .nearest = c->nearest};
  if (c->kept)
    op.y = test_state(t, 1, s->window_h, s->window_w, c->c, ELEMENT_PRECISE);
  test_output(t, plan_canvas_draw(&t->plan, "draw", op));
}

static const struct canvas_case draw_cases[] = {
    {{64, 64, 96, 96, 16}, 3},
    {{64, 64, 96, 96, 16}, 3, .back = true},
    {{64, 64, 96, 96, 16}, 3, .warped = true},
    {{64, 64, 96, 96, 16}, 3, .warped = true, .back = true},
    {{62, 50, 96, 80, 8}, 3, .warped = true},
    {{62, 50, 96, 80, 8}, 3, .warped = true, .back = true},
    {{64, 48, 128, 96, 32}, 1, .nearest = true},
    {{64, 48, 128, 96, 32}, 1, .nearest = true, .warped = true, .kept = true},
    /* a window larger than the mirrored canvas, so that the mirror image is mirrored again */
    {{3, 5, 40, 48, 8}, 2, .warped = true},
    {{1, 1, 16, 16, 8}, 3},
    {{1, 9, 16, 16, 8}, 3, .warped = true, .back = true},
    {{257, 131, 288, 160, 16}, 3, .warped = true},
    {{16, 16, 16, 16, 1}, 3, .back = true},
};

struct noise_case {
  struct canvas_size size;
  int n, c;
};

static void build_noise(struct op_test *t, const void *argument) {
  const struct noise_case *c = argument;
  int h = c->size.window_h / 8, w = c->size.window_w / 8;
  struct op_canvas_noise op = {.noise = test_state(t, c->n, h, w, c->c, ELEMENT_PRECISE),
                               .place = random_place(t, &c->size, false),
                               .y = test_state(t, c->n, h, w, c->c, ELEMENT_PRECISE),
                               .size = c->size,
                               .cell = 8};
  test_output(t, plan_canvas_noise(&t->plan, "noise", op));
}

static const struct noise_case noise_cases[] = {
    {{64, 64, 96, 96, 16}, 1, 4}, {{64, 48, 128, 64, 8}, 3, 16}, {{10, 90, 64, 128, 32}, 2, 5}};

const struct op_cases op_cases_canvas[] = {
    OP_CASES_EXACT("canvas place", build_place, motion_cases),
    OP_CASES_EXACT("canvas draw", build_draw, draw_cases),
    OP_CASES_EXACT("canvas noise", build_noise, noise_cases),
    {0},
};
