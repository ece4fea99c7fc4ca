/* Tests how the engine chooses sampler, spacing and number of steps.
 *
 *   test_engine_samplers GOLDENS DEVICE */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/rig.h"

static char **args; /* arguments of the test program */

/* Sampler and spacing can be chosen; otherwise they are those of the checkpoint. */
static void test_samplers(void **state) {
  (void)state;
  static const struct {
    enum sampler sampler;
    enum spacing spacing;
    const char *sampler_name, *spacing_name;
    /* number of noise samples kept for the three steps; -1: the sampler keeps earlier predictions, which also take
     * memory */
    int noise;
  } cases[] = {{SAMPLER_AUTO, SPACING_AUTO, "PNDM", "leading", -1},
               {SAMPLER_PNDM, SPACING_LEADING, "PNDM", "leading", -1},
               {SAMPLER_EULER, SPACING_LEADING, "Euler", "leading", 0},
               {SAMPLER_LCM, SPACING_LCM, "LCM", "LCM", 2},
               {SAMPLER_EULER_ANCESTRAL, SPACING_AUTO, "Euler ancestral", "leading", 2},
               {SAMPLER_DDIM, SPACING_TRAILING, "DDIM", "trailing", 3},
               {SAMPLER_DDIM, SPACING_LINSPACE, "DDIM", "linspace", 3},
               {SAMPLER_TCD, SPACING_AUTO, "TCD", "LCM", 2},
               {SAMPLER_UNIPC, SPACING_AUTO, "UniPC", "leading", -1},
               {SAMPLER_DPM, SPACING_AUTO, "DPM++", "leading", -1},
               {SAMPLER_DPM, SPACING_KARRAS, "DPM++", "Karras", -1},
               {SAMPLER_DPM_SDE, SPACING_EXPONENTIAL, "DPM++ SDE", "exponential", -1},
               {SAMPLER_EULER, SPACING_KARRAS, "Euler", "Karras", 0}};
  enum { CASES = sizeof cases / sizeof *cases };
  struct rig rig = {.controls = CONTROLS_DEFAULTS};
  assert_int_equal(golden_open(&rig.golden, args[1], "sd15"), 0);
  uint8_t *pictures[CASES];
  size_t bytes[CASES];
  for (int i = 0; i < CASES; i++) {
    struct engine_params params = default_params(&rig.golden, args[2]);
    struct engine_info info;
    struct engine_shape shape = default_shape(&rig.golden);
    shape.steps = 3;
    shape.text_to_image = true;
    struct prepared_info own;
    shape.sampler = cases[i].sampler;
    shape.spacing = cases[i].spacing;
    must(rig_engine(&rig, &params, &shape), &rig.err);
    must(engine_set_prompt(rig.engine, 1, "an oil painting", &rig.err), &rig.err);
    prepared_get_info(rig.prepared, &own);
    assert_string_equal(own.sampler, cases[i].sampler_name);
    assert_string_equal(own.spacing, cases[i].spacing_name);
    pictures[i] = generate(&rig, NULL);
    engine_get_info(rig.engine, &info);
    bytes[i] = info.device_bytes;
    engine_close(&rig.engine);
  }
  /* plus the noise of the two seeds between which the position lies */
  size_t sample = 3 * 4 * sizeof(float) * (picture_bytes(&rig) / 4 / 64);
  for (int i = 0; i < CASES; i++)
    if (cases[i].noise >= 0)
      assert_int_equal(bytes[i], bytes[2] + (size_t)cases[i].noise * sample);
  for (int i = 0; i < CASES; i++)
    for (int j = 0; j < i; j++)
      assert_true(!memcmp(pictures[i], pictures[j], picture_bytes(&rig)) == (i == 1 && j == 0));
  for (int i = 0; i < CASES; i++)
    free(pictures[i]);
  golden_close(&rig.golden);
}

/* Spacings that have noise levels of their own are refused for samplers that work by timesteps. */
static void test_refused_spacing(void **state) {
  (void)state;
  struct rig rig;
  struct prepared *prepared;
  rig_open(&rig, args, "sd15", false);
  struct engine_shape shape = default_shape(&rig.golden);
  shape.spacing = SPACING_KARRAS;
  shape.sampler = SAMPLER_DDIM;
  assert_int_equal(engine_prepare(rig.engine, &shape, &prepared, &rig.err), -1);
  assert_error(&rig.err, STATUS_USAGE, "DDIM");
  rig_close(&rig);
}

/* A network that was trained at one timestep takes one step by default; anything else gets a warning. */
static void test_one_timestep(void **state) {
  (void)state;
  struct golden golden;
  assert_int_equal(golden_open(&golden, args[1], "sdxs"), 0);
  struct warnings said = {0};
  struct log log = {remember_warning, &said};
  struct engine_params params = default_params(&golden, args[2]);
  params.device.log = &log;
  struct engine_shape shape = default_shape(&golden);
  shape.sampler = SAMPLER_LCM; /* a sampler whose usual number of steps is 4 */
  struct engine *engine;
  struct prepared *prepared;
  struct prepared_info info;
  struct error err = {0};
  must(engine_open(&engine, &params, &err), &err);
  shape.text_to_image = true;
  must(engine_prepare(engine, &shape, &prepared, &err), &err);
  prepared_get_info(prepared, &info);
  assert_int_equal(info.shape.steps, 1);
  assert_int_equal(said.count, 0);
  shape.text_to_image = false;
  must(engine_prepare(engine, &shape, &prepared, &err), &err);
  assert_int_equal(said.count, 1);
  assert_non_null(strstr(said.last, "one timestep"));
  engine_close(&engine);
  golden_close(&golden);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: test_engine_samplers GOLDENS DEVICE\n");
    return 2;
  }
  args = argv;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_samplers),
      cmocka_unit_test(test_refused_spacing),
      cmocka_unit_test(test_one_timestep),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
