/* Tests the bank (keys and values of earlier frames, to which self-attention attends as well) through the engine: when
 * it is empty, what it keeps, how much memory it takes.
 *
 *   test_bank GOLDENS DEVICE       skipped where there is no such device */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/fixture.h"
#include "tests/rigs/rig.h"
#include "unet/model/plans.h"

static char **args; /* arguments of the test program */

/* The properties of an engine that the tests vary. */
struct variant {
  const char *golden;
  int steps;
  enum guidance_mode guidance;
  int room;
};

static struct engine_shape shape_of_variant(const struct rig *rig, const struct variant *v) {
  struct engine_shape shape = default_shape(&rig->golden);
  shape.steps = v->steps;
  shape.guidance = v->guidance;
  shape.bank_room = v->room;
  return shape;
}

static void open_variant(struct rig *rig, const struct variant *v) {
  *rig = (struct rig){.controls = CONTROLS_DEFAULTS};
  if (golden_open(&rig->golden, args[1], v->golden) < 0)
    fail_msg("%s", rig->golden.missing);
  struct engine_params params = default_params(&rig->golden, args[2]);
  const struct engine_shape shape = shape_of_variant(rig, v);
  must(rig_engine(rig, &params, &shape), &rig->err);
  must(engine_set_prompt(rig->engine, 1, "an oil painting", &rig->err), &rig->err);
  must(engine_set_prompt(rig->engine, SLOT_NEGATIVE, "a cat at night", &rig->err), &rig->err);
  rig->controls.guidance = v->guidance ? 3 : 1;
  rig->controls.strength = 0.6f;
}

enum { INPUTS = 3, OTHER_SCENE = INPUTS, OTHER_SCENE_MOVED };

/* Makes input number i: the golden's frame, shifted by 4 i pixels and a little brighter; OTHER_SCENE: a picture that
 * shares no edge with those, so that a cut lies between; OTHER_SCENE_MOVED: that one, shifted by 4 pixels. The caller
 * frees the pixels. */
static struct frame input_of(const struct rig *rig, int i, uint8_t **pixels) {
  struct frame frame = rig->golden.frame;
  size_t bytes = (size_t)frame.pitch[0] * (size_t)frame.height;
  *pixels = malloc(bytes);
  int shift = i % INPUTS, pitch = frame.pitch[0];
  for (size_t b = 0; b < bytes; b++) {
    int x = (int)(b % (size_t)pitch);
    uint8_t value = frame.plane[0][b - (size_t)x + (size_t)((x + 4 * shift) % pitch)];
    (*pixels)[b] = i >= OTHER_SCENE ? value ^ 170 : value > 220 ? value : (uint8_t)(value + 12 * shift);
  }
  frame.plane[0] = *pixels;
  return frame;
}

static uint8_t *make(struct rig *rig, struct prepared *prepared, int input, int bank, bool restart) {
  uint8_t *pixels;
  const struct frame frame = input_of(rig, input, &pixels);
  struct engine_result result;
  rig->controls.bank = bank;
  const struct engine_request request = {
      .prepared = prepared, .controls = &rig->controls, .frame = &frame, .restart = restart};
  must(engine_submit(rig->engine, &request, &rig->err), &rig->err);
  must(engine_collect(rig->engine, &result, &rig->err), &rig->err);
  uint8_t *copy = picture_copy(&result.picture);
  frame_release(&result.picture);
  free(pixels);
  return copy;
}

/* Fails the test unless the next picture of the handle equals `expected`, or differs from it. */
static void expect_next(struct rig *rig, int input, int bank, bool restart, const uint8_t *expected, bool equal,
                        int line) {
  uint8_t *picture = make(rig, rig->prepared, input, bank, restart);
  if (!memcmp(picture, expected, picture_bytes(rig)) != equal)
    fail_msg("line %d: the picture of input %d with a bank of %d %s", line, input, bank,
             equal ? "is not the expected one" : "does not differ");
  free(picture);
}
#define EQUAL(input, bank, restart) expect_next(&rig, input, bank, restart, plain[input], true, __LINE__)
#define OTHER(input, bank) expect_next(&rig, input, bank, false, plain[input], false, __LINE__)

static void make_plain(struct rig *rig, struct prepared *prepared, uint8_t *plain[INPUTS]) {
  for (int i = 0; i < INPUTS; i++)
    plain[i] = make(rig, prepared, i, 0, false);
}

static void free_all(uint8_t *plain[INPUTS]) {
  for (int i = 0; i < INPUTS; i++)
    free(plain[i]);
}

/* The bank is empty at frame 0, after a restart, after a run of another handle, after a change of either parameter, and
 * as long as it is off. */
static void an_empty_bank_gives_the_plain_picture(void **state) {
  (void)state;
  static const struct variant variants[] = {{"turbo", 1, GUIDANCE_NONE, 3},     {"turbo", 2, GUIDANCE_FULL, 2},
                                            {"turbo", 8, GUIDANCE_NONE, 1},     {"turbo", 3, GUIDANCE_SELF, 2},
                                            {"turbo", 2, GUIDANCE_ONE_TIME, 2}, {"lcm", 2, GUIDANCE_FULL, 2},
                                            {"sdxl", 1, GUIDANCE_FULL, 2},      {"sd15", 2, GUIDANCE_FULL, 2}};
  for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
    const struct variant *variant = &variants[v];
    struct rig rig;
    struct prepared *other = NULL;
    uint8_t *plain[INPUTS], *unbanked[INPUTS];
    int n = variant->room;
    open_variant(&rig, variant);
    const struct engine_shape without =
        shape_of_variant(&rig, &(struct variant){variant->golden, variant->steps, variant->guidance, .room = 0});
    must(engine_prepare(rig.engine, &without, &other, &rig.err), &rig.err);
    make_plain(&rig, rig.prepared, plain);
    make_plain(&rig, other, unbanked);
    for (int i = 0; i < INPUTS; i++)
      assert_memory_equal(plain[i], unbanked[i], picture_bytes(&rig));
    EQUAL(0, n, false); /* frame 0 */
    OTHER(1, n);
    OTHER(2, n);
    EQUAL(1, n, true);
    OTHER(2, n);
    free(make(&rig, other, 0, 0, false));
    EQUAL(2, n, false); /* the run after one of the other handle */
    OTHER(0, n);
    EQUAL(1, 0, false); /* bank off */
    EQUAL(2, 0, false);
    EQUAL(0, n, false);
    OTHER(1, n);
    rig.controls.bank_every = 2; /* another interval of frames that are kept */
    EQUAL(2, n, false);
    OTHER(1, n);
    if (n > 1) {
      EQUAL(0, n - 1, false); /* another number of frames that are kept */
      OTHER(2, n - 1);
    }
    EQUAL(1, n, n == 1);
    free_all(plain);
    free_all(unbanked);
    rig_close(&rig);
  }
}

/* A cut empties the bank: the picture after it is plain, and the one after that attends to it. That one is of a moved
 * input: keys and values that are equal to the frame's own change no picture. */
static void a_cut_empties_the_bank(void **state) {
  (void)state;
  struct rig rig;
  open_variant(&rig, &(struct variant){"turbo", 2, GUIDANCE_FULL, 2});
  uint8_t *plain = make(&rig, rig.prepared, OTHER_SCENE, 0, false);
  uint8_t *plain_moved = make(&rig, rig.prepared, OTHER_SCENE_MOVED, 0, false);
  for (int i = 0; i < 3; i++)
    free(make(&rig, rig.prepared, i, 2, i == 0));
  expect_next(&rig, OTHER_SCENE, 2, false, plain, true, __LINE__);
  expect_next(&rig, OTHER_SCENE_MOVED, 2, false, plain_moved, false, __LINE__);
  free(plain);
  free(plain_moved);
  rig_close(&rig);
}

/* A number of frames above the bank's capacity counts as the capacity. */
static void the_room_bounds_the_bank(void **state) {
  (void)state;
  struct rig rig;
  open_variant(&rig, &(struct variant){"turbo", 1, GUIDANCE_NONE, 1});
  uint8_t *first = make(&rig, rig.prepared, 0, 1, true), *second = make(&rig, rig.prepared, 1, 1, false);
  expect_next(&rig, 0, 4, true, first, true, __LINE__);
  expect_next(&rig, 1, 4, false, second, true, __LINE__);
  /* 4 is above the capacity of 1 and counts as 1, so the bank is not emptied */
  expect_next(&rig, 1, 1, false, first, false, __LINE__);
  free(first);
  free(second);
  rig_close(&rig);
}

/* With one frame of every second, runs 1 and 2 attend to run 0, and run 3 attends to run 2. The picture of the same
 * input says to what a run attends. */
static void one_frame_of_some_is_kept(void **state) {
  (void)state;
  struct rig rig;
  open_variant(&rig, &(struct variant){"turbo", 1, GUIDANCE_NONE, 2});
  rig.controls.bank_every = 2;
  uint8_t *first = make(&rig, rig.prepared, 0, 1, true), *second = make(&rig, rig.prepared, 1, 1, false);
  expect_next(&rig, 1, 1, false, second, true, __LINE__);  /* run 2, which is kept */
  expect_next(&rig, 1, 1, false, second, false, __LINE__); /* run 3 */
  /* With two frames run 2 sees run 0 alone, and run 3 sees two. */
  expect_next(&rig, 0, 2, true, first, true, __LINE__);
  expect_next(&rig, 1, 2, false, second, true, __LINE__);
  expect_next(&rig, 1, 2, false, second, true, __LINE__);
  expect_next(&rig, 1, 2, false, second, false, __LINE__);
  free(first);
  free(second);
  rig_close(&rig);
}

/* The same frames twice give the same pictures, also while two runs are in flight. */
static void runs_repeat(void **state) {
  (void)state;
  struct rig rig;
  uint8_t *once[6];
  open_variant(&rig, &(struct variant){"turbo", 2, GUIDANCE_FULL, 2});
  for (int i = 0; i < 6; i++)
    once[i] = make(&rig, rig.prepared, i % INPUTS, 2, i == 0);
  for (int i = 0; i <= 6; i++) {
    uint8_t *pixels;
    struct engine_result result;
    const struct frame frame = input_of(&rig, i % INPUTS, &pixels);
    const struct engine_request request = {
        .prepared = rig.prepared, .controls = &rig.controls, .frame = &frame, .restart = i == 0};
    if (i < 6)
      must(engine_submit(rig.engine, &request, &rig.err), &rig.err);
    free(pixels);
    if (i == 0)
      continue;
    must(engine_collect(rig.engine, &result, &rig.err), &rig.err);
    uint8_t *copy = picture_copy(&result.picture);
    assert_memory_equal(copy, once[i - 1], picture_bytes(&rig));
    free(copy);
    frame_release(&result.picture);
    free(once[i - 1]);
  }
  rig_close(&rig);
}

/* A change of the number or interval of frames between two frames captures no graph and allocates no memory. */
static void changes_cost_nothing(void **state) {
  (void)state;
  struct rig rig;
  open_variant(&rig, &(struct variant){"turbo", 2, GUIDANCE_FULL, 4});
  for (int bank = 0; bank < 2; bank++)
    free(make(&rig, rig.prepared, 0, bank, false));
  const struct engine_info before = info_of(&rig);
  for (int i = 0; i < 10; i++) {
    rig.controls.bank_every = 1 + i % 3;
    free(make(&rig, rig.prepared, i, i % 5, false));
  }
  const struct engine_info after = info_of(&rig);
  assert_int_equal(after.device_captures, before.device_captures);
  assert_int_equal(after.device_allocations, before.device_allocations);
  rig_close(&rig);
}

/* The engine says before preparing a handle how much memory the bank takes; the memory taken is that much: keys and
 * values for each frame, step and guidance row. */
static void memory_is_told_and_counted(void **state) {
  (void)state;
  for (int steps = 1; steps <= 2; steps++) {
    struct rig rig = {.controls = CONTROLS_DEFAULTS};
    struct warnings warnings = {0};
    const struct log log = {remember_warning, &warnings};
    size_t bytes[4], all[4];
    for (int room = 0; room <= 3; room++) {
      const struct variant v = {"turbo", steps, GUIDANCE_FULL, room};
      golden_open(&rig.golden, args[1], v.golden);
      struct engine_params params = default_params(&rig.golden, args[2]);
      const struct engine_shape shape = shape_of_variant(&rig, &v);
      params.device.log = &log;
      warnings.count = 0;
      must(rig_engine(&rig, &params, &shape), &rig.err);
      struct prepared_info info = shape_of(&rig);
      bytes[room] = info.bank_bytes;
      all[room] = info_of(&rig).device_bytes;
      assert_int_equal(warnings.count, room > 0);
      if (room) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "the bank takes %.1f MB", (double)bytes[room] * 1e-6);
        assert_non_null(strstr(warnings.last, wanted));
      }
      assert_int_equal(info.shape.bank_room, room);
      /* A second handle is counted as well. */
      struct prepared *second = NULL;
      must(engine_prepare(rig.engine, &shape, &second, &rig.err), &rig.err);
      assert_true(info_of(&rig).device_bytes >= all[room] + bytes[room]);
      rig_close(&rig);
    }
    assert_int_equal(bytes[0], 0);
    assert_true(bytes[1] > 0);
    for (int room = 1; room <= 3; room++) {
      assert_int_equal(bytes[room], (size_t)room * bytes[1]);
      assert_true(all[room] >= all[0] + bytes[room]);
    }
  }
}

/* The bank's size can be computed without weights: 39 MB for each frame, step and guidance row of SD-Turbo. */
static void layers_are_chosen(void **state) {
  (void)state;
  struct rig rig;
  size_t one[10] = {0}, all = 0;
  open_variant(&rig, &(struct variant){"turbo", 1, GUIDANCE_NONE, 1});
  size_t usual = shape_of(&rig).bank_bytes;
  for (int level = 0; level < 10; level++) {
    struct engine_shape shape = shape_of_variant(&rig, &(struct variant){"turbo", 1, GUIDANCE_NONE, 1});
    struct prepared *prepared = NULL;
    shape.bank_layers = 1u << level;
    if (engine_prepare(rig.engine, &shape, &prepared, &rig.err) < 0) {
      assert_error(&rig.err, STATUS_USAGE, "self-attention is at 1/");
      continue;
    }
    struct prepared_info info;
    prepared_get_info(prepared, &info);
    assert_int_equal(info.shape.bank_layers, 1u << level);
    one[level] = info.bank_bytes;
    all += one[level];
    engine_release(rig.engine, &prepared);
  }
  assert_true(usual > 0 && usual <= all);
  assert_int_equal(one[0] + one[1] + one[2], 0);
  assert_int_equal(usual, one[3] + one[4]);
  rig_close(&rig);
}

/* Frames beyond the bank's capacity, and layers that the model does not have, are left out with one warning. For paced
 * frames the engine chooses the capacity itself. */
static void what_is_left_out_is_told(void **state) {
  (void)state;
  for (int paced = 0; paced < 2; paced++) {
    struct rig rig = {.controls = CONTROLS_DEFAULTS};
    struct warnings warnings = {0};
    const struct log log = {remember_warning, &warnings};
    const struct variant v = {"turbo", 1, GUIDANCE_NONE, 1};
    golden_open(&rig.golden, args[1], v.golden);
    struct engine_params params = default_params(&rig.golden, args[2]);
    struct engine_shape shape = shape_of_variant(&rig, &v);
    params.paced = paced;
    params.device.log = &log;
    must(rig_engine(&rig, &params, &shape), &rig.err);
    shape.bank_layers = ~0u;
    for (int i = 0; i < 2; i++) {
      struct prepared *prepared = NULL;
      warnings.count = 0;
      must(engine_prepare(rig.engine, &shape, &prepared, &rig.err), &rig.err);
      engine_release(rig.engine, &prepared);
      assert_int_equal(warnings.count, i == 0);
    }
    must(engine_set_prompt(rig.engine, 1, "an oil painting", &rig.err), &rig.err);
    warnings.count = 0;
    for (int i = 0; i < 2; i++)
      free(make(&rig, rig.prepared, i, 3, false));
    assert_int_equal(warnings.count, !paced);
    if (!paced)
      assert_non_null(strstr(warnings.last, "--bank 3: there is room for 1 frame"));
    rig_close(&rig);
  }
}

static void what_a_bank_excludes_is_refused(void **state) {
  (void)state;
  struct rig rig;
  open_variant(&rig, &(struct variant){"turbo", 1, GUIDANCE_NONE, 1});
  for (int i = 0; i < 5; i++) {
    struct engine_shape shape = shape_of_variant(&rig, &(struct variant){"turbo", 1, GUIDANCE_NONE, 2});
    struct prepared *prepared = NULL;
    const char *what[] = {"stream batch", "one picture a run", "at most 8", "0 to 4", "0 to 4"};
    shape.steps = i == 0 ? 2 : i == 2 ? 9 : 1;
    shape.stream_batch = i == 0;
    shape.batch = i == 1 ? 2 : 0;
    shape.bank_room = i == 3 ? 5 : i == 4 ? -1 : 2;
    assert_int_equal(engine_prepare(rig.engine, &shape, &prepared, &rig.err), -1);
    assert_error(&rig.err, STATUS_USAGE, what[i]);
  }
  rig_close(&rig);
}

int main(int argc, char **argv) {
  args = argv;
  int status = golden_arguments(argc, argv, "turbo");
  if (status)
    return status;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_empty_bank_gives_the_plain_picture),
      cmocka_unit_test(a_cut_empties_the_bank),
      cmocka_unit_test(the_room_bounds_the_bank),
      cmocka_unit_test(one_frame_of_some_is_kept),
      cmocka_unit_test(runs_repeat),
      cmocka_unit_test(changes_cost_nothing),
      cmocka_unit_test(memory_is_told_and_counted),
      cmocka_unit_test(layers_are_chosen),
      cmocka_unit_test(what_is_left_out_is_told),
      cmocka_unit_test(what_a_bank_excludes_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
