/* What sound moves: how it is written, how it follows, and that the value that is set stays. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <string.h>

#include "app/control/modulation.h"

static const int64_t second_ns = 1000000000;

static struct modulation accept(const char *text) {
  struct modulation modulation;
  struct error err = {0};
  if (modulation_read(&modulation, text, &err))
    fail_msg("%s: %s", text, err.message);
  return modulation;
}

static void refuse(const char *text, const char *wanted) {
  struct modulation modulation;
  struct error err = {0};
  if (!modulation_read(&modulation, text, &err))
    fail_msg("'%s' was taken", text);
  assert_int_equal(err.status, STATUS_USAGE);
  if (!strstr(err.message, wanted) || !strstr(err.message, "--modulate"))
    fail_msg("'%s': wanted '%s', but: %s", text, wanted, err.message);
}

static void how_it_is_written(void **state) {
  (void)state;
  struct modulation got = accept("strength=bass*0.3~0.2");
  assert_int_equal(got.id, PARAMETER_STRENGTH);
  assert_int_equal(got.by, SOUND_BASS);
  assert_true(got.amount == 0.3 && got.smoothing == 0.2 && got.smooth == 0);
  got = accept("lora[2].weight=beat*-1e0");
  assert_int_equal(got.id, PARAMETER_LORA_WEIGHT);
  assert_int_equal(got.index, 2);
  assert_int_equal(got.by, SOUND_BEAT);
  assert_true(got.amount == -1 && got.smoothing == 0);
  assert_int_equal(accept("seed=level*100").by, SOUND_LEVEL);
  assert_int_equal(accept("mix=mid*1~0").by, SOUND_MID);
  assert_int_equal(accept("eta=treble*1~60").by, SOUND_TREBLE);
}

static void what_is_refused(void **state) {
  (void)state;
  static const char *const wrong[] = {"",
                                      "strength",
                                      "strength=bass",
                                      "strength*bass=1",
                                      "strength=bass*",
                                      "strength=bass* 1",
                                      "strength=bass*1x",
                                      "strength=bass*nan",
                                      "strength=bass*inf",
                                      "strength=bass*1~",
                                      "strength=bass*1~-1",
                                      "strength=bass*1~61",
                                      "strength=bass*1~nan",
                                      "strength=bass*1~1~1"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    refuse(wrong[i], "as in strength=bass*0.3~0.2");
  refuse("strengthy=bass*1", "strengthy: there is no parameter");
  refuse("=bass*1", "there is no parameter");
  refuse("lora[99].weight=bass*1", "there are 1 to 8");
  refuse("strength=*1", "one of " SOUND_WORDS);
  refuse("strength=drum*1", "one of " SOUND_WORDS);
  refuse("strength=bas*1", "one of " SOUND_WORDS);
  refuse("prompt[1]=bass*1", "prompt[1] is no number");
  refuse("show=bass*1", "show is no number");
  refuse("steps=bass*1", "steps cannot change from frame to frame");
  refuse("guidance=bass*1", "guidance cannot change from frame to frame");
  refuse("size=bass*1", "size is no number");
}

static double moved_strength(const struct modulations *modulations) {
  struct settings settings;
  struct parameters values;
  parameters_init(&values);
  settings_begin(&settings, &values);
  modulations_apply(modulations, &settings);
  assert_false(parameters_marked(&settings.values, PARAMETER_STRENGTH, 0));
  return settings.values.strength - values.strength;
}

static void offsets_add_up_within_the_range(void **state) {
  (void)state;
  struct modulations modulations = {.entry = {accept("strength=bass*0.2"), accept("strength=mid*-0.1")}, .count = 2};
  const double half[SOUND_VALUES] = {[SOUND_BASS] = 0.5, [SOUND_MID] = 0.5}, all[SOUND_VALUES] = {1, 1, 1, 1, 1},
               none[SOUND_VALUES] = {0};
  assert_true(moved_strength(&modulations) == 0);
  modulations_follow(&modulations, half, second_ns);
  assert_true(fabs(moved_strength(&modulations) - 0.05) < 1e-9);
  modulations_follow(&modulations, none, 2 * second_ns);
  assert_true(moved_strength(&modulations) == 0);
  modulations = (struct modulations){.entry = {accept("strength=beat*7")}, .count = 1};
  modulations_follow(&modulations, all, second_ns);
  assert_true(moved_strength(&modulations) == 0.5); /* 1 at most */
  modulations.entry[0].amount = -7;
  assert_true(moved_strength(&modulations) == -0.5);
}

static void smoothing_is_a_time_constant(void **state) {
  (void)state;
  const double all[SOUND_VALUES] = {1, 1, 1, 1, 1}, none[SOUND_VALUES] = {0};
  for (int steps = 1; steps <= 100; steps *= 10) { /* however often it is asked */
    struct modulations modulations = {.entry = {accept("strength=bass*0.4~0.5")}, .count = 1};
    modulations_follow(&modulations, all, second_ns);
    assert_true(moved_strength(&modulations) == 0);
    for (int i = 1; i <= steps; i++)
      modulations_follow(&modulations, all, second_ns + second_ns / 2 * i / steps);
    assert_true(fabs(moved_strength(&modulations) - 0.4 * (1 - exp(-1))) < 1e-6);
    for (int i = 1; i <= 100; i++) /* and comes to rest */
      modulations_follow(&modulations, none, (2 + i) * second_ns);
    assert_true(moved_strength(&modulations) == 0);
  }
}

static void whole_numbers_and_maps(void **state) {
  (void)state;
  const double half[SOUND_VALUES] = {.5, .5, .5, .5, .5};
  struct modulations modulations = {.entry = {accept("seed=level*5"), accept("control[1].low=level*0.2")}, .count = 2};
  struct parameters values;
  struct settings settings;
  parameters_init(&values);
  values.control[0] = MAP_CANNY + 1;
  settings_begin(&settings, &values);
  double usual = values_control_number(&values, PARAMETER_CONTROL_LOW, 1, NULL);
  modulations_follow(&modulations, half, second_ns);
  modulations_apply(&modulations, &settings);
  assert_int_equal(settings.values.seed, values.seed + 3);
  assert_true(fabs(settings.values.map_low[0] - usual - 0.1) < 1e-6);
}

/* A blend that is moved is seen at once; one that is not goes on fading. */
static void blends(void **state) {
  (void)state;
  const double half[SOUND_VALUES] = {.5, .5, .5, .5, .5};
  struct modulations modulations = {.entry = {accept("blend[2]=bass*1")}, .count = 1};
  struct parameters values;
  struct settings settings;
  struct controls controls;
  parameters_init(&values);
  values.blend[0] = 0.5;
  settings_begin(&settings, &values);
  modulations_apply(&modulations, &settings);
  settings_controls(&settings, second_ns, &controls);
  assert_int_equal(controls.prompt, SLOT_PRESET_1);
  assert_true(controls.blend[1] == 0);
  modulations_follow(&modulations, half, second_ns);
  modulations_apply(&modulations, &settings);
  settings_controls(&settings, second_ns, &controls);
  assert_true(controls.blend[0] == 0.5f && controls.blend[1] == 0.5f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(how_it_is_written),
      cmocka_unit_test(what_is_refused),
      cmocka_unit_test(offsets_add_up_within_the_range),
      cmocka_unit_test(smoothing_is_a_time_constant),
      cmocka_unit_test(whole_numbers_and_maps),
      cmocka_unit_test(blends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
