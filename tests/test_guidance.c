/* Guidance against its definition: pictures that tests/goldens/guidance.py made by the papers' formulas around
 * diffusers' networks.
 *
 *   test_guidance GOLDENS DEVICE     skipped where there is no such device */
#include <stdlib.h>
#include <string.h>

#include "rig.h"

static char **args;

static enum guidance_mode mode_of(const char *word) {
  static const char *const words[] = {"none", "full", "self", "one-time"};
  int mode = 0;
  while (strcmp(words[mode], word))
    mode++;
  return (enum guidance_mode)mode;
}

/* The run's checkpoint at the golden's size. */
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

/* Two frames: a run leaves nothing to the next. */
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

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: test_guidance GOLDENS DEVICE\n");
    return 2;
  }
  args = argv;
  if (!golden_has_device(args[1], "turbo", args[2]))
    return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(pictures_follow_the_formulas)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
