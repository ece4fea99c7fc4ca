/* Tests values that sound moves: the syntax, how they follow the sound, and that the value in the settings stays. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <string.h>

#include "app/control/lfo.h"
#include "app/control/meter.h"
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
  assert_true(moved_strength(&modulations) == 0.5); /* limited to 1 */
  modulations.entry[0].amount = -7;
  assert_true(moved_strength(&modulations) == -0.5);
}

/* What the engine decides for parameters that are not set, it does not decide for one that is moved. */
static void a_moved_detail_counts_as_set(void **state) {
  (void)state;
  struct settings settings;
  struct controls controls;
  struct parameters values;
  struct modulations modulations = {.entry = {accept("detail=bass*0.25")}, .count = 1};
  const double all[SOUND_VALUES] = {1, 1, 1, 1, 1};
  parameters_init(&values);
  settings_begin(&settings, &values);
  modulations_apply(&modulations, &settings);
  settings_controls(&settings, second_ns, &controls);
  assert_float_equal(controls.detail, -1, 0);
  modulations_follow(&modulations, all, second_ns);
  modulations_apply(&modulations, &settings);
  settings_controls(&settings, second_ns, &controls);
  assert_float_equal(controls.detail, 0.25, 0);
}

static void smoothing_is_a_time_constant(void **state) {
  (void)state;
  const double all[SOUND_VALUES] = {1, 1, 1, 1, 1}, none[SOUND_VALUES] = {0};
  for (int steps = 1; steps <= 100; steps *= 10) { /* the result does not depend on how often it is read */
    struct modulations modulations = {.entry = {accept("strength=bass*0.4~0.5")}, .count = 1};
    modulations_follow(&modulations, all, second_ns);
    assert_true(moved_strength(&modulations) == 0);
    for (int i = 1; i <= steps; i++)
      modulations_follow(&modulations, all, second_ns + second_ns / 2 * i / steps);
    assert_true(fabs(moved_strength(&modulations) - 0.4 * (1 - exp(-1))) < 1e-6);
    for (int i = 1; i <= 100; i++) /* and stops moving */
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

/* A blend that modulation moves acts at once; one that it does not move goes on fading. */
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

/* The text about a moved parameter has the value that is set and the one of the frame, once for each parameter. */
static void what_is_moved_is_shown(void **state) {
  (void)state;
  struct modulations modulations = {.entry = {accept("mix=bass*-0.5"), accept("strength=level*0.25")}, .count = 2};
  struct lfos lfos = {.entry = {{PARAMETER_STRENGTH, 0, 0.125}, {PARAMETER_NONE, 0, 0}, {PARAMETER_ETA, 0, 0}}};
  struct settings settings;
  struct parameters values;
  struct meter meter = {.count = 0};
  parameters_init(&values);
  settings_begin(&settings, &values);
  modulations.entry[0].smooth = modulations.entry[1].smooth = 1;
  meter_begin(&meter, &modulations, &lfos, &settings.values);
  modulations_apply(&modulations, &settings);
  lfos_apply(&lfos, &settings);
  meter_finish(&meter, &settings.values);
  assert_int_equal(meter.count, 3);
  assert_true(meter.row[0].id == PARAMETER_MIX && meter.row[0].base == 1 && meter.row[0].now == 0.5);
  assert_true(meter.row[1].id == PARAMETER_STRENGTH && meter.row[1].base == 0.5 && meter.row[1].now == 0.875);
  assert_true(meter.row[2].id == PARAMETER_ETA && meter.row[2].base == meter.row[2].now);
}

/* --- waves --- */

static void waves_have_their_forms(void **state) {
  (void)state;
  static const struct {
    enum lfo_wave wave;
    double at[4]; /* values at the beginning of each quarter of a cycle */
  } cases[] = {{LFO_SINE, {0, 1, 0, -1}},
               {LFO_TRIANGLE, {0, 1, 0, -1}},
               {LFO_SAW, {-1, -0.5, 0, 0.5}},
               {LFO_SQUARE, {1, 1, -1, -1}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int quarter = 0; quarter < 12; quarter++)
      assert_float_equal(lfo_value(cases[i].wave, quarter / 4.0 - 1, 0), cases[i].at[quarter % 4], 1e-9);
  double sum = 0, least = 1, most = -1;
  for (int i = 0; i < 1000; i++) {
    double value = lfo_value(LFO_RANDOM, i + 0.1, 1);
    assert_true(value == lfo_value(LFO_RANDOM, i + 0.9, 1)); /* one random value in each cycle */
    assert_true(value != lfo_value(LFO_RANDOM, i + 0.1, 2) && fabs(value) <= 1);
    sum += value;
    least = fmin(least, value);
    most = fmax(most, value);
  }
  assert_true(fabs(sum) < 60 && least < -0.98 && most > 0.98);
}

static void how_waves_are_written(void **state) {
  (void)state;
  struct parameters values;
  struct error err = {0};
  parameters_init(&values);
  assert_int_equal(lfo_read(&values, 2, "lora[1].weight=square*-0.5@8s+0.25", &err), 0);
  assert_string_equal(parameters_text(&values, PARAMETER_LFO, 2), "lora[1].weight");
  assert_true(values.lfo_wave[1] == LFO_SQUARE && values.lfo_amount[1] == -0.5 && values.lfo_period[1] == 8);
  assert_true(values.lfo_unit[1] == LFO_SECONDS && values.lfo_phase[1] == 0.25);
  assert_int_equal(lfo_read(&values, 1, "strength=sine*1@0.5b", &err), 0);
  assert_true(values.lfo_unit[0] == LFO_BEATS && values.lfo_period[0] == 0.5 && values.lfo_phase[0] == 0);
  static const struct {
    const char *text, *wanted;
  } wrong[] = {{"strength", "PARAMETER=WAVE"},
               {"strength=sine", "PARAMETER=WAVE"},
               {"strength=sine*1", "PARAMETER=WAVE"},
               {"strength=sine*1@4", "PARAMETER=WAVE"},
               {"strength=sine*1@4x", "PARAMETER=WAVE"},
               {"strength=sine*1@4b+", "PARAMETER=WAVE"},
               {"strength=sine*1@4b+0.5x", "PARAMETER=WAVE"},
               {"strength=sine* 1@4b", "PARAMETER=WAVE"},
               {"strength=wobble*1@4b", "one of sine|triangle"},
               {"strength=sine*nan@4b", "lfo[1].amount"},
               {"strength=sine*1@0b", "lfo[1].period"},
               {"strength=sine*1@4b+2", "lfo[1].phase"},
               {"strengthy=sine*1@4b", "no parameter"},
               {"prompt[1]=sine*1@4b", "is no number"},
               {"steps=sine*1@4b", "cannot change from frame to frame"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    if (!lfo_read(&values, 1, wrong[i].text, &err) || !strstr(err.message, wrong[i].wanted) ||
        strncmp(err.message, "--lfo ", 6))
      fail_msg("'%s': %s", wrong[i].text, err.message);
}

/* An entry whose name cannot be moved is removed with a reason; the others stay. */
static void wrong_names_are_taken_out(void **state) {
  (void)state;
  struct parameters values;
  struct error err = {0};
  parameters_init(&values);
  parameters_set_text(&values, PARAMETER_LFO, 1, "mix", &err);
  parameters_set_text(&values, PARAMETER_LFO, 2, "size", &err);
  assert_int_equal(lfos_check(&values, &err), -1);
  assert_non_null(strstr(err.message, "lfo[2]: size is no number"));
  assert_null(parameters_text(&values, PARAMETER_LFO, 2));
  assert_int_equal(lfos_check(&values, &err), 0);
  assert_string_equal(parameters_text(&values, PARAMETER_LFO, 1), "mix");
}

struct swinging {
  struct settings settings;
  struct lfos lfos;
  struct beats beats;
};

static void swing(struct swinging *rig, const char *text) {
  struct parameters values;
  struct error err = {0};
  *rig = (struct swinging){0};
  parameters_init(&values);
  if (lfo_read(&values, 1, text, &err))
    fail_msg("%s", err.message);
  settings_begin(&rig->settings, &values);
}

/* Returns the strength of a frame at this time; 0.5 if nothing moves it. */
static double strength_at(struct swinging *rig, int64_t now_ns) {
  struct settings settings = rig->settings;
  lfos_follow(&rig->lfos, &settings.values, &rig->beats, now_ns);
  lfos_apply(&rig->lfos, &settings);
  assert_false(parameters_any_marked(&settings.values));
  return settings.values.strength;
}

/* The first frame at or after a beat has the new value, and the last one before it has not. */
static void waves_land_on_the_beat(void **state) {
  (void)state;
  struct swinging rig;
  swing(&rig, "strength=square*0.25@2b");
  assert_float_equal(strength_at(&rig, second_ns), 0.5, 0); /* without a tempo there is no wave */
  for (double tempo = 61; tempo < 200; tempo += 7.3) {
    int64_t now_ns = 7 * second_ns;
    beats_set_tempo(&rig.beats, tempo, now_ns);
    beats_set_beat(&rig.beats, 0, now_ns);
    for (int beat = 1; beat < 100; beat++) {
      now_ns = beats_next_ns(&rig.beats, 1, now_ns);
      assert_float_equal(strength_at(&rig, now_ns), (beat % 2 ? 0.25 : 0.75), 0);
      assert_float_equal(strength_at(&rig, now_ns - 1000), (beat % 2 ? 0.75 : 0.25), 0);
    }
  }
  rig.beats.stopped = true; /* while the song is stopped the wave stands still */
  assert_float_equal(strength_at(&rig, second_ns), strength_at(&rig, 500 * second_ns), 0);
}

static void waves_swing_within_the_range(void **state) {
  (void)state;
  struct swinging rig;
  swing(&rig, "strength=sine*2@4s");
  assert_float_equal(strength_at(&rig, 0), 0.5, 1e-6);
  assert_float_equal(strength_at(&rig, second_ns), 1, 0);
  assert_float_equal(strength_at(&rig, 3 * second_ns), 0, 0);
  swing(&rig, "strength=saw*0.2@4s+0.5");
  assert_float_equal(strength_at(&rig, 4 * second_ns), 0.5, 1e-6);
  assert_float_equal(strength_at(&rig, 5 * second_ns), 0.6, 1e-6);
  parameters_set_text(&rig.settings.values, PARAMETER_LFO, 1, "mix",
                      NULL); /* moves another parameter from the next frame on */
  parameters_clear_marks(&rig.settings.values);
  assert_float_equal(strength_at(&rig, 5 * second_ns), 0.5, 0);
  parameters_set_text(&rig.settings.values, PARAMETER_LFO, 1, NULL, NULL);
  assert_false(lfos_follow(&rig.lfos, &rig.settings.values, &rig.beats, 0));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_moved_is_shown),
      cmocka_unit_test(waves_have_their_forms),
      cmocka_unit_test(how_waves_are_written),
      cmocka_unit_test(wrong_names_are_taken_out),
      cmocka_unit_test(waves_land_on_the_beat),
      cmocka_unit_test(waves_swing_within_the_range),
      cmocka_unit_test(how_it_is_written),
      cmocka_unit_test(what_is_refused),
      cmocka_unit_test(offsets_add_up_within_the_range),
      cmocka_unit_test(a_moved_detail_counts_as_set),
      cmocka_unit_test(smoothing_is_a_time_constant),
      cmocka_unit_test(whole_numbers_and_maps),
      cmocka_unit_test(blends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
