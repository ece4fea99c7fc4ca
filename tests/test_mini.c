/* The shipped model's own rules, which its styles.json asks for: strength as a share of its picture, no guidance, and
 * the photo for prompts that name no style.
 *
 *   test_mini GOLDENS MODEL DEVICE       skipped where there is no such device */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/rig.h"
#include "unet/text/styles.h"

enum { SIDE = 64, BYTES = 4 * SIDE * SIDE };

static char **args; /* the program's */

static struct engine_params mini_params(const struct golden *golden) {
  struct engine_params params = default_params(golden, args[3]);
  params.model = args[2];
  return params;
}

static const struct engine_shape small = {.width = SIDE, .height = SIDE};

static void open_golden(struct golden *golden) {
  if (golden_open(golden, args[1], "mini") < 0)
    fail_msg("%s", golden->missing);
}

static void open_mini(struct rig *rig, const struct log *log) {
  *rig = (struct rig){.controls = CONTROLS_DEFAULTS};
  open_golden(&rig->golden);
  struct engine_params params = mini_params(&rig->golden);
  params.device.log = log;
  must(rig_engine(rig, &params, &small), &rig->err);
}

static struct styles *open_styles(void) {
  char path[1024];
  struct styles *styles = NULL;
  struct error err = {0};
  snprintf(path, sizeof path, "%s/styles.json", args[2]);
  must(styles_open(&styles, path, &err), &err);
  assert_int_equal(styles_count(styles), 13);
  return styles;
}

/* Mean distance of red, green and blue from the picture of strength 0, the input. */
static double distance_at(struct rig *rig, double strength) {
  rig->controls.strength = 0;
  uint8_t *input = generate_default(rig);
  rig->controls.strength = (float)strength;
  uint8_t *picture = generate_default(rig);
  double sum = 0;
  for (size_t i = 0; i < BYTES; i++)
    sum += abs(picture[i] - input[i]);
  free(picture);
  free(input);
  return sum / (BYTES / 4 * 3);
}

static void test_strength(void **state) {
  (void)state;
  static const double strengths[] = {0, 0.01, 0.25, 0.5, 0.75, 1};
  enum { COUNT = sizeof strengths / sizeof *strengths };
  struct styles *styles = open_styles();
  struct rig rig;
  open_mini(&rig, NULL);
  struct engine_info before, after;
  free(generate_default(&rig));
  engine_get_info(rig.engine, &before);
  for (int s = 0; s < styles_count(styles); s++) {
    double distance[COUNT];
    must(engine_set_prompt(rig.engine, 1, styles_name(styles, s), &rig.err), &rig.err);
    for (int i = 0; i < COUNT; i++)
      distance[i] = distance_at(&rig, strengths[i]);
    assert_true(distance[0] == 0 && distance[COUNT - 1] > 2);
    for (int i = 1; i < COUNT; i++) {
      double share = distance[i] / distance[COUNT - 1];
      if (!(distance[i] >= distance[i - 1]) || !(fabs(share - strengths[i]) < 0.1))
        fail_msg("%s: at strength %g a share of %.3f", styles_name(styles, s), strengths[i], share);
    }
  }
  engine_get_info(rig.engine, &after);
  assert_int_equal(after.device_captures, before.device_captures);
  assert_int_equal(after.device_allocations, before.device_allocations);
  rig_close(&rig);
  styles_close(&styles);
}

/* Compared with diffusers, strength is where to start from. */
static void test_strength_of_diffusers(void **state) {
  (void)state;
  struct rig rig = {.controls = CONTROLS_DEFAULTS};
  open_golden(&rig.golden);
  struct engine_params params = mini_params(&rig.golden);
  params.strength_diffusers = true;
  must(rig_engine(&rig, &params, &small), &rig.err);
  must(engine_set_prompt(rig.engine, 1, "ink", &rig.err), &rig.err);
  assert_true(distance_at(&rig, 0.1) > 0.5 * distance_at(&rig, 1));
  rig_close(&rig);
}

static void test_guidance(void **state) {
  (void)state;
  struct rig rig;
  struct prepared *prepared;
  open_mini(&rig, NULL);
  const struct engine_shape guided = {.width = SIDE, .height = SIDE, .guidance = true};
  assert_int_equal(engine_prepare(rig.engine, &guided, &prepared, &rig.err), -1);
  assert_error(&rig.err, STATUS_USAGE, "guidance");
  rig_close(&rig);
}

static uint8_t *generate_for(struct rig *rig, const char *prompt) {
  must(engine_set_prompt(rig->engine, 1, prompt, &rig->err), &rig->err);
  return generate_default(rig);
}

static void test_prompts(void **state) {
  (void)state;
  static const struct {
    const char *prompt, *means;
    bool said;
  } cases[] = {
      {"a castle made of ice", "photo", true},
      {"asdf qwer", "photo", true},
      {"a castle made of ice at night", "photo, at night", true},
      {"asdf, in WINTER, at sunset", "photo, at sunset, in winter", true},
      {"At night", "at night", false},
      {"a castle, oil painting", "a castle, oil painting", false},
  };
  struct warnings said = {0};
  const struct log log = {remember_warning, &said};
  struct rig rig;
  open_mini(&rig, &log);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint8_t *meant = generate_for(&rig, cases[i].means);
    said.count = 0;
    uint8_t *picture = generate_for(&rig, cases[i].prompt);
    assert_memory_equal(meant, picture, BYTES);
    free(meant);
    free(picture);
    assert_int_equal(said.count, cases[i].said);
    if (cases[i].said)
      assert_non_null(strstr(said.last, "gives photo: photo, oil, watercolor"));
  }
  uint8_t *photo = generate_for(&rig, "photo"), *night = generate_for(&rig, "at night");
  assert_memory_not_equal(photo, night, BYTES);
  free(photo);
  free(night);
  rig_close(&rig);
}

static bool is_served(void) {
  struct golden golden;
  if (golden_open(&golden, args[1], "mini") < 0)
    return true; /* the tests say so */
  struct engine_params params = mini_params(&golden);
  bool served = has_device(&params);
  golden_close(&golden);
  return served;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: test_mini GOLDENS MODEL DEVICE\n");
    return 2;
  }
  args = argv;
  if (!is_served())
    return 77;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_strength),
      cmocka_unit_test(test_strength_of_diffusers),
      cmocka_unit_test(test_guidance),
      cmocka_unit_test(test_prompts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
