/* Tests which handles (prepared sizes and step counts) are kept besides the one in use, with a fake engine. */
#include "tests/rigs/cmocka_all.h"

#include <unistd.h>

#include "app/run/handles.h"
#include "tests/rigs/fake_engine.h"

enum { SIDE = 16, PATIENCE = 120000 };

struct rig {
  struct engine *engine;
  struct handles handles;
};

static struct engine_shape shape_of(int steps) {
  return (struct engine_shape){.width = SIDE, .height = SIDE, .steps = steps, .chunks = 1};
}

static void begin(struct rig *rig, const struct fake_engine_script *script) {
  struct engine_params params = ENGINE_PARAMS_DEFAULTS;
  const struct engine_shape first = shape_of(1);
  struct prepared *prepared;
  *rig = (struct rig){0};
  fake_engine_begin(script);
  assert_int_equal(engine_open(&rig->engine, &params, NULL), 0);
  assert_int_equal(engine_prepare(rig->engine, &first, &prepared, NULL), 0);
  handles_begin(&rig->handles, rig->engine, prepared);
}

static void finish(struct rig *rig) {
  preparer_end(&rig->handles.preparer);
  engine_close(&rig->engine);
  assert_true(fake_engine_log()->closed);
}

/* Calls handles_turn until nothing is left to do. Returns the step count of the last shape that was refused; 0:
 * none. */
static int settle(struct rig *rig, const struct engine_shape *wanted, int count, long collected) {
  struct engine_shape shape;
  struct error err;
  int refused = 0;
  for (int idle = 0, turn = 0; idle < 3 && turn < PATIENCE; turn++) {
    if (handles_take(&rig->handles, &shape, &err))
      refused = shape.steps;
    int before = fake_engine_log()->handles_made + fake_engine_log()->handles_released;
    if (handles_follow(&rig->handles, wanted, count, collected, &shape, &err))
      refused = shape.steps;
    bool busy = rig->handles.preparer.errand.busy;
    idle = busy || before != fake_engine_log()->handles_made + fake_engine_log()->handles_released ? 0 : idle + 1;
    if (busy)
      usleep(200);
  }
  return refused;
}

static bool has(const struct rig *rig, int steps) {
  const struct engine_shape shape = shape_of(steps);
  return handles_find(&rig->handles, &shape) >= 0;
}

/* All wanted handles are prepared, so changing between them prepares nothing. */
static void changing_is_immediate(void **state) {
  (void)state;
  struct rig rig;
  begin(&rig, &(struct fake_engine_script){0});
  const struct engine_shape wanted[] = {shape_of(1), shape_of(2), shape_of(3), shape_of(4)};
  settle(&rig, wanted, 4, 0);
  for (int steps = 1; steps <= 4; steps++)
    assert_true(has(&rig, steps));
  int made = fake_engine_log()->handles_made;
  assert_int_equal(made, 4);
  handles_use(&rig.handles, handles_find(&rig.handles, &wanted[2]), 5);
  const struct engine_shape turned[] = {wanted[2], wanted[0], wanted[1], wanted[3]};
  settle(&rig, turned, 4, 0);
  handles_use(&rig.handles, handles_find(&rig.handles, &wanted[0]), 9);
  settle(&rig, wanted, 4, 5);
  assert_int_equal(fake_engine_log()->handles_made, made);
  assert_int_equal(fake_engine_log()->handles_released, 0);
  finish(&rig);
}

/* A handle that is no longer wanted is released, unless it is in use, and only after its frames were collected. */
static void unwanted_ones_go(void **state) {
  (void)state;
  struct rig rig;
  begin(&rig, &(struct fake_engine_script){0});
  const struct engine_shape two[] = {shape_of(1), shape_of(2)}, other = shape_of(3);
  settle(&rig, two, 2, 0);
  settle(&rig, &other, 1, 0);
  assert_true(has(&rig, 1));
  assert_false(has(&rig, 2));
  assert_true(has(&rig, 3));
  handles_use(&rig.handles, handles_find(&rig.handles, &other), 4);
  settle(&rig, &other, 1, 3);
  assert_true(has(&rig, 1));
  settle(&rig, &other, 1, 4);
  assert_false(has(&rig, 1));
  assert_int_equal(rig.handles.count, 1);
  finish(&rig);
}

/* If a spare handle does not fit in memory, the others stay, and it is tried only once. */
static void refused_ones_are_left_out(void **state) {
  (void)state;
  struct rig rig;
  begin(&rig, &(struct fake_engine_script){.refuse_steps = 2});
  const struct engine_shape wanted[] = {shape_of(1), shape_of(2), shape_of(3)};
  assert_int_equal(settle(&rig, wanted, 3, 0), 2);
  assert_true(handles_refused(&rig.handles, &wanted[1]));
  assert_true(has(&rig, 3));
  int made = fake_engine_log()->handles_made;
  assert_int_equal(settle(&rig, wanted, 3, 0), 0);
  assert_int_equal(fake_engine_log()->handles_made, made);
  handles_forget_refusals(&rig.handles);
  assert_int_equal(settle(&rig, wanted, 3, 0), 2);
  finish(&rig);
}

/* Spare handles are prepared only after the wanted one is in use. While one handle replaces another, there is at most
 * one more than wanted. */
static void never_more_than_one_too_many(void **state) {
  (void)state;
  struct rig rig;
  begin(&rig, &(struct fake_engine_script){0});
  const struct engine_shape first[] = {shape_of(1), shape_of(2), shape_of(3), shape_of(4)};
  const struct engine_shape next[] = {shape_of(5), shape_of(6), shape_of(7), shape_of(8)};
  settle(&rig, first, 4, 0);
  settle(&rig, next, 4, 0);
  assert_int_equal(rig.handles.count, 2);
  handles_use(&rig.handles, handles_find(&rig.handles, &next[0]), 0);
  settle(&rig, next, 4, 0);
  assert_int_equal(rig.handles.count, HANDLES_MAX);
  assert_false(has(&rig, 1));
  finish(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(changing_is_immediate),
      cmocka_unit_test(unwanted_ones_go),
      cmocka_unit_test(refused_ones_are_left_out),
      cmocka_unit_test(never_more_than_one_too_many),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
