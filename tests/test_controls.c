/* Controls: pictures of diffusers' pipelines with the same networks, and what an engine does with them.
 *
 *   test_controls GOLDENS DEVICE */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "rig.h"
#include "single_file.h"

static char **args; /* 1: folder of goldens, 2: device */

/* --- engines with controls --- */

/* The networks of a run, as many as it has. */
struct networks {
  struct engine_control list[CONTROLS_MAX];
  int count;
};

static void add_network(struct networks *networks, const char *folder, const char *name) {
  networks->list[networks->count++] = (struct engine_control){MAP_PICTURE, fixture_path(folder, name)};
}

static void free_networks(struct networks *networks) {
  for (int i = 0; i < networks->count; i++)
    free((char *)networks->list[i].model);
}

static struct golden open_golden(const char *name) {
  struct golden golden;
  if (golden_open(&golden, args[1], name) < 0)
    fail_msg("%s", golden.missing);
  return golden;
}

/* An engine on golden MODEL with these networks of golden "controls", whose picture is the rig's. */
static void open_rig(struct rig *rig, const char *model, struct networks *networks, const struct engine_shape *shape) {
  *rig = (struct rig){.golden = open_golden("controls"), .controls = CONTROLS_DEFAULTS};
  char *folder = fixture_path(args[1], model);
  struct engine_params params = default_params(&rig->golden, args[2]);
  params.model = folder;
  params.strength_diffusers = true;
  params.controls = networks->list;
  params.control_count = networks->count;
  must(rig_engine(rig, &params, shape), &rig->err);
  must(engine_set_prompt(rig->engine, 1, "an oil painting", &rig->err), &rig->err);
  must(engine_set_prompt(rig->engine, 2, "a cat at night", &rig->err), &rig->err);
  free(folder);
}

static struct networks networks_of(const struct golden *golden, const char *const *names) {
  struct networks networks = {.count = 0};
  for (; *names; names++)
    add_network(&networks, golden->folder, *names);
  return networks;
}

/* turbo with these networks, at the size of the goldens. */
static void open_turbo(struct rig *rig, const char *const *names, struct engine_shape shape) {
  struct golden golden = open_golden("controls");
  struct networks networks = networks_of(&golden, names);
  shape.width = golden.frame.width;
  shape.height = golden.frame.height;
  open_rig(rig, "turbo", &networks, &shape);
  free_networks(&networks);
  golden_close(&golden);
}

/* --- pictures --- */

static void run_networks(const struct golden *golden, const cJSON *run, struct networks *networks,
                         struct controls *controls) {
  const cJSON *entry, *list = cJSON_GetObjectItemCaseSensitive(run, "controls");
  cJSON_ArrayForEach(entry, list) {
    struct control_values *values = &controls->control[networks->count];
    values->weight = (float)json_number(entry, "weight", 1);
    values->start = (float)json_number(entry, "start", 0);
    values->end = (float)json_number(entry, "end", 1);
    values->guess = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(run, "guess"));
    add_network(networks, golden->folder, json_string(entry, "network", ""));
  }
}

static double run_psnr(const struct golden *golden, const cJSON *run) {
  struct networks networks = {.count = 0};
  struct controls controls = CONTROLS_DEFAULTS;
  struct rig rig;
  struct frame picture;
  run_networks(golden, run, &networks, &controls);
  const struct engine_shape shape = {.width = golden->frame.width,
                                     .height = golden->frame.height,
                                     .steps = (int)json_number(run, "steps", 0),
                                     .text_to_image = !strcmp(json_string(run, "mode", ""), "text"),
                                     .controls = (1u << networks.count) - 1,
                                     .guidance = json_number(run, "guidance", 1) > 1};
  open_rig(&rig, json_string(run, "model", ""), &networks, &shape);
  must(engine_set_prompt(rig.engine, SLOT_NEGATIVE, json_string(run, "negative", ""), &rig.err), &rig.err);
  controls.seed = (uint64_t)json_number(run, "seed", 0);
  controls.strength = (float)json_number(run, "strength", 1);
  controls.guidance = (float)json_number(run, "guidance", 1);
  rig.controls = controls;
  must(rig_submit(&rig, &golden->frame), &rig.err);
  must(rig_collect(&rig, &picture), &rig.err);
  struct values expected = golden_values(golden, "run.%s", json_string(run, "name", ""));
  double db = picture_psnr(&picture, &expected);
  frame_release(&picture);
  free(expected.data);
  rig_close(&rig);
  free_networks(&networks);
  return db;
}

static void test_pictures(void **state) {
  (void)state;
  struct golden golden = open_golden("controls");
  const cJSON *run, *runs = cJSON_GetObjectItemCaseSensitive(golden.json, "runs");
  assert_true(cJSON_GetArraySize(runs) > 0);
  cJSON_ArrayForEach(run, runs) {
    double db = run_psnr(&golden, run);
    print_message("  %s: %.1f dB\n", json_string(run, "name", ""), db);
    if (!(db >= (strcmp(args[2], "cuda") ? 60 : 40)))
      fail_msg("%s: %.1f dB", json_string(run, "name", ""), db);
  }
  golden_close(&golden);
}

/* --- what an engine does with them --- */

static const char *const both[] = {"first", "second", NULL};

/* A control of weight 0 changes nothing to the bit, and one that is not prepared is not there. */
static void test_off(void **state) {
  (void)state;
  struct rig rig;
  struct prepared *with;
  open_turbo(&rig, both, (struct engine_shape){.steps = 2});
  uint8_t *without = generate_default(&rig);
  struct prepared_info info;
  prepared_get_info(rig.prepared, &info);
  assert_int_equal(info.shape.controls, 0);
  info.shape.controls = 3;
  must(engine_prepare(rig.engine, &info.shape, &with, &rig.err), &rig.err);
  engine_release(rig.engine, &rig.prepared);
  rig.prepared = with;
  uint8_t *on = generate_default(&rig);
  rig.controls.control[0].weight = rig.controls.control[1].weight = 0;
  uint8_t *off = generate_default(&rig);
  assert_memory_equal(off, without, picture_bytes(&rig));
  assert_memory_not_equal(on, without, picture_bytes(&rig));
  free(on);
  assert_same(&rig, off, without);
  rig_close(&rig);
}

int main(int argc, char **argv) {
  args = argv;
  if (argc != 3) {
    fprintf(stderr, "usage: test_controls GOLDENS DEVICE\n");
    return 2;
  }
  if (!golden_has_device(argv[1], "turbo", argv[2]))
    return 77;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pictures),
      cmocka_unit_test(test_off),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
