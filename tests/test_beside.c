/* Tests smooth engines, which encode texts and change adapters in slices of background work between frames. Each frame
 * shows either all of a change or nothing of it, and reports which; the pictures equal those of other engines.
 *
 *   test_beside GOLDENS DEVICE           skipped where there is no such device
 *   test_beside GOLDENS cpu:plain sets   the tests of adapters alone; the device gets a second set of weights, which
 *                                        otherwise only GPUs have, so that engines change weights in the background */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/fixture.h"
#include "tests/rigs/rig.h"
#include "unet/cpu/cpu_device.h"
#include "unet/cpu/cpu_memory.h"
#include "unet/engine/engine_impl.h"

enum { SKIPPED = 77, PATIENCE = 10000 };

static char **args; /* arguments of the test program */
static const char first_text[] = "an oil painting", second_text[] = "neon rain over a harbour";

/* --- a second set of weights --- */

enum { SLICES = 3 };

/* The other set: the values of each weight that adapters have changed, at the weight's index; NULL: both sets have the
 * same. changes: what is being added in it, in `left` slices. */
static struct {
  struct device_impl impl;
  const struct device_impl *cpu;
  float *other[RESOURCES_MAX];
  const struct weight_change *changes;
  int count, left;
} sets;

/* Exchanges the two sets. Programs have the addresses of weights, so the values are exchanged. */
static void exchange(struct device *base) {
  struct cpu_device *device = (struct cpu_device *)base;
  for (int i = 0; i < resources_count(base->resources); i++)
    for (size_t j = 0; sets.other[i] && j < resource_elements(&base->resources->list[i]); j++) {
      float value = sets.other[i][j];
      sets.other[i][j] = device->resource[i].data[j];
      device->resource[i].data[j] = value;
    }
}

static int sets_begin(struct device *base, const struct weight_change *changes, int count, struct error *err) {
  struct cpu_device *device = (struct cpu_device *)base;
  for (int i = 0; i < count; i++) {
    int index = changes[i].resource;
    size_t bytes = resource_elements(&base->resources->list[index]) * sizeof(float);
    if (cpu_load_held(device, index, err) < 0)
      return -1;
    if (sets.other[index])
      continue;
    assert_non_null(sets.other[index] = malloc(bytes));
    memcpy(sets.other[index], device->resource[index].data, bytes);
  }
  sets.changes = changes;
  sets.count = count;
  sets.left = SLICES;
  return 0;
}

static int sets_go_on(struct device *device, bool all, struct error *err) {
  if (!all && --sets.left > 0)
    return 1;
  exchange(device);
  int status = sets.cpu->update(device, sets.changes, sets.count, 0, err);
  exchange(device);
  return status;
}

static int sets_start_part(struct device *device, struct program *program, const struct run_params *params, int part,
                           bool merged, struct error *err) {
  if (merged)
    exchange(device);
  int status = sets.cpu->start_part(device, program, params, part, merged, err);
  if (merged)
    exchange(device);
  return status;
}

/* Gives the engine's device, which is cpu:plain, two sets of weights. */
static void give_sets(struct engine *engine) {
  sets.cpu = engine->device->impl;
  sets.impl = *sets.cpu;
  sets.impl.merge_begin = sets_begin;
  sets.impl.merge_go_on = sets_go_on;
  sets.impl.merge_show = exchange;
  sets.impl.start_part = sets_start_part;
  engine->device->impl = &sets.impl;
  engine->adapters.two_sets = true;
}

static int sets_free(void **state) {
  (void)state;
  for (int i = 0; i < RESOURCES_MAX; i++) {
    free(sets.other[i]);
    sets.other[i] = NULL;
  }
  return 0;
}

/* --- engines and frames --- */

static void open_rig(struct rig *rig, const char *golden, bool smooth, bool guidance, const char *const *adapters,
                     int adapter_count) {
  *rig = (struct rig){.controls = CONTROLS_DEFAULTS};
  if (golden_open(&rig->golden, args[1], golden) < 0)
    fail_msg("%s", rig->golden.missing);
  struct engine_params params = default_params(&rig->golden, args[2]);
  struct engine_shape shape = default_shape(&rig->golden);
  params.smooth = smooth;
  params.adapters = adapters;
  params.adapter_count = adapter_count;
  shape.guidance = guidance;
  must(rig_engine(rig, &params, &shape), &rig->err);
  if (args[3] && smooth)
    give_sets(rig->engine);
  must(engine_set_prompt(rig->engine, 1, first_text, &rig->err), &rig->err);
}

static void set_text(struct rig *rig, int slot, const char *text) {
  must(engine_set_prompt(rig->engine, slot, text, &rig->err), &rig->err);
}

static uint8_t *collect_frame(struct rig *rig, bool *whole) {
  struct engine_result result;
  must(engine_collect(rig->engine, &result, &rig->err), &rig->err);
  const struct submit_times *times = &result.submitted;
  assert_true(times->fill >= 0 && times->launch > 0 && times->slice >= 0 && times->ahead >= 0);
  *whole = result.whole;
  return picture_copy(&result.picture);
}

static uint8_t *frame(struct rig *rig, bool *whole) {
  must(rig_submit(rig, &rig->golden.frame), &rig->err);
  return collect_frame(rig, whole);
}

/* Makes a picture, which must have all changes (engine_result.whole). */
static uint8_t *whole_frame(struct rig *rig) {
  bool whole;
  uint8_t *picture = frame(rig, &whole);
  assert_true(whole);
  return picture;
}

static bool same(const struct rig *rig, const uint8_t *a, const uint8_t *b) {
  return !memcmp(a, b, picture_bytes(rig));
}

/* Makes frames until one has all changes: those before must equal `before`, and that one `after`. Returns how many came
 * before it. */
static int frames_until_whole(struct rig *rig, const uint8_t *before, const uint8_t *after) {
  for (int i = 0; i < PATIENCE; i++) {
    bool whole;
    uint8_t *picture = frame(rig, &whole);
    if (!same(rig, picture, whole ? after : before))
      fail_msg("frame %d behind the change, which is %s, shows something else", i, whole ? "whole" : "not yet whole");
    free(picture);
    if (whole)
      return i;
  }
  fail_msg("the change never comes");
  return 0;
}

static void go_on(struct rig *rig) {
  int left, slices = 0;
  while ((left = engine_go_on(rig->engine, &rig->err)) > 0)
    assert_true(++slices < PATIENCE);
  must(left, &rig->err);
}

/* Returns the picture of an engine that is not smooth. */
static uint8_t *expected(const char *golden, const char *text, const struct controls *controls) {
  struct rig rig;
  open_rig(&rig, golden, false, false, NULL, 0);
  set_text(&rig, 1, text);
  rig.controls = *controls;
  uint8_t *picture = whole_frame(&rig);
  rig_close(&rig);
  return picture;
}

/* --- texts --- */

static void check_text(const char *golden) {
  struct rig rig;
  open_rig(&rig, golden, true, false, NULL, 0);
  uint8_t *first = expected(golden, first_text, &rig.controls), *second = expected(golden, second_text, &rig.controls);
  assert_false(same(&rig, first, second));
  /* the first frame waits until its text is encoded */
  assert_same(&rig, whole_frame(&rig), expected(golden, first_text, &rig.controls));
  assert_int_equal(frames_until_whole(&rig, first, first), 0);
  set_text(&rig, 1, second_text);
  assert_true(frames_until_whole(&rig, first, second) > 0);
  assert_int_equal(frames_until_whole(&rig, second, second), 0);

  /* Between frames the background work is completed: first a text for another slot, then its keys and values once that
   * slot is shown. */
  set_text(&rig, 2, first_text);
  go_on(&rig);
  rig.controls.prompt = 2;
  bool whole;
  free(frame(&rig, &whole));
  go_on(&rig); /* computes keys and values */
  assert_int_equal(frames_until_whole(&rig, first, first), 0);
  rig.controls.prompt = 1;
  assert_int_equal(frames_until_whole(&rig, second, second), 0); /* text 1 still has its keys and values */
  free(first);
  free(second);
  rig_close(&rig);
}

static void test_text(void **state) {
  (void)state;
  check_text("turbo");
  check_text("sdxl"); /* here texts are also part of the time projections */
}

/* Changes of other controls do not wait for a text that is still being encoded. */
static void check_controls(const char *golden, bool pooled) {
  struct rig rig;
  open_rig(&rig, golden, true, false, NULL, 0);
  rig.controls.strength = 0.5f;
  free(whole_frame(&rig));
  set_text(&rig, 1, second_text);
  rig.controls.strength = 0.8f;
  rig.controls.seed = 9;
  bool whole;
  uint8_t *picture = frame(&rig, &whole);
  /* pooled texts are part of the time projections, which the strength changes, so that change waits for the text */
  assert_true(whole == pooled);
  assert_same(&rig, picture, expected(golden, whole ? second_text : first_text, &rig.controls));
  go_on(&rig);
  assert_same(&rig, whole_frame(&rig), expected(golden, second_text, &rig.controls));
  rig_close(&rig);
}

static void test_controls(void **state) {
  (void)state;
  check_controls("turbo", false);
  check_controls("sdxl", true);
}

/* If a text changes while another is being encoded, the new one is encoded after it. With a new text whenever the
 * engine has no work left, each frame shows one of the two texts, and both appear. */
static void test_many_texts(void **state) {
  (void)state;
  static const char *const texts[] = {first_text, second_text};
  struct rig rig;
  uint8_t *pictures[2];
  int seen[2] = {0}, set = 0;
  open_rig(&rig, "turbo", true, false, NULL, 0);
  for (int i = 0; i < 2; i++)
    pictures[i] = expected("turbo", texts[i], &rig.controls);
  for (int i = 0; i < 60; i++) {
    bool whole, quiet = engine_go_on(rig.engine, &rig.err) == 0 && !engine_is_behind(rig.engine);
    if (quiet)
      set_text(&rig, 1, texts[++set % 2]);
    uint8_t *picture = frame(&rig, &whole);
    bool is_second = same(&rig, picture, pictures[1]);
    assert_true(is_second || same(&rig, picture, pictures[0]));
    seen[is_second]++;
    free(picture);
  }
  assert_true(seen[0] > 3 && seen[1] > 3);
  set_text(&rig, 1, first_text); /* three changes while nothing is encoded: only the last one has an effect */
  set_text(&rig, 1, second_text);
  set_text(&rig, 1, first_text);
  go_on(&rig);
  free(frame(&rig, &(bool){0})); /* this frame requests the keys and values of the text */
  go_on(&rig);
  uint8_t *last = whole_frame(&rig);
  assert_true(same(&rig, last, pictures[0]));
  free(last);
  for (int i = 0; i < 2; i++)
    free(pictures[i]);
  rig_close(&rig);
}

/* Tests texts with two frames in flight, and then a handle with more guidance rows, whose first frame waits for the
 * text. */
static void test_in_flight(void **state) {
  (void)state;
  struct rig rig, other;
  struct prepared *rows;
  struct engine_shape shape;
  /* This engine comes first because it may time kernels; the handle that is prepared while frames run reads those
   * results. */
  open_rig(&other, "turbo", false, true, NULL, 0);
  set_text(&other, SLOT_NEGATIVE, "rain");
  set_text(&other, 1, first_text);
  other.controls.guidance = 2;
  uint8_t *guided = whole_frame(&other);
  rig_close(&other);
  open_rig(&rig, "turbo", true, false, NULL, 0);
  uint8_t *first = expected("turbo", first_text, &rig.controls),
          *second = expected("turbo", second_text, &rig.controls);
  must(rig_submit(&rig, &rig.golden.frame), &rig.err);
  for (int i = 0; i < 30; i++) {
    if (i == 3)
      set_text(&rig, 1, second_text);
    must(rig_submit(&rig, &rig.golden.frame), &rig.err);
    bool whole;
    uint8_t *picture = collect_frame(&rig, &whole);
    assert_true(same(&rig, picture, i > 3 && whole ? second : first));
    assert_true(whole || (i >= 3 && i < 28));
    free(picture);
  }
  free(collect_frame(&rig, &(bool){0}));

  struct prepared_info info;
  prepared_get_info(rig.prepared, &info);
  shape = info.shape;
  shape.guidance = true;
  must(engine_prepare(rig.engine, &shape, &rows, &rig.err), &rig.err);
  set_text(&rig, SLOT_NEGATIVE, "rain");
  set_text(&rig, 1, first_text);
  engine_release(rig.engine, &rig.prepared);
  rig.prepared = rows;
  rig.controls.guidance = 2;
  assert_same(&rig, whole_frame(&rig), guided);
  free(first);
  free(second);
  rig_close(&rig);
}

/* --- adapters --- */

static const char *const files[] = {"locon.safetensors", "loha-tucker.safetensors", "dora-channels.safetensors"};
enum { FILES = 3 };

static void open_adapted(struct rig *rig, bool smooth) {
  char paths[FILES][600];
  const char *list[FILES];
  for (int i = 0; i < FILES; i++) {
    snprintf(paths[i], sizeof paths[i], "%s/adapters/%s", args[1], files[i]);
    list[i] = paths[i];
  }
  open_rig(rig, "sd15", smooth, false, list, FILES);
  rig->controls.strength = 0.5f;
}

static uint8_t *expected_adapted(const char *text, const struct controls *controls) {
  struct rig rig;
  open_adapted(&rig, false);
  set_text(&rig, 1, text);
  rig.controls = *controls;
  uint8_t *picture = whole_frame(&rig);
  rig_close(&rig);
  return picture;
}

/* Weights and a text change together, back and forth; each frame is compared with what it should show. */
static void test_adapters(void **state) {
  (void)state;
  static const float weights[][FILES] = {{1, 0, 0}, {0, 0, 0}, {0.3f, 0.5f, 1}, {-1, 0, 2}};
  struct rig rig;
  open_adapted(&rig, true);
  uint8_t *before = expected_adapted(first_text, &rig.controls);
  uint8_t *shown = whole_frame(&rig);
  assert_true(same(&rig, shown, before));
  free(shown);
  for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
    const char *text = i % 2 ? first_text : second_text;
    memcpy(rig.controls.adapter, weights[i], sizeof weights[i]);
    set_text(&rig, 1, text);
    uint8_t *after = expected_adapted(text, &rig.controls);
    bool beside = i % 3 == 2; /* the background work is done while frames run, or between two frames */
    if (beside) {
      bool whole;
      uint8_t *picture = frame(&rig, &whole);
      assert_true(same(&rig, picture, whole ? after : before));
      free(picture);
      go_on(&rig);
      free(frame(&rig, &whole)); /* this frame may request keys and values only */
      go_on(&rig);
    }
    int frames = frames_until_whole(&rig, before, after);
    assert_true(!beside || frames == 0);
    free(before);
    before = after;
  }
  free(before);
  rig_close(&rig);
}

enum { WALK = 24 };

/* Weights change with every frame: each frame shows weights and text that belong together, and finally the last
 * weights. */
static void test_weights_every_frame(void **state) {
  (void)state;
  struct rig rig;
  uint8_t *of[WALK];
  open_adapted(&rig, true);
  free(whole_frame(&rig));
  int shown = 0;
  for (int i = 0; i < WALK; i++) {
    rig.controls.adapter[0] = 0.05f * (float)i;
    of[i] = expected_adapted(first_text, &rig.controls);
    bool whole;
    uint8_t *picture = frame(&rig, &whole);
    while (shown < i && !same(&rig, picture, of[shown]))
      shown++;
    if (!same(&rig, picture, of[shown]) || (whole && shown != i))
      fail_msg("frame %d shows no weights of the walk", i);
    free(picture);
  }
  for (int i = 0; i < WALK; i++)
    free(of[i]);
  uint8_t *after = expected_adapted(first_text, &rig.controls);
  for (int i = 0; i < 3; i++) { /* finish the weights being changed, then the last ones, then the keys and values */
    go_on(&rig);
    bool whole;
    free(frame(&rig, &whole));
  }
  assert_int_equal(frames_until_whole(&rig, after, after), 0);
  /* this call changes weights without background work */
  must(engine_weigh(rig.engine, (float[ADAPTERS_MAX]){0}, &rig.err), &rig.err);
  memset(rig.controls.adapter, 0, sizeof rig.controls.adapter);
  free(after);
  after = expected_adapted(first_text, &rig.controls);
  bool whole;
  free(frame(&rig, &whole));
  go_on(&rig);
  assert_int_equal(frames_until_whole(&rig, after, after), 0);
  free(after);
  rig_close(&rig);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_text),      cmocka_unit_test(test_controls), cmocka_unit_test(test_many_texts),
      cmocka_unit_test(test_in_flight), cmocka_unit_test(test_adapters), cmocka_unit_test(test_weights_every_frame),
  };
  const struct CMUnitTest of_sets[] = {cmocka_unit_test_teardown(test_adapters, sets_free),
                                       cmocka_unit_test_teardown(test_weights_every_frame, sets_free)};
  if (argc != 3 && (argc != 4 || strcmp(argv[3], "sets") != 0))
    return 2;
  args = argv; /* args[3] is NULL, or "sets" */
  char model[600];
  snprintf(model, sizeof model, "%s/turbo", argv[1]);
  struct engine_params params = ENGINE_PARAMS_DEFAULTS;
  params.model = model;
  params.device.name = argv[2];
  if (!has_device(&params))
    return SKIPPED;
  return args[3] ? cmocka_run_group_tests(of_sets, NULL, NULL) : cmocka_run_group_tests(tests, NULL, NULL);
}
