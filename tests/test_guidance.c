/* Tests guidance: the effect of its controls, and its formulas, compared with pictures that tests/goldens/guidance.py
 * made with diffusers' networks and the formulas of the papers.
 *
 *   test_guidance GOLDENS DEVICE     skipped where there is no such device */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/fixture.h"
#include "tests/rigs/rig.h"

static char **args;

static enum guidance_mode mode_of(const char *word) {
  static const char *const words[] = {"none", "full", "self", "one-time"};
  int mode = 0;
  while (strcmp(words[mode], word))
    mode++;
  return (enum guidance_mode)mode;
}

/* Opens an engine with the run's checkpoint at the golden's size. */
static void open_run(struct rig *rig, const cJSON *run) {
  char model[1024];
  struct engine_params params = default_params(&rig->golden, args[2]);
  snprintf(model, sizeof model, "%s/%s", args[1], json_string(run, "model", ""));
  params.model = model;
  params.strength_diffusers = true;
  struct engine_shape shape = default_shape(&rig->golden);
  shape.steps = (int)json_number(run, "steps", 1);
  shape.text_to_image = !strcmp(json_string(run, "mode", ""), "text");
  shape.guidance = mode_of(json_string(run, "guidance_mode", ""));
  must(rig_engine(rig, &params, &shape), &rig->err);
  must(engine_set_prompt(rig->engine, SLOT_PRESET_1, json_string(run, "prompt", ""), &rig->err), &rig->err);
  must(engine_set_prompt(rig->engine, SLOT_NEGATIVE, json_string(run, "negative", ""), &rig->err), &rig->err);
}

static void set_controls(struct controls *controls, const cJSON *run) {
  *controls = (struct controls)CONTROLS_DEFAULTS;
  controls->seed = (uint64_t)json_number(run, "seed", 0);
  controls->strength = (float)json_number(run, "strength", 1);
  controls->guidance = (float)json_number(run, "guidance", 1);
  controls->guidance_rescale = (float)json_number(run, "guidance_rescale", 0);
  controls->delta = (float)json_number(run, "delta", 1);
}

/* Makes two frames, to see that a run has no effect on the next one; returns the PSNR against the golden. */
static double run_psnr(struct rig *rig, const cJSON *run) {
  struct frame first, picture;
  open_run(rig, run);
  set_controls(&rig->controls, run);
  must(rig_submit(rig, &rig->golden.frame), &rig->err);
  must(rig_submit(rig, &rig->golden.frame), &rig->err);
  must(rig_collect(rig, &first), &rig->err);
  must(rig_collect(rig, &picture), &rig->err);
  struct values expected = golden_values(&rig->golden, "run.%s", json_string(run, "name", ""));
  double db = picture_psnr(&picture, &expected);
  assert_true(frame_psnr(&first, &picture) == 99);
  free(expected.data);
  frame_release(&first);
  frame_release(&picture);
  engine_close(&rig->engine);
  return db;
}

static void pictures_follow_the_formulas(void **state) {
  (void)state;
  struct rig rig = {0};
  if (golden_open(&rig.golden, args[1], "guidance") < 0)
    fail_msg("%s", rig.golden.missing);
  const cJSON *run, *runs = cJSON_GetObjectItemCaseSensitive(rig.golden.json, "runs");
  assert_true(cJSON_GetArraySize(runs) > 20);
  bool cuda = !strcmp(args[2], "cuda");
  int missed = 0;
  cJSON_ArrayForEach(run, runs) {
    double db = run_psnr(&rig, run);
    print_message("  %s: %.1f dB\n", json_string(run, "name", ""), db);
    missed += !(db >= (cuda ? 40 : 60));
  }
  assert_int_equal(missed, 0);
  golden_close(&rig.golden);
}

/* A guidance scale of 1 gives the picture without guidance; other scales and the negative prompt change it. */
static void test_guidance(void **state) {
  (void)state;
  struct rig plain, guided;
  rig_open(&plain, args, "turbo", false);
  rig_open(&guided, args, "turbo", true);
  plain.controls.strength = guided.controls.strength = 0.5f;
  uint8_t *without = generate_default(&plain), *one = generate_default(&guided);
  struct frame a = plain.golden.frame, b = plain.golden.frame;
  a.plane[0] = without;
  b.plane[0] = one;
  assert_true(frame_psnr(&a, &b) > 55);
  free(without);
  guided.controls.guidance = 4;
  uint8_t *four = generate_default(&guided);
  assert_memory_not_equal(one, four, picture_bytes(&plain));
  free(one);
  must(engine_set_prompt(guided.engine, SLOT_NEGATIVE, "", &guided.err), &guided.err);
  uint8_t *empty = generate_default(&guided); /* the embedding that replaces a negative prompt that was never set */
  assert_memory_equal(four, empty, picture_bytes(&plain));
  free(empty);
  must(engine_set_prompt(guided.engine, SLOT_NEGATIVE, "a cat", &guided.err), &guided.err);
  assert_differ(&guided, four, generate_default(&guided));
  rig_close(&plain);
  rig_close(&guided);
}

/* Replaces the rig's handle by one for this guidance mode and number of steps. */
static void guide(struct rig *rig, enum guidance_mode mode, int steps, bool text_to_image) {
  struct engine_shape shape = shape_of(rig).shape;
  shape.guidance = mode;
  shape.steps = steps;
  shape.text_to_image = text_to_image;
  engine_release(rig->engine, &rig->prepared);
  must(engine_prepare(rig->engine, &shape, &rig->prepared, &rig->err), &rig->err);
}

/* Residual guidance: with a scale of 1 the picture is the one without guidance, with the same bits if the mode has no
 * row of its own. Scale, delta and rescale change the picture without capturing a graph. The negative prompt has an
 * effect if there is a row for it. */
static void test_guidance_modes(void **state) {
  (void)state;
  static const struct {
    enum guidance_mode mode;
    int steps;
    bool text_to_image;
  } cases[] = {{GUIDANCE_SELF, 2, false},
               {GUIDANCE_ONE_TIME, 3, false},
               {GUIDANCE_SELF, 6, true},
               {GUIDANCE_ONE_TIME, 6, false},
               {GUIDANCE_FULL, 2, true}};
  static const char *const names[] = {"turbo", "sdxl"};
  for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
    struct rig rig;
    bool one_time = cases[i / 2].mode == GUIDANCE_ONE_TIME, self = cases[i / 2].mode == GUIDANCE_SELF;
    rig_open(&rig, args, names[i % 2], false);
    struct controls *c = &rig.controls;
    c->strength = 0.6f;
    guide(&rig, GUIDANCE_NONE, cases[i / 2].steps, cases[i / 2].text_to_image);
    uint8_t *none = generate_default(&rig);
    guide(&rig, cases[i / 2].mode, cases[i / 2].steps, cases[i / 2].text_to_image);
    assert_int_equal(shape_of(&rig).rows, self ? 1 : 2);
    if (self)
      assert_same(&rig, none, generate_with(&rig, &c->guidance, 1));
    c->guidance = 3;
    uint8_t *three = generate_default(&rig);
    long captures = info_of(&rig).device_captures, steady = frame_launches(&rig);
    if (!self)
      assert_memory_not_equal(none, three, picture_bytes(&rig));
    assert_differ(&rig, generate_with(&rig, &c->guidance, 2), generate_with(&rig, &c->guidance, 3));
    assert_differ(&rig, generate_with(&rig, &c->guidance_rescale, 0.7f), generate_with(&rig, &c->guidance_rescale, 0));
    uint8_t *delta = generate_with(&rig, &c->delta, 0.5f);
    assert_true((memcmp(delta, three, picture_bytes(&rig)) != 0) == (self || one_time));
    free(delta);
    assert_int_equal(frame_launches(&rig), steady);
    assert_int_equal(info_of(&rig).device_captures, captures);
    must(engine_set_prompt(rig.engine, SLOT_NEGATIVE, "a cat", &rig.err), &rig.err);
    uint8_t *other = generate_default(&rig);
    assert_true((memcmp(other, three, picture_bytes(&rig)) == 0) == self);
    free(other);
    free(three);
    if (!self)
      free(none);
    rig_close(&rig);
  }
}

/* Modes of guidance that a model cannot have are refused with one line. */
static void test_guidance_refused(void **state) {
  (void)state;
  static const char *const names[] = {"lcm", "pix2pix"};
  for (int i = 0; i < 4; i++) {
    struct rig rig;
    rig_open(&rig, args, names[i % 2], false);
    struct engine_shape shape = shape_of(&rig).shape;
    shape.guidance = i < 2 ? GUIDANCE_SELF : GUIDANCE_ONE_TIME;
    struct prepared *prepared;
    assert_int_equal(engine_prepare(rig.engine, &shape, &prepared, &rig.err), -1);
    assert_error(&rig.err, STATUS_USAGE, "--guidance-mode full or none");
    rig_close(&rig);
  }
}

static void test_image_guidance(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "pix2pix", true);
  must(rig_reshape(&rig, 0, 0, 2), &rig.err);
  rig.controls.guidance = 5;
  uint8_t *first = generate_default(&rig);
  rig.controls.image_guidance = 1;
  assert_differ(&rig, first, generate_default(&rig));
  rig_close(&rig);
}

/* Full LCM: guidance is an input of the time projections, which are computed again when it changes. */
static void test_guidance_embedding(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "lcm", true);
  struct engine_info info;
  engine_get_info(rig.engine, &info);
  assert_true(info.has_guidance_embedding);
  assert_int_equal(shape_of(&rig).rows, 1);
  rig.controls.strength = 0.5f;
  rig.controls.guidance = 8;
  uint8_t *eight = generate_default(&rig);
  rig.controls.guidance = 2;
  uint8_t *two = generate_default(&rig);
  assert_memory_not_equal(eight, two, picture_bytes(&rig));
  free(two);
  rig.controls.guidance = 8;
  assert_same(&rig, eight, generate_default(&rig));
  rig_close(&rig);
}

int main(int argc, char **argv) {
  args = argv;
  int status = golden_arguments(argc, argv, "turbo");
  if (status)
    return status;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pictures_follow_the_formulas), cmocka_unit_test(test_guidance),
      cmocka_unit_test(test_guidance_modes),          cmocka_unit_test(test_guidance_refused),
      cmocka_unit_test(test_image_guidance),          cmocka_unit_test(test_guidance_embedding),
  };
  char *tuning = fixture_make(); /* so that all engines choose the same kernels, and their pictures can be compared */
  setenv("TUNING_DIR", tuning, 1);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  fixture_remove(tuning);
  return failed;
}
