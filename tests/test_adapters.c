/* Tests adapters in an engine: pictures compared with what diffusers, peft and LyCORIS make with the same files
 * (tests/goldens/adapters.py), and weights that change while frames run.
 *
 *   test_adapters GOLDENS DEVICE       skipped where there is no such device */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/adapter_rig.h"
#include "tests/rigs/fixture.h"

enum { SKIPPED = 77 };

static char **args; /* arguments of the test program */
static bool exact;  /* true: the device computes in FP32 */

/* --- pictures --- */

struct stage {
  struct suite suite;
  struct engine *engine;
  struct prepared *prepared;
  struct controls controls;
  struct error err;
};

static void stage_open(struct stage *stage, const char *const files[], int count) {
  *stage = (struct stage){.controls = CONTROLS_DEFAULTS};
  suite_open(&stage->suite, args[1]);
  const cJSON *run = cJSON_GetObjectItem(stage->suite.golden.json, "run");
  const char *paths[ADAPTERS_MAX];
  for (int i = 0; i < count; i++)
    paths[i] = case_file(&stage->suite, files[i]);
  struct engine_params params = default_params(&stage->suite.golden, args[2]);
  params.model = stage->suite.model;
  params.adapters = paths;
  params.adapter_count = count;
  struct engine_shape shape = default_shape(&stage->suite.golden);
  shape.text_to_image = true;
  shape.sampler = SAMPLER_DDIM;
  shape.steps = (int)json_number(run, "steps", 1);
  must(engine_open(&stage->engine, &params, &stage->err), &stage->err);
  must(engine_prepare(stage->engine, &shape, &stage->prepared, &stage->err), &stage->err);
  must(engine_set_prompt(stage->engine, 1, json_string(run, "prompt", ""), &stage->err), &stage->err);
  stage->controls.seed = (uint64_t)json_number(run, "seed", 1);
  for (int i = 0; i < count; i++)
    free((char *)paths[i]);
}

static void stage_close(struct stage *stage) {
  engine_close(&stage->engine);
  suite_close(&stage->suite);
}

static void submit(struct stage *stage) {
  const struct engine_request request = {.prepared = stage->prepared, .controls = &stage->controls};
  must(engine_submit(stage->engine, &request, &stage->err), &stage->err);
}

static struct frame collect(struct stage *stage) {
  struct engine_result result;
  must(engine_collect(stage->engine, &result, &stage->err), &stage->err);
  return result.picture;
}

static uint8_t *render(struct stage *stage) {
  submit(stage);
  struct frame picture = collect(stage);
  return picture_copy(&picture);
}

static size_t bytes_of(const struct stage *stage) {
  return 4 * (size_t)stage->suite.golden.frame.width * (size_t)stage->suite.golden.frame.height;
}

static void expect_same(const struct stage *stage, uint8_t *a, uint8_t *b) {
  assert_memory_equal(a, b, bytes_of(stage));
  free(b);
}

static void expect_other(const struct stage *stage, uint8_t *a, uint8_t *b) {
  assert_memory_not_equal(a, b, bytes_of(stage));
  free(b);
}

static double psnr_of(struct stage *stage, uint8_t *pixels, const char *name) {
  struct values golden = golden_values(&stage->suite.golden, "%s.picture", name);
  struct frame frame = stage->suite.golden.frame;
  frame.plane[0] = pixels;
  double psnr = picture_psnr(&frame, &golden);
  free(golden.data);
  return psnr;
}

static void test_pictures(void **state) {
  (void)state;
  struct suite suite;
  suite_open(&suite, args[1]);
  for (const cJSON *test = cases_of(&suite); test; test = test->next) {
    struct stage stage;
    const char *name = json_string(test, "name", "");
    const char *file = cJSON_GetObjectItem(test, "files")->child->valuestring;
    stage_open(&stage, &file, 1);
    stage.controls.adapter[0] = (float)json_number(test, "weight", 1);
    uint8_t *picture = render(&stage);
    double psnr = psnr_of(&stage, picture, name);
    printf("  %s: %.1f dB\n", name, psnr);
    if (!(psnr > (exact ? 50 : 42)))
      fail_msg("%s: %.1f dB", name, psnr);
    free(picture);
    stage_close(&stage);
  }
  suite_close(&suite);
}

/* --- weights of adapters that change --- */

static const char *const three[] = {"locon.safetensors", "loha-tucker.safetensors", "dora-channels.safetensors"};

static void set_weights(struct stage *stage, float a, float b, float c) {
  stage->controls.adapter[0] = a;
  stage->controls.adapter[1] = b;
  stage->controls.adapter[2] = c;
}

static uint8_t *render_fresh(float a, float b, float c) {
  struct stage stage;
  stage_open(&stage, three, 3);
  set_weights(&stage, a, b, c);
  uint8_t *picture = render(&stage);
  stage_close(&stage);
  return picture;
}

/* After a change of weights a frame equals that of an engine that was opened with these weights; with all at 0, that of
 * an engine without adapters. */
static void test_live(void **state) {
  (void)state;
  static const float weights[][3] = {{1, 0, 0},     {0, 0, 0}, {0.3f, 0.5f, 0},   {-1, 0, 2},
                                     {0, 0.25f, 1}, {0, 0, 0}, {0.5f, 0.5f, 0.5f}};
  struct stage plain, stage;
  stage_open(&plain, NULL, 0);
  stage_open(&stage, three, 3);
  uint8_t *base = render(&plain);
  expect_same(&stage, base, render(&stage));
  for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
    const float *w = weights[i];
    set_weights(&stage, w[0], w[1], w[2]);
    uint8_t *changed = render(&stage);
    bool none = w[0] == 0 && w[1] == 0 && w[2] == 0;
    (none ? expect_same : expect_other)(&stage, base, changed);
    uint8_t *fresh = render_fresh(w[0], w[1], w[2]);
    if (!none)
      expect_same(&stage, fresh, render(&stage));
    free(fresh);
  }
  free(base);
  stage_close(&plain);
  stage_close(&stage);
}

/* With two frames in flight, the second one has the change completely, and the first one not at all. */
static void test_one_frame(void **state) {
  (void)state;
  struct stage stage;
  stage_open(&stage, three, 3);
  set_weights(&stage, 0.5f, 0, 0);
  uint8_t *before = render(&stage);
  set_weights(&stage, 0.5f, 1, 1);
  uint8_t *after = render(&stage);
  for (int i = 0; i < 10; i++) {
    set_weights(&stage, 0.5f, 0, 0);
    submit(&stage);
    set_weights(&stage, 0.5f, 1, 1);
    submit(&stage);
    for (int k = 0; k < 2; k++) {
      struct frame picture = collect(&stage);
      uint8_t *pixels = picture_copy(&picture);
      expect_same(&stage, k ? after : before, pixels);
    }
  }
  expect_other(&stage, before, after);
  free(before);
  stage_close(&stage);
}

/* A handle that is prepared after the change has the new weights, too. */
static void test_other_handle(void **state) {
  (void)state;
  struct stage stage;
  stage_open(&stage, three, 3);
  set_weights(&stage, 1, 0, 0.5f);
  uint8_t *first = render(&stage);
  struct engine_shape shape = {.width = stage.suite.golden.frame.width,
                               .height = stage.suite.golden.frame.height,
                               .text_to_image = true,
                               .sampler = SAMPLER_DDIM,
                               .steps = 2};
  engine_release(stage.engine, &stage.prepared);
  must(engine_prepare(stage.engine, &shape, &stage.prepared, &stage.err), &stage.err);
  expect_same(&stage, first, render(&stage));
  free(first);
  stage_close(&stage);
}

/* A weight that makes values infinite is refused, and the weights from before stay. */
static void test_overflow(void **state) {
  (void)state;
  static const struct tensor_text large[] = {
      {KOHYA ".lora_down.weight", {2, 16}}, {KOHYA ".lora_up.weight", {16, 2}}, {0}};
  char *folder = fixture_make(), *path = fixture_path(folder, "a.safetensors");
  write_adapter(folder, large, 1000);
  const char *files[] = {three[0], path};
  struct stage stage;
  stage_open(&stage, files, 2);
  set_weights(&stage, 0.5f, 0, 0);
  uint8_t *before = render(&stage);
  set_weights(&stage, 1, exact ? 3e38f : 1, 0);
  const struct engine_request request = {.prepared = stage.prepared, .controls = &stage.controls};
  assert_int_equal(engine_submit(stage.engine, &request, &stage.err), -1);
  assert_non_null(strstr(stage.err.message, "attn1"));
  assert_non_null(strstr(stage.err.message, path));
  set_weights(&stage, 0.5f, 0, 0);
  expect_same(&stage, before, render(&stage));
  free(before);
  stage_close(&stage);
  free(path);
  fixture_remove(folder);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pictures),     cmocka_unit_test(test_live),     cmocka_unit_test(test_one_frame),
      cmocka_unit_test(test_other_handle), cmocka_unit_test(test_overflow),
  };
  if (argc != 3)
    return 2;
  args = argv;
  exact = !strncmp(argv[2], "cpu", 3);
  char model[600];
  snprintf(model, sizeof model, "%s/sd15", argv[1]);
  struct engine_params params = ENGINE_PARAMS_DEFAULTS;
  params.model = model;
  params.device.name = argv[2];
  return has_device(&params) ? cmocka_run_group_tests(tests, NULL, NULL) : SKIPPED;
}
