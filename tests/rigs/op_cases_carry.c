/* Cases of noise that moves with the picture, and of feedback. Fields and entries are whole numbers, which all devices
 * compute to the bit: they are compared as codes are, without a tolerance. */
#include "tests/rigs/op_cases.h"

enum motion {
  STILL,
  PAN,    /* one motion of the whole picture, by a fraction of a cell */
  ZOOM,   /* the noise field of the last frame is zoomed already, by a quarter */
  TURNED, /* the noise field of the last frame is rotated already, by a third of a turn */
  WILD,   /* every cell moves by itself, and some were not seen */
  CUT,
  DARK /* this frame or the last one has no texture */
};

struct carry_case {
  int h, w, cell;
  enum motion motion;
};

/* Returns the values of the operand that was made last. */
static float *last_values(struct op_test *t) {
  return t->operands[t->operand_count - 1].data;
}

/* Fills the flow in 1/256 pixel, and the cells that were seen. */
static void fill_motion(struct op_test *t, const struct carry_case *c, float *flow, float *visible) {
  int y = test_integer(t, -300, 300) * c->cell, x = test_integer(t, -300, 300) * c->cell;
  for (int i = 0; i < c->h * c->w; i++) {
    flow[2 * i] = c->motion == STILL ? 0 : (float)y;
    flow[2 * i + 1] = c->motion == STILL ? 0 : (float)x;
    visible[i] = 1;
    if (c->motion != WILD)
      continue;
    flow[2 * i] = (float)(test_integer(t, -700, 700) * c->cell);
    flow[2 * i + 1] = (float)(test_integer(t, -700, 700) * c->cell);
    visible[i] = (float)(test_integer(t, 0, 3) > 0);
  }
}

/* Fills the field of the last frame. Its values stay below 2^24, up to which FP32 holds whole numbers. */
static void fill_field(struct op_test *t, const struct carry_case *c, float *places, float *entries) {
  int unit = 256 * c->cell, cells = c->h * c->w,
      period[2] = {c->h * unit * TEXTURE_PERIODS, c->w * unit * TEXTURE_PERIODS};
  float a = c->motion == ZOOM ? 0.75f : c->motion == TURNED ? -0.5f : 1, b = c->motion == TURNED ? 0.866f : 0;
  for (int i = 0; i < cells; i++) {
    float y = (float)(i / c->w), x = (float)(i % c->w), place[2] = {a * y - b * x, b * y + a * x};
    for (int k = 0; k < 2; k++) {
      int at = (int)(place[k] * (float)unit) + (c->motion == WILD ? test_integer(t, -unit, unit) : 0);
      places[2 * i + k] = (float)((at % period[k] + period[k]) % period[k]);
    }
    entries[i] = (float)(i % 3 ? i : test_integer(t, 0, 2 * cells - 1));
  }
}

static void build_advect(struct op_test *t, const void *argument) {
  const struct carry_case *c = argument;
  struct op_advect op = {.cell = c->cell, .flow = test_input(t, 1, c->h, c->w, 2, ELEMENT_WHOLE, FILL_NORMAL)};
  float *flow = last_values(t);
  op.visible = test_input(t, 1, c->h, c->w, 1, ELEMENT_WHOLE, FILL_NORMAL);
  fill_motion(t, c, flow, last_values(t));
  op.global = test_input(t, 1, 1, 1, GLOBAL_VALUES, ELEMENT_WHOLE, FILL_NORMAL);
  for (int i = 0; i < GLOBAL_VALUES; i++)
    last_values(t)[i] = c->motion == CUT && i == GLOBAL_CUT;
  op.places = test_state(t, 1, c->h, c->w, 2, ELEMENT_WHOLE);
  float *places = last_values(t);
  op.entries = test_state(t, 1, c->h, c->w, 1, ELEMENT_WHOLE);
  fill_field(t, c, places, last_values(t));
  test_output(t, plan_advect(&t->plan, "advect", op));
  test_output(t, op.places);
  test_output(t, op.entries);
}

static const struct carry_case advect_cases[] = {
    {9, 13, 8, STILL}, {33, 40, 8, PAN}, {40, 33, 8, ZOOM},   {36, 50, 8, TURNED}, {17, 29, 8, WILD},
    {64, 64, 8, WILD}, {6, 9, 8, CUT},   {1, 7, 4, PAN},      {7, 1, 4, WILD},     {1, 1, 8, WILD},
    {70, 30, 4, ZOOM}, {2, 2, 1, WILD},  {130, 137, 1, ZOOM}, {137, 130, 1, WILD},
};

struct noise_case {
  int h, w, c, samples, first;
  bool carried;
};

static void build_carried_noise(struct op_test *t, const void *argument) {
  const struct noise_case *c = argument;
  struct op_carried_noise op = {.first = c->first,
                                .advected = test_state(t, 1, c->h, c->w, ADVECTED_VALUES, ELEMENT_WHOLE)};
  float *advected = last_values(t);
  for (int i = 0; i < c->h * c->w; i++)
    advected[i * ADVECTED_VALUES + ADVECTED_ENTRY] = (float)test_integer(t, 0, 2 * c->h * c->w - 1);
  op.noise = test_state(t, c->samples, c->h, c->w, c->c, ELEMENT_PRECISE);
  op.second = test_state(t, 1, c->h, c->w, c->c, ELEMENT_PRECISE);
  op.y = test_state(t, c->samples, c->h, c->w, c->c, ELEMENT_PRECISE);
  t->params.carried = c->carried;
  test_output(t, plan_carried_noise(&t->plan, "carried noise", op));
}

static const struct noise_case noise_cases[] = {
    {9, 13, 4, 1, 0, true}, {5, 7, 4, 3, 1, true}, {8, 8, 16, 1, 0, false},
    {3, 4, 5, 4, 2, true},  {1, 1, 4, 2, 1, true},
};

static void build_feedback(struct op_test *t, const void *argument) {
  const struct carry_case *c = argument;
  struct op_start op = {.cell = c->cell,
                        .z = test_input(t, 1, c->h, c->w, 4, ELEMENT_DEVICE, FILL_NORMAL),
                        .noise = test_state(t, 1, c->h, c->w, 4, ELEMENT_PRECISE),
                        .last = test_state(t, 1, c->h, c->w, 4, ELEMENT_PRECISE)};
  op.flow = test_input(t, 1, c->h, c->w, 2, ELEMENT_WHOLE, FILL_NORMAL);
  float *flow = last_values(t);
  op.visible = test_input(t, 1, c->h, c->w, 1, ELEMENT_WHOLE, FILL_NORMAL);
  fill_motion(t, c, flow, last_values(t));
  op.global = test_input(t, 1, 1, 1, GLOBAL_VALUES, ELEMENT_WHOLE, FILL_NORMAL);
  for (int i = 0; i < GLOBAL_VALUES; i++)
    last_values(t)[i] = c->motion == DARK && i == GLOBAL_BLANK;
  t->params.start_latent = 0.4f;
  t->params.start_noise = 0.9f;
  t->params.feedback = c->motion == CUT ? 0 : 0.7f;
  test_output(t, plan_start(&t->plan, "start", op));
}

static const struct carry_case feedback_cases[] = {
    {9, 13, 8, STILL}, {17, 10, 8, PAN}, {12, 9, 8, WILD}, {6, 9, 8, CUT},
    {1, 7, 4, WILD},   {1, 1, 8, PAN},   {6, 9, 8, DARK},
};

const struct op_cases op_cases_carry[] = {
    OP_CASES_CODES("advect", build_advect, advect_cases),
    OP_CASES_EXACT("carried noise", build_carried_noise, noise_cases),
    OP_CASES_EXACT("start with feedback", build_feedback, feedback_cases),
    {NULL},
};
