/* Tests the definition of noise that moves with the picture, and of feedback: against values worked out by hand, and by
 * properties that hold over many frames of known motion. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/rigs/definition_bench.h"
#include "unet/plan/motion_math.h"
#include "unet/sample/noise.h"

/* --- helpers: noise moved over many frames --- */

enum { CELL = 8, UNIT = 256 * CELL, CHANNELS = 4 };

/* A plan that moves noise, and the results of the last run. */
struct mover {
  struct bench b;
  struct tensor flow, visible, global, places, entries, advected, noise, second, moved;
  int h, w, cells;
  float *shown;  /* [h][w][ADVECTED_VALUES]: for each cell what the last run shows */
  float *before; /* the values that `shown` had one run before */
  float *values; /* [h][w][CHANNELS]: the noise that was shown */
};

static float *zeros(int count) {
  float *values = calloc((size_t)count, sizeof *values);
  assert_non_null(values);
  return values;
}

static void write_values(struct mover *m, struct tensor t, const float *values) {
  struct error err = {0};
  if (device_write(m->b.device, m->b.program, t, 0, values, tensor_elements(t), &err) < 0)
    fail_msg("%s", err.message);
}

static void read_values(struct mover *m, struct tensor t, float *values) {
  struct error err = {0};
  if (device_read(m->b.device, m->b.program, t, 0, values, tensor_elements(t), &err) < 0)
    fail_msg("%s", err.message);
}

static void mover_open(struct mover *m, int h, int w) {
  *m = (struct mover){.b = begin(), .h = h, .w = w, .cells = h * w};
  struct plan *plan = &m->b.plan;
  plan->resources = &m->b.resources;
  m->flow = plan_input(plan, 1, h, w, 2, ELEMENT_WHOLE);
  m->visible = plan_input(plan, 1, h, w, 1, ELEMENT_WHOLE);
  m->global = plan_input(plan, 1, 1, 1, GLOBAL_VALUES, ELEMENT_WHOLE);
  m->places = plan_state(plan, "places", 1, h, w, 2, ELEMENT_WHOLE);
  m->entries = plan_state(plan, "entries", 1, h, w, 1, ELEMENT_WHOLE);
  m->noise = plan_state(plan, "noise", 1, h, w, CHANNELS, ELEMENT_PRECISE);
  m->second = plan_state(plan, "second", 1, h, w, CHANNELS, ELEMENT_PRECISE);
  m->advected =
      plan_advect(plan, "advect",
                  (struct op_advect){.flow = m->flow,
                                     .visible = m->visible,
                                     .global = m->global,
                                     .places = m->places,
                                     .entries = m->entries,
                                     .y = plan_state(plan, "advected", 1, h, w, ADVECTED_VALUES, ELEMENT_WHOLE),
                                     .cell = CELL});
  m->moved = plan_carried_noise(
      plan, "noise", (struct op_carried_noise){.advected = m->advected, .noise = m->noise, .second = m->second});
  prepare(&m->b, PIXEL_RGBA);
  m->b.params.carried = true;
  m->shown = zeros(m->cells * ADVECTED_VALUES);
  m->before = zeros(m->cells * ADVECTED_VALUES);
  m->values = zeros(m->cells * CHANNELS);
  for (uint32_t i = 0; i < 2; i++) {
    noise_fill(7, i, 0, m->values, (size_t)m->cells * CHANNELS);
    write_values(m, i ? m->second : m->noise, m->values);
  }
}

static void mover_close(struct mover *m) {
  finish(&m->b);
  free(m->shown);
  free(m->before);
  free(m->values);
}

/* Runs one frame. flow: [h][w][2], in 1/256 pixel; visible: [h][w], 1 for cells that were seen in the last frame. */
static void move(struct mover *m, const float *flow, const float *visible, bool cut) {
  float global[GLOBAL_VALUES] = {[GLOBAL_CUT] = cut, [GLOBAL_A] = MOTION_ONE};
  write_values(m, m->flow, flow);
  write_values(m, m->visible, visible);
  write_values(m, m->global, global);
  memcpy(m->before, m->shown, (size_t)m->cells * ADVECTED_VALUES * sizeof *m->shown);
  run(&m->b, NULL, NULL);
  read_values(m, m->advected, m->shown);
  read_values(m, m->moved, m->values);
}

static int entry_of(const float *shown, int cell) {
  return (int)shown[cell * ADVECTED_VALUES + ADVECTED_ENTRY];
}

/* A motion of the whole picture: a pixel at p from the picture's centre was at scale * turned(p) - shift in the last
 * frame. */
struct similarity {
  double scale, turn, y, x;
};

static void earlier(const struct similarity *s, double *y, double *x) {
  double cosine = cos(s->turn), sine = sin(s->turn), v = *y, u = *x;
  *x = s->scale * (cosine * u - sine * v) - s->x;
  *y = s->scale * (sine * u + cosine * v) - s->y;
}

/* True if a position, in pixels from the centre, is within the picture. */
static bool is_inside(const struct mover *m, double y, double x) {
  return fabs(y) <= m->h * CELL / 2.0 && fabs(x) <= m->w * CELL / 2.0;
}

static void centre_of(const struct mover *m, int cell, double *y, double *x) {
  *y = (cell / m->w + 0.5 - m->h / 2.0) * CELL;
  *x = (cell % m->w + 0.5 - m->w / 2.0) * CELL;
}

static void exact_flow(const struct mover *m, const struct similarity *s, float *flow, float *visible) {
  for (int i = 0; i < m->cells; i++) {
    double y, x, y0, x0;
    centre_of(m, i, &y, &x);
    y0 = y, x0 = x;
    earlier(s, &y, &x);
    flow[2 * i] = (float)floor((y - y0) * 256 + 0.5);
    flow[2 * i + 1] = (float)floor((x - x0) * 256 + 0.5);
    visible[i] = is_inside(m, y, x);
  }
}

/* --- values worked out by hand --- */

static void begins_with_the_identity(void **state) {
  (void)state;
  struct mover m;
  float noise[6 * CHANNELS], flow[12] = {900, 0, 1, 2, 3}, visible[6] = {1, 0, 1};
  mover_open(&m, 2, 3);
  move(&m, flow, visible, true);
  read_values(&m, m.noise, noise);
  assert_memory_equal(m.values, noise, sizeof noise);
  for (int i = 0; i < 6; i++) {
    assert_int_equal(entry_of(m.shown, i), i);
    assert_true(m.shown[i * ADVECTED_VALUES + ADVECTED_Y] == (float)(i / 3 * UNIT));
    assert_true(m.shown[i * ADVECTED_VALUES + ADVECTED_X] == (float)(i % 3 * UNIT));
  }
  mover_close(&m);
}

/* The scene moves by one and a quarter cells to the right, and the noise with it. What comes in at the left continues
 * the noise: its pattern is four cells wide, so four cells to the left is the first cell again. */
static void moves_with_the_flow(void **state) {
  (void)state;
  struct mover m;
  float flow[8] = {0}, seen[4] = {1, 1, 1, 1}, unseen[4] = {0, 0, 1, 1};
  mover_open(&m, 1, 4);
  move(&m, flow, seen, true);
  for (int i = 0; i < 4; i++)
    flow[2 * i + 1] = -1.25f * UNIT;
  move(&m, flow, unseen, false);
  const float x[4] = {64 * UNIT - 1.25f * UNIT, 64 * UNIT - 0.25f * UNIT, 0.75f * UNIT, 1.75f * UNIT};
  const int entries[4] = {3, 0, 1, 2}, later[4] = {1, 2, 3, 0};
  for (int i = 0; i < 4; i++) {
    assert_true(m.shown[i * ADVECTED_VALUES + ADVECTED_X] == x[i]);
    assert_int_equal(entry_of(m.shown, i), entries[i]);
  }
  /* After another motion of one and three quarters the noise is at whole cells again, moved by three. */
  for (int i = 0; i < 4; i++)
    flow[2 * i + 1] = -1.75f * UNIT;
  move(&m, flow, unseen, false);
  for (int i = 0; i < 4; i++) {
    assert_true(m.shown[i * ADVECTED_VALUES + ADVECTED_X] == (float)((i + 61) % 64 * UNIT));
    assert_int_equal(entry_of(m.shown, i), later[i]);
  }
  mover_close(&m);
}

/* An object in front moves by two cells over a background that does not move. Each keeps its noise, and the background
 * that appears behind the object continues the noise beside it. */
static void parts_move_apart(void **state) {
  (void)state;
  struct mover m;
  float flow[16] = {0}, visible[8];
  mover_open(&m, 1, 8);
  for (int i = 0; i < 8; i++)
    visible[i] = 1;
  move(&m, flow, visible, true);
  /* the object was in cells 1 to 3, and is in 3 to 5 now; cells 1 and 2 were hidden before */
  for (int i = 3; i <= 5; i++)
    flow[2 * i + 1] = -2 * UNIT;
  visible[1] = visible[2] = 0;
  move(&m, flow, visible, false);
  /* cell 1 continues the background at its left, cell 2 the object at its right */
  const int entries[8] = {0, 1, 0, 1, 2, 3, 6, 7};
  for (int i = 0; i < 8; i++) {
    if (i != 2 && i != 3)
      assert_int_equal(entry_of(m.shown, i), entries[i]);
  }
  mover_close(&m);
}

/* If two neighbouring cells read the same noise value, the later one gets a value of the second table instead, the same
 * one in each frame. */
static void neighbours_differ(void **state) {
  (void)state;
  struct mover m;
  float flow[12] = {0}, visible[6] = {1, 1, 1, 1, 1, 1}, second[6 * CHANNELS];
  mover_open(&m, 1, 6);
  move(&m, flow, visible, true);
  flow[2 * 3 + 1] = -0.75f * UNIT; /* cell 3 lies between 2 and 3 of the last frame, nearer to 2 */
  move(&m, flow, visible, false);
  int entry = entry_of(m.shown, 3);
  assert_int_equal(entry_of(m.shown, 2), 2);
  assert_in_range(entry, 6, 11);
  read_values(&m, m.second, second);
  assert_memory_equal(m.values + 3 * CHANNELS, second + (entry - 6) * CHANNELS, CHANNELS * sizeof *second);
  flow[2 * 3 + 1] = 0;
  move(&m, flow, visible, false);
  assert_int_equal(entry_of(m.shown, 3), entry);
  mover_close(&m);
}

static void noise_is_read_from_two_tables(void **state) {
  (void)state;
  struct bench b = begin();
  b.plan.resources = &b.resources;
  struct tensor advected = plan_state(&b.plan, "advected", 1, 1, 3, ADVECTED_VALUES, ELEMENT_WHOLE),
                noise = plan_state(&b.plan, "noise", 2, 1, 3, 1, ELEMENT_PRECISE),
                second = plan_state(&b.plan, "second", 1, 1, 3, 1, ELEMENT_PRECISE);
  give(&b, advected, (float[]){9, 9, 2, 0, 9, 9, 0, 0, 9, 9, 4, 0});
  give(&b, noise, (float[]){10, 11, 12, 20, 21, 22});
  give(&b, second, (float[]){50, 51, 52});
  b.params.carried = true;
  /* Value 4 is number 1 of the second table, which has three; latent n reads it 2 n further on. */
  expect(
      &b,
      plan_carried_noise(&b.plan, "noise",
                         (struct op_carried_noise){.advected = advected, .noise = noise, .second = second, .first = 1}),
      (float[]){12, 10, 50, 22, 20, 52}, 0);
}

/* Without run.carried the op copies the noise. */
static void noise_stays_where_it_is(void **state) {
  (void)state;
  struct bench b = begin();
  b.plan.resources = &b.resources;
  struct tensor advected = plan_state(&b.plan, "advected", 1, 1, 3, ADVECTED_VALUES, ELEMENT_WHOLE),
                noise = plan_state(&b.plan, "noise", 2, 1, 3, 1, ELEMENT_PRECISE),
                second = plan_state(&b.plan, "second", 1, 1, 3, 1, ELEMENT_PRECISE);
  const float values[6] = {10, 11, 12, 20, 21, 22};
  give(&b, advected, (float[]){9, 9, 2, 0, 9, 9, 0, 0, 9, 9, 4, 0});
  give(&b, noise, values);
  give(&b, second, (float[]){50, 51, 52});
  expect(&b,
         plan_carried_noise(&b.plan, "noise",
                            (struct op_carried_noise){.advected = advected, .noise = noise, .second = second}),
         values, 0);
}

/* Half a cell to the right, with a quarter of the last latent. Cells that were not seen take the input alone, and so do
 * all cells if this frame or the last one is blank. */
static void expect_feedback(int blank, const float expected[4]) {
  struct bench b = begin();
  struct op_start op = {.cell = CELL, .z = input(&b, 1, 4, 1, (float[]){100, 200, 300, 400})};
  op.noise = plan_state(&b.plan, "noise", 1, 1, 4, 1, ELEMENT_PRECISE);
  op.last = plan_state(&b.plan, "last", 1, 1, 4, 1, ELEMENT_PRECISE);
  op.flow = plan_input(&b.plan, 1, 1, 4, 2, ELEMENT_WHOLE);
  op.visible = plan_input(&b.plan, 1, 1, 4, 1, ELEMENT_WHOLE);
  op.global = plan_input(&b.plan, 1, 1, 1, GLOBAL_VALUES, ELEMENT_WHOLE);
  give(&b, op.global, (float[GLOBAL_VALUES]){[GLOBAL_A] = MOTION_ONE, [GLOBAL_BLANK] = (float)blank});
  give(&b, op.noise, (float[]){1, 2, 3, 4});
  give(&b, op.last, (float[]){0, 8, 16, 40});
  give(&b, op.flow, (float[]){0, UNIT / 2, 0, UNIT / 2, 0, UNIT / 2, 0, UNIT / 2});
  give(&b, op.visible, (float[]){1, 1, 0, 1});
  b.params.start_latent = 2;
  b.params.start_noise = 10;
  b.params.feedback = 0.25f;
  expect(&b, plan_start(&b.plan, "start", op), expected, 0);
}

static void feedback_follows_the_flow(void **state) {
  (void)state;
  expect_feedback(0, (float[]){2 * (75 + 1) + 10, 2 * (150 + 3) + 20, 2 * 300 + 30, 2 * (300 + 10) + 40});
  for (int blank = 1; blank <= 2; blank++)
    expect_feedback(blank, (float[]){2 * 100 + 10, 2 * 200 + 20, 2 * 300 + 30, 2 * 400 + 40});
}

/* --- over many frames --- */

/* Of the cells whose scene was in the picture all the time, returns the share that reads the correct noise value after
 * 100 frames. */
static double right_cells(const struct similarity *s, int frames) {
  struct mover m;
  int right = 0, all = 0;
  mover_open(&m, 40, 48);
  float *flow = zeros(2 * m.cells), *visible = zeros(m.cells);
  exact_flow(&m, s, flow, visible);
  for (int i = 0; i <= frames; i++)
    move(&m, flow, visible, i == 0);
  for (int i = 0; i < m.cells; i++) {
    double y, x;
    bool inside = true;
    centre_of(&m, i, &y, &x);
    for (int k = 0; k < frames && inside; k++) {
      earlier(s, &y, &x);
      inside = is_inside(&m, y, x);
    }
    int at = (int)floor(y / CELL + m.h / 2.0) * m.w + (int)floor(x / CELL + m.w / 2.0), entry = entry_of(m.shown, i);
    all += inside;
    right += inside && (entry == at || entry >= m.cells);
  }
  mover_close(&m);
  free(flow);
  free(visible);
  assert_true(all > 40);
  return right / (double)all;
}

static void cells_are_right_after_100_frames(void **state) {
  (void)state;
  static const struct similarity motions[] = {
      {1, 0, 0, 0}, {1, 0, 1, 2}, {1, 0, -0.5, 1.3}, {1, 0.5 * 3.14159265358979 / 180, 0, 0}, {1, -0.004, 0.3, 0.2}};
  for (size_t i = 0; i < sizeof motions / sizeof *motions; i++) {
    double right = right_cells(&motions[i], 100);
    if (right < 0.95)
      fail_msg("motion %zu: %.3f of the cells are right", i, right);
  }
}

/* Statistics of the noise that is shown. */
struct whiteness {
  double variance, along, across; /* along and across: correlation of neighbours in a row and in a column */
};

static double product(const struct mover *m, int dy, int dx, double mean) {
  double sum = 0;
  for (int y = 0; y < m->h - dy; y++)
    for (int x = 0; x < m->w - dx; x++)
      for (int c = 0; c < CHANNELS; c++)
        sum += ((double)m->values[(y * m->w + x) * CHANNELS + c] - mean) *
               ((double)m->values[((y + dy) * m->w + x + dx) * CHANNELS + c] - mean);
  return sum / ((m->h - dy) * (m->w - dx) * CHANNELS);
}

static struct whiteness whiteness_of(const struct mover *m) {
  double mean = 0;
  for (int i = 0; i < m->cells * CHANNELS; i++)
    mean += (double)m->values[i] / (m->cells * CHANNELS);
  double variance = product(m, 0, 0, mean);
  return (struct whiteness){variance, product(m, 0, 1, mean) / variance, product(m, 1, 0, mean) / variance};
}

/* Of the cells that were seen in the last frame, returns the share whose noise value was in none of the four cells
 * around their position there. */
static double renewed(const struct mover *m, const float *flow, const float *visible) {
  int count = 0;
  for (int i = 0; i < m->cells; i++) {
    int y = (int)floor(i / m->w + (double)flow[2 * i] / UNIT),
        x = (int)floor(i % m->w + (double)flow[2 * i + 1] / UNIT);
    bool found = visible[i] == 0;
    for (int k = 0; k < 4; k++) {
      int v = y + k / 2, u = x + k % 2;
      if (v >= 0 && u >= 0 && v < m->h && u < m->w)
        found |= entry_of(m->before, v * m->w + u) == entry_of(m->shown, i);
    }
    count += !found;
  }
  return count / (double)m->cells;
}

/* Moves noise for a number of frames: it must stay white, and on average at most the share `most` of the cells may be
 * replaced in a frame. */
static void stays_white(const struct similarity *s, int frames, double most) {
  struct mover m;
  double sum = 0;
  mover_open(&m, 64, 64);
  float *flow = zeros(2 * m.cells), *visible = zeros(m.cells);
  exact_flow(&m, s, flow, visible);
  for (int i = 0; i < frames; i++) {
    move(&m, flow, visible, i == 0);
    sum += i ? renewed(&m, flow, visible) : 0;
    struct whiteness w = whiteness_of(&m);
    if (w.variance < 0.95 || w.variance > 1.05 || fabs(w.along) > 0.05 || fabs(w.across) > 0.05)
      fail_msg("frame %d: variance %.3f, correlation of neighbours %.3f and %.3f", i, w.variance, w.along, w.across);
  }
  if (getenv("REVERIE_TEST_VERBOSE"))
    printf("scale %g: %.4f of the cells renewed a frame\n", s->scale, sum / frames);
  if (sum / frames > most)
    fail_msg("%.3f of the cells are renewed in a frame", sum / frames);
  mover_close(&m);
  free(flow);
  free(visible);
}

static void a_zoom_keeps_noise_white(void **state) {
  (void)state;
  stays_white(&(struct similarity){.scale = 1 / 1.01}, 300, 0.05);
}

static void zooming_out_keeps_noise_white(void **state) {
  (void)state;
  stays_white(&(struct similarity){.scale = 1.01, .y = 1, .x = -2}, 100, 0.09);
}

/* While the picture stands still no noise is replaced, also if a zoom ended just before. */
static void a_still_picture_stays_still(void **state) {
  (void)state;
  struct mover m;
  const struct similarity zoom = {.scale = 1 / 1.01}, still = {.scale = 1};
  mover_open(&m, 32, 32);
  float *flow = zeros(2 * m.cells), *visible = zeros(m.cells), *held = zeros(m.cells * CHANNELS);
  exact_flow(&m, &zoom, flow, visible);
  for (int i = 0; i < 24; i++)
    move(&m, flow, visible, i == 0);
  exact_flow(&m, &still, flow, visible);
  move(&m, flow, visible, false);
  memcpy(held, m.values, (size_t)m.cells * CHANNELS * sizeof *held);
  for (int i = 0; i < 20; i++) {
    move(&m, flow, visible, false);
    assert_memory_equal(m.values, held, (size_t)m.cells * CHANNELS * sizeof *held);
  }
  mover_close(&m);
  free(flow);
  free(visible);
  free(held);
}

/* After a cut the noise is as in the first frame, whatever moved before. */
static void a_cut_begins_anew(void **state) {
  (void)state;
  struct mover m;
  const struct similarity zoom = {.scale = 1.03, .turn = 0.02, .y = 3, .x = 5};
  float noise[18 * 22 * CHANNELS];
  mover_open(&m, 18, 22);
  float *flow = zeros(2 * m.cells), *visible = zeros(m.cells);
  exact_flow(&m, &zoom, flow, visible);
  for (int i = 0; i < 30; i++)
    move(&m, flow, visible, i == 0 || i == 29);
  read_values(&m, m.noise, noise);
  assert_memory_equal(m.values, noise, sizeof noise);
  move(&m, flow, visible, false);
  assert_memory_not_equal(m.values, noise, sizeof noise);
  mover_close(&m);
  free(flow);
  free(visible);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(begins_with_the_identity),
      cmocka_unit_test(moves_with_the_flow),
      cmocka_unit_test(parts_move_apart),
      cmocka_unit_test(neighbours_differ),
      cmocka_unit_test(noise_is_read_from_two_tables),
      cmocka_unit_test(noise_stays_where_it_is),
      cmocka_unit_test(feedback_follows_the_flow),
      cmocka_unit_test(cells_are_right_after_100_frames),
      cmocka_unit_test(a_zoom_keeps_noise_white),
      cmocka_unit_test(zooming_out_keeps_noise_white),
      cmocka_unit_test(a_still_picture_stays_still),
      cmocka_unit_test(a_cut_begins_anew),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
